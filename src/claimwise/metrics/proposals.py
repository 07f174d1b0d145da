"""Says which of a metric's inputs nobody gave: they were proposed by a rule."""

from __future__ import annotations

from claimwise.metrics.catalogue import Metric
from claimwise.store import Store

_ACTIONS = "deciding_actions"


def describe_proposals(store: Store, metric: Metric, run_id: str) -> str | None:
    """Return how many actions of a run were proposed from the text; None where all were given.

    Only for metrics that rest on actions.
    """
    if _ACTIONS not in metric.sql:
        return None
    [(proposed, known)] = store.query(
        "select coalesce(sum(case when origin = 'proposed' then 1 else 0 end), 0), count(*) "
        f"from {_ACTIONS} where run_id = :run_id",
        {"run_id": run_id},
    )
    if not proposed:
        return None
    share = f"{int(proposed):,} of {int(known):,} actions"
    return f"Proposed from the text of the answers, not given: {share}."
