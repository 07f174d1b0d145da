"""Writes what a new corpus version does to a golden set, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from claimwise.corpus.changes import to_gold_span
from claimwise.corpus.values import (
    SPAN_STATUSES,
    CorpusDiff,
    ItemOutcome,
    Place,
    SpanChange,
    SpanStatus,
)
from claimwise.report.format import clean, pluralize, show_percent

_SHOWN: Final = 20  # spans of one status
_LONGEST: Final = 60  # characters of a quote
_BEFORE: Final = 20  # of these, before the first one that has changed
_STATUS_WORDS: Final[dict[SpanStatus, str]] = {
    "vanished": "gone",
    "changed": "changed",
    "ambiguous": "ambiguous",
    "moved": "moved",
    "stands": "unchanged",
}


def to_diff_document(diff: CorpusDiff, *, applied: bool) -> dict[str, Any]:
    """Return a diff as JSON, with its counts and whether it was applied."""
    document: dict[str, Any] = msgspec.to_builtins(diff)
    document["counts"] = {
        "spans": {status: len(list(diff.list_spans(status))) for status in SPAN_STATUSES},
        "items": {name: len(diff.list_items(name)) for name in _ITEMS},
    }
    return {"applied": applied, **document}


def describe_diff(diff: CorpusDiff, *, applied: bool, show_all: bool = False) -> Iterator[str]:
    """Yield the lines of a diff: the counts, the spans that need a look first, the next step."""
    before = len(diff.removed) + len(diff.changed) + diff.unchanged
    documents = [
        f"{len(names):,} {word}"
        for names, word in (
            (diff.added, "new"),
            (diff.removed, "removed"),
            (diff.changed, "changed"),
        )
        if names
    ]
    yield clean(
        f"Corpus {diff.old} → {diff.new}: {pluralize(before, 'document')}, "
        f"{', '.join(documents) or 'none changed'}"
    )
    if not diff.items:
        yield clean(f"No items of the golden set belong to {diff.old}.")
        return
    counts = {status: len(list(diff.list_spans(status))) for status in reversed(SPAN_STATUSES)}
    parts = (f"{count:,} {_STATUS_WORDS[status]}" for status, count in counts.items() if count)
    yield f"Gold spans: {', '.join(parts) or 'none'}"
    for status in SPAN_STATUSES:
        yield from _list_spans(list(diff.list_spans(status)), show_all=show_all)
    yield ""
    for outcome, (done, planned) in _ITEMS.items():
        items = diff.list_items(outcome)
        if items:
            yield f"{pluralize(len(items), 'item')} {done if applied else planned}:"
            listed = items if show_all else items[:_SHOWN]
            yield from ("  " + clean(f"{item.item_id}: {item.reason}") for item in listed)
            yield from _count_rest(len(items) - len(listed))


_ITEMS: Final[dict[ItemOutcome, tuple[str, str]]] = {
    "retired": ("retired", "to retire"),
    "open": ("left for you to decide", "for you to decide"),
    "carried": ("carried over", "to carry over"),
    "no_spans": ("without gold spans", "without gold spans"),
}


def _list_spans(spans: list[SpanChange], *, show_all: bool) -> Iterator[str]:
    listed = spans if show_all else spans[:_SHOWN]
    for span in listed:
        optional = "" if span.required else ", optional"
        change = clean(f"{span.item_id}{optional}: {_describe_change(span)}")
        yield f"  {_STATUS_WORDS[span.status]:<9}  {change}"
    yield from _count_rest(len(spans) - len(listed))


def _count_rest(count: int) -> Iterator[str]:
    if count > 0:
        yield f"  … and {count:,} more (--all lists them)"


def _describe_change(span: SpanChange) -> str:
    old, new = span.old, span.new
    quoted = _quote(_join_words(old))
    if new is None:
        return f"{quoted} was in {old.source_id} {old.start}–{old.end}"
    place = f"{new.source_id} {new.start}–{new.end}"
    if span.status == "changed":
        before, after = _quote_change(_join_words(old), _join_words(new))
        return f"{before} → closest: {after} in {place} ({show_percent(span.similarity)} the same)"
    if span.status == "ambiguous":
        return f"{quoted} → in {span.matches:,} places, the first {place}"
    if span.status == "moved":
        return f"{quoted} {old.source_id} {old.start}–{old.end} → {place}"
    return f"{quoted} in {place}"


def _join_words(place: Place) -> str:
    return " ".join(place.text.split())


def _quote_change(old: str, new: str) -> tuple[str, str]:
    """Quote two long texts from a few words before their first difference."""
    pairs = enumerate(zip(old, new, strict=False))
    same = next((n for n, (one, other) in pairs if one != other), min(len(old), len(new)))
    start = old.rfind(" ", 0, same - _BEFORE) + 1 if same > _LONGEST // 2 else 0
    if not start or max(len(old), len(new)) <= _LONGEST:
        return _quote(old), _quote(new)
    return _quote(f"…{old[start:]}"), _quote(f"…{new[start:]}")


def _quote(text: str) -> str:
    return f"“{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}”"


def warn_of_recall(diff: CorpusDiff) -> str | None:
    """Say that context recall falls although no retriever got worse; None if it doesn't."""
    recall = diff.recall
    if not recall.falls:
        return None
    lost = recall.spans - recall.found
    are = "is" if lost == 1 else "are"
    return (
        f"{lost:,} of {pluralize(recall.spans, 'required gold span')} {are} "
        f"not in {diff.new}, so context recall can't exceed {show_percent(recall.rate)} there, "
        f"whatever is retrieved ({show_percent(1.0)} in {diff.old}). With --apply, it can reach "
        f"{show_percent(recall.rate_after)} of the {recall.spans_after:,} that remain."
    )


def write_suggestions(diff: CorpusDiff) -> tuple[bytes, int]:
    """Return gold spans for the items that a person has to decide on, as JSON Lines; and how many.

    Where a span has changed it is the closest passage: a proposal to be read and edited.
    """
    rows = [to_gold_span(span) for item in diff.list_items("open") for span in item.spans
            if span.new is not None]  # fmt: skip
    lines = [
        msgspec.json.encode(
            {
                "type": "gold_spans",
                "item_id": row.item_id,
                "source_id": row.source_id,
                "span_text": row.span_text,
                "required": row.required,
            }
        )
        for row in rows
    ]
    return b"".join(line + b"\n" for line in lines), len(lines)
