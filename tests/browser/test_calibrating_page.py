"""The pages of calibrations in a real Chromium: made by a button, readable, narrow enough."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from browser.desk import log_in
from browser.tabs import LendTab
from claimwise.accounts.queries import create_account
from claimwise.store import open_store
from support.app_server import PASSWORD, run_app, utc_now
from support.axe import find_flaws


def test_a_button_calibrates(lend_tab: LendTab, own_demo: Path, tmp_path: Path) -> None:
    with open_store(own_demo) as store:
        create_account(store, "ada", "adjudicator", PASSWORD, utc_now())
    with run_app(str(own_demo), tmp_path) as app:
        tab = lend_tab()
        page = tab.page
        log_in(page.context, app, "ada")
        page.goto(f"{app.url}/calibrations")
        page.get_by_role("button", name="Calibrate verifier:overlap-v0 (against sources)").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("verifier:overlap-v0: overall")
        expect(page.locator("svg.chart")).to_have_count(2)
        assert page.locator("svg.chart a").count() > 3, "marks lead to their claims"
        for address in (page.url, f"{app.url}/calibrations"):
            page.goto(address)
            assert find_flaws(page) == []
        assert tab.console == []
