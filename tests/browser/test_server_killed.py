"""A server killed by -9 under someone who labels, a closed tab, and two tabs after it.

With a real ``claimwise serve`` on each database: nothing is lost, and nothing is saved twice.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from browser.desk import (
    PEOPLE,
    aside,
    give_session,
    make_session,
    read_claim,
    unlink,
    wait_ready,
    wait_saved,
)
from browser.tabs import LendTab
from claimwise.accounts.queries import create_account
from claimwise.labelling.queue import list_labels_of
from claimwise.store import Store, open_store
from support.app_process import AppProcess
from support.app_server import PASSWORD, utc_now
from support.copies import Fill
from support.desk_data import fill_store, make_round
from support.waiting import wait_until

ROUND = "tower"
CLAIMS = 6


def add_round(store: Store) -> None:
    fill_store(store)
    create_account(store, "ana", PEOPLE["ana"], PASSWORD, utc_now())
    make_round(store, ROUND)


def read_saved(place: str) -> list[str]:
    """Return the claims that have a label, one for each label; the store's own checks hold."""
    with open_store(place) as store, store.snapshot():  # labels may be on their way
        round_id = store.query("select round_id from annotation_rounds")[0][0]
        assert store.audit() == []
        labelled = [one.claim_text for one in list_labels_of(store, round_id, "ana", 50)]
        assert store.query("select count(*) from labels") == [(len(labelled),)]
        done = store.query("select count(*) from annotation_slots where state = 'done'")
        assert done == [(len(labelled),)]
        return labelled


def wait_stored(place: str, claims: list[str]) -> None:
    """Wait until these claims have a label each; the page counts labels that are on their way."""
    wait_until(lambda: len(aside(read_saved, place)) >= len(claims), "all labels are stored")
    assert sorted(aside(read_saved, place)) == sorted(claims)


@pytest.mark.each_engine
def test_kill_9_a_closed_tab_and_two_tabs_lose_and_double_nothing(
    copy_store: Callable[[Fill], str], lend_tab: LendTab, tmp_path: Path
) -> None:
    place = aside(copy_store, add_round)
    tab = lend_tab().page
    context = tab.context
    with AppProcess(tmp_path, place) as app:
        give_session(context, aside(make_session, place, "ana"), app.address)
        tab.goto(f"{app.address}/label")
        wait_ready(tab)
        claims = [read_claim(tab)]
        unlink(tab)
        wait_saved(tab)
        claims.append(read_claim(tab))
        unlink(tab)  # it may be saved or not when the server dies
        os.kill(app.pid, signal.SIGKILL)
        for _ in range(2):
            claims.append(read_claim(tab))
            unlink(tab)
        expect(tab.locator("#offline")).to_contain_text("labels wait on this computer")
        port = urlsplit(app.address).port
    tab.goto("about:blank")  # the tab is closed with labels that nobody has
    assert set(aside(read_saved, place)) <= set(claims[:2])
    with AppProcess(tmp_path, place, "--port", str(port)) as app:
        pages = [tab, context.new_page()]
        for page in pages:  # both find the labels that wait; each is saved once
            page.goto(f"{app.address}/label")
        for page in pages:
            wait_ready(page)
            expect(page.locator("#progress-text")).to_contain_text("You: 4 of 6")
        wait_stored(place, claims)
        for _ in range(CLAIMS - len(claims)):
            claims.append(read_claim(tab))
            unlink(tab)
            expect(
                tab.locator("#desk:not(.waiting), #finished:not([hidden])").first
            ).to_be_visible()
        expect(tab.locator("#finished h2")).to_have_text("You're done: 6 of 6")
        assert len(set(claims)) == CLAIMS
        wait_stored(place, claims)
        assert not [line for line in app.lines if line.startswith("error")]
