"""Chooses the reader of a file: by the name that the user gives, or by the file's first bytes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from lzma import LZMAError
from pathlib import Path
from typing import NamedTuple, cast
from zlib import error as ZlibError

from claimwise.disk.input import refuse
from claimwise.errors import ClaimwiseError, InputError, PluginError, Problem, make_printable
from claimwise.readers.files import open_file
from claimwise.readers.outside import OutsideReader, Reader, RecordKind
from claimwise.registry import Entry, find_entry, list_usable, load_plugin
from claimwise.types.traces import Trace

_HEAD_BYTES = 65_536
_CERTAIN = 1.0
_SHOWN_IDS = 5
_KNOWN_FORMAT = 0.5
_log = logging.getLogger("claimwise")


class ChosenReader(NamedTuple):
    """A reader, who brings it, and how sure it is of the file (1 when it was named)."""

    entry: Entry
    reader: Reader
    score: float


def choose_reader(path: Path, yields: RecordKind, name: str | None = None) -> ChosenReader | None:
    """Return the reader of a file; None where nobody knows its format.

    A file whose name says what it holds (``labels.jsonl``) is ours. Otherwise the reader that is
    most certain is chosen, a built-in one where another is as certain. Readers of other packages
    that fail are logged and left out.

    Args:
        path: the file.
        yields: the kind of records that are wanted.
        name: the reader that the user chose.

    Raises:
        ClaimwiseError: there is no reader of that name, it can't run here or yields other
            records, or two readers are equally sure.
    """
    if name is not None:
        return ChosenReader(*_find_named(name, yields), _CERTAIN)
    head = _read_head(path)
    own = _ask(path, head, yields, built_in=True)
    if own and own[0].score >= _CERTAIN:
        return own[0]
    outside = _ask(path, head, yields, built_in=False)
    if len(outside) > 1 and outside[0].score == outside[1].score:
        both = f"{outside[0].entry} and the {outside[1].entry}"
        raise refuse(path, f"a format that the {both} both know", "--reader NAME: choose one")
    return max([*own[:1], *outside[:1]], key=lambda one: one.score, default=None)


def read_one_trace(path: Path, *, trace_id: str | None = None, reader: str | None = None) -> Trace:
    """Read the trace of a file, or of standard input for ``-``.

    Args:
        path: the file.
        trace_id: which trace is meant, where there are several.
        reader: the reader's name; else the one that knows the format, or the built-in one.

    Raises:
        ClaimwiseError: it can't be read, or holds no trace or several.
    """
    used = _choose_trace_reader(path, reader)
    found: list[Trace] = []
    problems: list[Problem] = []
    for _, record in used.read(path, {} if trace_id is None else {"trace_id": trace_id}):
        if isinstance(record, Trace):
            found.append(record)
        elif isinstance(record, Problem):
            problems.append(record)
    if trace_id is not None:
        known = [trace.trace_id for trace in found]
        found = [trace for trace in found if trace.trace_id == trace_id]
        if known and not found:
            raise refuse(path, f"no trace {trace_id!r}", f"one of {_list_ids(known)}")
    else:
        found = leave_out_history(found)
    if not found and problems:
        raise InputError(problems[:1])
    if len(found) != 1:
        listed = _list_ids([trace.trace_id for trace in found])
        what = f"{len(found)} traces ({listed})" if found else "no trace"
        raise refuse(path, what, "one; --trace-id chooses among several")
    if found[0].failure:
        raise refuse(path, f"no answer: {found[0].failure}", "a trace with an answer")
    return found[0]


def _choose_trace_reader(path: Path, name: str | None) -> Reader:
    """Return the reader of one trace: the built-in one, unless the file is of a known format."""
    chosen = choose_reader(path, "traces", name)
    built_in = _find_named("trace", "traces")[1]
    if chosen is None or (
        chosen.entry.built_in
        and chosen.score < _KNOWN_FORMAT
        and built_in.recognise(path, _read_head(path)) is not None
    ):
        return built_in
    return chosen.reader


def _list_ids(ids: list[str | None]) -> str:
    return ", ".join(map(str, ids[:_SHOWN_IDS]))


def leave_out_history(found: Sequence[Trace]) -> list[Trace]:
    """Leave out the earlier turns (``id#1``) of conversations whose last turn is there."""
    ids = {trace.trace_id for trace in found}
    return [t for t in found if "#" not in (t.trace_id or "") or _last_turn(t) not in ids]


def _last_turn(trace: Trace) -> str:
    return (trace.trace_id or "").rpartition("#")[0]


def _ask(path: Path, head: bytes, yields: RecordKind, *, built_in: bool) -> list[ChosenReader]:
    """Return the readers that know a file's format, the most certain first."""
    found = []
    for entry in list_usable("readers"):
        if entry.built_in == built_in:
            score = _ask_one(entry, path, head, yields)
            if score is not None:
                found.append(score)
    return sorted(found, key=lambda one: -one.score)


def _ask_one(entry: Entry, path: Path, head: bytes, yields: RecordKind) -> ChosenReader | None:
    try:
        reader = _load_reader(entry)
        score = reader.recognise(path, head) if reader.yields == yields else None
    except ClaimwiseError as error:
        if isinstance(error, PluginError):
            _log.warning("warning: %s", error)
        return None
    return None if score is None else ChosenReader(entry, reader, score)


def _load_reader(entry: Entry) -> Reader:
    plugin = load_plugin(entry)
    if entry.built_in:
        return cast(Reader, plugin.load())
    missing = entry.call(plugin.find_missing)
    if missing is not None:
        raise ClaimwiseError(f"the {entry} can't run here: {make_printable(missing)}")
    return OutsideReader(entry, entry.call(plugin.load))


def _find_named(name: str, yields: RecordKind) -> tuple[Entry, Reader]:
    entry = find_entry("readers", name)
    if entry is None:
        known = ", ".join(one.name for one in list_usable("readers"))
        raise ClaimwiseError(f"Unknown reader {make_printable(name)!r}. Known readers: {known}")
    reader = _load_reader(entry)
    if reader.yields != yields:
        raise ClaimwiseError(f"the {entry} yields {reader.yields}; this command takes {yields}")
    return entry, reader


def _read_head(path: Path) -> bytes:
    """Return a file's first bytes; nothing where it can't be read, or not twice, as a pipe."""
    if not path.is_file():
        return b""
    try:
        with open_file(path) as file:
            return file.read(_HEAD_BYTES)
    except (InputError, OSError, EOFError, LZMAError, ZlibError):
        return b""  # whoever reads it says what is wrong
