"""Compares two corpus versions by what they do to the gold spans of a golden set.

A span stands when the same text is at the same place. It has moved when its words, whatever the
whitespace between them, stand at exactly one place: in its document, or else in any other. Where
they stand at several, nobody but a person can say which is meant. Where they stand nowhere, the
closest passage decides between changed and vanished.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from claimwise.corpus.passages import DocumentSearch
from claimwise.corpus.queries import read_golden_set
from claimwise.corpus.values import (
    FOUND,
    CorpusDiff,
    ItemChange,
    ItemOutcome,
    Place,
    RecallCeiling,
    SpanChange,
)
from claimwise.errors import StoreError
from claimwise.store import Store
from claimwise.store.corpora import choose_corpus, read_corpus_version
from claimwise.types.rows import GoldSpan, Item

# The least share of words by which a passage counts as what a span was changed into.
CLOSE_ENOUGH: Final = 0.6


def compare_corpora(store: Store, old: str, new: str) -> CorpusDiff:
    """Return what carrying a golden set over from one corpus version to another would do.

    Raises:
        StoreError: there is no such version, or both are the same.
    """
    if old == new:
        raise StoreError(f"corpus diff compares two versions, and both are {old!r}")
    before, after = (
        {s.source_id: s for s in read_corpus_version(store, choose_corpus(store, version))}
        for version in (old, new)
    )
    search = DocumentSearch({name: source.source_text for name, source in after.items()})
    items = tuple(
        _compare_item(search, item, spans, new) for item, spans in read_golden_set(store, old)
    )
    both = before.keys() & after.keys()
    changed = {name for name in both if before[name].source_text != after[name].source_text}
    return CorpusDiff(
        old=old,
        new=new,
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(sorted(changed)),
        unchanged=len(both) - len(changed),
        items=items,
        recall=_limit_recall(items),
    )


def _compare_item(
    search: DocumentSearch, item: Item, spans: Sequence[GoldSpan], new: str
) -> ItemChange:
    changes = tuple(compare_span(search, span) for span in spans)
    outcome, reason = _decide(changes, new)
    return ItemChange(
        item_id=item.item_id, query=item.query, outcome=outcome, reason=reason, spans=changes
    )


def compare_span(search: DocumentSearch, span: GoldSpan) -> SpanChange:
    """Return what has become of one gold span in the documents to search."""
    start, end = span.span_start or 0, span.span_end or 0
    change = SpanChange(
        item_id=span.item_id,
        required=span.required,
        status="stands",
        old=Place(source_id=span.source_id, start=start, end=end, text=span.span_text),
    )
    if search.texts.get(span.source_id, "")[start:end] == span.span_text:
        return replace(change, new=change.old)
    places = search.find_words(span.span_text, span.source_id) or search.find_words(span.span_text)
    if places:
        status = "moved" if len(places) == 1 else "ambiguous"
        return replace(change, status=status, new=places[0], matches=len(places))
    closest = search.find_closest(span.span_text, span.source_id)
    if closest is None or closest[1] < CLOSE_ENOUGH:
        return replace(change, status="vanished", matches=0)
    return replace(change, status="changed", new=closest[0], similarity=closest[1], matches=0)


def _decide(spans: Sequence[SpanChange], new: str) -> tuple[ItemOutcome, str]:
    """Return what becomes of an item: its required spans decide, the others only if all are so."""
    if not spans:
        return "no_spans", f"no gold spans: a person has to say whether {new} answers it"
    deciding = [span for span in spans if span.required] or list(spans)
    for status, outcome, words in _OUTCOMES:
        texts = [f"“{_shorten(span.old.text)}”" for span in deciding if span.status == status]
        if texts:
            return outcome, f"{words.format(new=new)}: {', '.join(texts)}"
    return "carried", f"carried over to {new}"


_OUTCOMES: Final[tuple[tuple[str, ItemOutcome, str], ...]] = (
    ("vanished", "retired", "no longer in {new}"),
    ("changed", "open", "worded differently in {new}"),
    ("ambiguous", "open", "in {new} several times"),
)
_LONGEST: Final = 80


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _limit_recall(items: Iterable[ItemChange]) -> RecallCeiling:
    """Return the context recall of a retriever that finds whatever is there, now and afterwards."""
    known = list(items)
    required = [span for item in known for span in item.spans if span.required]
    left = [s for item in known if item.outcome != "retired" for s in item.spans if s.required]
    found, found_after = (
        sum(span.status in (*FOUND, "ambiguous") for span in spans) for spans in (required, left)
    )
    return RecallCeiling(
        spans=len(required),
        found=found,
        rate=found / len(required) if required else None,
        spans_after=len(left),
        rate_after=found_after / len(left) if left else None,
    )
