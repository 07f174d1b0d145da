"""Changes gold spans and never loses what was there: carries them over, or corrects them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from claimwise.corpus.queries import read_golden_set, read_spans, replace_spans, retire_item
from claimwise.corpus.values import FOUND, CorpusDiff, ItemChange, SpanChange
from claimwise.errors import StoreError
from claimwise.store import LoadCount, Store
from claimwise.store.corpora import choose_corpus
from claimwise.types.rows import GoldSpan, Placed


class Correction(NamedTuple):
    """What a correction of gold spans did."""

    counts: list[LoadCount]
    items: list[str]  # whose spans were replaced
    kept: int  # earlier spans that are kept


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def carry_over(store: Store, diff: CorpusDiff, *, who: str, reason: str) -> None:
    """Make the changes of a diff that are certain, all or none.

    Items whose required spans were all found belong to the new version from then on; spans that a
    complete answer does not need are dropped where they were not found. Items that lost a required
    span are retired. All others stay as they are.

    Raises:
        StoreError: the golden set has changed since the diff was made.
    """
    now = _now()
    carried, retired = diff.list_items("carried"), diff.list_items("retired")

    def change() -> None:
        _refuse_changed(store, diff)
        for item in carried:
            replace_spans(store, item.item_id, diff.new, now=now, who=who, reason=reason)
        for item in retired:
            retire_item(store, item.item_id, diff.new, now=now, who=who, reason=item.reason)

    rows = [Placed(to_gold_span(span), 0, 1) for item in carried for span in _list_found(item)]
    store.load(rows, [f"corpus {diff.new}"], before=change)


def _list_found(item: ItemChange) -> Iterator[SpanChange]:
    """Yield the spans of an item that were found; two that became one are one."""
    places = set()
    for span in item.spans:
        if span.status in FOUND and span.new not in places:
            places.add(span.new)
            yield span


def to_gold_span(span: SpanChange) -> GoldSpan:
    """Return a span at its new place: of one that has changed, at the closest passage."""
    place = span.new or span.old
    return GoldSpan(
        item_id=span.item_id,
        source_id=place.source_id,
        span_text=place.text,
        required=span.required,
        span_start=place.start,
        span_end=place.end,
    )


def _refuse_changed(store: Store, diff: CorpusDiff) -> None:
    known = {
        item.item_id: [(s.old.source_id, s.old.start, s.old.text, s.required) for s in item.spans]
        for item in diff.items
    }
    found = {
        item.item_id: [(s.source_id, s.span_start, s.span_text, s.required) for s in spans]
        for item, spans in read_golden_set(store, diff.old)
    }
    if known != found:
        raise StoreError(f"{store.place}: the golden set has changed meanwhile; run it again")


def correct_spans(
    store: Store,
    rows: Iterable[Placed],
    paths: Sequence[str],
    *,
    who: str,
    reason: str,
    corpus_ver: str | None = None,
    update: bool = False,
    dry_run: bool = False,
) -> Correction:
    """Give items the gold spans of a file in place of those that they have, all or none.

    The file's spans of an item are all that it has afterwards. What they replace is kept, with who,
    when and why. Items whose spans are as in the file already are left as they are.

    Args:
        store: where the golden set is.
        rows: gold spans, and whatever else an import may bring.
        paths: the files that they come from.
        who: who corrects them.
        reason: why.
        corpus_ver: the corpus version whose documents the spans stand in, if it is another one.
        update: change items that differ from the stored ones.
        dry_run: check everything and write nothing.

    Raises:
        ClaimwiseError: the files hold no gold spans, or something is wrong with them; nothing was
            written.
    """
    version = None if corpus_ver is None else choose_corpus(store, corpus_ver)
    given = list(rows)
    spans: defaultdict[str, list[GoldSpan]] = defaultdict(list)
    for placed in given:
        if isinstance(placed.row, GoldSpan):
            spans[placed.row.item_id].append(placed.row)
    if not spans:
        raise StoreError(f"{paths[0]}: found no gold spans, expected those that are corrected")
    now, kept, changed = _now(), 0, list[str]()

    def replace() -> None:
        nonlocal kept
        for item_id, new in spans.items():
            if not _is_same(store, item_id, new, version):
                kept += replace_spans(store, item_id, version, now=now, who=who, reason=reason)
                changed.append(item_id)

    counts = store.load(given, paths, before=replace, update=update, dry_run=dry_run)
    return Correction(counts, changed, kept)


def _is_same(store: Store, item_id: str, new: Sequence[GoldSpan], version: str | None) -> bool:
    """Tell whether an item has these spans already; one without a place is known by its text."""
    old = read_spans(store, item_id)
    if version is not None:
        rows = store.query(
            "select source_corpus_ver from eval_items where item_id = :item_id",
            {"item_id": item_id},
        )
        if rows and rows[0][0] != version:
            return False
    by_text = {(span.source_id, span.span_text): span for span in old}
    return len(old) == len(new) and all(
        _is_span(span, by_text.get((span.source_id, span.span_text))) for span in new
    )


def _is_span(new: GoldSpan, old: GoldSpan | None) -> bool:
    if old is None or old.required != new.required:
        return False
    return new.span_start is None or new.span_start == old.span_start
