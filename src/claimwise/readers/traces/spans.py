"""Spans: the steps of a trace, whichever tool recorded them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from claimwise.types.traces import ToolCall

# A "skipped" step is none of the answer's own: an evaluation, an embedding.
SpanKind = Literal["step", "generation", "retrieval", "tool", "skipped"]

_NEVER = datetime.min.replace(tzinfo=UTC)


class TraceSpan(msgspec.Struct, kw_only=True):
    """One step. Inputs and outputs are what was recorded, the best first, not yet understood."""

    line: int = 1
    trace_id: str | None = None
    span_id: str | None = None
    parent_id: str | None = None
    name: str = ""
    kind: SpanKind = "step"
    started_at: datetime | None = None
    inputs: list[Any] = []
    outputs: list[Any] = []
    # None: no documents were recorded; a list, maybe empty: these.
    documents: list[Any] | None = None
    tool: ToolCall | None = None
    calls: list[ToolCall] = []
    model: str | None = None
    conversation_id: str | None = None
    error: str | None = None
    # Why there is nothing in it, where the tool never records it.
    unrecorded: str | None = None
    feedback: str | None = None
    gold_answer: str | None = None
    # What the system says of itself; see `Trace.properties`.
    properties: dict[str, str] = {}
    # The export's own record of the whole trace, above all spans.
    whole_trace: bool = False
    # One exchange of several in the same trace.
    turn: bool = False
    # What a "skipped" span is, to be counted.
    what: str = "spans of other kinds"
    fields: list[str] = []


class Tree:
    """The spans of one trace in the order of time, and who stands under whom."""

    def __init__(self, spans: Iterable[TraceSpan]) -> None:
        self.spans = sorted(spans, key=lambda s: (not s.whole_trace, s.started_at or _NEVER))
        self._places = {s.span_id: n for n, s in enumerate(self.spans) if s.span_id}
        whole = next((n for n, s in enumerate(self.spans) if s.whole_trace), None)
        self.parents: list[int | None] = []
        for number, span in enumerate(self.spans):
            parent = self._places.get(span.parent_id) if span.parent_id else None
            if parent is None or parent == number:
                parent = whole if number != whole else None
            self.parents.append(parent)
        self.depths = self._measure_depths()

    def _measure_depths(self) -> list[int]:
        """Return how deep each span stands; a circle of parents is cut above its first span."""
        depths: dict[int, int] = {}
        for start in range(len(self.spans)):
            path: dict[int, None] = {}
            at: int | None = start
            while at is not None and at not in depths:
                if at in path:
                    circle = list(path)[list(path).index(at) :]
                    self.parents[min(circle)] = None
                    path, at = {}, start
                path[at] = None
                at = self.parents[at]
            above = -1 if at is None else depths[at]
            for depth, number in enumerate(reversed(path), start=above + 1):
                depths[number] = depth
        return [depths[number] for number in range(len(self.spans))]

    def find_above(self, numbers: Iterable[int]) -> set[int]:
        """Return the spans given and all that stand above one of them."""
        found: set[int] = set()
        for number in numbers:
            at: int | None = number
            while at is not None and at not in found:
                found.add(at)
                at = self.parents[at]
        return found

    def split(self, roots: Sequence[int]) -> dict[int, list[TraceSpan]]:
        """Return the spans under each of some roots, the root itself first."""
        owners: list[int | None] = [None] * len(self.spans)
        order = sorted(range(len(self.spans)), key=lambda n: self.depths[n])
        known = set(roots)
        groups: dict[int, list[TraceSpan]] = {root: [] for root in roots}
        for number in order:
            parent = self.parents[number]
            owners[number] = (
                number if number in known else None if parent is None else owners[parent]
            )
            owner = owners[number]
            if owner is not None:
                groups[owner].append(self.spans[number])
        return groups
