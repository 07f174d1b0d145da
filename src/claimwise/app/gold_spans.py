"""Gold spans: which words of which documents a right answer to an item rests on.

Items wait here when they were made from incidents without spans. The documents are those of the
item's corpus version: first those that the system was given, then whatever a search finds.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from claimwise.app.desk import embed_json
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.labelling.desk import (
    GoldEntry,
    find_documents,
    finish_entry,
    list_gold_entries,
    list_incident_documents,
)
from claimwise.labelling.values import TaskSource
from claimwise.types.rows import GoldSpan, Placed
from claimwise.types.validity import explain_stale, is_stale

_OFFERED = 10  # documents when nothing tells which ones matter
_FOUND = 20
_MOST_SPANS = 50


class ChosenSpan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A span that someone chose; offsets count characters (code points)."""

    source_id: str
    span_start: int
    span_text: str
    required: bool


class ChosenSpans(Struct, frozen=True, forbid_unknown_fields=True):
    """All spans of an item."""

    spans: Annotated[tuple[ChosenSpan, ...], Meta(min_length=1, max_length=_MOST_SPANS)]


class Documents(Struct, frozen=True, kw_only=True):
    """Documents as the page shows them."""

    sources: list[TaskSource]
    stale: dict[str, str]


def show_waiting(call: Call) -> Response:
    """List the items that wait."""
    return call.render("gold_list.html", entries=list_gold_entries(call.store))


def show_entry(call: Call) -> Response:
    """Show one item with documents to choose spans from."""
    entry = _find_entry(call)
    offered = list_incident_documents(call.store, entry.item_id, entry.corpus_ver)
    if not offered:
        offered = find_documents(call.store, entry.corpus_ver, "", limit=_OFFERED)
    data = {"entry_id": entry.entry_id, "documents": _describe(offered, call.now.date())}
    return call.render("gold_spans.html", entry=entry, data=embed_json(data))


def send_documents(call: Call) -> Response:
    """Send the documents of the item's corpus version that hold the words asked for."""
    entry = _find_entry(call)
    words = " ".join(call.query.get("q", "").split())
    found = find_documents(call.store, entry.corpus_ver, words, limit=_FOUND)
    return call.json(_describe(found, call.now.date()))


def take_spans(call: Call) -> Response:
    """Save an item's spans, by the rules of an import, and take it from the queue: all or none."""
    entry = _find_entry(call)
    chosen = call.read_json(ChosenSpans)
    rows = [Placed(_to_row(entry, span), 0, number) for number, span in enumerate(chosen.spans, 1)]

    def finish() -> None:
        finish_entry(call.store, entry.entry_id, call.now)
        call.audit("gold spans", entry.item_id, f"{len(rows)} spans")

    call.store.load(rows, ["span"], then=finish)
    return call.json({"saved": len(rows), "next": "/gold-spans"})


def _find_entry(call: Call) -> GoldEntry:
    for entry in list_gold_entries(call.store):
        if entry.entry_id == call.path["entry_id"]:
            return entry
    raise Refusal(404, "This item does not wait for gold spans; someone may have given them.")


def _to_row(entry: GoldEntry, span: ChosenSpan) -> GoldSpan:
    fields = {
        **msgspec.structs.asdict(span),
        "item_id": entry.item_id,
        "span_end": span.span_start + len(span.span_text),
    }
    try:
        return msgspec.convert(fields, GoldSpan)
    except msgspec.ValidationError as error:
        raise Refusal(400, f"This span can't be saved: {error}.") from error


def _describe(documents: list[TaskSource], today: date) -> Documents:
    stale = {one.source_id: explain_stale(one) for one in documents if is_stale(one, today)}
    return Documents(sources=documents, stale=stale)


ROUTES = (
    PageRoute("GET", "/gold-spans", show_waiting, "adjudicator"),
    PageRoute("GET", "/gold-spans/{entry_id:path}", show_entry, "adjudicator"),
    PageRoute("GET", "/api/gold-spans/{entry_id:path}/documents", send_documents, "adjudicator"),
    PageRoute("POST", "/api/gold-spans/{entry_id:path}", take_spans, "adjudicator"),
)
