"""Opik: the files of ``opik export``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from claimwise.readers.traces.attributes import KINDS, make_span
from claimwise.readers.traces.reader import TraceFormat
from claimwise.readers.traces.shapes import Shape
from claimwise.readers.traces.spans import TraceSpan
from claimwise.readers.traces.values import (
    Table,
    find_field_text,
    find_list,
    find_object,
    read_time,
)


def _is_opik(shape: Shape) -> bool:
    return shape.has("trace.id", "spans") and not shape.has("observations")


def _to_spans(record: Any, line: int) -> Iterator[TraceSpan]:
    if not isinstance(record, dict):
        return
    trace = find_object(record, "trace")
    trace_id = find_field_text(trace, ("id",))
    whole = _read(trace, line, trace_id)
    whole.whole_trace, whole.span_id = True, None
    whole.conversation_id = find_field_text(trace, ("thread_id",))
    yield whole
    for span in find_list(record, "spans"):
        if isinstance(span, dict):
            yield _read(span, line, trace_id)


def _read(part: Table, line: int, trace_id: str | None) -> TraceSpan:
    error = find_object(part, "error_info")
    return make_span(
        {},
        line=line,
        kind=KINDS.get((find_field_text(part, ("type",)) or "").lower()),
        name=find_field_text(part, ("name",)) or "",
        trace_id=trace_id or find_field_text(part, ("trace_id",)),
        span_id=find_field_text(part, ("id",)),
        parent_id=find_field_text(part, ("parent_span_id",)),
        inputs=[part["input"]] if part.get("input") else [],
        outputs=[part["output"]] if part.get("output") else [],
        model=find_field_text(part, ("model",)),
        started_at=read_time(part.get("start_time")),
        error=find_field_text(error, ("message", "exception_type")),
    )


OPIK = TraceFormat(_is_opik, _to_spans)
