"""Says how far an instrument agrees with people, from the labels of both in a store."""

from __future__ import annotations

from functools import partial

from claimwise.metrics import estimate_metric, find_metric, load_metrics
from claimwise.store import Store
from claimwise.types.results import Estimate


def measure_agreement(store: Store, labeler: str, run_id: str | None = None) -> str | None:
    """Say how far a labeler agrees with people, as `find_agreement`; None when nobody knows."""
    found = find_agreement(store, labeler, run_id)
    if found is None or found.micro is None:
        return None
    band = "" if found.low is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return (
        f"agrees with people on {found.micro:.2f}{band} of {found.claims} claims in {found.run_id}"
    )


def find_agreement(store: Store, labeler: str, run_id: str | None = None) -> Estimate | None:
    """Return how far a labeler agrees with people, from labels in the store.

    Of the run; or, where people labelled none of its claims or no run is given, of the latest run
    in which both labelled some. None when there is none: agreement is unknown.
    """
    runs = [run_id] if run_id is not None else []
    runs += [
        row[0]
        for row in store.query(
            "select r.run_id from runs as r where exists (select 1 from labels as l "
            "where l.run_id = r.run_id and l.labeler = :labeler) or exists (select 1 from "
            "closed_book_labels as l where l.run_id = r.run_id and l.labeler = :labeler) "
            "order by r.started_at desc",
            {"labeler": labeler},
        )
    ]
    found = map(partial(_measure_in_run, store, labeler), dict.fromkeys(runs))
    return next((row for row in found if row is not None), None)


def _measure_in_run(store: Store, labeler: str, run_id: str) -> Estimate | None:
    metric = find_metric(load_metrics(), "verifier_agreement")
    for row in estimate_metric(store, metric, run_id).overall:
        if row.slice.get("labeler") == labeler and row.micro is not None:
            return row
    return None
