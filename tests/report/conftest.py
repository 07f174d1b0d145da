"""Reports made by hand: small, and with all that is hard to show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from rich.segment import Segment

from claimwise.calibration.headline import Headline
from claimwise.calibration.headline_change import HeadlineChange
from claimwise.claims.values import ClaimRow
from claimwise.run_report.values import Group, Report, Summary, Worst
from claimwise.types.results import Estimate, JudgeNote, JudgeSummary, MetricTable, Settings

HOSTILE = "<script>alert('x')</script> | \x1b[31mred\u202e\n**bold** [a](http://evil.test) @all"
FEW = "Fewer than 30 items ({}): the range is rough."


def make_estimate(metric: str = "faithfulness", /, **changes: Any) -> Estimate:
    values: dict[str, Any] = {
        "metric": metric, "run_id": "r1", "slice": {}, "better": "higher",
        "micro": 0.8611, "low": 0.81, "high": 0.9, "macro": 0.842, "macro_low": 0.8,
        "macro_high": 0.88, "simultaneous_low": 0.79, "simultaneous_high": 0.92,
        "bound_low": 0.85, "bound_high": 0.87, "decision_low": 0.82, "decision_high": 0.9,
        "method": "wilson", "confidence": 0.95,
        "items": 100, "claims": 1234, "asked": 1240, "scored": 1234, "unscored": 6,
        "numerator": 1062.0, "design_effect": 1.43, "icc": -0.001, "detectable_difference": 0.091,
    }  # fmt: skip
    return Estimate(**(values | changes))


def make_empty(metric: str, /, **changes: Any) -> Estimate:
    """Return an estimate without a denominator."""
    names = (
        "micro", "low", "high", "macro", "macro_low", "macro_high", "simultaneous_low",
        "simultaneous_high", "bound_low", "bound_high", "decision_low", "decision_high",
        "method", "design_effect", "icc",
        "detectable_difference",
    )  # fmt: skip
    nothing = dict.fromkeys(names)
    counts = dict.fromkeys(("items", "claims", "asked", "scored", "unscored"), 0)
    warned = {"numerator": 0.0, "warnings": ("No scored claims.",)}
    return make_estimate(metric, **(nothing | counts | warned | changes))


def make_table(metric: str, overall: list[Estimate], /, **changes: Any) -> MetricTable:
    values: dict[str, Any] = {
        "metric": metric, "title": metric.replace("_", " ").capitalize(),
        "meaning": f"what {metric} means", "unit": "claim", "series": None, "notes": {},
        "run_id": "r1", "by": ("query_type", "stakes"), "settings": Settings(),
        "overall": tuple(overall), "slices": (),
    }  # fmt: skip
    return MetricTable(**(values | changes))


WORST = make_estimate(
    slice={"query_type": "aggregation", "stakes": "high"}, micro=0.482, low=0.4, high=0.55,
    simultaneous_low=0.31, simultaneous_high=0.66, items=12, claims=54, unscored=3,
    warnings=(FEW.format(12), "3 unscored: the bounds say what they could change."),
)  # fmt: skip


def _faithfulness() -> MetricTable:
    slices = (
        WORST,
        make_estimate(slice={"query_type": HOSTILE, "stakes": None}, micro=0.7),
        make_estimate(
            slice={"query_type": "one", "stakes": "low"}, micro=0.0, low=0.0, high=1.0,
            simultaneous_low=0.0, simultaneous_high=1.0, items=1, claims=1, unscored=0,
            method="wilson (one item)",
            design_effect=None, icc=None, detectable_difference=None, warnings=(FEW.format(1),),
        ),
        make_estimate(slice={"query_type": "all", "stakes": "low"}, micro=1.0, high=1.0,
                      simultaneous_high=1.0),
        make_empty("faithfulness", slice={"query_type": "none", "stakes": "low"}),
    )  # fmt: skip
    return make_table("faithfulness", [make_estimate()], slices=slices)


def _abstention() -> MetricTable:
    correct = make_estimate(
        "abstention", slice={"measure": "correct_abstention"}, micro=0.625, unscored=0
    )
    over = make_estimate(
        "abstention", slice={"measure": "over_refusal"}, better="lower", micro=0.045, low=0.01,
        high=0.1, simultaneous_low=0.01, simultaneous_high=0.1,
    )  # fmt: skip
    slices = [
        replace(row, slice={**row.slice, "query_type": kind, "stakes": "low"})
        for row, kind in ((correct, "unanswerable"), (correct, "mixed"), (over, "mixed"))
    ]
    return make_table(
        "abstention", [correct, over], unit="answer", series="measure", slices=tuple(slices),
        notes={"correct_abstention": "abstained rightly", "over_refusal": "abstained wrongly"},
    )  # fmt: skip


def _quadrant() -> MetricTable:
    notes = {
        "faithful_correct": "as it should be", "faithful_wrong": "the corpus is wrong",
        "unfaithful_correct": "luck", "unfaithful_wrong": "the system failed",
    }  # fmt: skip
    shares = dict(zip(notes, (0.5, 0.0, 0.1, 0.4), strict=True))
    rows = [
        make_estimate(
            "quadrant", slice={"cell": name}, better=None, micro=share, numerator=59 * share
        )
        for name, share in shares.items()
    ]
    return make_table("quadrant", rows, unit="answer", series="cell", notes=notes)


def _verdicts() -> MetricTable:
    shares = {
        "supported": 0.8,
        "unlinked": 0.1,
        "overreach": 0.0,
        "contradicted": 0.06,
        "stale": 0.04,
    }
    rows = [
        make_estimate("verdict_shares", slice={"verdict": name}, better=None, micro=share)
        for name, share in shares.items()
    ]
    slices = tuple(
        replace(row, slice={**row.slice, "query_type": "lookup", "stakes": "low"}) for row in rows
    )
    notes = {name: f"note on {name}" for name in shares}
    return make_table("verdict_shares", rows, series="verdict", notes=notes, slices=slices)


def _instruments() -> tuple[JudgeSummary, ...]:
    agreement = make_estimate("verifier_agreement", slice={"labeler": "verifier:v3"}, micro=0.797)
    base: dict[str, Any] = {"model": None, "prompt_ver": None, "version": None}
    return (
        JudgeSummary(labeler="ana", kind="human", labels=140, deciding_labels=132, agreement=None,
                   **base),
        JudgeSummary(labeler="verifier:v3", kind="verifier", model="m<b>", prompt_ver="p1",
                   version="3", labels=200, deciding_labels=4, agreement=agreement),
        JudgeSummary(labeler="verifier:new", kind="verifier", labels=2, deciding_labels=2,
                   agreement=None, **base),
    )  # fmt: skip


def make_claim(number: int, /, **changes: Any) -> ClaimRow:
    """Return an unsupported claim: the second of three sentences of its answer."""
    values: dict[str, Any] = {
        "run_id": "r1", "judgement": "grounded", "item_id": f"i{number}", "sample": 0,
        "claim_id": f"c{number}", "position": 0, "claim_text": f"Claim {number} of a <b>kind</b>",
        "claim_type": "factual", "question": f"Question {number}?",
        "answer_text": "First things. Wrong <i>words</i>! Last things.", "answer_start": 14,
        "answer_end": 33, "verdict": "contradicted", "label_kind": "verifier",
        "labeler": "verifier:v3", "labeled_at": None, "confidence": 0.9,
        "evidence": "The source says <em>otherwise</em>.", "evidence_start": 0,
        "source_id": "doc", "source_title": None, "source_url": "javascript:alert(1)",
        "reason": "the source says 5, the claim 6", "covered_text": None, "unscored": None,
        "disputed": False, "slice": {"query_type": "lookup", "stakes": "low"}, "severity": 0,
        "doubt": -0.9,
    }  # fmt: skip
    return ClaimRow(**(values | changes))


def make_headline(**changes: Any) -> Headline:
    values: dict[str, Any] = {
        "judgement": "grounded", "basis": "people", "rate": 0.8611, "low": 0.81, "high": 0.9,
        "confidence": 0.95, "items": 100, "claims": 1234, "asked": 1240, "unscored": 6,
        "labels": "human", "people_labels": 1234, "sampling_low": 0.82, "sampling_high": 0.89,
    }  # fmt: skip
    return Headline(**(values | changes))


def make_summary(**changes: Any) -> Summary:
    claims = (
        make_claim(1, claim_text=HOSTILE, reason=HOSTILE, question=HOSTILE, evidence=HOSTILE,
                   source_title=HOSTILE, answer_text=f"First things. {HOSTILE}"),
        make_claim(2, verdict="overreach", slice={"query_type": HOSTILE, "stakes": None}),
        make_claim(2, claim_id="d2", verdict="unlinked", evidence=None, source_id=None,
                   slice={"query_type": HOSTILE, "stakes": None}),
        make_claim(3, verdict="stale", answer_text=None, answer_start=None, answer_end=None),
    )  # fmt: skip
    values: dict[str, Any] = {
        "run": {
            "run_id": "r1", "system": HOSTILE, "model": "m1", "prompt_ver": None,
            "retriever_ver": "bm25", "corpus_ver": "2026-09", "started_at": "2026-10-05 08:00:00",
        },
        "latest": True, "headline": make_headline(),
        "change": HeadlineChange(since="r0", change=0.012, low=-0.03, high=0.05, basis="people"),
        "gates": None, "gate_problem": "<b>no</b>",
        "groups": (
            Group(slice={"query_type": HOSTILE}, rate=0.7, overall=0.8611, low=0.6, high=0.8,
                  items=12, claims=54, clearly_worse=True),
        ),
        "claims": claims,
        "errors": (("contradicted", 1), ("overreach", 1), ("unlinked", 1), ("stale", 1)),
        "unscored": (("timeout", 4), ("<i>odd</i>", 2)), "failed_answers": 1,
        "answers_without_claims": 3,
        "judges": (
            JudgeNote(labeler="verifier:v3", model="m<b>", prompt_ver="p1", claims=1234,
                      agreement=make_estimate("verifier_agreement", micro=0.797)),
        ),
    }  # fmt: skip
    return Summary(**(values | changes))


@pytest.fixture
def summary() -> Summary:
    """A first screen with something of everything."""
    return make_summary()


@pytest.fixture
def bare_summary() -> Summary:
    """The first screen of a run of which nothing was measured."""
    nothing = make_headline(
        basis=None, rate=None, low=None, high=None, items=0, claims=0, asked=3, unscored=3,
        people_labels=0, sampling_low=None, sampling_high=None, why="nobody has labelled this run",
    )  # fmt: skip
    return make_summary(
        run={"run_id": "r0"}, headline=nothing, change=None, gate_problem=None, groups=(),
        claims=(), errors=(), unscored=(("no_label", 3),), failed_answers=0,
        answers_without_claims=0, judges=(),
    )  # fmt: skip


@pytest.fixture
def summary_of(summary: Summary, bare_summary: Summary) -> Callable[[Report], Summary]:
    """The first screen that goes with a report."""
    return lambda report: bare_summary if report.run["run_id"] == "r0" else summary


@pytest.fixture
def hostile() -> str:
    """What the reports have in their slices and in their run."""
    return HOSTILE


@pytest.fixture
def make_row() -> Callable[..., Estimate]:
    """Makes an estimate from what matters in it."""
    return make_estimate


@pytest.fixture
def report() -> Report:
    """A report with something of everything."""
    faithfulness = _faithfulness()
    worst = Worst(estimate=WORST, overall=0.8611, stands_out=True)
    noise = Worst(estimate=_abstention().slices[2], overall=0.045, stands_out=False)
    reasons = {"timeout": 4.0, "<i>odd</i>": 2.0}
    return Report(
        run={
            "run_id": "r1", "system": HOSTILE, "model": "m1", "prompt_ver": None,
            "retriever_ver": "bm25", "corpus_ver": "2026-09", "started_at": "2026-10-05 08:00:00",
        },
        store="/tmp/it's here.db",
        version="0.1.0",
        by=("query_type", "stakes"),
        settings=Settings(method="bootstrap-bca", seed=7),
        worst=(worst, noise),
        tables=(
            faithfulness,
            make_table("factual_precision", [make_empty("factual_precision", asked=12)]),
            _abstention(), _quadrant(), _verdicts(),
            make_table("context_recall", [make_empty("context_recall")], unit="gold span"),
        ),
        instruments=_instruments(),
        unscored=tuple(
            make_estimate("unscored_reasons", slice={"reason": name}, numerator=count, asked=1240)
            for name, count in reasons.items()
        ),
        answers_without_claims=3,
        failed_answers=1,
        headline=make_headline(),
        warnings=("verifier:new: not yet checked against people.", "<em>careful</em>"),
    )  # fmt: skip


@pytest.fixture
def one_sided(report: Report) -> Report:
    """The same, but no item was unanswerable, so that one of the pair has no data."""
    table = report.tables[2]
    alone = replace(table, overall=table.overall[1:], slices=table.slices[2:])
    return replace(report, tables=(*report.tables[:2], alone, *report.tables[3:]))


@pytest.fixture
def bare() -> Report:
    """A run of which nothing was measured."""
    tables = (
        make_table("faithfulness", [make_empty("faithfulness")], by=()),
        make_table("abstention", [], series="measure", by=()),
    )
    return Report(
        run={"run_id": "r0"}, store="s.db", version="0.1.0", by=(), settings=Settings(), worst=(),
        tables=tables, instruments=(), unscored=(), answers_without_claims=0, failed_answers=0,
        headline=make_headline(basis=None, rate=None, low=None, high=None, why="nobody labelled"),
    )  # fmt: skip


@pytest.fixture
def many_slices(report: Report) -> Callable[[int], Report]:
    """The same with as many slices of faithfulness as you ask for."""

    def build(count: int) -> Report:
        slices = tuple(
            make_estimate(slice={"query_type": f"type {n}", "stakes": "low"}) for n in range(count)
        )
        table = replace(report.tables[0], slices=slices)
        return replace(report, tables=(table, *report.tables[1:]))

    return build


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Characters that rich copies while it prints, call by call.

    It splits what it prints at once by taking off one line and copying the rest, for every line.
    """
    counts: list[int] = []
    split = Segment.split_and_crop_lines.__func__  # type: ignore[attr-defined]

    def count(own: type[Segment], segments: Iterable[Segment], *rest: Any, **more: Any) -> Any:
        given = list(segments)
        counts.append(sum(len(one.text) * (1 + one.text.count("\n")) for one in given))
        return split(own, given, *rest, **more)

    monkeypatch.setattr(Segment, "split_and_crop_lines", classmethod(count))
    return counts
