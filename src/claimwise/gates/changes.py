"""How far a rate moved from a baseline, with both runs on the same basis.

Two runs are compared by what people said of both: item by item where the labels are there, else as
the difference of two estimates. A judge that is trusted for all of these items and judged both
runs may stand in; it shows less of a change than people would see, which the bounds allow for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from claimwise.calibration.headline import Basis
from claimwise.gates.bounds import POWER, Confidence
from claimwise.gates.counts import Floats, forget_unknown, imagine, rate_of
from claimwise.gates.readings import Range, RateReading
from claimwise.gates.values import Outcome
from claimwise.metrics.paired import RateDifference, compare_items
from claimwise.types.results import Better


class ChangeReading(Protocol):
    """One way to say how far people's rate moved."""

    @property
    def basis(self) -> Basis | None:
        """What it rests on; None where no label plays a part."""

    @property
    def told(self) -> str:
        """What it rests on, for a reader; empty for labels (or data) as they are."""

    @property
    def rates(self) -> tuple[float | None, float | None]:
        """The rates of the baseline and the run."""

    def find_bounds(self, better: Better, sure: Confidence) -> Range | None:
        """Return bounds of the change: the side that passes, and the side that fails."""

    def find_detectable(self, sure: Confidence) -> float | None:
        """Return the drop that the gate would fail four times in five."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedChange:
    """The change over items of both runs: a line for each in both tables.

    ``strength`` is how much of people's change is at least seen: 1 for people's own labels.
    """

    base: Floats
    new: Floats
    strength: float = 1.0
    basis: Basis | None = None
    told: str = ""

    @property
    def rates(self) -> tuple[float | None, float | None]:
        """The rates of what was scored in the baseline and the run."""
        return rate_of(self.base), rate_of(self.new)

    def forget_unknown(self) -> PairedChange:
        """Return the change as if every verdict were believed, and nothing else had been asked."""
        base, new = forget_unknown(self.base), forget_unknown(self.new)
        return PairedChange(base=base, new=new, strength=self.strength)

    def imagine(self, better: Better) -> tuple[RateDifference, RateDifference] | None:
        """Return the change if the unknown turned out ill, and well; None without rates."""
        ill, well = (
            compare_imagined(self.base, self.new, better, well=turn) for turn in (False, True)
        )
        return None if ill is None or well is None else (ill, well)

    def find_bounds(self, better: Better, sure: Confidence) -> Range | None:
        """Return bounds that hold whatever the unknown units are."""
        found = self.imagine(better)
        return found and _amplify(bound_change(*found, better, sure), self.strength)

    def find_detectable(self, sure: Confidence) -> float | None:
        """Return the drop that would be found, by the spread over items."""
        found = compare_items(*self.base.T[:2], *self.new.T[:2])
        if found is None or found.items < 2 or not self.strength:
            return None
        reach = float(np.sum(special.stdtrit(found.items - 1, [sure.failing, POWER])))
        return min(1.0, reach * found.error / self.strength)


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeChange:
    """The difference of two estimates of people's rate.

    Method: the distances from either rate to the ends of its range are added as variances are.
    What is hard about an item is hard in both runs, so the two err together, and the difference by
    less than this.

    Reference: Zou & Donner (2008), Statistics in Medicine 27, 1693-1702.
    """

    base: RateReading
    new: RateReading

    @property
    def basis(self) -> Basis | None:
        """Corrected, if one of them is."""
        return "corrected" if "corrected" in (self.base.basis, self.new.basis) else "people"

    @property
    def told(self) -> str:
        """What it rests on."""
        return "people's labels on samples of both runs"

    @property
    def rates(self) -> tuple[float | None, float | None]:
        """Both estimates."""
        return self.base.rate, self.new.rate

    def find_bounds(self, better: Better, sure: Confidence) -> Range | None:
        """Return the bounds of the difference."""
        passing, failing = (self._bound(sure.passing, True), self._bound(sure.failing, False))
        if passing is None or failing is None:
            return None
        low, high = (passing[0], failing[1]) if better == "higher" else (failing[0], passing[1])
        return low, high

    def find_detectable(self, sure: Confidence) -> float | None:
        """Return the drop that would be found, by how far the bound lies from the change."""
        found, rates = self._bound(sure.failing, False), self.rates
        if found is None or rates[0] is None or rates[1] is None:
            return None
        reach = found[1] - (rates[1] - rates[0])
        return min(1.0, reach * float(1 + special.ndtri(POWER) / special.ndtri(sure.failing)))

    def _bound(self, confidence: float, passing: bool) -> Range | None:
        base, new = self.rates
        if base is None or new is None:
            return None
        least_base, most_base = self.base.find_range(confidence, passing=passing)
        least_new, most_new = self.new.find_range(confidence, passing=passing)
        change = new - base
        return (
            max(-1.0, change - math.hypot(new - least_new, most_base - base)),
            min(1.0, change + math.hypot(most_new - new, base - least_base)),
        )


def compare_imagined(
    base: Floats, new: Floats, better: Better, *, well: bool
) -> RateDifference | None:
    """Return the change if what is unknown of the new run turned out well, and of the base ill.

    Or the other way round. Both tables have a line for each shared item.
    """
    hits = well == (better == "higher")
    return compare_items(*imagine(base, hits=not hits), *imagine(new, hits=hits))


def bound_change(
    ill: RateDifference, well: RateDifference, better: Better, sure: Confidence
) -> Range:
    """Return the bounds of a change: what passes from ``ill``, what fails from ``well``."""
    if better == "higher":
        return ill.bound(sure.passing, upper=False), well.bound(sure.failing, upper=True)
    return well.bound(sure.failing, upper=False), ill.bound(sure.passing, upper=True)


def decide_change(bounds: Range, better: Better, margin: float) -> Outcome:
    """Decide by the bounds of a change: pass within the margin, fail if there surely is a drop."""
    worst, best = (-bounds[0], -bounds[1]) if better == "higher" else (bounds[1], bounds[0])
    if worst <= margin:
        return "pass"
    return "fail" if best > 0 else "inconclusive"


def _amplify(bounds: Range, strength: float) -> Range:
    """Return bounds of people's change from those of a judge's, which shows less of it."""
    low, high = bounds
    if low < 0:
        low = max(-1.0, low / strength) if strength else -1.0
    if high > 0:
        high = min(1.0, high / strength) if strength else 1.0
    return low, high
