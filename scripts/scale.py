"""What verifying very many claims takes: computed from what benchmarks/shards.py printed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import cog

_ROOT = Path(__file__).parent.parent
_MEASURED = _ROOT / "benchmarks" / "data" / "shards.json"
_BENCHMARKS = _ROOT / "docs" / "benchmarks.md"
_STORED = ("store", "shard", "answer")
_DAY = 86_400
_CORES = 2  # of the machine on which the full judge was timed


def write_cluster_plan(
    *claims_per_day: int, busy: float, core_hour: float, gb_month: float, days_kept: int
) -> None:
    """Write workers, storage and cost for some numbers of claims per day.

    Args:
        claims_per_day: one row for each.
        busy: share of the time that a core is at work.
        core_hour: US$ for a core and an hour.
        gb_month: US$ for a GB of object storage and a month.
        days_kept: how long verdicts are kept.
    """
    measured = json.loads(_MEASURED.read_text(encoding="utf-8"))
    cpu, full = measured["cpu_ms_per_claim"], _read_full_tier()
    store, shards, answers = (measured[f"{what}_bytes_per_claim"] for what in _STORED)
    cog.outl(
        f"\nMeasured with {measured['claims']:,} made-up claims: {cpu:.2f} ms of a core per claim "
        f"for the lexical judge ({full:.0f} ms for the embedded one), {store:,} bytes of tables "
        f"and {shards:,} of shards per claim, compressed, out of {answers:,} "
        "bytes of JSON Lines. Made-up texts are short and compress well: expect several times as "
        f"much storage of real ones. Assumed: cores are busy {busy:.0%} of the time, a core costs "
        f"US$ {core_hour:g} per hour, storage US$ {gb_month:g} per GB and month, and verdicts are "
        f"kept for {days_kept} days, their shards for one.\n"
    )
    cog.outl(
        "| claims per day | claims per second | cores | US$ per day | cores, embedded judge | "
        "US$ per day | new tables per day | kept | storage, US$ per month |"
    )
    cog.outl("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for claims in claims_per_day:
        kept = claims * (store * days_kept + shards)
        cells = [f"{claims:,}", f"{claims / _DAY:,.0f}"]
        for milliseconds in (cpu, full):
            cores = math.ceil(claims * milliseconds / 1000 / _DAY / busy)
            cells += [f"{cores:,}", f"{cores * 24 * core_hour:,.0f}"]
        cells += [_show_bytes(claims * store), _show_bytes(kept), f"{kept / 1e9 * gb_month:,.2f}"]
        cog.outl(f"| {' | '.join(cells)} |")


def _read_full_tier() -> float:
    """Return the milliseconds of a core per claim of the full judge, as the page shows them."""
    text = _BENCHMARKS.read_text(encoding="utf-8")
    [per_second] = re.findall(r"^\| embedded judge, 2 processes \| ([\d.]+) \|", text, re.MULTILINE)
    return 1000 * _CORES / float(per_second)


def _show_bytes(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count / 1e6:,.0f} MB"


def copy_table(heading: str) -> None:
    """Write the first table below a heading of the page of benchmarks."""
    lines = _BENCHMARKS.read_text(encoding="utf-8").splitlines()
    below = lines[lines.index(f"## {heading}") :]
    cog.outl("\n" + "\n".join(_take_table(below)))


def _take_table(lines: list[str]) -> Iterator[str]:
    found = False
    for line in lines:
        if line.startswith("|"):
            found = True
            yield line
        elif found:
            return
