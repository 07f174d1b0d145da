"""What judges are worth by people's labels, how they differ, and what moves their verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from msgspec.structs import replace as change
from numpy.typing import NDArray

from claimwise.agreement.values import Figure
from claimwise.calibration.measure import (
    ClaimArrays,
    measure_balanced,
    measure_kappa,
    measure_share,
    measure_verdicts,
    read_claims,
)
from claimwise.calibration.values import VerdictAccuracy
from claimwise.judge_comparison.arrays import share_claims
from claimwise.judge_comparison.asking import Opinions
from claimwise.judge_comparison.judge import JudgedCases, ProbeAnswers
from claimwise.judge_comparison.values import (
    NOT_SUPPORTED,
    JudgeComparison,
    JudgeDifference,
    JudgeFigures,
    LabelledCases,
    ProbeFigures,
    ProbeName,
)
from claimwise.metrics.claim_differences import (
    LEVEL,
    PairedDifference,
    adjust_for_false_discoveries,
    compare_paired,
    plan_claims,
)
from claimwise.metrics.weighted_auc import measure_auc
from claimwise.types.verdicts import CHOICES

Flags = NDArray[np.bool_]
Numbers = NDArray[np.intp]

FIVE_POINTS = 0.05
NO_DEGREES = "it gives verdicts, not degrees of support"
_CODES = {verdict: number for number, verdict in enumerate(CHOICES["grounded"])}
_SUPPORTED, _OTHER = _CODES["supported"], _CODES["unlinked"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sample:
    """The labelled claims as arrays, by row."""

    truth: ClaimArrays
    sets: Numbers
    binary: bool

    @property
    def holds(self) -> Flags:
        return self.truth.holds

    def code(self, opinions: Opinions) -> Numbers:
        """Return a judge's verdicts as numbers; -1 is a claim without one."""
        said = np.full(len(self.sets), -1, dtype=np.intp)
        for row, opinion in opinions.items():
            if opinion.verdict is not None:
                said[row] = _CODES[opinion.verdict]
        if self.binary:
            said[said > _SUPPORTED] = _OTHER
        return said

    def take(self, rows: Numbers, said: Numbers) -> ClaimArrays:
        """Return what was said of some claims, beside what people say."""
        whole = self.truth
        return replace(
            whole,
            said=said,
            told=whole.told[rows],
            items=whole.items[rows],
            weights=whole.weights[rows],
            confidences=whole.confidences[rows],
            counts=whole.counts[rows],
        )

    def share(self, rows: Numbers) -> tuple[NDArray[np.float64], Numbers]:
        """Return what some claims count for in the balanced accuracy, and their cells."""
        return share_claims(self.holds[rows], self.truth.weights[rows], self.sets[rows])


def compare_judges(
    labelled: LabelledCases, judged: Sequence[JudgedCases], confidence: float = 0.95
) -> JudgeComparison:
    """Measure judges on the same claims, each pair of them, and every probe.

    All tests, of differences and of probes, are corrected together (Benjamini and Hochberg).
    """
    sample = _read_sample(labelled, confidence)
    said = [sample.code(one.opinions) for one in judged]
    pairs = list(combinations(range(len(judged)), 2))
    differences = [_compare(sample, said[one], said[other]) for one, other in pairs]
    probed = [
        {name: _probe(sample, answers, one.probes) for name, answers in one.probes.items()}
        for one in judged
    ]
    tests = [found for found in differences if found is not None]
    tests += [test for probes in probed for one in probes.values() for test in one.tests.values()]
    adjusted = _adjust(tests)
    called = sum(value <= LEVEL for value in adjusted.values())
    level = LEVEL * min(1.0, (called + 1) / max(1, len(adjusted)))
    return JudgeComparison(
        on=labelled.source,
        claims=len(labelled.claims),
        groups=sample.truth.item_count,
        weighted=sample.truth.weighted,
        probe_claims=max((p.figures.claims for each in probed for p in each.values()), default=0),
        judges=tuple(
            _measure(sample, one, said[n], [p.report(adjusted) for p in probed[n].values()])
            for n, one in enumerate(judged)
        ),
        differences=tuple(
            _describe(judged[one].name, judged[other].name, found, adjusted, level)
            for (one, other), found in zip(pairs, differences, strict=True)
        ),
        tests=len(adjusted),
        untested=len(tests) - len(adjusted),
        notes=labelled.notes,
    )


def _read_sample(labelled: LabelledCases, confidence: float) -> _Sample:
    truth = read_claims(labelled.claims, "grounded", confidence, labelled.clusters)
    _, sets = np.unique(labelled.sets, return_inverse=True)
    return _Sample(truth=truth, sets=sets.astype(np.intp), binary=labelled.binary)


def _adjust(tests: Sequence[PairedDifference]) -> dict[int, float]:
    """Return adjusted p-values of the tests that could come out as real, by their identity."""
    kept = [test for test in tests if test.can_be_real]
    values = adjust_for_false_discoveries([test.p for test in kept])
    return dict(zip(map(id, kept), values, strict=True))


# One judge


def _measure(
    sample: _Sample, one: JudgedCases, said: Numbers, probes: Sequence[ProbeFigures]
) -> JudgeFigures:
    rows = np.flatnonzero(said >= 0)
    arrays = sample.take(rows, said[rows])
    unscored = [o.unscored or "" for o in one.opinions.values() if o.verdict is None]
    every = np.ones(len(said), dtype=bool)
    return JudgeFigures(
        name=one.name,
        labeler=one.labeler,
        baseline=one.baseline,
        claims=len(said),
        unscored=len(said) - len(rows),
        unscored_reasons=dict(Counter(unscored).most_common()),
        unscored_share=measure_share(sample.truth, said < 0, every),
        balanced_accuracy_bounds=_bound(sample, said),
        auc=_measure_auc(sample, one.opinions, rows),
        kappa=measure_kappa(arrays),
        verdicts=_name_verdicts(sample, measure_verdicts(arrays)),
        usage=one.usage,
        probes=tuple(probes),
        **_measure_sides(sample, rows, arrays),
    )


def _measure_sides(sample: _Sample, rows: Numbers, arrays: ClaimArrays) -> dict[str, Any]:
    """Return balanced accuracy and its two halves; of several sets their mean."""
    shares, _ = sample.share(rows)
    if sample.sets.max(initial=0) > 0 and shares.any():
        worth = float(shares.sum() ** 2 / (shares @ shares))
        arrays = replace(arrays, weights=shares * worth / shares.sum())
    return {
        "balanced_accuracy": measure_balanced(arrays),
        "sensitivity": measure_share(
            arrays, arrays.says, arrays.holds, why="people call no claim supported"
        ),
        "specificity": measure_share(
            arrays, ~arrays.says, ~arrays.holds, why="people call every claim supported"
        ),
    }


def _bound(sample: _Sample, said: Numbers) -> tuple[float, float] | None:
    """Return the balanced accuracy if all unscored claims were wrong, and if all were right."""
    rows = np.arange(len(said))
    shares, _ = sample.share(rows)
    if not shares.any():
        return None
    right = (said >= 0) & ((said == _SUPPORTED) == sample.holds)
    return float(shares @ right), float(shares @ (right | (said < 0)))


def _measure_auc(sample: _Sample, opinions: Opinions, rows: Numbers) -> Figure:
    """Measure how well a judge sorts the claims that it gives a degree of support."""
    given = [opinions[int(row)].score for row in rows]
    rows = rows[[score is not None for score in given]]
    scores = np.array([score for score in given if score is not None], dtype=np.float64)
    if np.isin(scores, (0, 1)).all():
        return Figure(value=None, why=NO_DEGREES)
    truth = sample.truth
    found = measure_auc(
        scores, sample.holds[rows], truth.weights[rows], truth.items[rows], sample.sets[rows],
        truth.confidence,
    )  # fmt: skip
    if found is None:
        return Figure(value=None, why="people call all claims supported, or none")
    return Figure(value=found.value, low=found.low, high=found.high)


def _name_verdicts(
    sample: _Sample, verdicts: Sequence[VerdictAccuracy]
) -> tuple[VerdictAccuracy, ...]:
    """Return verdicts by name; sets know only supported and not supported."""
    if not sample.binary:
        return tuple(verdicts)
    return tuple(
        one if one.verdict == "supported" else change(one, verdict=NOT_SUPPORTED)
        for one in verdicts
    )


# Two judges


def _compare(sample: _Sample, one: Numbers, other: Numbers) -> PairedDifference | None:
    """Compare two judges on the claims that both scored; None where no set has both labels."""
    rows = np.flatnonzero((one >= 0) & (other >= 0))
    shares, cells = sample.share(rows)
    if not shares.any():
        return None
    holds = sample.holds[rows]
    right = [(said[rows] == _SUPPORTED) == holds for said in (one, other)]
    changes = right[0].astype(np.float64) - right[1]
    return compare_paired(changes, shares, cells, sample.truth.items[rows], sample.truth.confidence)


def _describe(
    one: str,
    other: str,
    found: PairedDifference | None,
    adjusted: Mapping[int, float],
    level: float,
) -> JudgeDifference:
    if found is None:
        return JudgeDifference(
            one=one, other=other, claims=0, differing=0, difference=None, low=None, high=None,
            p=None, adjusted_p=None, real=False, claims_needed=None, claims_needed_5_points=None,
        )  # fmt: skip
    value = adjusted.get(id(found))
    real = value is not None and value <= LEVEL
    return JudgeDifference(
        one=one,
        other=other,
        claims=found.claims,
        differing=found.differing,
        difference=found.value,
        low=found.low,
        high=found.high,
        p=found.p,
        adjusted_p=value,
        real=real,
        claims_needed=None if real else plan_claims(found, found.value, level=level),
        claims_needed_5_points=plan_claims(found, FIVE_POINTS, level=level),
        few_groups=not found.shows_spread,
    )


# Probes


@dataclass(frozen=True, kw_only=True, slots=True)
class _Probed:
    """A probe's figures, and the tests that they rest on."""

    figures: ProbeFigures
    tests: dict[str, PairedDifference]

    def report(self, adjusted: Mapping[int, float]) -> ProbeFigures:
        """Return the figures with the p-values that all tests together leave them."""
        found = {name: adjusted.get(id(test)) for name, test in self.tests.items()}
        return change(
            self.figures,
            adjusted_p_direction=found.get("direction"),
            adjusted_p_beyond_repeat=found.get("beyond_repeat"),
        )


def _probe(
    sample: _Sample, answers: ProbeAnswers, all_answers: Mapping[ProbeName, ProbeAnswers]
) -> _Probed:
    """Measure how often a change flipped verdicts between supported and not, and which way."""
    probe = next(name for name, one in all_answers.items() if one is answers)
    if answers.why is not None:
        return _Probed(figures=ProbeFigures(probe=probe, why=answers.why), tests={})
    before, after = sample.code(answers.before), sample.code(answers.after)
    asked = np.zeros(len(before), dtype=bool)
    asked[list(answers.after)] = True
    rows = np.flatnonzero((before >= 0) & (after >= 0))
    changes = (after[rows] == _SUPPORTED).astype(np.float64) - (before[rows] == _SUPPORTED)
    arrays = sample.take(rows, before[rows])
    shift = _test(sample, rows, changes)
    tests = {} if probe == "repeat" else {"direction": shift}
    repeat = all_answers.get("repeat")
    if probe != "repeat" and repeat is not None:
        tests["beyond_repeat"] = _compare_flips(sample, rows, changes, repeat)
    figures = ProbeFigures(
        probe=probe,
        claims=len(rows),
        lost=int(np.sum(asked & ((before >= 0) != (after >= 0)))),
        flips=measure_share(arrays, changes != 0, np.ones(len(rows), dtype=bool)),
        towards=int(np.sum(changes > 0)),
        away=int(np.sum(changes < 0)),
        shift=Figure(value=shift.value if len(rows) else None, low=shift.low, high=shift.high),
        rejected=answers.rejected,
    )
    return _Probed(figures=figures, tests=tests)


def _test(sample: _Sample, rows: Numbers, changes: NDArray[np.float64]) -> PairedDifference:
    weights = sample.truth.weights[rows]
    shares = weights / weights.sum() if len(rows) else weights
    cells = np.zeros(len(rows), dtype=np.intp)
    groups = sample.truth.items[rows]
    return compare_paired(changes, shares, cells, groups, sample.truth.confidence)


def _compare_flips(
    sample: _Sample, rows: Numbers, changes: NDArray[np.float64], repeat: ProbeAnswers
) -> PairedDifference:
    """Test whether a change flips verdicts more often than asking the same question again."""
    first, second = sample.code(repeat.before)[rows], sample.code(repeat.after)[rows]
    both = (first >= 0) & (second >= 0)
    noise = (first == _SUPPORTED) != (second == _SUPPORTED)
    flipped = (changes != 0).astype(np.float64) - noise
    return _test(sample, rows[both], flipped[both])
