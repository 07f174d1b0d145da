"""Claims per second of both built-in judges against 500-word sources, on 2 cores.

Answers, claims and pages are the demo's; every source is new to the verifier, so that reading and
indexing it count. Rival: a BERT-base cross-encoder (12 layers, 768 wide, 109 million weights, 8-bit
ONNX) that reads exactly the pairs of digest and claim that our encoder was given, with the same
tokenizer, batches and threads, in turns with ours; its own indexing and linking cost nothing. For
comparison also the usual way of using it: the four best windows of 130 words of every source.
The embedded judge judges answers in turn, in one process with a thread for each core, and in two
processes, as ``claimwise verify --jobs 2`` does. Asked: embedded judge 60 claims per second (two
processes) and 10 times the rival, lexical judge 3,000 (two processes), peak memory under 600 MB,
cold start of ``claimwise check`` under 2 s. The lexical judge only computes, so its seconds are
those of the CPU: on a machine with nothing else to do they are the clock's.

``--beside`` compares with 0.6.0: both run ``--quick`` in turns, and the highest figure of each
counts. Asked is then the same share of 0.6.0's speed as on the machine on which the aims were set.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from claimwise.judges.embedded import EmbeddedVerifier
from claimwise.judges.encoder import Encoder
from claimwise.judges.judge import load_verifier
from claimwise.text.words import is_common, read_words
from support.beside import run_in_turns
from support.memory import read_peak_memory
from support.verifier_cases import WORDS, Case, count_claims, count_verdicts, make_cases

CORES = 2
WINDOWS, WINDOW_WORDS = 4, 130
COLD_STARTS = 5
FULL, LEXICAL, RATIO, MEMORY_MB, COLD_START_S = 60, 3000, 10, 600, 2
# What 0.6.0 made on the machine on which the aims were set: a slower one is slower for both.
OF_0_6_0 = {"full": 74.9, "lexical_two_processes": 4719.5}
TURNS = 3  # of two versions, with --beside

Pairs = list[tuple[str, str]]


class Plan(NamedTuple):
    """How much is measured."""

    rounds: int
    answers: int  # a round, for the embedded judge and its rival
    windows: int  # answers whose windows the rival reads, in the end
    lexical: int  # answers a round, for the lexical judge
    verified: int  # answers for the peak memory


QUICK = Plan(rounds=3, answers=4, windows=1, lexical=60, verified=20)
WHOLE = Plan(rounds=9, answers=14, windows=14, lexical=360, verified=126)


class Recorder(Encoder):
    """The product's encoder, which also remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Pairs] = []

    def score_pairs(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return what the encoder says."""
        self.asked.append(list(pairs))
        return super().score_pairs(pairs)


# The embedded judge and its rival


class Round(NamedTuple):
    """Claims a second of one round, all about the same answers."""

    full: float
    encoder: float  # our encoder alone, on the same pairs
    rival: float


def time_full_tier(rival: Encoder, plan: Plan) -> list[Round]:
    """Return what embedded judge and rival reach in turns, after a little to warm up."""
    recorder = Recorder()
    verifier = EmbeddedVerifier(recorder)
    time_judging(verifier, make_cases(0)[:2])
    time_reading(rival, recorder.asked)
    found: list[Round] = []
    for number in range(plan.rounds):
        cases = make_cases(number + 1)
        begin = number * plan.answers % len(cases)
        chosen = (cases + cases)[begin : begin + plan.answers]
        asked: list[Pairs] = []
        recorder.asked = asked
        claims = count_claims(chosen)
        full = claims / time_judging(verifier, chosen)
        recorder.asked = []
        encoder = claims / time_reading(recorder, asked)
        same = claims / time_reading(rival, asked)
        found.append(Round(full, encoder, same))
    return found


def time_windows(rival: Encoder, plan: Plan) -> float:
    """Return claims per second of the rival when it reads the best windows of every source."""
    cases = make_cases(0)[: plan.windows]
    return count_claims(cases) / time_reading(rival, [cut_windows(case) for case in cases])


def time_judging(verifier: EmbeddedVerifier, cases: Sequence[Case]) -> float:
    start = time.perf_counter()
    for case in cases:
        verifier.judge_answer(case.claims, case.request)
    return time.perf_counter() - start


def time_reading(encoder: Encoder, asked: Sequence[Pairs]) -> float:
    start = time.perf_counter()
    for pairs in asked:
        encoder.score_pairs(pairs)
    return time.perf_counter() - start


def cut_windows(case: Case) -> Pairs:
    """Return the best windows of the source for every claim: those that share most words with it.

    Windows overlap by half.
    """
    words = case.source.split()
    starts = range(0, max(len(words) - WINDOW_WORDS // 2, 1), WINDOW_WORDS // 2)
    windows = [" ".join(words[start : start + WINDOW_WORDS]) for start in starts]
    stems = [{word.stem for word in read_words(window)} for window in windows]
    pairs: Pairs = []
    for claim in case.claims:
        wanted = {w.stem for w in read_words(claim.wording) if not is_common(w.stem)}
        best = sorted(range(len(windows)), key=lambda n: -len(wanted & stems[n]))[:WINDOWS]
        pairs += [(windows[n], claim.wording) for n in sorted(best)]
    return pairs


# The lexical judge

Times: TypeAlias = "Queue[tuple[int, int, float]]"  # round, processes or share, seconds


def time_lexical_tier(plan: Plan) -> dict[int, list[float]]:
    """Return claims per second by number of processes, a figure a round; they take turns."""
    context = multiprocessing.get_context("spawn")
    barrier, times = context.Barrier(CORES), context.Queue()
    workers = [
        context.Process(target=work, args=(share, plan, barrier, times), daemon=True)
        for share in range(CORES)
    ]
    for worker in workers:
        worker.start()
    got = [times.get(timeout=600) for _ in range(plan.rounds * (CORES + 1))]
    for worker in workers:
        worker.join()
    rates: dict[int, list[float]] = {1: [], CORES: []}
    claims = count_claims(choose_cases(0, plan.lexical))
    for number in range(plan.rounds):
        for processes, found in rates.items():
            found.append(
                claims / max(seconds for *turn, seconds in got if turn == [number, processes])
            )
    return rates


def choose_cases(turn: int, size: int) -> list[Case]:
    """Return answers whose sources differ from turn to turn, but not the claims."""
    cases: list[Case] = []
    for edition in count(1 + turn * 10):
        if len(cases) >= size:
            break
        cases += make_cases(edition)
    return cases[:size]


def work(share: int, plan: Plan, barrier: Barrier, times: Times) -> None:
    """Judge alone, if this is the first process, then each its share; in a process of its own."""
    verifier = load_verifier("lexical")
    assert isinstance(verifier, EmbeddedVerifier)
    time_judging(verifier, make_cases(0))
    for number in range(plan.rounds):
        for processes in (1, CORES):
            cases = choose_cases(2 * number + processes, plan.lexical)[share::processes]
            barrier.wait()
            if share < processes:
                begin = time.process_time()
                time_judging(verifier, cases)
                times.put((number, processes, time.process_time() - begin))
            barrier.wait()


def time_full_processes(plan: Plan) -> list[float]:
    """Return claims per second of the embedded judge in two processes, by round."""
    context = multiprocessing.get_context("spawn")
    barrier, times = context.Barrier(CORES), context.Queue()
    workers = [
        context.Process(target=judge_share, args=(share, plan, barrier, times), daemon=True)
        for share in range(CORES)
    ]
    for worker in workers:
        worker.start()
    got = [times.get(timeout=600) for _ in range(plan.rounds * CORES)]
    for worker in workers:
        worker.join()
    return [
        count_claims(choose_cases(100 + number, CORES * plan.answers))
        / max(seconds for turn, _, seconds in got if turn == number)
        for number in range(plan.rounds)
    ]


def judge_share(share: int, plan: Plan, barrier: Barrier, times: Times) -> None:
    """Judge this process's share of every round's answers."""
    verifier = load_verifier("embedded")
    assert isinstance(verifier, EmbeddedVerifier)
    time_judging(verifier, make_cases(0)[:2])
    for number in range(plan.rounds):
        cases = choose_cases(100 + number, CORES * plan.answers)[share::CORES]
        barrier.wait()
        times.put((number, share, time_judging(verifier, cases)))


# Memory and start


def measure_memory(task: str, answers: int) -> None:
    """Print this process's peak after one check, or after judging many answers."""
    if task == "check":
        import claimwise

        case = make_cases(0)[0]
        claimwise.check(case.request.answer, case.source, verifier="embedded")
    else:
        verifier = load_verifier("embedded")
        for case in make_cases(0)[:answers]:
            verifier.judge_answer(case.claims, case.request)
    print(read_peak_memory())


def read_memory(task: str, answers: int) -> float:
    done = subprocess.run(
        [sys.executable, __file__, "--measure", task, "--answers", str(answers)],
        capture_output=True,
        check=True,
    )
    return float(done.stdout)


def time_cold_start(folder: Path) -> float:
    case = make_cases(0)[0]
    answer, source = folder / "answer.txt", folder / "source.txt"
    answer.write_text(case.request.answer, encoding="utf-8")
    source.write_text(case.source, encoding="utf-8")
    program = str(Path(sys.executable).with_name("claimwise"))
    command = [program, "check", "--answer", str(answer), "--source", str(source)]
    times = []
    for _ in range(COLD_STARTS):
        start = time.perf_counter()
        subprocess.run([*command, "--verifier", "embedded"], capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return median(times)


# All of it


def build_rival(path: Path) -> None:
    # Not at the top: what it imports is large, and needed nowhere else.
    from support.bert_base import write_bert_base

    write_bert_base(path)


def run(plan: Plan, rival: Path | None, folder: Path) -> dict[str, float]:
    built = rival or folder / "bert-base.int8.onnx"
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        making = None if rival else pool.submit(build_rival, built)
        # Memory is not a matter of time, so both may go on at once.
        memory = {task: read_memory(task, plan.verified) for task in ("check", "verify")}
        if making is not None:
            making.result()
    cold = time_cold_start(folder)
    lexical = time_lexical_tier(plan)
    encoder = Encoder(str(built))
    rounds = time_full_tier(encoder, plan)
    windows = time_windows(encoder, plan)
    return {
        "full": median(r.full for r in rounds),
        "full_two_processes": median(time_full_processes(plan)),
        "lexical_two_processes": median(lexical[CORES]),
        "lexical_one_process": median(lexical[1]),
        "rival": median(r.rival for r in rounds),
        "rival_windows": windows,
        "ratio": median(r.full / r.rival for r in rounds),
        "ratio_lowest": min(r.full / r.rival for r in rounds),
        "ratio_highest": max(r.full / r.rival for r in rounds),
        "ratio_windows": median(r.full for r in rounds) / windows,
        "encoder_alone": median(r.encoder for r in rounds),
        "memory_check_mb": memory["check"],
        "memory_verify_mb": memory["verify"],
        "cold_start_s": cold,
    }


def decide(found: dict[str, float]) -> dict[str, bool]:
    return {
        "full": found["full_two_processes"] >= FULL,
        "lexical": found["lexical_two_processes"] >= LEXICAL,
        "ratio": found["ratio"] >= RATIO,
        "memory": max(found["memory_check_mb"], found["memory_verify_mb"]) < MEMORY_MB,
        "cold_start": found["cold_start_s"] < COLD_START_S,
    }


def print_tables(found: dict[str, float], checks: dict[str, bool]) -> None:
    def say(check: str) -> str:
        return "yes" if checks[check] else "**no**"

    print("| | claims per second | times the rival | asked | reached |")
    print("| --- | ---: | ---: | --- | --- |")
    for name, key, asked, reached in (
        ("embedded judge, 1 process", "full", f"{RATIO}x", say("ratio")),
        ("embedded judge, 2 processes", "full_two_processes", f"{FULL}", say("full")),
        ("its encoder alone", "encoder_alone", "", ""),
        ("rival, same pairs", "rival", "", ""),
        (f"rival, {WINDOWS} windows", "rival_windows", "", ""),
        ("lexical judge, 2 processes", "lexical_two_processes", f"{LEXICAL:,}", say("lexical")),
        ("lexical judge, 1 process", "lexical_one_process", "", ""),
    ):
        times = found["ratio"] if key == "full" else found[key] / found["rival"]
        print(f"| {name} | {found[key]:,.1f} | {times:,.1f} | {asked} | {reached} |")
    print("\n| | measured | asked | reached |")
    print("| --- | ---: | --- | --- |")
    asked = f"under {MEMORY_MB} MB"
    print(f"| memory, one check | {found['memory_check_mb']:.0f} MB | {asked} | {say('memory')} |")
    print(f"| memory, many | {found['memory_verify_mb']:.0f} MB | {asked} | {say('memory')} |")
    asked = f"under {COLD_START_S} s"
    print(f"| cold start | {found['cold_start_s']:.2f} s | {asked} | {say('cold_start')} |")


def compare_with(checkout: Path, python: Path) -> None:
    """Print the most claims per second of both judges, ours and those of 0.6.0."""
    turns = run_in_turns(Path(__file__).resolve(), checkout, python, TURNS)
    highest = {name: [max(turn[n][name] for turn in turns) for n in (0, 1)] for name in OF_0_6_0}
    asked = {"full": FULL, "lexical_two_processes": LEXICAL}
    print("| claims per second | this version | 0.6.0 | share | asked |")
    print("| --- | ---: | ---: | ---: | ---: |")
    shares = {}
    for name, (mine, other) in highest.items():
        shares[name] = (mine / other, asked[name] / OF_0_6_0[name])
        print(
            f"| {name} | {mine:,.1f} | {other:,.1f} | {mine / other:.2f} | {shares[name][1]:.2f} |"
        )
    holds = all(share >= least for share, least in shares.values())
    print(json.dumps({"turns": TURNS, "highest": highest, "shares": shares, "holds": holds}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer claims, under 30 s")
    parser.add_argument(
        "--rival",
        metavar="ONNX",
        type=Path,
        help="a BERT with three outputs; without it, one with random weights is made",
    )
    parser.add_argument("--lexical", action="store_true", help="the lexical judge alone")
    parser.add_argument(
        "--beside",
        metavar=("CHECKOUT", "PYTHON"),
        nargs=2,
        type=Path,
        help="the files of 0.6.0, and the Python of an environment that has it",
    )
    parser.add_argument("--measure", choices=("check", "verify"), help=argparse.SUPPRESS)
    parser.add_argument("--answers", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure_memory(args.measure, args.answers)
        return
    if args.beside:
        compare_with(*args.beside)
        return
    if args.rival is not None and not args.rival.is_file():
        parser.error(f"{args.rival}: found no file, expected an ONNX model")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    plan = QUICK if args.quick else WHOLE
    if args.lexical:
        rates = {str(n): round(median(found), 1) for n, found in time_lexical_tier(plan).items()}
        holds = rates[str(CORES)] >= LEXICAL
        print(json.dumps({"claims_a_second_by_processes": rates, "holds": holds}))
        return
    cases = make_cases(0)
    words = round(mean(len(case.source.split()) for case in cases))
    each = round(count_claims(cases) / len(cases), 2)
    mix = count_verdicts(cases)
    claims = f"{count_claims(cases)} claims of {len(cases)} answers"
    print(f"{claims}, {each} a source of {words} words;")
    print("labelled " + ", ".join(f"{n} {verdict}" for verdict, n in mix.items()) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        found = run(plan, args.rival, Path(folder))
    checks = decide(found)
    print_tables(found, checks)
    figures = {name: round(value, 2) for name, value in found.items()}
    print(
        json.dumps(
            {
                "claims_a_source": each,
                "source_words": WORDS,
                "labels": mix,
                "rounds": plan.rounds,
                "rival_weights": str(args.rival or "random"),
                **figures,
                "reached": checks,
                "holds": all(checks.values()),
            }
        )
    )


if __name__ == "__main__":
    main()
