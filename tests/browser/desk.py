"""What tests of the desk do with a page: log in, press keys, choose spans."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from playwright.sync_api import BrowserContext, Page, expect

from claimwise.accounts.queries import create_session
from claimwise.accounts.values import Role
from claimwise.app.security import write_session_cookie
from claimwise.store import open_store
from support.app_server import RunningApp, utc_now

PEOPLE: dict[str, Role] = {
    "ana": "labeler", "ben": "labeler", "cleo": "adjudicator", "ada": "admin",
}  # fmt: skip

Visit = Callable[..., Page]
T = TypeVar("T")


def aside(work: Callable[..., T], *arguments: Any) -> T:
    """Do something in another thread: in this one the browser keeps an event loop running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work, *arguments).result()


def log_in(context: BrowserContext, app: RunningApp, name: str) -> None:
    """Give a browser the session of someone who has logged in; passwords have their own tests."""
    give_session(context, aside(make_session, app.place, name), app.url)


def make_session(place: str, name: str) -> str:
    """Return the token of a new session."""
    with open_store(place) as store:
        return create_session(store, name, utc_now())[0]


def give_session(context: BrowserContext, token: str, address: str) -> None:
    """Give a browser a session's cookie."""
    cookie = write_session_cookie(token, secure=False).partition("=")[0]
    context.add_cookies([{"name": cookie, "value": token, "url": address}])


def wait_ready(page: Page) -> None:
    page.wait_for_selector("#desk[data-ready]", state="attached")


def wait_settled(page: Page) -> None:
    """Wait until no request is under way: what was sent is saved, the next claim is here."""
    page.wait_for_selector("html[data-pending='0']", state="attached")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def read_claim(page: Page) -> str:
    return page.locator("#claim-text").inner_text()


def wait_status(page: Page, start: str) -> None:
    """Wait until the desk says something that starts like this."""
    expect(page.locator("#status")).to_have_text(re.compile(rf"^{re.escape(start)}"))


def wait_saved(page: Page) -> None:
    wait_status(page, "Saved")


def pick(page: Page, words: str, *keys: str) -> None:
    """Search for words, mark from the hit, and take it; by keyboard alone."""
    page.keyboard.press("/")
    page.keyboard.type(words)
    press(page, "Enter", "Escape", "s", *keys, "Enter")


def unlink(page: Page) -> None:
    """Give the verdict that rests on no text."""
    press(page, "2", "Enter")
