"""Judges all cases with one judge: the main pass, then its probes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from claimwise.checking.calls import plan_job
from claimwise.judge_comparison.asking import Meter, Opinions, judge_cases
from claimwise.judge_comparison.probes import PROBE_QUESTIONS, ProbedJudge
from claimwise.judge_comparison.restate import make_restate_call
from claimwise.judge_comparison.values import Case, JudgingCost, LabelledCases, ProbeName
from claimwise.judges.grounded import GroundedJudge
from claimwise.judges.judge import Verifier
from claimwise.types.llm import LlmCall, Price

Count = Callable[[int, int], None]


class ProbeAnswers(NamedTuple):
    """What a judge said before and after a change, by row; or why it was not asked."""

    before: Opinions
    after: Opinions
    why: str | None = None
    rejected: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Contestant:
    """A judge that takes part. Without a model it has no meter."""

    name: str
    verifier: Verifier
    meter: Meter | None = None
    price: Price | None = None
    threads: int = 1
    baseline: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedCases:
    """What one judge said, and what it took."""

    name: str
    labeler: str
    baseline: bool
    opinions: Opinions
    usage: JudgingCost
    probes: dict[ProbeName, ProbeAnswers] = field(default_factory=dict)


def judge_all(
    contestant: Contestant,
    labelled: LabelledCases,
    probed: Sequence[Case],
    probes: Sequence[ProbeName],
    count: Count,
) -> JudgedCases:
    """Ask a judge about every case, and probe it with some of them."""
    opinions, usage = _judge_main(contestant, labelled.cases, count)
    return JudgedCases(
        name=contestant.name,
        labeler=contestant.verifier.labeler,
        baseline=contestant.baseline,
        opinions=opinions,
        usage=usage,
        probes={probe: _probe(contestant, probe, probed, opinions, count) for probe in probes},
    )


def _judge_main(
    contestant: Contestant, cases: Sequence[Case], count: Count
) -> tuple[Opinions, JudgingCost]:
    asked = sum(len(case.job.claims or ()) for case in cases)
    verifier, meter = contestant.verifier, contestant.meter
    if meter is not None:
        found = judge_cases(verifier, cases, contestant.threads, count)
        return found, meter.sum_up(asked, contestant.price)
    judge_cases(verifier, cases[:1])  # what is loaded when first needed takes no time later
    begin = time.perf_counter()
    found = judge_cases(verifier, cases, count=count)
    each = (time.perf_counter() - begin) / max(1, asked)
    usage = JudgingCost(seconds_per_claim=each, timed_calls=len(cases), usd_per_1000_claims=0.0)
    return found, usage


def _probe(
    contestant: Contestant,
    probe: ProbeName,
    cases: Sequence[Case],
    opinions: Opinions,
    count: Count,
) -> ProbeAnswers:
    judge = ProbedJudge(
        verifier=contestant.verifier, asker=contestant.meter, threads=contestant.threads
    )
    varied = PROBE_QUESTIONS[probe](judge, cases)
    if isinstance(varied, str):
        return ProbeAnswers({}, {}, varied)
    before = opinions
    if varied.before:
        before = opinions | judge_cases(contestant.verifier, varied.before, contestant.threads)
    after = judge_cases(
        varied.judge or contestant.verifier, varied.after, contestant.threads, count
    )
    return ProbeAnswers(before, after, rejected=varied.rejected)


def plan_contestant(
    contestant: Contestant,
    labelled: LabelledCases,
    probed: Sequence[Case],
    probes: Sequence[ProbeName],
) -> Iterator[LlmCall]:
    """Yield the calls that judging and probing would make; none for a judge without a model.

    Claims in the judge's own words are not known yet: they are planned as they stand.
    """
    judge = contestant.verifier
    if not isinstance(judge, GroundedJudge) or contestant.meter is None:
        return
    for case in labelled.cases:
        yield from plan_job(case.job, judge)
    asked = ProbedJudge(verifier=judge, asker=contestant.meter, threads=1)
    for probe in probes:
        if probe == "wording":
            yield from (make_restate_call(judge.model, c.job.claims or ()) for c in probed)
            yield from (call for case in probed for call in plan_job(case.job, judge))
            continue
        varied = PROBE_QUESTIONS[probe](asked, probed)
        if isinstance(varied, str):
            continue
        other = varied.judge if isinstance(varied.judge, GroundedJudge) else judge
        for case in varied.before or ():
            yield from plan_job(case.job, judge)
        for case in varied.after:
            yield from plan_job(case.job, other)
