"""A small corpus and runs whose claims try the labelling desk: one run for each difficulty."""

from __future__ import annotations

from typing import Any

from claimwise.labelling.draw import draw_round
from claimwise.labelling.guide import read_guide
from claimwise.labelling.queue import add_guide
from claimwise.labelling.values import Round
from claimwise.store import Store
from claimwise.types.rows import Judgement
from small_data import Record, answer, claim, item, load, run, source
from support.app_server import utc_now

TOWER = (
    "The tower stands by the river. At 139 m it is the tallest in the county.\n\n"
    "It opened in 1999 after four years of work. Entry costs 5 euros, and children pay half. "
    "Trains on the Coast Line stop beside it. Dogs may come in.\n\n"
    "The café on the top floor is open from May to September."
)
# One of everything that makes offsets go wrong: pairs, marks, other directions, no spaces.
UNICODE = (
    "🗼🗼 Der Turm ist 139 m hoch.\r\nCafe\u0301 👩‍👩‍👧 geöffnet. "
    "המגדל פתוח כל השנה. 塔高139米。全年开放。 End 🎉 of it."
)
HOSTILE = (
    '<script>window.hacked = 1</script> </script><img src=x onerror="window.hacked = 2"> '
    "{{ 7 * 7 }} The door code is <b>1234</b>. \u202eabc\u2028 it's &lt;safe&gt;."
)
HOSTILE_ANSWER = (
    "The door code is 1234. </script><script>window.hacked = 3</script> <!-- "
    "<img src=x onerror=window.hacked=4>"
)
QUESTIONS = {
    "tower": (
        "What should I know about the tower?",
        [
            "The tower is 139 m tall.",
            "The tower opened in 1999.",
            "Entry is free.",
            "All trains stop beside the tower.",
            "The tower has a lift.",
            "Dogs may come in.",
        ],
    ),
}


def fill_store(store: Store) -> None:
    """Add sources, items and runs ``tower``, ``unicode``, ``hostile``, ``stale``, ``action``."""
    load(store, *_sources(), *_tower(), *_others())


def make_round(
    store: Store,
    run_id: str,
    judgement: Judgement = "grounded",
    *,
    overlap: float = 1.0,
    **more: Any,
) -> Round:
    """Draw all claims of a run into a round that two people label."""
    guide = read_guide(judgement)
    add_guide(store, guide.version, guide.text, utc_now())
    return draw_round(
        store, run_id, judgement, title=f"Round on {run_id}", overlap=overlap, created_by="ada",
        guide_version=guide.version, now=utc_now(), **more,
    )  # fmt: skip


def _sources() -> list[Record]:
    return [
        source("tower", source_text=TOWER, title="The tower, a guide for visitors",
               url="https://tower.example/visit", valid_from="2025-01-01"),
        source("garden", source_text="The garden behind the tower is open all year. " * 30,
               title="The garden"),
        source("unicode", source_text=UNICODE, title="Unicode 🎉"),
        source("hostile", source_text=HOSTILE, title="</script><b>bold</b>",
               url="javascript:alert(1)"),
        source("fares-2024", source_text="Entry costs 4 euros.", title="Fares 2024",
               superseded_by="fares-2025"),
        source("fares-2025", source_text="Prices are on the door.", title="Fares 2025",
               valid_from="2025-01-01"),
    ]  # fmt: skip


def _tower() -> list[Record]:
    question, claims = QUESTIONS["tower"]
    text = " ".join(claims)
    placed = [
        claim(one, answer_start=text.index(one), answer_end=text.index(one) + len(one))
        for one in claims
    ]
    contexts = [
        {"source_id": "tower", "context_text": "At 139 m it is the tallest in the county."},
        {"source_id": "garden", "context_text": "The garden behind the tower is open all year."},
    ]
    return [
        run("tower"),
        item("tower-1", query=question),
        answer("tower-1", *placed, run_id="tower", answer_text=text, contexts=contexts),
    ]


def _others() -> list[Record]:
    odd = "Die 🗼 ist 139 m hoch. Fertig 🎉."
    return [
        run("unicode"),
        item("unicode-1", query="Wie hoch? 🗼"),
        answer("unicode-1", claim("Die 🗼 ist 139 m hoch.", answer_start=0, answer_end=21),
               run_id="unicode", answer_text=odd,
               contexts=[{"source_id": "unicode", "context_text": UNICODE}]),
        run("hostile"),
        item("hostile-1", query="<script>window.hacked = 5</script>What is the code?"),
        answer("hostile-1", claim("The door code is <b>1234</b>.", answer_start=0, answer_end=22),
               run_id="hostile", answer_text=HOSTILE_ANSWER,
               contexts=[{"source_id": "hostile", "context_text": HOSTILE}]),
        run("stale"),
        item("stale-1", query="What does entry cost?"),
        answer("stale-1", claim("Entry costs 4 euros.", answer_start=0, answer_end=20),
               run_id="stale", answer_text="Entry costs 4 euros.",
               contexts=[{"source_id": "fares-2024", "context_text": "Entry costs 4 euros."},
                         {"source_id": "fares-2025", "context_text": "Prices are on the door."}]),
        run("action"),
        item("action-1", query="Cancel my booking, please."),
        answer("action-1", claim("I have cancelled your booking.", claim_type="action",
                                 answer_start=0, answer_end=30),
               run_id="action", answer_text="I have cancelled your booking.",
               action_log=[{"entry_id": "e1", "entry_text": "booking.find id=77 status=ok",
                            "logged_at": "2026-01-01T10:00:00Z"},
                           {"entry_id": "e2", "entry_text": "booking.cancel id=77 status=ok",
                            "logged_at": "2026-01-01T10:00:04Z"}]),
    ]  # fmt: skip
