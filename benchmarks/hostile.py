r"""Hostile text, files, connections and kills: does work stay in proportion, and is nothing lost?

Growth: the processor's time for texts that once took the square of their length, at one length and
at four (full: eight) times that length. Rival: one pass of the pattern ``\w+`` over the same text.
Asked: an exponent at most 0.3 above the rival's, or above 1; a pattern known to be quadratic shows
that more would be noticed. A Parquet file of some kilobytes that unpacks to 4.4 GB is refused;
a smaller one is read in less memory than DuckDB's ``fetchall`` takes. A round with a floor of
10^18 is drawn in the time of one with a floor of 20.

Kills: people label over HTTP while a real ``claimwise serve`` is killed by -9 and started again;
``claimwise verify`` and ``claimwise export`` are killed and repeated. Rivals, in the same run: a
program that acknowledges what is in its buffer, judging that starts over, and a file written in its
place. Slow clients: 100 connections (full: 200) that never finish a request, to our server and to
uvicorn as it comes. Asked: no acknowledged label lost or doubled, no claim judged twice or left
out, no half file, nothing left lying, every slow connection dropped.

All of this goes on at once, on the same cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from annotate_load import Plan, fill_store
from claimwise.labelling.draw import StratumAllocation, allocate_sample
from support.growth_cases import (
    CONTROL,
    MOST_EXCESS,
    Growth,
    list_cases,
    measure_cpu,
    measure_growth,
)
from support.kill_loops import (
    Exported,
    LostLabels,
    Resumed,
    kill_export,
    kill_server,
    kill_verify,
)
from support.labelers import Pace
from support.served_app import serve
from support.slow_clients import BODY, HEADER, Dropped, SlowClients, serve_plainly

MOST_BOMB_MB = 200.0
MOST_FLOOR_RATIO = 5.0


class Size(NamedTuple):
    """How much is done."""

    length: int  # of the shorter texts
    times: int
    server_kills: int
    labels: int  # by each person
    kills: int  # of verify, and of export
    answers: int
    bodies: int  # connections that never finish a request's body, which may take a minute


QUICK = Size(4_000, 4, 1, 15, 1, 700, 0)
FULL = Size(125_000, 8, 28, 400, 5, 8_000, 100)
SLOW_CLIENTS = 100


# Memory and floors


_READERS = {
    "ours": "from claimwise.readers.parquet import read_parquet\n"
    "rows = lambda: (row['source_text'] for _, row in read_parquet(Path(sys.argv[1])))",
    "fetchall": "rows = lambda: (row[0] for row in duckdb.connect().execute("
    "'select source_text from read_parquet(?)', [sys.argv[1]]).fetchall())",
}
_MEASURE = """
import sys
from pathlib import Path
import duckdb
sys.path.insert(0, {support!r})
from support.memory import read_peak_memory
from claimwise.errors import InputError
{reader}
duckdb.connect(":memory:").execute("select 1").fetchall()
before, read = read_peak_memory(), 0
try:
    for text in rows():
        read += len(text)
except InputError:
    read = -1
print(read, read_peak_memory() - before)
"""


class Bomb(NamedTuple):
    """What small Parquet files with large contents take."""

    file_kb: float
    refused: bool
    refused_mb: float  # of memory, to refuse it
    read_mb: float  # to read a smaller one
    rival_mb: float


def measure_bomb(folder: Path, rows: int) -> Bomb:
    """Read one that is beyond the limits, and one within, which the rival reads as well."""
    large, small = (
        write_bomb(folder / "large.parquet", 4_400),
        write_bomb(folder / "s.parquet", rows),
    )
    refused, refused_mb = read_apart(large, "ours")
    whole, read_mb = read_apart(small, "ours")
    same, rival_mb = read_apart(small, "fetchall")
    if not whole == same == rows * 1_000_000:
        raise SystemExit(f"read {whole:,} and {same:,} characters, expected {rows:,} million")
    return Bomb(large.stat().st_size / 1024, refused == -1, refused_mb, read_mb, rival_mb)


def write_bomb(path: Path, rows: int) -> Path:
    """Write one text of a megabyte that stands in all rows."""
    import duckdb

    select = f"select repeat('a', 1000000) as source_text from range({rows})"
    duckdb.connect().execute(f"copy ({select}) to '{path}' (format parquet, compression zstd)")
    return path


def read_apart(path: Path, reader: str) -> tuple[int, float]:
    """Read a file in a process of its own; return the characters (-1: refused) and peak MB."""
    code = _MEASURE.format(support=str(Path(__file__).parent), reader=_READERS[reader])
    told = subprocess.run(
        [sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True
    ).stdout.split()
    return int(told[-2]), float(told[-1])  # DuckDB may show its progress before


def measure_floor() -> float:
    """Return how many times as long a floor of 10^18 takes as one of 20."""
    shares = {f"stratum {n}": StratumAllocation(1_000 * (n + 1), 0.1 + n / 30) for n in range(10)}
    least, most = (
        measure_cpu(lambda floor=floor: allocate_sample(shares, 1_000, floor))  # type: ignore[misc]
        for floor in (20, 10**18)
    )
    return most / least


# The tables


def print_growth(found: Sequence[Growth]) -> None:
    print("| what | text | characters | CPU s | times the rival | exponent | rival's |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for each in found:
        unit = each.unit if len(each.unit) < 12 else f"{each.unit[:10]}…"
        figures = f"{each.seconds:.3f} | {each.ratio:,.0f} | {each.exponent:.2f}"
        print(
            f"| {each.what} | `{unit}` | {each.length:,} | {figures} | {each.rival_exponent:.2f} |"
        )


def print_losses(
    lost: LostLabels, resumed: Resumed, exported: Exported, slow: Sequence[tuple[Dropped, Dropped]]
) -> None:
    print("\n| what was done | times | what was lost or left | rival | its loss |")
    print("| --- | ---: | --- | --- | --- |")
    print(
        f"| `serve` killed while people label | {lost.kills} | {len(lost.problems)} problems with "
        f"{lost.acknowledged:,} acknowledged labels ({lost.resent} requests sent again) "
        f"| acknowledges from its buffer | {lost.rival_lost:.0f} lines per kill |"
    )
    print(
        f"| `verify` killed and repeated | {resumed.kills} | of {resumed.claims:,} claims "
        f"{resumed.twice} judged twice, {resumed.missing} missing "
        f"| starts over | judges {resumed.rival_share:.1f} times the claims |"
    )
    print(
        f"| `export` killed and repeated | {exported.kills} | {exported.half_files} half files, "
        f"{exported.left_in_the_end} of {exported.leftovers} leftovers in the end "
        f"| writes in place | {exported.rival_half_files} half files |"
    )
    for part, (ours, rival) in zip(("header", "body"), slow, strict=False):
        print(
            f"| requests whose {part} never ends | {ours.opened} | "
            f"{ours.opened - ours.dropped} connections still open "
            f"| uvicorn as it comes | {rival.opened - rival.dropped} still open |"
        )


def decide(
    growths: Sequence[Growth],
    control: Growth,
    bomb: Bomb,
    floor: float,
    lost: LostLabels,
    resumed: Resumed,
    exported: Exported,
    slow: Sequence[tuple[Dropped, Dropped]],
) -> dict[str, bool]:
    """Return what was asked, and whether it was reached."""
    return {
        "growth": all(each.excess <= MOST_EXCESS for each in growths),
        "squares are noticed": control.excess > MOST_EXCESS,
        "bomb": bomb.refused and bomb.refused_mb < MOST_BOMB_MB and bomb.read_mb < bomb.rival_mb,
        "floor": floor < MOST_FLOOR_RATIO,
        "labels": lost.kills > 0 and not lost.problems and lost.resent > 0,
        "resumed": resumed.kills > 0 and resumed.twice == resumed.missing == 0,
        "exports": exported.kills > 0 and exported.half_files == exported.left_in_the_end == 0,
        "slow clients": all(ours.dropped == ours.opened for ours, _ in slow),
        "losses are noticed": lost.rival_lost > 0 and exported.rival_half_files > 0,
    }


def open_slow(port: int, size: Size, ends: ExitStack) -> list[SlowClients]:
    """Open the slow connections to a port."""
    wanted = [(SLOW_CLIENTS, HEADER), (size.bodies, BODY)]
    clients = [SlowClients(port, count, begins) for count, begins in wanted if count]
    return [ends.enter_context(closing(each)) for each in clients]


class Costs(NamedTuple):
    """What hostile inputs take."""

    growths: list[Growth]
    control: Growth
    bomb: Bomb
    floor: float


def measure_costs(size: Size, folder: Path) -> Costs:
    """Measure times and memory, in a process of its own: the others' time is not counted."""
    cases = list_cases(folder)
    if size == QUICK:
        cases = list({each.what: each for each in cases}.values())  # one text of each kind
    growths = [measure_growth(each, size.length, size.times) for each in cases]
    control = measure_growth(CONTROL, min(size.length, 25_000), size.times)
    return Costs(growths, control, measure_bomb(folder, 300), measure_floor())


def kill_commands(size: Size, folder: Path) -> tuple[Resumed, Exported]:
    """Judge a run, then export it, both killed on the way."""
    place = str(folder / "run.db")
    resumed = kill_verify(place, folder, size.kills, size.answers)
    return resumed, kill_export(place, folder, size.kills)


def run_all(size: Size, folder: Path) -> dict[str, Any]:
    """Measure everything, print the tables, and return the figures."""
    with ExitStack() as ends:
        apart = ends.enter_context(ProcessPoolExecutor(1, get_context("spawn")))
        beside = ends.enter_context(ThreadPoolExecutor(2))
        measured = apart.submit(measure_costs, size, folder)
        labelled = beside.submit(kill_server, folder, size.server_kills, size.labels)
        commanded = beside.submit(kill_commands, size, folder)
        fill_store(str(folder / "slow.db"), Plan(1, Pace(1, 0.0)))
        port = ends.enter_context(serve(str(folder / "slow.db"), folder)).port
        ours = open_slow(port, size, ends)
        rivals = open_slow(ends.enter_context(serve_plainly()), size, ends)
        growths, control, bomb, floor = measured.result()
        lost, (resumed, exported) = labelled.result(), commanded.result()
        # What our server is still waiting for ends within two minutes; the rival had as long.
        slow = [(a.count(90.0), b.count(0.0)) for a, b in zip(ours, rivals, strict=True)]
    print_growth([*growths, control])
    print(
        f"\nParquet of {bomb.file_kb:.1f} KB that unpacks to 4.4 GB: refused in "
        f"{bomb.refused_mb:.0f} MB. One of 300 MB: read in {bomb.read_mb:.0f} MB, by fetchall in "
        f"{bomb.rival_mb:.0f} MB. A floor of 10^18: {floor:.2f} times as long as one of 20."
    )
    print_losses(lost, resumed, exported, slow)
    for problem in lost.problems:
        print(f"PROBLEM: {problem}")
    reached = decide(growths, control, bomb, floor, lost, resumed, exported, slow)
    return {
        "growth": {f"{each.what}: {each.unit}": round(each.exponent, 2) for each in growths},
        "control": round(control.exponent, 2),
        "bomb": {key: round(value, 1) for key, value in bomb._asdict().items()},
        "floor_ratio": round(floor, 2),
        "server": lost._asdict(),
        "verify": resumed._asdict(),
        "export": exported._asdict(),
        "slow": [{"ours": a._asdict(), "rival": b._asdict()} for a, b in slow],
        "reached": reached,
        "holds": all(reached.values()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short texts, one kill of each")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="claimwise-hostile-") as name:
        figures = run_all(QUICK if args.quick else FULL, Path(name))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
