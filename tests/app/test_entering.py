"""Coming in: first start, invites, sessions, passwords, and guessing them."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest

from claimwise.accounts.queries import (
    check_password,
    create_account,
    create_invite,
    create_session,
    create_setup_invite,
    disable_account,
    enable_account,
    list_accounts,
    read_session,
)
from claimwise.accounts.values import Role
from claimwise.store import open_store
from support.app_server import PASSWORD, Person, RunningApp, run_app, utc_now

LINK = re.compile(r"https?://[^/]+(/invite/[\w-]+)")


def accept(person: Person, path: str, name: str, password: str = PASSWORD) -> httpx2.Response:
    person.get(path)
    return person.post(path, name=name, password=password, again=password)


def make_invite(app: RunningApp, role: Role = "labeler", **life: float) -> str:
    with app.open() as store:
        token = create_invite(
            store, role, "root", utc_now(), life=timedelta(**life) if life else timedelta(hours=1)
        )
    return f"/invite/{token}"


def test_first_start_to_invited_labeler(app: RunningApp) -> None:
    with app.open() as store:
        setup = f"/setup/{create_setup_invite(store, utc_now())}"
    admin = app.visit()
    assert "admin" in admin.get(setup).text
    entered = accept(admin, setup, "root")
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    admin.get("/people")
    page = admin.post("/people/invite", role="labeler", hours="2").text
    link = LINK.search(page)
    assert link
    assert link[1] not in admin.get("/people").text, "a link is shown once"
    labeler = app.visit()
    assert "labeler" in labeler.get(link[1]).text
    assert accept(labeler, link[1], "anna").status_code == 303
    assert "labeler" in labeler.get("/account").text
    with app.open() as store:
        assert [(one.account, one.role) for one in list_accounts(store)] == [
            ("anna", "labeler"),
            ("root", "admin"),
        ]
        assert create_setup_invite(store, utc_now()) is None, "there is an admin"


def test_a_setup_link_is_worthless_once_there_is_an_account(app: RunningApp) -> None:
    with app.open() as store:
        setup = f"/setup/{create_setup_invite(store, utc_now())}"
    app.enter("root", "admin")
    late = accept(app.visit(), setup, "mallory")
    assert late.status_code == 400
    with app.open() as store:
        assert [one.account for one in list_accounts(store)] == ["root"]


def test_used_expired_and_invented_invites_are_gone(app: RunningApp) -> None:
    used = make_invite(app)
    assert accept(app.visit(), used, "anna").status_code == 303
    for path in (used, make_invite(app, seconds=-1), "/invite/invented", "/invite/" + "x" * 900):
        person = app.visit()
        assert person.get(path).status_code == 410, path
        person.get("/login")
        answer = person.post(path, name="bob", password=PASSWORD, again=PASSWORD)
        assert answer.status_code == 410, path
    with app.open() as store:
        assert [one.account for one in list_accounts(store)] == ["anna"]


def test_of_two_people_with_one_invite_one_wins(app: RunningApp) -> None:
    path = make_invite(app)
    people = [app.visit() for _ in range(4)]
    for person in people:
        person.get(path)
    with ThreadPoolExecutor(4) as threads:
        answers = list(
            threads.map(
                lambda pair: pair[1].post(
                    path, name=f"person{pair[0]}", password=PASSWORD, again=PASSWORD
                ),
                enumerate(people),
            )
        )
    assert sorted(answer.status_code == 303 for answer in answers) == [False, False, False, True]
    with app.open() as store:
        assert len(list_accounts(store)) == 1


def test_a_refused_name_or_password_leaves_the_invite(app: RunningApp) -> None:
    app.enter("root", "admin")
    path = make_invite(app)
    person = app.visit()
    person.get(path)
    for name in ("a", "a b", "(first start)", "verifier:x", "ánna", "x" * 65, "ROOT"):
        answer = person.post(path, name=name, password=PASSWORD, again=PASSWORD)
        assert answer.status_code == 400, name
        assert 'role="alert"' in answer.text
    for password, again in (
        ("elevenchars",) * 2,
        ("x" * 1001,) * 2,
        ("password1234",) * 2,
        (" " * 12,) * 2,
        (PASSWORD, PASSWORD + "!"),
    ):
        answer = person.post(path, name="anna", password=password, again=again)
        assert answer.status_code == 400, password
        assert password not in answer.text
    assert accept(person, path, "anna").status_code == 303


def test_an_invite_holds_for_a_month_at_most(app: RunningApp) -> None:
    admin = app.enter("root", "admin")
    for hours in ("0", "721", "0000019999999999", "1e3", "-1", "", "٣"):
        assert admin.post("/people/invite", role="labeler", hours=hours).status_code == 400, hours
    assert admin.post("/people/invite", role="labeler", hours="720").status_code == 200
    with app.open() as store:
        assert store.query("select count(*) from invites") == [(1,)]


@pytest.mark.each_engine
def test_the_name_of_imported_labels_takes_an_admin_s_word(app: RunningApp) -> None:
    admin = app.enter("root", "admin")
    with app.open() as store:
        store.execute_all(
            [("insert into labelers (labeler, labeler_kind) values ('ana', 'human')", {})]
        )
    invited = app.visit()
    path = make_invite(app)
    for name in ("ana", "ANA"):
        answer = accept(invited, path, name)
        assert (answer.status_code, "were imported" in answer.text) == (400, True)
    assert accept(invited, path, "anna").status_code == 303
    page = admin.post("/people/invite", role="adjudicator", name="ana").text
    link = LINK.search(page)
    assert link
    assert app.visit().log_in("ana").status_code == 401, "nobody knows its password yet"
    ana = app.visit()
    assert accept(ana, link[1], "whatever").status_code == 303
    assert "adjudicator" in ana.get("/account").text
    assert admin.post("/people/invite", role="labeler", name="ANNA").status_code == 409


def test_a_reset_link_sets_the_password_and_ends_all_sessions(app: RunningApp) -> None:
    admin, anna = app.enter("root", "admin"), app.enter("anna")
    admin.get("/people")
    link = LINK.search(admin.post("/people/reset", name="anna").text)
    assert link
    person = app.visit()
    person.get(link[1])
    answer = person.post(
        link[1], name="root", password="another good one", again="another good one"
    )
    assert answer.status_code == 303
    assert person.get("/account").text.count("anna") >= 1, "the name in the form means nothing"
    assert anna.get("/account").status_code == 303
    assert app.visit().log_in("anna").status_code == 401
    assert app.visit().log_in("anna", "another good one").status_code == 303
    assert admin.get("/account").status_code == 200


@pytest.mark.each_engine
def test_the_session_cookie_is_out_of_reach(app: RunningApp) -> None:
    person = app.visit()
    with app.open() as store:
        token = create_setup_invite(store, utc_now())
    answer = accept(person, f"/setup/{token}", "root")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie
    kept = cookie.partition("=")[2].partition(";")[0]
    with app.open() as store:
        assert kept not in str(store.query("select * from sessions"))


def test_behind_https_cookies_are_for_https_alone(place: str, tmp_path: Path) -> None:
    from claimwise.accounts.queries import create_account
    from claimwise.store import open_store

    with open_store(place, create=True) as store:
        create_account(store, "root", "admin", PASSWORD, utc_now())
    with run_app(place, tmp_path, behind_https=True) as app:
        person = app.visit()
        cookie = person.get("/login").headers["set-cookie"]
        assert cookie.startswith("__Host-")
        assert cookie.endswith("; Secure")


def test_a_session_given_by_someone_else_is_not_taken_over(app: RunningApp) -> None:
    """Fixation: a token planted before the login is worth nothing after it."""
    app.enter("anna")
    victim = app.visit()
    victim.web.cookies.set("claimwise_session", "planted")
    assert victim.log_in("anna").status_code == 303
    assert victim.web.cookies.get("claimwise_session", domain="127.0.0.1") != "planted"
    thief = app.visit()
    thief.web.cookies.set("claimwise_session", "planted")
    assert thief.get("/account").status_code == 303


def test_logging_in_again_ends_the_session_before(app: RunningApp) -> None:
    anna = app.enter("anna")
    app.enter("bob")
    old = anna.web.cookies["claimwise_session"]
    assert anna.post("/login", name="bob", password=PASSWORD).status_code == 303
    assert anna.web.cookies["claimwise_session"] != old
    thief = app.visit()
    thief.web.cookies.set("claimwise_session", old)
    assert thief.get("/account").status_code == 303


def test_logging_out_ends_the_session_for_good(app: RunningApp) -> None:
    anna = app.enter("anna")
    kept = anna.web.cookies["claimwise_session"]
    assert anna.post("/logout").headers["location"] == "/login"
    anna.web.cookies.set("claimwise_session", kept)
    assert anna.get("/account").status_code == 303


@pytest.mark.each_engine
def test_an_old_session_is_over(app: RunningApp) -> None:
    app.enter("anna")
    with app.open() as store:
        token, _ = create_session(store, "anna", utc_now() - timedelta(hours=12, seconds=1))
        fresh, _ = create_session(store, "anna", utc_now() - timedelta(hours=11))
    person = app.visit()
    person.web.cookies.set("claimwise_session", token)
    assert person.get("/account").status_code == 303
    person.web.cookies.set("claimwise_session", fresh)
    assert person.get("/account").status_code == 200
    with app.open() as store:
        last = store.query("select max(expires_at) from sessions")[0][0]
    assert str(last) > str(utc_now() + timedelta(hours=11)), "it was renewed"


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self) -> datetime:
        return self.now


LIFE, LONGEST = timedelta(hours=12), timedelta(days=7)


@pytest.mark.parametrize("behind_https", [False, True])
def test_cookie_and_session_are_renewed_together(
    place: str, tmp_path: Path, behind_https: bool
) -> None:
    """Who works on stays logged in, up to a week; the browser's cookie ends with the session."""
    open_store(place, create=True).close()
    clock = Clock()
    with run_app(place, tmp_path, behind_https=behind_https, clock=clock) as app:
        with app.open() as store:
            create_account(store, "anna", "labeler", PASSWORD, clock.now)
            token, _ = create_session(store, "anna", clock.now)
        began = clock.now
        name = "__Host-claimwise_session" if behind_https else "claimwise_session"
        person = app.visit(cookie=f"{name}={token}")
        assert "set-cookie" not in person.get("/account").headers, "it is new"
        cookie_ends = began + LIFE
        clock.now += timedelta(minutes=59)
        assert "set-cookie" not in person.get("/account").headers, "no write for every request"
        while clock.now + timedelta(hours=11) < began + LONGEST:
            clock.now += timedelta(hours=11)
            assert clock.now < cookie_ends, "a browser still has the cookie"
            answer = person.get("/account")
            assert answer.status_code == 200
            cookie = answer.headers["set-cookie"]
            assert cookie.startswith(f"{name}={token}; Path=/; HttpOnly; Max-Age=")
            assert "SameSite=Lax" in cookie
            assert ("; Secure" in cookie) == behind_https
            cookie_ends = clock.now + timedelta(
                seconds=int(re.findall(r"Max-Age=(\d+)", cookie)[0])
            )
            with app.open() as store:
                session = read_session(store, token, clock.now)
            assert session is not None
            assert abs(session.expires_at - cookie_ends) <= timedelta(seconds=1)
            assert not session.renewed
        assert began + LONGEST - timedelta(seconds=1) <= cookie_ends <= began + LONGEST
        clock.now = began + LONGEST - timedelta(seconds=2)
        answer = person.get("/account")
        assert (answer.status_code, "set-cookie" in answer.headers) == (200, False), "no more time"
        clock.now = began + LONGEST + timedelta(seconds=1)
        assert person.get("/account").status_code == 303


def test_logging_out_at_the_hour_of_renewal_stays_logged_out(place: str, tmp_path: Path) -> None:
    open_store(place, create=True).close()
    clock = Clock()
    with run_app(place, tmp_path, clock=clock) as app:
        anna = app.enter("anna")
        clock.now += timedelta(hours=2)
        answer = anna.post("/logout")
        cookies = answer.headers.get_list("set-cookie")
        assert "Max-Age=43200" in cookies[0]
        assert "Max-Age=0" in cookies[-1], "the last one counts"
        assert anna.get("/account").status_code == 303


def test_form_sent_without_a_login_leads_to_the_start(app: RunningApp) -> None:
    """A link can't send it again: after the login its address would answer “not in that way”."""
    stranger = app.visit()
    assert stranger.post("/rounds/r1/close").headers["location"] == "/login?next=/"
    assert stranger.get("/rounds/r1").headers["location"] == "/login?next=/rounds/r1"


@pytest.mark.each_engine
def test_a_disabled_account_is_out_at_once(app: RunningApp) -> None:
    anna = app.enter("anna")
    with app.open() as store:
        disable_account(store, "anna", utc_now())
    assert anna.get("/account").status_code == 303
    assert app.visit().log_in("anna").status_code == 401


@pytest.mark.each_engine
def test_a_new_role_holds_from_the_next_request_on(app: RunningApp) -> None:
    admin, anna = app.enter("root", "admin"), app.enter("anna")
    assert anna.get("/people").status_code == 403
    assert admin.post("/people/role", name="anna", role="admin").status_code == 303
    assert anna.get("/people").status_code == 200
    assert admin.post("/people/role", name="anna", role="labeler").status_code == 303
    assert anna.get("/people").status_code == 403


def test_the_last_admin_stays(app: RunningApp) -> None:
    admin = app.enter("root", "admin")
    for path, fields in (("/people/disable", {}), ("/people/role", {"role": "labeler"})):
        answer = admin.post(path, name="root", **fields)
        assert answer.status_code == 409
        assert "only admin" in answer.text
    assert admin.get("/people").status_code == 200


def test_changing_the_password_logs_out_everywhere_else(app: RunningApp) -> None:
    here = app.enter("anna")
    there = app.visit()
    there.log_in("anna")
    new = "a wholly new password"
    assert here.post("/account", old="wrong", password=new, again=new).status_code == 401
    assert here.post("/account", old=PASSWORD, password="x", again="x").status_code == 400
    assert here.post("/account", old=PASSWORD, password=new, again="y").status_code == 400
    assert there.get("/account").status_code == 200
    assert here.post("/account", old=PASSWORD, password=new, again=new).status_code == 303
    assert here.get("/account").status_code == 200
    assert there.get("/account").status_code == 303
    assert app.visit().log_in("anna", new).status_code == 303


@pytest.fixture
def still_app(place: str, tmp_path: Path) -> Iterator[RunningApp]:
    """The app on a day when no time passes: waits don't end, however slow the machine is."""
    open_store(place, create=True).close()
    with run_app(place, tmp_path, clock=Clock()) as running:
        yield running


def test_guessing_is_slowed_down_and_the_right_password_waits_too(still_app: RunningApp) -> None:
    still_app.enter("anna")
    guesser = still_app.visit()
    for _ in range(5):
        assert guesser.log_in("anna", "wrong wrong wrong").status_code == 401
    for password in ("wrong wrong wrong", PASSWORD):
        answer = guesser.log_in("anna", password)
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 5
    with still_app.open() as store:
        kept = store.query("select count(*) from login_failures")[0][0]
    assert kept == 5, "who is told to wait is not counted again"


def guess(person: Person, name: str, times: int) -> list[int]:
    return [person.log_in(name, "wrong wrong wrong").status_code for _ in range(times)]


def test_guesses_of_others_do_not_keep_a_known_browser_out(still_app: RunningApp) -> None:
    """Whoever sits behind the same address can slow down strangers, not the account's owner."""
    anna = still_app.enter("anna")
    assert anna.post("/logout").status_code == 303
    assert guess(still_app.visit(), "anna", 7) == [401] * 5 + [429] * 2
    assert anna.log_in("anna").status_code == 303


def test_a_known_browser_has_a_count_of_its_own(still_app: RunningApp) -> None:
    anna = still_app.enter("anna")
    anna.post("/logout")
    assert guess(anna, "anna", 6) == [401] * 5 + [429]
    assert still_app.visit().log_in("anna").status_code == 303, "other browsers are not concerned"
    assert anna.log_in("anna").status_code == 429


@pytest.mark.parametrize("whose", ["another account's", "invented", "of an old password"])
def test_a_browser_is_known_by_a_cookie_that_only_we_can_make(
    still_app: RunningApp, whose: str
) -> None:
    anna, bob = still_app.enter("anna"), still_app.enter("bob")
    if whose == "of an old password":
        kept = anna.web.cookies["claimwise_device"]
        new = "a wholly new password"
        assert anna.post("/account", old=PASSWORD, password=new, again=new).status_code == 303
        assert anna.web.cookies["claimwise_device"] != kept
    else:
        kept = bob.web.cookies["claimwise_device"] if whose.startswith("another") else "x.y"
    assert guess(still_app.visit(), "anna", 5) == [401] * 5
    thief = still_app.visit()
    thief.web.cookies.set("claimwise_device", kept)
    assert guess(thief, "anna", 1) == [429]


@pytest.mark.each_engine
def test_the_cookie_of_a_browser_is_out_of_reach(app: RunningApp) -> None:
    anna = app.enter("anna")
    cookies = anna.post("/login", name="anna", password=PASSWORD).headers.get_list("set-cookie")
    (device,) = [one for one in cookies if one.startswith("claimwise_device=")]
    assert "; HttpOnly; Max-Age=15552000; SameSite=Strict" in device
    with app.open() as store:
        kept = store.query("select password_hash from accounts")[0][0]
    assert kept not in device


def test_an_address_is_what_the_proxy_saw_not_what_the_client_says(
    place: str, tmp_path: Path
) -> None:
    """A header line of the client's own comes first; the proxy adds its line at the end."""
    open_store(place, create=True).close()
    with run_app(place, tmp_path, proxies=1, clock=Clock()) as app:
        with app.open() as store:
            create_account(store, "anna", "labeler", PASSWORD, utc_now())
        found = []
        for number in range(6):
            guesser = app.visit()
            guesser.web.headers = httpx2.Headers(
                [("x-forwarded-for", f"192.0.2.{number}"), ("x-forwarded-for", "203.0.113.9:123")]
            )
            found += guess(guesser, "anna", 1)
        assert found == [401] * 5 + [429]
        victim = app.visit(**{"x-forwarded-for": "192.0.2.1"})
        assert victim.log_in("anna").status_code == 303, "nobody else fails in her place"


@pytest.mark.each_engine
def test_guesses_sent_at_once_count_one_by_one(still_app: RunningApp) -> None:
    still_app.enter("anna")
    people = [still_app.visit() for _ in range(8)]
    for person in people:
        person.get("/login")
    with ThreadPoolExecutor(8) as threads:
        answers = list(
            threads.map(lambda one: one.post("/login", name="anna", password="wrong one"), people)
        )
    assert sorted(answer.status_code for answer in answers) == [401] * 5 + [429] * 3


def test_unknown_names_are_told_the_same_as_wrong_passwords(app: RunningApp) -> None:
    app.enter("anna")
    person = app.visit()
    known = person.log_in("anna", "wrong wrong wrong")
    unknown = person.log_in("nobody", "wrong wrong wrong")
    assert known.status_code == unknown.status_code == 401
    assert known.text.replace("anna", "") == unknown.text.replace("nobody", "")


def test_unknown_names_cost_as_much_time_as_wrong_passwords(
    app: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.enter("anna")
    worked = []
    real = hashlib.scrypt

    def work(*arguments: Any, **more: Any) -> bytes:
        worked.append({name: more[name] for name in ("n", "r", "p", "dklen")})
        return real(*arguments, **more)

    monkeypatch.setattr(hashlib, "scrypt", work)
    with app.open() as store:
        for name in ("anna", "nobody"):
            assert check_password(store, name, "wrong wrong wrong") is None
    assert len(worked) == 2
    assert worked[0] == worked[1]


def test_sessions_of_a_disabled_account_are_worth_nothing(app: RunningApp) -> None:
    anna = app.enter("anna")
    with app.open() as store:
        disable_account(store, "anna", utc_now())
        # A login that was under way when the account was disabled.
        token, _ = create_session(store, "anna", utc_now())
        assert read_session(store, token, utc_now()) is None
        enable_account(store, "anna")
        assert read_session(store, token, utc_now()) is not None
    assert anna.get("/label").headers["location"].startswith("/login"), "old ones never return"


def test_a_login_never_leads_out_of_the_app(app: RunningApp) -> None:
    person = app.enter("anna")
    outside = ("https://evil.example", "//evil.example", "/\\evil.example", "/a\nb", "javascript:x")
    for to in outside:
        answer = person.post("/login", name="anna", password=PASSWORD, next=to)
        assert answer.headers["location"] == "/"
        person.get("/account")


def test_a_login_leads_back_to_where_one_was(app: RunningApp) -> None:
    app.enter("anna")
    person = app.visit()
    sent = person.get("/account").headers["location"]
    assert sent == "/login?next=/account"
    assert 'value="/account"' in person.get(sent).text
    answer = person.post("/login", name="anna", password=PASSWORD, next="/account")
    assert answer.headers["location"] == "/account"


@pytest.mark.parametrize(
    "link",
    ["/guide/a%2Fb%3F%23%25%20%C3%A9%F0%9F%99%82", "/label?all=1&x=%26"],
    ids=["path", "query"],
)
def test_a_login_leads_back_to_places_with_any_letters(app: RunningApp, link: str) -> None:
    app.enter("anna")
    person = app.visit()
    form = person.get(person.get(link).headers["location"]).text
    found = re.search(r'name="next" value="([^"]*)"', form)
    assert found
    answer = person.post("/login", name="anna", password=PASSWORD, next=html.unescape(found[1]))
    assert unquote(answer.headers["location"]) == unquote(link)
    assert answer.headers["location"].isascii()
    bare = app.visit()
    bare.get("/login")
    answer = bare.post("/login", name="anna", password=PASSWORD, next="/guide/é🙂 x")
    assert answer.headers["location"] == "/guide/%C3%A9%F0%9F%99%82%20x"


def test_what_people_do_is_on_the_audit_page(app: RunningApp) -> None:
    admin = app.enter("root", "admin")
    app.visit().log_in("root", "wrong wrong wrong")
    anna = app.enter("anna")
    anna.get("/people")
    admin.post("/people/disable", name="anna")
    page = admin.get("/audit").text
    places = [page.index(f">{what}</td>") for what in ("disable", "refused", "login failed")]
    assert places == sorted(places), "the newest first"
    only = admin.get("/audit?event=refused").text
    assert "GET /people" in only
    assert ">disable</td>" not in only
    for _ in range(60):
        anna_event = admin.post("/people/invite", role="labeler")
        assert anna_event.status_code == 200
    first = admin.get("/audit").text
    older = re.search(r'href="(/audit[^"]*before=[^"]*)"', first)
    assert older
    second = admin.get(older[1].replace("&amp;", "&")).text
    assert ">login failed</td>" in second
    assert ">login failed</td>" not in first
