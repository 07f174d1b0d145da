"""Does a corrected rate cover the truth, and does a fitted map keep its promise?

    python benchmarks/calibration.py            # about four minutes
    python benchmarks/calibration.py --quick    # below 30 seconds

Corrected rates: simulated runs of 300 items. Every item has a true rate of its own (beta, with the
intraclass correlation that labelled sets show) and 1 plus a negative binomial number of claims. An
instrument scores each claim; its errors have a part that all claims of an item share. Strata are
its verdict by thirds of its confidence, sampled by Neyman's rule with a floor of 20. The truth is
the system's rate, not that of the run at hand, as in all our intervals.

Rivals, in the same runs: as many labels drawn at random and no instrument; the instrument alone;
Rogan & Gladen's correction with error rates measured on those random labels, and with error rates
that were measured in another domain.

Maps: scores that are too sure of themselves, labels clustered by item. A map is fitted on the
items of one half, and the calibration error before and after is measured on 4,000 fresh items. The
last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.calibration.maps import Scored, apply_map, fit_map, measure_ece
from claimwise.calibration.stratified import StratumLabel, estimate_stratified
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import wilson_interval

Array = NDArray[np.float64]
Generator = np.random.Generator
CONFIDENCE = 0.95
LEAST_COVERAGE = 0.92
FLOOR = 20
METHODS = ("corrected", "labels only", "instrument alone", "Rogan-Gladen", "other domain's")


class Setting(NamedTuple):
    """A system and an instrument."""

    rate: float
    icc: float
    claims: float  # per item
    strength: float  # how far apart the instrument's scores for good and bad claims lie
    shared: float  # spread of the part of its error that all claims of an item share
    labels: int
    items: int = 300

    @property
    def name(self) -> str:
        """The setting in a line of a table."""
        return " | ".join(
            f"{value:g}"
            for value in (self.rate, self.icc, self.claims, self.strength, self.shared, self.labels)
        )


SETTINGS = (
    Setting(0.9, 0.3, 4, 1.6, 0.5, 300),
    Setting(0.9, 0.3, 4, 0.8, 0.5, 300),
    Setting(0.9, 0.3, 12, 1.6, 0.5, 300),
    Setting(0.9, 0.5, 8, 1.6, 1.0, 300),
    Setting(0.97, 0.3, 4, 1.6, 0.5, 300),
    Setting(0.7, 0.3, 4, 1.6, 0.5, 300),
    Setting(0.7, 0.3, 12, 0.8, 0.5, 150),
    Setting(0.9, 0.3, 4, 1.6, 0.5, 150),
    Setting(0.9, 0.3, 4, 0.0, 0.5, 300),  # it knows nothing
)


class Run(NamedTuple):
    """The claims of one simulated run."""

    items: NDArray[np.intp]
    supported: NDArray[np.bool_]
    scores: Array  # log-odds


def simulate_run(setting: Setting, generator: Generator, shift: float = 0.0) -> Run:
    """Draw a run; ``shift`` makes the instrument milder, as another domain might."""
    strength = (1 - setting.icc) / setting.icc
    rates = generator.beta(setting.rate * strength, (1 - setting.rate) * strength, setting.items)
    extra = setting.claims - 1
    sizes = 1 + generator.negative_binomial(3, 3 / (3 + extra), setting.items)
    items = np.repeat(np.arange(setting.items), sizes)
    supported = generator.random(len(items)) < rates[items]
    shared = generator.normal(0, setting.shared, setting.items)[items]
    noise = generator.normal(0, 1, len(items))
    scores = setting.strength * (2 * supported - 1) + shared + noise + 0.5 + shift
    return Run(items, supported, scores)


def cut_strata(run: Run) -> NDArray[np.intp]:
    """Number the strata: verdict by thirds of confidence."""
    strata = np.zeros(len(run.scores), dtype=np.intp)
    for verdict in (0, 1):
        inside = (run.scores >= 0) == bool(verdict)
        if inside.any():
            sure = np.abs(run.scores[inside])
            edges = np.quantile(sure, [1 / 3, 2 / 3])
            strata[inside] = 3 * verdict + np.searchsorted(edges, sure)
    return strata


def allot(run: Run, strata: NDArray[np.intp], labels: int) -> dict[int, int]:
    """Return how many claims of each stratum to label: Neyman's rule by confidence, a floor."""
    names, sizes = np.unique(strata, return_counts=True)
    shares = np.array([special.expit(np.abs(run.scores[strata == name])).mean() for name in names])
    wanted = sizes * np.sqrt(shares * (1 - shares))
    counts = np.minimum(sizes, FLOOR)
    left = max(0, labels - counts.sum())
    counts = np.minimum(sizes, counts + np.floor(left * wanted / wanted.sum()).astype(int))
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


class Interval(NamedTuple):
    """An estimate and where it could lie."""

    value: float
    low: float
    high: float


def correct(run: Run, setting: Setting, generator: Generator) -> tuple[Interval, int]:
    """Estimate as the product does; return the number of labels that it took too."""
    strata = cut_strata(run)
    verdicts = run.scores >= 0
    labels = []
    for name, count in allot(run, strata, setting.labels).items():
        rows = generator.permutation(np.flatnonzero(strata == name))[:count]
        labels += [
            StratumLabel(
                stratum=str(name),
                item_id=str(run.items[row]),
                supported=bool(run.supported[row]),
                group=str(verdicts[row]),
            )
            for row in rows
        ]
    names, sizes = np.unique(strata, return_counts=True)
    given: dict[str, dict[str | None, int]] = {}
    for item, verdict in zip(run.items.tolist(), verdicts.tolist(), strict=True):
        counts = given.setdefault(str(item), {})
        counts[str(verdict)] = counts.get(str(verdict), 0) + 1
    found = estimate_stratified(
        dict(zip(map(str, names.tolist()), sizes.tolist(), strict=True)), labels, given,
        confidence=CONFIDENCE,
    )  # fmt: skip
    assert found is not None
    return Interval(found.value, found.low, found.high), len(labels)


def count_rate(items: NDArray[np.intp], hits: NDArray[np.bool_]) -> Interval:
    """Estimate a share with the product's interval over items."""
    names, codes = np.unique(items, return_inverse=True)
    counted = Histogram.from_clusters(
        np.bincount(codes, weights=hits, minlength=len(names)),
        np.bincount(codes, minlength=len(names)),
    )
    found = wilson_interval(counted, CONFIDENCE)
    assert found is not None
    return Interval(counted.hits / counted.units, found.low, found.high)


def rogan_gladen(share: float, size: int, yes: tuple[int, int], no: tuple[int, int]) -> Interval:
    """Correct a share by error rates; ``yes``: rightly accepted of, ``no``: rightly rejected of.

    The delta method on shares that are pulled inwards by one claim each.
    """
    z = float(special.ndtri((1 + CONFIDENCE) / 2))
    (hits, positives), (rejected, negatives) = yes, no
    q1, q0 = (hits + 1) / (positives + 2), (rejected + 1) / (negatives + 2)
    youden = max(q0 + q1 - 1, 0.05)
    value = (share + q0 - 1) / youden
    spread = (
        share * (1 - share) / size
        + (1 - value) ** 2 * q0 * (1 - q0) / (negatives + 2)
        + value**2 * q1 * (1 - q1) / (positives + 2)
    )
    reach = z * math.sqrt(max(0.0, spread)) / youden
    clipped = np.clip([value, value - reach, value + reach], 0, 1)
    return Interval(*map(float, clipped))


def count_errors(
    supported: NDArray[np.bool_], says: NDArray[np.bool_]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return rightly accepted of the good, and rightly rejected of the bad claims."""
    return (
        (int((says & supported).sum()), int(supported.sum())),
        (int((~says & ~supported).sum()), int((~supported).sum())),
    )


def measure_setting(setting: Setting, runs: int, seed: int) -> dict[str, dict[str, float]]:
    """Return coverage, width and error of every method."""
    generator = np.random.Generator(np.random.PCG64(seed))
    found: dict[str, list[Interval]] = {name: [] for name in METHODS}
    for _ in range(runs):
        run = simulate_run(setting, generator)
        says = run.scores >= 0
        corrected, taken = correct(run, setting, generator)
        rows = generator.permutation(len(says))[:taken]
        alone = count_rate(run.items, says)
        other = simulate_run(setting._replace(rate=0.6, items=80), generator, shift=-0.7)
        found["corrected"].append(corrected)
        found["labels only"].append(count_rate(run.items[rows], run.supported[rows]))
        found["instrument alone"].append(alone)
        own = count_errors(run.supported[rows], says[rows])
        found["Rogan-Gladen"].append(rogan_gladen(alone.value, len(says), *own))
        foreign = count_errors(other.supported[:taken], (other.scores >= 0)[:taken])
        found["other domain's"].append(rogan_gladen(alone.value, len(says), *foreign))
    return {name: _summarize(intervals, setting.rate) for name, intervals in found.items()}


def _summarize(intervals: list[Interval], truth: float) -> dict[str, float]:
    values, lows, highs = np.array(intervals).T
    return {
        "coverage": float(((lows <= truth) & (truth <= highs)).mean()),
        "width": float((highs - lows).mean()),
        "error": float(np.sqrt(((values - truth) ** 2).mean())),
    }


def simulate_scores(items: int, generator: Generator) -> Scored:
    """Draw claims whose scores are twice as sure as they should be, and a little too kind."""
    sizes = 1 + generator.negative_binomial(3, 0.5, items)
    codes = np.repeat(np.arange(items), sizes)
    true_odds = generator.normal(0.8, 1.0, len(codes)) + generator.normal(0, 0.7, items)[codes]
    supported = generator.random(len(codes)) < special.expit(true_odds)
    scores = special.expit(2 * true_odds + 0.6)
    return Scored(scores=scores, supported=supported, weights=np.ones(len(codes)), items=codes)


class Mapped(NamedTuple):
    """Calibration errors of fresh items, and what the held-out folds had promised."""

    before: float
    after: float
    promised: float


def measure_maps(items: int, runs: int, seed: int) -> Mapped:
    """Return the mean calibration errors of maps fitted on so many items."""
    generator = np.random.Generator(np.random.PCG64(seed))
    found = []
    for _ in range(runs):
        fit = fit_map(simulate_scores(items, generator))
        assert fit is not None
        fresh = simulate_scores(4_000, generator)
        found.append(
            (
                measure_ece(fresh, fresh.scores),
                measure_ece(fresh, apply_map(fit.map, fresh.scores)),
                fit.ece_after,
            )
        )
    return Mapped(*map(float, np.mean(found, axis=0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer runs, below 30 seconds")
    parser.add_argument("--seed", type=int, default=60_600)
    options = parser.parse_args()
    runs, map_runs = (200, 10) if options.quick else (1_000, 100)
    started = time.perf_counter()
    print(f"# Corrected rates at {CONFIDENCE:.0%}, {runs:,} runs a setting\n")
    print("coverage (mean width, typical error)\n")
    print("| rate | ICC | claims | strength | shared | labels | " + " | ".join(METHODS) + " |")
    print("|" + "---:|" * (6 + len(METHODS)))
    results = {}
    for number, setting in enumerate(SETTINGS):
        print(f"{number + 1}/{len(SETTINGS)} {setting}", file=sys.stderr)
        results[setting] = measure_setting(setting, runs, options.seed + number)
        cells = [
            f"{one['coverage']:.3f} ({one['width']:.3f}, {one['error']:.3f})"
            for one in results[setting].values()
        ]
        print(f"| {setting.name} | {' | '.join(cells)} |", flush=True)
    print(f"\n# Calibration error on 4,000 fresh items, {map_runs} maps\n")
    print("| fitted on | before | after | promised by the held-out folds |\n|---:|---:|---:|---:|")
    maps = {items: measure_maps(items, map_runs, options.seed + items) for items in (40, 100, 300)}
    for items, mapped in maps.items():
        print(
            f"| {items} items | {mapped.before:.3f} | {mapped.after:.3f} | {mapped.promised:.3f} |"
        )
    print(f"\n{time.perf_counter() - started:.0f} s in all.\n")
    noise = 0.05 if options.quick else 0.0
    known = [s for s in SETTINGS if s.strength >= 1.6]
    coverage = {s: results[s]["corrected"]["coverage"] for s in SETTINGS}
    ratios = [results[s]["corrected"]["width"] / results[s]["labels only"]["width"] for s in known]
    checks = {
        "corrected_covers": min(coverage.values()) >= LEAST_COVERAGE - noise,
        "narrower_than_labels_only": float(np.mean(ratios)) < 1.0,
        "instrument_alone_fails": min(
            results[s]["instrument alone"]["coverage"] for s in SETTINGS
        ) < 0.5,
        "error_rates_do_not_travel": float(
            np.mean([results[s]["other domain's"]["error"] for s in SETTINGS])
        ) > float(np.mean([results[s]["corrected"]["error"] for s in SETTINGS])),
        "maps_help": all(mapped.after < mapped.before / 2 for mapped in maps.values()),
    }  # fmt: skip
    answer = {
        "benchmark": "calibration",
        "quick": options.quick,
        "runs": runs,
        "least_coverage": round(min(coverage.values()), 3),
        "width_ratio": round(float(np.mean(ratios)), 3),
        "ece": {str(items): [round(m.before, 3), round(m.after, 3)] for items, m in maps.items()},
        "checks": checks,
        "holds": all(checks.values()),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
