"""What do a hundred commits do to a gate? The same system, looked at again and again.

    python benchmarks/looks.py            # about five minutes
    python benchmarks/looks.py --quick    # below 30 seconds

A gate with a limit of 80%, 300 items of four claims, ICC 0.3. Shown: how often the gate ever fails,
in 100 commits, a system that is exactly at its limit, with fresh items for every commit and with
the same items (whose answers are drawn again); how many times a year, at 500 looks, with fresh
items; and how often one look fails or passes a system that is 5 or 10 points below. The rivals are
the rule of 0.6.0, which knew nothing of looks, and today's without them. A relative gate (margin
0.05) on the same items in both runs comes after: an unchanged system against one baseline, and one
that is worse. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from typing import NamedTuple

import numpy as np
from scipy import special

from claimwise.gates.bounds import Confidence
from claimwise.gates.changes import PairedChange, decide_change
from claimwise.gates.counts import ItemRow
from claimwise.gates.decide import decide_rate
from claimwise.gates.values import DEFAULT_MARGIN, Gate
from gates import Array, Flags, is_beyond, row, show, summarize

LIMIT, COMMITS, CONFIDENCE = 0.8, 100, 0.95
ITEMS, CLAIMS, ICC = 300, 4, 0.3
YEAR, ALARMS = 500, 0.5
BASE = 0.9  # of relative gates
ALIKE = 0.75  # share of items that are as hard in the next run


class Rule(NamedTuple):
    """A gate that looks so often, by today's bounds or those of 0.6.0."""

    gate: Gate
    as_in_0_6: bool = False

    @property
    def failing(self) -> float:
        """The confidence of one look."""
        return 1 - self.gate.look_error


def make_gate(**more: float) -> Gate:
    return Gate(metric="faithfulness", min=LIMIT, confidence=CONFIDENCE, **more)  # type: ignore[arg-type]


RULES = {
    "0.6.0": Rule(make_gate(), as_in_0_6=True),
    "looks = 1": Rule(make_gate()),
    "looks = 100": Rule(make_gate(looks=COMMITS)),
    "0.5 false alarms per year": Rule(make_gate(looks_per_year=YEAR, false_alarms_per_year=ALARMS)),
}


def draw(rate: float, runs: int, looks: int, rng: np.random.Generator, *, same: bool) -> Array:
    """Return hits by run, look and item: beta-binomial, the same items at every look or fresh."""
    scale = (1 - ICC) / ICC
    shape = (runs, 1 if same else looks, ITEMS)
    chances = rng.beta(rate * scale, (1 - rate) * scale, shape)
    return rng.binomial(CLAIMS, np.broadcast_to(chances, (runs, looks, ITEMS))).astype(np.float64)


def decide(rule: Rule, hits: Array) -> tuple[Flags, Flags]:
    """Return which looks fail and which pass; the first are decided by the product too."""
    lines = hits.reshape(-1, ITEMS)
    sizes = np.full_like(lines, CLAIMS)
    found = summarize(lines, sizes, as_in_0_6=rule.as_in_0_6)
    fails = is_beyond(found, LIMIT, rule.failing, upper=True, failing=True)
    passes = is_beyond(found, LIMIT, CONFIDENCE, upper=False, failing=False)
    sure = Confidence(passing=CONFIDENCE, failing=rule.failing)
    for one in range(0 if rule.as_in_0_6 else 20):
        outcome = decide_rate(to_table(lines[one]), "higher", LIMIT, sure)[0]
        told = "fail" if fails[one] else "pass" if passes[one] else "inconclusive"
        if outcome != told:
            raise AssertionError(f"the product says {outcome}, the benchmark {told}")
    return fails.reshape(hits.shape[:2]), passes.reshape(hits.shape[:2])


def to_table(hits: Array) -> Array:
    table = np.zeros((len(hits), len(ItemRow._fields)))
    table[:, 0], table[:, 1] = hits, CLAIMS
    return table


def measure_absolute(rule: Rule, runs: int, seed: int) -> dict[str, float]:
    """Return the shares of one rule; every rule sees the same data."""
    rng = np.random.default_rng(seed)
    told = {}
    for name, same in (("fresh", False), ("same", True)):
        fails, _ = decide(rule, draw(LIMIT, runs, COMMITS, rng, same=same))
        told[f"ever_fails_{name}_items"] = float(fails.any(axis=1).mean())
        if not same:
            told["fails_per_year"] = YEAR * float(fails.mean())
    for drop in (5, 10):
        fails, passes = decide(rule, draw(LIMIT - drop / 100, 10 * runs, 1, rng, same=False))
        told[f"fails_{drop}_below"] = float(fails.mean())
        told[f"passes_{drop}_below"] = float(passes.mean())
    return told


def draw_pairs(rate: float, luck: Array, looks: int, rng: np.random.Generator) -> Array:
    """Return hits of runs on the same items, most of which are as hard as in the baseline."""
    shape = (looks, ITEMS)
    again = np.where(rng.random(shape) < ALIKE, luck, rng.random(shape))
    scale = (1 - ICC) / ICC
    chances = special.betaincinv(rate * scale, (1 - rate) * scale, again)
    hits: Array = rng.binomial(CLAIMS, np.clip(chances, 0, 1)).astype(np.float64)
    return hits


def measure_relative(looks: int, runs: int, seed: int) -> dict[str, float]:
    """Return how a gate on changes decides: unchanged a hundred times, worse once."""
    rng = np.random.default_rng(seed)
    sure = Confidence(passing=CONFIDENCE, failing=1 - make_gate(looks=looks).look_error)
    found: dict[str, list[bool]] = {}
    drops: list[float] = []
    for _ in range(runs):
        luck = rng.random(ITEMS)
        base = to_table(draw_pairs(BASE, luck[None], 1, rng)[0])
        for drop, count in ((0, COMMITS), (5, 1), (10, 1)):
            outcomes = []
            for hits in draw_pairs(BASE - drop / 100, luck, count, rng):
                change = PairedChange(base=base, new=to_table(hits))
                bounds = change.find_bounds("higher", sure)
                if bounds is None:
                    raise AssertionError("a simulated run without claims")
                outcomes.append(decide_change(bounds, "higher", DEFAULT_MARGIN))
            found.setdefault(f"{drop} fails", []).append("fail" in outcomes)
            found.setdefault(f"{drop} passes", []).append("pass" in outcomes)
            drops.append(change.find_detectable(sure) or 1.0)
    return {
        "ever_fails_unchanged": float(np.mean(found["0 fails"])),
        "fails_5_worse": float(np.mean(found["5 fails"])),
        "passes_5_worse": float(np.mean(found["5 passes"])),
        "fails_10_worse": float(np.mean(found["10 fails"])),
        "detectable": float(np.mean(drops)),
    }


ROWS = {
    "ever_fails_fresh_items": f"ever fails a system at its limit, {COMMITS} commits, fresh items",
    "ever_fails_same_items": "the same, every commit on the same items",
    "fails_per_year": f"fails of a system at its limit per year ({YEAR} looks)",
    "fails_5_below": "one look fails a system 5 points below",
    "fails_10_below": "one look fails a system 10 points below",
    "passes_5_below": "one look passes a system 5 points below",
    "ever_fails_unchanged": f"ever fails an unchanged system, {COMMITS} commits",
    "fails_5_worse": "one look fails a drop of 5 points",
    "fails_10_worse": "one look fails a drop of 10 points",
    "passes_5_worse": "one look passes a drop of 5 points",
    "detectable": "drop that the gate says it finds four times in five, points",
}


def print_table(title: str, found: dict[str, dict[str, float]]) -> None:
    print(f"\n### {title}\n")
    print(row(["%", *found]))
    print(row(["---", *["---:"] * len(found)]))
    for name in [name for name in ROWS if name in next(iter(found.values()))]:
        cells = [
            f"{told[name]:.2f}" if name == "fails_per_year" else show(told[name])
            for told in found.values()
        ]
        print(row([ROWS[name], *cells]))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    runs, paired = (200, 40) if quick else (2000, 400)
    absolute = {name: measure_absolute(rule, runs, 7) for name, rule in RULES.items()}
    relative = {f"looks = {n}": measure_relative(n, paired, 8) for n in (1, COMMITS)}
    print(f"# Gates over {COMMITS} commits\n\n{runs:,} runs ({paired:,} paired).")
    print_table(f"Limit {LIMIT:g}, {ITEMS} items of {CLAIMS} claims, ICC {ICC:g}", absolute)
    print_table(f"Against a baseline at {BASE:g}, margin {DEFAULT_MARGIN:g}", relative)
    noise = 0.03 if quick else 0.01
    often, budget = absolute["looks = 100"], absolute["0.5 false alarms per year"]
    checks = {
        "ever_fails_at_limit": max(often[f"ever_fails_{n}_items"] for n in ("fresh", "same"))
        <= 1 - CONFIDENCE + noise,
        "false_alarms_per_year": budget["fails_per_year"] <= ALARMS * (1 + 10 * noise),
        "passes_5_below": max(told["passes_5_below"] for told in absolute.values()) <= 0.05,
        "ever_fails_unchanged": relative["looks = 100"]["ever_fails_unchanged"]
        <= 1 - CONFIDENCE + noise,
    }
    answer = {"benchmark": "looks", "quick": quick, "runs": runs, "commits": COMMITS,
              "absolute": absolute, "relative": relative, "checks": checks,
              "holds": all(checks.values())}  # fmt: skip
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
