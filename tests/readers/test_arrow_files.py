"""Arrow files and tables are read as Parquet is, and a small one can't fill the memory."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pytest

from claimwise.errors import InputError
from claimwise.measuring.gather import read_measured_files
from claimwise.readers import arrow, arrow_messages, read_rows, read_table_rows
from claimwise.readers.arrow import read_arrow, read_arrow_table
from claimwise.types.rows import Source

SOURCES = pyarrow.table({
    "source_id": ["s1", "s2", "s3"], "corpus_ver": ["v"] * 3, "source_text": ["Tea.", "Ä", ""],
})  # fmt: skip


def write_file(table: Any, path: Path, compression: str | None = None, rows: int = 2) -> Path:
    options = pyarrow.ipc.IpcWriteOptions(compression=compression)
    with pyarrow.ipc.new_file(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def write_stream(table: Any, path: Path, compression: str | None = None, rows: int = 2) -> Path:
    options = pyarrow.ipc.IpcWriteOptions(compression=compression)
    with pyarrow.ipc.new_stream(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def write_feather(table: Any, path: Path) -> Path:
    pyarrow.feather.write_feather(table, str(path))  # compressed with LZ4
    return path


def write_polars(table: Any, path: Path) -> Path:
    polars.DataFrame(table).write_ipc(path, compression="zstd")  # texts are views
    return path


def write_polars_stream(table: Any, path: Path) -> Path:
    polars.DataFrame(table).write_ipc_stream(path)
    return path


WRITERS: dict[str, Callable[[Any, Path], Path]] = {
    "file": write_file,
    "stream": write_stream,
    "zstd file": lambda table, path: write_file(table, path, "zstd"),
    "lz4 stream": lambda table, path: write_stream(table, path, "lz4"),
    "feather": write_feather,
    "polars": write_polars,
    "polars stream": write_polars_stream,
}


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_arrow(path))
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


@pytest.mark.parametrize("ending", ["arrow", "feather"])
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_rows_of_every_writer(
    write: Callable[[Any, Path], Path], ending: str, tmp_path: Path
) -> None:
    path = write(SOURCES, tmp_path / f"sources.{ending}")
    placed = list(read_rows([path]))
    assert [one.line_no for one in placed] == [1, 2, 3]
    rows = [one.row for one in placed]
    assert all(isinstance(row, Source) for row in rows)
    assert [(row.source_id, row.source_text) for row in rows if isinstance(row, Source)] == [
        ("s1", "Tea."), ("s2", "Ä"), ("s3", ""),
    ]  # fmt: skip


def test_values_are_pythons(tmp_path: Path) -> None:
    noon = datetime(2026, 9, 1, 12, tzinfo=UTC)
    table = pyarrow.table({
        "text": pyarrow.array(["a", None, "a"]).dictionary_encode(),
        "view": pyarrow.array(["long enough for no inlining", None, "b"], pyarrow.string_view()),
        "number": [1, None, 3],
        "true": [True, None, False],
        "zoned": pyarrow.array([noon, None, noon], pyarrow.timestamp("ns", "America/New_York")),
        "nothing": [None] * 3,
    })  # fmt: skip
    expected = [
        {"text": "a", "view": "long enough for no inlining", "number": 1, "true": True,
         "zoned": noon.replace(tzinfo=None), "nothing": None},
        dict.fromkeys(table.column_names),
        {"text": "a", "view": "b", "number": 3, "true": False,
         "zoned": noon.replace(tzinfo=None), "nothing": None},
    ]  # fmt: skip
    assert [row for _, row in read_arrow(write_file(table, tmp_path / "x.arrow"))] == expected
    assert [row for _, row in read_arrow_table(table)] == expected
    assert [row for _, row in read_arrow_table(table.slice(1))] == expected[1:]


def test_a_table_of_answers_is_measured(tmp_path: Path) -> None:
    table = pyarrow.table({
        "question": ["How tall?", "Who?"], "answer": ["139 m.", "Ana."],
        "contexts": [["It is 139 m tall.", "Built in 1900."], []],
    })  # fmt: skip
    found = read_measured_files([write_stream(table, tmp_path / "rows.arrow")])
    assert found.reader == "table"
    assert [
        (trace.question, trace.answer, [one.text for one in trace.passages or ()])
        for trace in found.traces
    ] == [("How tall?", "139 m.", ["It is 139 m tall.", "Built in 1900."]), ("Who?", "Ana.", [])]


def test_wrong_rows_have_their_numbers(tmp_path: Path) -> None:
    table = SOURCES.set_column(0, "source_id", pyarrow.array(["s1", None, "s3"]))
    path = write_file(table, tmp_path / "sources.arrow")
    with pytest.raises(InputError, match=r"sources\.arrow:2: source_id: found null"):
        list(read_rows([path]))
    with pytest.raises(InputError, match=r"Arrow table:2: source_id: found null"):
        list(read_table_rows(table, kind="sources"))


# What is damaged.


@pytest.mark.parametrize("write", [write_file, write_stream])
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_no_part_of_a_file_passes_for_the_whole(
    write: Callable[[Any, Path, str | None], Path], compression: str | None, tmp_path: Path
) -> None:
    """Cut off between two batches, it would look complete to pyarrow's reader of streams."""
    whole = write(SOURCES, tmp_path / "whole.arrow", compression).read_bytes()
    rows = [row for _, row in read_arrow(tmp_path / "whole.arrow")]
    assert len(rows) == 3
    path = tmp_path / "cut.arrow"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert "found" in refusal(path)
    path.write_bytes(whole)
    assert [row for _, row in read_arrow(path)] == rows


def test_changed_bytes_are_refused_or_read_and_never_crash(tmp_path: Path) -> None:
    """In a process of its own: a library in C would take ours with it."""
    write_file(SOURCES, tmp_path / "plain.arrow")
    dictionary = SOURCES.set_column(1, "corpus_ver", SOURCES["corpus_ver"].dictionary_encode())
    write_stream(dictionary, tmp_path / "zstd.arrow", "zstd")
    code = f"""
from pathlib import Path
from claimwise.errors import InputError
from claimwise.readers.arrow import read_arrow
refused = 0
for name in ("plain", "zstd"):
    whole = Path({str(tmp_path)!r}, name + ".arrow").read_bytes()
    path = Path({str(tmp_path)!r}, "changed.arrow")
    for at in range(0, len(whole), 3):
        for value in (0x7f, 0xff):
            path.write_bytes(whole[:at] + bytes([value]) + whole[at + 1:])
            try:
                list(read_arrow(path))
            except InputError as error:
                assert len(str(error).splitlines()) == 1
                refused += 1
print(refused)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "no Arrow file"),
        (b"FEA1" + bytes(40), "no Arrow file"),
        (b"PAR1" + bytes(40), "no Arrow file"),
        (b"ARROW1\0\0", "no mark at the end"),
        (b"\xff\xff\xff\xff" + struct.pack("<i", -5), "a message without a beginning"),
    ],
)
def test_other_files_are_refused(data: bytes, found: str, tmp_path: Path) -> None:
    path = tmp_path / "sources.arrow"
    path.write_bytes(data)
    assert found in refusal(path)


def test_pipe_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sources.arrow"
    os.mkfifo(path)
    assert "found a pipe or a device" in refusal(path)


def test_columns_that_no_row_has_are_refused(tmp_path: Path) -> None:
    nested = pyarrow.table({"source_id": [["a"]]})
    assert "'source_id' of the type list" in refusal(write_file(nested, tmp_path / "n.arrow"))
    twice = pyarrow.table([[1], [2]], names=["a", "a"])
    assert "the column 'a' twice" in refusal(write_file(twice, tmp_path / "t.arrow"))
    many = pyarrow.table({f"c{number}": [1] for number in range(201)})
    assert "201 columns" in refusal(write_file(many, tmp_path / "m.arrow"))


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InputError, match="found an object of the type dict"):
        list(read_arrow_table({"source_id": ["a"]}))


# Sizes.


def test_batch_that_unpacks_to_more_than_the_limit_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "MAX_BATCH_BYTES", 1 << 20)
    table = pyarrow.table({"source_id": ["a" * (2 << 20)]})
    path = write_file(table, tmp_path / "sources.arrow", "zstd")
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(pyarrow.ipc, "open_file", None)
    assert "a record batch of over 1 MB when unpacked" in refusal(path)


def test_what_a_message_takes_is_what_pyarrow_unpacks(tmp_path: Path) -> None:
    table = pyarrow.table({"a": ["x" * 5_000, "y" * 3_000], "n": [1, 2]})
    for compression in (None, "zstd", "lz4"):
        path = write_stream(table, tmp_path / "x.arrow", compression)
        with path.open("rb") as file:
            [message] = arrow_messages.read_messages(file)
        assert message.rows == 2
        assert table.nbytes <= message.unpacked <= table.nbytes + 512  # room between buffers


def test_text_of_a_dictionary_counts_for_each_of_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pyarrow.table({"source_id": pyarrow.array(["a" * 1_000] * 5_000).dictionary_encode()})
    path = write_file(table, tmp_path / "sources.arrow", "zstd", rows=5_000)
    assert path.stat().st_size < 50_000
    with monkeypatch.context() as patch:
        patch.setattr(arrow, "MAX_UNPACKED_BYTES", 4 << 20)
        assert "over 4 MB when unpacked" in refusal(path)
    monkeypatch.setattr(arrow, "MAX_LINE_BYTES", 500)
    assert ":1: found a row of over 500 bytes" in refusal(path)


@pytest.mark.parametrize("encode", ["plain", "dictionary", "view", "nested"])
def test_pages_keep_their_size(encode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a" * 700, None, "b" * 100, "c" * 900] * 3
    column = {
        "plain": pyarrow.array(texts),
        "dictionary": pyarrow.array(texts).dictionary_encode(),
        "view": pyarrow.array(texts, pyarrow.string_view()),
        "nested": pyarrow.array([None if text is None else [{"t": text}] for text in texts]),
    }[encode]
    sizes = arrow._measure(column)
    for text, size in zip(texts, sizes.tolist(), strict=True):
        assert len(text or "") <= size <= len(text or "") + 32
    assert arrow._measure(column.slice(2, 5)).tolist() == sizes[2:7].tolist()
    monkeypatch.setattr(arrow, "_PAGE_BYTES", 1_000)
    pages = list(arrow._cut_pages(Path("x"), 0, sizes.tolist()))
    assert [row for first, end in pages for row in range(first, end)] == list(range(12))
    for first, end in pages:
        assert end - first == 1 or sum(sizes[first:end]) <= 1_000
