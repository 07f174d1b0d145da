"""What comparing two runs returns."""

from __future__ import annotations

from typing import Literal

import msgspec

from claimwise.calibration.headline import Headline
from claimwise.calibration.headline_change import HeadlineChange
from claimwise.types.results import Better, JudgeNote, Settings, Weighting

Direction = Literal["better", "worse", "changed", "unclear"]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """How far one rate moved in one slice, over the items that both runs were asked.

    ``low`` and ``high`` enclose ``change``; the simultaneous pair holds for all slices of the
    table at once. The bounds say how far the rate could have moved if every unscored claim of
    the one run counted for it and every one of the other against it. ``change`` and what follows
    from it are None where one of the runs has no scored claim.
    """

    slice: dict[str, str | None]
    better: Better | None
    base: float | None
    new: float | None
    change: float | None
    low: float | None
    high: float | None
    simultaneous_low: float | None
    simultaneous_high: float | None
    bound_low: float | None
    bound_high: float | None
    # What the simultaneous interval says: "unclear" when it holds zero.
    direction: Direction
    items: int
    base_claims: int
    new_claims: int
    base_unscored: int
    new_unscored: int
    warnings: tuple[str, ...] = ()
    weighting: Weighting | None = None  # None: all items count alike


class MetricChange(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of two runs: the whole, and its slices, the worst change first."""

    metric: str
    title: str
    meaning: str
    unit: str
    series: str | None
    by: tuple[str, ...]
    overall: tuple[Change, ...]
    slices: tuple[Change, ...]
    # Verdicts that the rates count, by judge; empty: people's labels, or none.
    base_judges: dict[str, int] = {}
    new_judges: dict[str, int] = {}

    @property
    def is_measured(self) -> bool:
        """Whether both runs have a rate."""
        return any(row.change is not None for row in self.overall)


class ShownClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim as one run made it, and what became of it."""

    text: str
    # The verdict or closed-book label; None: unscored, or no claim that can be judged.
    verdict: str | None
    span: str | None = None
    source_id: str | None = None
    labeler: str | None = None
    # Why there is no verdict.
    reason: str | None = None


class MovedItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item that moved the rate, with its claims side by side.

    ``contribution`` is its part of the change: those of all items add up to the whole.
    """

    item_id: str
    question: str
    contribution: float
    base_hits: float
    base_units: float
    new_hits: float
    new_units: float
    # What the system did where that is not simply an answer: "abstain", "failed: timeout".
    base_action: str | None
    new_action: str | None
    # Claims of the same wording stand in one row.
    claims: tuple[tuple[ShownClaim | None, ShownClaim | None], ...]


class ComparedHeadline(msgspec.Struct, frozen=True, kw_only=True):
    """The one rate of either run, and how it moved with both sides on the same basis."""

    base: Headline
    new: Headline
    change: HeadlineChange | None  # None: the new run has no rate


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a comparison of two runs shows."""

    base: dict[str, str | None]
    new: dict[str, str | None]
    store: str
    version: str
    by: tuple[str, ...]
    settings: Settings
    metrics: tuple[MetricChange, ...]
    shared: int
    only_base: tuple[str, ...]
    only_new: tuple[str, ...]
    # The metric that the moved items are about, and the member of its series.
    moved_metric: str | None
    moved: tuple[MovedItem, ...]
    headline: ComparedHeadline
    warnings: tuple[str, ...] = ()
    judges: tuple[JudgeNote, ...] = ()  # who gave verdicts that count, with their agreement
