"""Labels from anyone's spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from claimwise.calibration.correction import correct_run
from claimwise.claims.queries import list_claims
from claimwise.claims.report import write_claims_csv
from claimwise.cli.main import run as run_command
from claimwise.disk.duckdb_files import connect_duckdb
from claimwise.errors import InputError
from claimwise.labelling.queue import read_progress, save_label, take_task
from claimwise.labelling.sheet_import import SheetImport, import_sheets, normalise_claim
from claimwise.labelling.sheets import SheetOptions, read_pairs
from claimwise.store import Store, open_store
from small_data import answer, item, label, load, run, source
from support.round_data import CLAIMS, NOW, UNLINKED, draw, fill

LATER = NOW + timedelta(hours=1)
QUOTE = "The tower is 139 m tall."


@pytest.fixture
def filled(store: Store) -> Store:
    fill(store)
    return store


def write(folder: Path, rows: list[dict[str, Any]], name: str = "labels.csv", **more: Any) -> Path:
    path = folder / name
    with path.open("w", encoding=more.pop("encoding", "utf-8"), newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(k for r in rows for k in r)), **more)
        writer.writeheader()
        writer.writerows(rows)
    return path


def bring(store: Store, path: Path, now: datetime = LATER, **more: Any) -> SheetImport:
    options = SheetOptions(
        columns=more.pop("columns", {}),
        values=more.pop("values", {}),
        labeler=more.pop("labeler", None),
    )
    return import_sheets(store, [path], more.pop("run_id", "r"), options, now, **more)


def labels(store: Store) -> list[tuple[Any, ...]]:
    return store.query(
        "select item_id, claim_text, verdict, labeler, supporting_span, source_id, reason "
        "from labels order by item_id, claim_text, labeler, labeled_at"
    )


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


# Columns and words.


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (("claim_text", "verdict", "labeler"), {"claim": "claim_text", "label": "verdict"}),
        (("claim", "label", "who"), {"claim": "claim_text", "label": "verdict", "who": "labeler"}),
        (("Satz", "Urteil", "Name"), {"claim": "Satz", "label": "Urteil", "who": "Name"}),
        (("Statement", "Verdict", "Annotator"), {}),
    ],
)
def test_columns_are_recognised_or_named_in_either_direction(
    filled: Store, tmp_path: Path, header: tuple[str, ...], columns: dict[str, str]
) -> None:
    row = dict(zip((*header, "item"), (CLAIMS[1], "not in docs", "ana", "q1"), strict=True))
    done = bring(
        filled, write(tmp_path, [row]), columns=columns, values={"Not in  Docs": "unlinked"}
    )
    assert labels(filled) == [("q1", CLAIMS[1], "unlinked", "ana", None, None, None)]
    assert done.columns == {"claim": header[0], "label": header[1], "who": header[2],
                            "item": "item"}  # fmt: skip


def test_options_are_pairs_with_quotes_where_a_comma_is_meant() -> None:
    assert read_pairs("--values", ["OK=supported,not in docs=unlinked", '"no, never"=false']) == {
        "OK": "supported",
        "not in docs": "unlinked",
        "no, never": "false",
    }
    assert '--values: found "OK", expected A=B' in refusal(lambda: read_pairs("--values", ["OK"]))


def test_what_columns_and_words_do_not_say_is_asked_for(filled: Store, tmp_path: Path) -> None:
    row = {"claim": CLAIMS[1], "item": "q1", "label": "maybe", "verdict": "unlinked"}
    path = write(tmp_path, [row])
    assert "labels.csv:1: found the columns “label” and “verdict”, expected one: --map label=" in (
        refusal(lambda: bring(filled, path))
    )
    assert "expected one that says who labelled (--map who=COLUMN, or --labeler NAME)" in refusal(
        lambda: bring(filled, path, columns={"label": "verdict"})
    )
    assert 'labels.csv:2: label: found "maybe", expected supported, unlinked,' in refusal(
        lambda: bring(filled, path, columns={"label": "label"}, labeler="ana")
    )
    assert "--map who=x: Unknown column 'x'. Known columns: claim, item" in refusal(
        lambda: bring(filled, path, columns={"who": "x"})
    )
    assert "--map colour=claim: Unknown field 'colour'. Known fields: claim" in refusal(
        lambda: bring(filled, path, columns={"colour": "claim"})
    )
    assert "--values OK=fine: Unknown verdict 'fine'. Known verdicts: supported" in refusal(
        lambda: bring(filled, path, values={"OK": "fine"})
    )
    assert 'who: found "judge:m", expected the name of a person' in refusal(
        lambda: bring(filled, path, columns={"label": "verdict"}, labeler="judge:m")
    )
    assert labels(filled) == []
    bring(filled, path, columns={"label": "verdict"}, labeler="ana")
    assert len(labels(filled)) == 1


@pytest.mark.each_engine
@pytest.mark.same_sql
@pytest.mark.parametrize("form", ["semicolon", "excel", "xlsx", "json", "jsonl", "parquet"])
def test_every_kind_of_file_is_read(filled: Store, tmp_path: Path, form: str) -> None:
    rows = [{"claim": CLAIMS[n], "item": "q1", "label": "Unlinked", "who": "ana", "note": None}
            for n in (0, 1)]  # fmt: skip
    if form == "json":
        path = tmp_path / "labels.json"
        path.write_text(json.dumps(rows, indent=1))
    elif form == "jsonl":
        path = tmp_path / "labels.jsonl"
        rows[1]["date"] = "2026-02-01T13:30:00+01:00"
        path.write_text("\n".join(json.dumps(row) for row in rows))
    elif form == "xlsx":
        path = tmp_path / "labels.xlsx"
        book = openpyxl.Workbook()
        for row in [list(rows[0]), *(list(row.values()) for row in rows)]:
            book.worksheets[0].append(row)
        book.save(path)
    elif form == "parquet":
        path = tmp_path / "labels.parquet"
        with connect_duckdb("a test") as db:
            db.execute(f"copy (select * from (values {', '.join('(?, ?, ?, ?)' for _ in rows)}) "
                       f"as t(claim, item, label, who)) to '{path}' (format parquet)",
                       [v for row in rows for v in list(row.values())[:4]])  # fmt: skip
    else:
        more = {"delimiter": ";"} if form == "semicolon" else {"encoding": "utf-8-sig"}
        path = write(tmp_path, rows, **more)
    assert bring(filled, path).rows == 2
    assert [row[:4] for row in labels(filled)] == [
        ("q1", CLAIMS[0], "unlinked", "ana"),
        ("q1", CLAIMS[1], "unlinked", "ana"),
    ]
    if form == "jsonl":
        told = filled.query("select labeled_at from labels where claim_text = :c", {"c": CLAIMS[1]})
        assert str(told[0][0]).startswith("2026-02-01 12:30:00")


@pytest.mark.each_engine
def test_a_list_of_claims_can_be_labelled_in_columns_of_ones_own(
    filled: Store, tmp_path: Path
) -> None:
    """What a judge said of the claims is no label of the person who fills in the list."""
    load(filled, label("q1", CLAIMS[0], "supported", labeler="verifier:v1", source_id="doc",
                       supporting_span=QUOTE, reason="the judge's"))  # fmt: skip
    listed = csv.DictReader(io.StringIO(write_claims_csv(list_claims(filled, "r"))))
    rows = [{**row, "label": "", "who": "ana", "comment": ""} for row in listed]
    mine = next(row for row in rows if row["verdict"] == "supported")
    mine |= {"label": "unlinked", "comment": "mine"}
    done = bring(filled, write(tmp_path, rows))
    assert done.columns == {"claim": "claim_text", "claim_id": "claim_id", "label": "label",
                            "who": "who", "reason": "comment", "question": "question",
                            "item": "item_id"}  # fmt: skip
    assert [row for row in labels(filled) if row[3] == "ana"] == [
        ("q1", CLAIMS[0], "unlinked", "ana", None, None, "mine")
    ]


# Which claim is meant.


def test_claims_are_matched_as_they_stand_then_normalised(store: Store, tmp_path: Path) -> None:
    load(store, source(), run(), item("q1"), item("q2", query="And the fee?"),
         answer("q1", "The “old” tower is 139\u00a0m tall.", "Entry is FREE", "Entry is free"),
         answer("q2", "It is 5 €.", "Entry is free"))  # fmt: skip
    rows = [
        {"claim": '  the "old" Tower is  139 m tall', "question": ""},
        {"claim": "Entry is FREE", "question": ""},
        {"claim": "Entry is free", "question": "and the FEE"},
        {"claim": "‘It is 5 €’", "question": ""},
    ]
    path = write(tmp_path, [{**row, "label": "unlinked", "who": "ana"} for row in rows])
    bring(store, path)
    assert [(row[0], row[1]) for row in labels(store)] == [
        ("q1", "Entry is FREE"),
        ("q1", "The “old” tower is 139\u00a0m tall."),
        ("q2", "Entry is free"),
        ("q2", "It is 5 €."),
    ]


@pytest.mark.each_engine
def test_a_claim_id_goes_before_the_text(filled: Store, tmp_path: Path) -> None:
    sql = "select claim_id from claims where item_id = 'q2' and claim_text = :text"
    claim_id = filled.query(sql, {"text": CLAIMS[0]})[0][0]
    rows = [
        {"claim_id": claim_id, "claim": CLAIMS[0], "label": "unlinked", "item": ""},
        {"claim_id": "17", "claim": CLAIMS[1], "label": "unlinked", "item": "q1"},
    ]
    bring(filled, write(tmp_path, rows), labeler="ana")
    assert [row[:2] for row in labels(filled)] == [("q1", CLAIMS[1]), ("q2", CLAIMS[0])]


def test_rows_that_match_none_or_several_are_listed_and_refused(
    filled: Store, tmp_path: Path
) -> None:
    rows = [
        {"claim": CLAIMS[0], "item": "", "label": "unlinked"},
        {"claim": "Somebody else's claim", "item": "", "label": "unlinked"},
        {"claim": CLAIMS[0], "item": "q9", "label": "unlinked"},
        {"claim": CLAIMS[0], "item": "q1", "label": "unlinked"},
        {"claim": CLAIMS[1], "item": "q1", "label": ""},
    ]
    path = write(tmp_path, rows)
    message = refusal(lambda: bring(filled, path, labeler="ana"))
    assert message.splitlines() == [
        f'{path}:2: claim: found "{CLAIMS[0]}", which 3 claims say (q0, q1, q2), expected one: '
        "add a column with the question, the item or the claim_id",
        f'{path}:3: claim: found "Somebody else\'s claim", expected a claim of run r: is --run '
        "right?",
        f'{path}:4: claim: found "{CLAIMS[0]}", expected a claim of run r: is --run right?',
        "nothing was imported; --skip-unmatched leaves such rows out",
    ]
    assert labels(filled) == []
    done = bring(filled, path, labeler="ana", skip_unmatched=True)
    assert (done.rows, len(done.unmatched), len(labels(filled))) == (4, 3, 1)
    assert done.warnings[0] == "left out 1 row without a label"
    assert done.warnings[2].startswith(f"{path}:2: claim: found")


# The rules, and the evidence.


@pytest.mark.each_engine
def test_supported_without_a_quote_is_refused_with_its_line_or_counted(
    filled: Store, tmp_path: Path
) -> None:
    rows = [
        {"claim": CLAIMS[0], "item": "q1", "label": "supported", "who": "ana", "quote": QUOTE},
        {"claim": CLAIMS[1], "item": "q1", "label": "supported", "who": "ana", "quote": ""},
    ]
    path = write(tmp_path, rows)
    message = refusal(lambda: bring(filled, path))
    assert f"{path}:3: supporting_span: found nothing, expected the words of a document" in message
    assert "--lenient" in message
    assert labels(filled) == []
    done = bring(filled, path, lenient=True)
    assert [row[4:6] for row in labels(filled)] == [(QUOTE, "doc"), (None, None)]
    assert done.warnings == (
        "1 label breaks the labelling guide: reports say so beside their figures",
    )


@pytest.mark.each_engine
def test_quotes_are_found_in_the_documents_of_the_answer(filled: Store, tmp_path: Path) -> None:
    rows = [
        {"claim": CLAIMS[0], "item": "q0", "quote": "“the tower is\n139 m tall”", "source": ""},
        {"claim": CLAIMS[0], "item": "q1", "quote": "Entry cost 3 euros.", "source": "old"},
        {"claim": "I refunded you.", "item": "act", "quote": "refund issued", "source": ""},
    ]
    path = write(tmp_path, [{**row, "label": "supported", "why": "so"} for row in rows])
    bring(filled, path, labeler="ana", columns={"reason": "why"})
    assert [(row[0], *row[4:]) for row in labels(filled)] == [
        ("act", "refund issued", None, "so"),
        ("q0", QUOTE.removesuffix("."), "doc", "so"),
        ("q1", "Entry cost 3 euros.", "old", "so"),
    ]


def test_a_quote_that_stands_nowhere_is_refused_or_left_out(filled: Store, tmp_path: Path) -> None:
    row = {"claim": CLAIMS[0], "item": "q0", "label": "contradicted", "who": "ana"}
    path = write(tmp_path, [{**row, "quote": "The tower is made of cheese."}])
    assert (
        f'{path}:2: evidence: found "The tower is made of cheese.", expected text that stands in '
        "the answer's documents"
    ) in refusal(lambda: bring(filled, path))
    done = bring(filled, path, lenient=True)
    assert [row[4] for row in labels(filled)] == [None]
    assert any("took 1 row without the quote" in warning for warning in done.warnings)
    other = write(tmp_path, [{**row, "quote": QUOTE, "source": "nowhere"}], "other.csv")
    assert 'source: found "nowhere", which no documents are called' in refusal(
        lambda: bring(filled, other)
    )


@pytest.mark.each_engine
def test_closed_book_words_become_closed_book_labels(filled: Store, tmp_path: Path) -> None:
    rows = [{"claim": CLAIMS[n], "item": "q0", "label": told, "comment": "known"}
            for n, told in enumerate(("TRUE", "Non-factual"))]  # fmt: skip
    bring(filled, write(tmp_path, rows), labeler="ana")
    told = filled.query("select label, decision_basis from closed_book_labels order by label desc")
    assert [tuple(row) for row in told] == [("true", "known"), ("non_factual", "known")]
    path = write(tmp_path, [{**rows[0], "quote": QUOTE}], "quoted.csv")
    assert "evidence: found" in refusal(lambda: bring(filled, path, labeler="ben"))


# Once, and for good.


@pytest.mark.each_engine
def test_the_same_file_again_adds_nothing(filled: Store, tmp_path: Path) -> None:
    rows = [
        {"claim": CLAIMS[0], "item": "q0", "label": "unlinked", "who": "ana", "date": ""},
        {"claim": CLAIMS[0], "item": "q0", "label": "unlinked", "who": "ben", "date": "2026-01-31"},
        {"claim": CLAIMS[0], "item": "q0", "label": "unlinked", "who": "ana", "date": ""},
    ]
    path = write(tmp_path, rows)
    first = bring(filled, path)
    assert (first.counts[0].added, first.known) == (2, 1)
    before = filled.query("select * from labels")
    # A round drawn meanwhile, or another label given since, makes no difference.
    load(filled, label("q0", CLAIMS[0], "contradicted", labeler="ana",
                       labeled_at="2026-02-02T00:00:00Z"))  # fmt: skip
    draw(filled)
    again = bring(filled, path, LATER + timedelta(days=9))
    assert (again.counts, again.known) == ((), 3)
    assert len(filled.query("select * from labels")) == len(before) + 1


@pytest.mark.each_engine
def test_a_changed_label_is_a_later_one(filled: Store, tmp_path: Path) -> None:
    row = {"claim": CLAIMS[0], "item": "q0", "label": "unlinked", "who": "ana"}
    bring(filled, write(tmp_path, [row]))
    changed = {**row, "label": "stale", "quote": "Entry cost 3 euros.", "source": "old"}
    bring(filled, write(tmp_path, [changed]), LATER + timedelta(hours=1))
    assert [row[2] for row in labels(filled)] == ["unlinked", "stale"]
    assert filled.query("select verdict from deciding_labels") == [("stale",)]


def test_who_contradicts_themselves_in_one_file_is_told(filled: Store, tmp_path: Path) -> None:
    row = {"claim": CLAIMS[0], "item": "q0", "label": "unlinked", "who": "ana"}
    path = write(tmp_path, [row, {**row, "label": "contradicted", "quote": QUOTE}])
    assert f"{path}:3: label: found another label of this claim by ana at the same time" in (
        refusal(lambda: bring(filled, path))
    )
    assert labels(filled) == []


# Rounds.


@pytest.mark.each_engine
def test_labels_fill_the_open_round_and_correct_its_rate(filled: Store, tmp_path: Path) -> None:
    verdicts = [
        label(f"q{n}", text, "supported", labeler="verifier:v1", confidence=0.9,
              labeled_at="2026-01-15T00:00:00Z")
        for n in range(3) for text in CLAIMS
    ]  # fmt: skip
    load(filled, *verdicts)
    made = draw(filled, verifier="verifier:v1")
    rows = [{"claim": text, "item": f"q{n}", "label": "unlinked", "who": "ana"}
            for n in range(3) for text in CLAIMS]  # fmt: skip
    rows.append({"claim": "I refunded you.", "item": "act", "label": "unlinked", "who": "ana"})
    done = bring(filled, write(tmp_path, rows))
    progress = read_progress(filled, made.round_id, LATER)
    assert (done.filled, progress.done, progress.by_labeler) == (10, 10, {"ana": 10})
    carried = filled.query(
        "select distinct guide_version, inclusion_probability from labels where labeler = 'ana'"
    )
    assert [tuple(row) for row in carried] == [("g1", 1.0)]
    corrected = correct_run(filled, "r", "grounded")
    assert corrected is not None
    assert (corrected.value, corrected.labels, corrected.missing) == (0.0, 10, 0)


@pytest.mark.each_engine
def test_a_label_takes_its_labelers_own_slot(filled: Store, tmp_path: Path) -> None:
    made = draw(filled, overlap=1.0)
    held = {who: take_task(filled, made.round_id, who, NOW) for who in ("ana", "ben")}
    mine = held["ben"]
    assert mine is not None
    row = {"claim": mine.claim_text, "item": mine.item_id, "label": "unlinked", "who": "ben"}
    assert bring(filled, write(tmp_path, [row]), NOW + timedelta(minutes=1)).filled == 1
    assert read_progress(filled, made.round_id, NOW).by_labeler == {"ben": 1}
    other = held["ana"]
    assert other is not None
    save_label(filled, other.task_id, "ana", UNLINKED, NOW)  # still theirs


@pytest.mark.each_engine
def test_what_was_said_before_the_round_or_after_its_end_is_none_of_it(
    filled: Store, tmp_path: Path
) -> None:
    made = draw(filled)
    row = {"claim": CLAIMS[0], "item": "q0", "label": "unlinked", "who": "ana"}
    assert bring(filled, write(tmp_path, [{**row, "date": "2026-01-31"}])).filled == 0
    # Of a label dated by its day alone, the day counts.
    assert bring(filled, write(tmp_path, [{**row, "date": "2026-02-01", "item": "q1"}])).filled == 1
    filled.execute_all([("update annotation_rounds set closed_at = :now", {"now": NOW})])
    assert bring(filled, write(tmp_path, [{**row, "who": "ben"}])).filled == 0
    assert read_progress(filled, made.round_id, NOW).done == 1


def test_a_dry_run_writes_nothing(filled: Store, tmp_path: Path) -> None:
    made = draw(filled)
    row = {"claim": CLAIMS[0], "item": "q0", "label": "unlinked", "who": "ana"}
    done = bring(filled, write(tmp_path, [row]), dry_run=True)
    assert (done.counts[0].added, done.filled) == (1, 1)
    assert labels(filled) == []
    assert read_progress(filled, made.round_id, NOW).done == 0


# As a user types it.


def test_the_command_imports_a_spreadsheet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("s.db", create=True) as store:
        fill(store)
    write(tmp_path, [{"claim_text": CLAIMS[0], "verdict": "not in docs", "labeler": "ana",
                      "item": "q1"},
                     {"claim_text": "unheard of", "verdict": "OK", "labeler": "ana"}])  # fmt: skip
    arguments = ["import", "labels.csv", "--store", "s.db", "--run", "r", "--map",
                 "claim=claim_text,label=verdict,who=labeler", "--values",
                 "OK=supported,not in docs=unlinked"]  # fmt: skip
    assert run_command(arguments) == 1
    assert 'labels.csv:3: claim: found "unheard of"' in capsys.readouterr().err
    assert run_command([*arguments, "--skip-unmatched"]) == 0
    told = capsys.readouterr()
    assert "Columns used: claim=claim_text, label=verdict, who=labeler, item=item" in told.out
    assert "labels               added 1" in told.out
    assert "left out 1 row: no claim matches, or several do" in told.err
    assert run_command([*arguments, "--skip-unmatched", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["known"], document["kinds"]) == (1, [])
    assert run_command([*arguments, "--update"]) == 1
    assert "are not for spreadsheets" in capsys.readouterr().err


def test_normalised_text_has_no_case_space_quotes_or_full_stop() -> None:
    assert normalise_claim(" „The ﬁrst  TEST“. ") == normalise_claim("the first test")
    assert normalise_claim("It's 5.5 m") == normalise_claim("it’s 5.5 m.")
    assert normalise_claim("It is 5.5 m") != normalise_claim("It is 55 m")
