"""What an instrument is worth by people's labels: figures, a status by a stated rule, a date."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal

from msgspec import Struct

from claimwise.agreement.values import Figure
from claimwise.types.results import Weighting
from claimwise.types.rows import Judgement, Row
from claimwise.types.verdicts import MapBasis

Status = Literal["trusted", "not trusted", "unknown"]
CalibrationStatus = Literal["trusted", "not trusted", "unknown", "expired"]

OVERALL = "overall"


class JudgedClaim(Struct, frozen=True, kw_only=True):
    """A claim that people labelled and the instrument judged."""

    run_id: str
    item_id: str
    claim_id: str
    said: str  # the instrument's verdict
    told: str  # the people's deciding verdict
    confidence: float | None = None
    inclusion_probability: float | None = None  # as its label says
    weight: float | None = None  # claims that it stands for, by all rounds of its run
    ratings: tuple[str, ...] = ()  # what each person said, where several did
    contested: bool = False  # they differ and nobody adjudicated: the latest label is told


class TrustRule(Struct, frozen=True, kw_only=True):
    """When an instrument is trusted (docs/calibration.md)."""

    level: float = 0.75  # balanced accuracy that the interval must lie above
    margin: float = 0.15  # kappa that it may be below people's among themselves
    people_floor: float = 0.4  # kappa of people below which nothing can be calibrated on them
    min_claims: int = 100
    confidence: float = 0.95
    days: int = 90
    precision: float = 0.95  # that the second threshold is for


class VerdictAccuracy(Struct, frozen=True, kw_only=True):
    """How far one verdict of the instrument can be believed, and how many of such it finds."""

    verdict: str
    said: int  # claims the instrument gave it
    told: int  # claims people gave it
    precision: Figure
    recall: Figure


class Bin(Struct, frozen=True, kw_only=True):
    """Claims of similar scores: what they promise, and the share that people call supported."""

    low: float
    high: float
    claims: int
    mean_score: float
    observed: Figure


class PeopleAgreement(Struct, frozen=True, kw_only=True):
    """People among themselves, and the instrument with them, on the same claims."""

    claims: int
    items: int
    kappa: Figure  # of people among themselves
    instrument_kappa: Figure
    gap: Figure  # people's kappa minus the instrument's


class Baseline(Struct, frozen=True, kw_only=True):
    """The word-overlap baseline on the claims that both judged, and the instrument on the same."""

    labeler: str
    claims: int
    balanced_accuracy: Figure
    instrument: Figure


class ProbabilityMap(Struct, frozen=True, kw_only=True):
    """Turns a score into the probability that people call the claim supported.

    ``platt``: 1 / (1 + exp(-(slope logit(score) + offset))), with ``drop`` taken off the offset
    where the instrument's verdict is another than supported. ``isotonic``: straight lines between
    ``points``, flat beyond them, over what ``platt`` makes of the score (with the defaults below:
    the score itself). ``identity``: the score itself.
    """

    kind: Literal["platt", "isotonic", "identity"]
    slope: float = 1.0
    offset: float = 0.0
    drop: float | None = None  # None: of a version that knew no such thing
    points: tuple[tuple[float, float], ...] = ()


class MapFit(Struct, frozen=True, kw_only=True):
    """A fitted map, and what it does for claims of items that it was not fitted on."""

    map: ProbabilityMap
    claims: int
    folds: int
    log_loss: dict[str, float]  # by kind of map, on items that were held out
    ece_before: float
    ece_after: float  # held out


class Threshold(Struct, frozen=True, kw_only=True):
    """From which score on to call a claim supported, and what that gives on held-out items."""

    value: float
    aim: Literal["balanced accuracy", "precision"]
    held_out: float | None
    target: float | None = None


class Calibration(Struct, frozen=True, kw_only=True):
    """One instrument in one slice, measured once against people, until a day."""

    calibration_id: str
    labeler: str
    judgement: Judgement
    prompt_ver: str | None
    model: str | None
    slice: dict[str, str | None]  # empty: all claims
    domains: tuple[str | None, ...]  # of the items that it rests on; it says nothing of others
    status: Status
    reason: str
    rule: TrustRule
    made_at: datetime
    expires_at: datetime
    runs: tuple[str, ...]
    labelled_from: datetime | None
    labelled_until: datetime | None
    claims: int
    items: int
    unscored: int  # people labelled it, the instrument could not
    unjudged: int  # people labelled it, the instrument was never asked
    contested: int  # people differ and nobody adjudicated: the latest label counts
    weighted: bool
    unweighted_labels: int  # labels outside any round or design, among those of one
    effective_claims: float
    matrix: dict[str, dict[str, int]]  # instrument's verdict -> people's verdict -> claims
    prevalence: Figure  # share that people call supported
    agreement: Figure
    kappa: Figure
    sensitivity: Figure
    specificity: Figure
    balanced_accuracy: Figure
    verdicts: tuple[VerdictAccuracy, ...]
    people: PeopleAgreement
    baseline: Baseline | None  # None: nobody asked it, or it is the instrument itself
    without_confidence: int
    bins: tuple[Bin, ...]
    ece: Figure
    fit: MapFit | None
    thresholds: tuple[Threshold, ...]
    waiting: int = 0  # claims of rounds that are not far enough to count
    cluster: str | None = None  # what items belong to, in its intervals, where somebody said so

    def stand(self, now: datetime) -> CalibrationStatus:
        """Return the status, or that the day has passed."""
        return "expired" if now >= self.expires_at else self.status


class RunProbabilities(Struct, frozen=True, kw_only=True):
    """How sure an instrument is of a run's claims in a domain: means, raw and calibrated."""

    basis: MapBasis
    verdicts: int
    without_confidence: int
    score: float | None  # mean as given: confidences of “supported”, one minus those of others
    calibrated: float | None


class Probability(Row, kw_only=True):
    """A label's probability of support, as given and calibrated: exported, never stored."""

    table: ClassVar = ""
    kind: ClassVar = "probabilities"
    key: ClassVar = ("run_id", "item_id", "claim_id", "labeler", "labeled_at")

    run_id: str
    item_id: str
    claim_id: str
    labeler: str
    labeled_at: datetime
    verdict: str
    confidence: float
    score: float
    calibrated: float | None = None
    calibration_id: str | None = None


class CorrectedRate(Struct, frozen=True, kw_only=True):
    """A run's rate by an instrument's verdicts on all claims and people's labels on some."""

    run_id: str
    round_id: str
    labeler: str | None  # whose verdicts made the strata
    judgement: Judgement
    value: float
    low: float
    high: float
    confidence: float
    labels: int  # given in the round
    claims: int  # in the run, as drawn from
    instrument: Figure  # the instrument alone, on what it could judge
    labels_only: Figure  # people's labels as they come, however they were drawn
    missing: int  # tasks that have no label in the round yet
    earlier: int = 0  # labels of before: of claims that the round left out, which count as well
    # What the range rests on: the verdicts on all claims too, or the labels alone (weighted). Both
    # were tried where there are few labels; ``other_width`` is that of the wider range.
    range_from: Literal["verdicts", "labels"] = "verdicts"
    other_width: float | None = None
    notes: tuple[str, ...] = ()
    weighting: Weighting | None = None  # None: all items count alike


class Calibrated(Struct, frozen=True, kw_only=True):
    """What came of a calibration: the whole, its slices worst first, and runs' rates corrected."""

    overall: Calibration
    slices: tuple[Calibration, ...]
    corrected: tuple[CorrectedRate, ...]
    kept: bool
