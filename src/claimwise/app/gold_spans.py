"""The golden set: its items, what a right answer to each rests on, and new items from documents.

Items that were made from incidents wait here for their spans; any other item's spans can be
corrected, and what was there before is kept. Documents are those of the item's corpus version.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any
from urllib.parse import quote

from msgspec import Meta, Struct

from claimwise.app.desk import embed_json
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.corpus.changes import correct_spans
from claimwise.corpus.queries import list_versions, read_spans
from claimwise.labelling.desk import (
    GoldEntry,
    find_documents,
    finish_entry,
    list_gold_entries,
    list_incident_documents,
)
from claimwise.labelling.golden import (
    ChosenSpan,
    KindCount,
    NewItem,
    count_kinds,
    find_golden_item,
    list_span_documents,
    make_golden_item,
    place_spans,
    search_items,
)
from claimwise.labelling.values import TaskSource
from claimwise.types.rows import Item
from claimwise.types.validity import explain_stale, is_stale

_OFFERED = 10  # documents when nothing tells which ones matter
_FOUND = 20
_MOST_SPANS = 50
_PAGE = 50
_LONGEST_SEARCH = 200


class ChosenSpans(Struct, frozen=True, forbid_unknown_fields=True):
    """All spans of an item, and why they are others than before."""

    spans: Annotated[tuple[ChosenSpan, ...], Meta(min_length=1, max_length=_MOST_SPANS)]
    reason: str = ""


class Documents(Struct, frozen=True, kw_only=True):
    """Documents as the page shows them."""

    sources: list[TaskSource]
    stale: dict[str, str]


def show_golden_set(call: Call) -> Response:
    """Show the shares of each kind, the items that wait for spans, and all items by search."""
    words = " ".join(call.query.get("q", "").split())[:_LONGEST_SEARCH]
    found = search_items(call.store, words, after=call.query.get("after", ""), most=_PAGE + 1)
    kinds = count_kinds(call.store)
    return call.render(
        "gold_list.html",
        entries=list_gold_entries(call.store),
        kinds=kinds,
        all=_sum_up(kinds),
        items=found[:_PAGE],
        following=found[_PAGE - 1].item_id if len(found) > _PAGE else None,
        words=words,
        versions=[one.version for one in list_versions(call.store) if one.documents],
    )


def _sum_up(kinds: list[KindCount]) -> KindCount:
    return KindCount(
        "all",
        items=sum(one.items for one in kinds),
        unanswerable=sum(one.unanswerable for one in kinds),
        actions=sum(one.actions for one in kinds),
    )


def show_new_item(call: Call) -> Response:
    """Show documents of a corpus version, and the form of an item to be written for them."""
    versions = [one.version for one in list_versions(call.store) if one.documents]
    if not versions:
        raise Refusal(404, "There are no documents yet: `claimwise import FOLDER` adds them.")
    corpus_ver = call.query.get("corpus", versions[-1])
    if corpus_ver not in versions:
        raise Refusal(404, "There is no such corpus version.")
    offered = find_documents(call.store, corpus_ver, "", limit=_OFFERED)
    kinds = count_kinds(call.store)
    values = {"corpus_ver": corpus_ver, "kinds": kinds, "all": _sum_up(kinds)}
    return _show_page(
        call, offered, "/api/gold-items", corpus_ver=corpus_ver, mode="new", values=values
    )


def show_item(call: Call) -> Response:
    """Show any item with its gold spans, to correct them."""
    item = _find_item(call)
    documents = list_span_documents(call.store, item.item_id, item.source_corpus_ver)
    if not documents:
        documents = find_documents(call.store, item.source_corpus_ver, "", limit=_OFFERED)
    spans = [
        {"source_id": one.source_id, "span_start": one.span_start, "span_text": one.span_text,
         "required": one.required}
        for one in read_spans(call.store, item.item_id)
    ]  # fmt: skip
    save = f"/api/gold-items/{quote(item.item_id, safe='')}"
    return _show_page(
        call, documents, save, corpus_ver=item.source_corpus_ver,
        mode="item", spans=spans, values={"item": item},
    )  # fmt: skip


def show_entry(call: Call) -> Response:
    """Show an item that waits, with documents to choose spans from."""
    entry = _find_entry(call)
    offered = list_incident_documents(call.store, entry.item_id, entry.corpus_ver)
    if not offered:
        offered = find_documents(call.store, entry.corpus_ver, "", limit=_OFFERED)
    save = f"/api/gold-spans/{quote(entry.entry_id, safe='')}"
    return _show_page(
        call, offered, save, corpus_ver=entry.corpus_ver,
        mode="entry", values={"item": find_golden_item(call.store, entry.item_id), "entry": entry},
    )  # fmt: skip


def _show_page(
    call: Call,
    documents: list[TaskSource],
    save: str,
    *,
    corpus_ver: str,
    mode: str,
    values: dict[str, Any],
    spans: list[dict[str, Any]] | None = None,
) -> Response:
    data = {
        "mode": mode,
        "save": save,
        "corpus_ver": corpus_ver,
        "spans": spans or [],
        "documents": _describe(documents, call.now.date()),
    }
    known: dict[str, Any] = {
        "item": None,
        "entry": None,
        "kinds": [],
        "all": None,
        "corpus_ver": corpus_ver,
    }
    return call.render(
        "gold_spans.html",
        data=embed_json(data),
        mode=mode,
        query_types=call.project.query_types,
        **{**known, **values},
    )


def send_documents(call: Call) -> Response:
    """Send the documents of a corpus version that hold the words asked for."""
    words = " ".join(call.query.get("q", "").split())[:_LONGEST_SEARCH]
    found = find_documents(call.store, call.query.get("corpus", ""), words, limit=_FOUND)
    return call.json(_describe(found, call.now.date()))


def take_spans(call: Call) -> Response:
    """Save an item's spans, by the rules of an import, and take it from the queue: all or none."""
    entry = _find_entry(call)
    chosen = call.read_json(ChosenSpans)
    rows = place_spans(entry.item_id, chosen.spans)

    def finish() -> None:
        finish_entry(call.store, entry.entry_id, call.now)
        call.audit("gold spans", entry.item_id, f"{len(rows)} spans")

    call.store.load(rows, ["span"], then=finish)
    return call.json({"saved": len(rows), "next": "/gold-spans"})


def take_correction(call: Call) -> Response:
    """Give an item other gold spans; those it had are kept with who, when and why."""
    item = _find_item(call)
    chosen = call.read_json(ChosenSpans)
    reason = chosen.reason.strip()
    if not reason:
        raise Refusal(400, "Say in a few words why the spans change.")
    rows = place_spans(item.item_id, chosen.spans)
    correct_spans(call.store, rows, ["span"], who=call.name, reason=reason[:_LONGEST_SEARCH])
    call.audit("gold spans", item.item_id, f"{len(rows)} spans: {reason}")
    return call.json({"saved": len(rows), "next": "/gold-spans"})


def take_item(call: Call) -> Response:
    """Add an item with its spans, by the rules of an import."""
    new = call.read_json(NewItem)
    rows = make_golden_item(new, call.project.query_types)
    item_id = rows[0].row.item_id  # type: ignore[attr-defined]
    if find_golden_item(call.store, item_id) is not None:
        raise Refusal(409, "This question is in the golden set already, for the same documents.")
    call.store.load(rows, ["item"], then=lambda: call.audit("item made", item_id, new.query_type))
    return call.json(
        {"saved": item_id, "next": f"/gold-spans/new?corpus={quote(new.corpus_ver, safe='')}"}
    )


def _find_item(call: Call) -> Item:
    item = find_golden_item(call.store, call.path["item_id"])
    if item is None:
        raise Refusal(404, "There is no such item.")
    return item


def _find_entry(call: Call) -> GoldEntry:
    for entry in list_gold_entries(call.store):
        if entry.entry_id == call.path["entry_id"]:
            return entry
    raise Refusal(404, "This item does not wait for gold spans; someone may have given them.")


def _describe(documents: list[TaskSource], today: date) -> Documents:
    stale = {one.source_id: explain_stale(one) for one in documents if is_stale(one, today)}
    return Documents(sources=documents, stale=stale)


ROUTES = (
    PageRoute("GET", "/gold-spans", show_golden_set, "adjudicator"),
    PageRoute("GET", "/gold-spans/new", show_new_item, "adjudicator"),
    PageRoute("GET", "/gold-spans/items/{item_id:path}", show_item, "adjudicator"),
    PageRoute("GET", "/gold-spans/{entry_id:path}", show_entry, "adjudicator"),
    PageRoute("GET", "/api/gold-documents", send_documents, "adjudicator"),
    PageRoute("POST", "/api/gold-items", take_item, "adjudicator"),
    PageRoute("POST", "/api/gold-items/{item_id:path}", take_correction, "adjudicator"),
    PageRoute("POST", "/api/gold-spans/{entry_id:path}", take_spans, "adjudicator"),
)
