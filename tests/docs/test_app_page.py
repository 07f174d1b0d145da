"""The tour of the app: its pictures are there, small, and all of them shown."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
MOST_BYTES = 150_000


def test_every_picture_is_shown_and_every_shown_picture_is_there() -> None:
    shown = {
        name
        for page in (*DOCS.glob("*.md"), DOCS.parent / "README.md")
        for name in re.findall(r"images/([\w.-]+\.png)", page.read_text("utf-8"))
    }
    kept = {path.name for path in (DOCS / "images").glob("*.png")}
    assert shown
    assert shown == kept


def test_pictures_are_small() -> None:
    for path in (DOCS / "images").glob("*.png"):
        assert path.stat().st_size < MOST_BYTES, f"{path.name}: run scripts/take-screenshots"


def test_pictures_are_described() -> None:
    text = (DOCS / "app.md").read_text("utf-8")
    assert all(re.findall(r"!\[([^\]]*)\]\(images/", text))
    for tag in re.findall(r"<img [^>]+>", text):
        assert re.search(r'alt="[^"]+"', tag)
