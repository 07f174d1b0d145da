"""A shared link: the overview and nothing else, until it expires or is revoked."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta

import pytest

from claimwise.accounts.shares import LONGEST_SHARE, create_share, find_share, revoke_share
from claimwise.errors import RefusedError
from claimwise.store import Store
from small_data import load, run
from support.app_server import RunningApp, utc_now


def test_a_link_shows_the_overview_alone_and_can_be_revoked(
    demo_app: RunningApp, capfd: pytest.CaptureFixture[str]
) -> None:
    admin, stranger = demo_app.enter("root", "admin"), demo_app.visit()
    admin.get("/shares")
    made = admin.post("/shares", system="ferny-assistant", days="7", note="the board")
    found = re.search(r'id="share-link">[^<]*(/share/[^<]+)<', made.text)
    assert found is not None
    page = stranger.get_current(found[1])
    assert page.status_code == 200
    for told in ("Supported claims", "87%", "Hallucination rate", "Can&#39;t tell", "contradicted"):
        assert told in page.text
    links = set(re.findall(r'<a [^>]*href="([^"]+)"', page.text))
    assert links == {"/", "#main"}, "nothing leads further"
    assert "<form" not in page.text
    assert "<nav" not in page.text
    assert stranger.get("/claims").status_code == 303, "the link is no login"
    token = found[1].rsplit("/", 1)[1]
    with demo_app.open() as store:
        kept = store.query("select token_hash, created_by, note from share_links")
        assert kept == [(hashlib.sha256(token.encode()).hexdigest(), "root", "the board")]
    link_id = re.findall(r'name="link_id" value="([^"]+)"', admin.get("/shares").text)[0]
    assert admin.post("/shares/revoke", link_id=link_id).status_code == 303
    ended = stranger.get(found[1])
    assert ended.status_code == 404
    assert "expired or was revoked" in ended.text
    assert "Supported" not in ended.text
    assert "revoked" in admin.get("/shares").text
    assert token not in capfd.readouterr().err


@pytest.mark.each_engine
def test_a_link_holds_as_long_as_it_says_and_no_longer(store: Store) -> None:
    load(store, run())
    now = utc_now()
    token = create_share(store, "s", "root", now, life=timedelta(days=1))
    assert find_share(store, token, now + timedelta(hours=23)) is not None
    assert find_share(store, token, now + timedelta(days=1)) is None
    assert find_share(store, token[:-1], now) is None
    other = create_share(store, "s", "root", now)
    link = find_share(store, other, now)
    assert link is not None
    revoke_share(store, link.link_id, "root", now)
    assert find_share(store, other, now) is None
    for system, days in (("nobody", 1), ("s", 0), ("s", LONGEST_SHARE.days + 1)):
        with pytest.raises(RefusedError):
            create_share(store, system, "root", now, life=timedelta(days=days))
