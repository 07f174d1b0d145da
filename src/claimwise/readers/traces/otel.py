"""OpenTelemetry: OTLP as JSON (a collector writes one request per line), and spans on their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from claimwise.readers.traces.attributes import (
    KINDS,
    make_span,
    read_id,
    read_properties,
    read_start,
    to_plain,
)
from claimwise.readers.traces.reader import TraceFormat
from claimwise.readers.traces.shapes import Shape
from claimwise.readers.traces.spans import SpanKind, TraceSpan
from claimwise.readers.traces.values import Table, find_field_text, find_list, find_object

_REQUESTS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
_INNER = ("resourceSpans", "resource_spans", "batches", "scopeSpans", "scope_spans",
          "instrumentationLibrarySpans", "spans", "resourceLogs", "resource_logs", "scopeLogs",
          "scope_logs", "logRecords", "log_records")  # fmt: skip
_FAILED = (2, "2", "STATUS_CODE_ERROR", "ERROR", "error")
_DEEPEST = 8
_DIALECTS = ("gen_ai", "llm", "input", "output", "openinference", "ai", "traceloop", "langfuse",
             "retrieval", "lk", "lmnr", "pydantic_ai", "gcp", "mlflow")  # fmt: skip
_ATTRIBUTES = tuple(f"attributes.{name}." for name in _DIALECTS)


def is_otlp(shape: Shape) -> bool:
    """Tell what a collector or an exporter writes."""
    return shape.has_any(*_REQUESTS)


def is_span_list(shape: Shape) -> bool:
    """Tell spans that stand alone: attributes with an id of their trace, or with known names."""
    ids = ("trace_id", "traceId", "context.trace_id", "spans.traceId", "spans.trace_id",
           "spans.context.trace_id")  # fmt: skip
    if shape.ends_with("attributes") and shape.has_any(*ids):
        return True
    return shape.has("attributes") and (
        shape.has("attributes.key", "attributes.value")
        or any(path.startswith(_ATTRIBUTES) for path in shape.paths)
    )


def to_spans(record: Any, line: int) -> Iterator[TraceSpan]:
    """Yield the spans of a request, of a list, or the one that a record is."""
    for span, resource in list_spans(record):
        yield read_span(span, line, resource)


def list_spans(
    found: Any, resource: Table | None = None, depth: int = 0
) -> Iterator[tuple[Table, Table]]:
    """Yield spans and log records with the attributes of what sent them."""
    resource = resource or {}
    if depth > _DEEPEST:
        return
    if isinstance(found, list):
        for part in found:
            yield from list_spans(part, resource, depth + 1)
    elif isinstance(found, dict):
        own = to_plain(find_object(found, "resource").get("attributes")) or resource
        inner = [found[name] for name in _INNER if isinstance(found.get(name), list)]
        for parts in inner:
            yield from list_spans(parts, own, depth + 1)
        if not inner and "attributes" in found:
            yield found, own


def read_span(span: Table, line: int, resource: Table | None = None) -> TraceSpan:
    """Return a span, or the event that a log record is, which says what its span did."""
    context = find_object(span, "context") or find_object(span, "span_context")
    status = find_object(span, "status")
    failed = (status.get("code") in _FAILED or status.get("status_code") in _FAILED
              or span.get("status_code") in _FAILED)  # fmt: skip
    message = find_field_text(status, ("message", "description")) or find_field_text(
        span, ("status_message",)
    )
    events: Any = span.get("events")
    is_log = "body" in span or "eventName" in span or "severityNumber" in span
    if is_log:
        events = [{**span, "name": span.get("eventName") or span.get("event_name")}]
    found = make_span(
        {} if is_log else span.get("attributes"),
        events=events,
        line=line,
        kind=find_span_kind(span),
        name=find_field_text(span, ("name",)) or "",
        trace_id=_find_id(span, context, "trace_id", "traceId"),
        span_id=None if is_log else _find_id(span, context, "span_id", "spanId"),
        parent_id=_find_id(span, {}, "parent_span_id", "parentSpanId", "parent_id", "parentId")
        or (_find_id(span, context, "span_id", "spanId") if is_log else None),
        started_at=read_start(span) or read_start({"start_time": span.get("timeUnixNano")}),
        error=(message or "an error") if failed else None,
    )
    if is_log and (found.inputs or found.outputs):
        found.kind = "generation"
    found.conversation_id = found.conversation_id or find_field_text(
        resource or {}, ("session.id",)
    )
    found.properties = {**read_properties(resource or {}), **found.properties}
    return found


def find_span_kind(span: Table) -> SpanKind | None:
    """Return the kind that Phoenix writes beside the attributes."""
    return KINDS.get((find_field_text(span, ("span_kind",)) or "").lower())


def _find_id(span: Table, context: Table, *names: str) -> str | None:
    for table in (span, context):
        for name in names:
            found = read_id(table.get(name))
            if found:
                return found
    return None


OTLP = TraceFormat(is_otlp, to_spans)
SPANS = TraceFormat(is_span_list, to_spans)


def unwrap_records(record: Any) -> list[Any]:
    """Return the records that some exports put into one list: ``{"data": […]}``."""
    if isinstance(record, dict) and isinstance(record.get("data"), list):
        return list(find_list(record, "data"))
    return [record]
