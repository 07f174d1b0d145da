"""Phoenix: the spans of its REST API, and of its data frame as JSON Lines, CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from claimwise.readers.traces.attributes import make_span, read_start
from claimwise.readers.traces.otel import find_span_kind, read_span, unwrap_records
from claimwise.readers.traces.reader import TraceFormat
from claimwise.readers.traces.shapes import Shape
from claimwise.readers.traces.spans import TraceSpan
from claimwise.readers.traces.values import Table, find_field_text

_COLUMN = "attributes."


def _is_phoenix(shape: Shape) -> bool:
    # Spans elsewhere have an object “context”; the data frame has columns with dots.
    frame = shape.has("context.trace_id", "context.span_id") and "context" not in shape.paths
    listed = shape.has("data.attributes") and shape.has_any(
        "data.context.trace_id", "data.trace_id", "data.traceId"
    )
    return frame or listed


def _to_spans(record: Any, line: int) -> Iterator[TraceSpan]:
    for part in unwrap_records(record):
        if not isinstance(part, dict):
            continue
        if any(str(name).startswith("context.") for name in part):
            yield _read_row(part, line)
        elif "attributes" in part:
            yield read_span(part, line)


def _read_row(row: Table, line: int) -> TraceSpan:
    """Return the span of a row of the data frame; a cell without a value is empty or NaN."""
    attributes = {
        name.removeprefix(_COLUMN): value
        for name, value in row.items()
        if name.startswith(_COLUMN) and value not in ("", None)
    }
    failed = row.get("status_code") == "ERROR"
    return make_span(
        attributes,
        events=row.get("events"),
        line=line,
        kind=find_span_kind(row),
        name=find_field_text(row, ("name",)) or "",
        trace_id=find_field_text(row, ("context.trace_id",)),
        span_id=find_field_text(row, ("context.span_id",)),
        parent_id=find_field_text(row, ("parent_id",)),
        started_at=read_start(row),
        error=(find_field_text(row, ("status_message",)) or "an error") if failed else None,
    )


PHOENIX = TraceFormat(_is_phoenix, _to_spans)
