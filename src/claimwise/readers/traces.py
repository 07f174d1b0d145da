"""Reads a trace: what was asked, answered and retrieved, as observability tools write it.

Three shapes are known: a flat object whose fields have the names of this or another evaluation
tool; spans with OpenInference or OpenTelemetry GenAI attributes, one or all of a trace; and the
OTLP JSON of a collector. What is found is taken as text; nothing in it is followed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from claimwise.disk.input import refuse
from claimwise.readers.documents import STDIN, read_text
from claimwise.readers.json_keys import find_repeated_key
from claimwise.readers.problems import show
from claimwise.types.traces import Passage, Trace

_Record = Mapping[str, Any]

_QUESTION = ("question", "query", "user_input", "input", "inputs", "prompt")
_ANSWER = ("answer", "answer_text", "response", "actual_output", "actualOutput", "output",
           "outputs", "completion")  # fmt: skip
_PASSAGES = ("contexts", "retrieved_contexts", "retrieval_context", "retrievalContext", "sources",
             "documents", "context")  # fmt: skip
_PASSAGE_IDS = ("retrieved_context_ids",)
_SOURCE_ID = ("source_id", "document_id", "doc_id", "id", "doc_uri", "source", "url")
_TEXT = ("context_text", "source_text", "text", "content", "page_content", "context")
_TRACE_ID = ("trace_id", "traceId", "id")
_MODEL = ("model", "model_name")
_TIME = ("happened_at", "time", "timestamp", "created_at", "start_time")
_FEEDBACK = ("feedback", "user_feedback", "comment")
# In rows of these tools "context" is the gold one, not what the system was given.
_GOLD_CONTEXT = ("actual_output", "actualOutput")

_SPAN_QUESTION = ("gen_ai.input.messages", "llm.input_messages", "input.value",
                  "gen_ai.retrieval.query.text")  # fmt: skip
_SPAN_ANSWER = ("gen_ai.output.messages", "llm.output_messages", "output.value")
_SPAN_PASSAGES = ("retrieval.documents", "gen_ai.retrieval.documents")
_SPAN_MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
_SPAN_REMARKS = ("annotations", "evaluations")
_SHOWN_IDS = 5
_SHOWN_FIELDS = 20


def read_trace(path: Path, *, trace_id: str | None = None) -> Trace:
    """Read the trace of a file, or of standard input for ``-``.

    Args:
        path: JSON, or JSON Lines with one span per line.
        trace_id: which trace is meant, where the spans are of several.

    Raises:
        InputError: it is no JSON, holds several traces, or lacks a question or an answer.
    """
    try:
        return _read(path, _decode(path), trace_id)
    except RecursionError as error:
        raise refuse(path, "JSON that is nested too deeply", "one trace as JSON") from error


def _read(path: Path, found: Any, trace_id: str | None) -> Trace:
    spans = list(_list_spans(found))
    if spans:
        return _read_spans(path, spans, trace_id)
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if not isinstance(found, dict):
        what = f"{len(found)} records" if isinstance(found, list) else show(found)
        raise refuse(path, what, "one trace: an object with question, answer and contexts")
    return _read_flat(path, found)


def _decode(path: Path) -> Any:
    text = read_text(path)
    try:
        return _decode_part(path, text, first_line=1)
    except (msgspec.DecodeError, RecursionError) as error:
        lines = [pair for pair in enumerate(text.split("\n"), start=1) if pair[1].strip()]
        try:
            return [_decode_part(path, line, first_line=n) for n, line in lines] or None
        except (msgspec.DecodeError, RecursionError):
            raise refuse(path, f"malformed JSON ({error})", "one trace as JSON") from error


def _decode_part(path: Path, text: str, *, first_line: int) -> Any:
    found = msgspec.json.decode(text)
    repeated = find_repeated_key(text.encode())
    if repeated is not None:
        name, line = show(repeated.name), first_line - 1 + repeated.line
        raise refuse(path, f"the key {name} twice", "each key once", line=line)
    return found


# Flat objects.


def _read_flat(path: Path, record: _Record) -> Trace:
    question, answer = _find_words(record, _QUESTION), _find_words(record, _ANSWER)
    _require(path, question, answer, record)
    answerable = record.get("answerable")
    return _make_trace(
        path,
        question=question,
        answer=answer,
        passages=_read_flat_passages(record),
        trace_id=_find_text(record, _TRACE_ID),
        model=_find_text(record, _MODEL),
        happened_at=_read_time(path, next((record[n] for n in _TIME if record.get(n)), None)),
        feedback=_find_words(record, _FEEDBACK),
        answerable=answerable if isinstance(answerable, bool) else None,
    )


def _require(path: Path, question: str | None, answer: str | None, record: _Record) -> None:
    """Say which field is missing, and what was there instead."""
    for value, names in ((question, _QUESTION), (answer, _ANSWER)):
        if value is None:
            fields = ", ".join(list(record)[:_SHOWN_FIELDS]) or "no fields"
            raise refuse(
                path, fields, f"the {names[0]}, as {', '.join(names)} or a span's attributes"
            )


def _read_flat_passages(record: _Record) -> tuple[Passage, ...] | None:
    names = [name for name in _PASSAGES if record.get(name) is not None]
    if any(name in record for name in _GOLD_CONTEXT):
        names = [name for name in names if name != "context"]
    if not names:
        return None
    found = record[names[0]]
    passages = [_read_passage(part) for part in (found if isinstance(found, list) else [found])]
    ids: list[Any] = next(
        (record[name] for name in _PASSAGE_IDS if isinstance(record.get(name), list)), []
    )
    named = [
        Passage(source_id=p.source_id or _find_text({"id": i}, ("id",)), text=p.text)
        for p, i in zip(passages, ids, strict=False)
    ]
    return tuple(p for p in [*named, *passages[len(named) :]] if p.source_id or p.text)


def _read_passage(part: Any) -> Passage:
    if not isinstance(part, dict):
        return Passage(text=_to_words(part))
    # OpenInference puts a document around it.
    inner = part["document"] if isinstance(part.get("document"), dict) else part
    metadata = inner.get("metadata")
    more = metadata if isinstance(metadata, dict) else {}
    return Passage(
        source_id=_find_text(inner, _SOURCE_ID) or _find_text(more, _SOURCE_ID),
        text=_find_words(inner, _TEXT),
    )


# Spans.


def _list_spans(found: Any) -> Iterator[_Record]:
    """Yield the spans of a span, a list of spans, or what a collector writes."""
    if isinstance(found, list):
        for part in found:
            yield from _list_spans(part)
    elif isinstance(found, dict):
        for name in ("resourceSpans", "scopeSpans", "spans"):
            if isinstance(found.get(name), list):
                yield from _list_spans(found[name])
                return
        if "attributes" in found:
            yield found


def _read_spans(path: Path, spans: Sequence[_Record], trace_id: str | None) -> Trace:
    ids = list(dict.fromkeys(filter(None, map(_find_trace_id, spans))))
    if trace_id is not None and trace_id not in ids:
        raise refuse(path, f"no trace {trace_id!r}", f"one of {', '.join(ids[:_SHOWN_IDS])}")
    if trace_id is None and len(ids) > 1:
        listed = ", ".join(ids[:_SHOWN_IDS])
        raise refuse(path, f"{len(ids)} traces ({listed})", "one; --trace-id chooses")
    own = [span for span in spans if trace_id is None or _find_trace_id(span) == trace_id]
    # The outermost span says what the user saw; inner ones only what it does not say.
    own.sort(key=lambda span: _find_parent(span) is not None)
    tables = [_unfold(_to_plain(span["attributes"])) for span in own]
    question = _first(_last_message(table, _SPAN_QUESTION, "user") for table in tables)
    answer = _first(_last_message(table, _SPAN_ANSWER, "assistant") for table in tables)
    _require(path, question, answer, {key: None for table in tables for key in table})
    start = next((span[n] for span in own for n in ("startTimeUnixNano", "start_time")
                  if span.get(n)), None)  # fmt: skip
    return _make_trace(
        path,
        question=question,
        answer=answer,
        passages=_find_span_passages(tables),
        trace_id=ids[0] if trace_id is None and ids else trace_id,
        model=_first(_find_text(table, _SPAN_MODEL) for table in tables),
        happened_at=_read_time(path, start),
        feedback=_first(map(_find_remark, tables)),
    )


def _find_trace_id(span: _Record) -> str | None:
    inner = span.get("context")
    return _find_text(span, ("trace_id", "traceId")) or (
        _find_text(inner, ("trace_id", "traceId")) if isinstance(inner, dict) else None
    )


def _find_parent(span: _Record) -> str | None:
    return _find_text(span, ("parent_id", "parentSpanId", "parent_span_id", "parentId"))


def _to_plain(attributes: Any) -> dict[str, Any]:
    """Return attributes as a mapping; OTLP has a list of keys with typed values."""
    if isinstance(attributes, list):
        return {
            str(pair["key"]): _to_value(pair.get("value"))
            for pair in attributes
            if isinstance(pair, dict) and "key" in pair
        }
    return dict(attributes) if isinstance(attributes, dict) else {}


def _to_value(value: Any) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        ((kind, inner),) = value.items()
        if kind == "arrayValue":
            return [_to_value(part) for part in _list_values(inner)]
        if kind == "kvlistValue":
            return _to_plain(_list_values(inner))
        return inner if kind.endswith("Value") else value
    return value


def _list_values(inner: Any) -> list[Any]:
    values = inner.get("values") if isinstance(inner, dict) else None
    return values if isinstance(values, list) else []


_INDEXED = re.compile(r"(?P<list>.+?)\.(?P<place>\d{1,9})\.(?P<field>.+)\Z")


def _unfold(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return attributes by their dotted names, numbered ones gathered into lists of objects."""
    flat: dict[str, Any] = {}
    lists: dict[str, dict[int, dict[str, Any]]] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        numbered = _INDEXED.match(name)
        if numbered:
            place = lists.setdefault(numbered["list"], {}).setdefault(int(numbered["place"]), {})
            place[numbered["field"].rpartition(".")[2]] = value
        elif isinstance(value, dict):
            flat |= _unfold(value, f"{name}.")
        else:
            flat[name] = _parse_json(value)
    return {**flat, **{name: [parts[n] for n in sorted(parts)] for name, parts in lists.items()}}


def _parse_json(value: Any) -> Any:
    """Return what a string of JSON holds: spans keep objects and lists as text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            found = msgspec.json.decode(value)
            # With a key twice, nobody can say what is meant: it stays the text that it is.
            return found if find_repeated_key(value.encode()) is None else value
        except (msgspec.DecodeError, RecursionError):
            return value
    return value


def _last_message(table: _Record, names: Sequence[str], role: str) -> str | None:
    for name in names:
        value = table.get(name)
        if isinstance(value, list):
            value = _pick_message(value, role)
        words = _to_words(value, _QUESTION if role == "user" else _ANSWER)
        if words:
            return words
    return None


def _pick_message(messages: Sequence[Any], role: str) -> Any:
    own = [_unwrap(message) for message in messages if isinstance(message, dict)]
    spoken = [message for message in own if message.get("role") in (role, None)]
    if not spoken:
        return None
    last = spoken[-1]
    parts = last.get("parts") or last.get("content")
    if isinstance(parts, list):
        texts = [_find_words(p, ("content", "text")) for p in parts if isinstance(p, dict)]
        return "\n".join(filter(None, texts))
    return parts


def _unwrap(message: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = message.get("message")
    return inner if isinstance(inner, dict) else message


def _find_span_passages(tables: Sequence[_Record]) -> tuple[Passage, ...] | None:
    lists = [table[n] for table in tables for n in _SPAN_PASSAGES if isinstance(table.get(n), list)]
    if not lists:
        return None
    found = dict.fromkeys(_read_passage(part) for parts in lists for part in parts)
    return tuple(passage for passage in found if passage.source_id or passage.text)


def _find_remark(table: _Record) -> str | None:
    """Return what a person remarked on the span."""
    for name in _SPAN_REMARKS:
        remarks = table.get(name)
        for remark in remarks if isinstance(remarks, list) else ():
            if isinstance(remark, dict) and remark.get("annotator_kind") == "HUMAN":
                return _find_words(remark, ("explanation", "label", "name"))
    return None


# Values.


def _first(found: Iterator[str | None]) -> str | None:
    return next((value for value in found if value), None)


def _find_words(record: _Record, names: Sequence[str]) -> str | None:
    return _first(_to_words(record.get(name), names) for name in names)


def _to_words(value: Any, names: Sequence[str] = ()) -> str | None:
    """Return the text of a value: its own, that of a field with a known name, or its JSON."""
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, dict):
        inner = _first(value[n] for n in (*names, *_TEXT) if isinstance(value.get(n), str))
        return inner or (json.dumps(value, ensure_ascii=False) if value else None)
    if isinstance(value, list):
        return "\n".join(filter(None, (_to_words(part, names) for part in value))) or None
    return None if value is None else str(value)


def _find_text(record: _Record, names: Sequence[str]) -> str | None:
    """Return the first field that is a plain text or number."""
    values = (record.get(name) for name in names)
    return next((str(v) for v in values if isinstance(v, str | int) and str(v).strip()), None)


def _read_time(path: Path, value: Any) -> datetime | None:
    """Return a moment: ISO 8601, or seconds (or their thousandths…) since 1970."""
    if value is None:
        return None
    try:
        if isinstance(value, int | float) or str(value).isdigit():
            seconds = float(value)
            while 10**11 < seconds < math.inf:  # beyond the year 5000: a smaller unit was meant
                seconds /= 1000
            return datetime.fromtimestamp(seconds, UTC)
        return msgspec.convert(str(value), datetime)
    except (msgspec.ValidationError, OverflowError, OSError, ValueError) as error:
        raise refuse(path, f"the time {show(value)}", "a time, as 2026-11-15T09:30:00Z") from error


def _make_trace(path: Path, *, question: str | None, answer: str | None, **rest: Any) -> Trace:
    passages = [part for p in rest["passages"] or () for part in (p.source_id, p.text)]
    texts = (question, answer, *passages, *rest.values())
    if any(isinstance(text, str) and "\x00" in text for text in texts):
        raise refuse(path, "a NUL character", "text without one")
    place = "standard input" if path == STDIN else str(path)
    return Trace(origin="trace", place=place, question=question or "", answer=answer or "", **rest)
