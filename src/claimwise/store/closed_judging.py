"""Reads what a closed-book judge needs of a run: which answers are open, and under which field."""

from __future__ import annotations

from collections import defaultdict

from claimwise.store.files import read_sql
from claimwise.store.judging import AnswerKey, Judging, State
from claimwise.store.store import Store


def list_closed_answers(store: Store, judging: Judging) -> list[tuple[AnswerKey, State]]:
    """Return all answers of a run in order, each with what is left for the judge to do."""
    rows = store.query(_sql("closed_answers"), judging.params)
    return [(AnswerKey(row[0], row[1]), row[2]) for row in rows]


def read_closed_labelled(
    store: Store, judging: Judging, first: str, last: str
) -> dict[str, set[str]]:
    """Return the claims that the judge has labelled, by item, from ``first`` to ``last``."""
    found: dict[str, set[str]] = defaultdict(set)
    between = {**judging.params, "first": first, "last": last}
    for item_id, claim_id in store.query(_sql("closed_labelled"), between):
        found[item_id].add(claim_id)
    return found


def read_domains(store: Store, first: str, last: str) -> dict[str, str]:
    """Return the subject area of every item that has one, from ``first`` to ``last``."""
    sql = (
        "select item_id, domain from eval_items "
        "where item_id between :first and :last and domain is not null"
    )
    return dict(store.query(sql, {"first": first, "last": last}))


def count_closed_labels(store: Store, judging: Judging) -> dict[str, int]:
    """Return how many claims of the run the judge gave each label, by its latest ones."""
    return dict(store.query(_sql("closed_labels"), judging.params))


def count_closed_unscored(store: Store, judging: Judging) -> dict[str, int]:
    """Return how many claims of the run the judge left without a label, by reason."""
    return dict(sorted(store.query(_sql("closed_unscored"), judging.params)))


def _sql(name: str) -> str:
    found = read_sql("judging", name)
    assert found is not None
    return found
