"""Actions that nobody gave are proposed from the text, marked, and give way to given ones."""

from __future__ import annotations

from typing import Any

from claimwise.metrics import estimate_metric, find_metric, load_metrics
from claimwise.store import Store
from claimwise.store.proposals import propose_stored_actions
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


def test_answers_of_an_older_store_get_their_proposals(store: Store) -> None:
    fill(store)
    store.execute_all([("update answers set proposed_action = null", {})])
    assert store.query(ACTIONS) == [("c", "answer", "given")]
    with store.write():
        propose_stored_actions(store._engine)
    assert store.query(ACTIONS)[1] == ("b", "abstain", "proposed")
