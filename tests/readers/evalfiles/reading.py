"""Reads a file as ``claimwise measure`` does: the reader is told from the content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from claimwise.errors import Problem
from claimwise.readers.choose import choose_reader
from claimwise.types.traces import Dropped, Recognised, Trace


class Found(NamedTuple):
    reader: str
    said: str
    traces: list[Trace]
    dropped: dict[str, int]
    problems: list[Problem]


def read_file(path: Path, **options: str) -> Found:
    chosen = choose_reader(path, "traces")
    assert chosen is not None
    said = ""
    traces: list[Trace] = []
    dropped: dict[str, int] = {}
    problems: list[Problem] = []
    for _, record in chosen.reader.read(path, options):
        if isinstance(record, Recognised):
            said = record.describe()
        elif isinstance(record, Trace):
            traces.append(record)
        elif isinstance(record, Dropped):
            dropped[record.what] = dropped.get(record.what, 0) + record.count
        else:
            assert isinstance(record, Problem)
            problems.append(record)
    return Found(chosen.entry.name, said, traces, dropped, problems)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_json(path: Path, value: Any) -> Path:
    return write(path, json.dumps(value, ensure_ascii=False))


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    return write(path, "".join(json.dumps(one) + "\n" for one in records))


def list_texts(trace: Trace) -> list[str | None] | None:
    return None if trace.passages is None else [passage.text for passage in trace.passages]
