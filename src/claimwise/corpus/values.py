"""What comparing two corpus versions finds, and what is kept of changes to a golden set."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final, Literal, NamedTuple, get_args

from msgspec import Struct

# stands: the same text at the same place; moved: the same words at exactly one other place;
# ambiguous: at several; changed: a passage comes close; vanished: nothing does.
SpanStatus = Literal["vanished", "changed", "ambiguous", "moved", "stands"]
SPAN_STATUSES: tuple[SpanStatus, ...] = get_args(SpanStatus)  # those that need a person first
FOUND: tuple[SpanStatus, ...] = ("stands", "moved")

# carried: all required spans are found; open: a person has to choose; retired: a required span has
# vanished; no_spans: nothing says what the answer rests on.
ItemOutcome = Literal["retired", "open", "carried", "no_spans"]


class ItemDoubt(NamedTuple):
    """What is allowed in a golden set and looks like a mistake, of one item and of several."""

    one: str
    many: str
    advice: str

    def describe(self, count: int, which: str = "") -> str:
        """Return the doubt as a sentence; ``which`` names some of the items."""
        told = f"1 {self.one}" if count == 1 else f"{count:,} {self.many}"
        return f"{told} ({which}): {self.advice}" if which else f"{told}: {self.advice}"


# By the names that the query for doubtful items uses.
DOUBTS: Final = {
    "gold_answer": ItemDoubt(
        "unanswerable item has a gold answer",
        "unanswerable items have a gold answer",
        "remove the answer, or mark the item answerable",
    ),
    "marked_answerable": ItemDoubt(
        "item of type unanswerable is marked answerable",
        "items of type unanswerable are marked answerable",
        "metrics go by the mark",
    ),
    "no_spans": ItemDoubt(
        "answerable item has no required gold span",
        "answerable items have no required gold span",
        "context recall leaves it out",
    ),
}


class Place(Struct, frozen=True, kw_only=True):
    """A passage of a document: ``document[start:end]``."""

    source_id: str
    start: int
    end: int
    text: str


class SpanChange(Struct, frozen=True, kw_only=True):
    """A gold span, and what has become of it in the other corpus version."""

    item_id: str
    required: bool
    status: SpanStatus
    old: Place
    new: Place | None = None  # where it is; the closest passage of one that has changed
    similarity: float | None = None  # share of words that the closest passage shares with it
    matches: int = 1


class ItemChange(Struct, frozen=True, kw_only=True):
    """An item, and what becomes of it."""

    item_id: str
    query: str
    outcome: ItemOutcome
    reason: str
    spans: tuple[SpanChange, ...]


class RecallCeiling(Struct, frozen=True, kw_only=True):
    """The highest context recall that any retriever can reach, with gold spans as they are."""

    spans: int  # required gold spans
    found: int  # those whose words are in the new version
    rate: float | None
    spans_after: int  # required gold spans once the certain changes are made
    rate_after: float | None

    @property
    def falls(self) -> bool:
        """Whether context recall would fall for the change of the corpus alone."""
        return self.found < self.spans


class CorpusDiff(Struct, frozen=True, kw_only=True):
    """What a new corpus version does to a golden set."""

    old: str
    new: str
    added: tuple[str, ...]  # documents
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: int
    items: tuple[ItemChange, ...]
    recall: RecallCeiling

    def list_spans(self, status: SpanStatus | None = None) -> Iterator[SpanChange]:
        """Yield the spans of all items, or those with one status."""
        for item in self.items:
            for span in item.spans:
                if status is None or span.status == status:
                    yield span

    def list_items(self, outcome: ItemOutcome) -> list[ItemChange]:
        """Return the items of which that becomes."""
        return [item for item in self.items if item.outcome == outcome]


class CorpusVersion(Struct, frozen=True, kw_only=True):
    """A corpus version of the store, with the items that were written for it."""

    version: str
    documents: int
    characters: int
    items: int
    gold_spans: int
    retired: int
    runs: int


class GoldenChange(Struct, frozen=True, kw_only=True):
    """Something that was changed in the golden set: who, when, why."""

    changed_at: datetime
    change: Literal["replaced", "retired"]
    item_id: str
    corpus_ver: str
    who: str
    reason: str
    source_id: str | None = None  # of a span that was replaced
    span_text: str | None = None
    restored_at: datetime | None = None  # of an item that was retired
