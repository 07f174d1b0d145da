"""The check of accessibility itself can fail."""

from __future__ import annotations

from playwright.sync_api import Browser

from support.axe import find_violations


def test_everything_that_is_wrong_is_told(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content(
        "<!doctype html><html lang='en'><title>t</title><main><h1>t</h1>"
        "<img src='data:,'><img src='data:,' id='two'><p style='color: #bbb'>faint</p></main>"
    )
    told = find_violations(page)
    page.close()
    assert [line.partition(":")[0] for line in told].count("image-alt") == 2
    assert any(line.startswith("color-contrast") for line in told)
