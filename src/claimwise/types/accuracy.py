"""What measuring a verifier on labelled claims returns."""

from __future__ import annotations

import msgspec

Bounds = tuple[float, float]


class BenchClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim about a document that people have judged: one row of a labelled set."""

    document: str
    claim: str
    supported: bool
    # What the claim belongs to (an answer, an item): claims of one group stand or fall together.
    group: str


class AccuracyGain(msgspec.Struct, frozen=True, kw_only=True):
    """A verifier's figures minus the baseline's, on the claims that both scored.

    ``interval`` belongs to ``balanced_accuracy``. All are None where a figure is undefined.
    """

    balanced_accuracy: float | None
    interval: Bounds | None
    auc: float | None
    auc_interval: Bounds | None


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """How well one verifier does on one set.

    ``n`` counts all claims, ``unscored`` those without a score, which no rate includes.
    ``balanced_accuracy_bounds`` are the balanced accuracies if every unscored claim had been
    judged wrongly, and rightly. What can't be computed (one kind of label only, nothing scored)
    is None, and so is its interval.
    """

    n: int
    unscored: int
    groups: int
    prevalence: float | None
    auc: float | None
    balanced_accuracy: float | None
    balanced_accuracy_bounds: Bounds | None
    sensitivity: float | None
    specificity: float | None
    ece: float | None
    brier: float | None
    intervals: dict[str, Bounds | None]
    difference: AccuracyGain | None


class MacroAccuracy(Accuracy, frozen=True, kw_only=True):
    """The plain mean over sets: every set weighs the same, however large. Counts are sums.

    ``left_out`` says, by figure, how many of the ``sets`` had none to average.
    """

    sets: int
    left_out: dict[str, int]


class VerifierAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """How well one verifier does on several sets, at the threshold that it ships with."""

    verifier: str
    labeler: str
    threshold: float
    sets: dict[str, Accuracy]
    macro: MacroAccuracy


class VerdictPrecision(msgspec.Struct, frozen=True, kw_only=True):
    """How often one verdict is right on claims whose labels say more than supported or not.

    ``same``: people give the same verdict; ``right``: people agree that the claim is supported, or
    that it is not; ``at_random``: the share of that label among all claims.
    """

    given: int
    same: float
    right: float
    at_random: float


class ScoredClaim(msgspec.Struct, frozen=True, kw_only=True):
    """One judged claim with what the verifier and the baseline made of it."""

    set: str
    group: str
    label: int
    supports: float | None
    contradicts: float | None
    neither: float | None
    baseline: float | None


class BenchResult(msgspec.Struct, frozen=True, kw_only=True):
    """A verifier measured beside a baseline.

    ``skipped`` says by file what was left out of the measurement, and why: the whole of a file
    that is no labelled set, or rows without a claim. ``claims`` are in the order of sets and rows.
    """

    verifier: VerifierAccuracy
    baseline: VerifierAccuracy
    skipped: dict[str, str]
    resamples: int
    seed: int
    limit: int | None
    claims: tuple[ScoredClaim, ...]
