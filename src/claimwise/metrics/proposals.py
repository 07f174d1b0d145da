"""Says which of a metric's inputs nobody gave: they were proposed by a rule."""

from __future__ import annotations

from claimwise.metrics.catalogue import Metric
from claimwise.store import Store

_ACTIONS = "deciding_actions"
_CITATIONS = "citation_recall"


def describe_proposals(store: Store, metric: Metric, run_id: str) -> str | None:
    """Return what of a metric's inputs a rule says: actions, or which claims require a citation.

    None where all of it was given, and for metrics that rest on neither.
    """
    if metric.name == _CITATIONS:
        return _describe_citations(store, metric, run_id)
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


def _describe_citations(store: Store, metric: Metric, run_id: str) -> str | None:
    marked = store.query(
        "select 1 from claims where run_id = :run_id and claim_type = 'citation_required' limit 1",
        {"run_id": run_id},
    )
    if marked and "'all' as policy" not in metric.sql:
        return None
    return "By policy, not by marks of claims: every factual claim requires a citation."
