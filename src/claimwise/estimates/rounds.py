"""Rounds over the runs of a window: what each label stands for when several rounds drew.

Every round is a sample of the runs that it covers. Weights of several can't be put side by side: a
later round leaves out what an earlier one labelled, and rounds may cover different runs. So each
round estimates the runs that it covers by itself (what had been labelled before stands for itself
there), and where rounds overlap their estimates are averaged by how densely each drew. That is
unbiased whatever the designs are.

Reference: Hartley (1962), Multiple frame surveys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from claimwise.store import Store
from claimwise.store.files import SqlFolder

_SQL = SqlFolder("claimwise.estimates")
_OUTSIDE = ""  # labels with a probability that no round of the store explains


class LabelledClaim(Protocol):
    """What is asked of a label here."""

    @property
    def run_id(self) -> str:
        """Its run."""

    @property
    def item_id(self) -> str:
        """Its item."""

    @property
    def claim_id(self) -> str:
        """Its claim."""

    @property
    def first_labeled_at(self) -> datetime:
        """When people labelled it first."""

    @property
    def chance(self) -> float | None:
        """The probability that the label itself states."""


class WindowRound(NamedTuple):
    """A round: how many claims of each run could be drawn, and which were, with what chance."""

    round_id: str
    created_at: datetime
    claims: Mapping[str, int]  # by run
    drawn: Mapping[tuple[str, str, str], float]  # run, item, claim -> chance


def to_stored_time(value: object) -> datetime:
    """Return a stored time; SQLite keeps them as text."""
    return msgspec.convert(value, datetime, strict=False)


def list_window_rounds(store: Store, runs: Sequence[str]) -> list[WindowRound]:
    """Return the rounds that drew from some runs; exported files hold none."""
    if store.schema_version is None:
        return []
    claims: dict[str, dict[str, int]] = {}
    created: dict[str, datetime] = {}
    drawn: dict[str, dict[tuple[str, str, str], float]] = {}
    for run_id in runs:
        for round_id, at, count in store.query(_SQL["rounds_of_run"], {"run_id": run_id}):
            claims.setdefault(round_id, {})[run_id] = count
            created[round_id] = to_stored_time(at)
        for round_id, item, claim, chance in store.query(_SQL["drawn"], {"run_id": run_id}):
            drawn.setdefault(round_id, {})[run_id, item, claim] = chance
    return [
        WindowRound(round_id, created[round_id], claims[round_id], drawn.get(round_id, {}))
        for round_id in sorted(claims)
    ]


def combine_chances(
    labels: Sequence[LabelledClaim], rounds: Sequence[WindowRound], claims: Mapping[str, int]
) -> tuple[NDArray[np.float64], float]:
    """Return each label's chance over all rounds, and the share of the claims that they cover.

    A round counts by the claims of it that have a label: those still open are taken to be like
    them. Labels that state a probability and were drawn in no round of this store (imported ones)
    are a sample of all runs of their own. Without any probability the chance is NaN; labels that
    nobody knows how they were chosen cover what they lie in.
    """
    known = [_count_labels(one, labels) for one in rounds]
    held = [one for one in known if one.labelled]
    outside = [
        one
        for one in labels
        if one.chance is not None and not any(_key(one) in r.drawn for r in rounds)
    ]
    if outside:
        total = max(1, sum(claims.values()))
        held.append(_Held(_imagine_round(outside, claims), len(outside), 1.0, len(outside) / total))
    chances = np.array([_combine(one, held) for one in labels], dtype=np.float64)
    covered = {run: min(1.0, sum(_cover(one.round, run, claims) for one in held)) for run in claims}
    if not held:
        covered = dict.fromkeys({one.run_id for one in labels}, 1.0)
    total = sum(claims.values())
    share = sum(covered.get(run, 0.0) * count for run, count in claims.items())
    return chances, share / total if total else 0.0


class _Held(NamedTuple):
    """A round with labels."""

    round: WindowRound
    labelled: int
    done: float  # share of the drawn claims that have a label
    density: float  # labels per claim that it covers


def _key(label: LabelledClaim) -> tuple[str, str, str]:
    return label.run_id, label.item_id, label.claim_id


def _count_labels(one: WindowRound, labels: Sequence[LabelledClaim]) -> _Held:
    labelled = sum(_key(label) in one.drawn for label in labels)
    total = max(1, sum(one.claims.values()))
    return _Held(one, labelled, labelled / max(1, len(one.drawn)), labelled / total)


def _imagine_round(labels: Sequence[LabelledClaim], claims: Mapping[str, int]) -> WindowRound:
    chances = {_key(one): one.chance or 1.0 for one in labels}
    return WindowRound(_OUTSIDE, datetime.min, claims, chances)  # noqa: DTZ901


def _cover(one: WindowRound, run_id: str, claims: Mapping[str, int]) -> float:
    """Return the share of a run's claims that could be drawn: some may have come later."""
    return min(1.0, one.claims.get(run_id, 0) / max(1, claims[run_id]))


def _combine(label: LabelledClaim, held: Sequence[_Held]) -> float:
    """Return 1 / the claims that a label stands for; NaN where no round explains it."""
    covering = [one for one in held if label.run_id in one.round.claims]
    if not any(_key(label) in one.round.drawn for one in covering):
        return np.nan
    total = sum(one.density for one in covering)
    weight = 0.0
    for one in covering:
        chance = one.round.drawn.get(_key(label))
        if chance is not None:
            weight += one.density / total / (chance * one.done)
        elif label.first_labeled_at < one.round.created_at:
            weight += one.density / total  # left out, as it had a label: it stands for itself
    return 1 / weight
