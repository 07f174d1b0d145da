"""Differences between two judgements of the same claims, and which of many are real.

Both judges saw the same claims, so each claim adds one number to the difference: nothing where
they agree, its weight where one of them is right alone. Claims of one group (an item, a document)
are right or wrong together, so whole groups are what varies.

**Is it real?** If the judges are equally good, each group's contribution could as well have the
other sign: the p-value is the share of sign patterns whose sum is at least as far from 0. It is
exact for few groups, and holds whatever the groups are like. A test in which too few groups differ
can't come out as real, whatever they say, and is left out of the correction (Tarone).

**How large is it?** Ranges rest on leaving out one group at a time, with Student's t.

Reference: McNemar (1947), Psychometrika 12, 153-157; Bell & McCaffrey (2002), Survey Methodology
28, 169-181, on the jackknife for few and unequal groups; Edgington & Onghena (2007), Randomization
Tests, 4th ed.; Benjamini & Hochberg (1995), JRSS B 57, 289-300; Tarone (1990), Biometrics 46,
515-522.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

LEVEL: Final = 0.05
"""The share of false alarms that is accepted among the differences called real."""

_EXACT: Final = 12  # groups up to which all sign patterns are looked at
_PATTERNS: Final = 9_999  # drawn ones beyond that
_MANY: Final = 1_000  # groups beyond which the sum is as good as normal
_SEED: Final = 20_240_501
_ROUNDING: Final = 1e-9
_SINGLE: Final = 1e-5  # of numbers in single precision
_CELLS: Final = 4_000_000  # drawn at once, 16 MB
_MOST_CLAIMS: Final = 1_000_000
_LEAST_FREEDOM: Final = 4.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedDifference:
    """A difference over the same claims.

    ``low`` and ``high`` are None where groups show no spread: none differs, or all alike. That does
    not mean that there is none.
    """

    value: float
    low: float | None
    high: float | None
    p: float
    claims: int
    differing: int  # claims that the two judge differently
    groups: int  # groups with such a difference in sum
    error: float
    freedom: float = 0.0  # degrees of freedom of the error

    @property
    def shows_spread(self) -> bool:
        """Whether enough groups carry the error for it to say how more groups would vary."""
        return self.low is not None and self.freedom >= _LEAST_FREEDOM

    @property
    def can_be_real(self) -> bool:
        """Whether enough groups differ for the test to come out as real at all."""
        return self.groups > 0 and 2.0 ** (1 - self.groups) <= LEVEL


def compare_paired(
    changes: Floats, shares: Floats, cells: Numbers, groups: Numbers, confidence: float = 0.95
) -> PairedDifference:
    """Return the sum of each claim's change times its share, with interval and p-value.

    Args:
        changes: for each claim -1, 0 or 1.
        shares: what each claim counts for.
        cells: claims of one cell (a set, a label) add up to a mean of their own; the interval
            takes the spread within cells.
        groups: numbers of the groups.
        confidence: of the interval, which is Student's t.
    """
    parts = np.bincount(groups, shares * changes).astype(np.float64)
    parts = parts[np.abs(parts) > _ROUNDING]
    value = float(parts.sum())
    claims, differing = len(changes), int(np.count_nonzero(changes))
    if not len(parts):
        return PairedDifference(
            value=0.0, low=None, high=None, p=1.0, claims=claims, differing=differing,
            groups=0, error=0.0,
        )  # fmt: skip
    error, freedom = _find_error(changes, shares, cells, groups)
    spread = error > _ROUNDING
    reach = float(special.stdtrit(freedom, (1 + confidence) / 2)) * error
    return PairedDifference(
        value=value,
        low=max(-1.0, value - reach) if spread else None,
        high=min(1.0, value + reach) if spread else None,
        p=find_sign_p(parts),
        claims=claims,
        differing=differing,
        groups=len(parts),
        error=error,
        freedom=freedom,
    )


def _find_error(
    changes: Floats, shares: Floats, cells: Numbers, groups: Numbers
) -> tuple[float, float]:
    """Return the standard error, and its degrees of freedom.

    Method: the jackknife over groups. A group counts by how far it lies from the means of its
    cells without it: one that makes up most of a cell is not taken for typical of it, and one that
    has a cell for itself counts with all that it adds. As many groups count for the degrees of
    freedom as would carry the variance evenly, less one: few that differ, or one that is large,
    show little of how others do.
    """
    pairs, code = np.unique(groups * (int(cells.max()) + 1) + cells, return_inverse=True)
    cell = pairs % (int(cells.max()) + 1)
    weight, added = np.bincount(code, shares), np.bincount(code, shares * changes)
    others = np.bincount(cell, weight)[cell] - weight
    alone = others <= _ROUNDING
    mean = (np.bincount(cell, added)[cell] - added) / np.where(alone, 1.0, others)
    residuals = np.where(alone, added, added - mean * weight)
    squares = np.bincount(pairs // (int(cells.max()) + 1), residuals) ** 2
    if not squares.any():
        return 0.0, 1.0
    carrying = float(squares.sum() ** 2 / np.sum(squares**2))
    return math.sqrt(float(squares.sum())), max(1.0, carrying - 1)


def find_sign_p(parts: Floats) -> float:
    """Return how likely a sum is at least so far from 0 if every part may have either sign.

    All patterns are counted for up to twelve parts; beyond that patterns are drawn with a fixed
    seed, and the observed one counts as one of them. Where very many parts carry the sum about
    evenly, it is normal.
    """
    parts = parts[parts != 0]
    if not len(parts):
        return 1.0
    seen = abs(float(parts.sum())) * (1 - _ROUNDING)
    size = float(parts @ parts)
    if size**2 / float(np.sum(parts**4)) > _MANY:
        return float(2 * special.ndtr(-seen / math.sqrt(size)))
    if len(parts) <= _EXACT:
        codes = np.arange(2 ** len(parts))[:, None] >> np.arange(len(parts)) & 1
        return float(np.mean(np.abs((1 - 2 * codes) @ parts) >= seen))
    return (1 + _count_patterns(parts, seen)) / (1 + _PATTERNS)


def _count_patterns(parts: Floats, seen: float) -> int:
    """Count, among drawn sign patterns, the sums that are at least as far from 0; ties are."""
    generator = np.random.Generator(np.random.PCG64(_SEED))
    single, whole = parts.astype(np.float32), float(parts.sum())
    least = seen - _SINGLE * float(np.abs(parts).sum())
    step = max(1, _CELLS // len(parts))
    found = 0
    for start in range(0, _PATTERNS, step):
        size = min(step, _PATTERNS - start), len(parts) // 8 + 1
        drawn = generator.integers(0, 256, size=size, dtype=np.uint8)
        turned = np.unpackbits(drawn, axis=1, count=len(parts)).astype(np.float32)
        # The sum of signed parts is the whole minus twice the parts that are turned.
        found += int(np.count_nonzero(np.abs(whole - 2 * (turned @ single)) >= least))
    return found


def adjust_for_false_discoveries(values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Benjamini and Hochberg, in the order given.

    Calling real what is at most 0.05 keeps the expected share of false alarms among all that is
    called real at 5%; where nothing is real, the chance of any false alarm.
    """
    count = len(values)
    order = np.argsort(values)
    ranked = np.asarray(values, dtype=np.float64)[order] * count / np.arange(1, count + 1)
    adjusted = np.empty(count)
    adjusted[order] = np.minimum.accumulate(ranked[::-1])[::-1] if count else ranked
    return [min(1.0, float(value)) for value in adjusted]


def plan_claims(
    found: PairedDifference, difference: float, *, level: float = LEVEL, power: float = 0.8
) -> int | None:
    """Return how many claims in all would show a difference; None where it can't be said.

    The spread that these claims show is taken for that of more like them: in groups of the same
    kind, judged as differently. None where a few groups carry all of it, which says nothing of
    others, and where it would take over a million claims.
    """
    if not found.shows_spread or not difference:
        return None
    reach = float(special.ndtri(1 - level / 2) + special.ndtri(power))
    needed = found.claims * (reach * found.error / difference) ** 2
    return math.ceil(needed) if needed <= _MOST_CLAIMS else None
