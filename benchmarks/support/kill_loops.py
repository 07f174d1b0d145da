"""Real commands that are killed at random moments, and rivals that lose something by it.

Every loop says what it found; whether that is right is for the benchmark to decide.
"""

from __future__ import annotations

import filecmp
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from annotate_load import Plan, check_store, fill_store, utc_now
from claimwise.store import Store, open_store
from claimwise.types.rows import Answer, Context, Item, Placed, Row, Run, Source
from support.labelers import Labeler, Pace
from support.served_app import Server

COMMAND = (sys.executable, "-c", "from claimwise.cli.main import main; main()")
LABELERS = 3
_DEADLINE = 120.0
_PART = ".claimwise-part-*"

moments = random.Random(20261116)


def wait_until(holds: Callable[[], bool], what: str, *, pause: float = 0.03) -> None:
    """Wait for a condition.

    Raises:
        SystemExit: it did not come about.
    """
    give_up = time.monotonic() + _DEADLINE
    while not holds():
        if time.monotonic() > give_up:
            raise SystemExit(f"waited {_DEADLINE:g} s in vain: {what}")
        time.sleep(pause)


def kill(process: subprocess.Popen[bytes]) -> bool:
    """End a process as a power cut would; return whether it was still at work."""
    os.kill(process.pid, signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


# Labels over HTTP, while the server is killed


class SteadyLabeler(Labeler):
    """Labels and never takes back: a taking back that is sent twice is refused, rightly."""

    def _label(self, task: dict[str, Any]) -> None:
        self._save(task, self._choose(task))


class LostLabels(NamedTuple):
    """What became of acknowledged labels."""

    kills: int
    acknowledged: int
    resent: int
    problems: list[str]
    rival_lost: float  # per kill


def kill_server(folder: Path, kills: int, labels: int) -> LostLabels:
    """Let people label while their server is killed again and again, spread over their work."""
    place, plan = str(folder / "labels.db"), Plan(LABELERS, Pace(labels, 0.0))
    round_id = fill_store(place, plan)
    server = Server(place, folder)
    try:
        everyone = threading.Barrier(LABELERS)
        people = [
            SteadyLabeler(server.port, round_id, f"person{n}", plan.pace, everyone)
            for n in range(LABELERS)
        ]
        for person in people:
            person.start()
        step = LABELERS * labels / (kills + 1)
        done = sum(_kill_at(server, people, step * n) for n in range(1, kills + 1))
        for person in people:
            person.join()
    finally:
        server.stop()
    problems = [error for person in people for error in person.errors]
    with open_store(place) as store:
        problems += check_store(store, people, plan)
    return LostLabels(
        kills=done,
        acknowledged=sum(len(person.acknowledged) for person in people),
        resent=sum(person.retries for person in people),
        problems=problems,
        rival_lost=_kill_journal(folder / "journal.txt", kills),
    )


def _kill_at(server: Server, people: list[SteadyLabeler], wanted: float) -> bool:
    """Kill the server once so many labels are given, and start it again."""
    wait_until(
        lambda: (
            sum(len(person.acknowledged) for person in people) >= wanted
            or not all(person.is_alive() for person in people)
        ),
        "people label",
    )
    time.sleep(moments.uniform(0, 0.05))
    at_work = any(person.is_alive() for person in people)
    server.kill()
    server.restart()
    return at_work


_JOURNAL = """
import sys
with open(sys.argv[1], "w") as file:
    for line in sys.stdin:
        file.write(line)
        print("saved", flush=True)
"""


def _kill_journal(path: Path, kills: int) -> float:
    """Return how many acknowledged lines a program loses per kill that trusts its buffer."""
    lost = 0
    for _ in range(kills):
        process = subprocess.Popen(
            [sys.executable, "-c", _JOURNAL, str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        count = moments.randint(1, 60)
        for number in range(count):
            process.stdin.write(b"label %d\n" % number)
            process.stdin.flush()
            process.stdout.readline()
        kill(process)
        process.stdout.close()
        process.stdin.close()
        lost += count - len(path.read_bytes().splitlines())
    return lost / kills


# A run that is judged, while the command is killed


class Resumed(NamedTuple):
    """What became of a run's claims."""

    kills: int
    claims: int
    twice: int  # judged more than once
    missing: int  # not judged in the end
    rival_share: float  # of the claims judged by starting over after every kill; ours is 1


def kill_verify(place: str, folder: Path, kills: int, answers: int) -> Resumed:
    """Judge a run by ``claimwise verify``, killed as soon as it has stored something more."""
    with open_store(place, create=True) as store:
        rows = enumerate(_make_run(answers), start=1)
        store.load((Placed(row, 0, number) for number, row in rows), ["made"])
        arguments = ("verify", "--verifier", "lexical", "--store", place)
        done, stored = 0, [0]
        for _ in range(kills):
            process = start_command(folder, *arguments)
            wait_until(
                lambda process=process: (
                    process.poll() is not None  # type: ignore[misc]
                    or _count(store, "labels") > stored[-1]
                ),
                "more is judged",
            )
            time.sleep(moments.uniform(0, 0.2))
            done += kill(process)
            stored.append(_count(store, "labels"))
        run_command(folder, *arguments)
        twice = _count(
            store,
            "(select 1 from labels group by item_id, claim_id, labeler having count(*) > 1) as t",
        )
        claims = _count(store, "claims")
        judged = _count(store, "(select distinct item_id, claim_id from labels) as t")
    return Resumed(done, claims, twice, claims - judged, 1 + sum(stored) / claims)


def _count(store: Store, rows: str) -> int:
    return int(store.query(f"select count(*) from {rows}")[0][0])


def _make_run(answers: int) -> Iterator[Row]:
    """Yield a run whose answers have five claims each, which are not split yet."""
    yield Run(run_id="run", system="museum", corpus_ver="v1", started_at=utc_now())
    for number in range(answers):
        name = f"i{number:05}"
        text = (
            f"Room {number} holds {number + 3} paintings. It is open from 9 to {number % 9 + 10}."
        )
        told = (f"Painting {n} of room {number} is {n + 2} m wide." for n in range(5))
        yield Source(source_id=name, corpus_ver="v1", source_text=text)
        yield Item(
            item_id=name, query=f"What is in room {number}?", query_type="lookup",
            answerable=True, stakes="low", source_corpus_ver="v1",
        )  # fmt: skip
        yield Answer(run_id="run", item_id=name, answer_text=" ".join(told))
        yield Context(run_id="run", item_id=name, position=0, context_text=text, source_id=name)


def start_command(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start ``claimwise`` in a folder, silently."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def run_command(folder: Path, *arguments: str) -> None:
    """Run ``claimwise`` to its end."""
    subprocess.run([*COMMAND, *arguments], cwd=folder, check=True, capture_output=True)


# An export that is killed


class Exported(NamedTuple):
    """What killed exports left behind."""

    kills: int
    half_files: int  # under their final names
    leftovers: int  # under hidden names, after all kills
    left_in_the_end: int  # after one more export
    rival_half_files: int


def kill_export(place: str, folder: Path, kills: int) -> Exported:
    """Export a store over an older export, killed at random moments; then once to the end."""
    whole, target = folder / "whole", folder / "target"
    run_command(folder, "export", str(whole), "--store", place)
    done = half = rival_half = 0
    for _ in range(kills):
        done += _kill_one_export(place, folder, target, _count_bytes(whole))
        half += _count_half_files(whole, target)
        rival_half += _kill_plain_copy(whole, folder / "rival")
    leftovers = len(list(target.glob(_PART)))
    run_command(folder, "export", str(target), "--store", place)
    half += _count_half_files(whole, target)
    half += len(set(os.listdir(whole)) - set(os.listdir(target)))  # in the end all are there
    return Exported(done, half, leftovers, len(list(target.glob(_PART))), rival_half)


def _kill_one_export(place: str, folder: Path, target: Path, size: int) -> bool:
    """Kill an export when it has written some share of what it is to write."""
    before, wanted = set(target.glob(_PART)), moments.uniform(0, 0.9) * size
    process = start_command(folder, "export", str(target), "--store", place)

    def has_written() -> bool:
        works = set(target.glob(_PART)) - before
        return process.poll() is not None or any(_count_bytes(work) >= wanted for work in works)

    wait_until(has_written, "the export begins", pause=0.002)
    return kill(process)


def _count_bytes(folder: Path) -> int:
    """Return the size of a folder's files; some may be moved away meanwhile."""
    total = 0
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            total += path.stat().st_size
    return total


def _count_half_files(whole: Path, target: Path) -> int:
    """Count files under their final names that are not complete."""
    names = [path.name for path in target.iterdir() if not path.match(_PART)]
    _, differing, missing = filecmp.cmpfiles(whole, target, names, shallow=False)
    return len(differing) + len(missing)


_COPY = """
import sys
with open(sys.argv[1]) as given, open(sys.argv[2], "w") as file:
    for line in given:
        file.write(line)
        file.flush()
        sys.stdin.read(1)
"""


def _kill_plain_copy(whole: Path, rival: Path) -> int:
    """Kill a program that writes the largest file line by line in its place, after the first."""
    shutil.rmtree(rival, ignore_errors=True)
    rival.mkdir()
    largest = max(whole.iterdir(), key=lambda path: path.stat().st_size)
    target = rival / largest.name
    process = subprocess.Popen(
        [sys.executable, "-c", _COPY, str(largest), str(target)], stdin=subprocess.PIPE
    )
    wait_until(lambda: target.exists() and target.stat().st_size > 0, "the copy begins")
    kill(process)
    return _count_half_files(whole, rival)
