"""Fills in what answers seem to do with their questions, as they are stored; old ones once."""

from __future__ import annotations

from typing import Final

from claimwise.store.engine import Engine
from claimwise.text.abstention import propose_action
from claimwise.types.rows import Answer

PROPOSED: Final = "proposed_action"
"""The column that is made from the answer's text: it is no content of its own."""
PROPOSED_SINCE: Final = 11
"""The migration that added it; answers that were stored before have none."""

_BATCH = 1_000


def propose_row_action(row: Answer) -> None:
    """Propose an answer's action, unless it has one or the system gave no answer."""
    if row.proposed_action is None and row.answer_text is not None:
        row.proposed_action = propose_action(row.answer_text)


def propose_stored_actions(engine: Engine) -> None:
    """Propose the actions of answers that were stored before there was a place for them."""
    while True:
        rows = engine.query(
            "select run_id, item_id, sample, answer_text from answers "
            f"where {PROPOSED} is null and answer_text is not null limit {_BATCH}"
        )
        for run_id, item_id, sample, text in rows:
            engine.execute(
                f"update answers set {PROPOSED} = :action "
                "where run_id = :run_id and item_id = :item_id and sample = :sample",
                {"action": propose_action(text), "run_id": run_id, "item_id": item_id,
                 "sample": sample},
            )  # fmt: skip
        if len(rows) < _BATCH:
            return
