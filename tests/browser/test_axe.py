"""The check of accessibility itself can fail, and what it leaves out has nothing of its own."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from browser.tabs import LendTab
from support.axe import find_flaws


def test_everything_that_is_wrong_is_told(lend_tab: LendTab) -> None:
    page = lend_tab().page
    page.set_content(
        "<!doctype html><html lang='en'><title>t</title><main><h1>t</h1>"
        "<img src='data:,'><img src='data:,' id='two'><p style='color: #bbb'>faint</p></main>"
    )
    told = [line.partition(": ") for line in find_flaws(page)]
    wide = [rule.partition(":")[0] for look, _, rule in told if look == "1280 light"]
    assert wide.count("image-alt") == 2
    assert "color-contrast" in wide


@pytest.mark.parametrize(
    ("style", "wrong"),
    [
        ("p { color: #bbb }", {"1280 light", "1280 dark"}),
        ("@media (prefers-color-scheme: dark) { p { color: #bbb } }", {"1280 dark"}),
        ("@media (max-width: 40rem) { img { display: block } }", {"390 dark"}),
        ("@media (max-width: 40rem) { p { width: 500px } }", {"390 dark"}),
        ("p { width: 2000px }", {"1280 light", "1280 dark", "390 dark"}),
    ],
)
def test_every_width_and_scheme_is_looked_at(
    lend_tab: LendTab, style: str, wrong: set[str]
) -> None:
    page = lend_tab().page
    page.set_content(
        "<!doctype html><html lang='en'><title>t</title><style>body { background: #fff }"
        f"img {{ display: none }} {style}</style>"
        "<main><h1>t</h1><p>words</p><img src='data:,'></main>"
    )
    assert {line.partition(":")[0] for line in find_flaws(page)} == wrong


def test_a_scheme_changes_variables_alone_and_a_width_none() -> None:
    """So what is legible in a wide window in both schemes is so in a narrow one."""
    folder = files("claimwise.app").joinpath("static")
    sheets = [path.read_text("utf-8") for path in folder.iterdir() if path.name.endswith(".css")]
    blocks = re.findall(r"@media ([^{]+)\{\n(.*?)^\}", "\n".join(sheets), re.DOTALL | re.MULTILINE)
    schemes = [body for query, body in blocks if "prefers-color-scheme: dark" in query]
    widths = [body for query, body in blocks if "width" in query]
    assert (len(schemes), len(widths)) == (3, 6)
    for body in schemes:
        assert re.fullmatch(r"\s*:root \{[^}]*\}\s*", body)
        inside = body[body.index("{") + 1 : body.index("}")].split(";")
        assert all(one.strip().startswith("--") for one in inside if one.strip())
    for body in widths:
        assert not re.search(r"(^|[\s;{])(--|color:)", body)
