"""Do intervals of agreement cover, are the figures right, and what do they cost?

Claims of one item are alike in two ways: some items hold more bad claims, and some are harder to
judge. Each setting draws such items, has people label them with slips, and asks how often a
nominal 95% interval holds the value that 40,000 items have.

Rivals: the textbook interval that takes claims for independent, the percentile bootstrap over
claims, and over items the percentile bootstrap and the jackknife with Student's t; for speed, the
definitions written as loops, whose figures must be the same.

    python benchmarks/agreement.py [--quick] [--data ../shared/data/agreement]
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.agreement.coefficients import (
    Ratings,
    measure_ac1,
    measure_alpha,
    measure_fleiss,
    rate_units,
)
from claimwise.agreement.values import Figure

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Bounds = tuple[float, float]

CONFIDENCE = 0.95
LARGE = 40_000
SLIPS = 0.08
OURS = "**ours**"
FIGURES: dict[str, Callable[[Ratings], Figure]] = {
    "Fleiss' kappa": measure_fleiss,
    "Krippendorff's alpha": measure_alpha,
    "Gwet's AC1": measure_ac1,
}
KNOWN = {
    "propsegment": 0.803, "xsum_hallucination": 0.778, "nli_five_raters": 0.662,
    "pubmedqa": 0.455, "shroom": 0.354, "climate_fever": 0.328,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One row: so many items of about four claims each, so much alike, and who labels them."""

    items: int
    prevalence: float
    icc: float
    raters: int
    missing: float
    categories: int
    harder: bool = False  # bad claims are harder to judge, and item sizes vary more


def list_settings() -> list[Setting]:
    """Return the main grid, then one of a process that the method was not chosen on."""
    people = [(2, 0.0, 2), (2, 0.0, 5), (3, 0.0, 5), (3, 0.3, 5)]
    main_grid = itertools.product(people, [30, 100, 300], [0.05, 0.2, 0.5], [0.1, 0.4], [False])
    other = itertools.product([people[1], people[3]], [30, 100, 300], [0.05, 0.2], [0.25], [True])
    return [
        Setting(items=items, prevalence=prevalence, icc=icc, raters=raters, missing=missing,
                categories=categories, harder=harder)
        for (raters, missing, categories), items, prevalence, icc, harder in (*main_grid, *other)
    ]  # fmt: skip


def draw(setting: Setting, items: int, generator: np.random.Generator) -> tuple[Labels, Labels]:
    """Return labels, a line for each claim, and the claims' items."""
    extra = generator.geometric(0.25, items) - 1 if setting.harder else generator.poisson(3, items)
    item = np.repeat(np.arange(items), 1 + extra)
    total = (1 - setting.icc) / setting.icc
    bad, hard = (
        generator.beta(mean * total, (1 - mean) * total, items)[item]
        for mean in (setting.prevalence, SLIPS)
    )
    others = setting.categories - 1
    truth = np.where(
        generator.random(len(item)) < bad, generator.integers(0, others, len(item)) + 1, 0
    )
    if setting.harder:
        hard = np.where(truth > 0, np.minimum(3 * hard, 0.9), hard)
    shape = (len(item), setting.raters)
    wrong = (truth[:, None] + 1 + generator.integers(0, others, shape)) % setting.categories
    labels = np.where(generator.random(shape) < hard[:, None], wrong, truth[:, None])
    return np.where(generator.random(shape) < setting.missing, -1, labels), item


# The rivals: figures from sums over claims or items, written apart from ours.


def sum_columns(labels: Labels, groups: Labels, categories: int) -> Array:
    """Return what each group of claims adds: claims, agreement, matches, labels, shares."""
    counts = (labels[:, :, None] == np.arange(categories)).sum(axis=1)
    kept = counts.sum(axis=1) > 1
    counts, groups = counts[kept], groups[kept]
    size = counts.sum(axis=1)
    matches = (counts * (counts - 1)).sum(axis=1) / (size - 1)
    columns = [
        np.ones(len(counts)),
        matches / size,
        matches,
        *counts.T,
        *(counts / size[:, None]).T,
    ]
    _, place = np.unique(groups, return_inverse=True)
    return np.column_stack([np.bincount(place, weights=column) for column in columns])


def find_values(sums: Array, categories: int) -> dict[str, Array]:
    """Return the figures of lines of sums; NaN where one is undefined."""
    claims, agreeing, matches = sums[:, :3].T
    given, shares = sums[:, 3 : 3 + categories], sums[:, 3 + categories :] / claims[:, None]
    labels = given.sum(axis=1)
    raw = agreeing / claims
    chance = ((given / labels[:, None]) ** 2).sum(axis=1)
    pairs = labels * (labels - 1)
    same = (given * (given - 1)).sum(axis=1)
    guessing = (shares * (1 - shares)).sum(axis=1) / (categories - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "Fleiss' kappa": (raw - chance) / (1 - chance),
            "Krippendorff's alpha": 1 - (1 - matches / labels) / (1 - same / pairs),
            "Gwet's AC1": (raw - guessing) / (1 - guessing),
        }


def leave_out(sums: Array, categories: int, quantile: float) -> dict[str, Bounds]:
    """Figure plus and minus its jackknife error: over claims it is the textbook's interval."""
    whole = find_values(sums.sum(axis=0, keepdims=True), categories)
    left = find_values(sums.sum(axis=0) - sums, categories)
    found = {}
    for name, (value,) in whole.items():
        gaps = np.nan_to_num(left[name] - value)
        half = quantile * math.sqrt((len(sums) - 1) / len(sums) * float(gaps @ gaps))
        found[name] = (value - half, min(1.0, value + half))
    return found


def resample(
    sums: Array, categories: int, resamples: int, generator: np.random.Generator
) -> dict[str, Bounds]:
    weights = generator.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=resamples)
    tails = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    found = {}
    for name, values in find_values(weights @ sums, categories).items():
        low, high = np.nanquantile(values, tails)
        found[name] = (float(low), float(high))
    return found


def bound_all(
    setting: Setting, generator: np.random.Generator, resamples: int
) -> dict[str, dict[str, Bounds]]:
    """Return the bounds of every figure by method; without resamples, of the quick methods."""
    labels, item = draw(setting, setting.items, generator)
    size = setting.categories
    ratings = rate_units(labels, [str(one) for one in item], size)
    ours = {name: measure(ratings) for name, measure in FIGURES.items()}
    if any(figure.low is None for figure in ours.values()):
        return {}  # a draw of one verdict throughout
    by_claim = sum_columns(labels, np.arange(len(labels)), size)
    by_item = sum_columns(labels, item, size)
    student = float(special.stdtrit(len(by_item) - 1, (1 + CONFIDENCE) / 2))
    found = {
        "textbook (claims)": leave_out(by_claim, size, float(special.ndtri((1 + CONFIDENCE) / 2))),
        "jackknife t (items)": leave_out(by_item, size, student),
        OURS: {name: (figure.low or 0.0, figure.high or 0.0) for name, figure in ours.items()},
    }
    if resamples:
        found["bootstrap (claims)"] = resample(by_claim, size, resamples, generator)
        found["bootstrap (items)"] = resample(by_item, size, resamples, generator)
    return found


METHODS = (
    "textbook (claims)", "bootstrap (claims)", "bootstrap (items)", "jackknife t (items)", OURS
)  # fmt: skip
Coverage = dict[tuple[str, str], tuple[float, float]]


def measure_setting(
    setting: Setting, runs: int, resampled: int, seed: int, large: int = LARGE
) -> Coverage:
    """Return coverage and mean width by figure and method."""
    generator = np.random.default_rng(seed)
    labels, item = draw(setting, large, generator)
    truth = find_values(
        sum_columns(labels, item, setting.categories).sum(axis=0, keepdims=True), setting.categories
    )
    found: dict[tuple[str, str], list[tuple[bool, float]]] = {}
    for number in range(runs):
        for method, figures in bound_all(
            setting, generator, 200 if number < resampled else 0
        ).items():
            for name, (low, high) in figures.items():
                covered = low <= float(truth[name][0]) <= high
                found.setdefault((name, method), []).append((covered, high - low))
    return {
        key: (float(np.mean([c for c, _ in each])), float(np.mean([w for _, w in each])))
        for key, each in found.items()
    }


def report_coverage(results: dict[Setting, Coverage]) -> dict[str, dict[str, dict[str, float]]]:
    """Print coverage by figure and method, and the settings of Fleiss' kappa."""
    summary: dict[str, dict[str, dict[str, float]]] = {}
    for name in FIGURES:
        print(
            f"\n### {name}\n\n| method | worst | mean | mean width |\n| --- | ---: | ---: | ---: |"
        )
        summary[name] = {}
        for method in METHODS:
            coverage, width = np.array([each[name, method] for each in results.values()]).T
            worst, mean = float(coverage.min()), float(coverage.mean())
            print(f"| {method} | {100 * worst:.1f} | {100 * mean:.1f} | {width.mean():.3f} |")
            summary[name][method.strip("*")] = {"worst": round(worst, 4), "mean": round(mean, 4)}
    print("\n### The settings, Fleiss' kappa: coverage in % (mean width)\n")
    print(
        "| people | missing | verdicts | items | prevalence | ICC | " + " | ".join(METHODS) + " |"
    )
    print("| " + " | ".join(["---:"] * (6 + len(METHODS))) + " |")
    for s, each in results.items():
        cells = [
            f"{100 * covered:.1f} ({width:.2f})"
            for covered, width in (each["Fleiss' kappa", method] for method in METHODS)
        ]
        about = (s.raters, f"{s.missing:.0%}", s.categories, s.items, f"{s.prevalence:.0%}", s.icc)
        print("| " + " | ".join([*map(str, about), *cells]) + " |")
    return summary


# Figures that are known, and the loop that says the same


def read_known(folder: Path) -> dict[str, float | None]:
    """Return our kappa of every published set in a folder."""
    found = {}
    for name in KNOWN:
        path = folder / f"{name}.jsonl.xz"
        if not path.is_file():
            raise SystemExit(f"{path}: no such file; --data names a folder with the labelled sets")
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        found[name] = rate_published(name, rows)
    return found


def rate_published(name: str, rows: list[dict[str, Any]]) -> float | None:
    told = [[read_label(name, one) for one in row["annotators"]] for row in rows]
    kinds = sorted({one for unit in told for one in unit if one is not None})
    table = np.full((len(told), max(map(len, told))), -1)
    for row, unit in zip(table, told, strict=True):
        for place, one in enumerate(unit):
            row[place] = -1 if one is None else kinds.index(one)
    items = [str(row.get("group", row["id"])) for row in rows]
    return measure_fleiss(rate_units(table, items, len(kinds))).value


def read_label(name: str, told: str) -> str | None:
    """Return a label as the known figures count it: no statement is no label."""
    if name == "xsum_hallucination":
        return "faithful" if told == "faithful" else "not"
    return None if told == "UNSPECIFIED" else told


def loop_fleiss(table: list[list[int]]) -> float:
    """Fleiss' kappa as its definition reads."""
    agreeing, given = [], Counter[int]()
    for row in table:
        unit = [label for label in row if label != -1]
        if len(unit) > 1:
            pairs = list(itertools.combinations(unit, 2))
            agreeing.append(sum(a == b for a, b in pairs) / len(pairs))
            given.update(unit)
    chance = sum((count / given.total()) ** 2 for count in given.values())
    return (sum(agreeing) / len(agreeing) - chance) / (1 - chance)


def loop_jackknife(table: list[list[int]], items: list[int]) -> tuple[float, float]:
    """Kappa and its error over items, computed again without each."""
    value = loop_fleiss(table)
    gaps = []
    for left in sorted(set(items)):
        kept = [row for row, item in zip(table, items, strict=True) if item != left]
        gaps.append(loop_fleiss(kept) - value)
    return value, math.sqrt((len(gaps) - 1) / len(gaps) * sum(gap**2 for gap in gaps))


def race(items: int) -> dict[str, float]:
    """Time ours and the loop on the same labels, and compare what they find."""
    setting = Setting(items=items, prevalence=0.2, icc=0.3, raters=3, missing=0.2, categories=5)
    labels, item = draw(setting, items, np.random.default_rng(1))
    names = [str(one) for one in item]
    started = time.perf_counter()
    ours = measure_fleiss(rate_units(labels, names, 5))
    halfway = time.perf_counter()
    value, _ = loop_jackknife(labels.tolist(), item.tolist())
    ended = time.perf_counter()
    return {
        "claims": len(item),
        "ours_ms": 1000 * (halfway - started),
        "loop_ms": 1000 * (ended - halfway),
        "times_faster": (ended - halfway) / (halfway - started),
        "apart": abs((ours.value or math.nan) - value),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer runs, below 30 seconds")
    parser.add_argument("--data", type=Path, help="folder with the published labels")
    parser.add_argument("--seed", type=int, default=6)
    options = parser.parse_args()
    runs, resampled, large = (25, 5, 5_000) if options.quick else (400, 80, LARGE)
    started = time.perf_counter()
    print(
        f"# Agreement: coverage of nominal {CONFIDENCE:.0%} intervals\n\n{runs} draws per setting "
        f"({resampled} for bootstraps, 200 resamples each), seed {options.seed}."
    )
    results = {}
    for number, setting in enumerate(list_settings()):
        print(f"{number + 1}/{len(list_settings())} {setting}", file=sys.stderr)
        results[setting] = measure_setting(setting, runs, resampled, options.seed + number, large)
    summaries = {}
    for process, harder in (("alike", False), ("bad claims harder", True)):
        print(f"\n## Claims: {process}")
        summaries[process] = report_coverage(
            {setting: found for setting, found in results.items() if setting.harder == harder}
        )
    speed = race(50 if options.quick else 300)
    print(
        f"\nFleiss' kappa with its error over {speed['claims']} claims: {speed['ours_ms']:.1f} ms, "
        f"as a loop {speed['loop_ms']:.0f} ms."
    )
    known = read_known(options.data) if options.data else {}
    for name, value in known.items():
        print(f"{name}: {value:.4f}, known {KNOWN[name]}")
    print(f"\n{time.perf_counter() - started:.0f} s in total.\n")
    # A quick run draws too little to see 95%: it shows that everything works.
    least = (0.60, 0.90) if options.quick else (0.88, 0.93)
    covers = all(
        each["ours"]["worst"] >= least[0] and least[1] <= each["ours"]["mean"] <= 0.98
        for summary in summaries.values()
        for each in summary.values()
    )
    right = all(abs((known[name] or 0) - KNOWN[name]) < 0.0005 for name in known)
    answer = {
        "benchmark": "agreement",
        "quick": options.quick,
        "runs": runs,
        "settings": len(results),
        "coverage": summaries,
        "speed": {name: round(value, 12) for name, value in speed.items()},
        "known": {name: round(value or 0, 4) for name, value in known.items()},
        "holds": covers and right and speed["apart"] < 1e-9 and speed["times_faster"] > 1,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
