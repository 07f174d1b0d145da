"""Does a corrected rate cover the truth, and does a fitted map keep its promise?

    python benchmarks/calibration.py            # about ten minutes
    python benchmarks/calibration.py --quick    # below 30 seconds

Corrected rates: simulated runs of 300 items. Every item has a true rate of its own (beta, with the
intraclass correlation that labelled sets show) and 1 plus a negative binomial number of claims; or
items share documents and are clustered by them, or are all right or all wrong, or have sizes with a
heavy tail (log-normal). An instrument scores each claim; its errors have a part that all claims of
an item share. Claims are drawn as rounds draw them, and the rate is estimated as the product does.
The truth is the system's rate, not that of the run at hand, as in all our intervals.

Rivals, in the same runs: version 0.6.0 (thirds of confidence, Neyman's rule over floors of 20, one
interval); as many labels drawn at random and no judge; the judge alone; Rogan & Gladen's
correction with error rates measured on those random labels, and with error rates that were measured
in another domain. The variance is that of the estimate around the run's own rate, as a share of
what labels drawn at random have.

Calibration error: scores that are exactly right, and what is printed for them.

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
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.calibration import stratified
from claimwise.calibration.maps import LabelledScores, apply_map, fit_map, measure_ece, sum_scored
from claimwise.calibration.stratified import StratumLabel, estimate_stratified
from claimwise.labelling.draw import (
    DEFAULT_FLOOR,
    StratumAllocation,
    allocate_sample,
    guess_spread,
    name_strata,
)
from claimwise.labelling.rounds import Candidate
from claimwise.metrics.calibration_error import (
    bound_error,
    measure_error,
    measure_errors,
    measure_plain_error,
)
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import wilson_interval

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]
Generator = np.random.Generator
CONFIDENCE = 0.95
METHODS = (
    "corrected",
    "0.6.0",
    "labels only",
    "judge alone",
    "Rogan-Gladen",
    "other domain's",
)
DOCUMENTS, WHOLE, TAIL = "documents", "all or nothing", "heavy tail"
DOCUMENT_ICC, ITEMS_PER_DOCUMENT, TAIL_SPREAD = 0.15, 5, 1.2
OLD_FLOOR = 20
OTHERS = ("contradicted", "overreach", "unlinked", "stale")


class Setting(NamedTuple):
    """A system and an instrument."""

    rate: float
    icc: float
    claims: float  # per item
    strength: float  # how far apart the instrument's scores for good and bad claims lie
    shared: float  # spread of the part of its error that all claims of an item share
    labels: int
    kind: str = "items"
    items: int = 300

    @property
    def name(self) -> str:
        """The setting in a line of a table."""
        numbers = (self.icc, self.claims, self.strength, self.shared, self.labels)
        return " | ".join([self.kind, f"{self.rate:.0%}", *(f"{value:g}" for value in numbers)])


STRONG = Setting(0.9, 0.3, 8, 1.6, 0.5, 200)
WEAK = Setting(0.9, 0.3, 8, 0.8, 0.5, 200)
SETTINGS = (
    STRONG,
    WEAK,
    Setting(0.9, 0.3, 4, 1.6, 0.5, 300),
    Setting(0.9, 0.5, 8, 1.6, 1.0, 300),
    Setting(0.97, 0.3, 4, 1.6, 0.5, 300),
    Setting(0.7, 0.3, 12, 0.8, 0.5, 150),
    Setting(0.9, 0.3, 4, 0.0, 0.5, 300),  # it knows nothing
    Setting(0.9, 0.3, 4, 1.6, 0.5, 200, DOCUMENTS),
    Setting(0.9, 0.3, 8, 1.2, 0.5, 200, WHOLE),
    Setting(0.9, 0.3, 8, 1.2, 0.5, 200, TAIL),
    Setting(0.9, 0.3, 8, 1.6, 0.5, 40),
    Setting(0.9, 0.3, 4, 0.8, 0.5, 40),
    Setting(0.97, 0.3, 4, 1.6, 0.5, 40),
    Setting(0.7, 0.3, 8, 1.6, 0.5, 40),
    Setting(0.9, 0.3, 4, 0.0, 0.5, 40),
    Setting(0.9, 0.3, 4, 1.6, 0.5, 40, DOCUMENTS),
    Setting(0.9, 0.3, 8, 1.2, 0.5, 40, WHOLE),
)


class Run(NamedTuple):
    """The claims of one simulated run."""

    items: Numbers
    clusters: Numbers  # documents where they stand above items, else items
    supported: NDArray[np.bool_]
    scores: Array  # log-odds
    verdicts: list[str]

    @property
    def says(self) -> NDArray[np.bool_]:
        """Whether the instrument calls claims supported."""
        return self.scores >= 0


def simulate_run(setting: Setting, generator: Generator, shift: float = 0.0) -> Run:
    """Draw a run; ``shift`` makes the instrument milder, as another domain might."""
    documents = np.arange(setting.items)
    means = np.full(setting.items, setting.rate)
    if setting.kind == DOCUMENTS:
        documents = documents // ITEMS_PER_DOCUMENT
        means = draw_beta(means[: documents[-1] + 1], DOCUMENT_ICC, generator)[documents]
    if setting.kind == WHOLE:
        rates = (generator.random(setting.items) < means).astype(float)
    else:
        rates = draw_beta(means, setting.icc, generator)
    sizes = draw_sizes(setting, generator)
    items = np.repeat(np.arange(setting.items), sizes)
    supported = generator.random(len(items)) < rates[items]
    shared = generator.normal(0, setting.shared, setting.items)[items]
    noise = generator.normal(0, 1, len(items))
    scores = setting.strength * (2 * supported - 1) + shared + noise + 0.5 + shift
    others = generator.choice(len(OTHERS), len(items), p=(0.3, 0.3, 0.35, 0.05)).tolist()
    verdicts = [
        "supported" if score >= 0 else OTHERS[other]
        for score, other in zip(scores.tolist(), others, strict=True)
    ]
    return Run(items, documents[items], supported, scores, verdicts)


def draw_beta(means: Array, icc: float, generator: Generator) -> Array:
    total = (1 - icc) / icc
    inside = np.clip(means, 1e-9, 1 - 1e-9)
    return generator.beta(inside * total, (1 - inside) * total)


def draw_sizes(setting: Setting, generator: Generator) -> NDArray[np.int64]:
    extra = setting.claims - 1
    if setting.kind == TAIL:
        tail = np.exp(TAIL_SPREAD * generator.standard_normal(setting.items) - TAIL_SPREAD**2 / 2)
        return 1 + np.floor(extra * tail + generator.random(setting.items)).astype(np.int64)
    return 1 + generator.negative_binomial(3, 3 / (3 + extra), setting.items)


def read_confidences(run: Run) -> list[float]:
    """Return how sure the instrument is of its verdicts."""
    found: list[float] = special.expit(np.abs(run.scores)).tolist()
    return found


def draw_as_rounds_do(run: Run, size: int) -> tuple[list[str], dict[str, int]]:
    """Return every claim's stratum, and how many of each are drawn."""
    claims = [
        Candidate("", "", 0, 0, verdict, sure, None)
        for verdict, sure in zip(run.verdicts, read_confidences(run), strict=True)
    ]
    names = name_strata(claims, size)
    members: dict[str, list[Candidate]] = {}
    for name, claim in zip(names, claims, strict=True):
        members.setdefault(name, []).append(claim)
    shares = {
        name: StratumAllocation(len(held), guess_spread(held)) for name, held in members.items()
    }
    return names, allocate_sample(shares, size, DEFAULT_FLOOR)


def draw_as_060_did(run: Run, size: int) -> tuple[list[str], dict[str, int]]:
    """As above, by thirds of confidence and Neyman's rule over floors of 20."""
    sure, verdicts = np.array(read_confidences(run)), np.array(run.verdicts)
    names = np.empty(len(sure), dtype=object)
    wanted, sizes = {}, {}
    for verdict in sorted(set(run.verdicts)):
        rows = np.flatnonzero(verdicts == verdict)
        bands = np.searchsorted(np.quantile(sure[rows], [1 / 3, 2 / 3]), sure[rows])
        for band in np.unique(bands):
            name = f"{verdict}/{band}"
            held = rows[bands == band]
            names[held] = name
            share = float(np.clip(sure[held].mean(), 0.05, 0.95))
            wanted[name], sizes[name] = len(held) * math.sqrt(share * (1 - share)), len(held)
    floor = max(f for f in range(OLD_FLOOR + 1) if sum(min(f, n) for n in sizes.values()) <= size)
    chosen = {name: min(floor, count) for name, count in sizes.items()}
    while (left := size - sum(chosen.values())) > 0:
        room = {name: wanted[name] / (chosen[name] + 1) for name in sizes
                if chosen[name] < sizes[name]}  # fmt: skip
        for name in sorted(room, key=lambda name: -room[name])[:left]:
            chosen[name] += 1
            break
    return names.tolist(), chosen


class Interval(NamedTuple):
    """An estimate and where it could lie."""

    value: float
    low: float
    high: float


def correct(
    run: Run,
    names: list[str],
    chosen: dict[str, int],
    generator: Generator,
    factors: Array | None = None,
) -> Interval:
    """Draw claims of every stratum, and estimate the rate as the product does.

    ``factors`` says what each claim counts for, where that is not the same.
    """
    strata = np.array(names)
    counts_for = np.ones(len(names)) if factors is None else factors
    labels = []
    for name, count in chosen.items():
        rows = generator.permutation(np.flatnonzero(strata == name))[:count]
        labels += [
            StratumLabel(
                stratum=name,
                item_id=str(run.clusters[row]),
                supported=bool(run.supported[row]),
                group=run.verdicts[row],
                factor=float(counts_for[row]),
            )
            for row in rows.tolist()
        ]
    found_names, sizes = np.unique(strata, return_counts=True)
    given: dict[str, dict[str | None, float]] = {}
    rows_of = zip(run.clusters.tolist(), run.verdicts, counts_for.tolist(), strict=True)
    for cluster, verdict, factor in rows_of:
        counts = given.setdefault(str(cluster), {})
        counts[verdict] = counts.get(verdict, 0) + factor
    found = estimate_stratified(
        dict(zip(found_names.tolist(), sizes.tolist(), strict=True)), labels, given,
        confidence=CONFIDENCE,
    )  # fmt: skip
    assert found is not None
    return Interval(found.value, found.low, found.high)


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


class Measured(NamedTuple):
    """How a method did in a setting."""

    coverage: float
    width: float
    error: float  # root mean square, around the system's rate
    variance: float  # around the run's own rate


def measure_setting(setting: Setting, runs: int, seed: int) -> dict[str, Measured]:
    """Return how every method did."""
    generator = np.random.Generator(np.random.PCG64(seed))
    found: dict[str, list[Interval]] = {name: [] for name in METHODS}
    own_rates = []
    for _ in range(runs):
        run = simulate_run(setting, generator)
        own_rates.append(float(run.supported.mean()))
        found["corrected"].append(correct(run, *draw_as_rounds_do(run, setting.labels), generator))
        with mock.patch.object(stratified, "FEW_LABELS", 0):
            found["0.6.0"].append(correct(run, *draw_as_060_did(run, setting.labels), generator))
        rows = generator.permutation(len(run.items))[: setting.labels]
        alone = count_rate(run.clusters, run.says)
        found["labels only"].append(count_rate(run.clusters[rows], run.supported[rows]))
        found["judge alone"].append(alone)
        own = count_errors(run.supported[rows], run.says[rows])
        found["Rogan-Gladen"].append(rogan_gladen(alone.value, len(run.items), *own))
        other = simulate_run(setting._replace(rate=0.6, items=80), generator, shift=-0.7)
        foreign = count_errors(other.supported[: setting.labels], other.says[: setting.labels])
        found["other domain's"].append(rogan_gladen(alone.value, len(run.items), *foreign))
    return {
        name: _summarize(intervals, setting.rate, np.array(own_rates))
        for name, intervals in found.items()
    }


def _summarize(intervals: list[Interval], truth: float, own_rates: Array) -> Measured:
    values, lows, highs = np.array(intervals).T
    return Measured(
        coverage=float(((lows <= truth) & (truth <= highs)).mean()),
        width=float((highs - lows).mean()),
        error=float(np.sqrt(((values - truth) ** 2).mean())),
        variance=float(((values - own_rates) ** 2).mean()),
    )


def simulate_scores(items: int, generator: Generator, *, right: bool = False) -> LabelledScores:
    """Draw claims whose scores are twice as sure as they should be, and a little too kind.

    Or that are exactly right.
    """
    sizes = 1 + generator.negative_binomial(3, 0.5, items)
    codes = np.repeat(np.arange(items), sizes)
    true_odds = generator.normal(0.8, 1.0, len(codes)) + generator.normal(0, 0.7, items)[codes]
    supported = generator.random(len(codes)) < special.expit(true_odds)
    scores = special.expit(true_odds if right else 2 * true_odds + 0.6)
    return LabelledScores(
        scores=scores, supported=supported, weights=np.ones(len(codes)), items=codes
    )


class ErrorOfScores(NamedTuple):
    """The calibration error of so many items: uncorrected, corrected, and how its interval did."""

    plain: float
    corrected: float
    coverage: float
    width: float


def measure_scores(items: int, right: bool, truth: float, runs: int, seed: int) -> ErrorOfScores:
    """Return the calibration errors of runs of so many items, on average."""
    generator = np.random.Generator(np.random.PCG64(seed))
    found = []
    for _ in range(runs):
        scored = simulate_scores(items, generator, right=right)
        sums = sum_scored(scored, scored.scores)
        error = measure_error(sums)
        drawn = generator.multinomial(items, np.full(items, 1 / items), size=300).astype(float)
        low, high = bound_error(error, measure_errors(sums, drawn), CONFIDENCE) or (0.0, 1.0)
        held = low <= truth <= high
        found.append((measure_plain_error(sums), error, float(held), high - low))
    return ErrorOfScores(*map(float, np.mean(found, axis=0)))


def report_errors(runs: int, seed: int) -> dict[str, ErrorOfScores]:
    """Print what is made of scores that are right, and of some that are not."""
    print(f"\n# Calibration error of scores, {runs} runs\n")
    print("| scores | true error | items of 4 claims | plain | corrected | "
          "interval holds it | its width |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|---:|")
    results = {}
    for right in (True, False):
        name = "exactly right" if right else "too sure"
        many = simulate_scores(200_000, np.random.Generator(np.random.PCG64(1)), right=right)
        truth = 0.0 if right else measure_plain_error(sum_scored(many, many.scores))
        for items in (15, 50, 250):
            one = measure_scores(items, right, truth, runs, seed + items)
            results[f"{name}, {items} items"] = one
            print(f"| {name} | {truth:.3f} | {items} | {one.plain:.3f} | {one.corrected:.3f} | "
                  f"{one.coverage:.0%} | {one.width:.3f} |", flush=True)  # fmt: skip
    return results


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


def report_settings(runs: int, seed: int) -> dict[Setting, dict[str, Measured]]:
    """Print how every method did in every setting."""
    print(f"# Corrected rates at {CONFIDENCE:.0%}, {runs:,} runs per setting\n")
    print("coverage (mean width, typical error in points)\n")
    print("| kind | rate | ICC | claims | strength | shared | labels | variance | of 0.6.0 | "
          + " | ".join(METHODS) + " |")  # fmt: skip
    print("|---|" + "---:|" * (8 + len(METHODS)))
    results = {}
    for number, setting in enumerate(SETTINGS):
        print(f"{number + 1}/{len(SETTINGS)} {setting}", file=sys.stderr)
        found = results[setting] = measure_setting(setting, runs, seed + number)
        ratios = [found[name].variance / found["labels only"].variance for name in METHODS[:2]]
        cells = [*(f"{ratio:.2f}" for ratio in ratios)]
        cells += [
            f"{m.coverage:.1%} ({100 * m.width:.1f}, {100 * m.error:.1f})" for m in found.values()
        ]
        print(f"| {setting.name} | {' | '.join(cells)} |", flush=True)
    return results


def check_corrections(results: dict[Setting, dict[str, Measured]], noise: float) -> dict[str, bool]:
    """Tell what was asked of corrected rates, and reached."""
    covers = {s: found["corrected"].coverage for s, found in results.items()}
    labels_only = [found["labels only"].coverage for found in results.values()]

    def ratio(setting: Setting) -> float:
        found = results[setting]
        return found["corrected"].variance / found["labels only"].variance

    def widths(name: str, *, few: bool) -> float:
        wanted = [found for s, found in results.items() if (s.labels < 60) == few and s.strength]
        return float(np.mean([found[name].width for found in wanted]))

    return {
        "corrected_covers_worst_90_mean_92_to_98": min(covers.values()) >= 0.90 - noise
        and 0.92 <= float(np.mean(list(covers.values()))) <= 0.98,
        "labels_only_cover_worst_90": min(labels_only) >= 0.90 - noise,
        "variance_strong_at_most_035": ratio(STRONG) <= 0.35 + noise,
        "variance_weak_at_most_08": ratio(WEAK) <= 0.8 + 2 * noise,
        "strong_covers_93": covers[STRONG] >= 0.93 - noise,
        "narrower_than_labels_only": widths("corrected", few=False)
        < 0.9 * widths("labels only", few=False),
        "few_labels_no_wider_than_labels_only": widths("corrected", few=True)
        < widths("labels only", few=True),
        "instrument_alone_fails": min(
            found["judge alone"].coverage for found in results.values()
        ) < 0.5,
        "error_rates_do_not_travel": float(
            np.mean([found["other domain's"].error for found in results.values()])
        ) > float(np.mean([found["corrected"].error for found in results.values()])),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer runs, below 30 seconds")
    parser.add_argument("--seed", type=int, default=60_600)
    options = parser.parse_args()
    runs, map_runs = (25, 10) if options.quick else (400, 100)
    started = time.perf_counter()
    results = report_settings(runs, options.seed)
    errors = report_errors(40 if options.quick else 400, options.seed)
    print(f"\n# Calibration error on 4,000 fresh items, {map_runs} maps\n")
    print("| fitted on | before | after | promised by the held-out folds |\n|---:|---:|---:|---:|")
    maps = {items: measure_maps(items, map_runs, options.seed + items) for items in (40, 100, 300)}
    for items, mapped in maps.items():
        print(
            f"| {items} items | {mapped.before:.3f} | {mapped.after:.3f} | {mapped.promised:.3f} |"
        )
    print(f"\n{time.perf_counter() - started:.0f} s in total.\n")
    checks = check_corrections(results, noise=0.12 if options.quick else 0.0)
    checks["right_scores_read_about_0"] = all(
        one.corrected <= 0.025 for name, one in errors.items() if name.startswith("exactly")
    )
    checks["errors_are_held_in_90"] = min(e.coverage for e in errors.values()) >= (
        0.8 if options.quick else 0.9
    )
    checks["maps_help"] = all(mapped.after < mapped.before / 2 for mapped in maps.values())
    coverage = [found["corrected"].coverage for found in results.values()]
    old = [found["0.6.0"].coverage for found in results.values()]
    widths = [
        float(np.mean([found[name].width for found in results.values()])) for name in METHODS[:2]
    ]
    answer = {
        "benchmark": "calibration",
        "quick": options.quick,
        "runs": runs,
        "coverage": [round(min(coverage), 3), round(float(np.mean(coverage)), 3)],
        "times_as_wide_0.6.0": round(widths[1] / widths[0], 2),
        "coverage_0.6.0": [round(min(old), 3), round(float(np.mean(old)), 3)],
        "ece": {str(items): [round(m.before, 3), round(m.after, 3)] for items, m in maps.items()},
        "checks": checks,
        "holds": all(checks.values()),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
