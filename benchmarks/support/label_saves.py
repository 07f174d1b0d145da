"""What saving a label costs, beside a store that compares labels in every query instead."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from statistics import median
from unittest.mock import patch

from claimwise.store import Store, list_views, migrations, open_store
from claimwise.store.deciding import KEPT_SINCE
from support.claim_data import fill_claims

_ADD = (
    "insert into labels (run_id, item_id, claim_id, claim_text, claim_type, verdict, labeler, "
    "labeled_at, label_kind) values (:run_id, :item_id, :claim_id, :claim_text, :claim_type, "
    "'unlinked', 'ana', :labeled_at, 'human')"
)
_TURNS, _PER_TURN = 15, 20


def open_store_without_flags(place: str) -> Store:
    """Make a store as the claimwise before the flags made it."""
    known, views = migrations.list_migrations(), list_views(kept=False)
    older = [migration for migration in known if migration[0] < KEPT_SINCE]
    with (
        patch.object(migrations, "list_migrations", lambda: older),
        patch.object(migrations, "list_views", lambda **_: views),
    ):
        return open_store(place, create=True)


def compare_saves(make_place: Callable[[str], str]) -> tuple[float, float]:
    """Return milliseconds to save a label that decides: with flags, and without.

    Both stores save in turns, every label in its own transaction.
    """
    with (
        open_store(make_place("kept"), create=True) as kept,
        open_store_without_flags(make_place("compared")) as compared,
    ):
        stores = (kept, compared)
        for store in stores:
            fill_claims(store, 2_000)
        chosen = [_list_claims(store) for store in stores]
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(_TURNS):
            for store, claims, taken in zip(stores, chosen, times, strict=True):
                taken.append(_save(store, claims))
    return median(times[0]), median(times[1])


def _list_claims(store: Store) -> Iterator[dict[str, object]]:
    names = ("run_id", "item_id", "claim_id", "claim_text", "claim_type")
    rows = store.query(
        f"select {', '.join('c.' + name for name in names)} from claims as c "
        "join labels as l on l.run_id = c.run_id and l.item_id = c.item_id "
        "and l.claim_id = c.claim_id where l.labeler <> 'ana' order by c.claim_id"
    )
    return (dict(zip(names, row, strict=True)) for row in rows)


def _save(store: Store, claims: Iterator[dict[str, object]]) -> float:
    start = time.perf_counter()
    for _ in range(_PER_TURN):
        params = {**next(claims), "labeled_at": datetime(2026, 6, 1)}  # noqa: DTZ001
        with store.write("ana"):
            store.execute(_ADD, params)
    return (time.perf_counter() - start) * 1000 / _PER_TURN
