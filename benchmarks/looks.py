"""What do a hundred commits do to a gate? A system exactly at its limit, looked at again and again.

    python benchmarks/looks.py            # about two minutes
    python benchmarks/looks.py --quick    # below 30 seconds

Every commit asks fresh items. The rival is the same gate without ``looks``. Shown: how often the
gate ever fails a system at its limit, and how often one look fails or passes one that is 5 and 10
points below. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
from numpy.typing import NDArray

from claimwise.gates.bounds import Confidence
from claimwise.gates.counts import ItemRow
from claimwise.gates.decide import decide_rate
from claimwise.metrics.intervals import simultaneous_confidence

LIMIT, LOOKS, CONFIDENCE = 0.8, 100, 0.95
ITEMS, CLAIMS, ICC = 300, 4, 0.3


def draw(rate: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a run's items: beta-binomial claims."""
    scale = (1 - ICC) / ICC
    hits = rng.binomial(CLAIMS, rng.beta(rate * scale, (1 - rate) * scale, ITEMS))
    table = np.zeros((ITEMS, len(ItemRow._fields)))
    table[:, 0], table[:, 1] = hits, CLAIMS
    return table


def decide(rate: float, looks: int, rng: np.random.Generator) -> str:
    """Return the outcome of one look."""
    sure = Confidence(passing=CONFIDENCE, failing=simultaneous_confidence(CONFIDENCE, looks))
    return decide_rate(draw(rate, rng), "higher", LIMIT, sure)[0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    runs = 60 if parser.parse_args().quick else 400
    rng = np.random.default_rng(7)
    found: dict[str, dict[str, float]] = {}
    for looks in (1, LOOKS):
        ever = sum(
            any(decide(LIMIT, looks, rng) == "fail" for _ in range(LOOKS)) for _ in range(runs)
        )
        told = {"ever_fails_at_limit": ever / runs}
        for drop in (5, 10):
            outcomes = [decide(LIMIT - drop / 100, looks, rng) for _ in range(10 * runs)]
            told[f"fails_{drop}_below"] = outcomes.count("fail") / len(outcomes)
            told[f"passes_{drop}_below"] = outcomes.count("pass") / len(outcomes)
        found[f"looks={looks}"] = told
        print(f"looks = {looks}: " + ", ".join(f"{k} {v:.1%}" for k, v in told.items()))
    print(json.dumps({"benchmark": "looks", "runs": runs, "commits": LOOKS, **found}))


if __name__ == "__main__":
    main()
