"""Claims verified in shards: by Ray, against plain multiprocessing, and while it is killed.

Files of made-up answers, five claims each, half of them wrong in a number, judged by the lexical
tier. Rival, in turns with ours: ``multiprocessing.Pool.map`` of the same work, file by file (read,
split, judge, write a store's rows), without plan, resumption, retries and merging. Beside it, for
comparison, a pool that calls ``claimwise.check`` for each row and writes the verdicts alone: what
ids, checked rows and a store cost. Asked: two Ray workers at least 1.7 times one;
per claim at most 15% more of the processor than the rival; memory flat: in the last third of the
job the workers and the driver hold at most 1.15 times what they held in the second; twenty kills of
workers and drivers at random, after which every claim is there once, with the verdict of an
undisturbed job. The processor's seconds are compared since other programs may be at work: what the
driver and one worker took, against the driver's and half of what two workers took. On a machine
with nothing else to do that is the clock's; the clock's own ratio is printed too. ``--quick`` is
too short for speed and memory: it asks for the rest.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import random
import resource
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import claimwise
from claimwise.checking.run import describe_verifier
from claimwise.judges.judge import load_verifier
from claimwise.shards.engines import ProcessEngine, RayEngine, ShardEngine, verify_shard
from claimwise.shards.judging import OfflineJudge
from claimwise.shards.places import list_inputs
from claimwise.shards.values import JobSettings, Shard
from claimwise.shards.verify import ShardsResult, verify_shards
from claimwise.shards.work import ShardJob, find_splitter
from claimwise.store import open_store

CLAIMS = 5  # per answer
PER_FILE = 400  # answers
SPEEDUP, OVERHEAD, GROWTH = 1.7, 1.15, 1.15
_DEADLINE = 600.0
_THINGS = ("tower", "bridge", "museum", "garden", "harbour", "library", "station")
_FACTS = (
    "The {thing} of town {town} is {n} m high",
    "It was opened in {year} by the mayor",
    "A ticket for the {thing} costs {price} euros",
    "About {visitors} people visit the {thing} every day",
    "The roof of the {thing} was repaired in {later}",
)


class Plan(NamedTuple):
    """How much is measured."""

    claims: int  # of the job whose memory is watched
    round_claims: int  # of a job that is timed
    rounds: int
    kills: int
    kill_files: int


QUICK = Plan(claims=1_000, round_claims=1_000, rounds=1, kills=2, kill_files=6)
WHOLE = Plan(claims=1_000_000, round_claims=20_000, rounds=3, kills=20, kill_files=40)


def make_row(number: int) -> dict[str, Any]:
    """Return an answer of five claims, of which those with an odd number have a wrong figure."""
    chance = random.Random(number)
    thing = _THINGS[number % len(_THINGS)]
    figures = {
        "thing": thing, "town": number, "n": chance.randint(20, 300),
        "year": chance.randint(1850, 1950), "price": chance.randint(2, 40),
        "visitors": chance.randint(100, 9000), "later": chance.randint(1960, 2020),
    }  # fmt: skip
    wrong = {
        name: value + 7 if isinstance(value, int) else value for name, value in figures.items()
    }
    wrong["town"] = number
    told = [
        fact.format(**(wrong if (number + place) % 2 else figures))
        for place, fact in enumerate(_FACTS)
    ]
    filler = f"The {thing} stands near the river. Guides are there on every day of the week. "
    true = ". ".join(fact.format(**figures) for fact in _FACTS)
    return {
        "question": f"What is there to know about the {thing} of town {number}?",
        "answer": ". ".join(told) + ".",
        "contexts": [f"{filler}{true}.", filler * 3],
    }


def write_files(folder: Path, claims: int, per_file: int = PER_FILE) -> str:
    """Write answers with so many claims, in eight files or more; return their pattern."""
    folder.mkdir()
    answers = claims // CLAIMS
    per_file = min(per_file, answers // 8)
    for first in range(0, answers, per_file):
        rows = (make_row(number) for number in range(first, min(first + per_file, answers)))
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / f"part-{first:08}.jsonl").write_text(text, encoding="utf-8")
    return f"{folder}/*.jsonl"


class Timed(NamedTuple):
    """What a job took."""

    claims: int
    seconds: float
    cpu: float
    alone: float = 0.0  # of it, what one process does while no worker can

    @property
    def cpu_ms(self) -> float:
        """Milliseconds of the processor per claim."""
        return 1000 * self.cpu / self.claims


def verify(pattern: str, output: Path, engine: ShardEngine) -> ShardsResult:
    with engine as opened:
        return verify_shards(
            [pattern], str(output), OfflineJudge("lexical"), load_verifier("lexical"), opened,
            run_id="job", options={},
        )  # fmt: skip


def time_ours(pattern: str, output: Path, workers: int) -> Timed:
    begin, own = time.perf_counter(), time.process_time()
    result = verify(pattern, output, RayEngine("auto", workers))
    alone = time.process_time() - own
    cpu = result.own.cpu_seconds + alone
    return Timed(result.own.judged, time.perf_counter() - begin, cpu, alone)


_rival: list[Any] = []


def check_file(path: str) -> int:
    """Verify a file as one would without us: row by row, into a file of verdicts."""
    import polars

    if not _rival:
        _rival.append(load_verifier("lexical"))
    rows = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found = claimwise.check(
            row["answer"], row["contexts"], question=row["question"], verifier=_rival[0]
        )
        rows += [
            {
                "question": row["question"], "claim": one.claim.wording, "verdict": one.verdict,
                "confidence": one.confidence, "reason": one.reason,
                "span": None if one.span is None else one.span.text,
            }
            for one in found.claims
        ]  # fmt: skip
    polars.DataFrame(rows).write_parquet(f"{path}.verdicts")
    return len(rows)


def verify_plainly(job: ShardJob, shard: Shard) -> int:
    """Verify a file as a worker does, for a pool that knows nothing of jobs."""
    outcome = verify_shard(job, shard)
    assert outcome.record is not None, outcome
    return outcome.record.counts.judged


def time_pool(tasks: list[Callable[[], int]], warm: Callable[[], int], workers: int) -> Timed:
    """Time a plain pool; its processes are started and warm before the clock is."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        spent = sum(pool.map(_warm_up, [warm] * workers, chunksize=1))
        begin = time.perf_counter()
        claims = sum(pool.map(_call, tasks, chunksize=1))
        seconds = time.perf_counter() - begin
        pool.close()
        pool.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - spent
    return Timed(claims, seconds, cpu)


def _call(task: Callable[[], int]) -> int:
    return task()


def _warm_up(task: Callable[[], int]) -> float:
    task()
    return time.process_time()


def time_rival(pattern: str, output: Path, workers: int) -> Timed:
    """Time the same work in a plain pool."""
    judge = load_verifier("lexical")
    settings = JobSettings(
        run_id="job", started_at=datetime.now(UTC), judge=describe_verifier(judge),
        splitter=find_splitter(), options={},
    )  # fmt: skip
    job = ShardJob(settings=settings, judge=OfflineJudge("lexical"), output=str(output))
    files = list_inputs([pattern])
    tasks = [
        partial(verify_plainly, job, Shard(file=file, number=number))
        for number, file in enumerate(files)
    ]
    return time_pool(list(tasks), tasks[0], workers)


def time_checks(pattern: str, workers: int) -> Timed:
    """Time verdicts alone in a plain pool."""
    tasks = [partial(check_file, file.url) for file in list_inputs([pattern])]
    return time_pool(list(tasks), tasks[0], workers)


@contextmanager
def watch_memory(seen: list[float]) -> Iterator[None]:
    """Note every half second how many MB this process and all workers hold together."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.5):
            seen.append(sum(_read_memory(pid) for pid in _find_workers()))

    watching = threading.Thread(target=look)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()


def _find_workers() -> list[int]:
    found = [os.getpid()]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::verify_shard"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def _read_memory(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Whole(NamedTuple):
    """What the whole job took."""

    timed: Timed
    peak: float  # MB of all processes together
    growth: float  # of the last third over the second
    store_bytes: float  # of the output's tables, per claim
    shard_bytes: float  # of its shards
    answer_bytes: float  # of the input


def measure_whole(folder: Path, claims: int) -> Whole:
    """Verify the whole, and watch the memory and the disk that it takes."""
    pattern = write_files(folder / "whole", claims)
    seen: list[float] = []
    with watch_memory(seen):
        timed = time_ours(pattern, folder / "whole-out", 2)
    third = max(1, len(seen) // 3)
    second, last = seen[third : 2 * third] or seen, seen[2 * third :] or seen
    return Whole(
        timed,
        max(seen),
        median(last) / median(second),
        _count_bytes((folder / "whole-out").glob("*.parquet")) / timed.claims,
        _count_bytes((folder / "whole-out/shards").rglob("*.parquet")) / timed.claims,
        _count_bytes((folder / "whole").iterdir()) / timed.claims,
    )


def _count_bytes(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def drive(pattern: str, output: str) -> None:
    os.setsid()
    verify(pattern, Path(output), ProcessEngine(2))


def kill_at_random(folder: Path, plan: Plan) -> dict[str, Any]:
    """Kill workers and drivers of a job until it was done so many times; then let it finish."""
    chance = random.Random(21)
    pattern = write_files(folder / "kills", plan.kill_files * 40 * CLAIMS, 40)
    verify(pattern, folder / "undisturbed", ProcessEngine(2))
    output, killed = folder / "kills-out", {"worker": 0, "driver": 0}
    while sum(killed.values()) < plan.kills:
        driver = multiprocessing.get_context("spawn").Process(
            target=drive, args=(pattern, str(output))
        )
        driver.start()
        while driver.is_alive() and sum(killed.values()) < plan.kills:
            workers = _wait_for_work(driver, output)
            time.sleep(chance.uniform(0.0, 0.3))  # anywhere in a shard
            target = chance.choice(["worker", "worker", "driver"])
            with suppress(ProcessLookupError, IndexError):
                os.kill(chance.choice(workers) if target == "worker" else driver.pid or 0, 9)
                killed[target] += 1
            if target == "driver":
                driver.join(_DEADLINE)
        if sum(killed.values()) >= plan.kills:
            driver.kill()
        driver.join(_DEADLINE)
        _end_group(driver.pid or 0)
        if _count_done(output) == plan.kill_files:
            _forget_half(output)
    verify(pattern, output, ProcessEngine(2))
    undisturbed, found = read_verdicts(folder / "undisturbed"), read_verdicts(output)
    twice = len(found) - len(set(found))
    return {
        "kills": killed,
        "claims": len(found),
        "twice": twice,
        "missing": len(set(undisturbed) - set(found)),
        "identical": sorted(found) == sorted(undisturbed),
    }


def _wait_for_work(driver: multiprocessing.process.BaseProcess, output: Path) -> list[int]:
    """Return a driver's workers when one of them has begun a shard since this was called."""
    old, end = set(output.glob("shards/.claimwise-part-*")), time.monotonic() + _DEADLINE
    while driver.is_alive():
        if set(output.glob("shards/.claimwise-part-*")) - old:
            return _find_children(driver.pid or 0)
        if time.monotonic() > end:
            raise SystemExit("waited in vain for a worker")
        time.sleep(0.01)
    return []


def _find_children(pid: int) -> list[int]:
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(one) for one in path.read_text(encoding="ascii").split()]
    return [one for one in found if b"spawn_main" in _read_command(one)]


def _read_command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _end_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _count_done(output: Path) -> int:
    return len(list(output.glob("shards/*/shard.json")))


def _forget_half(output: Path) -> None:
    """Have more to do for the kills that are left."""
    for path in sorted(output.glob("shards/*/shard.json"))[::2]:
        path.unlink()


def read_verdicts(output: Path) -> list[tuple[Any, ...]]:
    """Return all that a job says of its claims, but when."""
    with open_store(output) as store:
        return store.query(
            "select c.item_id, c.sample, c.claim_id, c.claim_text, l.verdict, l.supporting_span, "
            "l.source_id, l.span_start, l.confidence, l.reason from claims as c left join labels "
            "as l on l.item_id = c.item_id and l.claim_id = c.claim_id"
        )


def measure_rounds(folder: Path, plan: Plan) -> dict[str, list[Timed]]:
    """Time one worker, two workers and the rival, in turns."""
    pattern = write_files(folder / "rounds", plan.round_claims)
    found: dict[str, list[Timed]] = {"one": [], "two": [], "rival": [], "checks": []}
    verify(write_files(folder / "warm", 40 * CLAIMS, 20), folder / "warm-out", RayEngine("auto", 2))
    for number in range(plan.rounds):
        found["one"].append(time_ours(pattern, folder / f"one-{number}", 1))
        found["two"].append(time_ours(pattern, folder / f"two-{number}", 2))
        found["rival"].append(time_rival(pattern, folder / f"rival-{number}", 2))
        found["checks"].append(time_checks(pattern, 2))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--claims", type=int, help="in the job whose memory is watched")
    given = parser.parse_args()
    plan = QUICK if given.quick else WHOLE
    if given.claims:
        timed = min(plan.round_claims, given.claims // 4)
        plan = plan._replace(claims=given.claims, round_claims=timed)
    import ray

    with tempfile.TemporaryDirectory(prefix="claimwise-shards-") as name:
        folder = Path(name)
        ray.init(
            num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
        )
        rounds = measure_rounds(folder, plan)
        whole = measure_whole(folder, plan.claims)
        ray.shutdown()
        kills = kill_at_random(folder, plan)
    report(plan, rounds, whole, kills)


def report(
    plan: Plan,
    rounds: dict[str, list[Timed]],
    whole: Whole,
    kills: dict[str, Any],
) -> None:
    print(
        "| what | claims | claims/s | ms of the processor per claim |\n| --- | ---: | ---: | ---: |"
    )
    names = {
        "one": "Ray, one worker",
        "two": "Ray, two workers",
        "rival": "plain pool of two, the same work",
        "checks": "plain pool of two, verdicts alone",
    }
    for name, turns in rounds.items():
        rate = median(one.claims / one.seconds for one in turns)
        cost = median(one.cpu_ms for one in turns)
        print(f"| {names[name]} | {turns[0].claims:,} | {rate:,.0f} | {cost:.2f} |")
    timed = whole.timed
    print(
        f"| Ray, two workers, the whole job | {timed.claims:,} | "
        f"{timed.claims / timed.seconds:,.0f} | {timed.cpu_ms:.2f} |"
    )
    pairs = list(zip(*rounds.values(), strict=True))
    by_clock = median(one.seconds / two.seconds for one, two, _, _ in pairs)
    speedup = median(one.cpu / (two.alone + (two.cpu - two.alone) / 2) for one, two, _, _ in pairs)
    overhead = median(two.cpu_ms / rival.cpu_ms for _, two, rival, _ in pairs)
    rows = median(two.cpu_ms / checks.cpu_ms for _, two, _, checks in pairs)
    figures = {
        "claims": timed.claims,
        "speedup": round(speedup, 2),
        "speedup_by_clock": round(by_clock, 2),
        "overhead": round(overhead, 3),
        "of_verdicts_alone": round(rows, 3),
        "cpu_ms_per_claim": round(timed.cpu_ms, 3),
        "peak_mb": round(whole.peak),
        "growth": round(whole.growth, 3),
        "store_bytes_per_claim": round(whole.store_bytes),
        "shard_bytes_per_claim": round(whole.shard_bytes),
        "answer_bytes_per_claim": round(whole.answer_bytes),
        "kills": kills,
    }
    quick = plan.rounds == QUICK.rounds
    holds = overhead <= OVERHEAD and kills["identical"] and not kills["twice"]
    if not quick:
        holds = holds and speedup >= SPEEDUP and whole.growth <= GROWTH
    print(json.dumps({**figures, "quick": quick, "holds": holds}))


if __name__ == "__main__":
    main()
