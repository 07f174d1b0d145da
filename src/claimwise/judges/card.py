"""The model card's figures: what was measured, and on which human labels."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from claimwise.types.accuracy import VerdictPrecision, VerifierAccuracy


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What ``claimwise verifiers`` and docs/model-card.md show.

    Every set was left out of every fit (weights, calibration, threshold) before it was measured;
    ``fitted`` names those that the shipped numbers do learn from.
    """

    version: str
    measured_on: str
    fitted: tuple[str, ...]
    verifiers: dict[str, VerifierAccuracy]
    baseline: VerifierAccuracy
    # How often each verdict of the full tier is right by its name: benchmarks/verdicts.py --card.
    verdicts: dict[str, VerdictPrecision]


@cache
def load_card() -> Card:
    """Return the figures that come with the package."""
    data = (files("claimwise.judges") / "data" / "card.json").read_bytes()
    return msgspec.json.decode(data, type=Card)


def find_accuracy(labeler: str) -> VerifierAccuracy | None:
    """Return what was measured of the judge that labels by this name; None without a card."""
    card = load_card()
    known = (*card.verifiers.values(), card.baseline)
    return next((one for one in known if one.labeler == labeler), None)


def describe_card_agreement(name: str) -> str | None:
    """Return in one line how far a verifier agrees with people; None when nobody measured it."""
    card = load_card()
    if name not in card.verifiers:
        return None
    macro = card.verifiers[name].macro
    band = macro.intervals["balanced_accuracy"]
    if macro.balanced_accuracy is None or band is None:
        return None
    return (
        f"balanced accuracy {macro.balanced_accuracy:.0%} ({100 * band[0]:.0f}–{band[1]:.0%}) "
        f"against people, mean of {macro.sets} sets that it was not fitted on"
    )
