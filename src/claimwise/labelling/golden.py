"""The golden set as people build it: items with their gold spans, and the share of each kind."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from claimwise.errors import ClaimwiseError
from claimwise.labelling.desk import query_documents
from claimwise.labelling.values import TaskSource
from claimwise.store.files import SqlFolder
from claimwise.store.lookup import select_rows
from claimwise.store.store import Store
from claimwise.text import make_content_id
from claimwise.types.rows import GoldSpan, Item, Placed, Stakes

_SQL = SqlFolder("claimwise.labelling", "sql_desk")


class KindCount(NamedTuple):
    """How many items of the golden set are of one kind."""

    kind: str
    items: int
    unanswerable: int
    actions: int  # that name what the action log must hold


class GoldenItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item of the golden set as a list shows it."""

    item_id: str
    query: str
    query_type: str | None
    answerable: bool | None
    stakes: str | None
    gold_answer: str | None
    corpus_ver: str
    domain: str | None
    expected_action: str | None
    spans: int


class ChosenSpan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A span that someone chose; offsets count characters (code points)."""

    source_id: str
    span_start: int
    span_text: str
    required: bool


class NewItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question that someone wrote for documents, and what a right answer to it rests on."""

    corpus_ver: str
    query: str
    query_type: str
    answerable: bool
    stakes: Stakes
    gold_answer: str | None = None
    domain: str | None = None
    expected_action: str | None = None
    spans: tuple[ChosenSpan, ...] = ()


def count_kinds(store: Store) -> list[KindCount]:
    """Return how many items of each kind the golden set has, the most frequent first."""
    return [KindCount(*row) for row in store.query(_SQL["golden_kinds"])]


def search_items(store: Store, words: str, *, after: str = "", most: int) -> list[GoldenItem]:
    """Return items that hold words in this order, by id, those after an id."""
    rows = store.query(_SQL["golden_items"], {"words": words, "after": after, "most": most})
    names = GoldenItem.__struct_fields__
    return [
        msgspec.convert(dict(zip(names, row, strict=True)), GoldenItem, strict=False)
        for row in rows
    ]


def find_golden_item(store: Store, item_id: str) -> Item | None:
    """Return an item of the golden set, or None."""
    if "\x00" in item_id:
        return None
    found = select_rows(store, Item, "where item_id = :item_id", item_id=item_id)
    return found[0] if found else None


def list_span_documents(store: Store, item_id: str, corpus_ver: str) -> list[TaskSource]:
    """Return the documents that an item's gold spans stand in."""
    return query_documents(store, "span_documents", {"item_id": item_id, "corpus_ver": corpus_ver})


def make_golden_item(new: NewItem, query_types: tuple[str, ...]) -> list[Placed]:
    """Return the rows of a new item with its gold spans, for an import to check and add.

    Raises:
        ClaimwiseError: something is missing, or does not go together.
    """
    _check_item(new, query_types)
    fields: dict[str, Any] = {
        **msgspec.structs.asdict(new),
        "item_id": make_content_id("i1", new.corpus_ver, new.query).partition(":")[2][:12],
        "source_corpus_ver": new.corpus_ver,
        "query": new.query.strip(),
        "gold_answer": (new.gold_answer or "").strip() or None,
        "domain": (new.domain or "").strip() or None,
        "expected_action": (new.expected_action or "").strip() or None,
    }
    item = to_golden_row(
        Item, {name: fields[name] for name in Item.__struct_fields__ if name in fields}
    )
    return [Placed(item, 0, 1), *place_spans(item.item_id, new.spans)]


def place_spans(item_id: str, spans: tuple[ChosenSpan, ...]) -> list[Placed]:
    """Return the rows of an item's gold spans."""
    rows = []
    for number, span in enumerate(spans, 1):
        end = span.span_start + len(span.span_text)
        fields = {**msgspec.structs.asdict(span), "item_id": item_id, "span_end": end}
        rows.append(Placed(to_golden_row(GoldSpan, fields), 0, number))
    return rows


def to_golden_row(kind: type[Any], fields: dict[str, Any]) -> Any:
    """Return a row of values that someone typed or chose.

    Raises:
        ClaimwiseError: they break a rule of the file format.
    """
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise ClaimwiseError(f"this can't be saved: {error}") from error


def _check_item(new: NewItem, query_types: tuple[str, ...]) -> None:
    problem = None
    if not new.query.strip():
        problem = "write the question first"
    elif new.query_type not in query_types:
        problem = f"kind: expected one of {', '.join(query_types)}"
    elif new.answerable == (new.query_type == "unanswerable"):
        problem = "a question of the kind “unanswerable” is one that the documents can't answer"
    elif not new.answerable and (new.spans or (new.gold_answer or "").strip()):
        problem = "a question that the documents can't answer has no gold answer and no span"
    elif new.answerable and not new.spans and not (new.expected_action or "").strip():
        problem = "select the words of a document that a right answer rests on"
    if problem:
        raise ClaimwiseError(problem)
