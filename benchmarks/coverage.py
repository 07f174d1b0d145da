"""How often do the intervals contain the truth? Simulated runs whose true rate is known.

    python benchmarks/coverage.py            # several minutes
    python benchmarks/coverage.py --quick    # below 30 seconds

Each item gets its own true rate, then its claims. On the main grid item rates are beta (so hits
are beta-binomial). Two more grids show whether the default holds away from the process it was
chosen on: logit-normal item rates, and beta ones where an item that is all wrong is twice as long.
Item sizes are 1 plus a negative binomial with dispersion 3. Every method is judged against the
rate it estimates, pooled (micro) or mean of items (macro); they differ on the third grid only.

Our bootstraps hand over to the default when all items have the same rate (mostly 0); the rival
gives a point there. The width of a one-sided bound is the bound itself. The last line printed is
one JSON object.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import (
    INTERVALS,
    design_effect,
    effective_size,
    korn_graubard_bound,
    wilson_interval,
)

CONFIDENCE = 0.95
RESAMPLES = 1_000  # enough for the 2.5 % tails, and it halves the time
Array = NDArray[np.float64]
Bounds = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One row of the table. `likeness` is the ICC, or the log-odds standard deviation."""

    process: str
    items: int
    rate: float
    likeness: float
    claims: int

    def truth(self, macro: bool) -> float:
        """Return the true rate; `rate` is the mean of the item rates."""
        if macro or self.process != WORSE:
            return self.rate
        extra = self.claims - 1
        square = self.rate**2 + self.likeness * self.rate * (1 - self.rate)
        hits = (1 + extra) * self.rate + extra * square
        return hits / (1 + extra + extra * self.rate)


class Method(NamedTuple):
    """A column: how it turns hits and sizes of the items into bounds."""

    name: str
    bounds: Callable[[Array, Array, int], Bounds]
    resampling: bool = False
    macro: bool = False


WORSE = "beta, long items worse"
DEFAULT = "**wilson (default)**"
BETA = list(
    itertools.product([10, 20, 50, 200], [0.01, 0.05, 0.3], [(0.05, 6), (0.2, 3), (0.4, 15)])
)
LONG = list(itertools.product([20, 50, 200], [0.01, 0.05], [(0.2, 6), (0.4, 15)]))
LOGIT = list(itertools.product([15, 40, 120], [0.02, 0.08], [(1.0, 4), (2.5, 10)]))


def settings() -> list[Setting]:
    return [
        Setting(process=process, items=items, rate=rate, likeness=likeness, claims=claims)
        for process, grid in (("beta", BETA), ("logit-normal", LOGIT), (WORSE, LONG))
        for items, rate, (likeness, claims) in grid
    ]


def simulate(setting: Setting, runs: int, seed: int) -> Iterator[tuple[Array, Array]]:
    generator = np.random.Generator(np.random.PCG64(seed))
    shape = (runs, setting.items)
    if setting.process == "logit-normal":
        odds = setting.likeness * generator.standard_normal(shape)
        chances = special.expit(odds + centred_odds(setting.rate, setting.likeness))
    else:
        total = (1 - setting.likeness) / setting.likeness
        chances = generator.beta(setting.rate * total, (1 - setting.rate) * total, shape)
    extra = (setting.claims - 1) * (1 + chances * (setting.process == WORSE))
    sizes = 1 + generator.negative_binomial(3, 3 / (3 + extra))
    hits = generator.binomial(sizes, chances)
    yield from zip(hits.astype(float), sizes.astype(float), strict=True)


def centred_odds(rate: float, spread: float) -> float:
    """Find the log-odds whose logit-normal mean is `rate`, by bisection."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(201)
    low, high = -30.0, 30.0
    for _ in range(80):
        middle = (low + high) / 2
        mean = np.average(special.expit(middle + spread * nodes), weights=weights)
        low, high = (middle, high) if mean < rate else (low, middle)
    return (low + high) / 2


def wilson(rate: float, size: float, quantile: float) -> Bounds:
    pull = quantile**2 / size
    middle = (rate + pull / 2) / (1 + pull)
    half = math.sqrt(pull * rate * (1 - rate) + pull**2 / 4) / (1 + pull)
    return middle - half, middle + half


def naive_wilson(hits: Array, sizes: Array, seed: int) -> Bounds:
    """Wilson's interval as if every claim were independent: what most tools print."""
    n = float(sizes.sum())
    return wilson(float(hits.sum()) / n, n, float(special.ndtri((1 + CONFIDENCE) / 2)))


def measured_wilson(hits: Array, sizes: Array, seed: int) -> Bounds:
    """The default without its planning share: the measured design effect, wherever there is one."""
    h = Histogram.from_clusters(hits, sizes)
    effect = design_effect(h)
    size = effective_size(h) if effect is None else h.trials / max(1.0, effect)
    quantile = float(special.stdtrit(h.items - 1, (1 + CONFIDENCE) / 2))
    return wilson(h.hits / h.units, size, quantile)


def mean_bootstrap(hits: Array, sizes: Array, seed: int) -> Bounds:
    """Percentile bootstrap of the mean of per-item rates: the rival."""
    rates = hits / sizes
    generator = np.random.Generator(np.random.PCG64(seed))
    means = rates[generator.integers(len(rates), size=(RESAMPLES, len(rates)))].mean(axis=1)
    low, high = np.quantile(means, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    return float(low), float(high)


def ours(name: str) -> Callable[[Array, Array, int], Bounds]:
    def bounds(hits: Array, sizes: Array, seed: int) -> Bounds:
        h = Histogram.from_clusters(hits, sizes)
        found = INTERVALS[name](h, confidence=CONFIDENCE, resamples=RESAMPLES, seed=seed)
        return (found.low, found.high) if found else (math.nan, math.nan)

    return bounds


def macro_wilson(hits: Array, sizes: Array, seed: int) -> Bounds:
    found = wilson_interval(Histogram.from_clusters(hits, sizes).per_item_rates(), CONFIDENCE)
    return (found.low, found.high) if found else (math.nan, math.nan)


def upper_bound(hits: Array, sizes: Array, seed: int) -> Bounds:
    found = korn_graubard_bound(Histogram.from_clusters(hits, sizes), CONFIDENCE, "upper")
    return 0.0, math.nan if found is None else found


METHODS = (
    Method("naive binomial", naive_wilson),
    Method("mean bootstrap (macro)", mean_bootstrap, resampling=True, macro=True),
    Method("bootstrap-percentile", ours("bootstrap-percentile"), resampling=True),
    Method("bootstrap-bca", ours("bootstrap-bca"), resampling=True),
    Method("wilson, all measured", measured_wilson),
    Method(DEFAULT, ours("wilson")),
    Method("wilson (macro)", macro_wilson, macro=True),
    Method("logit-t", ours("logit-t")),
    Method("korn-graubard", ours("korn-graubard")),
    Method("korn-graubard upper bound", upper_bound),
)


def measure(
    setting: Setting, runs: int, resampled: int, seed: int
) -> dict[str, tuple[float, float]]:
    """Return coverage and mean width by method."""
    found: dict[str, list[Bounds]] = {method.name: [] for method in METHODS}
    for number, (hits, sizes) in enumerate(simulate(setting, runs, seed)):
        for method in METHODS:
            if number < resampled or not method.resampling:
                found[method.name].append(method.bounds(hits, sizes, number))
    figures = {}
    for method in METHODS:
        low, high = np.array(found[method.name]).T
        truth = setting.truth(method.macro)
        covered = (low <= truth) & (truth <= high)
        figures[method.name] = (float(covered.mean()), float((high - low).mean()))
    return figures


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def report(
    process: str, results: dict[Setting, dict[str, tuple[float, float]]]
) -> dict[str, object]:
    """Print one grid as a table, and return the worst and mean coverage by method."""
    likeness = "log-odds sd" if process == "logit-normal" else "ICC"
    names = [method.name for method in METHODS]
    print(f"\n## Item rates: {process}\n\nCoverage in % (mean width in percentage points).\n")
    print(row(["items", "rate", likeness, "claims", *names]))
    print(row(["---:"] * (4 + len(names))))
    for s, figures in results.items():
        cells = [f"{100 * figures[n][0]:.1f} ({100 * figures[n][1]:.1f})" for n in names]
        print(row([str(s.items), f"{s.rate:.0%}", f"{s.likeness:g}", str(s.claims), *cells]))
    summary: dict[str, object] = {}
    print("\n| method | worst | mean | mean width |\n| --- | ---: | ---: | ---: |")
    for name in names:
        coverage, width = np.array([figures[name] for figures in results.values()]).T
        worst, mean = float(coverage.min()), float(coverage.mean())
        print(row([name, f"{100 * worst:.1f}", f"{100 * mean:.1f}", f"{100 * width.mean():.1f}"]))
        summary[name.strip("*")] = {"worst": round(worst, 4), "mean": round(mean, 4)}
    return summary


def holds(results: dict[Setting, dict[str, tuple[float, float]]]) -> bool:
    coverage = np.array([figures[DEFAULT][0] for figures in results.values()])
    return bool(coverage.min() >= 0.88 and 0.93 <= coverage.mean() <= 0.97)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer runs, below 30 seconds")
    parser.add_argument("--seed", type=int, default=20_240)
    options = parser.parse_args()
    runs, resampled = (250, 15) if options.quick else (2_500, 400)
    started = time.perf_counter()
    print(
        f"# Coverage of nominal {CONFIDENCE:.0%} intervals\n\n{runs} simulated runs a setting "
        f"({resampled} for bootstraps, {RESAMPLES} resamples each), seed {options.seed}."
    )
    results: dict[str, dict[Setting, dict[str, tuple[float, float]]]] = {}
    for number, setting in enumerate(settings()):
        print(f"{number + 1}/{len(settings())} {setting}", file=sys.stderr)
        figures = measure(setting, runs, resampled, options.seed + number)
        results.setdefault(setting.process, {})[setting] = figures
    summaries = {process: report(process, part) for process, part in results.items()}
    print(f"\n{time.perf_counter() - started:.0f} s in all.\n")
    answer = {
        "benchmark": "coverage",
        "quick": options.quick,
        "runs": runs,
        "settings": {process: len(part) for process, part in results.items()},
        "coverage": summaries,
        "holds": holds(results["beta"]),
        "holds_elsewhere": {
            process: holds(results[process]) for process in ("logit-normal", WORSE)
        },
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
