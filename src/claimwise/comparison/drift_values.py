"""What splitting the movement of a rate returns."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from claimwise.types.results import Better, JudgeNote, Settings, Weighting

Cause = Literal["system", "evidence", "mix", "instrument"]
CAUSES: tuple[Cause, ...] = get_args(Cause)


class DriftPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a movement.

    Several causes share a part when nothing in the store tells them apart. ``changed`` is False
    where nothing of the kind changed between the runs: the part is then exactly 0.
    """

    causes: tuple[Cause, ...]
    change: float
    low: float
    high: float
    changed: bool
    # What it was measured on, in words.
    basis: str

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.changed and not self.low <= 0 <= self.high


class SliceWeight(msgspec.Struct, frozen=True, kw_only=True):
    """How large a slice is in either run: its share of the items."""

    slice: dict[str, str | None]
    base_share: float
    new_share: float


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """The movement of one rate between two runs, and its parts, which add up to it."""

    metric: str
    title: str
    member: str | None
    better: Better | None
    base: dict[str, str | None]
    new: dict[str, str | None]
    settings: Settings
    base_rate: float
    new_rate: float
    change: float
    low: float
    high: float
    parts: tuple[DriftPart, ...]
    shared: int
    only_base: tuple[str, ...]
    only_new: tuple[str, ...]
    # Items whose evidence moved, with the documents that did.
    moved_evidence: dict[str, tuple[str, ...]]
    base_instruments: dict[str, int]
    new_instruments: dict[str, int]
    # Claims (or answers) that the instruments of both runs judged.
    overlap: int
    base_unscored: int
    new_unscored: int
    weights: tuple[SliceWeight, ...] = ()
    warnings: tuple[str, ...] = ()
    weighting: Weighting | None = None  # None: all items count alike
    # Runs or labels that would tell more.
    advice: tuple[str, ...] = ()
    judges: tuple[JudgeNote, ...] = ()  # who gave verdicts that count, with their agreement
