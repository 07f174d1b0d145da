"""What a judge costs beside the model: calls, CPU, and time lost, against the same mock server.

Answers have 8 claims and a source of about 210 words; each is new to us. The server is a process
of its own, so that its work is in nobody's CPU time. CPU is that of the whole process, threads
included, at zero latency. Time: 200 answers at 200 ms a reply, over the ideal: the calls in
rounds of as many as may be under way at once. Rivals: one bare HTTP request an answer, with the
body that we send; and the tools of ``support/judge_rivals.py``, each in an environment of its
own under build/judge-rivals (made here, or given by --rivals), with as many calls or answers at
once. Asked: 1 call an answer in one pass and 2 in two; CPU of at most 1.5 ms closed-book and
grounded, 2 ms with replies kept; at most 1.3 times the ideal.

CPU time too depends on the machine and on what else it does. ``--beside`` compares with 0.6.0: both
run ``--quick`` in turns, and the lowest figure of each way of judging counts. Asked is then the
same share of 0.6.0's CPU time as on the machine on which the limits were set.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec

from claimwise.checking.check import check_answer
from claimwise.config import LlmSection
from claimwise.fact_check.answer import cut_pieces, factcheck_answer
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.judges.grounded import GroundedJudge, GroundedSettings, Mode
from claimwise.llm.client import LlmClient, open_client
from claimwise.store import open_store
from claimwise.store.replies import open_replies
from claimwise.types.rows import Source
from claimwise.types.verdicts import CheckRequest
from support.beside import run_in_turns
from support.judge_cases import CLAIMS, Case, make_judge_cases
from support.judge_rivals import PACKAGES
from support.mock_model import MockModel

MODEL = "openai-compatible:mock"
CONCURRENCY = LlmSection().concurrency
LATENCY = 0.2
MOST_CPU_MS = {"closed-book": 1.5, "closed-book, replies kept": 2.0, "grounded": 1.5}
# What 0.6.0 took on the machine on which the limits were set: a slower one is slower for both.
OF_0_6_0 = {"closed-book": 1.5, "closed-book, replies kept": 2.1, "grounded": 1.6}
MOST_TIMES = 1.3
TURNS = 5  # of two versions, with --beside
RIVALS = Path(__file__).resolve().parents[1] / "build" / "judge-rivals"
BARE = "bare HTTP"

Work = Callable[[Case], int]  # returns the claims with a verdict


class Plan(NamedTuple):
    """How much is measured."""

    rounds: int
    answers: int  # a round, at zero latency
    waited: int  # answers at 200 ms
    rival_answers: int  # at zero latency


QUICK = Plan(rounds=3, answers=60, waited=64, rival_answers=0)
WHOLE = Plan(rounds=7, answers=150, waited=200, rival_answers=30)


class Found(NamedTuple):
    """One way of judging: calls and CPU an answer, and time with its ratio to the ideal."""

    calls: float
    cpu_ms: float
    wall_s: float
    times: float


# Ours, and bare HTTP


@contextmanager
def open_ways(url: str, folder: Path) -> Iterator[dict[str, Work]]:
    """Yield the ways of judging an answer at a server."""
    import httpx2

    environ = {"CLAIMWISE_BASE_URL": url}
    store = str(folder / f"{time.monotonic_ns()}.db")
    open_store(store, create=True).close()
    with (
        open_client(MODEL, environ=environ) as client,
        open_replies(store) as replies,
        open_client(MODEL, environ=environ, cache=replies) as keeping,
        httpx2.Client(limits=httpx2.Limits(max_connections=CONCURRENCY), timeout=60) as http,
    ):
        yield {
            BARE: ask_bare(http, f"{url}/chat/completions", client),
            "closed-book": factcheck_with(client),
            "closed-book, replies kept": factcheck_with(keeping),
            "grounded": check_with(client, "claims"),
            "grounded, single": check_with(client, "single"),
            "grounded, two-pass": check_with(client, "two-pass"),
        }


def factcheck_with(client: LlmClient) -> Work:
    judge = ClosedBookJudge(client)
    return lambda case: len(factcheck_answer(case.answer, judge).scored)


def check_with(client: LlmClient, mode: Mode) -> Work:
    judge = GroundedJudge(client, GroundedSettings(mode=mode))

    def check(case: Case) -> int:
        source = Source(source_id="guide", corpus_ver="-", source_text=case.source)
        request = CheckRequest(answer=case.answer, sources=(source,), question=case.question)
        return check_answer(request, judge).judged

    return check


def ask_bare(http: Any, url: str, client: LlmClient) -> Work:
    """Return what sends the closed-book judge's own body, ready made, and reads the reply."""
    judge = ClosedBookJudge(client)
    headers = {"content-type": "application/json"}
    bodies: dict[str, bytes] = {}

    def ask(case: Case) -> int:
        if case.answer not in bodies:
            call = judge.make_call(cut_pieces(case.answer))
            messages = [{"role": "user", "content": call.system + call.user}]
            bodies[case.answer] = msgspec.json.encode({"model": "mock", "messages": messages})
            return 0
        said = http.post(url, content=bodies[case.answer], headers=headers).json()
        return len(json.loads(said["choices"][0]["message"]["content"])["pieces"])

    return ask


# Measuring


def measure_cpu(plan: Plan, folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Return calls and CPU milliseconds an answer of every way; they take turns."""
    times: dict[str, list[float]] = {}
    calls: dict[str, float] = {}
    size = plan.rounds * plan.answers
    cases = make_judge_cases(size)
    with MockModel(cases=size) as model, open_ways(model.url, folder) as ways:
        for name, work in ways.items():
            work(make_judge_cases(1, seed=1)[0])  # connections, prompts, word lists
            prepare_bare(name, work, cases)
            times[name] = []
        for number in range(plan.rounds):
            some = cases[number * plan.answers : (number + 1) * plan.answers]
            for name, work in ways.items():
                before = model.read_stats()["requests"]
                start = time.process_time()
                judged = sum(map(work, some))
                times[name].append((time.process_time() - start) / len(some) * 1e3)
                calls[name] = (model.read_stats()["requests"] - before) / len(some)
                assert judged == CLAIMS * len(some), f"{name}: {judged} claims judged"
    return calls, {name: median(found) for name, found in times.items()}


def prepare_bare(name: str, work: Work, cases: Sequence[Case]) -> None:
    """Let bare HTTP make its bodies before the clock runs."""
    if name == BARE:
        for case in cases:
            work(case)


def measure_wall(plan: Plan, folder: Path) -> dict[str, float]:
    """Return the seconds of every way for all answers at once, each reply late."""
    found: dict[str, float] = {}
    cases = make_judge_cases(plan.waited)
    with (
        MockModel(cases=plan.waited, latency=LATENCY) as model,
        open_ways(model.url, folder) as ways,
    ):
        for name, work in ways.items():
            prepare_bare(name, work, cases)
            start = time.perf_counter()
            with ThreadPoolExecutor(CONCURRENCY) as pool:
                judged = sum(pool.map(work, cases))
            found[name] = time.perf_counter() - start
            assert judged == CLAIMS * len(cases), f"{name}: {judged} claims judged"
    return found


def find_ideal(calls: float, answers: int) -> float:
    """Return the seconds of so many calls in full rounds; the calls of an answer in turn."""
    return math.ceil(answers / CONCURRENCY) * calls * LATENCY


# Other tools


def install_rivals(folder: Path) -> dict[str, str]:
    """Make an environment for every rival that has none; return why some could not be had."""
    missing: dict[str, str] = {}
    for name, packages in PACKAGES.items():
        place = folder / name
        if (place / "ready").exists():
            continue
        print(f"installing {name} under {place}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        command = [str(place / "bin" / "pip"), "install", "--quiet", *packages]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            missing[name] = f"not installed: {find_last_line(done.stderr)}"
        else:
            (place / "ready").touch()
    return missing


def measure_rival(python: Path, name: str, plan: Plan, folder: Path) -> Found | str:
    """Return what a rival costs, or why that can't be said."""
    runs = []
    for latency, answers in ((0.0, plan.rival_answers), (LATENCY, plan.waited)):
        cases = make_judge_cases(answers + 1)  # one goes first
        path = folder / "cases.json"
        texts = [{"question": c.question, "answer": c.answer, "source": c.source} for c in cases]
        path.write_text(json.dumps(texts), encoding="utf-8")
        with MockModel(cases=len(cases), latency=latency) as model:
            script = str(Path(__file__).parent / "support" / "judge_rivals.py")
            concurrency = str(CONCURRENCY if latency else 1)
            command = [str(python), script, name, model.url, str(path), concurrency]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=240, cwd=folder, check=False
                )
            except subprocess.TimeoutExpired:
                return "took more than 240 s"
            if done.returncode:
                return f"failed: {find_last_line(done.stderr)}"
            calls = model.read_stats()["requests"] / len(cases)
        runs.append((json.loads(find_last_line(done.stdout)), calls))
    (idle, calls), (waited, _) = runs
    wall = waited["wall_s"]
    times = wall / find_ideal(calls, plan.waited)
    return Found(calls, idle["cpu_s"] / plan.rival_answers * 1e3, wall, times)


def find_last_line(text: str) -> str:
    return (text.strip().splitlines() or ["nothing was said"])[-1][:200]


# All of it


def measure_ours(plan: Plan, folder: Path) -> dict[str, Found]:
    calls, cpu = measure_cpu(plan, folder)
    walls = measure_wall(plan, folder)
    return {
        name: Found(
            calls[name], cpu[name], walls[name], walls[name] / find_ideal(calls[name], plan.waited)
        )
        for name in cpu
    }


def measure_rivals(plan: Plan, rivals: Path, folder: Path) -> tuple[dict[str, Found], list[str]]:
    found: dict[str, Found] = {}
    missing = install_rivals(rivals)
    for name in PACKAGES:
        if name in missing:
            continue
        measured = measure_rival(rivals / name / "bin" / "python", name, plan, folder)
        if isinstance(measured, str):
            missing[name] = measured
        else:
            found[name] = measured
    return found, [f"{name}: {why}" for name, why in missing.items()]


def decide(ours: dict[str, Found]) -> dict[str, bool]:
    judges = {name: found for name, found in ours.items() if name != BARE}
    one = [found for name, found in judges.items() if name != "grounded, two-pass"]
    return {
        "calls": all(f.calls == 1 for f in one) and ours["grounded, two-pass"].calls == 2,
        **{
            f"cpu_{name.replace(', ', '_').replace('-', '_').replace(' ', '_')}": (
                ours[name].cpu_ms <= most
            )
            for name, most in MOST_CPU_MS.items()
        },
        "wall": all(found.times <= MOST_TIMES for found in judges.values()),
    }


def print_table(found: dict[str, Found], answers: int) -> None:
    print(f"| | calls per answer | CPU ms per answer | {answers} answers at 200 ms | times ideal |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, each in found.items():
        figures = f"{each.cpu_ms:.2f} | {each.wall_s:.2f} s | {each.times:.2f}"
        print(f"| {name} | {each.calls:g} | {figures} |")


def compare_with(checkout: Path, python: Path) -> None:
    """Print the lowest CPU time of every way of judging, ours and 0.6.0's, and their ratio."""
    turns = run_in_turns(Path(__file__).resolve(), checkout, python, TURNS)
    lowest = {
        name: [min(turn[n]["found"][name]["cpu_ms"] for turn in turns) for n in (0, 1)]
        for name in turns[0][0]["found"]
    }
    shares = {name: mine / other for name, (mine, other) in lowest.items()}
    asked = {name: most / OF_0_6_0[name] for name, most in MOST_CPU_MS.items()}
    print("| CPU ms per answer | this version | 0.6.0 | share | asked |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, (mine, other) in lowest.items():
        most = f"{asked[name]:.2f}" if name in asked else ""
        print(f"| {name} | {mine:.2f} | {other:.2f} | {shares[name]:.2f} | {most} |")
    reached = all(shares[name] <= most for name, most in asked.items())
    figures = {"turns": TURNS, "lowest_cpu_ms": lowest, "shares": shares, "asked": asked}
    print(json.dumps({**figures, "holds": reached}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without other tools, under 30 s")
    parser.add_argument(
        "--rivals", metavar="FOLDER", type=Path, default=RIVALS, help="environments by tool"
    )
    parser.add_argument(
        "--beside",
        metavar=("CHECKOUT", "PYTHON"),
        nargs=2,
        type=Path,
        help="0.6.0's files, and the Python of an environment that has it",
    )
    args = parser.parse_args()
    if args.beside:
        compare_with(*args.beside)
        return
    plan = QUICK if args.quick else WHOLE
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = measure_ours(plan, folder)
        rivals, missing = ({}, []) if args.quick else measure_rivals(plan, args.rivals, folder)
    print_table({**ours, **rivals}, plan.waited)
    for line in missing:
        print(f"not measured: {line}")
    checks = decide(ours)
    print(
        json.dumps(
            {
                "answers": plan.answers,
                "claims_an_answer": CLAIMS,
                "concurrency": CONCURRENCY,
                "found": {
                    name: {key: round(value, 3) for key, value in each._asdict().items()}
                    for name, each in {**ours, **rivals}.items()
                },
                "not_measured": missing,
                "reached": checks,
                "holds": all(checks.values()),
            }
        )
    )


if __name__ == "__main__":
    main()
