"""Does `claimwise judges compare` call differences real that are not, and find those that are?

    python benchmarks/judges_compare.py            # some minutes
    python benchmarks/judges_compare.py --quick    # below 30 seconds

Judges are simulated on 400 labelled claims in groups: a claim is hard for every judge, some groups
suit one judge and not another, and claims of one group are alike. Counted is how often a difference
is called real when both judges are equally good, when one of them trades found claims for false
alarms, and when one is 10 points better; and for many bias probes at once, which share of those
called real is none. Rival, on the same draws: McNemar's test on single claims, each by itself.
The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.judge_comparison.arrays import share_claims
from claimwise.metrics.claim_differences import (
    LEVEL,
    PairedDifference,
    adjust_for_false_discoveries,
    compare_paired,
)

Floats = NDArray[np.float64]
CLAIMS, PER_GROUP, SUPPORTED = 400, 5, 0.7
# Shares of what makes a verdict right or wrong: the group, the group with this judge, the claim.
GROUP, GROUP_JUDGE, CLAIM = 0.15, 0.15, 0.3


class Pair(NamedTuple):
    """Two judges: the chance to be right on supported and on other claims."""

    name: str
    one: tuple[float, float]
    other: tuple[float, float]
    real: bool


PAIRS = (
    Pair("equally good, 80%", (0.8, 0.8), (0.8, 0.8), False),
    Pair("equally good, 95%", (0.95, 0.95), (0.95, 0.95), False),
    Pair("equal, but one is stricter", (0.85, 0.75), (0.75, 0.85), False),
    Pair("10 points apart", (0.75, 0.75), (0.85, 0.85), True),
)
PROBES = ((20, 0), (20, 5))  # probes at once, and how many of them move verdicts


def draw_groups(rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the group of each claim; groups differ in size."""
    sizes = 1 + rng.negative_binomial(2, 2 / (1 + PER_GROUP), CLAIMS)
    return np.repeat(np.arange(CLAIMS), sizes)[:CLAIMS]


def draw_luck(groups: NDArray[np.intp], judges: int, rng: np.random.Generator) -> Floats:
    """Return for each judge and claim a normal number that says how well it goes."""
    shared = np.sqrt(GROUP) * rng.standard_normal(CLAIMS)[groups]
    claim = np.sqrt(CLAIM) * rng.standard_normal(CLAIMS)
    own = np.sqrt(GROUP_JUDGE) * rng.standard_normal((judges, CLAIMS))[:, groups]
    rest = np.sqrt(1 - GROUP - GROUP_JUDGE - CLAIM) * rng.standard_normal((judges, CLAIMS))
    return np.asarray(shared + claim + own + rest)


def judge_pair(
    pair: Pair, groups: NDArray[np.intp], rng: np.random.Generator
) -> tuple[PairedDifference, float]:
    """Return the difference of two judges as the command finds it, and McNemar's p-value."""
    holds = rng.random(CLAIMS) < SUPPORTED
    luck = draw_luck(groups, 2, rng)
    chances = np.array([np.where(holds, *chance) for chance in (pair.one, pair.other)])
    right = luck < special.ndtri(chances)
    changes = right[1].astype(float) - right[0]
    shares, cells = share_claims(holds, np.ones(CLAIMS), np.zeros(CLAIMS, dtype=np.intp))
    return compare_paired(changes, shares, cells, groups), test_mcnemar(changes)


def probe(
    moves: bool, groups: NDArray[np.intp], rng: np.random.Generator
) -> tuple[PairedDifference, float]:
    """Return the shift of one probe's verdicts, and McNemar's p-value.

    Some groups are moved towards “supported”, others away: where the probe moves nothing on
    average, groups still flip together.
    """
    flips = draw_luck(groups, 1, rng)[0] < special.ndtri(0.08)
    lean = 0.85 if moves else 0.5
    towards = rng.random(CLAIMS)[groups] < lean
    changes = np.where(flips, np.where(towards, 1.0, -1.0), 0.0)
    shares, cells = np.full(CLAIMS, 1 / CLAIMS), np.zeros(CLAIMS, dtype=np.intp)
    return compare_paired(changes, shares, cells, groups), test_mcnemar(changes)


def test_mcnemar(changes: Floats) -> float:
    """Return the exact p-value for claims that are taken for independent."""
    up, down = int((changes > 0).sum()), int((changes < 0).sum())
    return min(1.0, float(2 * special.bdtr(min(up, down), up + down, 0.5)))


def measure_pair(pair: Pair, draws: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return how often a difference is called real, by us and by the rival, and is in our range."""
    found = [judge_pair(pair, draw_groups(rng), rng) for _ in range(draws)]
    ours = np.mean([one.can_be_real and one.p <= LEVEL for one, _ in found])
    truth = (sum(pair.other) - sum(pair.one)) / 2
    held = np.mean([(one.low or 0) <= truth <= (one.high or 0) for one, _ in found])
    return float(ours), float(np.mean([p <= LEVEL for _, p in found])), float(held)


def measure_probes(
    count: int, moving: int, draws: int, rng: np.random.Generator
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return false discovery rate and share of real shifts found, by us and by the rival."""
    shares: list[list[float]] = [[], [], [], []]
    real = np.arange(count) < moving
    for _ in range(draws):
        groups = draw_groups(rng)
        found = [probe(bool(moves), groups, rng) for moves in real]
        kept = [n for n, (one, _) in enumerate(found) if one.can_be_real]
        adjusted = adjust_for_false_discoveries([found[n][0].p for n in kept])
        ours = np.zeros(count, dtype=bool)
        ours[kept] = np.array(adjusted) <= LEVEL
        rival = np.array([p <= LEVEL for _, p in found])
        for place, called in ((0, ours), (2, rival)):
            shares[place].append(np.sum(called & ~real) / max(1, np.sum(called)))
            shares[place + 1].append(float(called[real].mean()) if moving else np.nan)
    means = [float(np.mean(share)) for share in shares]
    return (means[0], means[1]), (means[2], means[3])


def show(share: float) -> str:
    """Write a share; there is none to find where nothing is real."""
    return "—" if np.isnan(share) else f"{share:.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer draws, below 30 seconds")
    parser.add_argument("--seed", type=int, default=18_400)
    options = parser.parse_args()
    draws = 400 if options.quick else 4000
    started, rng = time.perf_counter(), np.random.default_rng(options.seed)
    print(f"# Differences called real, {CLAIMS} claims in groups, {draws:,} draws\n")
    print("| two judges | called real | McNemar, unclustered | 95% range holds the truth |")
    print("|---|---:|---:|---:|")
    figures, holds = {}, True
    slack = 3 * np.sqrt(0.05 * 0.95 / draws)  # what chance alone may add to a share of 5%
    for pair in PAIRS:
        ours, rival, held = measure_pair(pair, draws, rng)
        print(f"| {pair.name} | {show(ours)} | {show(rival)} | {show(held)} |", flush=True)
        figures[pair.name] = {
            "ours": round(ours, 4), "rival": round(rival, 4), "coverage": round(held, 4)
        }  # fmt: skip
        holds &= ours >= 0.8 if pair.real else ours <= LEVEL + slack
        holds &= held >= 1 - LEVEL - slack
    print("\n| probes at once | move verdicts | false among “real” | found |", end="")
    print(" McNemar: false | found |\n|---:|---:|---:|---:|---:|---:|")
    for count, moving in PROBES:
        some = draws // 6
        ours_both, rival_both = measure_probes(count, moving, some, rng)
        cells = " | ".join(map(show, (*ours_both, *rival_both)))
        print(f"| {count} | {moving} | {cells} |", flush=True)
        figures[f"{count} probes, {moving} move"] = {
            "ours": round(ours_both[0], 4), "rival": round(rival_both[0], 4)
        }  # fmt: skip
        holds &= ours_both[0] <= LEVEL + 3 * np.sqrt(0.05 * 0.95 / some)
    seconds = time.perf_counter() - started
    print(f"\n{seconds:.0f} s in total.\n")
    print(
        json.dumps({"benchmark": "judges_compare", "draws": draws, **figures, "holds": bool(holds)})
    )


if __name__ == "__main__":
    main()
