"""Chooses runs by their names in a link: two to compare, or one."""

from __future__ import annotations

from typing import NamedTuple

from claimwise.app.requests import Call, Refusal
from claimwise.store import Store
from claimwise.store.runs import find_previous_run, list_run_ids

MOST_OFFERED = 200


class ChosenPair(NamedTuple):
    """Two runs that a page compares; None where there is none to choose."""

    base: str | None
    new: str | None
    offered: list[str]  # runs that a form suggests, the latest first


def choose_pair(call: Call) -> ChosenPair:
    """Return the runs of a link; without one, the latest and the one before it.

    Raises:
        Refusal: one of them is not there.
    """
    known = list_run_ids(call.store)
    new = _choose(call, "new", known) or (known[0] if known else None)
    base = _choose(call, "base", known) or (find_previous_run(call.store, new) if new else None)
    return ChosenPair(base, new, known[:MOST_OFFERED])


def choose_run(call: Call) -> tuple[str | None, list[str]]:
    """Return the run of a link, or the latest, and the runs that a form suggests."""
    known = list_run_ids(call.store)
    return _choose(call, "run", known) or (known[0] if known else None), known[:MOST_OFFERED]


def _choose(call: Call, name: str, known: list[str]) -> str | None:
    asked = call.query.get(name, "").strip()
    if asked and asked not in known:
        raise Refusal(404, f"There is no run “{asked[:80]}”; the list of runs has them all.")
    return asked or None


def check_run(store: Store, run_id: str) -> None:
    """Refuse a run that is not there.

    Raises:
        Refusal: it is not.
    """
    if not store.query("select 1 from runs where run_id = :run_id", {"run_id": run_id}):
        raise Refusal(404, "There is no such run; the list of runs has them all.")
