"""What this project's own test suite says about the bot."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from claimwise.pytest_plugin import assert_faithful

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "bot"))


@pytest.fixture
def price_list() -> str:
    """The corpus: one page."""
    return json.loads((ROOT / "eval/sources.jsonl").read_text("utf-8"))["source_text"]


def test_one_answer(price_list: str) -> None:
    """One answer, against the passage that the bot was given."""
    from answer import answer

    reply = answer("How long may I borrow the belt sander?", price_list)
    assert reply.passage is not None
    assert_faithful(reply.text, {"price-list": reply.passage})


def test_gate(claimwise_gate) -> None:
    """The whole run, against the gate of claimwise.toml."""
    claimwise_gate("faithful")
