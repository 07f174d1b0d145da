"""A path is a path, and a small file can't fill the memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from claimwise.disk.duckdb_files import connect_duckdb
from claimwise.errors import InputError
from claimwise.readers import parquet, read_rows
from claimwise.readers.parquet import read_parquet
from claimwise.types.rows import Source

PLAIN = "'s1' as source_id, 'v' as corpus_ver, 'Tea.' as source_text"


def write_parquet(path: Path, select: str) -> Path:
    """Write a file by a name that DuckDB takes for nothing else, then give it its own."""
    plain = Path.cwd() / "plain.parquet"
    duckdb.connect(":memory:").execute(
        f"copy ({select}) to '{plain}' (format parquet, compression zstd)"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    return plain.rename(path)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_parquet(path))
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


# Paths.

# The path to read, and the one that DuckDB would have found instead of it or besides.
ODD = {
    "brackets": ("sources[1].parquet", "sources1.parquet"),
    "star": ("sources*.parquet", "sources-other.parquet"),
    "question mark": ("sources?.parquet", "sources1.parquet"),
    "stars in a folder": ("**/sources.parquet", "other/sources.parquet"),
    "brackets in a folder": ("ex[1]/sources.parquet", "ex1/sources.parquet"),
    "home": ("~/sources.parquet", "sources.parquet"),
    "hive": ("corpus_ver=v9/sources.parquet", "sources.parquet"),
    "quote": ("it's/sources.parquet", "its/sources.parquet"),
    "braces": ("sources-{a,b}.parquet", "sources-a.parquet"),
    "percent": ("sources-%2A.parquet", "sources-*.parquet"),
    "dash": ("-v/sources.parquet", "sources.parquet"),
    "backslash": ("a\\[1]/sources.parquet", "a1/sources.parquet"),
    "line break": ("a\nb/sources.parquet", "a/sources.parquet"),
    "not UTF-8": (os.fsdecode(b"caf\xe9/sources.parquet"), "sources.parquet"),
    "S3": ("s3://bucket/sources.parquet", "sources.parquet"),
    "web": ("https://127.0.0.1:9/sources.parquet", "sources.parquet"),
    "file URL": ("file:///sources.parquet", "sources.parquet"),
}


@pytest.mark.parametrize(("name", "other"), ODD.values(), ids=ODD)
def test_parquet_file_is_the_one_that_its_path_names(name: str, other: str) -> None:
    write_parquet(Path(other), "select 'wrong' as source_id, 'v' as corpus_ver, '' as source_text")
    path = write_parquet(Path(name), f"select {PLAIN}")
    [placed] = read_rows([path])
    assert isinstance(placed.row, Source)
    assert placed.row.source_id == "s1"
    assert placed.row.corpus_ver == "v"


@pytest.mark.parametrize(("name", "other"), ODD.values(), ids=ODD)
def test_missing_parquet_file_is_not_another_one(name: str, other: str) -> None:
    write_parquet(Path(other), f"select {PLAIN}")
    assert not Path(name).exists()
    with pytest.raises(InputError, match="no such file"):
        list(read_rows([Path(name)]))


def test_duckdb_loads_no_extension() -> None:
    with connect_duckdb("a test") as db:
        for name in ("autoinstall_known_extensions", "autoload_known_extensions"):
            assert db.execute(f"select current_setting('{name}')").fetchall() == [(False,)]
        with pytest.raises(duckdb.Error, match="httpfs"):
            db.execute("select * from read_parquet('https://127.0.0.1:9/x.parquet')")


def test_parquet_pipe_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sources.parquet"
    os.mkfifo(path)
    assert (
        refusal(path) == ": found a pipe or a device, expected a file: Parquet is read from its end"
    )


# Sizes.


def write_bomb(path: Path, rows: int) -> Path:
    """Write one text of a megabyte that stands in all rows."""
    return write_parquet(
        path,
        "select i::varchar as source_id, 'v' as corpus_ver, repeat('a', 1000000) as source_text "
        f"from range({rows}) as t(i)",
    )


def test_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    path = write_bomb(tmp_path / "sources.parquet", 4_400)
    assert path.stat().st_size < 10_000
    assert refusal(path) == (
        ": found over 4 GB when unpacked, expected at most 4 GB: "
        "split the file, or write it as JSON Lines"
    )


_MEASURE = """
import resource, sys
from pathlib import Path
import duckdb
from claimwise.readers.parquet import read_parquet
duckdb.connect(":memory:").execute("select 1").fetchall()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
read = sum(len(row["source_text"]) for _, row in read_parquet(Path(sys.argv[1])))
print(read, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_file_is_read_in_less_memory_than_it_unpacks_to(tmp_path: Path) -> None:
    path = write_bomb(tmp_path / "sources.parquet", 1_500)
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    read, kilobytes = map(int, done.stdout.split())
    assert read == 1_500_000_000
    assert kilobytes < 500_000


def test_rows_come_in_order_whatever_the_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(
        tmp_path / "sources.parquet",
        "select i::varchar as source_id, repeat('a', (i * 7 % 300)::integer) as source_text "
        "from range(300000) as t(i)",  # more than one row group
    )
    monkeypatch.setattr(parquet, "_PAGE_BYTES", 500_000)
    numbers = [(number, row["source_id"]) for number, row in read_parquet(path)]
    assert numbers == [(n + 1, str(n)) for n in range(300_000)]


def test_longest_row_is_a_page_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(
        tmp_path / "sources.parquet",
        "select i::varchar as source_id, case when i = 5 then repeat('a', 9000) end as source_text "
        "from range(9) as t(i)",
    )
    monkeypatch.setattr(parquet, "_PAGE_BYTES", 100)
    assert [row["source_id"] for _, row in read_parquet(path)] == [str(n) for n in range(9)]


def test_empty_file_has_no_rows(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "sources.parquet", f"select {PLAIN} where false")
    assert list(read_parquet(path)) == []


def test_too_many_rows_are_refused_by_the_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(tmp_path / "sources.parquet", f"select {PLAIN} from range(1001)")
    monkeypatch.setattr(parquet, "MAX_ROWS", 1_000)
    monkeypatch.setattr(parquet, "_cut_pages", None)  # rows are not even looked at
    assert refusal(path) == (
        ": found 1,001 rows, expected at most 1,000: split the file, or write it as JSON Lines"
    )


def test_long_row_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(
        tmp_path / "sources.parquet",
        "select repeat('a', (i * 1000)::integer) as source_text from range(9) as t(i)",
    )
    monkeypatch.setattr(parquet, "MAX_LINE_BYTES", 4 * 1024)
    assert refusal(path) == ":6: found a row of over 4 KB, expected at most 4 KB"


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("[1, 2]", "INTEGER[]"),
        ("{'a': 1}", "STRUCT(a INTEGER)"),
        ("map {'a': 1}", "MAP(VARCHAR, INTEGER)"),
        ("[[['a']]]", "VARCHAR[][][]"),
    ],
)
def test_column_of_lists_is_refused(tmp_path: Path, column: str, kind: str) -> None:
    path = write_parquet(tmp_path / "sources.parquet", f"select {column} as claims, 1 as n")
    message = refusal(path)
    assert message.startswith(f": found the column 'claims' of the type {kind}, expected text")
    assert "JSON Lines" in message


def test_too_many_columns_are_refused(tmp_path: Path) -> None:
    columns = ", ".join(f"1 as c{n}" for n in range(201))
    path = write_parquet(tmp_path / "sources.parquet", f"select {columns}")
    assert refusal(path) == ": found 201 columns, expected at most 200"


def test_part_beyond_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(
        tmp_path / "sources.parquet",
        "select repeat(i::varchar, 1000000) as source_text from range(100, 200) as t(i)",
    )
    monkeypatch.setattr(parquet, "_MEMORY", 32 * 1024 * 1024)
    assert refusal(path) == (
        ": found a part that takes over 32 MB of memory, expected smaller ones: "
        "split the file, or write it as JSON Lines"
    )
