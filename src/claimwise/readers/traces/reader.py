"""The reader of a format of traces: records → spans → traces → answers, each file in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from claimwise.errors import Problem
from claimwise.readers.documents import STDIN
from claimwise.readers.outside import Record, RecordKind, Records
from claimwise.readers.problems import holds_nul
from claimwise.readers.traces.answers import Turn, Understood, understand
from claimwise.readers.traces.files import load_records, read_bytes
from claimwise.readers.traces.shapes import Shape, sketch
from claimwise.readers.traces.spans import TraceSpan
from claimwise.types.traces import Dropped, Trace

_SHOWN_IDS = 5
_SURE = 0.9


class TraceFormat(NamedTuple):
    """A format: how it is told from others, and how one of its records becomes spans."""

    is_it: Callable[[Shape], bool]
    to_spans: Callable[[Any, int], Iterable[TraceSpan]]
    # Turns bytes that are no text into a record; None: the file is JSON, CSV or Parquet.
    parse: Callable[[Path, bytes], list[tuple[int, Any]]] | None = None


class TraceFileReader:
    """Reads the files of one format."""

    yields: RecordKind = "traces"

    def __init__(self, form: TraceFormat) -> None:
        self._format = form

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Go by the fields that the file's beginning shows."""
        return _SURE if self._format.is_it(sketch(path, head)) else None

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield an answer per turn, and a problem per trace that has none."""
        data = read_bytes(path)
        yield from read_traces(path, data, self._format, options.get("trace_id"))


def read_traces(path: Path, data: bytes, form: TraceFormat, trace_id: str | None) -> Records:
    """Yield the answers of a file's bytes."""
    loaded = form.parse(path, data) if form.parse else load_records(path, data)
    groups: dict[str | None, list[TraceSpan]] = {}
    problems: list[tuple[int, Problem]] = []
    for line, record in loaded:
        if isinstance(record, Problem):
            problems.append((line, record))
            continue
        for span in _list_spans(path, form, record, line, problems):
            groups.setdefault(span.trace_id, []).append(span)
    yield from problems
    if trace_id is not None:
        known = list(groups)
        groups = {key: groups[key] for key in known if key in (trace_id, _find_base(trace_id))}
        if not groups:
            listed = ", ".join(map(str, known[:_SHOWN_IDS]))
            yield 1, _tell(path, 1, f"no trace {trace_id!r}", f"one of {listed}")
    elif not groups and not problems:
        yield 1, _tell(path, 1, "no trace", "at least one")
    yield from write_answers(path, groups)


def write_answers(path: Path, groups: Mapping[str | None, list[TraceSpan]]) -> Records:
    """Yield the answers of traces, given by their spans; a problem for each that has none."""
    yield from _Writer(path).write(groups)


def _find_base(trace_id: str) -> str:
    """Return the id of the trace that a turn (``id#1``) is of."""
    return trace_id.rpartition("#")[0]


def _list_spans(
    path: Path, form: TraceFormat, record: Any, line: int, problems: list[tuple[int, Problem]]
) -> Iterator[TraceSpan]:
    try:
        yield from form.to_spans(record, line)
    except RecursionError:
        problems.append((line, _tell(path, line, "values that are nested too deeply", "a trace")))


def _tell(path: Path, line: int, found: str, expected: str = "") -> Problem:
    return Problem(path=str(path), line=line, field=None, found=found, expected=expected)


class _Writer:
    """Writes traces for what was understood; a turn that was told before is left out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = "standard input" if path == STDIN else str(path)
        self._seen: set[tuple[str, str]] = set()
        self._dropped: Counter[str] = Counter()

    def write(self, groups: Mapping[str | None, list[TraceSpan]]) -> Records:
        """Yield answers, problems, and at last what was left out."""
        told = [(trace_id, spans, self._understand(spans)) for trace_id, spans in groups.items()]
        # Turns that end a trace go first: others repeat them as their history.
        for _, _, found in told:
            self._seen.update((t.question, t.answer) for one in found for t in one.turns[-1:])
        for trace_id, spans, found in told:
            for span in spans:
                if span.kind == "skipped":
                    self._dropped[span.what] += 1
            yield from self._write_trace(trace_id, spans, found)
        for what, count in sorted((+self._dropped).items()):
            yield 1, Dropped(what=what, count=count)

    def _understand(self, spans: list[TraceSpan]) -> list[Understood]:
        try:
            return understand(spans)
        except RecursionError:
            return [Understood([], "values that are nested too deeply")]

    def _write_trace(
        self, trace_id: str | None, spans: list[TraceSpan], found: list[Understood]
    ) -> Iterator[tuple[int, Record]]:
        line = min(span.line for span in spans)
        name = f"trace {trace_id}: " if trace_id else ""
        several = len(found) > 1
        whole = [one for one in found if one.problem is None]
        if several and whole:
            # A greeting answers no question; a turn that was cut short has no answer.
            self._dropped["turns without a question or an answer"] += len(found) - len(whole)
            found = whole
        for number, one in enumerate(found, start=1):
            if one.problem is not None:
                yield line, _tell(self._path, line, f"{name}{one.problem}")
                continue
            told = self._list_turns(trace_id, one, number if several else None)
            for turn_id, turn in told:
                yield line, self._make(turn_id, turn, spans, line, trace_id if several else None)

    def _list_turns(
        self, trace_id: str | None, one: Understood, number: int | None
    ) -> Iterator[tuple[str | None, Turn]]:
        """Yield the turns with ids; those of the history unless the file has them already."""
        for place, turn in enumerate(one.turns, start=1):
            last = place == len(one.turns)
            if not last and (turn.question, turn.answer) in self._seen:
                continue
            self._seen.add((turn.question, turn.answer))
            ending = f"#{number}" if number else "" if last else f"#{place}"
            yield (f"{trace_id}{ending}" if trace_id else None), turn

    def _make(
        self,
        turn_id: str | None,
        turn: Turn,
        spans: list[TraceSpan],
        line: int,
        session: str | None,
    ) -> Trace | Problem:
        if turn.reasoning:
            self._dropped["reasoning parts"] += turn.reasoning
        trace = Trace(
            origin="trace",
            place=self._place,
            question=turn.question,
            answer=turn.answer,
            passages=None if turn.documents is None else tuple(turn.documents),
            actions=tuple(turn.calls),
            trace_id=turn_id,
            conversation_id=_last(span.conversation_id for span in spans) or session,
            model=_last(s.model for s in spans if s.kind == "generation")
            or _last(s.model for s in spans),
            happened_at=min((s.started_at for s in spans if s.started_at), default=None),
            feedback=_last(span.feedback for span in spans),
            gold_answer=_last(span.gold_answer for span in spans),
            properties=_join_properties(spans),
        )
        if holds_nul(msgspec.to_builtins(trace)):
            return _tell(self._path, line, "a NUL character", "text without one")
        return trace


def _join_properties(spans: Iterable[TraceSpan]) -> dict[str, str]:
    """Return what the spans say of the system; where two differ, the outermost counts."""
    joined: dict[str, str] = {}
    for span in sorted(spans, key=lambda span: bool(span.parent_id)):
        for name, value in span.properties.items():
            joined.setdefault(name, value)
    return joined


def _last(values: Iterable[str | None]) -> str | None:
    found = [value for value in values if value]
    return found[-1] if found else None
