from __future__ import annotations

import csv
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claimwise.readers import FORMATS, write_files
from claimwise.readers.records import complete
from claimwise.store import Store, open_store
from claimwise.transfer import export_store, import_files
from claimwise.types.rows import (
    ROW_TYPES,
    ActionEntry,
    Answer,
    AnswerLabel,
    Citation,
    Claim,
    ClosedBookLabel,
    Context,
    GoldSpan,
    Guide,
    Item,
    ItemAttribute,
    Label,
    Labeler,
    Row,
    Run,
    RunAction,
    Source,
    Unscored,
)
from store.builders import base_rows, load, make, new_place, put

TIME = "2026-03-01T09:00:00Z"
ENGINES = ("sqlite", "postgresql")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def export(store: Store, folder: Path, form: str = "jsonl") -> dict[str, bytes]:
    export_store(store, folder, form)
    return contents(folder)


def round_trip(place: str, folder: Path, form: str) -> dict[str, bytes]:
    """Read an exported folder into a new store; return that store as JSON Lines."""
    with open_store(place, create=True) as store:
        import_files(store, [folder])
        return export(store, folder.parent / f"{folder.name}-again")


# The demo data.


@pytest.mark.parametrize("form", FORMATS)
def test_demo_survives_a_round_trip(
    request: pytest.FixtureRequest, demo_store: Store, tmp_path: Path, form: str
) -> None:
    expected = export(demo_store, tmp_path / "expected")
    assert all(f"{t.kind}.jsonl" in expected for t in ROW_TYPES)
    export(demo_store, tmp_path / form, form)
    other = ENGINES[demo_store.engine_name == "sqlite"]
    found = round_trip(new_place(request, other, tmp_path), tmp_path / form, form)
    assert found == expected


def test_demo_is_the_same_on_both_engines(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    from claimwise.demo import list_demo_files

    found = []
    for engine in ENGINES:
        with open_store(new_place(request, engine, tmp_path), create=True) as store:
            import_files(store, list_demo_files())
            found.append({form: export(store, tmp_path / engine / form, form) for form in FORMATS})
    for form in ("jsonl", "csv"):
        assert found[0][form] == found[1][form]


def test_parquet_store_exports_the_same(demo_store: Store, tmp_path: Path) -> None:
    expected = export(demo_store, tmp_path / "expected")
    export(demo_store, tmp_path / "parquet", "parquet")
    with open_store(tmp_path / "parquet") as parquet:
        assert export(parquet, tmp_path / "again") == expected


# Made-up data.

TIMES = st.datetimes().map(lambda moment: moment.isoformat())
PAST = st.datetimes(max_value=datetime(2026, 1, 1)).map(datetime.isoformat)  # noqa: DTZ001
SHARES = st.floats(0.001, 1)


def texts(*, least: int) -> st.SearchStrategy[str]:
    """Draw short texts that are full of trouble."""
    odd = st.sampled_from("ab ,;\"'\n\r\t\\|%é€\u0301🍵\u2028\ufeff\x1b\x7f")
    other = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
    return st.text(st.one_of(odd, other), min_size=least, max_size=12)


@st.composite
def data_sets(draw: st.DrawFn, *, optional_least: int = 0) -> list[Row]:
    """Draw rows of every kind that fit each other."""
    full = texts(least=1)
    any_text = texts(least=0)
    optional = st.none() | texts(least=optional_least)
    pairs = st.lists(full, min_size=2, max_size=2, unique=True)
    documents, items, runs, people = (draw(pairs) for _ in range(4))
    text = draw(full)
    claims = draw(st.lists(full, min_size=1, max_size=2, unique=True))
    version = draw(full)
    answer = {"run_id": runs[0], "item_id": items[0]}
    human, verifier = people[0], "verifier:" + people[1]
    rows: list[Row] = [
        make(Source, source_id=documents[0], corpus_ver=version, source_text=text,
             title=draw(optional), url=draw(optional), superseded_by=documents[1],
             valid_from=draw(st.none() | st.dates().map(str))),
        make(Source, source_id=documents[1], corpus_ver=version, source_text=draw(any_text)),
        *(make(Item, item_id=item, query=draw(full), gold_answer=draw(optional),
               source_corpus_ver=version, domain=draw(optional), answerable=draw(st.booleans()))
          for item in items),
        make(ItemAttribute, item_id=items[0], value=draw(any_text)),
        make(GoldSpan, item_id=items[0], source_id=documents[0], span_text=text[-1:]),
        make(Guide, guide_version=version, guide_text=text, created_at=draw(TIMES)),
        make(Labeler, labeler=verifier, labeler_kind="verifier", model=draw(optional)),
        *(make(Run, run_id=run, system=text, corpus_ver=version, model=draw(optional),
               started_at=draw(TIMES)) for run in runs),
        make(Answer, **answer, answer_text=text, context_count=1),
        make(Answer, run_id=runs[1], item_id=items[1], sample=3, answer_text=None, failure=text),
        make(RunAction, **answer),
        make(Context, **answer, source_id=documents[0], context_text=text, score=draw(SHARES)),
        make(ActionEntry, **answer, entry_id=text, entry_text=text,
             logged_at=draw(st.none() | TIMES)),
        *(make(Claim, **answer, claim_text=claim, position=n, answer_start=0, answer_end=1)
          for n, claim in enumerate(claims)),
        make(Label, **answer, claim_text=claims[0], source_id=documents[0], supporting_span=text,
             labeler=human, labeled_at=draw(PAST), guide_version=version, reason=draw(optional)),
        make(Label, **answer, claim_text=claims[-1], source_id=None, supporting_span=None,
             verdict="unlinked", labeler=verifier, labeled_at=draw(PAST), guide_version=None,
             confidence=draw(SHARES), inclusion_probability=draw(SHARES)),
        make(ClosedBookLabel, **answer, claim_text=claims[0], decision_basis=draw(optional),
             labeler=human, labeled_at=draw(PAST)),
        make(AnswerLabel, **answer, correct=draw(st.booleans()), labeler=human,
             labeled_at=draw(PAST), reason=draw(optional)),
        make(Unscored, **answer, claim_text=claims[0], labeler=verifier, failed_at=draw(TIMES),
             reason=text, detail=draw(optional)),
    ]  # fmt: skip
    claim = next(row for row in rows if isinstance(row, Claim))
    rows.append(
        make(Citation, **answer, claim_id=claim.claim_id, source_id=documents[0],
             marker=draw(optional), span_text=text)
    )  # fmt: skip
    return [complete(row) for row in rows]


_FEW = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def check_round_trip(rows: list[Row], form: str, folder: Path, first: str, second: str) -> None:
    with open_store(first, create=True) as store:
        store.load(put(rows), ["f"])
        expected = export(store, folder / "expected")
        export(store, folder / form, form)
    with open_store(second, create=True) as store:
        import_files(store, [folder / form], query_types=("lookup",))
        found = export(store, folder / "found")
    assert found == expected


@_FEW
@given(rows=data_sets())
def test_made_up_data_survives_json(
    rows: list[Row], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("trip")
    check_round_trip(rows, "jsonl", folder, str(folder / "1.db"), str(folder / "2.db"))


@settings(parent=_FEW, max_examples=3)
@given(rows=data_sets())
def test_made_up_data_survives_parquet(
    rows: list[Row], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("trip")
    check_round_trip(rows, "parquet", folder, str(folder / "1.db"), str(folder / "2.db"))


@_FEW
@given(
    rows=data_sets(
        optional_least=1,
    )
)
def test_made_up_data_survives_csv(
    rows: list[Row], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An empty optional text reads back as none: CSV can't tell them apart."""
    folder = tmp_path_factory.mktemp("trip")
    check_round_trip(rows, "csv", folder, str(folder / "1.db"), str(folder / "2.db"))


@pytest.mark.each_engine
@settings(parent=_FEW, max_examples=5)
@given(rows=data_sets())
def test_made_up_data_survives_postgresql(
    request: pytest.FixtureRequest, rows: list[Row], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("trip")
    first, second = (new_place(request, engine, folder) for engine in ENGINES)
    check_round_trip(rows, "jsonl", folder, first, second)


FORMULAS = (
    "=1+1", '=HYPERLINK("http://127.0.0.1:9","x")', "+1", "-1", "-", "@SUM(A1)", "\t=1", "\r=1",
    "\n=1", "＝1", "＋1", "－1", "＠a", "'=1", "''-1", "''", "'a", "'", "-5 °C outside",
)  # fmt: skip

ODD = {
    "carriage_return": "a\rb",
    "line_feed": "a\nb",
    "both": "a\r\nb\n\rc",
    "quotes": '"a" ""b""',
    "only_quote": '"',
    "commas": ",a,,b,",
    "spaces": "  a \t ",
    "null": "null",
    "none": "None",
    "number": "1e5",
    "truth": "true",
    "day": "2026-01-01",
    "mark": "\ufeffa",
    "separators": "a\u2028b\x85c\x1ed",
    "backslashes": "\\n \\ \\\\",
    "written_nul": r"\u0000",
    "emoji": "👩‍👩‍👧",
    "long": "x" * 200_000,
    "json": '{"a": [1]}',
    "dollar": "$1 :name %s ?",
    **{f"formula {n}": text for n, text in enumerate(FORMULAS)},
}


def odd_rows(text: str) -> list[Row]:
    """Return rows with a text wherever one can stand."""
    name = text[:200]
    return [
        make(Source, source_id=name, source_text=text, title=text),
        make(Item, item_id=name, query=text, gold_answer=text, domain=text),
        make(Run, run_id=name, system=text, model=text),
        make(Answer, run_id=name, item_id=name, answer_text=text, failure=text),
        make(GoldSpan, item_id=name, source_id=name, span_text=text),
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_odd_texts_survive_a_round_trip(form: str, tmp_path: Path) -> None:
    rows = [row for text in ODD.values() for row in odd_rows(text)]
    check_round_trip(rows, form, tmp_path, str(tmp_path / "1.db"), str(tmp_path / "2.db"))


# Formulas.


def read_cells(folder: Path) -> list[str]:
    """Return every cell of a folder's CSV files as a spreadsheet would see it."""
    cells: list[str] = []
    for path in folder.iterdir():
        with path.open(encoding="utf-8", newline="") as file:
            cells += (cell for row in csv.reader(file) for cell in row)
    return cells


@pytest.mark.parametrize("text", [text for text in FORMULAS if text[0] != "'"])
def test_exported_text_is_no_formula(text: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, *odd_rows(text))
        export(store, tmp_path / "csv", "csv")
    cells = read_cells(tmp_path / "csv")
    assert f"'{text}" in cells
    assert not [cell for cell in cells if cell.startswith(tuple("=+-@\t\r\n＝＋－＠"))]


def test_exported_numbers_stay_numbers(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, *base_rows(without=(Context,)), make(Context, score=-0.25))
        export(store, tmp_path / "csv", "csv")
    assert "-0.25" in read_cells(tmp_path / "csv")
    with open_store(tmp_path / "2.db", create=True) as other:
        import_files(other, [tmp_path / "csv"])
        assert other.query("select score from contexts") == [(-0.25,)]


# Files.


@pytest.mark.parametrize("form", FORMATS)
def test_export_of_an_empty_store_can_be_imported(form: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        written = export_store(store, tmp_path / form, form)
        assert [count for _, count in written] == [0] * len(ROW_TYPES)
        assert import_files(store, [tmp_path / form]).counts == ()


@pytest.mark.each_engine
def test_export_tells_files_and_rows(store: Store, tmp_path: Path) -> None:
    load(store, *base_rows())
    written = export_store(store, tmp_path / "out", "csv")
    assert [path.name for path, _ in written] == [f"{t.kind}.csv" for t in ROW_TYPES]
    assert dict(written)[tmp_path / "out" / "labelers.csv"] == 3


def test_export_leaves_out_what_is_null(store: Store, tmp_path: Path) -> None:
    load(store, *base_rows())
    (line,) = export(store, tmp_path / "out")["runs.jsonl"].splitlines()
    assert json.loads(line) == {
        "run_id": "r1",
        "system": "bot",
        "corpus_ver": "v1",
        "started_at": "2026-03-01T09:00:00Z",
    }


def test_export_replaces_older_files_and_no_others(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    (out / "runs.jsonl").write_text("old", encoding="utf-8")
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, *base_rows())
        found = export(store, out)
    assert found["notes.txt"] == b"mine"
    assert found["runs.jsonl"] != b"old"
    assert not [name for name in found if name.startswith(".")]


@pytest.mark.parametrize("form", FORMATS)
def test_failing_export_leaves_older_files_alone(form: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, *base_rows())
        before = export(store, out, form)

    def tables() -> Iterator[tuple[type[Row], list[dict[str, Any]]]]:
        yield Run, []
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_files(out, form, tables())
    assert contents(out) == before


_KILLED = """
import os, signal, sys
from pathlib import Path
from claimwise.readers import write_files
from claimwise.types.rows import Run

def tables():
    yield Run, []
    os.kill(os.getpid(), signal.SIGKILL)

write_files(Path(sys.argv[1]), sys.argv[2], tables())
"""


def kill_export(folder: Path, form: str) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, str(folder), form], check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("form", FORMATS)
def test_next_export_removes_what_a_killed_one_left(form: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    kill_export(out, form)
    assert len(list(out.iterdir())) == 1
    for name in (".claimwise-part-mine", ".export-20261115", "notes"):  # nobody's but the user's
        (out / name).mkdir()
    with open_store(tmp_path / "s.db", create=True) as store:
        written = export_store(store, out, form)
    names = {path.name for path in out.iterdir()}
    expected = {path.name for path, _ in written}
    assert names == expected | {".claimwise-part-mine", ".export-20261115", "notes"}


def test_export_leaves_a_running_one_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, *base_rows())

        def tables() -> Iterator[tuple[type[Row], list[dict[str, Any]]]]:
            yield Run, [{"run_id": "slow", "system": "s", "corpus_ver": "v", "started_at": TIME}]
            export_store(store, out, "jsonl")
            assert (out / "runs.jsonl").exists()

        assert write_files(out, "jsonl", tables()) == [(out / "runs.jsonl", 1)]
    assert b"slow" in (out / "runs.jsonl").read_bytes()
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("form", FORMATS)
def test_exported_files_have_the_permissions_of_the_umask(form: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = os.umask(0o027)
    try:
        with open_store(tmp_path / "s.db", create=True) as store:
            export(store, out, form)
            (out / f"runs.{form}").chmod(0o600)
            export(store, out, form)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()}
    assert modes.pop(f"runs.{form}") == 0o600  # someone made it private
    assert set(modes.values()) == {0o640}


@pytest.mark.parametrize("form", FORMATS)
def test_export_to_a_folder_with_an_odd_name(form: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, *base_rows())
        folder = tmp_path / "it's [1] *?{ü}"
        assert len(export(store, folder, form)) == len(ROW_TYPES)
        with open_store(tmp_path / "2.db", create=True) as other:
            import_files(other, [folder])
            assert other.count_rows() == store.count_rows()


def test_compressed_export_reads_back(tmp_path: Path) -> None:
    import gzip

    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, *base_rows())
        out = export(store, tmp_path / "out")
        packed = tmp_path / "packed"
        packed.mkdir()
        for name, data in out.items():
            (packed / f"{name}.gz").write_bytes(gzip.compress(data))
        result = import_files(store, [packed])
    assert {c.added for c in result.counts} == {0}
