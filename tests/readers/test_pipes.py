"""Pipes and devices: read to their end, or refused in one line, and never waited for forever."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from claimwise.bench.labelled import read_set
from claimwise.disk import input as reading
from claimwise.errors import InputError, MetricError
from claimwise.labelling.labelstudio_files import read_annotations
from claimwise.metrics import load_metrics
from claimwise.readers import documents, read_rows
from claimwise.readers.answers import read_answer_files
from claimwise.readers.choose import read_one_trace
from claimwise.readers.documents import STDIN, read_action_log, read_sources, read_text
from claimwise.readers.files import read_lines
from claimwise.types.rows import Item
from readers.bad_files import ITEM

READERS: dict[str, Callable[[Path], object]] = {
    "answer.txt": read_text,
    "sources.jsonl": lambda path: read_sources([path]),
    "log.txt": read_action_log,
    "answers.jsonl": lambda path: read_answer_files([path]),
    "items.jsonl": lambda path: list(read_rows([path])),
    "items.csv": lambda path: list(read_rows([path])),
    "items.jsonl.gz": lambda path: list(read_rows([path])),
    "set.jsonl": read_set,
    "trace.json": read_one_trace,
    "export.json": lambda path: read_annotations(path, {}),
    "own.sql": lambda path: load_metrics(path.parent),
}


def make_pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


@contextmanager
def written(path: Path, data: bytes) -> Iterator[Path]:
    """Write to a pipe beside the one who reads it."""
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    try:
        yield path
    finally:
        writer.join()


def refusal(read: Callable[[Path], object], path: Path) -> str:
    with pytest.raises((InputError, MetricError)) as caught:
        read(path)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert message.startswith(str(path))
    return message


@pytest.mark.parametrize("name", READERS)
def test_pipe_that_nobody_writes_to_is_given_up(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "WRITER_SECONDS", 0.05)
    message = refusal(READERS[name], make_pipe(tmp_path / name))
    assert "found a pipe that nobody wrote to for 0.05 s" in message


@pytest.mark.parametrize("name", READERS)
def test_silent_writer_is_given_up(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SILENT_SECONDS", 0.05)
    path = make_pipe(tmp_path / name)
    handle = os.open(path, os.O_RDWR)  # open for writing, too
    try:
        message = refusal(READERS[name], path)
    finally:
        os.close(handle)
    assert "found a pipe through which nothing came for 0.05 s" in message


@pytest.mark.parametrize("data", [b"", b"Tea.", b"a" * 300_000], ids=len)
def test_named_pipe_is_read_to_its_end(tmp_path: Path, data: bytes) -> None:
    with written(make_pipe(tmp_path / "answer.txt"), data) as path:
        assert read_text(path) == data.decode()


@pytest.mark.parametrize("data", [b"", b"Tea."], ids=len)
def test_pipe_of_a_shell_is_read_to_its_end(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """As <(program) gives it, when the program has ended before we look."""
    monkeypatch.setattr(reading, "WRITER_SECONDS", 0.0)
    reader, writer = os.pipe()
    try:
        os.write(writer, data)
        os.close(writer)
        assert read_text(Path(f"/dev/fd/{reader}")) == data.decode()
    finally:
        os.close(reader)


@pytest.mark.parametrize(
    ("name", "pack"), [("items.jsonl", bytes), ("items.jsonl.gz", gzip.compress)]
)
def test_rows_come_through_a_pipe(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    with written(make_pipe(tmp_path / name), pack(ITEM)) as path:
        [placed] = read_rows([path])
    assert isinstance(placed.row, Item)


def test_socket_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(path))
        assert "found a socket" in refusal(read_text, path)


# What has no end.


def test_endless_device_is_refused() -> None:
    assert refusal(read_text, Path("/dev/zero")) == (
        "/dev/zero: found over 64 MB, expected at most 64 MB: split the file"
    )


def test_endless_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").symlink_to("/dev/zero")
    assert ":1: found a line of over 32 MB" in refusal(
        READERS["items.jsonl"], tmp_path / "items.jsonl"
    )


def test_empty_device_is_empty() -> None:
    assert read_text(Path("/dev/null")) == ""


def test_endless_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_TEXT_BYTES", 1024)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a" * 1025), "utf-8"))
    assert refusal(read_text, STDIN) == "-: found over 1 KB, expected at most 1 KB: split the file"


def test_text_up_to_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_TEXT_BYTES", 1024)
    path = tmp_path / "a.txt"
    path.write_bytes(b"a" * 1024)
    assert len(read_text(path)) == 1024


# What unpacks to more than it looks.

LINES = b'{"source_id": "s", "source_text": "x"}\n' * 1000


def test_lines_of_a_compressed_file_have_a_limit(tmp_path: Path) -> None:
    packed, plain = tmp_path / "a.jsonl.xz", tmp_path / "a.jsonl"
    packed.write_bytes(lzma.compress(LINES))
    plain.write_bytes(LINES)
    assert len(list(read_lines(packed, most=len(LINES)))) == 1000
    assert len(list(read_lines(plain, most=10))) == 1000  # as large as it looks
    limit = len(LINES) - 1
    message = refusal(lambda path: list(read_lines(path, most=limit)), packed)
    assert message.startswith(f"{packed}:1000: found over 38.085 KB of text, expected at most")


def test_blank_lines_count_as_well(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n" * 3000))
    message = refusal(lambda path: list(read_lines(path, most=2048)), path)
    assert message == f"{path}:2049: found over 2 KB of text, expected at most 2 KB: split it"


def test_pipe_has_the_limit_of_a_compressed_file(tmp_path: Path) -> None:
    with written(make_pipe(tmp_path / "a.jsonl"), b"\n" * 3000) as path:
        message = refusal(lambda path: list(read_lines(path, most=2048)), path)
    assert "found over 2 KB of text" in message


def test_sources_that_are_kept_in_memory_have_a_lower_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl.xz"
    path.write_bytes(lzma.compress(b'{"source_id": "s", "source_text": "x"}\n' + b"\n" * 2048))
    monkeypatch.setattr(documents, "MAX_LOADED_BYTES", 1024)
    assert "found over 1 KB of text" in refusal(lambda path: read_sources([path]), path)
