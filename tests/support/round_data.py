"""A small run with every kind of claim, and rounds over it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from claimwise.labelling.draw import draw_round
from claimwise.labelling.queue import add_guide
from claimwise.labelling.values import Choice, Round
from claimwise.store import Store
from small_data import SOURCE, answer, claim, item, load, run, source

NOW = datetime(2026, 2, 1, 12)  # noqa: DTZ001 - as stored: UTC without a zone
CLAIMS = ("It is 139 m tall.", "It opened in 1999.", "Entry costs 5 euros.")
EMOJI = "🍵 Tea é is 2 €. "


def fill(store: Store, *, items: int = 3) -> None:
    """Load items with three factual claims each, and one item with an action and small talk."""
    told = []
    for number in range(items):
        told += [
            item(f"q{number}"),
            answer(
                f"q{number}", *CLAIMS,
                contexts=[{"source_id": "doc", "context_text": "It opened in 1999."}],
            ),
        ]  # fmt: skip
    load(
        store,
        source(),
        source("old", source_text="Entry cost 3 euros.", valid_until="2025-01-01"),
        source("gone", source_text="Entry was free.", superseded_by="doc"),
        source("tea", source_text=EMOJI),
        run(),
        *told,
        item("act"),
        answer(
            "act", claim("I refunded you.", claim_type="action"),
            claim("Hello!", claim_type="non_factual"),
            action_log=[{"entry_id": "e1", "entry_text": "refund issued"}],
        ),
    )  # fmt: skip
    add_guide(store, "g1", "Judge fairly.", NOW)


def draw(store: Store, **more: Any) -> Round:
    """Draw a round of everything, each claim for one person, unless told otherwise."""
    options: dict[str, Any] = {
        "title": "a round", "overlap": 0.0, "created_by": "boss", "guide_version": "g1", "now": NOW,
    }  # fmt: skip
    judgement = more.pop("judgement", "grounded")
    return draw_round(store, "r", judgement, **{**options, **more})


def span(text: str = "It opened in 1999.", source_id: str = "doc", **more: Any) -> Choice:
    """Return a choice that rests on a span of a document."""
    start = {"doc": SOURCE, "tea": EMOJI}.get(source_id, text).index(text)
    fields = {"verdict": "supported", "source_id": source_id, "span_start": start,
              "span_text": text}  # fmt: skip
    return Choice(**{**fields, **more})


UNLINKED = Choice(verdict="unlinked")
