"""What tests of the desk do with a page: log in, press keys, choose spans."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from claimwise.accounts.queries import create_session
from claimwise.accounts.values import Role
from claimwise.app.security import write_session_cookie
from support.app_server import RunningApp, utc_now

PEOPLE: dict[str, Role] = {
    "ana": "labeler", "ben": "labeler", "cleo": "adjudicator", "ada": "admin",
}  # fmt: skip

Visit = Callable[..., Page]


def log_in(context: BrowserContext, app: RunningApp, name: str) -> None:
    """Give a browser the session of someone who has logged in; passwords have their own tests."""
    with app.open() as store:
        token, _ = create_session(store, name, utc_now())
    cookie = write_session_cookie(token, secure=False).partition("=")[0]
    context.add_cookies([{"name": cookie, "value": token, "url": app.url}])


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
