"""Accessibility: runs axe-core (a test tool, never shipped) in a page."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

_SCRIPT = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def find_violations(page: Page) -> list[str]:
    """Return what axe finds wrong with a page: rule, element and what to mend, a line each.

    The page's context must bypass the content security policy, which refuses foreign scripts.
    """
    page.evaluate(_SCRIPT)
    # Violations alone are told in full: describing all that is right takes most of the time.
    found = page.evaluate(
        "tags => axe.run(document,"
        " {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']})",
        _TAGS,
    )
    return [
        f"{rule['id']}: {node['target']}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
