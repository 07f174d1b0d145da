"""The page of all accounts: invite, change role, disable, new password links."""

from __future__ import annotations

import re
from datetime import timedelta

from claimwise.accounts.queries import (
    LONGEST_INVITE,
    change_role,
    create_invite,
    create_named_account,
    disable_account,
    enable_account,
    list_accounts,
    list_invites,
)
from claimwise.accounts.values import ROLES, Role
from claimwise.app.requests import Call, PageRoute, Refusal, Response

_LONGEST_HOURS = LONGEST_INVITE // timedelta(hours=1)


def show_people(call: Call) -> Response:
    """Show all accounts and the invites that still hold."""
    return _show(call)


def invite_person(call: Call) -> Response:
    """Make an invite and show its link, this once. A name that is given is the account's."""
    role, name, hours = _read_role(call), call.form.get("name", "").strip(), _read_hours(call)
    life = timedelta(hours=hours)
    with call.store.write():
        if name:
            token = create_named_account(call.store, name, role, call.name, call.now, life=life)
        else:
            token = create_invite(call.store, role, call.name, call.now, life=life)
        call.audit("invite", subject=name or role, detail=f"{role}, for {hours} h")
    what = f"{name}, a new {role}" if name else f"A new {role}"
    return _show(call, link=f"{call.origin}/invite/{token}", what=what)


def reset_person(call: Call) -> Response:
    """Make a link that sets a new password for an account, and show it, this once."""
    name = call.form.get("name", "")
    with call.store.write():
        token = create_invite(call.store, "labeler", call.name, call.now, account=name)
        call.audit("password link", subject=name)
    return _show(call, link=f"{call.origin}/invite/{token}", what=f"A new password for {name}")


def set_role(call: Call) -> Response:
    """Give an account another role."""
    name, role = call.form.get("name", ""), _read_role(call)
    with call.store.write():
        change_role(call.store, name, role)
        call.audit("role", subject=name, detail=role)
    return call.redirect("/people")


def disable_person(call: Call) -> Response:
    """Shut an account out."""
    name = call.form.get("name", "")
    with call.store.write():
        disable_account(call.store, name, call.now)
        call.audit("disable", subject=name)
    return call.redirect("/people")


def enable_person(call: Call) -> Response:
    """Let an account in again."""
    name = call.form.get("name", "")
    with call.store.write():
        enable_account(call.store, name)
        call.audit("enable", subject=name)
    return call.redirect("/people")


def _show(call: Call, *, link: str | None = None, what: str = "") -> Response:
    return call.render(
        "people.html",
        people=list_accounts(call.store),
        invites=list_invites(call.store, call.now),
        roles=ROLES[::-1],
        link=link,
        what=what,
        longest_hours=_LONGEST_HOURS,
    )


def _read_role(call: Call) -> Role:
    role = call.form.get("role", "")
    if role not in ROLES:
        raise Refusal(400, f"Found the role {role!r}, expected {', '.join(ROLES)}.")
    return role


def _read_hours(call: Call) -> int:
    text = call.form.get("hours", "72")
    if not re.fullmatch("[0-9]{1,4}", text) or not 1 <= int(text) <= _LONGEST_HOURS:
        raise Refusal(400, f"Found {text!r} hours, expected 1 to {_LONGEST_HOURS}.")
    return int(text)


ROUTES = (
    PageRoute("GET", "/people", show_people, "admin"),
    PageRoute("POST", "/people/invite", invite_person, "admin"),
    PageRoute("POST", "/people/reset", reset_person, "admin"),
    PageRoute("POST", "/people/role", set_role, "admin"),
    PageRoute("POST", "/people/disable", disable_person, "admin"),
    PageRoute("POST", "/people/enable", enable_person, "admin"),
)
