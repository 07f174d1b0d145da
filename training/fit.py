"""Fits the few dozen numbers that turn evidence into calibrated probabilities, and measures them.

    python training/features.py ../shared/data/dev --out WORK/features.jsonl
    python training/features.py ../shared/data/train --only faithdial --out WORK/more.jsonl
    python training/fit.py WORK/features.jsonl --more WORK/more.jsonl --date 2026-11-15

writes ``combiner.json`` and ``card.json`` into the package. The combiner learns from the openly
licensed dev sets and from one training set; the others only measure. Every figure of the card
comes from fits that never saw the set: its rows are in none of weights, calibration and threshold.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from claimwise.judges.card import Card
from claimwise.judges.combine import Combiner, LogisticModel, Tier
from claimwise.judges.embedded import doubt
from claimwise.judges.overlap import OverlapVerifier
from claimwise.metrics.accuracy import (
    MeasuredAccuracy,
    Resampling,
    average_sets,
    compare_sets,
    measure_set,
    rate_claims,
)
from claimwise.types.accuracy import VerifierAccuracy

Array = NDArray[np.float64]
FITTED = ("wice", "summedits", "bump", "factcheck_bench", "fool_me_twice")
# Three of those five are made of small edits, where words tell nothing; without a set of ordinary
# replies the combiner would unlearn to count words.
MORE = ("faithdial",)
VERSION = "7"
SPREAD = 4  # steps of 0.01 by which a threshold's neighbours count for it (of a normal curve)
# "+" may only speak for, "-" only against: a sign that one odd set would turn is not learned.
EVIDENCE = {
    "lexical": (
        "+recall", "+digest_recall", "+best_recall", "+pairs_recall", "-numbers_missing",
        "-numbers_nowhere", "-names_missing", "-negation_differs", "-opposites",
    ),
    "embedded": (
        "+encoder", "-encoder_against", "+recall", "+best_recall", "+pairs_recall",
        "-numbers_missing", "-numbers_nowhere", "-names_missing", "-negation_differs", "-opposites",
    ),
}  # fmt: skip
AGAINST = {
    "lexical": ("+recall", "+best_recall", "+numbers_missing", "+negation_differs", "+opposites"),
    "embedded": (
        "+encoder_against", "+recall", "+best_recall", "+numbers_missing", "+negation_differs",
        "+opposites",
    ),
}  # fmt: skip
_CONTRADICTED = ("REFUTES", "refute", "Intrinsic")
_NEITHER = ("irrelevant", "partially", "not_supported", "Extrinsic")
PRIOR = 0.38  # share of supported claims that the probabilities assume: the sets' own vary


@dataclass
class Set:
    """The labelled claims of one set."""

    values: list[dict[str, float]]
    labels: NDArray[np.int64]
    groups: list[str]
    raw: list[str]

    def columns(self, names: tuple[str, ...]) -> Array:
        """Return the named evidence as a matrix."""
        return np.array([[v[name.lstrip("+-")] for name in names] for v in self.values])


def read_sets(path: Path) -> dict[str, Set]:
    """Read what ``features.py`` wrote."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            rows[row["set"]].append(row)
    return {
        name: Set(
            [r["values"] for r in some],
            np.array([r["label"] for r in some]),
            [r["group"] for r in some],
            [r["raw"] for r in some],
        )
        for name, some in rows.items()
    }


def fit_model(
    names: tuple[str, ...], matrix: Array, labels: Array, weights: Array, penalty: float = 0.01
) -> LogisticModel:
    """Fit a logistic model with signs, by penalised likelihood on standardised evidence."""
    weights = weights / weights.sum()
    centre = weights @ matrix
    spread = np.sqrt(weights @ (matrix - centre) ** 2) + 1e-6
    scaled = (matrix - centre) / spread

    def loss(vector: Array) -> tuple[float, Array]:
        total = scaled @ vector[:-1] + vector[-1]
        value = weights @ (np.logaddexp(0, total) - labels * total)
        gap = weights * (1 / (1 + np.exp(-total)) - labels)
        slope = np.append(scaled.T @ gap + 2 * penalty * vector[:-1], gap.sum())
        return float(value + penalty * (vector[:-1] ** 2).sum()), slope

    bounds = [(0, None) if n[0] == "+" else (None, 0) for n in names] + [(None, None)]
    start = np.zeros(len(names) + 1)
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    slopes = found[:-1] / spread
    return LogisticModel(
        tuple(name.lstrip("+-") for name in names),
        tuple(round(float(slope), 6) for slope in slopes),
        round(float(found[-1] - slopes @ centre), 6),
    )


def weigh_rows(some: Set) -> Array:
    """Give every set the same weight, and supported claims the assumed share of it."""
    good = some.labels == 1
    weights: Array = np.where(good, PRIOR / good.sum(), (1 - PRIOR) / (~good).sum())
    return weights


def fit_tier(name: str, sets: dict[str, Set]) -> Tier:
    """Fit both models of a tier and choose its threshold on the same sets."""
    matrix = np.concatenate([s.columns(EVIDENCE[name]) for s in sets.values()])
    labels = np.concatenate([s.labels for s in sets.values()]).astype(float)
    weights = np.concatenate([weigh_rows(s) for s in sets.values()])
    supports = fit_model(EVIDENCE[name], matrix, labels, weights)
    tier = Tier(supports, fit_against(name, sets), 0.5)
    return msgspec.structs.replace(tier, threshold=choose_threshold(tier, sets))


def fit_against(name: str, sets: dict[str, Set]) -> LogisticModel:
    """Fit how likely unsupported claims are contradicted, where the raw labels say."""
    rows, labels, weights = [], [], []
    for some in sets.values():
        marks = np.array([_contradicted(raw) for raw in some.raw])
        told = (some.labels == 0) & (marks >= 0)
        if not told.any():
            continue
        rows.append(some.columns(AGAINST[name])[told])
        labels.append(marks[told])
        weights.append(np.full(told.sum(), 1 / told.sum()))
    target = np.concatenate(labels).astype(float)
    weight = np.concatenate(weights)
    for kind in (0, 1):  # both kinds weigh the same
        weight[target == kind] /= weight[target == kind].sum()
    return fit_model(AGAINST[name], np.concatenate(rows), target, weight)


def _contradicted(raw: str) -> int:
    if raw.startswith(_CONTRADICTED):
        return 1
    return 0 if raw.startswith(_NEITHER) else -1


def score(tier: Tier, some: Set) -> Array:
    """Return the probabilities of support, by the product's own code."""
    return np.array([_score_values(tier, values) for values in some.values])


def _score_values(tier: Tier, values: dict[str, float]) -> float:
    scores = tier.score(values)
    return (doubt(scores) if values["misbound"] else scores).supports


def choose_threshold(tier: Tier, sets: dict[str, Set]) -> float:
    """Return the threshold with the best mean balanced accuracy over sets."""
    return _best_threshold({name: score(tier, s) for name, s in sets.items()}, sets)


def _best_threshold(scores: dict[str, Array], sets: dict[str, Set]) -> float:
    def mean(threshold: float) -> float:
        return float(np.mean([
            0.5 * ((p[s.labels == 1] >= threshold).mean() + (p[s.labels == 0] < threshold).mean())
            for p, s in ((scores[name], s) for name, s in sets.items())
        ]))  # fmt: skip

    grid = np.round(np.arange(0.05, 1.0, 0.01), 2)
    means = np.array([mean(t) for t in grid])
    # The best of a smoothed curve: one lucky threshold is not the shipped one.
    reach = 5 * SPREAD
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / SPREAD) ** 2)
    smooth = np.convolve(np.pad(means, reach, mode="edge"), kernel / kernel.sum(), mode="valid")
    return float(grid[int(smooth.argmax())])


def measure(
    sets: dict[str, Set], more: dict[str, Set], hopeless: float, how: Resampling
) -> tuple[dict[str, dict[str, MeasuredAccuracy]], dict[str, Any]]:
    """Score every set with fits that left it out; return the measurements by verifier."""
    measured: dict[str, dict[str, MeasuredAccuracy]] = defaultdict(dict)
    compared: dict[str, list[Any]] = defaultdict(list)
    for name, some in sets.items():
        rest = {other: sets[other] for other in FITTED if other != name} | more
        tiers = {tier: fit_tier(tier, rest) for tier in EVIDENCE}
        ratings = {
            "overlap": rate_claims(
                some.columns(("overlap",))[:, 0],
                list(some.labels == 1),
                some.groups,
                OverlapVerifier.threshold,
            )
        }
        lexical = score(tiers["lexical"], some)
        full = np.where(
            lexical < hopeless,
            lexical,
            score(tiers["embedded"], some),
        )
        for tier, values in (("lexical", lexical), ("embedded", full)):
            ratings[tier] = rate_claims(
                values, list(some.labels == 1), some.groups, tiers[tier].threshold
            )
        for tier, rating in ratings.items():
            measured[tier][name] = measure_set(rating, how)
        for tier in EVIDENCE:
            gap = compare_sets(measured[tier][name], measured["overlap"][name], how)
            compared[tier].append(gap)
    return measured, compared


def main() -> None:
    """Fit, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=Path)
    parser.add_argument("--more", type=Path, required=True, help="features of the training set")
    parser.add_argument("--date", required=True, help="the day of the measurement")
    parser.add_argument(
        "--out", type=Path,
        default=Path(__file__).parent.parent / "src/claimwise/judges/data",
    )  # fmt: skip
    parser.add_argument("--hopeless", type=float, default=0.02)
    options = parser.parse_args()
    sets = read_sets(options.features)
    how = Resampling(resamples=2000, seed=0)
    more = {name: some for name, some in read_sets(options.more).items() if name in MORE}
    measured, compared = measure(sets, more, options.hopeless, how)
    lessons = {name: sets[name] for name in FITTED} | more
    combiner = Combiner(
        VERSION,
        fit_tier("lexical", lessons),
        fit_tier("embedded", lessons),
        options.hopeless,
    )
    card = Card(
        version=VERSION,
        measured_on=options.date,
        fitted=(*FITTED, *MORE),
        verifiers={
            tier: describe(tier, measured[tier], compared[tier], combiner) for tier in EVIDENCE
        },
        baseline=describe("overlap", measured["overlap"], [], combiner),
        verdicts={},  # of the judge that this makes: benchmarks/verdicts.py
    )
    for name, value in (("combiner.json", combiner), ("card.json", card)):
        text = msgspec.json.format(msgspec.json.encode(value), indent=1)
        (options.out / name).write_bytes(text + b"\n")
    for accuracy in (card.baseline, *card.verifiers.values()):
        show(accuracy)


def describe(
    name: str, measured: dict[str, MeasuredAccuracy], compared: list[Any], combiner: Combiner
) -> VerifierAccuracy:
    """Return a verifier's figures with what it leads the baseline by."""
    accuracies = {set_name: m.accuracy for set_name, m in measured.items()}
    for (set_name, accuracy), gap in zip(list(accuracies.items()), compared, strict=False):
        accuracies[set_name] = msgspec.structs.replace(accuracy, difference=gap.difference)
    return round_figures(
        VerifierAccuracy(
            verifier=name,
            labeler=OverlapVerifier.labeler if name == "overlap" else f"verifier:{name}-{VERSION}",
            threshold=OverlapVerifier.threshold
            if name == "overlap"
            else getattr(combiner, name).threshold,
            sets=accuracies,
            macro=average_sets(list(measured.values()), compared),
        )
    )


def round_figures(accuracy: VerifierAccuracy) -> VerifierAccuracy:
    """Keep four digits: more would only make the file change with every machine."""

    def cut(value: Any) -> Any:
        if isinstance(value, float):
            return round(value, 4)
        if isinstance(value, dict):
            return {key: cut(v) for key, v in value.items()}
        return [cut(v) for v in value] if isinstance(value, list) else value

    plain = cut(msgspec.to_builtins(accuracy))
    return msgspec.convert(plain, VerifierAccuracy)


def show(accuracy: VerifierAccuracy) -> None:
    """Print the figures of one verifier."""
    macro = accuracy.macro
    print(
        f"{accuracy.verifier}: BA {macro.balanced_accuracy:.3f} AUC {macro.auc:.3f} "
        f"ECE {macro.ece:.3f} {macro.difference}"
    )
    for name, a in accuracy.sets.items():
        print(
            f"  {name:24} n {a.n:5} AUC {a.auc:.3f} BA {a.balanced_accuracy:.3f} "
            f"sens {a.sensitivity:.2f} spec {a.specificity:.2f} ECE {a.ece:.3f}"
        )


if __name__ == "__main__":
    main()
