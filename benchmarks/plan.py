"""Do plans keep the power that was asked for? Simulated pilots whose system is known.

    python benchmarks/plan.py            # a minute or two
    python benchmarks/plan.py --quick    # below 30 seconds

A pilot is two runs on the same items: every item has a rate of its own (beta), 1 plus a negative
binomial number of claims, and answers that are alike through that rate alone. From each pilot a
plan is made for a drop with power 0.8, and the power that so many items really have is computed
with the system's true spread. Rival: the plan of version 0.6.0, which takes the pilot's spread for
the true one. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimwise.comparison.plan import Goal, Pilot, _expect_power, _find_items, _look_out
from claimwise.comparison.plan_doubt import CERTAIN, correlate_resamples
from claimwise.metrics.histogram import Histogram

Array = NDArray[np.float64]
POWER, CONFIDENCE = 0.8, 0.95
WAYS = ("ours", "0.6.0")


class Setting(NamedTuple):
    """A pilot's items, the system, and the drop that is to be seen."""

    items: int
    rate: float
    icc: float
    claims: int
    drop: float
    paired: bool


SETTINGS = [
    Setting(items, *system, paired)
    for items in (30, 60, 150)
    for system in ((0.9, 0.3, 5, 0.05), (0.8, 0.2, 4, 0.05), (0.95, 0.4, 8, 0.04))
    for paired in (True, False)
]


def draw_runs(setting: Setting, items: int, loss: float, rng: np.random.Generator) -> Array:
    """Return hits and units of two runs on the same items, the second worse by a loss."""
    total = (1 - setting.icc) / setting.icc
    chance = rng.beta(setting.rate * total, (1 - setting.rate) * total, items)
    extra = setting.claims - 1
    units = 1 + rng.negative_binomial(3, 3 / (3 + extra), (2, items))
    hits = rng.binomial(units, [chance, chance * (setting.rate - loss) / setting.rate])
    return np.array([hits[0], units[0], hits[1], units[1]], dtype=float)


def measure_truth(setting: Setting, rng: np.random.Generator) -> Array:
    """Return the variance of the drop, times items, from very many of them."""
    y0, m0, y1, m1 = draw_runs(setting, 300_000, setting.drop, rng)
    u0, u1 = ((y - y.sum() / m.sum() * m) / m.mean() for y, m in ((y0, m0), (y1, m1)))
    return np.array([np.var(u1 - u0) if setting.paired else np.var(u0) + np.var(u1)])


def measure(setting: Setting, pilots: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return the power that plans have, and how many items they ask for, on average."""
    rng = np.random.default_rng(seed)
    truth = measure_truth(setting, rng)
    goal = Goal(drop=setting.drop, power=POWER)
    found: dict[str, list[tuple[float, int]]] = {way: [] for way in WAYS}
    for _ in range(pilots):
        both = draw_runs(setting, setting.items, 0.0, rng)
        correlation = float(correlate_resamples(both, np.ones((1, setting.items)))[0])
        pilot = Pilot(Histogram.from_clusters(both[2], both[3]), correlation, both)
        outlook, _ = _look_out(pilot, "higher", None)
        certain = replace(outlook, doubt=CERTAIN, paired_doubt=CERTAIN)
        for way, known in zip(WAYS, (outlook, certain), strict=True):
            items = _find_items(known, goal, CONFIDENCE, paired=setting.paired)
            if items is not None:
                power = _expect_power(setting.drop, items, truth, CONFIDENCE, paired=setting.paired)
                found[way].append((power, items))
    means = {way: np.mean(pairs, axis=0) for way, pairs in found.items()}
    return {way: (float(mean[0]), float(mean[1])) for way, mean in means.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer pilots, below 30 seconds")
    parser.add_argument("--seed", type=int, default=40_400)
    options = parser.parse_args()
    pilots = 30 if options.quick else 200
    started = time.perf_counter()
    print(f"# Power of plans, asked {POWER:.0%}; {pilots} pilots per setting\n")
    print("power (items asked for)\n")
    print("| pilot's items | rate | ICC | claims | drop | runs | ours | 0.6.0 |")
    print("|---:|---:|---:|---:|---:|---|---:|---:|")
    powers: dict[str, list[float]] = {way: [] for way in WAYS}
    for number, setting in enumerate(SETTINGS):
        found = measure(setting, pilots, options.seed + number)
        cells = [f"{found[way][0]:.0%} ({found[way][1]:,.0f})" for way in WAYS]
        numbers = [
            f"{setting.items}", f"{setting.rate:.0%}", f"{setting.icc:g}", f"{setting.claims:g}",
            f"{100 * setting.drop:g} points",
        ]  # fmt: skip
        same = "same items" if setting.paired else "other items"
        print(f"| {' | '.join([*numbers, same, *cells])} |", flush=True)
        for way in WAYS:
            powers[way].append(found[way][0])
    print(f"\n{time.perf_counter() - started:.0f} s in total.\n")
    paired = [n for n, setting in enumerate(SETTINGS) if setting.paired]
    summary = {
        way: {
            "worst": round(min(found), 3),
            "mean": round(float(np.mean(found)), 3),
            "mean_paired": round(float(np.mean([found[n] for n in paired])), 3),
        }
        for way, found in powers.items()
    }
    print(
        json.dumps(
            {
                "benchmark": "plan",
                "quick": options.quick,
                "pilots": pilots,
                "power": summary,
                "holds": summary["ours"]["mean_paired"] >= (0.76 if options.quick else 0.78),
            }
        )
    )


if __name__ == "__main__":
    main()
