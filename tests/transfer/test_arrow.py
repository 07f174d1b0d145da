"""A store goes out as Arrow and comes in again, by files and by tables in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow
import pyarrow.ipc
import pytest

import claimwise
from claimwise.cli.main import run
from claimwise.errors import ClaimwiseError, InputError
from claimwise.readers import KINDS, make_arrow_reader, write
from claimwise.store import Store, open_store
from claimwise.transfer import export_arrow, export_store, import_arrow, import_files
from claimwise.types.rows import Source
from transfer.outgoing_data import load_awkward_run


@pytest.fixture
def awkward(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db", create=True) as store:
        load_awkward_run(store)
        yield store


def export_lines(store: Store, folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path, _ in export_store(store, folder, "jsonl")}


def test_files_hold_what_json_lines_hold(awkward: Store, tmp_path: Path) -> None:
    counts = export_store(awkward, tmp_path / "arrow", "arrow")
    for path, count in counts:
        with pyarrow.ipc.open_file(path) as file:
            assert file.read_all().num_rows == count
    with open_store(tmp_path / "t.db", create=True) as other:
        import_files(other, [tmp_path / "arrow"])
        assert export_lines(other, tmp_path / "b") == export_lines(awkward, tmp_path / "a")


def test_tables_in_memory_hold_it_too(awkward: Store, tmp_path: Path) -> None:
    """One after the other, as a reader of batches; what is there already is skipped."""
    with open_store(tmp_path / "t.db", create=True) as other:
        for kind in KINDS:
            with export_arrow(awkward, kind) as reader:
                assert isinstance(reader, pyarrow.RecordBatchReader)
                import_arrow(other, reader, kind=kind)
        assert export_lines(other, tmp_path / "b") == export_lines(awkward, tmp_path / "a")


def to_pandas(table: pyarrow.Table) -> Any:
    return table.to_pandas()


def to_duckdb(table: pyarrow.Table) -> Any:
    return duckdb.from_arrow(table)


@pytest.mark.parametrize("turn", [polars.DataFrame, to_pandas, to_duckdb])
def test_frames_of_others_are_tables(turn: Any, awkward: Store) -> None:
    with export_arrow(awkward, "labels") as reader:
        table = reader.read_all()
    [count] = claimwise.import_arrow(awkward, turn(table), kind="labels").counts
    assert (count.kind, count.added, count.unchanged) == ("labels", 0, table.num_rows)


def test_a_wrong_row_leaves_the_store_as_it_was(awkward: Store, tmp_path: Path) -> None:
    before = export_lines(awkward, tmp_path / "a")
    table = pyarrow.table({
        "source_id": ["new", None], "corpus_ver": ["v", "v"], "source_text": ["a", "b"],
    })  # fmt: skip
    with pytest.raises(InputError, match="Arrow table:2: source_id"):
        import_arrow(awkward, table, kind="sources")
    assert export_lines(awkward, tmp_path / "b") == before


def test_unknown_kinds_are_refused(awkward: Store) -> None:
    with pytest.raises(ClaimwiseError, match="label"), export_arrow(awkward, "label"):
        pass
    with pytest.raises(InputError, match="no kind of record"):
        import_arrow(awkward, pyarrow.table({"source_id": ["a"]}))


def test_rows_are_taken_a_batch_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 0

    def list_rows() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield {"source_id": str(number), "corpus_ver": "v", "source_text": "a" * 100}

    monkeypatch.setattr(write, "_BATCH_ROWS", 10)
    with make_arrow_reader(Source, list_rows()) as reader:
        assert reader.read_next_batch().num_rows == 10
        assert taken <= 20
        monkeypatch.setattr(write, "_BATCH_LETTERS", 500)
        assert [batch.num_rows for batch in reader][-1] < 10
    assert taken == 100


def test_by_command(awkward: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, folder = str(tmp_path / "s.db"), str(tmp_path / "arrow")
    assert run(["export", "--store", place, "--format", "arrow", folder]) == 0
    assert "labels.arrow  " in capsys.readouterr().out
    assert run(["import", "--store", place, folder]) == 0
    assert "labels               3 there already" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["export", "--format", "arrow", "out"],
                                     ["import", "labels.arrow"]])  # fmt: skip
def test_without_pyarrow_one_line_says_what_to_install(
    command: list[str], awkward: Store, tmp_path: Path
) -> None:
    (tmp_path / "labels.arrow").write_bytes(b"ARROW1\0\0")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from claimwise.cli.main import run\n"
        f"sys.exit(run([*{command!r}, '--store', 's.db']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "pip install 'claimwise[arrow]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
