"""The pages of calibrations in a real Chromium: made by a button, readable, narrow enough."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser.desk import log_in
from claimwise.accounts.queries import create_account
from claimwise.demo import list_demo_files
from claimwise.store import open_store
from claimwise.transfer import import_files
from support.app_server import PASSWORD, run_app, utc_now
from support.axe import find_violations


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_button_calibrates(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    place = str(tmp_path / "store.db")
    with open_store(place, create=True) as store:
        import_files(store, list_demo_files())
        create_account(store, "ada", "adjudicator", PASSWORD, utc_now())
    with run_app(place, tmp_path) as app:
        context = browser.new_context(
            base_url=app.url,
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            bypass_csp=True,
        )
        log_in(context, app, "ada")
        page = context.new_page()
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.goto("/calibrations")
        page.get_by_role("button", name="Calibrate verifier:overlap-v0 (against sources)").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("verifier:overlap-v0: overall")
        charts = page.get_by_role("img")
        expect(charts).to_have_count(2)
        for path in (page.url, "/calibrations"):
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert find_violations(page) == []
        assert problems == []
        context.close()
