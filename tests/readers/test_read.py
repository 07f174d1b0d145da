from __future__ import annotations

import gzip
import json
import lzma
import time
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pandas
import pytest

from claimwise.errors import InputError, Problem
from claimwise.readers import read_rows
from claimwise.readers.files import _check_header
from claimwise.store import open_store
from claimwise.text import make_claim_id
from claimwise.transfer import import_files
from claimwise.types.rows import (
    ROW_TYPES,
    Answer,
    Citation,
    Claim,
    ClosedBookLabel,
    Context,
    GoldSpan,
    Guide,
    Item,
    ItemAttribute,
    Label,
    Placed,
    Row,
    RunAction,
    Source,
)
from readers.bad_files import (
    BAD_FILES,
    BAD_RECORDS,
    CSV_HEADER,
    CSV_ROW,
    ITEM,
    LABEL,
    Bad,
    line_of,
    nested,
    write_bad,
)
from store.builders import BASE, CLAIM

R = TypeVar("R", bound=Row)


def read(path: Path, content: bytes, **options: Any) -> list[Placed]:
    path.write_bytes(content)
    return list(read_rows([path], **options))


def rows_of(placed: list[Placed], row_type: type[R]) -> list[R]:
    return [row for row, _, _ in placed if isinstance(row, row_type)]


def read_only(placed: Iterable[Placed], row_type: type[R]) -> R:
    """Return the one row, which is of that type."""
    [(row, _, _)] = placed
    assert isinstance(row, row_type)
    return row


def refusal(path: Path, **options: Any) -> Problem:
    """Return the only problem of a file."""
    with pytest.raises(InputError) as caught:
        list(read_rows([path], **options))
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


def check_problem(problem: Problem, path: Path, bad: Bad) -> None:
    assert problem.path == str(path)
    assert bad.line is None or problem.line == bad.line
    assert problem.field == bad.field
    assert bad.found in problem.found
    assert bad.expected in problem.expected
    assert len(str(problem).splitlines()) == 1
    assert len(problem.found) <= 200


@pytest.mark.parametrize("case", BAD_RECORDS)
def test_bad_record_is_told_with_its_place(case: str, tmp_path: Path) -> None:
    path = write_bad(tmp_path, BAD_RECORDS[case])
    check_problem(refusal(path), path, BAD_RECORDS[case])


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_file_is_told_with_its_place(case: str, tmp_path: Path) -> None:
    path = write_bad(tmp_path, BAD_FILES[case])
    check_problem(refusal(path), path, BAD_FILES[case])


@pytest.mark.parametrize("row_type", ROW_TYPES)
def test_required_field_missing_is_named(row_type: type[Row], tmp_path: Path) -> None:
    path = tmp_path / f"{row_type.kind}.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    problem = refusal(path)
    assert problem.field == row_type.__struct_fields__[0]
    assert problem.found == "nothing"


@pytest.mark.parametrize("row_type", ROW_TYPES)
def test_wrong_type_is_told_for_every_field(row_type: type[Row], tmp_path: Path) -> None:
    path = tmp_path / f"{row_type.kind}.jsonl"
    for name in row_type.__struct_fields__:
        path.write_bytes(line_of(row_type, **{name: {"a": [1]}}))
        problem = refusal(path)
        assert problem.field == name
        assert problem.found == '{"a": [1]}'
        assert "<class" not in problem.expected
        assert "typing." not in problem.expected


@pytest.mark.parametrize("row_type", ROW_TYPES)
def test_base_record_of_every_kind_is_read(row_type: type[Row], tmp_path: Path) -> None:
    placed = read(tmp_path / f"{row_type.kind}.jsonl", line_of(row_type))
    assert [type(row) for row, _, _ in placed] == [row_type]
    for name, value in BASE[row_type].items():
        if not name.endswith("_at"):
            assert getattr(placed[0].row, name) == value


def test_added_query_type_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(line_of(Item, query_type="riddle"))
    assert len(list(read_rows([path], query_types=("lookup", "riddle")))) == 1


def test_problems_of_several_records_and_files_are_all_told(tmp_path: Path) -> None:
    items, labels = tmp_path / "items.jsonl", tmp_path / "labels.jsonl"
    items.write_bytes(ITEM + line_of(Item, stakes="?") + b"\n" + line_of(Item, query=1))
    labels.write_bytes(line_of(Label, verdict="?"))
    with pytest.raises(InputError) as caught:
        list(read_rows([items, labels]))
    places = [(p.path, p.line, p.field) for p in caught.value.problems]
    assert places == [
        (str(items), 2, "stakes"),
        (str(items), 4, "query"),
        (str(labels), 1, "verdict"),
    ]


def test_many_problems_are_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(line_of(Item, stakes="?") * 50)
    with pytest.raises(InputError, match="and more like these") as caught:
        list(read_rows([path]))
    assert len(caught.value.problems) == 20
    assert len(str(caught.value).splitlines()) == 21


def test_missing_file_is_told(tmp_path: Path) -> None:
    for name in ("items.jsonl", "items.jsonl.gz", "items.csv", "items.parquet"):
        problem = refusal(tmp_path / name)
        assert problem.found == "no such file"
        assert problem.path == str(tmp_path / name)


def test_folder_instead_of_a_file_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "items.jsonl"
    folder.mkdir()
    assert refusal(folder).found == "a folder"


def test_indented_json_is_refused_from_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text(json.dumps([BASE[Item]], indent=1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(read_rows([path]))
    first = caught.value.problems[0]
    assert (first.line, first.expected) == (1, "one JSON object per line")


# What is allowed.


def test_empty_file_has_no_rows(tmp_path: Path) -> None:
    assert read(tmp_path / "items.jsonl", b"") == []
    assert read(tmp_path / "items.jsonl", b"\n \n\r\n") == []
    assert read(tmp_path / "items.csv", b"") == []
    assert read(tmp_path / "items.csv", CSV_HEADER) == []
    assert read(tmp_path / "items.jsonl.gz", gzip.compress(b"")) == []


def test_blank_lines_count_as_lines(tmp_path: Path) -> None:
    placed = read(tmp_path / "items.jsonl", b"\n" + ITEM + b"  \n\t\n" + ITEM)
    assert [line for _, _, line in placed] == [2, 5]


def test_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    assert read(tmp_path / "items.jsonl", mark + ITEM)[0].row == read_one(tmp_path)
    placed = read(tmp_path / "items.csv", mark + CSV_HEADER + CSV_ROW)
    assert read_only(placed, Item).item_id == "q1"


def read_one(tmp_path: Path) -> Row:
    return read(tmp_path / "items-1.jsonl", ITEM)[0].row


def test_windows_line_ends_are_read(tmp_path: Path) -> None:
    data = (ITEM + ITEM).replace(b"\n", b"\r\n")
    placed = read(tmp_path / "items.jsonl", data)
    assert [(row, line) for row, _, line in placed] == [
        (read_one(tmp_path), 1),
        (read_one(tmp_path), 2),
    ]
    table = (CSV_HEADER + CSV_ROW).replace(b"\n", b"\r\n")
    item = read_only(read(tmp_path / "items.csv", table), Item)
    assert item.source_corpus_ver == "v1"


def test_last_line_needs_no_line_end(tmp_path: Path) -> None:
    assert len(read(tmp_path / "items.jsonl", ITEM + ITEM.rstrip())) == 2
    assert len(read(tmp_path / "items.csv", CSV_HEADER + CSV_ROW.rstrip())) == 1


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_compressed_file_is_read(
    ending: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    expected = [row for row, _, _ in read(tmp_path / "labels.jsonl", LABEL * 3)]
    assert [r for r, _, _ in read(tmp_path / f"labels.jsonl.{ending}", pack(LABEL * 3))] == expected
    table = CSV_HEADER + CSV_ROW
    assert len(read(tmp_path / f"items.csv.{ending}", pack(table))) == 1


def test_kind_comes_from_the_longest_beginning_of_the_name(tmp_path: Path) -> None:
    record = line_of(Item).replace(b"\n", b"")
    assert type(read(tmp_path / "items-march.jsonl", record)[0].row) is Item
    assert type(read(tmp_path / "ITEMS.JSONL", record)[0].row) is Item
    attribute = line_of(ItemAttribute)
    assert type(read(tmp_path / "item_attributes.2.jsonl", attribute)[0].row) is ItemAttribute
    labels = read(tmp_path / "closed_book_labels.jsonl", line_of(ClosedBookLabel))
    assert labels[0].row.kind == "closed_book_labels"


def test_kind_given_beats_the_name(tmp_path: Path) -> None:
    assert type(read(tmp_path / "labels.jsonl", ITEM, kind="items")[0].row) is Item


def test_mixed_file_takes_the_type_of_each_record(tmp_path: Path) -> None:
    data = (
        line_of(Item, type="items")
        + line_of(Source, type="sources")
        + line_of(Label, type="labels")
    )
    placed = read(tmp_path / "everything.jsonl", data)
    assert [type(row) for row, _, _ in placed] == [Item, Source, Label]


def test_type_of_a_later_record_beats_the_name(tmp_path: Path) -> None:
    placed = read(tmp_path / "labels.jsonl", LABEL + line_of(Item, type="items"))
    assert [type(row) for row, _, _ in placed] == [Label, Item]


def test_mixed_file_with_one_record_without_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "everything.jsonl"
    path.write_bytes(line_of(Item, type="items") + ITEM)
    problem = refusal(path)
    assert (problem.line, problem.found) == (2, "no kind of record")


def test_csv_quotes_commas_and_newlines_are_kept(tmp_path: Path) -> None:
    row = b'q1,"He said ""hi"",\nthen, left ",lookup,1,low,v1\n'
    item = read_only(read(tmp_path / "items.csv", CSV_HEADER + row), Item)
    assert item.query == 'He said "hi",\nthen, left '
    assert item.answerable is True


def test_csv_empty_cells_are_null_only_where_null_fits(tmp_path: Path) -> None:
    header = b"source_id,corpus_ver,source_text,title,valid_from\n"
    source = read_only(read(tmp_path / "sources.csv", header + b"doc,v1,,,\n"), Source)
    assert (source.source_text, source.title, source.valid_from) == ("", None, None)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_whole_numbers_as_pandas_writes_them_are_whole(ending: str, tmp_path: Path) -> None:
    """A column that lacks some is one of floats there: 25 becomes 25.0."""
    given = {**BASE[Label], "claim_text": "It is tall.", "sample": 1.0}
    rows = [{**given, "span_start": 25}, {**given, "span_start": None, "labeler": "ben"}]
    frame = pandas.DataFrame(rows)
    path = tmp_path / f"labels.{ending}"
    if ending == "jsonl":
        frame.to_json(path, orient="records", lines=True, date_format="iso")
    elif ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    labels = rows_of(list(read_rows([path])), Label)
    assert [label.span_start for label in labels] == [25, None]
    expected = make_claim_id(BASE[Label]["item_id"], "It is tall.", sample=1)
    assert {label.claim_id for label in labels} == {expected}


def test_csv_rows_have_the_lines_where_they_begin(tmp_path: Path) -> None:
    broken = CSV_ROW.replace(b"What?", b'"a\nb\nc"')
    placed = read(tmp_path / "items.csv", CSV_HEADER + CSV_ROW + broken + CSV_ROW)
    assert [line for _, _, line in placed] == [2, 3, 6]


def test_csv_blank_lines_count_as_lines(tmp_path: Path) -> None:
    data = CSV_HEADER + b"\n" + CSV_ROW + b"\n\n" + CSV_ROW
    assert [line for _, _, line in read(tmp_path / "items.csv", data)] == [3, 6]


def test_csv_wrong_row_is_placed_where_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_bytes(CSV_HEADER + CSV_ROW + b'q2,"a\nb\nc",lookup\n')
    assert refusal(path).line == 3


def test_csv_long_field_is_read(tmp_path: Path) -> None:
    text = b"x" * 200_000
    data = b"source_id,corpus_ver,source_text\ndoc,v1," + text + b"\n"
    source = read_only(read(tmp_path / "sources.csv", data), Source)
    assert len(source.source_text) == 200_000


def test_csv_column_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_bytes(CSV_HEADER.strip() + b",query\n" + CSV_ROW.strip() + b",Other?\n")
    assert "query" in str(refusal(path))


def test_csv_year_is_not_a_time(tmp_path: Path) -> None:
    path = tmp_path / "guides.csv"
    path.write_bytes(b"guide_version,guide_text,created_at\ng1,Judge.,2026\n")
    problem = refusal(path)
    assert (problem.field, problem.found) == ("created_at", '"2026"')


def test_backslash_u0000_as_text_is_no_nul(tmp_path: Path) -> None:
    text = r"In JSON a NUL is written \u0000."
    for row_type, name in ((Item, "query"), (Source, "source_text")):
        (placed,) = read(tmp_path / f"{row_type.kind}.jsonl", line_of(row_type, **{name: text}))
        assert getattr(placed.row, name) == text


@pytest.mark.parametrize("depth", [100, 900, 10_000, 1_000_000])
def test_deep_nesting_is_refused(depth: int, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    for data in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth, b"[" * depth):
        path.write_bytes(data + b"\n" + ITEM)
        assert refusal(path).line == 1
    path.write_bytes(ITEM.replace(b'"lookup"', b"[" * depth + b"]" * depth))
    assert refusal(path).line == 1


@pytest.mark.parametrize("name", ["items.jsonl", "labels.jsonl", "items.csv", "items.jsonl.gz"])
def test_endless_line_is_refused_fast_in_little_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    data = b"x" * 50_000_000
    path.write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    del data
    tracemalloc.start()
    start = time.thread_time()
    problem = refusal(path)
    seconds = time.thread_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problem.line == 1
    assert seconds < 5
    assert peak < 200_000_000


def test_long_values_are_cut_in_messages(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(line_of(Item, query_type="y" * 1_000_000, query=["z" * 1_000_000]))
    assert len(str(refusal(path))) < 400


def test_field_name_with_line_breaks_stays_one_line(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(line_of(Item, **{"a\nb": 1}))
    assert len(str(refusal(path)).splitlines()) == 1


def test_found_value_with_odd_line_breaks_stays_one_line(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(line_of(Item, stakes="a\u2028b\x85c\x9bd"))
    assert len(str(refusal(path)).splitlines()) == 1


# Children inside their parents.


def test_children_become_rows_of_their_own(tmp_path: Path) -> None:
    record = nested(
        action="answer",
        contexts=[{"source_id": "doc", "context_text": "Tea is hot."}],
        action_log=[{"entry_id": "e1", "entry_text": "refund issued"}],
        claims=[{"claim_text": CLAIM, "citations": [{"source_id": "doc"}, {"marker": "[9]"}]}],
    )
    placed = read(tmp_path / "answers.jsonl", record)
    assert {line for _, _, line in placed} == {1}
    (answer,) = rows_of(placed, Answer)
    assert answer.context_count == 1
    assert rows_of(placed, RunAction)[0].action == "answer"
    assert rows_of(placed, Context)[0].position == 0
    (claim,) = rows_of(placed, Claim)
    assert claim.claim_id == make_claim_id("q1", CLAIM)
    citations = rows_of(placed, Citation)
    assert [(c.claim_id, c.position) for c in citations] == [
        (claim.claim_id, 0),
        (claim.claim_id, 1),
    ]


def test_children_of_an_item_become_rows(tmp_path: Path) -> None:
    spans = [{"source_id": "doc", "span_text": CLAIM, "required": False}]
    record = line_of(Item, gold_spans=spans, attributes={"team": "a", "lang": "de"})
    placed = read(tmp_path / "items.jsonl", record)
    assert rows_of(placed, GoldSpan)[0].item_id == "q1"
    attributes = rows_of(placed, ItemAttribute)
    assert [(a.name, a.value) for a in attributes] == [("team", "a"), ("lang", "de")]


def test_children_that_are_null_are_none(tmp_path: Path) -> None:
    placed = read(tmp_path / "answers.jsonl", nested(claims=None, action=None))
    assert [type(row) for row, _, _ in placed] == [Answer]


def test_repeated_claim_gets_an_id_of_its_own(tmp_path: Path) -> None:
    claims = [{"claim_text": CLAIM}, {"claim_text": "Hi."}, {"claim_text": CLAIM}]
    placed = read(tmp_path / "answers.jsonl", nested(sample=3, claims=claims))
    found = [(c.position, c.claim_id) for c in rows_of(placed, Claim)]
    assert found == [
        (0, make_claim_id("q1", CLAIM, sample=3)),
        (1, make_claim_id("q1", "Hi.", sample=3)),
        (2, make_claim_id("q1", CLAIM, sample=3, occurrence=1)),
    ]


@pytest.mark.parametrize("value", ["", 0, False, {}])
def test_citations_that_are_no_list_are_refused_even_when_empty(
    value: object, tmp_path: Path
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(nested(claims=[{"claim_text": CLAIM, "citations": value}]))
    assert refusal(path).field == "claims[0].citations"


class CountedText(str):
    """A column's name that counts how often it is compared or hashed."""

    work = 0

    def __eq__(self, other: object) -> bool:
        CountedText.work += 1
        return super().__eq__(other)

    def __hash__(self) -> int:
        CountedText.work += 1
        return super().__hash__()


@pytest.mark.parametrize("columns", [100, 10_000])
def test_header_is_checked_in_linear_time(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CountedText, "work", 0)
    _check_header(Path("items.csv"), [CountedText(f"c{n}") for n in range(columns)])
    assert 0 < CountedText.work < 10 * columns


def test_column_that_is_there_twice_is_told(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_bytes(b"item_id,query,query,item_id\n")
    problem = refusal(path)
    assert (problem.line, problem.found) == (1, "the column 'query' twice")


# Parquet.


def write_parquet(path: Path, select: str) -> Path:
    duckdb.connect(":memory:").execute(f"copy ({select}) to '{path}' (format parquet)")
    return path


_CONTEXT = "'r1' as run_id, 'q1' as item_id, 'doc' as source_id, 'Tea' as context_text"


def test_parquet_rows_are_read_with_their_numbers(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "contexts.parquet",
        f"select {_CONTEXT}, i::integer as position, 0.5::double as score from range(3) as t(i)",
    )
    placed = list(read_rows([path]))
    assert [line for _, _, line in placed] == [1, 2, 3]
    rows = rows_of(placed, Context)
    assert [(row.position, row.score) for row in rows] == [(0, 0.5), (1, 0.5), (2, 0.5)]


def test_parquet_nan_is_refused(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "contexts.parquet",
        f"select {_CONTEXT}, 0 as position, 'nan'::double as score",
    )
    problem = refusal(path)
    assert (problem.line, problem.field, problem.found) == (1, "score", "nan")


def test_parquet_wrong_type_is_told(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "contexts.parquet", f"select {_CONTEXT}, 'first' as position")
    problem = refusal(path)
    assert (problem.line, problem.field, problem.found) == (1, "position", '"first"')


def test_parquet_cut_off_is_refused(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "contexts.parquet", f"select {_CONTEXT}, i as position from range(900) as t(i)"
    )
    path.write_bytes(path.read_bytes()[:-50])
    problem = refusal(path)
    assert problem.expected == "a complete Parquet file"
    assert len(str(problem).splitlines()) == 1


def test_parquet_times_with_a_zone_are_read(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "guides.parquet",
        "select 'g1' as guide_version, 'Judge.' as guide_text, "
        "timestamptz '2026-03-01 10:00:00+01' as created_at",
    )
    created_at = read_only(read_rows([path]), Guide).created_at
    assert created_at.replace(tzinfo=None).isoformat() == "2026-03-01T09:00:00"


def test_parquet_name_with_brackets_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "data [1]*"
    folder.mkdir()
    made = write_parquet(tmp_path / "c.parquet", f"select {_CONTEXT}, 0 as position")
    path = folder / "contexts.parquet"
    path.write_bytes(made.read_bytes())
    assert len(list(read_rows([path]))) == 1


# Folders.


def test_folder_gives_its_files(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("not data", encoding="utf-8")
    (tmp_path / "sources.jsonl").write_bytes(line_of(Source))
    (tmp_path / "items.csv").write_bytes(CSV_HEADER + CSV_ROW)
    with open_store(tmp_path / "s.db", create=True) as store:
        result = import_files(store, [tmp_path])
    assert {c.kind: c.added for c in result.counts} == {"sources": 1, "items": 1}


@pytest.mark.parametrize("name", ["items.json", "items.ndjson", "ITEMS.JSONL", "items.JSONL.gz"])
def test_folder_takes_every_name_that_a_file_may_have(name: str, tmp_path: Path) -> None:
    (tmp_path / "sources.jsonl").write_bytes(line_of(Source))
    data = gzip.compress(ITEM) if name.endswith("gz") else ITEM
    (tmp_path / name).write_bytes(data)
    with open_store(tmp_path / "s.db", create=True) as store:
        result = import_files(store, [tmp_path])
    assert {c.kind: c.added for c in result.counts} == {"sources": 1, "items": 1}


def test_folder_without_data_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "notes.txt").write_text("hello", encoding="utf-8")
    with open_store(tmp_path / "s.db", create=True) as store, pytest.raises(InputError) as caught:
        import_files(store, [folder])
    assert caught.value.problems[0].found == "a folder without data"
    assert caught.value.problems[0].path == str(folder)


def test_doubtful_rows_are_counted_as_warnings(tmp_path: Path) -> None:
    (tmp_path / "sources.jsonl").write_bytes(line_of(Source))
    (tmp_path / "items.jsonl").write_bytes(line_of(Item, query_type="unanswerable"))
    with open_store(tmp_path / "s.db", create=True) as store:
        result = import_files(store, [tmp_path])
    assert len(result.warnings) == 1
    assert result.warnings[0].startswith("1 item of type unanswerable is marked")


@pytest.mark.parametrize("name", ["eval_items.jsonl", "items.jsonl", "Eval_Items-2.ndjson"])
def test_files_may_be_named_after_their_tables(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(ITEM)
    [placed] = read_rows([tmp_path / name])
    assert isinstance(placed.row, Item)


def test_labels_may_have_the_name_of_the_spec(tmp_path: Path) -> None:
    """The columns of the spec's table, in a file of its name."""
    (tmp_path / "claim_labels.csv").write_text(
        "run_id,item_id,claim_text,claim_type,verdict,supporting_span,source_id,labeler,labeled_at\n"
        "r,i,It is so.,factual,unlinked,,,ana,2026-01-01T00:00:00Z\n",
        encoding="utf-8",
    )
    [placed] = read_rows([tmp_path / "claim_labels.csv"])
    assert isinstance(placed.row, Label)
    assert placed.row.supporting_span is None
