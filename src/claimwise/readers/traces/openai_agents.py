"""OpenAI Agents: what its tracing exports, one trace or span per record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from claimwise.readers.traces.attributes import KINDS, make_span
from claimwise.readers.traces.otel import unwrap_records
from claimwise.readers.traces.reader import TraceFormat
from claimwise.readers.traces.shapes import Shape
from claimwise.readers.traces.spans import TraceSpan
from claimwise.readers.traces.values import Table, find_field_text, find_object, read_time


def _is_agents(shape: Shape) -> bool:
    return shape.has_any("span_data", "data.span_data") or shape.has("object", "workflow_name")


def _to_spans(record: Any, line: int) -> Iterator[TraceSpan]:
    for part in unwrap_records(record):
        if not isinstance(part, dict):
            continue
        if part.get("object") == "trace":
            yield make_span(
                {},
                line=line,
                whole_trace=True,
                trace_id=find_field_text(part, ("id",)),
                name=find_field_text(part, ("workflow_name",)) or "",
                conversation_id=find_field_text(part, ("group_id",)),
            )
        elif isinstance(part.get("span_data"), dict):
            yield _read_span(part, line)


def _read_span(part: Table, line: int) -> TraceSpan:
    data = find_object(part, "span_data")
    kind = find_field_text(data, ("type",)) or ""
    error = find_object(part, "error")
    span = make_span(
        {},
        line=line,
        kind="generation" if kind == "response" else KINDS.get(kind),
        name=find_field_text(data, ("name",)) or "",
        trace_id=find_field_text(part, ("trace_id",)),
        span_id=find_field_text(part, ("id",)),
        parent_id=find_field_text(part, ("parent_id",)),
        inputs=[data["input"]] if data.get("input") else [],
        outputs=[data["output"]] if data.get("output") else [],
        model=find_field_text(data, ("model",)),
        started_at=read_time(part.get("started_at")),
        error=find_field_text(error, ("message",)),
    )
    if kind == "response" and not span.inputs and not span.outputs:
        span.unrecorded = "response spans are exported with their id alone"
    return span


OPENAI_AGENTS = TraceFormat(_is_agents, _to_spans)
