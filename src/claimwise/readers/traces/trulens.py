"""TruLens: spans as its event table keeps them; a record's spans belong together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from claimwise.readers.traces.attributes import make_span
from claimwise.readers.traces.reader import TraceFormat
from claimwise.readers.traces.shapes import Shape
from claimwise.readers.traces.spans import SpanKind, TraceSpan
from claimwise.readers.traces.values import Table, find_field_text, find_object, read_time

_PREFIX = "ai.observability."
_KINDS: dict[str, SpanKind] = {
    "generation": "generation", "retrieval": "retrieval", "tool": "tool", "mcp": "tool",
    "eval": "skipped", "eval_root": "skipped",
}  # fmt: skip


def _is_trulens(shape: Shape) -> bool:
    return shape.has("record_attributes") and shape.has_any("trace", "record", "event_id")


def _to_spans(record: Any, line: int) -> Iterator[TraceSpan]:
    if isinstance(record, dict):
        yield _read(record, line)


def _read(row: Table, line: int) -> TraceSpan:
    attributes = find_object(row, "record_attributes")
    own = {k.removeprefix(_PREFIX): v for k, v in attributes.items() if k.startswith(_PREFIX)}
    place = find_object(row, "trace")
    kind = _KINDS.get(find_field_text(own, ("span_type",)) or "", "step")
    given = {
        k.removeprefix("call.kwargs."): v for k, v in own.items() if k.startswith("call.kwargs.")
    }
    span = make_span(
        {},
        line=line,
        kind=kind,
        name=find_field_text(attributes, ("name",)) or "",
        # A record is one call of the app; evaluation spans of it may lack the trace's id.
        trace_id=find_field_text(own, ("record_id",)) or find_field_text(place, ("trace_id",)),
        span_id=find_field_text(place, ("span_id",)),
        parent_id=find_field_text(place, ("parent_id",)),
        inputs=_list_filled(own, "record_root.input", "retrieval.query_text") or [given],
        outputs=_list_filled(own, "record_root.output", "call.return"),
        model=find_field_text(own, ("cost.model",)) if kind == "generation" else None,
        conversation_id=find_field_text(own, ("conversation_id", "session_id")),
        started_at=read_time(row.get("start_timestamp")),
        gold_answer=find_field_text(own, ("record_root.ground_truth_output",)),
    )
    span.kind, span.what = kind, "TruLens evaluation spans"
    if kind == "retrieval":
        found = own.get("retrieval.retrieved_contexts", own.get("call.return"))
        span.documents = found if isinstance(found, list) else None
    return span


def _list_filled(table: Table, *names: str) -> list[Any]:
    return [table[name] for name in names if table.get(name)]


TRULENS = TraceFormat(_is_trulens, _to_spans)
