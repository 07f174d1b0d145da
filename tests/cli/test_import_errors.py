"""Whatever is wrong with a file: one line says so, and the store stays as it was."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from claimwise.cli.main import run
from claimwise.store import open_store
from claimwise.store.tables import REFERENCES
from claimwise.types.rows import (
    ROW_TYPES,
    Answer,
    Citation,
    Claim,
    Context,
    GoldSpan,
    Item,
    Label,
    Row,
    Source,
)
from readers.bad_files import (
    BAD_FILES,
    BAD_RECORDS,
    CSV_HEADER,
    CSV_ROW,
    Bad,
    line_of,
    nested,
    write_bad,
)
from store.builders import CLAIM, TEXT, dump

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose store holds one row of every kind, to be copied."""
    folder = tmp_path_factory.mktemp("template")
    data = folder / "base"
    data.mkdir()
    for row_type in ROW_TYPES:
        (data / f"{row_type.kind}.jsonl").write_bytes(line_of(row_type))
    store = ["--store", str(folder / "claimwise.db")]
    assert run(["init", str(folder)]) == 0
    assert run([*store, "import", str(data)]) == 0
    return folder


@pytest.fixture
def project(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose store holds one row of every kind."""
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return tmp_path


def contents(project: Path) -> object:
    with open_store(project / "claimwise.db") as store:
        return dump(store)


def refuse(project: Path, capsys: Capture, *arguments: str) -> list[str]:
    """Import what can't be imported; return the lines about it."""
    before = contents(project)
    code = run(["import", *arguments])
    out, err = capsys.readouterr()
    assert code == 1, err
    assert out == ""
    assert "Traceback" not in err
    lines = err.splitlines()
    assert lines
    assert all(line.startswith("error: ") for line in lines)
    assert contents(project) == before
    return lines


def check_line(line: str, bad: Bad) -> None:
    place = bad.name if bad.line is None else f"{bad.name}:{bad.line}:"
    assert line.startswith(f"error: {place}")
    field = f" {bad.field}: found " if bad.field else ": found "
    assert field in line
    assert bad.found in line
    assert f"expected {bad.expected}" in line or bad.expected in line.partition("expected ")[2]


@pytest.mark.parametrize("case", BAD_RECORDS | BAD_FILES)
def test_bad_file_gets_one_line(case: str, project: Path, capsys: Capture) -> None:
    bad = (BAD_RECORDS | BAD_FILES)[case]
    write_bad(project, bad)
    (line,) = refuse(project, capsys, bad.name)
    check_line(line, bad)


STORED = {
    "label_for_missing_claim": Bad(
        "labels.jsonl", line_of(Label, claim_text="Tea is blue."), 1, "claim_text",
        "Tea is blue.", "a claim of that run and item, letter by letter, that is in the store",
    ),
    "label_for_missing_claim_in_csv": Bad(
        "labels.csv",
        b"run_id,item_id,claim_id,verdict,labeler,labeled_at\n"
        b"r1,q1,nope,unlinked,ann,2026-03-02T00:00:00Z\n",
        2, "claim_id", "nope",
        "a claim of that run and item, letter by letter, that is in the store",
    ),
    "label_for_missing_guide": Bad(
        "labels.jsonl", line_of(Label, guide_version="g9", labeled_at="2026-03-02T00:00:00Z"), 1,
        "guide_version", "g9", "a guide version that is in the store or in this import",
    ),
    "label_span_not_in_source": Bad(
        "labels.jsonl", line_of(Label, supporting_span="Tea costs €3.", labeler="bob"), 1,
        "supporting_span", "Tea costs €3.",
        "text that occurs in source doc of corpus version v1",
    ),
    "label_source_missing": Bad(
        "labels.jsonl", line_of(Label, source_id="doc9", labeler="bob"), 1, "source_id", "doc9",
        "a source of corpus version v1",
    ),
    "label_span_without_source": Bad(
        "labels.jsonl", line_of(Label, source_id=None, labeler="bob"), 1, "source_id", "nothing",
        "the source of the supporting span",
    ),
    "label_changed": Bad(
        "labels.jsonl", line_of(Label, verdict="contradicted"), 1, "verdict",
        "another value for r1 / q1", "what was said is never overwritten",
    ),
    "label_type_wrong": Bad(
        "labels.jsonl", line_of(Label, claim_type="action", labeler="bob"), 1, "claim_type",
        "action", "the claim's type, factual",
    ),
    "label_by_an_instrument_adjudicated": Bad(
        "labels.jsonl", line_of(Label, labeler="verifier:v1", label_kind="adjudicated"), 1,
        "label_kind", "adjudicated by verifier:v1", "verifier: verifier:v1 is a judge",
    ),
    "answer_changed": Bad(
        "answers.jsonl", line_of(Answer, answer_text="Tea is free."), 1, "answer_text",
        "another value for r1 / q1 / 0", "what was said is never overwritten",
    ),
    "answer_of_missing_run": Bad(
        "answers.jsonl", line_of(Answer, run_id="r9"), 1, "run_id", "r9", "a run that is in",
    ),
    "answer_of_missing_item": Bad(
        "answers.jsonl", line_of(Answer, item_id="q9"), 1, "item_id", "q9", "an item that is in",
    ),
    "item_changed": Bad(
        "items.jsonl", line_of(Item, stakes="high"), 1, "stakes", "another value for q1",
        "the stored content, a new id, or --update",
    ),
    "item_twice": Bad(
        "items.jsonl", line_of(Item, item_id="q2") + line_of(Item, item_id="q2"), 2, "item_id",
        "q2 again", "it once (first at items.jsonl:1)",
    ),
    "item_twice_in_csv": Bad(
        "items.csv", CSV_HEADER + CSV_ROW.replace(b"q1", b"q2") * 2, 3, "item_id", "q2 again",
        "it once (first at items.csv:2)",
    ),
    "gold_span_not_in_source": Bad(
        "items.jsonl",
        line_of(Item, item_id="q2", gold_spans=[
            {"source_id": "doc", "span_text": "Coffee.", "required": True},
        ]),
        1, "span_text", "Coffee.", "text that occurs in source doc of corpus version v1",
    ),
    "gold_span_at_wrong_offset": Bad(
        "gold_spans.jsonl", line_of(GoldSpan, span_start=1, span_end=1 + len(CLAIM)), 1,
        "span_text", CLAIM, "text that occurs in source doc of corpus version v1 at offset 1",
    ),
    "gold_span_source_missing": Bad(
        "gold_spans.jsonl", line_of(GoldSpan, source_id="doc9"), 1, "source_id", "doc9",
        "a source of corpus version v1",
    ),
    "citation_span_not_in_source": Bad(
        "citations.jsonl", line_of(Citation, position=1, span_text="Coffee."), 1, "span_text",
        "Coffee.", "text that occurs in source doc",
    ),
    "context_source_missing": Bad(
        "contexts.jsonl", line_of(Context, position=1, source_id="doc9"), 1, "source_id", "doc9",
        "a source of corpus version v1",
    ),
    "context_beyond_the_source": Bad(
        "contexts.jsonl", line_of(Context, position=1, span_start=0, span_end=999), 1, "span_end",
        "999", f"an offset up to {len(TEXT)}",
    ),
    "claim_beyond_the_answer": Bad(
        "claims.jsonl", line_of(Claim, claim_text="Hi.", answer_start=0, answer_end=99), 1,
        "answer_end", "99", "an offset up to 36, the answer's length",
    ),
    "claim_of_a_failed_answer": Bad(
        "answers.jsonl",
        line_of(Answer, sample=1, answer_text=None, failure="error", claims=[{"claim_text": "A"}]),
        1, "answer_end", "a claim", "no claims: the system gave no answer to this item",
    ),
    "claim_twice_with_one_id": Bad(
        "answers.jsonl",
        nested(sample=1, claims=[
            {"claim_id": "a", "claim_text": "x"}, {"claim_id": "a", "claim_text": "y"},
        ]),
        1, "claim_id", "r1 / q1 / a again", "it once",
    ),
    "superseded_by_itself": Bad(
        "sources.jsonl", line_of(Source, source_id="old", superseded_by="old"), 1, "superseded_by",
        "old", "the source_id of another document",
    ),
    "superseded_by_nothing": Bad(
        "sources.jsonl", line_of(Source, source_id="old", superseded_by="new"), 1, "superseded_by",
        "new", "the source_id of another document",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STORED)
def test_row_that_does_not_fit_the_store_gets_one_line(
    case: str, project: Path, capsys: Capture
) -> None:
    bad = STORED[case]
    write_bad(project, bad)
    (line,) = refuse(project, capsys, bad.name)
    check_line(line, bad)


def test_duplicate_across_files_is_placed_in_the_second_one(project: Path, capsys: Capture) -> None:
    new = line_of(Item, item_id="q2")
    filler = b"".join(line_of(Item, item_id=f"f{n}") for n in range(5))
    (project / "items-1.jsonl").write_bytes(filler + new)
    (project / "items-2.jsonl").write_bytes(b"\n" + new)
    (line,) = refuse(project, capsys, "items-1.jsonl", "items-2.jsonl")
    assert line.startswith("error: items-2.jsonl:2: item_id: found q2 again")
    assert "first at items-1.jsonl:6" in line


def test_good_file_beside_a_bad_one_is_not_imported(project: Path, capsys: Capture) -> None:
    (project / "items.jsonl").write_bytes(line_of(Item, item_id="q2"))
    (project / "labels.jsonl").write_bytes(line_of(Label, verdict="?"))
    (line,) = refuse(project, capsys, "items.jsonl", "labels.jsonl")
    assert line.startswith("error: labels.jsonl:1: verdict:")


def test_every_problem_has_a_line_of_its_own(project: Path, capsys: Capture) -> None:
    (project / "items.jsonl").write_bytes(line_of(Item, stakes="?") * 30)
    lines = refuse(project, capsys, "items.jsonl")
    assert len(lines) == 21
    assert lines[-1] == "error: … and more like these"


def test_many_missing_claims_are_cut_short(project: Path, capsys: Capture) -> None:
    labels = b"".join(line_of(Label, claim_text=f"no {n}") for n in range(30))
    (project / "labels.jsonl").write_bytes(labels)
    lines = refuse(project, capsys, "labels.jsonl")
    assert len(lines) == 21
    assert lines[4].startswith("error: labels.jsonl:5: claim_text:")


def test_query_type_of_the_settings_is_accepted(project: Path, capsys: Capture) -> None:
    settings = project / "claimwise.toml"
    text = settings.read_text(encoding="utf-8")
    (project / "items.jsonl").write_bytes(line_of(Item, item_id="q2", query_type="riddle"))
    refuse(project, capsys, "items.jsonl")
    assert "query_types = []" in text
    changed = text.replace("query_types = []", 'query_types = ["riddle"]')
    settings.write_text(changed, encoding="utf-8")
    assert run(["import", "items.jsonl"]) == 0


def test_empty_file_is_no_error(project: Path, capsys: Capture) -> None:
    (project / "items.jsonl").write_bytes(b"")
    before = contents(project)
    assert run(["import", "items.jsonl"]) == 0
    assert "nothing to import" in capsys.readouterr().out
    assert contents(project) == before


def test_missing_file_gets_one_line(project: Path, capsys: Capture) -> None:
    (line,) = refuse(project, capsys, "items.jsonl")
    assert line.startswith("error: items.jsonl: no such file")


def test_folder_without_data_gets_one_line(project: Path, capsys: Capture) -> None:
    (project / "empty").mkdir()
    (line,) = refuse(project, capsys, "empty")
    assert line.startswith("error: empty: found a folder without data")


def test_unknown_kind_is_a_usage_error(project: Path, capsys: Capture) -> None:
    before = contents(project)
    assert run(["import", "x.jsonl", "--kind", "things"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert "'things' is not one of" in err
    assert contents(project) == before


def test_dry_run_of_a_bad_file_gets_the_same_line(project: Path, capsys: Capture) -> None:
    (project / "labels.jsonl").write_bytes(line_of(Label, claim_text="Tea is blue."))
    dry = refuse(project, capsys, "labels.jsonl", "--dry-run")
    assert dry == refuse(project, capsys, "labels.jsonl")


def test_json_output_is_empty_on_errors(project: Path, capsys: Capture) -> None:
    (project / "items.jsonl").write_bytes(line_of(Item, stakes="?"))
    refuse(project, capsys, "items.jsonl", "--format", "json")


def test_store_missing_gets_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.jsonl").write_bytes(line_of(Item))
    assert run(["import", "items.jsonl"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert "claimwise init" in err
    assert len(err.splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["items.jsonl"]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+02:00", "9999-12-31T23:59:59-02:00"])
def test_time_beyond_the_calendar_gets_one_line(
    moment: str, project: Path, capsys: Capture
) -> None:
    (project / "labels.jsonl").write_bytes(line_of(Label, labeled_at=moment))
    (line,) = refuse(project, capsys, "labels.jsonl")
    assert line.startswith("error: labels.jsonl:1: labeled_at:")


def test_label_dated_ahead_of_now_gets_one_line(project: Path, capsys: Capture) -> None:
    lines = [line_of(Label), line_of(Label, labeled_at="2999-01-01T00:00:00Z")]
    (project / "labels.jsonl").write_bytes(b"".join(lines))
    (line,) = refuse(project, capsys, "labels.jsonl")
    assert line == (
        "error: labels.jsonl:2: labeled_at: found 2999-01-01 00:00:00, expected a time no more "
        "than a day ahead of now; correct it: no later label would outrank it"
    )


def test_deep_nesting_gets_one_line(project: Path, capsys: Capture) -> None:
    (project / "items.jsonl").write_bytes(b"[" * 10_000 + b"]" * 10_000)
    (line,) = refuse(project, capsys, "items.jsonl")
    assert line.startswith("error: items.jsonl:1: found ")


@pytest.mark.parametrize(
    ("row_type", "changes"),
    [
        (Label, {"supporting_span": "", "labeler": "bob"}),
        (Citation, {"position": 1, "span_text": ""}),
    ],
)
def test_empty_span_gets_one_line(
    row_type: type[Row], changes: dict[str, Any], project: Path, capsys: Capture
) -> None:
    name = f"{row_type.kind}.jsonl"
    (project / name).write_bytes(line_of(row_type, **changes))
    (line,) = refuse(project, capsys, name)
    assert line.startswith(f"error: {name}:1: ")


@pytest.mark.parametrize(
    ("row_type", "changes"),
    [
        (Label, {"supporting_span": None, "labeler": "bob", "span_start": 999}),
        (Citation, {"position": 1, "span_start": 0, "span_end": 999}),
    ],
)
def test_offsets_beyond_the_source_get_one_line(
    row_type: type[Row], changes: dict[str, Any], project: Path, capsys: Capture
) -> None:
    name = f"{row_type.kind}.jsonl"
    (project / name).write_bytes(line_of(row_type, **changes))
    (line,) = refuse(project, capsys, name)
    assert line.startswith(f"error: {name}:1: ")
    assert "999" in line


def test_control_characters_do_not_reach_the_terminal(project: Path, capsys: Capture) -> None:
    span = "\x1b[2J\x9b2J gone\u2028error: all is well"
    (project / "gold_spans.jsonl").write_bytes(line_of(GoldSpan, span_text=span))
    (line,) = refuse(project, capsys, "gold_spans.jsonl")
    assert line.isprintable()


def test_compressed_bad_record_has_its_line(project: Path, capsys: Capture) -> None:
    data = line_of(Item, item_id="q2") + line_of(Item, stakes="?")
    (project / "items.jsonl.gz").write_bytes(gzip.compress(data))
    (line,) = refuse(project, capsys, "items.jsonl.gz")
    assert line.startswith("error: items.jsonl.gz:2: stakes:")


def test_repeated_claim_in_one_answer_is_imported(project: Path, capsys: Capture) -> None:
    twice = nested(sample=1, claims=[{"claim_text": CLAIM}, {"claim_text": CLAIM}])
    (project / "answers.jsonl").write_bytes(twice)
    assert run(["import", "answers.jsonl", "--format", "json"]) == 0
    counts = {c["kind"]: c["added"] for c in json.loads(capsys.readouterr().out)["kinds"]}
    assert counts == {"answers": 1, "claims": 2}


def test_missing_parent_is_named_for_every_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    assert run(["init"]) == 0
    capsys.readouterr()
    for row_type, references in REFERENCES.items():
        name = f"{row_type.kind}.jsonl"
        (tmp_path / name).write_bytes(line_of(row_type))
        line = refuse(tmp_path, capsys, name)[0]
        assert line.startswith(f"error: {name}:1: ")
        told = f"expected {references[0].what} that is in the store or in this import"
        assert f"{told} ({references[0].brought_by})" in line
