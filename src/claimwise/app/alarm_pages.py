"""Alarms: the list, what each means and what to do, and closing it."""

from __future__ import annotations

from datetime import date
from typing import Final

from claimwise.app.claims import look_of
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.monitoring.alarms import close_alarm
from claimwise.monitoring.explain import describe_alarm
from claimwise.monitoring.queries import find_alarm, list_alarms
from claimwise.monitoring.runbook import make_runbook, open_incidents
from claimwise.monitoring.settings import read_settings
from claimwise.monitoring.values import Alarm
from claimwise.report import format as form

_LONGEST_REASON: Final = 2_000
_MOST_INCIDENTS: Final = 10
_ANSWERABLE: Final = {"yes": True, "no": False}


def show_alarms(call: Call) -> Response:
    """List alarms: open ones first, then those that someone has closed."""
    found = list_alarms(call.store)
    return call.render(
        "alarms.html",
        open=[alarm for alarm in found if alarm.closed_at is None],
        closed=[alarm for alarm in found if alarm.closed_at is not None],
        describe=describe_alarm,
        form=form,
    )


def show_alarm(call: Call) -> Response:
    """Show one alarm: what it means, what to look at, the claims, gates for next time."""
    alarm = _find(call)
    settings = read_settings(call.project)
    return call.render(
        "alarm.html",
        alarm=alarm,
        book=make_runbook(call.store, call.project, alarm, anchors=settings.anchors),
        opened=call.query.get("opened"),
        most=_MOST_INCIDENTS,
        look=look_of,
        form=form,
    )


def close(call: Call) -> Response:
    """Close an alarm with what was found."""
    alarm = _find(call)
    because = call.form.get("because", "")
    if len(because) > _LONGEST_REASON:
        raise Refusal(400, f"Keep the reason below {_LONGEST_REASON:,} characters.")
    with call.store.write():
        close_alarm(
            call.store,
            alarm,
            who=call.name,
            because=because,
            now=call.now,
            new_baseline=call.form.get("new_baseline") == "1",
            since=_read_day(call.form.get("since", "")),
        )
        call.audit("alarm closed", subject=alarm.alarm_id, detail=because.strip())
    return call.redirect("/alarms")


def open_worst(call: Call) -> Response:
    """Turn the worst answers behind an alarm into incidents and test cases."""
    alarm = _find(call)
    answerable = _ANSWERABLE.get(call.form.get("answerable", ""))
    count = call.form.get("count", "")
    if answerable is None or not (count.isascii() and count.isdigit()):
        raise Refusal(400, "Say how many answers, and whether the sources can answer them.")
    done = open_incidents(
        call.store,
        alarm,
        who=call.name,
        count=max(1, min(int(count[:4]), _MOST_INCIDENTS)),
        answerable=answerable,
        query_types=call.project.query_types,
    )
    for one in done:
        if not one.repeated:
            call.audit("promoted", subject=one.item.item_id, detail=one.incident.place)
    new = sum(not one.repeated for one in done)
    return call.redirect(f"/alarms/{alarm.alarm_id}?opened={new}#gates")


def _find(call: Call) -> Alarm:
    found = find_alarm(call.store, call.path["alarm_id"])
    if found is None:
        raise Refusal(404, "There is no such alarm.")
    return found


def _read_day(text: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise Refusal(400, "Write the day like 2026-11-16.") from error


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/alarms", show_alarms, "adjudicator"),
    PageRoute("GET", "/alarms/{alarm_id}", show_alarm, "adjudicator"),
    PageRoute("POST", "/alarms/{alarm_id}/close", close, "adjudicator"),
    PageRoute("POST", "/alarms/{alarm_id}/incidents", open_worst, "adjudicator"),
)
