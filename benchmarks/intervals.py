"""How long do intervals take? Ours from counted pairs, the usual ones from every item.

    python benchmarks/intervals.py            # a few minutes
    python benchmarks/intervals.py --quick    # below 30 seconds

The job is one interval for each of 20 slices. Both sides start from the same arrays with one
entry an item: its hits, its claims, and the number of its slice.

* Rival: `[np.mean(np.random.choice(rates, len(rates))) for _ in range(2000)]` on the per-item
  rates of each slice, then two quantiles.
* Ours: items are counted by (slice, hits, claims), the way a database's `group by` would, and
  each slice's pairs become a histogram. “from items” includes that counting, “from pairs” starts
  after it, as the product does. The claims are judged on “from items”.

The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import bootstrap_interval, wilson_interval

SLICES = 20
RESAMPLES = 2_000
SIZES = (1_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True, kw_only=True)
class Items:
    """One entry an item."""

    hits: NDArray[np.int64]
    claims: NDArray[np.int64]
    slice: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Seconds for all slices together."""

    pairs: int
    loop: float
    count: float
    default: float
    bootstrap: float


def make_items(items: int, *, long_tailed: bool = False) -> Items:
    """Draw items with 6 claims on average, a tenth of them hits, ICC 0.3."""
    generator = np.random.Generator(np.random.PCG64(items))
    extra = (
        generator.negative_binomial(3, 3 / 8, items) if long_tailed else generator.poisson(5, items)
    )
    claims = 1 + extra.astype(np.int64)
    hits = generator.binomial(claims, generator.beta(0.7 / 3, 6.3 / 3, items))
    return Items(hits=hits, claims=claims, slice=generator.integers(SLICES, size=items))


def count_items(data: Items) -> list[Histogram]:
    """Count items by slice and pair in one pass, then make one histogram per group."""
    side = int(data.claims.max()) + 1
    counts = np.bincount((data.slice * side + data.hits) * side + data.claims)
    cells = np.flatnonzero(counts)
    slices, rest = np.divmod(cells, side * side)
    borders = np.searchsorted(slices, np.arange(1, SLICES))
    columns = (rest // side, rest % side, counts[cells])
    parts = zip(*(np.split(column, borders) for column in columns), strict=True)
    return [
        Histogram.from_pairs(zip(*(column.tolist() for column in part), strict=True))
        for part in parts
    ]


def rates_by_slice(data: Items) -> list[NDArray[np.float64]]:
    rates = data.hits / data.claims
    return [rates[data.slice == number] for number in range(SLICES)]


def loop(data: Items, resamples: int) -> None:
    for rates in rates_by_slice(data):
        # The rival as people write it, global random state included.
        means = [np.mean(np.random.choice(rates, len(rates))) for _ in range(resamples)]
        np.quantile(means, (0.025, 0.975))


def scipy_bootstrap(data: Items) -> None:
    for rates in rates_by_slice(data):
        stats.bootstrap(
            (rates,), np.mean, n_resamples=RESAMPLES, batch=100, method="percentile", rng=0
        )


def seconds(action: Callable[[], object], times: int) -> float:
    """Return the median of several timings."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        action()
        taken.append(time.perf_counter() - started)
    return median(taken)


def measure(data: Items, loop_resamples: int, times: int) -> Timing:
    histograms = count_items(data)
    loop_time = seconds(lambda: loop(data, loop_resamples), 1)
    return Timing(
        pairs=max(len(h.clusters) for h in histograms),
        loop=loop_time * RESAMPLES / loop_resamples,
        count=seconds(lambda: count_items(data), times),
        default=seconds(lambda: [wilson_interval(h) for h in histograms], times),
        bootstrap=seconds(
            lambda: [bootstrap_interval(h, resamples=RESAMPLES) for h in histograms], times
        ),
    )


def table_row(name: str, t: Timing) -> str:
    default, bootstrap = t.count + t.default, t.count + t.bootstrap
    cells = [
        name,
        str(t.pairs),
        f"{t.loop:.2f}",
        *(f"{1000 * ours:.1f} ({t.loop / ours:,.0f}x)" for ours in (default, t.default)),
        *(f"{1000 * ours:.0f} ({t.loop / ours:,.0f}x)" for ours in (bootstrap, t.bootstrap)),
    ]
    return "| " + " | ".join(cells) + " |"


def figures(t: Timing) -> dict[str, float]:
    return {
        "pairs_a_slice": t.pairs,
        "loop_s": round(t.loop, 3),
        "default_s": round(t.count + t.default, 5),
        "default_from_pairs_s": round(t.default, 5),
        "bootstrap_s": round(t.count + t.bootstrap, 4),
        "bootstrap_from_pairs_s": round(t.bootstrap, 4),
        "default_speedup": round(t.loop / (t.count + t.default), 1),
        "bootstrap_speedup": round(t.loop / (t.count + t.bootstrap), 1),
    }


def verdicts(found: dict[int, Timing]) -> dict[str, bool]:
    middle, large = found[100_000], found[1_000_000]
    return {
        "default_100x_at_100k": middle.loop >= 100 * (middle.count + middle.default),
        "bootstrap_5x_at_100k": middle.loop >= 5 * (middle.count + middle.bootstrap),
        "bootstrap_40x_at_1m": large.loop >= 40 * (large.count + large.bootstrap),
        "bootstrap_1s_at_1m": large.count + large.bootstrap < 1,
        # Ten times the items add only rare pairs; a method that reads items would take ten times.
        "bootstrap_flat_100k_to_1m": large.bootstrap < 2 * middle.bootstrap,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="shorten the rival, below 30 seconds")
    quick = parser.parse_args().quick
    loop_resamples, times = (100, 3) if quick else (RESAMPLES, 5)
    note = f"timed on {loop_resamples} and scaled up linearly" if quick else "all timed"
    print(
        f"# Time for {SLICES} intervals\n\nRival: bootstrap loop of {RESAMPLES} resamples, {note}. "
        f"Ours: medians of {times}, in ms (times faster than the loop).\n\n"
        "| items | pairs per group | loop, s | default, from items | default, from pairs "
        "| bootstrap, from items | bootstrap, from pairs |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    found = {}
    for size in SIZES:
        found[size] = measure(make_items(size), loop_resamples, times)
        print(table_row(f"{size:,}", found[size]), flush=True)
    answer: dict[str, object] = {
        "benchmark": "intervals",
        "quick": quick,
        "slices": SLICES,
        "resamples": RESAMPLES,
        "items": {str(size): figures(timing) for size, timing in found.items()},
        "verdicts": verdicts(found),
        "holds": all(verdicts(found).values()),
    }
    if not quick:
        tail = measure(make_items(1_000_000, long_tailed=True), loop_resamples, times)
        print(table_row("1,000,000 with long-tailed sizes", tail))
        answer["long_tailed_1m"] = figures(tail)
        data = make_items(100_000)
        rival = seconds(lambda: scipy_bootstrap(data), 1)
        print(f"\n`scipy.stats.bootstrap` (percentile, batches of 100) at 100,000: {rival:.2f} s.")
        answer["scipy_bootstrap_100k_s"] = round(rival, 3)
    print(f"\n{json.dumps(answer)}")


if __name__ == "__main__":
    main()
