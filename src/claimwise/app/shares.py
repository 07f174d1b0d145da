"""Read-only links to the overview: an admin makes and revokes them, whoever has one looks."""

from __future__ import annotations

import re
from datetime import timedelta

from claimwise.accounts.shares import (
    LONGEST_SHARE,
    SHARE_LIFE,
    create_share,
    find_share,
    list_shares,
    revoke_share,
)
from claimwise.app import panels
from claimwise.app.dashboard import choose_baseline, read_overview, show_overview
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.app.runs import HELPERS, MOST_RUNS, group_by_system
from claimwise.report import format as form
from claimwise.store.runs import list_newest_runs, list_systems


def show_shares(call: Call) -> Response:
    """List the links, and offer to make one."""
    return _show(call)


def make_share(call: Call) -> Response:
    """Make a link and show it, this once."""
    system, days = call.form.get("system", ""), _read_days(call)
    with call.store.write():
        token = create_share(
            call.store,
            system,
            call.name,
            call.now,
            note=call.form.get("note", ""),
            baseline=call.form.get("baseline") or None,
            life=timedelta(days=days),
        )
        call.audit("overview shared", subject=system, detail=f"for {form.pluralize(days, 'day')}")
    return _show(call, link=f"{call.origin}/share/{token}")


def end_share(call: Call) -> Response:
    """Revoke a link."""
    known = {one.link_id: one for one in list_shares(call.store, call.now)}
    link = known.get(call.form.get("link_id", ""))
    if link is None:
        raise Refusal(404, "There is no such link.")
    with call.store.write():
        revoke_share(call.store, link.link_id, call.name, call.now)
        call.audit("shared link revoked", subject=link.system, detail=link.note or None)
    return call.redirect("/shares")


def show_shared(call: Call) -> Response:
    """Show the overview of a link's system, with nothing that leads further."""
    link = find_share(call.store, call.path["token"], call.now)
    runs = (
        group_by_system(list_newest_runs(call.store, MOST_RUNS)).get(link.system) if link else None
    )
    if link is None or not runs:
        raise Refusal(
            404,
            "This link has expired or was revoked. Ask whoever sent it for a new one.",
        )
    baseline = choose_baseline(link.baseline or "", runs)
    found = read_overview(call, runs, baseline, 0.0)
    headlines = [(run, measured.report.headline if measured.report else None)
                 for run, measured in zip(runs, found.reading.runs, strict=True)]  # fmt: skip
    return call.render(
        "shared.html",
        **show_overview(found, runs, baseline),
        link=link,
        trend=panels.draw_headlines(headlines, call.project, linked=False),
        limits=panels.list_limits(call.project),
        **HELPERS,
    )


def _show(call: Call, *, link: str | None = None) -> Response:
    return call.render(
        "shares.html",
        links=[(one, one.holds(call.now)) for one in list_shares(call.store, call.now)],
        systems=[name for name, _ in list_systems(call.store)],
        chosen=call.query.get("system", ""),
        baseline=call.query.get("baseline", ""),
        link=link,
        days=SHARE_LIFE.days,
        most_days=LONGEST_SHARE.days,
        form=form,
    )


def _read_days(call: Call) -> int:
    text = call.form.get("days", str(SHARE_LIFE.days))
    if not re.fullmatch("[0-9]{1,3}", text) or not 1 <= int(text) <= LONGEST_SHARE.days:
        raise Refusal(400, f"A link can hold for 1 to {LONGEST_SHARE.days} days.")
    return int(text)


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/shares", show_shares, "admin"),
    PageRoute("POST", "/shares", make_share, "admin"),
    PageRoute("POST", "/shares/revoke", end_share, "admin"),
    PageRoute("GET", "/share/{token}", show_shared, None),
)
