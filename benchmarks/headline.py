"""Does the range of a rate that rests on a judge alone hold people's rate?

    python benchmarks/headline.py            # a second; --quick is the same

The card has labelled sets, each left out of every fit before the judge was measured on it. Every
set in turn is taken for a new run: its range is predicted from the other sets, and people's rate on
it is known. Rival: the range of version 0.6.0, the interval over items alone (claims of an item are
taken to have an intraclass correlation of 0.3). The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from typing import NamedTuple

import numpy as np
from scipy import special

from claimwise.calibration.headline import list_rate_pairs
from claimwise.judges.card import find_accuracy, load_card
from claimwise.metrics.intervals import PLANNING_ICC, wilson_bounds
from claimwise.metrics.judge_error import RatePair, predict_people_rate

CONFIDENCE = 0.95
LEAST_SHARE = 0.9


class Found(NamedTuple):
    """People's rate on a set, the judge's, and two ranges."""

    name: str
    pair: RatePair
    ours: tuple[float, float]
    old: tuple[float, float]


def measure(labeler: str) -> list[Found]:
    """Predict people's rate on every set from the others."""
    accuracy = find_accuracy(labeler)
    assert accuracy is not None
    pairs = list_rate_pairs(labeler)
    found = []
    for number, (name, one) in enumerate(accuracy.sets.items()):
        pair, others = pairs[number], pairs[:number] + pairs[number + 1 :]
        sampling = bound_sampling(pair.judge, one.n - one.unscored, one.groups)
        ours = predict_people_rate(
            pair.judge, pair.claims, others, sampling=sampling, confidence=CONFIDENCE
        )
        assert ours is not None
        found.append(Found(name, pair, ours, sampling))
    return found


def bound_sampling(rate: float, claims: int, items: int) -> tuple[float, float]:
    """Return the interval over items alone."""
    effect = 1 + (claims / items - 1) * PLANNING_ICC
    quantile = float(special.stdtrit(items - 1, (1 + CONFIDENCE) / 2))
    return wilson_bounds(rate, claims / max(1.0, effect), quantile)


def summarize(found: list[Found], ours: bool) -> dict[str, float]:
    ranges = [one.ours if ours else one.old for one in found]
    held = [low <= one.pair.people <= high for one, (low, high) in zip(found, ranges, strict=True)]
    return {
        "held": sum(held),
        "sets": len(found),
        "mean_width": round(float(np.mean([high - low for low, high in ranges])), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="changes nothing: it takes a second")
    quick = parser.parse_args().quick
    card = load_card()
    labelers = [*(one.labeler for one in card.verifiers.values()), card.baseline.labeler]
    summaries = {}
    for labeler in labelers:
        found = measure(labeler)
        print(f"\n## {labeler}, each set left out in turn\n")
        print("| set | people | judge | range | of 0.6.0 |\n|---|---:|---:|---|---|")
        for one in found:
            shown = [
                f"{low:.2f} to {high:.2f}{'' if low <= one.pair.people <= high else ' **misses**'}"
                for low, high in (one.ours, one.old)
            ]
            print(f"| {one.name} | {one.pair.people:.2f} | {one.pair.judge:.2f} | "
                  f"{shown[0]} | {shown[1]} |")  # fmt: skip
        summaries[labeler] = {"ours": summarize(found, True), "0.6.0": summarize(found, False)}
    print("\n| judge | held | mean width | held by 0.6.0 | mean width |\n|---|---:|---:|---:|---:|")
    for labeler, both in summaries.items():
        cells = [
            cell
            for one in both.values()
            for cell in (
                f"{one['held']:.0f} of {one['sets']:.0f}", f"{100 * one['mean_width']:.0f} points"
            )
        ]  # fmt: skip
        print(f"| {labeler} | {' | '.join(cells)} |")
    holds = all(
        one["ours"]["held"] >= LEAST_SHARE * one["ours"]["sets"] for one in summaries.values()
    )
    print()
    print(
        json.dumps({"benchmark": "headline", "quick": quick, "judges": summaries, "holds": holds})
    )


if __name__ == "__main__":
    main()
