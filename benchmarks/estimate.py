"""Does the estimate of a window of traffic hold the truth, and what does label-next save?

    python benchmarks/estimate.py            # about three minutes of CPU
    python benchmarks/estimate.py --quick    # below 30 seconds
    python benchmarks/estimate.py --measure-scores FOLDER   # writes the scores again

Simulated traffic: 200 answers a day for a week, each with a true rate of its own (beta, ICC 0.3)
and about 8 claims. Or four weeks whose answers share documents (ICC 0.1 above the items), clustered
by document; or two groups of answers in one of which the judge is far milder. The strong judge is
simulated (AUC 0.98). The built-in judge's scores are drawn, given the label, from those that it
gave on a labelled set of answers with their cited sources, or on all six sets that it had not
learnt from, most of which are about fact checking: benchmarks/data/judge_scores.json has
quantiles.

Labels of random claims, or drawn as `claimwise label-next` draws them, which knows the labels of
the window before. Rivals in the same weeks, on
as many random labels: labels only, and the judge only. A window is covered when the range that
`claimwise estimate` would print holds the system's rate, whatever that range rests on. The last
line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.calibration.maps import LabelledScores
from claimwise.estimates.selection import draw_claims, find_chances, sharpen_scores
from claimwise.estimates.strata import assign_strata
from claimwise.estimates.window import ClaimTable, WindowEstimate, estimate_table

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Numbers = NDArray[np.intp]
Generator = np.random.Generator

SCORES = Path(__file__).parent / "data" / "judge_scores.json"
RATE, ICC, CLAIMS, PER_DAY = 0.9, 0.3, 8.0, 200
DOCUMENT_ICC, DOCUMENTS = 0.1, 250
STRONG, BUILT_IN, ALL_SETS = "strong", "built-in", "built-in, all sets"
MEASURED = {BUILT_IN: "answers", ALL_SETS: "all"}
ANSWERS = (
    "attributionbench",
)  # sentences of answers with the sources that they cite: as in traffic
DESIGNS = ("random", "label-next")
LABELS = (150, 350, 700, 1400)
LOWEST, MEAN = 0.90, (0.93, 0.98)
WIDTH = 0.05
SAVED = {STRONG: 0.6, BUILT_IN: 0.87}


class Setting(NamedTuple):
    """A world, a judge and a number of labels."""

    world: str  # items, groups, documents
    judge: str
    labels: int

    @property
    def name(self) -> str:
        """The setting in a line of a table."""
        return f"{self.world} | {self.judge} | {self.labels:,}"


class Window(NamedTuple):
    """The claims of one simulated window."""

    items: Numbers
    clusters: Numbers
    supported: Flags
    scores: Array
    approved: Flags


def draw_beta(means: Array, icc: float, generator: Generator) -> Array:
    total = (1 - icc) / icc
    inside = np.clip(means, 1e-9, 1 - 1e-9)
    return generator.beta(inside * total, (1 - inside) * total)


def simulate(setting: Setting, generator: Generator) -> Window:
    count = PER_DAY * (28 if setting.world == "documents" else 7)
    above = np.arange(count)
    means = np.full(count, RATE)
    if setting.world == "documents":
        popular = generator.dirichlet(np.full(DOCUMENTS, 2.0))
        above = generator.choice(DOCUMENTS, count, p=popular)
        means = draw_beta(np.full(DOCUMENTS, RATE), DOCUMENT_ICC, generator)[above]
    rates = draw_beta(means, ICC, generator)
    items = np.repeat(np.arange(count), 1 + generator.negative_binomial(3, 3 / (2 + CLAIMS), count))
    supported = generator.random(len(items)) < rates[items]
    scores, threshold = judge(setting, supported, items, generator)
    return Window(items, above[items], supported, scores, scores >= threshold)


def judge(
    setting: Setting, supported: Flags, items: Numbers, generator: Generator
) -> tuple[Array, float]:
    """Return every claim's score, and from which score on the judge says “supported”."""
    if setting.judge == STRONG:
        shared = 0.5 * generator.standard_normal(items.max() + 1)[items]
        odds = 1.6 * (2 * supported - 1) + shared + generator.standard_normal(len(items)) + 0.5
        odds, threshold = 2.2 * odds, 0.5
    else:
        known = json.loads(SCORES.read_text(encoding="utf-8"))
        levels = generator.random(len(items))
        scores = np.empty(len(items))
        for kind in (True, False):
            quantiles = np.array(
                known[MEASURED[setting.judge]]["supported" if kind else "unsupported"]
            )
            inside = supported == kind
            scores[inside] = np.interp(levels[inside], np.linspace(0, 1, len(quantiles)), quantiles)
        odds, threshold = special.logit(np.clip(scores, 1e-4, 1 - 1e-4)), known["threshold"]
    if setting.world == "groups":  # milder in every other answer
        odds = odds + 2.0 * (items % 2)
    return special.expit(odds), threshold


def make_table(
    window: Window, rows: Numbers, chances: Array, *, by_item: bool = False
) -> ClaimTable:
    confidences = np.where(window.approved, window.scores, 1 - window.scores)
    strata, names = assign_strata(window.approved, confidences)
    clusters = window.items if by_item else window.clusters
    return ClaimTable(
        clusters=clusters,
        names=np.arange(clusters.max() + 1),
        strata=strata,
        stratum_names=names,
        scores=window.scores,
        approved=window.approved,
        weights=np.ones(len(strata)),
        rows=rows,
        told=window.supported[rows],
        chances=chances,
    )


def draw(
    design: str, window: Window, labels: int, known: LabelledScores | None, generator: Generator
) -> tuple[Numbers, Array]:
    """Draw claims to label; ``known`` are the labels of the window before."""
    count = len(window.items)
    if design == "random":
        rows = np.sort(generator.choice(count, labels, replace=False))
        return rows, np.full(labels, labels / count)
    chances = find_chances(sharpen_scores(window.scores, known), window.items, labels)
    rows = draw_claims(chances, window.items, generator)
    return rows, chances[rows]


class Tally:
    """What a method said, window after window."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, float, float, float]] = []

    def add(
        self, rate: float | None, low: float | None, high: float | None, corrected: bool
    ) -> None:
        """Note one window."""
        if rate is None or low is None or high is None:
            return  # nothing was said
        self.rows.append((low <= RATE <= high, high - low, rate - RATE, corrected))

    def sum_up(self) -> dict[str, float]:
        """Return the shares and means over all windows."""
        table = np.array(self.rows, dtype=float)
        return {
            "windows": len(table),
            "coverage": round(float(table[:, 0].mean()), 4),
            "width": round(float(table[:, 1].mean()), 4),
            "bias": round(float(table[:, 2].mean()), 4),
            "corrected": round(float(table[:, 3].mean()), 4),
        }


def measure_setting(setting: Setting, windows: int, seed: int) -> dict[str, dict[str, float]]:
    generator = np.random.Generator(np.random.PCG64(seed))
    told: dict[str, Tally] = {}

    def note(method: str, found: WindowEstimate) -> None:
        told.setdefault(method, Tally()).add(
            found.rate, found.low, found.high, found.basis == "corrected"
        )

    known = None
    for number in range(windows):
        window = simulate(setting, generator)
        for design in DESIGNS:
            rows, chances = draw(design, window, setting.labels, known, generator)
            table = make_table(window, rows, chances)
            found = estimate_table(table, seed=number)
            note(design, found)
            if design == "random":
                note("labels only", estimate_table(table, barred=["labels only"]))
                told.setdefault("judge only", Tally()).add(
                    found.judge_only, found.judge_low, found.judge_high, corrected=False
                )
                if setting.world == "documents":
                    by_item = make_table(window, rows, chances, by_item=True)
                    note("clustered by item", estimate_table(by_item, seed=number))
        known = keep_labels(window, table)
    return {method: tally.sum_up() for method, tally in told.items()}


def keep_labels(window: Window, table: ClaimTable) -> LabelledScores:
    """Return a window's labels as the next window's label-next knows them."""
    return LabelledScores(
        scores=table.scores[table.rows],
        supported=table.told,
        weights=table.stands,
        items=window.items[table.rows],
    )


def report(settings: list[Setting], windows: int) -> dict[str, dict[str, dict[str, float]]]:
    print(f"# Estimate of a window, {windows} windows per setting, true rate {RATE:.0%}\n")
    print("| world | judge | labels | method | covers | width, points | off, points | corrected |")
    print("|---|---|---:|---|---:|---:|---:|---:|")
    found = {}
    for number, setting in enumerate(settings):
        found[setting.name] = measure_setting(setting, windows, 1000 + number)
        for method, one in found[setting.name].items():
            name = {"random": "random claims", "label-next": "label-next"}.get(method, method)
            print(
                f"| {setting.name} | {name} | {one['coverage']:.1%} | {100 * one['width']:.1f} | "
                f"{100 * one['bias']:+.1f} | {one['corrected']:.0%} |", flush=True,
            )  # fmt: skip
    return found


def decide(found: dict[str, dict[str, dict[str, float]]]) -> dict[str, object]:
    covers = [one[design]["coverage"] for one in found.values() for design in DESIGNS]
    saved, width = {}, None
    for name in (STRONG, BUILT_IN, ALL_SETS):
        held = found.get(Setting("items", name, 350).name)
        if held:
            saved[name] = round(held["label-next"]["width"] / held["labels only"]["width"], 3)
            if name == STRONG:
                width = held["random"]["width"]
    judge_only = [one["judge only"]["coverage"] for one in found.values()]
    return {
        "coverage_mean": round(float(np.mean(covers)), 4),
        "coverage_lowest": min(covers),
        "coverage_judge_only_mean": round(float(np.mean(judge_only)), 4),
        "width_350_strong": width,
        "label_next_width_share": saved,
        "holds": bool(
            min(covers) >= LOWEST
            and MEAN[0] <= float(np.mean(covers)) <= MEAN[1]
            and (width is None or width <= WIDTH)
            and all(saved[name] <= most for name, most in SAVED.items())
        ),
    }


def measure_scores(folder: Path) -> None:
    """Write the quantiles of the built-in judge's scores, by label, on sets it has not learnt."""
    from claimwise.bench.labelled import find_sets
    from claimwise.bench.measure import bench_verifier
    from claimwise.judges.card import load_card

    card = load_card()
    accuracy = card.verifiers["embedded"]
    sets = [name for name in accuracy.sets if name in find_sets(folder) and name not in card.fitted]
    result = bench_verifier(folder, "embedded", sets=sets, limit=300, resamples=2)
    kept: dict[str, object] = {"labeler": accuracy.labeler, "threshold": accuracy.threshold}
    for name, chosen in (("answers", [one for one in sets if one in ANSWERS]), ("all", sets)):
        claims = [one for one in result.claims if one.set in chosen]
        quantiles = {
            kind: find_quantiles([one.supports for one in claims if one.label == label])
            for kind, label in (("supported", 1), ("unsupported", 0))
        }
        kept[name] = {"sets": chosen, "claims": len(claims), **quantiles}
    SCORES.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    print(json.dumps({"claims": len(result.claims), "sets": sets}))


def find_quantiles(scores: list[float | None]) -> list[float]:
    found = np.quantile(np.array(scores, dtype=float), np.linspace(0, 1, 101))
    return [round(float(one), 4) for one in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer windows and settings")
    parser.add_argument("--windows", type=int, default=200, help="simulated windows per setting")
    parser.add_argument("--measure-scores", type=Path, metavar="FOLDER",
                        help="judge labelled sets; keep the scores")  # fmt: skip
    chosen = parser.parse_args()
    if chosen.measure_scores:
        measure_scores(chosen.measure_scores)
        return
    labels = (350,) if chosen.quick else LABELS
    settings = [
        Setting(world, name, count)
        for world in ("items", "groups", "documents")
        for name in (STRONG, BUILT_IN)
        for count in labels
    ]
    settings.append(Setting("items", ALL_SETS, 350))
    windows = 60 if chosen.quick else chosen.windows
    found = report(settings, windows)
    result = decide(found)
    print(json.dumps({"windows": windows, **result, "settings": found}))
    sys.exit(0 if result["holds"] or chosen.quick else 1)


if __name__ == "__main__":
    main()
