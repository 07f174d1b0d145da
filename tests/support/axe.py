"""Accessibility: runs axe-core (a test tool, never shipped) in a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import axe_playwright_python
from playwright.sync_api import Page

_SCRIPT = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
_TAGS = {
    "type": "tag",
    "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
_COLOURS = ["color-contrast", "link-in-text-block"]
_ALL_RULES: Mapping[str, object] = {"runOnly": _TAGS}
_COLOUR_RULES: Mapping[str, object] = {"runOnly": {"type": "rule", "values": _COLOURS}}
_OTHER_RULES: Mapping[str, object] = {
    "runOnly": _TAGS,
    "rules": {rule: {"enabled": False} for rule in _COLOURS},
}
_HEIGHT = 844
# Wide and narrow, light and dark. A scheme changes variables of colours alone, and a width none of
# them (browser/test_axe.py), so the fourth combination has nothing of its own, and nothing is said
# of colours, which take the longest, in a narrow window.
_Looks: TypeAlias = tuple[tuple[int, Literal["light", "dark"], Mapping[str, object]], ...]
WIDE: _Looks = ((1280, "light", _ALL_RULES), (1280, "dark", _COLOUR_RULES))
_NARROW: _Looks = ((390, "dark", _OTHER_RULES),)


def find_flaws(page: Page, looks: _Looks = WIDE + _NARROW) -> list[str]:
    """Return what is wrong with a page in any width and colour scheme.

    A line each: where, the rule, the element and what to fix.

    That is what axe finds, and a page that is wider than its window. The page stays as it is, not
    loaded again: open menus and dialogs are looked at too. In the end it is wide and light.
    """
    page.evaluate(_SCRIPT)
    found = []
    for width, scheme, rules in looks:
        _set_look(page, width, scheme)
        overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        wrong = [f"the page is {overflow} pixels too wide"] if overflow > 0 else []
        found += [f"{width} {scheme}: {line}" for line in wrong + _run_rules(page, rules)]
    _set_look(page, *looks[0][:2])
    return found


def _set_look(page: Page, width: int, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": _HEIGHT})


def _run_rules(page: Page, rules: Mapping[str, object]) -> list[str]:
    # Violations alone are told in full, and sent: all that is right takes most of the time.
    found = page.evaluate(
        "rules => axe.run(document, {...rules, resultTypes: ['violations']})"
        ".then(results => results.violations)",
        rules,
    )
    return [
        f"{rule['id']}: {node['target']}: {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
    ]
