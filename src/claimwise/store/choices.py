"""The rules that a person's label keeps, whatever page or file it comes from.

Supported, overreach, contradicted and stale rest on a span of a document of the run's corpus,
letter by letter, or on an entry of the action log when the claim is of an action; unlinked rests
on nothing. Overreach says which part of the claim is covered. Stale needs a document that did not
hold on the day of the run. Closed-book labels take no span.
"""

from __future__ import annotations

from datetime import date
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from claimwise.errors import RefusedError
from claimwise.store.rounds import query_of
from claimwise.store.store import Store
from claimwise.store.tasks import StoredClaim
from claimwise.types.annotation import Choice
from claimwise.types.checking import CHOICES

_LONGEST_REASON = 2_000
_LONGEST_SECONDS = 86_400.0
_LARGEST_OFFSET = 10**9


class Ruling(NamedTuple):
    """What is stored of a choice that keeps the rules."""

    verdict: str
    source_id: str | None = None
    supporting_span: str | None = None
    span_start: int | None = None
    covered_text: str | None = None
    reason: str | None = None


class _Document(msgspec.Struct, frozen=True):
    length: int
    found: str
    valid_until: date | None
    superseded_by: str | None


def rule_choice(store: Store, task: StoredClaim, choice: Choice) -> Ruling:
    """Return what to store of a choice.

    Raises:
        RefusedError: it breaks a rule; the message says which, and what to do.
    """
    _check_texts(choice)
    known = CHOICES[task.judgement]
    if choice.verdict not in known:
        raise RefusedError(
            f"verdict: found {choice.verdict[:40]!r}, expected one of {', '.join(known)}"
        )
    reason = (choice.reason or "").strip() or None
    if task.judgement == "closed_book" or choice.verdict == "unlinked":
        _refuse_evidence(choice)
        return Ruling(choice.verdict, reason=reason)
    covered = _read_covered(task, choice)
    if choice.entry_id is not None:
        span = _read_entry(store, task, choice)
        return Ruling(choice.verdict, None, span, None, covered, reason)
    source_id, start, span = _read_span(store, task, choice)
    return Ruling(choice.verdict, source_id, span, start, covered, reason)


def read_seconds(choice: Choice) -> float | None:
    """Return how long the labeler took; what no clock can have measured is left out."""
    seconds = choice.seconds
    if seconds is None or not isfinite(seconds) or seconds < 0:
        return None
    return min(seconds, _LONGEST_SECONDS)


def _check_texts(choice: Choice) -> None:
    """Refuse what a database can't keep as it is."""
    for name, value in msgspec.structs.asdict(choice).items():
        if isinstance(value, str):
            check_text(name, value)
    if choice.reason is not None and len(choice.reason) > _LONGEST_REASON:
        raise RefusedError(
            f"reason: found {len(choice.reason):,} characters, expected up to {_LONGEST_REASON:,}"
        )


def check_text(name: str, value: str) -> None:
    """Refuse text with NUL or half a surrogate pair: not every database can keep it.

    Raises:
        RefusedError: it holds one.
    """
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise RefusedError(f"{name}: found a character that is no text, expected plain text")


def _refuse_evidence(choice: Choice) -> None:
    fields: dict[str, Any] = {
        "source_id": choice.source_id,
        "span_start": choice.span_start,
        "span_text": choice.span_text,
        "entry_id": choice.entry_id,
        "covered_text": choice.covered_text,
    }
    given = next((name for name, value in fields.items() if value is not None), None)
    if given is not None:
        raise RefusedError(
            f"{given}: found a value, expected none: {choice.verdict} rests on nothing"
        )


def _read_covered(task: StoredClaim, choice: Choice) -> str | None:
    """Return the part of the claim that is covered: a proper part, and only of an overreach."""
    covered = choice.covered_text
    if choice.verdict != "overreach":
        if covered is not None:
            raise RefusedError(
                f"covered_text: found a value, expected none with {choice.verdict}: only an "
                "overreaching claim is covered in part"
            )
        return None
    if covered is None or not covered.strip():
        raise RefusedError("overreach: mark the part of the claim that the span covers")
    if covered not in task.claim_text:
        raise RefusedError(
            "covered_text: found text that is not in the claim, expected a part of it, letter by "
            "letter"
        )
    if covered.strip() == task.claim_text.strip():
        raise RefusedError(
            "covered_text: found the whole claim, expected a part of it: a claim that is covered "
            "whole is supported"
        )
    return covered


def _read_entry(store: Store, task: StoredClaim, choice: Choice) -> str:
    """Return the text of the log entry that an action claim rests on."""
    if task.claim_type != "action":
        raise RefusedError("entry_id: found one, expected a span: the claim is of no action")
    if choice.source_id is not None or choice.span_text is not None:
        raise RefusedError("found a log entry and a span, expected one of them")
    if choice.verdict == "stale":
        raise RefusedError("stale: found a log entry, expected a span of a document that expired")
    for entry_id, entry_text, _ in store.query(query_of("log"), task.params):
        if entry_id == choice.entry_id:
            return str(entry_text)
    raise RefusedError("entry_id: found no such entry in the answer's action log")


def _read_span(store: Store, task: StoredClaim, choice: Choice) -> tuple[str, int, str]:
    """Return document, offset and text of the span, which stands there letter by letter."""
    source_id, start, span = choice.source_id, choice.span_start, choice.span_text
    if source_id is None or start is None or not (span or "").strip():
        needed = "a span or a log entry" if task.claim_type == "action" else "a span"
        raise RefusedError(f"{choice.verdict} needs {needed}: select the words that show it")
    assert span is not None
    document = _read_document(store, task, source_id, start, len(span))
    if document is None:
        raise RefusedError(
            f"source_id: found {source_id[:80]!r}, expected a document of corpus version "
            f"{task.corpus_ver}"
        )
    if document.found != span:
        raise RefusedError(
            f"span_text: found text that does not stand in {source_id} at offset {start}, "
            "expected it letter by letter; select it again"
        )
    if choice.verdict == "stale" and not _is_stale(document, task.started_at.date()):
        raise RefusedError(
            f"stale: {source_id} still held on {task.started_at:%Y-%m-%d}, the day of the run; "
            "expected a document that was replaced or had expired"
        )
    return source_id, start, span


def _read_document(
    store: Store, task: StoredClaim, source_id: str, start: int, length: int
) -> _Document | None:
    if not 0 <= start <= _LARGEST_OFFSET:
        raise RefusedError(f"span_start: found {start}, expected an offset into the document")
    params = {
        "corpus_ver": task.corpus_ver,
        "source_id": source_id,
        "span_start": start,
        "span_length": length,
    }
    rows = store.query(query_of("document"), params)
    names = _Document.__struct_fields__
    return msgspec.convert(dict(zip(names, rows[0], strict=True)), _Document) if rows else None


def _is_stale(document: _Document, as_of: date) -> bool:
    """Tell whether a document no longer held: the rule that verifiers go by, too."""
    expired = document.valid_until is not None and document.valid_until < as_of
    return expired or document.superseded_by is not None
