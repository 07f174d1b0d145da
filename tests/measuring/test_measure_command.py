"""``claimwise measure`` as a user types it, and ``claimwise.measure`` as a notebook calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import claimwise
from claimwise.checking import engine
from claimwise.cli.main import run
from claimwise.errors import ClaimwiseError
from claimwise.measuring.records import write_records
from claimwise.measuring.report import describe_left_out, describe_read
from claimwise.measuring.values import InputSummary
from claimwise.store import open_store

DISHES = (
    "soup", "salad", "goulash", "curry", "lasagne", "risotto", "paella", "ramen", "pizza", "stew",
    "quiche", "omelette",
)  # fmt: skip
# Every third answer names another price than its context.
ROWS: list[dict[str, Any]] = [
    {
        "question": f"What does the {dish} cost?",
        "answer": f"The {dish} costs {11 if number % 3 else 77} euros.",
        "contexts": [f"The {dish} costs 11 euros.", "The kitchen closes at ten."],
        "kitchen": "warm" if number % 2 else "cold",
    }
    for number, dish in enumerate(DISHES, start=1)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    return tmp_path


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    return str(write_records(rows, path))


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(["measure", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_one_command_makes_one_screen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder / "menu.jsonl", ROWS)
    code, out, err = call(capsys, path, "--verifier", "lexical")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0].startswith("Read 12 answers as table: question ← question")
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert "67% of claims" in out
    assert "contradicted: “The goulash costs 77 euros.”" in out
    assert "kept in claimwise.db" in err
    assert (folder / "claimwise.db").exists()


def test_same_file_again_says_the_same_and_judges_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(folder / "menu.jsonl", ROWS)
    _, first, _ = call(capsys, path, "--verifier", "lexical")
    asked: list[object] = []
    monkeypatch.setattr(engine.RunRound, "run", lambda self, *rest: asked.extend(self.states))
    with open_store(folder / "claimwise.db") as store:
        before = store.count_rows()
    _, again, _ = call(capsys, path, "--verifier", "lexical")
    assert again == first
    assert [state for _, state in asked] == ["done"] * 12  # type: ignore[misc,has-type]
    with open_store(folder / "claimwise.db") as store:
        assert store.count_rows() == before


def test_killed_measuring_goes_on_where_it_ended(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(folder / "menu.jsonl", ROWS)
    monkeypatch.setattr(engine, "_FLUSH_SECONDS", 0.0)
    with monkeypatch.context() as dying:
        count = 0

        def die(watch: object) -> None:
            nonlocal count
            count += 1
            if count == 5:
                raise KeyboardInterrupt

        dying.setattr(engine._Tally, "count", lambda self, *counts: die(self))
        code, _, _ = call(capsys, path, "--verifier", "lexical")
    assert code == 130
    with open_store(folder / "claimwise.db") as store:
        done = store.query("select count(*) from labels")[0][0]
    assert 0 < done < 12
    code, out, _ = call(capsys, path, "--verifier", "lexical", "--format", "json")
    assert code == 0
    assert json.loads(out)["claims"] == 12
    with open_store(folder / "claimwise.db") as store:
        assert store.query("select count(*) from labels") == [(12,)]


@pytest.mark.each_engine
def test_any_store_will_do(place: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder / "menu.jsonl", ROWS)
    found = []
    for _ in range(2):
        code = run(["--store", place, "measure", path, "--verifier", "lexical"])
        said = capsys.readouterr()
        assert code == 0, said.err
        found.append(said.out)
    assert found[0] == found[1]
    assert "67% of claims" in found[0]
    assert not (folder / "claimwise.db").exists()
    with open_store(place) as store:
        assert store.query("select count(*) from labels") == [(12,)]
        assert store.audit() == []


def test_json_has_the_keys_that_scripts_rely_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(folder / "menu.jsonl", ROWS)
    code, out, _ = call(capsys, path, "--verifier", "lexical", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert {"run_id", "answers", "claims", "headline", "worst_claims"} <= found.keys()
    assert (found["answers"], found["claims"]) == (12, 12)
    headline = found["headline"]
    assert list(headline)[:5] == ["rate", "low", "high", "basis", "unscored"]
    assert headline["rate"] == pytest.approx(8 / 12)
    assert headline["basis"] == "judge_only"
    assert headline["unscored"] == 0
    assert [claim["verdict"] for claim in found["worst_claims"]] == ["contradicted"] * 4


def test_dry_run_says_what_was_understood_and_keeps_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(folder / "menu.jsonl", ROWS[:2])
    code, out, _ = call(capsys, path, "--dry-run", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert found["reader"] == "table"
    assert found["dropped"] == {}
    first = found["answers"][0]
    assert first["question"] == "What does the soup cost?"
    assert first["answer"] == "The soup costs 11 euros."
    assert [one["text"] for one in first["contexts"]] == ROWS[0]["contexts"]
    assert all(one["source_id"] for one in first["contexts"])
    assert first["actions"] == []
    assert first["contexts_recorded"] is True
    assert [path.name for path in folder.iterdir()] == ["menu.jsonl"]


def test_dry_run_has_a_list_of_contexts_even_where_nobody_recorded_any(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(folder / "bare.jsonl", [{"question": "Why?", "answer": "Because it is late."}])
    _, out, _ = call(capsys, path, "--dry-run", "--format", "json")
    [first] = json.loads(out)["answers"]
    assert (first["contexts"], first["contexts_recorded"]) == ([], False)


def test_preview_as_text_names_what_is_unknown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(folder / "menu.jsonl", ROWS[:1])
    _, out, _ = call(capsys, path, "--dry-run")
    assert "contexts: 2, the first: The soup costs 11 euros." in out
    assert "unknown: answerable, query_type, stakes, action" in out


def test_file_without_contexts_is_told_so_and_nothing_is_kept(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(folder / "bare.jsonl", [{"question": "Why?", "answer": "Because it is late."}])
    code, out, err = call(capsys, path)
    assert (code, out) == (1, "")
    assert "1 answer, none with contexts" in err
    assert "--judge PROVIDER:MODEL" in err
    assert [path.name for path in folder.iterdir()] == ["bare.jsonl"]


def test_rows_without_contexts_are_counted_and_unscored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [*ROWS, {"question": "Why?", "answer": "The cook has left.", "contexts": []}]
    path = write(folder / "menu.jsonl", rows)
    code, out, _ = call(capsys, path, "--verifier", "lexical")
    assert code == 0
    assert "1 answer without contexts: not judged" in out
    assert "1 claim (1 no contexts)" in out
    assert "67% of claims" in out


def test_unreadable_rows_are_listed_and_the_rest_is_measured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "menu.jsonl"
    write(path, ROWS)
    path.write_text(path.read_text() + '{"question": "broken\n')
    code, out, err = call(capsys, str(path), "--verifier", "lexical", "--format", "json")
    assert code == 0
    assert json.loads(out)["answers"] == 12
    assert "can't be read" in err
    assert ":13" in err


def test_nothing_readable_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "x.bin").write_bytes(b"\x00\x01\x02")
    code, _, err = call(capsys, "x.bin")
    assert code == 1
    assert len(err.splitlines()) == 1
    code, _, err = call(capsys, "missing.jsonl")
    assert code == 1
    assert "no such file" in err


def test_systems_stand_side_by_side(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{**row, "system": "old"} for row in ROWS]
    rows += [{**row, "answer": row["contexts"][0], "system": "new"} for row in ROWS]
    path = write(folder / "both.jsonl", rows)
    code, out, _ = call(capsys, path, "--verifier", "lexical")
    assert code == 0
    lines = out.splitlines()
    assert len(lines) <= 25
    table = [line.split() for line in lines if line.startswith(("old ", "new "))]
    assert [(row[0], row[1], row[3]) for row in table] == [
        ("old", "12", "67%"), ("new", "12", "100%"),
    ]  # fmt: skip
    _, out, _ = call(capsys, path, "--verifier", "lexical", "--format", "json")
    assert [one["system"] for one in json.loads(out)["runs"]] == ["old", "new"]


def test_columns_of_the_file_make_groups(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder / "menu.jsonl", ROWS)
    assert call(capsys, path, "--verifier", "lexical", "--by", "kitchen")[0] == 0
    with open_store(folder / "claimwise.db") as store:
        assert store.query("select distinct value from item_attributes order by value") == [
            ("cold",), ("warm",),
        ]  # fmt: skip
    code, _, err = call(capsys, path, "--by", "nothing")
    assert code == 1
    assert "Unknown column 'nothing'" in err


def test_html_report_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*ROWS[:2], {**ROWS[2], "answer": "<script>alert(1)</script> costs 9 euros."}]
    path = write(folder / "menu.jsonl", rows)
    code, _, err = call(capsys, path, "--verifier", "lexical", "--html", "report.html")
    assert code == 0
    assert "wrote report.html" in err
    page = (folder / "report.html").read_text()
    assert "<script>alert(1)" not in page
    code, _, err = call(capsys, path, "--html", "nowhere/report.html")
    assert code == 1
    assert "no such folder" in err


def test_limit_and_map_are_heeded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"ask": row["question"], "reply": row["answer"], "docs": row["contexts"]} for row in ROWS
    ]
    path = write(folder / "own.jsonl", rows)
    mapped = "question=ask,answer=reply,contexts=docs"
    code, out, _ = call(capsys, path, "--map", mapped, "--limit", "3", "--dry-run", "--format",
                        "json")  # fmt: skip
    found = json.loads(out)
    assert code == 0
    assert [one["question"] for one in found["answers"]] == [row["ask"] for row in rows[:3]]


def test_texts_of_files_cannot_steer_a_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {**ROWS[2], "answer": "The goulash costs \x1b[31m77 euros."}
    path = write(folder / "menu.jsonl", [row])
    for arguments in ((), ("--dry-run",), ("--format", "json")):
        _, out, err = call(capsys, path, "--verifier", "lexical", *arguments)
        assert "\x1b" not in out + err


# From Python.


def test_measure_returns_rate_claims_and_a_page() -> None:
    found = claimwise.measure(ROWS, verifier="lexical")
    assert found.headline.rate == pytest.approx(8 / 12)
    assert found.store is None
    assert found.run_id == found.runs[0].run_id
    assert len(found.claims()) == 12
    assert {one.verdict for one in found.claims("contradicted")} == {"contradicted"}
    assert len(found.claims("contradicted")) == 4
    assert found.to_dicts()[0]["verdict"] == "contradicted"
    assert "67% of claims" in found._repr_html_()
    assert "<table>" in found._repr_html_()


def test_measure_keeps_everything_where_it_is_told(tmp_path: Path) -> None:
    place = tmp_path / "own.db"
    path = write(tmp_path / "menu.jsonl", ROWS)
    first = claimwise.measure(path, verifier="lexical", store=place)
    again = claimwise.measure([Path(path)], verifier="lexical", store=place)
    assert again.run_id == first.run_id
    assert first.store == str(place)
    with open_store(place) as store:
        assert store.count_rows()["answers"] == 12


class Frame:
    """A data frame as polars has it."""

    def to_dicts(self) -> list[dict[str, Any]]:
        return ROWS


class Table:
    """A table as pandas has it, with arrays for lists and no number for what is missing."""

    columns = ("question", "answer", "contexts", "score")

    def to_dict(self, form: str) -> list[dict[str, Any]]:
        assert form == "records"
        return [{**row, "contexts": Array(row["contexts"]), "score": float("nan")} for row in ROWS]


class Array:
    def __init__(self, values: list[str]) -> None:
        self.values = values

    def tolist(self) -> list[str]:
        return self.values


@pytest.mark.parametrize("data", [Frame(), Table(), iter(ROWS)], ids=["polars", "pandas", "rows"])
def test_measure_takes_tables_of_others(data: object) -> None:
    found = claimwise.measure(data, verifier="lexical", limit=4)
    assert (found.runs[0].answers, found.runs[0].claims) == (4, 4)


@pytest.mark.parametrize("data", [[], 7, [1, 2]])
def test_what_is_no_data_is_told(data: object) -> None:
    with pytest.raises(ClaimwiseError, match="expected"):
        claimwise.measure(data)


def test_measure_without_contexts_is_told() -> None:
    with pytest.raises(ClaimwiseError, match="none with contexts"):
        claimwise.measure([{"question": "Why?", "answer": "Because."}])


@pytest.mark.parametrize(
    ("dropped", "said"),
    [
        ({"score columns": 1, "rows without an answer": 3}, "1 score column, 3 rows without"),
        ({"scores": 1, "gold contexts": 1}, "1 score, 1 gold context"),
    ],
)
def test_what_was_left_out_is_counted_in_english(dropped: dict[str, int], said: str) -> None:
    reading = InputSummary(reader="table", recognised=(), answers=3, dropped=dropped, unread=())
    [line] = describe_left_out(reading)
    assert line.startswith(f"left out: {said}")
    assert describe_read(reading) == "Read 3 answers as table"
