"""Reads what a person chose, on the labelling desk or in Label Studio, and checks it.

The rules are those of ``types/label_rules.py``. Here the choice is compared with what is stored: a
span stands in a document of the run's corpus letter by letter, a log entry is in the answer's log,
and what an overreach covers is a part of its claim. Closed-book labels take no span.
"""

from __future__ import annotations

from datetime import date
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from claimwise.errors import RefusedError
from claimwise.labelling.rounds import query_of
from claimwise.labelling.tasks import StoredClaim
from claimwise.labelling.values import Choice
from claimwise.store.store import Store
from claimwise.types.label_rules import Evidence, LabelFacts, find_breach, has_expired
from claimwise.types.verdicts import CHOICES

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
    if task.judgement == "closed_book":
        _refuse_evidence(choice)
        return Ruling(choice.verdict, reason=reason)
    document = _read_document(store, task, choice)
    _check_rules(task, choice, document)
    covered = _read_covered(task, choice)
    if choice.entry_id is not None:
        entry = _read_entry(store, task, choice)
        return Ruling(choice.verdict, None, entry, None, covered, reason)
    _check_span(task, choice, document)
    span = choice.source_id, choice.span_text, choice.span_start
    return Ruling(choice.verdict, *span, covered, reason)


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
        raise RefusedError(f"{name}: found a character that is not text, expected plain text")


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
            f"{given}: found a value, expected none: a closed-book label rests on nothing"
        )


def _check_rules(task: StoredClaim, choice: Choice, document: _Document | None) -> None:
    """Refuse a choice that breaks a rule of the guide."""
    if choice.entry_id is not None and (choice.source_id or choice.span_text) is not None:
        raise RefusedError("found a log entry and a span, expected one of them")
    if choice.source_id is None and (choice.span_text or choice.span_start) is not None:
        raise RefusedError("source_id: found nothing, expected the document of the span")
    as_of = task.started_at.date()
    facts = LabelFacts(
        verdict=choice.verdict,
        is_action=task.claim_type == "action",
        by_judge=False,
        evidence=_name_evidence(choice),
        covered=bool((choice.covered_text or "").strip()),
        expired=document is not None
        and has_expired(document.valid_until, document.superseded_by, as_of),
    )
    breach = find_breach(facts)
    if breach is not None:
        raise RefusedError(str(breach))


def _name_evidence(choice: Choice) -> Evidence:
    if choice.entry_id is not None:
        return "entry"
    if choice.source_id is None:
        return "nothing"
    whole = choice.span_start is not None and (choice.span_text or "").strip()
    return "span" if whole else "document"


def _read_covered(task: StoredClaim, choice: Choice) -> str | None:
    """Return the part of the claim that is covered: a proper part of it."""
    covered = choice.covered_text
    if choice.verdict != "overreach" or covered is None:
        return None
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
    for entry_id, entry_text, _ in store.query(query_of("log"), task.params):
        if entry_id == choice.entry_id:
            return str(entry_text)
    raise RefusedError("entry_id: found no such entry in the answer's action log")


def _check_span(task: StoredClaim, choice: Choice, document: _Document | None) -> None:
    """Refuse a span that does not stand in its document, at its place, letter by letter."""
    if choice.source_id is None:  # unlinked
        return
    if document is None:
        raise RefusedError(
            f"source_id: found {choice.source_id[:80]!r}, expected a document of corpus version "
            f"{task.corpus_ver}"
        )
    if document.found != choice.span_text:
        raise RefusedError(
            f"span_text: found text that is not in {choice.source_id} at offset "
            f"{choice.span_start}, expected it letter by letter; select it again"
        )


def _read_document(store: Store, task: StoredClaim, choice: Choice) -> _Document | None:
    """Return what a choice needs of the document that it names, if it is in the run's corpus."""
    if choice.source_id is None:
        return None
    start = choice.span_start or 0
    if not 0 <= start <= _LARGEST_OFFSET:
        raise RefusedError(f"span_start: found {start}, expected an offset into the document")
    params = {
        "corpus_ver": task.corpus_ver,
        "source_id": choice.source_id,
        "span_start": start,
        "span_length": len(choice.span_text or ""),
    }
    rows = store.query(query_of("document"), params)
    names = _Document.__struct_fields__
    return msgspec.convert(dict(zip(names, rows[0], strict=True)), _Document) if rows else None
