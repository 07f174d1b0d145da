"""Actions that nobody gave are proposed from the text, marked, and give way to given ones."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from claimwise.metrics import estimate_metric, find_metric, load_metrics
from claimwise.store import Store, open_store
from claimwise.store.proposals import PROPOSED_SINCE
from small_data import item, load, run

SILENT = "I'm sorry, but the documents don't mention that."
ACTIONS = "select item_id, action, origin from deciding_actions order by item_id"


def say(item_id: str, text: str, **more: str) -> dict[str, Any]:
    return {"type": "answers", "run_id": "r", "item_id": item_id, "answer_text": text, **more}


def fill(store: Store) -> None:
    load(
        store, item("a"), item("b", answerable=False), item("c"), run(),
        say("a", "It opened in 1999."), say("b", SILENT), say("c", SILENT, action="answer"),
    )  # fmt: skip


def test_given_actions_come_before_proposed_ones(store: Store) -> None:
    fill(store)
    assert store.query(ACTIONS) == [
        ("a", "answer", "proposed"), ("b", "abstain", "proposed"), ("c", "answer", "given"),
    ]  # fmt: skip
    # The same answers again are nothing new; an action that is given later decides.
    load(store, say("b", SILENT))
    load(store, {"type": "actions", "run_id": "r", "item_id": "b", "action": "clarify"})
    assert store.query(ACTIONS)[1] == ("b", "clarify", "given")


def test_rates_say_that_they_rest_on_proposals(store: Store) -> None:
    fill(store)
    metric = find_metric(load_metrics(), "abstention")
    right, over = estimate_metric(store, metric, "r").overall
    assert ((right.numerator, right.claims), (over.numerator, over.claims)) == ((1, 1), (0, 2))
    told = "Proposed from the text of the answers, not given: 2 of 3 actions."
    assert told in right.warnings
    assert told in over.warnings
    load(
        store,
        {"type": "actions", "run_id": "r", "item_id": "a", "action": "answer"},
        {"type": "actions", "run_id": "r", "item_id": "b", "action": "abstain"},
    )
    assert told[:8] not in "".join(estimate_metric(store, metric, "r").overall[0].warnings)


def test_answers_of_an_older_store_get_their_proposals(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with open_store(str(path), create=True) as store:
        fill(store)
    with sqlite3.connect(path) as db:
        later = "name in ('claim_index', 'claim_words', 'claim_index_refresh') or type = 'trigger'"
        for kind, name in db.execute(
            f"select type, name from sqlite_master where {later} order by type <> 'trigger'"
        ).fetchall():
            db.execute(f"drop {kind} {name}")
        db.execute("drop view deciding_actions")
        db.execute("alter table answers drop column proposed_action")
        db.execute("delete from schema_migrations where version >= ?", (PROPOSED_SINCE,))
    with open_store(str(path)) as store:
        assert store.query(ACTIONS)[1] == ("b", "abstain", "proposed")
