"""MLflow: traces as ``Trace.to_json`` and ``mlflow.search_traces`` write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from claimwise.readers.traces.attributes import make_span, read_id
from claimwise.readers.traces.otel import read_span
from claimwise.readers.traces.reader import TraceFormat
from claimwise.readers.traces.shapes import Shape
from claimwise.readers.traces.spans import TraceSpan
from claimwise.readers.traces.values import (
    Table,
    decode_nested_json,
    find_field_text,
    find_object,
    read_time,
)

_TRACE = ("trace_id", "request_id")
_SESSION = ("mlflow.trace.session", "mlflow.traceSession")


def _is_mlflow(shape: Shape) -> bool:
    whole = shape.has("info", "data.spans") or shape.has("traces.info", "traces.data.spans")
    row = shape.has("trace_id", "trace", "request", "response")
    return whole or row


def _to_spans(record: Any, line: int) -> Iterator[TraceSpan]:
    if not isinstance(record, dict):
        return
    for part in record["traces"] if isinstance(record.get("traces"), list) else [record]:
        if isinstance(part, dict):
            whole = find_object(part, "trace") or part
            yield from _read_trace(whole, line)


def _read_trace(trace: Table, line: int) -> Iterator[TraceSpan]:
    info, data = find_object(trace, "info"), find_object(trace, "data")
    trace_id = find_field_text(info, _TRACE)
    metadata = find_object(info, "trace_metadata") or find_object(info, "request_metadata")
    previews = ("request_preview", "response_preview")
    request = data.get("request") or (None if data.get("spans") else info.get(previews[0]))
    response = data.get("response") or (None if data.get("spans") else info.get(previews[1]))
    yield make_span(
        {},
        line=line,
        whole_trace=True,
        trace_id=trace_id,
        inputs=[request] if request else [],
        outputs=[response] if response else [],
        conversation_id=find_field_text(metadata, _SESSION)
        or find_field_text(find_object(info, "tags"), _SESSION),
        started_at=read_time(info.get("request_time") or info.get("timestamp_ms")),
    )
    for span in data["spans"] if isinstance(data.get("spans"), list) else []:
        if isinstance(span, dict):
            yield _read_span(span, line, trace_id)


def _read_span(span: Table, line: int, trace_id: str | None) -> TraceSpan:
    """Return a span; MLflow writes each attribute as JSON, a plain text too."""
    attributes = {
        name: decode_nested_json(value) if name == "mlflow.spanType" else value
        for name, value in find_object(span, "attributes").items()
    }
    context = find_object(span, "context")
    found = read_span({**span, "attributes": attributes}, line)
    found.trace_id = trace_id or found.trace_id
    found.span_id = found.span_id or read_id(context.get("span_id"))
    return found


MLFLOW = TraceFormat(_is_mlflow, _to_spans)
