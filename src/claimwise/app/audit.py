"""The page of the audit trail: who did what, the newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import quote

from claimwise.accounts.queries import Event, list_accounts, list_event_kinds, list_events
from claimwise.app.links import link_answer_of, link_claim
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.labelling.names import (
    NamedPlace,
    name_items,
    name_places,
    name_rounds,
    name_tasks,
)
from claimwise.report import format as form
from claimwise.store import Store

_PAGE = 50
_PLACED = ("label", "answer label")  # subjects that say where a claim or an answer is


class Subject(NamedTuple):
    """What an event was about, in words, and where it is shown."""

    text: str
    link: str


def show_audit(call: Call) -> Response:
    """Show one page of events, of one person or kind if the query says so."""
    who, kind = call.query.get("who") or None, call.query.get("event") or None
    found = list_events(
        call.store, account=who, event=kind, before=_read_place(call), limit=_PAGE + 1
    )
    shown = found[:_PAGE]
    return call.render(
        "audit.html",
        events=shown,
        named=_name_subjects(call.store, shown),
        form=form,
        older=f"{shown[-1].happened_at.isoformat()}~{shown[-1].event_id}"
        if len(found) > _PAGE
        else None,
        who=who,
        kind=kind,
        names=[one.account for one in list_accounts(call.store)],
        kinds=list_event_kinds(call.store),
        is_first="before" not in call.query,
    )


def _name_subjects(store: Store, events: Sequence[Event]) -> dict[str, Subject]:
    """Return what the ids among the subjects of events stand for, and where it is shown."""
    ids = {event.subject for event in events if event.subject}
    found = {
        round_id: Subject(f"round {title}", f"/rounds/{quote(round_id, safe='')}")
        for round_id, title in name_rounds(store, ids).items()
    }
    for task_id, task in name_tasks(store, ids).items():
        link = link_claim(task.run_id, task.item_id, task.sample, task.claim_id)
        found[task_id] = Subject(f"“{task.claim_text}” in {task.round_title}", link)
    unnamed = [event for event in events if event.subject and event.subject not in found]
    for item_id, question in name_items(store, {str(one.subject) for one in unnamed}).items():
        found[item_id] = Subject(f"“{question}”", f"/gold-spans/items/{quote(item_id, safe='')}")
    judges = {str(one.subject) for one in unnamed if one.event == "calibrated"}
    found.update({name: Subject(name, "/calibrations") for name in judges})
    places = {str(one.subject) for one in unnamed if one.event in _PLACED}
    found.update({one: _show_place(named) for one, named in name_places(store, places).items()})
    return found


def _show_place(named: NamedPlace) -> Subject:
    if named.claim_id is None:
        link = link_answer_of(named.run_id, named.item_id, named.sample)
        return Subject(f"answer to “{named.text}” in {named.run_id}", link)
    link = link_claim(named.run_id, named.item_id, named.sample, named.claim_id)
    return Subject(f"“{named.text}” in {named.run_id}", link)


def _read_place(call: Call) -> Event | None:
    """Return where the page starts, as the link to older events wrote it."""
    text = call.query.get("before")
    if not text:
        return None
    moment, _, event_id = text.partition("~")
    try:
        happened_at = datetime.fromisoformat(moment).replace(tzinfo=None)
    except ValueError as error:
        raise Refusal(400, f"Found the place {text[:80]!r}, expected a time.") from error
    return Event(
        event_id=event_id,
        happened_at=happened_at,
        account=None,
        event="",
        subject=None,
        detail=None,
    )


ROUTES = (PageRoute("GET", "/audit", show_audit, "admin"),)
