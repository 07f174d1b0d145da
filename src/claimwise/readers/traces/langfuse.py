"""Langfuse: downloaded traces, and rows of traces or observations (``observations_v2``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from claimwise.readers.traces.attributes import KINDS, make_span
from claimwise.readers.traces.messages import read_tool_call
from claimwise.readers.traces.otel import unwrap_records
from claimwise.readers.traces.reader import TraceFormat
from claimwise.readers.traces.shapes import Shape
from claimwise.readers.traces.spans import TraceSpan
from claimwise.readers.traces.values import (
    Table,
    decode_nested_json,
    find_field_text,
    find_list,
    find_object,
    read_time,
)
from claimwise.types.traces import ToolCall

_TRACE = ("trace_id", "traceId")
_PARENT = ("parent_observation_id", "parentObservationId")
_SESSION = ("session_id", "sessionId")
_MODEL = ("model", "provided_model_name", "providedModelName", "internalModel")
_PROPERTIES = {"service_version": "release", "prompt_ver": "version", "environment": "environment"}
_START = ("start_time", "startTime", "timestamp", "createdAt", "created_at")


def _is_langfuse(shape: Shape) -> bool:
    rows = shape.has_any(*_PARENT, *(f"data.{name}" for name in _PARENT))
    whole = shape.has("observations", "trace") or shape.has("observations.traceId")
    listed = shape.has("data.observations.traceId")
    traces = shape.has("id", "timestamp", "input", "output", "sessionId", "userId")
    return whole or rows or listed or traces


def _to_spans(record: Any, line: int) -> Iterator[TraceSpan]:
    for part in unwrap_records(record):
        if not isinstance(part, dict):
            continue
        trace = find_object(part, "trace") or part
        found = find_list(part, "observations") or find_list(trace, "observations")
        if not found and find_field_text(trace, _TRACE):
            yield _read_observation(part, line)
            continue
        yield _read_trace(trace, line)
        for observation in found:
            if isinstance(observation, dict):
                yield _read_observation(observation, line, find_field_text(trace, ("id",)))


def _read_trace(trace: Table, line: int) -> TraceSpan:
    properties = {ours: find_field_text(trace, (theirs,)) for ours, theirs in _PROPERTIES.items()}
    span = make_span(
        {},
        line=line,
        whole_trace=True,
        name=find_field_text(trace, ("name",)) or "",
        trace_id=find_field_text(trace, ("id",)),
        inputs=_list_filled(trace.get("input")),
        outputs=_list_filled(trace.get("output")),
        conversation_id=find_field_text(trace, _SESSION),
        started_at=_read_start(trace),
        feedback=_find_comment(trace),
    )
    span.properties = {name: text for name, text in properties.items() if text}
    return span


def _read_observation(row: Table, line: int, trace_id: str | None = None) -> TraceSpan:
    """Return an observation; what its metadata keeps of OpenTelemetry's attributes fills gaps."""
    metadata = find_object(row, "metadata")
    kind = (find_field_text(row, ("type",)) or "").lower()
    failed = row.get("level") == "ERROR"
    span = make_span(
        find_object(metadata, "attributes") or metadata,
        line=line,
        kind=KINDS.get(kind),
        name=find_field_text(row, ("name",)) or "",
        trace_id=trace_id or find_field_text(row, _TRACE),
        span_id=find_field_text(row, ("id",)),
        parent_id=find_field_text(row, _PARENT),
        inputs=_list_filled(row.get("input")),
        outputs=_list_filled(row.get("output")),
        model=find_field_text(row, _MODEL),
        conversation_id=find_field_text(row, _SESSION) or find_field_text(metadata, ("thread_id",)),
        started_at=_read_start(row),
        error=(find_field_text(row, ("statusMessage", "status_message")) or "an error")
        if failed
        else None,
    )
    if kind == "evaluator":
        span.what = "evaluation spans"
    span.calls = list(_list_calls(row))
    return span


def _list_calls(row: Table) -> Iterator[ToolCall]:
    """Yield the calls that Langfuse found in an observation; their names stand beside them."""
    calls = _read_list(row, "toolCalls", "tool_calls")
    names = _read_list(row, "toolCallNames", "tool_call_names")
    for number, call in enumerate(calls):
        found = decode_nested_json(call)
        if isinstance(found, dict):
            named = {"name": names[number]} if number < len(names) else {}
            made = read_tool_call({**named, **found})
            if made is not None:
                yield made


def _read_list(row: Table, *names: str) -> list[Any]:
    found = next((decode_nested_json(row[name]) for name in names if row.get(name)), None)
    return found if isinstance(found, list) else []


def _list_filled(value: Any) -> list[Any]:
    return [] if value in (None, "", "null", "{}", "[]") or value == {} else [value]


def _read_start(row: Table) -> Any:
    return next((found for name in _START if (found := read_time(row.get(name)))), None)


def _find_comment(trace: Table) -> str | None:
    """Return what a person wrote to a score of the trace."""
    for score in find_list(trace, "scores"):
        if isinstance(score, dict) and score.get("source") == "ANNOTATION":
            return find_field_text(score, ("comment",))
    return None


LANGFUSE = TraceFormat(_is_langfuse, _to_spans)
