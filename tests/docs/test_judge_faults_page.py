"""docs/what-the-judge-gets-wrong.md: the judge still makes the mistakes that the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claimwise import check

PAGE = Path(__file__).parents[2] / "docs" / "what-the-judge-gets-wrong.md"
SHOWN = re.findall(
    r"^\| [^|]+ \| ([^|]+) \| ([^|]+) \| (\w+) \| (\w+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
)


@pytest.mark.parametrize(("source", "claim", "said", "right"), SHOWN)
def test_mistake_is_made(source: str, claim: str, said: str, right: str) -> None:
    (found,) = check(claim, [source]).claims
    assert found.verdict == said != right


def test_page_shows_mistakes() -> None:
    assert len(SHOWN) >= 5
