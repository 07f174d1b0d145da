"""Does the split of a movement find the causes that were planted? Simulated pairs of runs.

    python benchmarks/drift.py            # a minute or two
    python benchmarks/drift.py --quick    # below 30 seconds

Items have beta rates (so hits are beta-binomial) and 1 plus negative-binomial claims, drawn again
for each run: the two answers to an item are alike through its rate alone. A cause moves the true
rates of the items that it concerns; the instrument drops a share of the supported verdicts of
the new run, and a part of the base run's claims is judged by both instruments. The truth of each
part is its definition, worked out on the true rates.

Rival: the difference of both runs' rates with its (unpaired, clustered) interval, blamed on the
system. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.comparison.decomposition import (
    BASE_ONLY,
    KEPT,
    MOVED,
    NEW_ONLY,
    Overlap,
    PairedCounts,
    Split,
    split_movement,
)
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import variance

CONFIDENCE = 0.95
LEAST = 0.92
PARTS = ("system", "evidence", "mix", "instrument")
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One row: what was planted, in points of the rate, and on which items."""

    name: str
    rate: float = 0.85
    icc: float = 0.3
    claims: int = 5
    kept: int = 200
    moved: int = 0
    base_only: int = 0
    new_only: int = 0
    system: float = 0.0
    evidence: float = 0.0  # of the items whose evidence changed
    harder: float = 0.0  # how much lower the rate of new items is
    instrument: float = 0.0
    rejudged: float = 0.0  # share of the base run's items that both instruments judged

    def chances(self, group: int) -> tuple[float, float]:
        """Return the true rates of a group of items in both runs, as people would judge them."""
        start = self.rate - self.harder if group == NEW_ONLY else self.rate
        end = start + self.system + (self.evidence if group == MOVED else 0.0)
        return start, end

    @property
    def sizes(self) -> dict[int, int]:
        """The number of items by group."""
        return {BASE_ONLY: self.base_only, NEW_ONLY: self.new_only, KEPT: self.kept,
                MOVED: self.moved}  # fmt: skip

    @property
    def harshness(self) -> float:
        """The share of supported claims that the new instrument does not support."""
        return -self.instrument / self.rate

    def truth(self) -> dict[str, float]:
        """Return the parts by their definitions."""

        def rate(new: bool, *groups: int) -> float:
            items = sum(self.sizes[group] for group in groups)
            told = 1 - self.harshness if new else 1.0
            hits = sum(self.sizes[group] * self.chances(group)[new] for group in groups)
            return told * hits / items

        whole = rate(True, NEW_ONLY, KEPT, MOVED) - rate(False, BASE_ONLY, KEPT, MOVED)
        shared = rate(True, KEPT, MOVED) - rate(False, KEPT, MOVED)
        kept = rate(True, KEPT) - rate(False, KEPT)
        return {
            "whole": whole,
            "mix": whole - shared,
            "evidence": shared - kept,
            "instrument": self.instrument,
            "system": kept - self.instrument,
        }


_ALL = Setting(
    name="all four", moved=80, kept=160, base_only=40, new_only=80, system=-0.05, evidence=-0.15,
    harder=0.2, instrument=-0.04, rejudged=0.5,
)  # fmt: skip
SETTINGS = (
    Setting(name="nothing"),
    Setting(name="system", system=-0.05),
    Setting(name="evidence", kept=150, moved=60, evidence=-0.15),
    Setting(name="mix", base_only=60, new_only=90, harder=0.2),
    Setting(name="instrument", instrument=-0.05, rejudged=0.4),
    Setting(name="system, evidence", kept=150, moved=60, system=-0.05, evidence=-0.15),
    Setting(name="system, mix", base_only=60, new_only=90, system=-0.05, harder=0.2),
    Setting(name="system, instrument", system=-0.05, instrument=-0.05, rejudged=0.4),
    Setting(name="evidence against system", kept=150, moved=60, system=0.05, evidence=-0.2),
    _ALL,
    replace(_ALL, name="all four, small", kept=40, moved=20, base_only=15, new_only=20),
    replace(_ALL, name="all four, alike claims", icc=0.5, claims=10),
    replace(_ALL, name="all four, good system", rate=0.95, system=-0.03, harder=0.1,
            instrument=-0.02),
    Setting(name="system, good, small", rate=0.97, kept=60, moved=15, system=-0.03),
)  # fmt: skip


def simulate(
    setting: Setting, generator: np.random.Generator
) -> tuple[PairedCounts, Overlap | None]:
    group = np.repeat(list(setting.sizes), list(setting.sizes.values()))
    start, end = np.array([setting.chances(int(g)) for g in group]).T
    total = (1 - setting.icc) / setting.icc
    base_chance = generator.beta(start * total, (1 - start) * total)
    new_chance = move(base_chance, start, end)
    base_units, base_hits = ask(generator, setting, base_chance)
    new_units, new_hits = ask(generator, setting, new_chance)
    new_hits = generator.binomial(new_hits, 1 - setting.harshness)
    base_units, base_hits = (a * (group != NEW_ONLY) for a in (base_units, base_hits))
    new_units, new_hits = (a * (group != BASE_ONLY) for a in (new_units, new_hits))
    counts = PairedCounts(
        base_hits=base_hits.astype(float),
        base_units=base_units.astype(float),
        new_hits=new_hits.astype(float),
        new_units=new_units.astype(float),
        group=group,
        scale=np.ones(len(group)),
    )
    if not setting.instrument:
        return counts, None
    drawn = generator.random(len(group)) < setting.rejudged
    old_hits, old_units = base_hits * drawn, base_units * drawn
    again = generator.binomial(old_hits, 1 - setting.harshness)
    return counts, Overlap(
        old_hits=old_hits.astype(float),
        old_units=old_units.astype(float),
        new_hits=again.astype(float),
        new_units=old_units.astype(float),
        share=1.0,
    )


def move(chance: Array, start: Array, end: Array) -> Array:
    """Move every item's chance so that the mean goes from start to end, within 0 and 1."""
    down = chance * end / start
    up = 1 - (1 - chance) * (1 - end) / (1 - start)
    return np.where(end <= start, down, up)


def ask(
    generator: np.random.Generator, setting: Setting, chance: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    units = 1 + generator.negative_binomial(3, 3 / (3 + setting.claims - 1), len(chance))
    return units, generator.binomial(units, chance)


def blame_system(counts: PairedCounts) -> tuple[float, float]:
    """Return the interval of the plain difference of both runs' rates: the rival."""
    base = Histogram.from_clusters(counts.base_hits, counts.base_units)
    new = Histogram.from_clusters(counts.new_hits, counts.new_units)
    spread = (variance(base) or 0.0) + (variance(new) or 0.0)
    change = new.hits / new.units - base.hits / base.units
    half = float(special.stdtrit(base.items + new.items - 2, (1 + CONFIDENCE) / 2))
    half *= math.sqrt(spread)
    return change - half, change + half


@dataclass(kw_only=True)
class Tally:
    """How often an interval held the truth, how wide it was, how far off its middle."""

    held: int = 0
    width: float = 0.0
    error: float = 0.0

    def add(self, low: float, high: float, truth: float) -> None:
        """Count one interval."""
        self.held += low - 1e-12 <= truth <= high + 1e-12
        self.width += high - low
        self.error += (low + high) / 2 - truth


def measure(setting: Setting, runs: int, seed: int) -> tuple[dict[str, Tally], float]:
    """Return the tally of each part and of the rival, and how far parts missed the whole."""
    generator = np.random.Generator(np.random.PCG64(seed))
    truth = setting.truth()
    tallies = {name: Tally() for name in (*PARTS, "whole", "rival")}
    gap = 0.0
    for _ in range(runs):
        counts, overlap = simulate(setting, generator)
        split = split_movement(
            counts, overlap, instrument_changed=overlap is not None, confidence=CONFIDENCE
        )
        assert isinstance(split, Split)
        for piece in split.pieces:
            (name,) = piece.causes
            tallies[name].add(piece.low, piece.high, truth[name])
        tallies["whole"].add(split.whole.low, split.whole.high, truth["whole"])
        tallies["rival"].add(*blame_system(counts), truth["system"])
        gap = max(gap, abs(sum(piece.change for piece in split.pieces) - split.whole.change))
    return tallies, gap


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def show(tally: Tally, truth: float, runs: int) -> str:
    if not tally.width and not truth:
        return "0, exact"
    return f"{100 * truth:+.1f}: {100 * tally.held / runs:.1f} ({100 * tally.width / runs:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer runs, below 30 seconds")
    parser.add_argument("--seed", type=int, default=5_150)
    options = parser.parse_args()
    runs = 200 if options.quick else 2_000
    started = time.perf_counter()
    print(
        f"# Planted causes\n\n{runs} simulated pairs of runs a row, seed {options.seed}. A cell: "
        "the planted part in points, the share of 95 % intervals that hold it in %, their mean "
        "width in points. The rival's interval is asked for the system's part.\n"
    )
    names = [*PARTS, "whole", "rival"]
    print(row(["planted", "items", *names, "rival is off by"]))
    print(row(["---", "---:", *["---:"] * len(names), "---:"]))
    worst, worst_rival, gap = 1.0, 1.0, 0.0
    for number, setting in enumerate(SETTINGS):
        print(f"{number + 1}/{len(SETTINGS)} {setting.name}", file=sys.stderr)
        tallies, missed = measure(setting, runs, options.seed + number)
        truth = setting.truth() | {"rival": setting.truth()["system"]}
        cells = [show(tallies[name], truth[name], runs) for name in names]
        off = f"{100 * tallies['rival'].error / runs:+.1f}"
        print(row([setting.name, str(sum(setting.sizes.values())), *cells, off]))
        worst = min(worst, *(tallies[name].held / runs for name in (*PARTS, "whole")))
        worst_rival = min(worst_rival, tallies["rival"].held / runs)
        gap = max(gap, missed)
    # Fewer runs leave more to chance: three standard errors.
    least = LEAST - (3 * math.sqrt(LEAST * (1 - LEAST) / runs) if options.quick else 0.0)
    print(
        f"\nWorst coverage of a part {100 * worst:.1f} %, of the rival {100 * worst_rival:.1f} %; "
        f"parts miss the whole by at most {gap:.1g}. {time.perf_counter() - started:.0f} s.\n"
    )
    answer = {
        "benchmark": "drift",
        "quick": options.quick,
        "runs": runs,
        "settings": len(SETTINGS),
        "worst_coverage": round(worst, 4),
        "rival_worst_coverage": round(worst_rival, 4),
        "parts_miss_whole_by": gap,
        "holds": bool(worst >= least and gap < 1e-9),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
