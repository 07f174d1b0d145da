"""OpenAI Agents: what its tracing exports, one trace or span per record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from claimwise.readers.traces.attributes import KINDS, make_span
from claimwise.readers.traces.otel import list_records
from claimwise.readers.traces.reader import TraceFormat
from claimwise.readers.traces.shapes import Shape
from claimwise.readers.traces.spans import Span
from claimwise.readers.traces.values import Table, find_table, find_text, read_time


def _is_agents(shape: Shape) -> bool:
    return shape.has_any("span_data", "data.span_data") or shape.has("object", "workflow_name")


def _to_spans(record: Any, line: int) -> Iterator[Span]:
    for part in list_records(record):
        if not isinstance(part, dict):
            continue
        if part.get("object") == "trace":
            yield make_span(
                {},
                line=line,
                whole_trace=True,
                trace_id=find_text(part, ("id",)),
                name=find_text(part, ("workflow_name",)) or "",
                conversation_id=find_text(part, ("group_id",)),
            )
        elif isinstance(part.get("span_data"), dict):
            yield _read_span(part, line)


def _read_span(part: Table, line: int) -> Span:
    data = find_table(part, "span_data")
    kind = find_text(data, ("type",)) or ""
    error = find_table(part, "error")
    span = make_span(
        {},
        line=line,
        kind="generation" if kind == "response" else KINDS.get(kind),
        name=find_text(data, ("name",)) or "",
        trace_id=find_text(part, ("trace_id",)),
        span_id=find_text(part, ("id",)),
        parent_id=find_text(part, ("parent_id",)),
        inputs=[data["input"]] if data.get("input") else [],
        outputs=[data["output"]] if data.get("output") else [],
        model=find_text(data, ("model",)),
        started_at=read_time(part.get("started_at")),
        error=find_text(error, ("message",)),
    )
    if kind == "response" and not span.inputs and not span.outputs:
        span.unrecorded = "response spans are exported with their id alone"
    return span


OPENAI_AGENTS = TraceFormat(_is_agents, _to_spans)
