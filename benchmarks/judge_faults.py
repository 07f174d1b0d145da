"""What a judge reports when the server fails: 5 % malformed, 5 % HTTP 500, 5 % 429, 1 % hanging.

The mock server knows the truth, so it is known how far a reported rate is off. Faults come at
random (“even”), or hit bad answers four times as often as good ones at the same share (“skewed”),
as long, odd or hard answers do in practice. Retries are on (as shipped) or off (one attempt; a
reply that is no JSON is still asked for twice more). Rivals, in the same run: a loop over the same
requests without retries that drops answers without a readable reply, and one that counts their
claims as supported, as tools do. Asked: no crash; every claim accounted for, scored + unscored =
asked; the bounds hold the true rate, always; with retries at least 99 % scored, in every row.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, NamedTuple

import msgspec

from claimwise.checking.check import check_answer
from claimwise.config import LlmSection
from claimwise.fact_check.answer import cut_pieces, factcheck_answer
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.judges.grounded import GroundedJudge
from claimwise.llm.client import LlmClient, open_client
from claimwise.llm.wire import Features
from claimwise.llm.wire_openai import build_body
from claimwise.report.format import show_points
from claimwise.types.rows import Source
from claimwise.types.verdicts import CheckRequest
from support.judge_cases import CLAIMS, Case, make_judge_cases
from support.mock_model import MockModel

MODEL = "openai-compatible:mock"
FAULTS = {"malformed": 0.05, "500": 0.05, "429": 0.05, "hang": 0.01}
SKEWS = {"even": 1.0, "skewed": 4.0}
ATTEMPTS = {"on": LlmSection().attempts, "off": 1}
CONCURRENCY = LlmSection().concurrency
TIMEOUT = 1.5  # seconds for one request: hanging ones are given up on
LEAST_SCORED = 0.99


seeds = count(1)  # every row meets faults of its own


class Count(NamedTuple):
    """What came of one answer: claims called right, called wrong, and unscored, by code."""

    right: int
    wrong: int
    unscored: Counter[str]


class Found(NamedTuple):
    """What a way of judging reports, against the truth."""

    asked: int
    scored: int
    unscored: dict[str, int]
    rate: float
    low: float
    high: float
    truth: float
    uneven: int  # answers whose claims are not all accounted for
    requests: int
    seconds: float

    @property
    def bias(self) -> float:
        """How far the reported rate is off."""
        return self.rate - self.truth

    @property
    def bounded(self) -> bool:
        """Whether the true rate lies within the bounds."""
        return self.low <= self.truth <= self.high


Work = Callable[[Case], Count]


# Ours


def factcheck_with(client: LlmClient) -> Work:
    judge = ClosedBookJudge(client)

    def work(case: Case) -> Count:
        result = factcheck_answer(case.answer, judge)
        codes = Counter(claim.unscored or "" for claim in result.unscored)
        return Count(result.counts["true"], result.counts["false"], codes)

    return work


def check_with(client: LlmClient) -> Work:
    judge = GroundedJudge(client)

    def work(case: Case) -> Count:
        source = Source(source_id="guide", corpus_ver="-", source_text=case.source)
        result = check_answer(CheckRequest(answer=case.answer, sources=(source,)), judge)
        codes = Counter(judged.unscored for judged in result.claims if judged.unscored)
        return Count(result.supported, result.judged - result.supported, codes)

    return work


OURS: dict[str, Callable[[LlmClient], Work]] = {
    "closed-book": factcheck_with,
    "grounded": check_with,
}


# The rivals: a bare loop


def loop_with(http: Any, url: str, *, as_supported: bool) -> Work:
    """Return what asks once, and drops what it can't read or takes it as supported."""
    lost = CLAIMS if as_supported else 0
    judge = ClosedBookJudge(open_client(MODEL, environ={"CLAIMWISE_BASE_URL": url}, sending=False))

    def work(case: Case) -> Count:
        call = judge.make_call(cut_pieces(case.answer))
        content = msgspec.json.encode(build_body(call, "mock", Features()))
        try:
            said = http.post(f"{url}/chat/completions", content=content).raise_for_status()
            reply = json.loads(said.json()["choices"][0]["message"]["content"])
        except Exception:  # noqa: BLE001  # what such loops do
            return Count(lost, 0, Counter())
        labels = [claim["label"] for piece in reply["pieces"] for claim in piece["claims"]]
        return Count(labels.count("true"), labels.count("false"), Counter())

    return work


# All of it


def measure(work: Work, model: MockModel, cases: Sequence[Case]) -> Found:
    before = model.read_stats()["requests"]
    start = time.perf_counter()
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        counts = list(pool.map(work, cases))
    seconds = time.perf_counter() - start
    right, wrong = sum(c.right for c in counts), sum(c.wrong for c in counts)
    codes = sum((c.unscored for c in counts), Counter[str]())
    missing, asked = codes.total(), CLAIMS * len(cases)
    whole = right + wrong + missing
    return Found(
        asked=asked,
        scored=right + wrong,
        unscored=dict(sorted(codes.items())),
        rate=right / (right + wrong) if right + wrong else 0.0,
        low=right / whole if whole else 0.0,
        high=(right + missing) / whole if whole else 1.0,
        truth=sum(sum(case.truth) for case in cases) / asked,
        uneven=sum(c.right + c.wrong + c.unscored.total() != CLAIMS for c in counts),
        requests=model.read_stats()["requests"] - before,
        seconds=seconds,
    )


def measure_ours(cases: Sequence[Case], skew: float) -> dict[tuple[str, str], Found]:
    """Return what both judges report, with and without retries."""
    found = {}
    for retries, attempts in ATTEMPTS.items():
        for name, open_work in OURS.items():
            with (
                MockModel(
                    cases=len(cases), faults=FAULTS, skew=skew, fault_seed=next(seeds)
                ) as model,
                open_client(
                    MODEL,
                    environ={"CLAIMWISE_BASE_URL": model.url},
                    section=LlmSection(attempts=attempts),
                    timeout=TIMEOUT,
                ) as client,
            ):
                found[name, retries] = measure(open_work(client), model, cases)
    return found


def measure_loops(cases: Sequence[Case], skew: float) -> dict[tuple[str, str], Found]:
    """Return what the bare loops report."""
    import httpx2

    found = {}
    for name, as_supported in (("loop, drops", False), ("loop, counts as supported", True)):
        with (
            MockModel(cases=len(cases), faults=FAULTS, skew=skew, fault_seed=next(seeds)) as model,
            httpx2.Client(timeout=TIMEOUT) as http,
        ):
            work = loop_with(http, model.url, as_supported=as_supported)
            found[name, "none"] = measure(work, model, cases)
    return found


def decide(found: dict[tuple[str, str, str], Found]) -> dict[str, bool]:
    ours = {key: each for key, each in found.items() if key[1] in OURS}
    shares = [each.scored / each.asked for key, each in ours.items() if key[2] == "on"]
    return {
        "accounted": all(
            not each.uneven and each.scored + sum(each.unscored.values()) == each.asked
            for each in ours.values()
        ),
        "bounded": all(each.bounded for each in ours.values()),
        "scored": min(shares) >= LEAST_SCORED,
    }


def print_table(found: dict[tuple[str, str, str], Found]) -> None:
    print(
        "| faults | way | retries | claims scored | rate | off by, points | bounds "
        "| hold the truth |"
    )
    print("| --- | --- | --- | ---: | ---: | ---: | --- | --- |")
    for (faults, name, retries), each in found.items():
        ours = name in OURS
        bounds = f"{100 * each.low:.1f}–{each.high:.1%}" if ours else "none"
        holds = ("yes" if each.bounded else "**no**") if ours else ""
        scored = f"{each.scored:,} of {each.asked:,}"
        rate = f"{each.rate:.1%} | {show_points(each.bias)}"
        print(f"| {faults} | {name} | {retries} | {scored} | {rate} | {bounds} | {holds} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer answers, under 30 s")
    args = parser.parse_args()
    cases = make_judge_cases(150 if args.quick else 900)
    found: dict[tuple[str, str, str], Found] = {}
    for faults, skew in SKEWS.items():
        measured = {**measure_ours(cases, skew), **measure_loops(cases, skew)}
        found |= {(faults, *key): each for key, each in measured.items()}
    print_table(found)
    truth = next(iter(found.values())).truth
    print(f"\nThe true rate is {truth:.4f}.")
    checks = decide(found)
    figures = {
        " / ".join(key): {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in {**each._asdict(), "bias": each.bias}.items()
        }
        for key, each in found.items()
    }
    print(
        json.dumps(
            {
                "answers": len(cases),
                "faults": FAULTS,
                "skew": SKEWS["skewed"],
                "truth": round(truth, 4),
                "found": figures,
                "reached": checks,
                "holds": all(checks.values()),
            }
        )
    )


if __name__ == "__main__":
    main()
