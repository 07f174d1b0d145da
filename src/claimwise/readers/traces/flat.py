"""One answer as a flat object, whose fields have the names of this or another evaluation tool."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claimwise.disk.input import refuse
from claimwise.readers.documents import STDIN
from claimwise.readers.problems import holds_nul, show
from claimwise.readers.traces.documents import read_passage
from claimwise.readers.traces.values import Table, find_field_text, read_time
from claimwise.types.traces import Passage, Trace

_QUESTION = ("question", "query", "user_input", "input", "inputs", "prompt")
_ANSWER = ("answer", "answer_text", "response", "actual_output", "actualOutput", "output",
           "outputs", "completion")  # fmt: skip
_PASSAGES = ("contexts", "retrieved_contexts", "retrieval_context", "retrievalContext", "sources",
             "documents", "context")  # fmt: skip
_PASSAGE_IDS = ("retrieved_context_ids",)
_TRACE_ID = ("trace_id", "traceId", "id")
_MODEL = ("model", "model_name")
_TIME = ("happened_at", "time", "timestamp", "created_at", "start_time")
_PROPERTIES: dict[str, tuple[str, ...]] = {
    "service": ("service", "system"), "service_version": ("service_version",),
    "environment": ("environment",), "prompt_ver": ("prompt_ver",),
    "retriever_ver": ("retriever_ver",), "corpus_ver": ("corpus_ver",),
    "conversation": ("conversation_id", "session_id", "thread_id"),
}  # fmt: skip
_LONGEST_PROPERTY = 200
_FEEDBACK = ("feedback", "user_feedback", "comment")
_WORDS = ("context_text", "source_text", "text", "content", "page_content", "context")
# In rows of these tools "context" is the gold one, not what the system was given.
_GOLD_CONTEXT = ("actual_output", "actualOutput")
_SHOWN_FIELDS = 20


def read_flat(path: Path, record: Any) -> Trace:
    """Return the answer of an object with question, answer and contexts.

    Raises:
        InputError: it is none, or lacks a question or an answer.
    """
    if not isinstance(record, dict):
        raise refuse(path, show(record), "one trace: an object with question, answer and contexts")
    if holds_nul(record):
        raise refuse(path, "a NUL character", "text without one")
    question, answer = _find_words(record, _QUESTION), _find_words(record, _ANSWER)
    for value, names in ((question, _QUESTION), (answer, _ANSWER)):
        if value is None:
            fields = ", ".join(list(record)[:_SHOWN_FIELDS]) or "no fields"
            raise refuse(
                path, fields, f"the {names[0]}, as {', '.join(names)} or a span's attributes"
            )
    answerable = record.get("answerable")
    when = next((record[name] for name in _TIME if record.get(name)), None)
    happened_at = read_time(when)
    if when is not None and happened_at is None:
        raise refuse(path, f"the time {show(when)}", "a time such as 2026-11-15T09:30:00Z")
    return Trace(
        origin="trace",
        place="standard input" if path == STDIN else str(path),
        question=question or "",
        answer=answer or "",
        passages=_read_passages(record),
        trace_id=find_field_text(record, _TRACE_ID),
        model=find_field_text(record, _MODEL),
        happened_at=happened_at,
        feedback=_find_words(record, _FEEDBACK),
        answerable=answerable if isinstance(answerable, bool) else None,
        properties=_read_properties(record),
    )


def _read_properties(record: Table) -> dict[str, str]:
    found = ((ours, find_field_text(record, theirs)) for ours, theirs in _PROPERTIES.items())
    return {name: text for name, text in found if text and len(text) <= _LONGEST_PROPERTY}


def _read_passages(record: Table) -> tuple[Passage, ...] | None:
    names = [name for name in _PASSAGES if record.get(name) is not None]
    if any(name in record for name in _GOLD_CONTEXT):
        names = [name for name in names if name != "context"]
    if not names:
        return None
    found = record[names[0]]
    passages = [read_passage(part) for part in (found if isinstance(found, list) else [found])]
    ids: list[Any] = next(
        (record[name] for name in _PASSAGE_IDS if isinstance(record.get(name), list)), []
    )
    named = [
        Passage(
            source_id=p.source_id or find_field_text({"id": i}, ("id",)), text=p.text, title=p.title
        )
        for p, i in zip(passages, ids, strict=False)
    ]
    return tuple(p for p in [*named, *passages[len(named) :]] if p.source_id or p.text)


def _find_words(record: Table, names: Sequence[str]) -> str | None:
    return next((text for name in names if (text := _to_words(record.get(name), names))), None)


def _to_words(value: Any, names: Sequence[str]) -> str | None:
    """Return the text of a value: its own, that of a field with a known name, or its JSON."""
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, dict):
        known = (value[name] for name in (*names, *_WORDS) if isinstance(value.get(name), str))
        return next(filter(None, known), None) or (
            json.dumps(value, ensure_ascii=False) if value else None
        )
    if isinstance(value, list):
        return "\n".join(filter(None, (_to_words(part, names) for part in value))) or None
    return None if value is None else str(value)
