"""From evidence to calibrated probabilities.

A logistic model says how likely the sources support the claim; a second one says, given that they
don't, how likely they contradict it. There is a pair of models for each tier. Their few dozen
numbers are fitted by ``training/fit.py`` and kept in ``data/combiner.json``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from claimwise.judges.evidence import FEATURES, LinkedSentence
from claimwise.types.verdicts import Scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_AVERAGED = ("recall", "digest_recall", "best_recall", "pairs_recall")
_WORST = ("numbers_missing", "numbers_nowhere", "names_missing", "negation_differs", "opposites")
_CAP = 7.0  # logits beyond this say nothing more


class LogisticModel(msgspec.Struct, frozen=True):
    """Weights of named features, to be applied to the features as they are."""

    features: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float

    def apply(self, values: dict[str, float]) -> float:
        """Return the probability."""
        total = self.bias
        for name, weight in zip(self.features, self.weights, strict=True):
            total += weight * values[name]
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


class Tier(msgspec.Struct, frozen=True):
    """The models of one tier, and the probability from which a claim counts as supported."""

    supports: LogisticModel
    contradicts: LogisticModel
    threshold: float

    def score(self, values: dict[str, float]) -> Scores:
        """Return the three probabilities."""
        supports = self.supports.apply(values)
        contradicts = (1 - supports) * self.contradicts.apply(values)
        return Scores(
            supports=supports, contradicts=contradicts, neither=1 - supports - contradicts
        )


class Combiner(msgspec.Struct, frozen=True):
    """Both tiers, and when the encoder need not be asked."""

    version: str
    lexical: Tier
    embedded: Tier
    # The encoder is not asked where the lexical probability lies below this: too little of the
    # claim is in the sources for it to change the verdict.
    hopeless: float


@cache
def load_combiner() -> Combiner:
    """Return the fitted numbers that come with the package."""
    data = (files("claimwise.judges") / "data" / "combiner.json").read_bytes()
    return msgspec.json.decode(data, type=Combiner)


def sum_up(parts: Sequence[LinkedSentence]) -> dict[str, float]:
    """Return what a claim's parts say together: words on average, the rest at its worst."""
    columns = dict(zip(FEATURES, zip(*(part.features for part in parts), strict=True), strict=True))
    means = {name: sum(columns[name]) / len(parts) for name in _AVERAGED}
    return means | {name: min(2.0, max(columns[name])) for name in _WORST}


def add_encoder(values: dict[str, float], logits: NDArray[np.float32]) -> dict[str, float]:
    """Return the values with what the encoder says of the parts: one row of logits a part."""
    supports = [_margin(row, 0) for row in logits.tolist()]
    contradicts = [_margin(row, 1) for row in logits.tolist()]
    return values | {
        "encoder": min(supports),
        "encoder_against": max(contradicts),
    }


def _margin(row: Sequence[float], which: int) -> float:
    """Return the log-odds of one class against the others, capped."""
    others = [value for place, value in enumerate(row) if place != which]
    top = max(others)
    rest = top + math.log(sum(math.exp(value - top) for value in others))
    return max(-_CAP, min(_CAP, row[which] - rest))
