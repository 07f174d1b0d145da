"""How often do the intervals contain the truth? Simulated runs whose true rate is known.

    python benchmarks/coverage.py            # several minutes
    python benchmarks/coverage.py --quick    # below 30 seconds
    python benchmarks/coverage.py --data ../shared/data/dev    # labelled sets too

Each item gets its own true rate, then its claims. On the main grid item rates are beta (so hits
are beta-binomial). More grids show whether the default holds away from the process it was chosen
on: logit-normal item rates; beta ones where an item that is all wrong is twice as long; items that
are all right or all wrong; sizes with a heavy tail (log-normal); and documents above items, whose
rates are beta around their document's. Item sizes are otherwise 1 plus a negative binomial with
dispersion 3. Every method is judged against the rate it estimates, pooled (micro) or mean of items
(macro); they differ on the third grid only. With documents, methods are given one entry per
document, but for those that take items for independent.

Labelled sets: so many documents of a set are drawn with replacement, and the truth is the set's
rate. Claims that share a document or an item, directly or through others, are one cluster.

Our bootstraps hand over to the default when all items have the same rate (mostly 0); the rival
gives a point there. The width of a one-sided bound is the bound itself. The last line printed is
one JSON object.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import (
    INTERVALS,
    PLANNING_ICC,
    design_effect,
    effective_size,
    korn_graubard_bound,
    planning_weight,
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


class Sample(NamedTuple):
    """A simulated run: hits and sizes of its clusters, and of the items in them."""

    hits: Array
    sizes: Array
    item_hits: Array
    item_sizes: Array


class Method(NamedTuple):
    """A column: how it turns hits and sizes of the clusters into bounds."""

    name: str
    bounds: Callable[[Array, Array, int], Bounds]
    resampling: bool = False
    macro: bool = False
    by_item: bool = False  # it takes items for independent, whatever stands above them


WORSE = "beta, long items worse"
ALL = "all or nothing"
TAIL = "beta, sizes with a heavy tail"
DOCUMENTS = "documents above items"
ITEMS_PER_DOCUMENT = 4
ITEM_ICC = 0.3  # of claims within an item, around their document's rate
TAIL_SPREAD = 1.2  # standard deviation of the log of sizes
DEFAULT = "**wilson (default)**"
OLD = "wilson of 0.6.0"
OLD_BY_ITEM = "wilson of 0.6.0, by item"
BETA = list(
    itertools.product([10, 20, 50, 200], [0.01, 0.05, 0.3], [(0.05, 6), (0.2, 3), (0.4, 15)])
)
LONG = list(itertools.product([20, 50, 200], [0.01, 0.05], [(0.2, 6), (0.4, 15)]))
LOGIT = list(itertools.product([15, 40, 120], [0.02, 0.08], [(1.0, 4), (2.5, 10)]))
WHOLE = list(itertools.product([20, 50, 200], [0.01, 0.05, 0.3], [(1.0, 4), (1.0, 12)]))
HEAVY = list(itertools.product([20, 50, 200], [0.02, 0.1, 0.3], [(0.1, 4), (0.3, 8)]))
ABOVE = list(itertools.product([20, 50, 100], [0.05, 0.1, 0.3], [(0.1, 4), (0.3, 4)]))
GRIDS = {
    "beta": BETA,
    "logit-normal": LOGIT,
    WORSE: LONG,
    ALL: WHOLE,
    TAIL: HEAVY,
    DOCUMENTS: ABOVE,
}
INDEPENDENT = tuple(process for process in GRIDS if process != DOCUMENTS)
"""Grids on which items are independent."""


def settings() -> list[Setting]:
    return [
        Setting(process=process, items=items, rate=rate, likeness=likeness, claims=claims)
        for process, grid in GRIDS.items()
        for items, rate, (likeness, claims) in grid
    ]


def simulate(setting: Setting, runs: int, seed: int) -> Iterator[Sample]:
    generator = np.random.Generator(np.random.PCG64(seed))
    shape = (runs, setting.items)
    if setting.process == DOCUMENTS:
        yield from simulate_documents(setting, shape, generator)
        return
    chances = draw_chances(setting, shape, generator)
    sizes = draw_sizes(setting, chances, generator)
    hits = generator.binomial(sizes, chances)
    for y, m in zip(hits.astype(float), sizes.astype(float), strict=True):
        yield Sample(y, m, y, m)


def draw_chances(setting: Setting, shape: tuple[int, int], generator: np.random.Generator) -> Array:
    """Draw the items' own true rates."""
    if setting.process == ALL:
        return (generator.random(shape) < setting.rate).astype(float)
    if setting.process == "logit-normal":
        odds = setting.likeness * generator.standard_normal(shape)
        found: Array = special.expit(odds + centred_odds(setting.rate, setting.likeness))
        return found
    return draw_beta(np.full(shape, setting.rate), setting.likeness, generator)


def draw_beta(means: Array, icc: float, generator: np.random.Generator) -> Array:
    total = (1 - icc) / icc
    inside = np.clip(means, 1e-9, 1 - 1e-9)
    return generator.beta(inside * total, (1 - inside) * total)


def draw_sizes(
    setting: Setting, chances: Array, generator: np.random.Generator
) -> NDArray[np.int64]:
    extra = (setting.claims - 1) * (1 + chances * (setting.process == WORSE))
    if setting.process == TAIL:
        tail = np.exp(TAIL_SPREAD * generator.standard_normal(chances.shape) - TAIL_SPREAD**2 / 2)
        return 1 + np.floor(extra * tail + generator.random(chances.shape)).astype(np.int64)
    return 1 + generator.negative_binomial(3, 3 / (3 + extra))


def simulate_documents(
    setting: Setting, shape: tuple[int, int], generator: np.random.Generator
) -> Iterator[Sample]:
    """Draw documents that share a rate, their items around it, and the claims of those."""
    means = draw_beta(np.full(shape, setting.rate), setting.likeness, generator)
    counts = 1 + generator.negative_binomial(2, 2 / (1 + ITEMS_PER_DOCUMENT), shape)
    for number in range(shape[0]):
        documents = np.repeat(np.arange(shape[1]), counts[number])
        chances = draw_beta(means[number][documents], ITEM_ICC, generator)
        sizes = draw_sizes(setting, chances, generator)
        hits = generator.binomial(sizes, chances)
        yield Sample(
            np.bincount(documents, hits, shape[1]).astype(float),
            np.bincount(documents, sizes, shape[1]).astype(float),
            hits.astype(float),
            sizes.astype(float),
        )


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


def wilson_of_060(hits: Array, sizes: Array, seed: int) -> Bounds:
    """The default of version 0.6.0: what is assumed could lower what was measured; G - 1."""
    h = Histogram.from_clusters(hits, sizes)
    planned = 1 + (h.trials * float(h.clusters @ h.denominator**2) / h.units**2 - 1) * PLANNING_ICC
    measured, weight = design_effect(h), planning_weight(h)
    effect = planned if measured is None else weight * planned + (1 - weight) * measured
    quantile = float(special.stdtrit(h.items - 1, (1 + CONFIDENCE) / 2))
    return wilson(h.hits / h.units, h.trials / max(1.0, effect), quantile)


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
    Method(OLD, wilson_of_060),
    Method(OLD_BY_ITEM, wilson_of_060, by_item=True),
    Method(DEFAULT, ours("wilson")),
    Method("wilson (macro)", macro_wilson, macro=True),
    Method("logit-t", ours("logit-t")),
    Method("korn-graubard", ours("korn-graubard")),
    Method("korn-graubard upper bound", upper_bound),
)


def methods_for(process: str) -> tuple[Method, ...]:
    """Return all methods on the grids that tell them apart, and the essential ones elsewhere."""
    if process in ("beta", "logit-normal", WORSE):
        return tuple(method for method in METHODS if not method.by_item)
    names = ["naive binomial", OLD, DEFAULT, "logit-t", "korn-graubard"]
    if process == DOCUMENTS:
        names.append(OLD_BY_ITEM)
    return tuple(method for method in METHODS if method.name in names)


def measure(
    setting: Setting, runs: int, resampled: int, seed: int
) -> dict[str, tuple[float, float]]:
    """Return coverage and mean width by method."""
    methods = methods_for(setting.process)
    found: dict[str, list[Bounds]] = {method.name: [] for method in methods}
    for number, sample in enumerate(simulate(setting, runs, seed)):
        for method in methods:
            if number < resampled or not method.resampling:
                counts = sample[2:] if method.by_item else sample[:2]
                found[method.name].append(method.bounds(*counts, number))
    return {
        method.name: summarize(found[method.name], setting.truth(method.macro))
        for method in methods
    }


def summarize(bounds: list[Bounds], truth: float) -> tuple[float, float]:
    """Return coverage and mean width."""
    low, high = np.array(bounds).T
    covered = (low <= truth) & (truth <= high)
    return float(covered.mean()), float((high - low).mean())


# Labelled sets.

SET_METHODS = (
    Method("naive binomial", naive_wilson),
    Method(OLD_BY_ITEM, wilson_of_060, by_item=True),
    Method(DEFAULT, ours("wilson")),
)


class Clusters(NamedTuple):
    """A labelled set by what belongs together: hits and sizes, and those of every one's items."""

    hits: Array
    sizes: Array
    items: list[tuple[Array, Array]]


def read_set(path: Path) -> Clusters:
    """Put claims together that share a document or an item (“group”), directly or not."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    parents: dict[str, str] = {}

    def find(name: str) -> str:
        while parents.setdefault(name, name) != name:
            parents[name] = name = parents[parents[name]]
        return name

    items: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for one in rows:
        document, group = f"d{one['document']}", f"g{one['group']}"
        parents[find(document)] = find(group)
        pair = items[document, group]
        pair[0] += one["label"]
        pair[1] += 1
    clusters: dict[str, list[list[int]]] = defaultdict(list)
    for (document, _), pair in items.items():
        clusters[find(document)].append(pair)
    parts = [np.array(held, dtype=float).T for held in clusters.values()]
    hits, sizes = (np.array([part[n].sum() for part in parts]) for n in (0, 1))
    return Clusters(hits, sizes, [(part[0], part[1]) for part in parts])


def measure_set(
    clusters: Clusters, drawn: int, runs: int, seed: int
) -> dict[str, tuple[float, float]]:
    """Return coverage and mean width by method over runs of so many clusters of a set."""
    generator = np.random.Generator(np.random.PCG64(seed))
    truth = float(clusters.hits.sum() / clusters.sizes.sum())
    found: dict[str, list[Bounds]] = {method.name: [] for method in SET_METHODS}
    for number in range(runs):
        rows = generator.integers(len(clusters.hits), size=drawn)
        drawn_items = [clusters.items[n] for n in rows]
        by_item = [np.concatenate(side) for side in zip(*drawn_items, strict=True)]
        for method in SET_METHODS:
            counts = by_item if method.by_item else (clusters.hits[rows], clusters.sizes[rows])
            found[method.name].append(method.bounds(counts[0], counts[1], number))
    return {name: summarize(bounds, truth) for name, bounds in found.items()}


def report_sets(folder: Path, runs: int, seed: int) -> dict[str, dict[str, float]]:
    """Print how often intervals hold the rate of labelled sets; return worst and mean."""
    print("\n## Labelled sets\n\nCoverage in % (mean width in percentage points).\n")
    names = [method.name for method in SET_METHODS]
    print(row(["set", "clusters", "claims", "drawn", *names]))
    print(row(["---"] + ["---:"] * (3 + len(names))))
    results = defaultdict(list)
    for path in sorted(folder.glob("*.jsonl.xz")):
        clusters = read_set(path)
        for drawn in (30, 100):
            if len(clusters.hits) < drawn:
                continue
            figures = measure_set(clusters, drawn, runs, seed)
            results[path.name].append(figures)
            cells = [f"{100 * figures[n][0]:.1f} ({100 * figures[n][1]:.1f})" for n in names]
            sizes = [f"{len(clusters.hits):,}", f"{clusters.sizes.sum():,.0f}", str(drawn)]
            print(row([path.name.partition(".")[0], *sizes, *cells]), flush=True)
    by_set = {
        name: [float(np.mean([one[name][0] for one in part])) for part in results.values()]
        for name in names
    }
    return {
        name.strip("*"): {
            "worst_set": round(min(found), 4),
            "mean": round(float(np.mean(found)), 4),
        }
        for name, found in by_set.items()
    }


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def report(
    process: str, results: dict[Setting, dict[str, tuple[float, float]]]
) -> dict[str, object]:
    """Print one grid as a table, and return the worst and mean coverage by method."""
    likeness = "log-odds sd" if process == "logit-normal" else "ICC"
    names = [method.name for method in methods_for(process)]
    print(f"\n## Item rates: {process}\n\nCoverage in % (mean width in percentage points).\n")
    unit = "documents" if process == DOCUMENTS else "items"
    print(row([unit, "rate", likeness, "claims", *names]))
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


def holds(results: list[dict[str, tuple[float, float]]], worst: float) -> bool:
    """Tell whether the default covers often enough everywhere, and not too often on average."""
    coverage = np.array([figures[DEFAULT][0] for figures in results])
    return bool(coverage.min() >= worst and 0.93 <= coverage.mean() <= 0.97)


def check(
    results: dict[str, dict[Setting, dict[str, tuple[float, float]]]], noise: float
) -> dict[str, bool]:
    """Tell what was asked, and reached."""
    rows = {process: list(part.values()) for process, part in results.items()}
    apart = [one for process in INDEPENDENT for one in rows[process]]
    hard = [one for process in (ALL, TAIL, DOCUMENTS) for one in rows[process]]
    return {
        "independent_items_worst_89_mean_93_to_97": holds(apart, 0.89 - noise),
        "all_or_nothing_tails_documents_worst_90_mean_93_to_97": holds(hard, 0.90 - noise),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer runs, below 30 seconds")
    parser.add_argument("--seed", type=int, default=20_240)
    parser.add_argument("--data", type=Path, help="a folder of labelled sets, *.jsonl.xz")
    options = parser.parse_args()
    runs, resampled = (120, 5) if options.quick else (1_000, 50)
    started = time.perf_counter()
    print(
        f"# Coverage of nominal {CONFIDENCE:.0%} intervals\n\n{runs} simulated runs per setting "
        f"({resampled} for bootstraps, {RESAMPLES} resamples each), seed {options.seed}."
    )
    results: dict[str, dict[Setting, dict[str, tuple[float, float]]]] = {}
    for number, setting in enumerate(settings()):
        print(f"{number + 1}/{len(settings())} {setting}", file=sys.stderr)
        figures = measure(setting, runs, resampled, options.seed + number)
        results.setdefault(setting.process, {})[setting] = figures
    summaries = {process: report(process, part) for process, part in results.items()}
    checks = check(results, noise=0.04 if options.quick else 0.0)
    sets = None
    if options.data:
        sets = report_sets(options.data, 200 if options.quick else 600, options.seed)
        checks["labelled_sets_each_at_least_92"] = sets[DEFAULT.strip("*")]["worst_set"] >= 0.92 - (
            0.02 if options.quick else 0.0
        )
    print(f"\n{time.perf_counter() - started:.0f} s in total.\n")
    answer = {
        "benchmark": "coverage",
        "quick": options.quick,
        "runs": runs,
        "settings": {process: len(part) for process, part in results.items()},
        "coverage": summaries,
        "labelled_sets": sets,
        "checks": checks,
        "holds": all(checks.values()),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
