"""Pages for coming in: log in, first start, invites, and one's own account."""

from __future__ import annotations

import math
from urllib.parse import quote

from claimwise.accounts.queries import (
    SETUP,
    add_event,
    change_password,
    check_password,
    create_device,
    create_session,
    end_session,
    forget_failures,
    name_failure_source,
    read_invite,
    record_failure,
    use_invite,
)
from claimwise.accounts.values import Account
from claimwise.app import security
from claimwise.app.requests import Call, PageRoute, Refusal, Response, is_local
from claimwise.errors import RefusedError

_WRONG = "That name and password don't belong together."


def show_login(call: Call) -> Response:
    """Show the form to log in; who is logged in goes straight on."""
    if call.account is not None:
        return call.redirect(_read_next(call.query))
    return call.render("login.html", next=_read_next(call.query), name="", problem=None)


def log_in(call: Call) -> Response:
    """Start a session for a right name and password.

    Names that nobody has are treated as wrong passwords are, in words and in time.
    """
    name = call.form.get("name", "").strip()[:64]
    account = _try_password(call, name, call.form.get("password", ""))
    if account is None:
        add_event(call.store, "login failed", account=None, subject=name, detail=call.address,
                  now=call.now)  # fmt: skip
        return call.render(
            "login.html", status=401, next=_read_next(call.form), name=name, problem=_WRONG
        )
    return _enter(call, account, _read_next(call.form))


def _try_password(call: Call, name: str, password: str) -> Account | None:
    """Return the account of a right name and password.

    Raises:
        Refusal: there were too many wrong ones; this one was not tried.
    """
    source = name_failure_source(call.store, name, call.address, call.device)
    wait = math.ceil(record_failure(call.store, name, source, call.now))
    if wait > 0:
        raise Refusal(
            429,
            f"Too many wrong passwords; try again in {wait} s.",
            {"retry-after": str(wait)},
        )
    account = check_password(call.store, name, password)
    if account is not None:
        forget_failures(call.store, name, source)
    return account


def log_out(call: Call) -> Response:
    """End the session, here and in the store."""
    if call.session_token:
        end_session(call.store, call.session_token)
        call.audit("logout")
    response = call.redirect("/login")
    response.cookies.append(security.drop_session_cookie(secure=call.secure))
    return response


def show_invite(call: Call) -> Response:
    """Show the form that an invite leads to."""
    return _show_invite(call, name="", problem=None)


def accept_invite(call: Call) -> Response:
    """Make the account, or set the password, and log in."""
    invite = read_invite(call.store, call.path["token"], call.now)
    if invite is None:
        raise _gone()
    name = invite.account or call.form.get("name", "").strip()
    password = call.form.get("password", "")
    if password != call.form.get("again", ""):
        return _show_invite(call, name=name, problem="The two passwords differ.")
    try:
        account = use_invite(call.store, call.path["token"], name, password, call.now)
    except RefusedError as error:
        return _show_invite(call, name=name, problem=_as_line(error))
    event = "password set" if invite.account else "account made"
    add_event(call.store, event, account=account.account, subject=account.account,
              detail=f"{account.role}, invited by {invite.invited_by}", now=call.now)  # fmt: skip
    return _enter(call, account, "/")


def show_account(call: Call) -> Response:
    """Show one's own account."""
    return call.render("account.html", problem=None)


def set_own_password(call: Call) -> Response:
    """Change one's own password. All sessions end; this browser gets a new one."""
    account = _try_password(call, call.name, call.form.get("old", ""))
    if account is None:
        call.audit("password refused", detail=call.address)
        return call.render("account.html", status=401, problem="The old password is wrong.")
    if call.form.get("password", "") != call.form.get("again", ""):
        return call.render("account.html", status=400, problem="The two new passwords differ.")
    try:
        change_password(call.store, call.name, call.form.get("password", ""))
    except RefusedError as error:
        return call.render("account.html", status=400, problem=_as_line(error))
    call.audit("password set", subject=call.name)
    return _enter(call, account, "/account")


def _enter(call: Call, account: Account, to: str) -> Response:
    """Start a new session, whatever the browser had before, and go on."""
    if call.session_token:
        end_session(call.store, call.session_token)
    with call.store.write():
        token, _ = create_session(call.store, account.account, call.now)
        device = create_device(call.store, account.account)
        add_event(call.store, "login", account=account.account, detail=call.address, now=call.now)
    response = call.redirect(to)
    response.cookies += [
        security.write_session_cookie(token, secure=call.secure),
        security.write_device_cookie(device, secure=call.secure),
    ]
    return response


def _show_invite(call: Call, *, name: str, problem: str | None) -> Response:
    invite = read_invite(call.store, call.path["token"], call.now)
    if invite is None:
        raise _gone()
    return call.render(
        "invite.html",
        status=400 if problem else 200,
        invite=invite,
        first=invite.invited_by == SETUP,
        action=quote(call.url_path),
        name=name,
        problem=problem,
    )


def _gone() -> Refusal:
    return Refusal(410, "This link has been used or has expired; ask for another.")


def _read_next(fields: dict[str, str]) -> str:
    to = fields.get("next", "/")
    return to if is_local(to) and not to.startswith("/login") else "/"


def _as_line(error: RefusedError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


ROUTES = (
    PageRoute("GET", "/login", show_login, None),
    PageRoute("POST", "/login", log_in, None),
    PageRoute("POST", "/logout", log_out, None),
    PageRoute("GET", "/setup/{token}", show_invite, None),
    PageRoute("POST", "/setup/{token}", accept_invite, None),
    PageRoute("GET", "/invite/{token}", show_invite, None),
    PageRoute("POST", "/invite/{token}", accept_invite, None),
    PageRoute("GET", "/account", show_account, "labeler"),
    PageRoute("POST", "/account", set_own_password, "labeler"),
)
