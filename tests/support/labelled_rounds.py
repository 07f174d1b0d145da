"""Rounds that people have finished, without the desk: labels straight into the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from claimwise.labelling.draw import draw_round
from claimwise.labelling.rounds import add_guide
from claimwise.store import Store
from small_data import load

START = datetime(2026, 11, 15, 12)  # noqa: DTZ001 - stores keep times in UTC without a zone


def label_round(
    store: Store,
    run_id: str,
    size: int,
    judge_claim: Callable[[str, str], str],
    *,
    verifier: str,
    seed: int = 0,
) -> None:
    """Draw a round of a run and label all of it: ``judge_claim`` has item and text of a claim."""
    load(store, {"type": "labelers", "labeler": "ana", "labeler_kind": "human"})
    add_guide(store, "g1", "Judge fairly.", START)
    drawn = draw_round(
        store, run_id, "grounded", title=None, verifier=verifier, size=size, overlap=0.0, seed=seed,
        created_by="amy", guide_version="g1", now=START,
    )  # fmt: skip
    changes = []
    for task_id, item_id, claim_id, text in store.query(
        "select t.task_id, t.item_id, t.claim_id, c.claim_text from annotation_tasks as t "
        "join claims as c on c.run_id = t.run_id and c.item_id = t.item_id "
        "and c.claim_id = t.claim_id where t.round_id = :round_id",
        {"round_id": drawn.round_id},
    ):
        changes += [
            ("insert into labels (run_id, item_id, claim_id, claim_text, claim_type, verdict, "
             "labeler, labeled_at, label_kind) values (:run_id, :item_id, :claim_id, :text, "
             "'other', :verdict, 'ana', :now, 'human')",
             {"run_id": run_id, "item_id": item_id, "claim_id": claim_id, "text": text,
              "verdict": judge_claim(item_id, text), "now": START + timedelta(hours=1)}),
            ("update annotation_slots set state = 'done', labeler = 'ana' "
             "where task_id = :task_id", {"task_id": task_id}),
        ]  # fmt: skip
    store.execute_all(changes)
