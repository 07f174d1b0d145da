"""LangSmith: runs with their children inside, or one run per row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from claimwise.readers.traces.attributes import KINDS, make_span
from claimwise.readers.traces.otel import unwrap_records
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

_SESSION = ("session_id", "thread_id", "conversation_id")
_MODEL = ("ls_model_name",)
_DEEPEST = 200


def _is_langsmith(shape: Shape) -> bool:
    return shape.has("run_type", "inputs") or shape.has("runs.run_type", "runs.inputs")


def _to_spans(record: Any, line: int) -> Iterator[TraceSpan]:
    for part in unwrap_records(record):
        runs = (
            part["runs"]
            if isinstance(part, dict) and isinstance(part.get("runs"), list)
            else [part]
        )
        for run in runs:
            yield from _read_tree(run, line)


def _read_tree(root: Any, line: int) -> Iterator[TraceSpan]:
    """Yield a run and all that it started, however deep."""
    open_runs: list[tuple[Any, str | None, str | None]] = [(root, None, None)]
    while open_runs:
        run, parent, trace_id = open_runs.pop()
        if not isinstance(run, dict):
            continue
        span = _read_run(run, line, parent, trace_id)
        yield span
        for child in run["child_runs"] if isinstance(run.get("child_runs"), list) else []:
            open_runs.append((child, span.span_id, span.trace_id))


def _read_run(run: Table, line: int, parent: str | None, trace_id: str | None) -> TraceSpan:
    metadata = find_object(find_object(run, "extra"), "metadata")
    own = find_field_text(run, ("id", "run_id"))
    inputs, outputs = decode_nested_json(run.get("inputs")), decode_nested_json(run.get("outputs"))
    kind = KINDS.get((find_field_text(run, ("run_type",)) or "").lower())
    if kind in ("tool", "retrieval"):
        outputs = _unwrap(outputs)
    return make_span(
        {},
        line=line,
        kind=kind,
        name=find_field_text(run, ("name",)) or "",
        trace_id=find_field_text(run, ("trace_id",)) or trace_id or _read_root(run) or own,
        span_id=own,
        parent_id=find_field_text(run, ("parent_run_id",)) or parent,
        inputs=[inputs] if inputs else [],
        outputs=[outputs] if outputs else [],
        model=find_field_text(metadata, _MODEL),
        conversation_id=find_field_text(metadata, _SESSION),
        started_at=read_time(run.get("start_time")),
        error=(find_field_text(run, ("error",)) or "").partition("\n")[0][:200] or None,
    )


def _unwrap(outputs: Any) -> Any:
    """Return what a tool or retriever returned: ``{"output": …}``, ``{"documents": […]}``."""
    if isinstance(outputs, dict) and len(outputs) == 1:
        return next(iter(outputs.values()))
    return outputs


def _read_root(run: Table) -> str | None:
    """Return the trace's id, which begins the order: ``20261101T100000000000Z<id>.…``."""
    order = find_field_text(run, ("dotted_order",))
    return order.partition(".")[0].partition("Z")[2] or None if order else None


LANGSMITH = TraceFormat(_is_langsmith, _to_spans)
