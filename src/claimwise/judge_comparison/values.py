"""What comparing judges works on, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from msgspec import Struct

from claimwise.agreement.values import Figure
from claimwise.calibration.values import JudgedClaim, VerdictAccuracy
from claimwise.checking.tasks import AnswerJob

ProbeName = Literal["repeat", "order", "length", "template", "wording"]
PROBES: tuple[ProbeName, ...] = ("repeat", "order", "length", "template", "wording")
NOT_SUPPORTED = "not supported"


class Case(NamedTuple):
    """One answer, or the claims about one document: what a judge is asked about at once."""

    job: AnswerJob
    rows: tuple[int | None, ...]  # each claim's number among the labelled ones; None: no label


class LabelledCases(NamedTuple):
    """Claims that people labelled, and the cases that they are judged in."""

    cases: list[Case]
    claims: list[JudgedClaim]  # by row; what the judge said is still what people say
    sets: list[str]  # by row: the file that a claim is from; one name for a store
    clusters: Mapping[str, str]  # what items belong to that are not independent
    binary: bool  # labels say supported or not, and nothing else
    source: str  # in words
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> list[str]:
        """By row: what the claim belongs to."""
        return [self.clusters.get(claim.item_id, claim.item_id) for claim in self.claims]


class JudgeOpinion(NamedTuple):
    """What a judge makes of one claim: a verdict, or a code that says why there is none."""

    verdict: str | None
    score: float | None  # probability of support, where the judge gives one
    unscored: str | None


class JudgingCost(Struct, frozen=True, kw_only=True):
    """What judging took. Tokens include those of kept replies, which cost nothing this time."""

    seconds_per_claim: float | None  # one call at a time; None: all replies were kept ones
    timed_calls: int
    input_tokens: int | None = None  # None: no language model
    output_tokens: int | None = None
    usd_per_1000_claims: float | None = None  # None: price unknown; 0 without a language model


class ProbeFigures(Struct, frozen=True, kw_only=True):
    """How often a change that must not matter changed the verdict (supported or not).

    ``shift`` is the share that moved towards “supported” minus the share that moved away.
    The p-values are for no shift, and for no more flips than when the same question is asked
    twice. None: not tested, as too few groups differ, or for asking twice itself.
    """

    probe: ProbeName
    why: str | None = None  # why it was not measured
    claims: int = 0  # with a verdict both times
    lost: int = 0  # with a verdict in one of the two only
    flips: Figure = Figure(value=None)
    towards: int = 0
    away: int = 0
    shift: Figure = Figure(value=None)
    adjusted_p_direction: float | None = None
    adjusted_p_beyond_repeat: float | None = None
    rejected: int = 0  # claims that the judge did not restate faithfully: not probed


class JudgeFigures(Struct, frozen=True, kw_only=True):
    """One judge on the labelled claims."""

    name: str
    labeler: str
    baseline: bool  # counting words, which stands beside every judge
    claims: int
    unscored: int
    unscored_reasons: dict[str, int]
    unscored_share: Figure
    balanced_accuracy: Figure
    balanced_accuracy_bounds: tuple[float, float] | None
    sensitivity: Figure
    specificity: Figure
    auc: Figure
    kappa: Figure
    verdicts: tuple[VerdictAccuracy, ...]
    usage: JudgingCost
    probes: tuple[ProbeFigures, ...] = ()


class JudgeDifference(Struct, frozen=True, kw_only=True):
    """The balanced accuracy of one judge minus another's, on the claims that both scored."""

    one: str
    other: str
    claims: int
    differing: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    adjusted_p: float | None  # None: too few groups differ to be tested
    real: bool
    claims_needed: int | None  # in all, to show a difference as large as this one
    claims_needed_5_points: int | None
    few_groups: bool = False  # too few groups carry the difference to say how many would show it


class JudgeComparison(Struct, frozen=True, kw_only=True):
    """What comparing judges returns."""

    on: str
    claims: int
    groups: int
    weighted: bool
    probe_claims: int
    judges: tuple[JudgeFigures, ...]
    differences: tuple[JudgeDifference, ...]
    tests: int
    untested: int
    notes: tuple[str, ...] = ()
