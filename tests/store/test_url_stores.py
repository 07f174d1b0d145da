"""Parquet stores at a URL: the rows of the folder, and one line for whatever is wrong with it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from claimwise.cli.main import run
from claimwise.disk.duckdb_files import name_paths
from claimwise.errors import ClaimwiseError, MissingExtraError, NotAStoreError, StoreError
from claimwise.store import open_store
from claimwise.transfer import export_store
from shards.shard_files import make_files
from store.builders import base_rows, dump_typed, load

# When each of two jobs began.
MOMENT = re.compile(r"20\d\d-\d\d-\d\d[T ][0-9:.]+")


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """One row of every kind as Parquet files."""
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, *base_rows())
        export_store(store, tmp_path / "p", "parquet")
    return tmp_path / "p"


@pytest.fixture
def memory() -> Iterator[Any]:
    """An empty file system in memory, which all of this process share."""
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    yield filesystem
    filesystem.store.clear()


def put(memory: Any, folder: Path, path: str) -> str:
    for file in folder.iterdir():
        memory.pipe_file(f"{path}/{file.name}", file.read_bytes())
    return f"parquet:memory://{path}"


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_store_at_a_url_holds_the_same_rows(scheme: str, exported: Path, memory: Any) -> None:
    place = (
        put(memory, exported, "/bucket/p") if scheme == "memory" else f"parquet:file://{exported}"
    )
    with open_store(place) as store, open_store(exported) as local:
        assert store.engine_name == "duckdb"
        assert not store.writable
        assert min(store.count_rows().values()) == 1
        assert dump_typed(store) == dump_typed(local)


def test_verdicts_that_went_to_a_url_are_reported_there(
    tmp_path: Path, memory: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    make_files(tmp_path / "in", 2, 2)
    memory.put(f"{tmp_path}/in/", "/answers/", recursive=True)
    here, there = str(tmp_path / "verdicts"), "memory://bucket/verdicts"
    for files, output in ((f"{tmp_path}/in/*.jsonl", here), ("memory://answers/*.jsonl", there)):
        arguments = ["--input", files, "--output", output, "--judge", "lexical", "--workers", "1"]
        assert run(["verify", *arguments]) == 0
    capsys.readouterr()
    for command in ("metrics", "report", "estimate"):
        told = []
        for place in (here, f"parquet:{there}"):
            code = run([command, "--store", place, "--run", "verdicts", "--format", "json"])
            found = capsys.readouterr()
            told.append((code, MOMENT.sub("", found.out).replace(place, ""), found.err))
        assert told[0] == told[1]
        assert command == "estimate" or '"faithfulness"' in told[0][1]


def test_odd_names_at_a_url_are_no_patterns(exported: Path, memory: Any) -> None:
    """The other folder's file is broken: whoever reads it fails."""
    place = put(memory, exported, "/bucket/odd[12]*?")
    memory.pipe_file("/bucket/odd1x/runs.parquet", b"not parquet")
    with open_store(place) as store:
        assert store.query("select count(*) from runs") != [(0,)]


def test_file_that_is_replaced_while_it_is_read_is_told(exported: Path, memory: Any) -> None:
    with open_store(put(memory, exported, "/bucket/p")) as store:
        memory.pipe_file("/bucket/p/labels.parquet", (exported / "runs.parquet").read_bytes())
        with pytest.raises(StoreError, match=r"memory:///bucket/p: .*labels.parquet was replaced"):
            store.query("select count(verdict) from labels")


def test_url_without_a_store_is_told(memory: Any) -> None:
    with pytest.raises(NotAStoreError, match=r"memory://bucket/none: no runs.parquet there"):
        open_store("parquet:memory://bucket/none")


def test_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adlfs", None)
    with pytest.raises(ClaimwiseError, match=r"^abfs://bucket/p: .*not installed; Install adlfs"):
        open_store("parquet:abfs://bucket/p")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("IO Error: no file /dev/fd/7\n\nLINE 1: select\n   ^", "IO Error: no file a.parquet"),
        (
            'Traceback (most recent call last):\n  File "driver.py", line 9, in read\n'
            "driver.ChecksumError: of claimwise://0: no match\n\nLINE 1: select\n        ^",
            "of b.parquet: no match",
        ),
        ("Traceback (most recent call last):\nTimeoutError", "TimeoutError"),
        ("", ""),
    ],
)
def test_duckdb_s_words_are_one_line(words: str, line: str) -> None:
    assert name_paths(words, {"/dev/fd/7": "a.parquet", "claimwise://0": "b.parquet"}) == line


def test_unknown_scheme_is_told() -> None:
    with pytest.raises(ClaimwiseError, match="nowhere://x: Protocol not known: nowhere"):
        open_store("parquet:nowhere://x")


def test_url_is_told_without_its_password() -> None:
    with pytest.raises(ClaimwiseError, match=r"ftp://127\.0\.0\.1:1/p: ") as told:
        open_store("parquet:ftp://ann:secret@127.0.0.1:1/p")
    assert "secret" not in str(told.value)


def test_url_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=r"s3://… needs the extra “remote”"):
        open_store("parquet:s3://bucket/p")


def test_no_url_no_fsspec(exported: Path) -> None:
    script = (
        "import sys; from claimwise.store import open_store; "
        f"open_store({str(exported)!r}).close(); print('fsspec' in sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout == "False\n"
