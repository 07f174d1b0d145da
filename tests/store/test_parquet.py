from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from claimwise.disk.duckdb_files import connect_duckdb
from claimwise.errors import NotAStoreError, StoreError
from claimwise.store import Store, list_views, open_store
from claimwise.store.engine import Params
from claimwise.store.parquet import ParquetEngine
from claimwise.transfer import export_store
from claimwise.types.rows import (
    ROW_TYPES,
    GoldSpanVersion,
    Item,
    ItemRetirement,
    Run,
    TrafficAnswer,
)
from store.builders import base_rows, dump_typed, load, make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One row of every kind as Parquet files."""
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, *base_rows())
        export_store(store, tmp_path / "parquet", "parquet")
    return tmp_path / "parquet"


def texts(store: Store, select: str) -> list[tuple[str, ...]]:
    """Return rows in words that all engines write alike."""
    return sorted(
        tuple(str(+v if isinstance(v, bool) else v) for v in row) for row in store.query(select)
    )


def test_parquet_store_holds_the_same_rows(demo_store: Store, tmp_path: Path) -> None:
    export_store(demo_store, tmp_path / "p", "parquet")
    with open_store(tmp_path / "p") as parquet:
        assert parquet.engine_name == "duckdb"
        assert parquet.schema_version is None
        assert parquet.count_rows() == demo_store.count_rows()
        assert dump_typed(parquet) == dump_typed(demo_store)
        for view, _ in list_views():
            assert texts(parquet, f"select * from {view}") == texts(
                demo_store, f"select * from {view}"
            )
        assert parquet.audit() == demo_store.audit() == []
        assert parquet.missing_views() == []


def test_parquet_store_binds_parameters(folder: Path) -> None:
    with open_store(folder) as store:
        sql = "select run_id, ':x' from runs where run_id = :run and :run = run_id"
        assert store.query(sql, {"run": "r1", "unused": 1}) == [("r1", ":x")]
        assert store.describe("select run_id, 1 as n from runs where run_id = :r", {"r": 1}) == [
            "run_id",
            "n",
        ]


def test_numbers_come_in_order_and_few_are_read_ahead(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many parameters there are, as many rows as there are processors wait in memory."""
    asked: list[object] = []
    read = ParquetEngine._read_numbers

    def read_counted(engine: ParquetEngine, sql: str, params: Params) -> NDArray[np.float64]:
        asked.append(params["n"])
        return read(engine, sql, params)

    monkeypatch.setattr(ParquetEngine, "_read_numbers", read_counted)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with open_store(folder) as store:
        sql = "select :n as n, cast(null as double) as nothing from runs where run_id = 'r1'"
        found = store.query_numbers(sql, 2, [{"n": number} for number in range(9)])
        for number in range(9):
            numbers = next(found)
            assert numbers[0].tolist() == [number]
            assert np.isnan(numbers[1]).all()
            assert len(asked) <= number + 3
        assert list(found) == []
        [(left,)] = store.query("select current_setting('disabled_optimizers')")
        assert left == ""


def test_parquet_store_refuses_to_be_written(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with open_store(folder) as store:
        with pytest.raises(StoreError) as caught:
            load(store, make(Item, item_id="q2"))
        assert str(caught.value) == (
            f"{folder}: a Parquet store is read-only; use a SQLite or PostgreSQL store"
        )
        assert store.count_rows()["eval_items"] == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_parquet_store_refuses_to_be_written_even_with_nothing(folder: Path) -> None:
    with open_store(folder) as store, pytest.raises(StoreError, match="read-only"):
        load(store)


def test_parquet_store_without_a_file_is_refused(folder: Path) -> None:
    later = (GoldSpanVersion, ItemRetirement, TrafficAnswer)  # those of an older export: empty
    for row_type in ROW_TYPES:
        path = folder / f"{row_type.kind}.parquet"
        if row_type in later:
            path.unlink()
            continue
        aside = path.rename(folder / "aside")
        with pytest.raises(NotAStoreError) as caught:
            open_store(folder)
        aside.rename(path)
        if row_type.kind != "runs":  # by which such a folder is known
            assert str(caught.value) == f"{path}: no such file; export the store to Parquet again"
    with open_store(folder) as store:
        rows = store.count_rows()
        assert (rows["runs"], rows["gold_span_versions"], rows["item_retirements"]) == (1, 0, 0)


def test_column_that_is_newer_than_its_file_is_null(folder: Path) -> None:
    path = folder / "answers.parquet"
    with connect_duckdb("a test") as db:
        db.execute(f"create table a as select * exclude (trace_id) from '{path}'")
        db.execute(f"copy a to '{path}' (format parquet)")
    with open_store(folder) as store:
        assert store.query("select run_id, trace_id from answers") == [("r1", None)]
        assert store.query("select run_id from answers where trace_id = 'x'") == []


def test_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAStoreError) as caught:
        open_store(tmp_path)
    assert "no runs.parquet" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_damaged_parquet_file_is_told_in_one_line(folder: Path) -> None:
    (folder / "items.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(StoreError) as caught, open_store(folder) as store:
        store.count_rows()
    assert str(caught.value).startswith(f"{folder}: ")
    assert "items.parquet" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


# The folder of a store, and another that DuckDB would have found by its name.
ODD = {
    "brackets": ("ex[1]", "ex1"),
    "star": ("e*", "ex"),
    "question mark": ("ex?", "ex1"),
    "stars": ("**", "ex"),
    "quote": ("it's", "its"),
    "hive": ("run_id=r9", "ex"),
    "home": ("~", "ex"),
    "dash": ("-x", "x"),
    "braces": ("{a,b}", "a"),
    "percent": ("%2A", "*"),
    "backslash": ("a\\[1]", "a1"),
    "not UTF-8": (os.fsdecode(b"caf\xe9"), "caf"),
}


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two stores: a run of its own in each, and the second exported as well."""
    folder = tmp_path_factory.mktemp("two")
    for run_id in ("own", "wrong"):
        with open_store(folder / f"{run_id}.db", create=True) as store:
            load(store, make(Run, run_id=run_id))
            if run_id == "wrong":
                export_store(store, folder / run_id, "parquet")
    return folder


@pytest.mark.parametrize(("name", "other"), ODD.values(), ids=ODD)
def test_parquet_store_is_the_folder_that_its_path_names(
    name: str, other: str, two_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store(two_runs / "own.db") as store:
        export_store(store, Path(name), "parquet")
    shutil.copytree(two_runs / "wrong", other)
    with open_store(Path(name)) as store:
        assert store.query("select run_id from runs") == [("own",)]
        assert store.describe("select * from runs") == list(Run.__struct_fields__)


def test_open_parquet_store_keeps_its_files_when_others_replace_them(
    folder: Path, tmp_path: Path
) -> None:
    with open_store(folder) as store:
        before = dump_typed(store)
        with open_store(tmp_path / "empty.db", create=True) as empty:
            export_store(empty, folder, "parquet")
        assert dump_typed(store) == before
    with open_store(folder) as store:
        assert store.count_rows()["runs"] == 0


def test_exports_of_older_versions_lack_columns_that_are_null(folder: Path) -> None:
    import duckdb

    for kind, column in (("items", "cluster_id"), ("sources", "source_kind")):
        path = folder / f"{kind}.parquet"
        duckdb.execute(
            f"copy (select * exclude ({column}) from '{path}') to '{path}.old' (format parquet)"
        )
        (folder / f"{kind}.parquet.old").replace(path)
    with open_store(folder) as store:
        assert store.query("select item_id, cluster_id from eval_items") == [("q1", None)]
        assert store.query("select source_id, source_kind from sources") == [("doc", None)]
        assert store.audit() == []


def test_parquet_store_keeps_to_its_memory_and_spills_to_disk(folder: Path) -> None:
    with open_store(f"parquet:{folder}", memory="60MB") as store:
        assert store.query("select current_setting('memory_limit')") == [("57.2 MiB",)]
        sql = "select count(distinct md5(cast(range as text))) from range(600000)"
        assert store.query(sql) == [(600_000,)]
