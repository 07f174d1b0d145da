"""What measuring returns: rates with everything a reader needs to judge them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Better = Literal["higher", "lower"]


# Which claims require a citation: where none is marked, factual ones of runs that cite at all; only
# marked ones; all factual ones.
CitationPolicy = Literal["cited", "marked", "all"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """What items count for: shares of the traffic by the values of a column, or the column's value.

    Without ``shares`` the column holds each item's own weight.
    """

    column: str
    shares: tuple[tuple[str, float], ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Weighting:
    """By what a figure is weighted, and what that costs."""

    column: str
    # How many times as many units it takes, as they count for unlike much (Kish): 1 costs nothing.
    design_effect: float

    def __str__(self) -> str:
        return f"weighted by {self.column} (design effect {self.design_effect:.2f})"

    def start_sentence(self) -> str:
        """Return the same words as a sentence starts with them."""
        return f"W{str(self)[1:]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How rates are estimated. The same settings and data give the same figures anywhere."""

    confidence: float = 0.95
    method: str = "wilson"
    resamples: int = 2000
    seed: int = 0
    labels: str = "default"  # which labels may decide: default, human, verifier or labeler:NAME
    # What items belong to that are not independent: document, conversation, item (nothing), or a
    # column of items. None: the conversation, where items have one.
    cluster: str | None = None
    # What items count for; None: all alike.
    weights: Weights | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """One rate in one slice.

    ``micro`` is the rate per claim (or other unit), ``macro`` the mean of the items' own rates:
    two different numbers. ``low`` and ``high`` enclose ``micro``; the simultaneous pair holds for
    all slices of the table at once. The bounds say where the rate could lie if every unscored
    claim counted against it, or for it. The decision pair are one-sided bounds: with confidence
    the rate is at least the one, and with confidence at most the other; a gate asks for one of
    them. Without a denominator all of them are None.
    """

    metric: str
    run_id: str
    slice: dict[str, str | None]
    better: Better | None
    micro: float | None
    low: float | None
    high: float | None
    macro: float | None
    macro_low: float | None
    macro_high: float | None
    simultaneous_low: float | None
    simultaneous_high: float | None
    bound_low: float | None
    bound_high: float | None
    decision_low: float | None
    decision_high: float | None
    method: str | None
    confidence: float
    items: int
    claims: int
    asked: int
    scored: int
    unscored: int
    numerator: float
    design_effect: float | None
    icc: float | None
    detectable_difference: float | None
    warnings: tuple[str, ...] = ()
    # Where items are weighed: the rate with its interval if all counted alike.
    unweighted: tuple[float, float, float] | None = None
    weighting: Weighting | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricTable:
    """A metric of one run: the whole, and its slices worst first.

    A metric with a series (the five verdicts, the abstention pair) has one overall estimate per
    member of the series.
    """

    metric: str
    title: str
    meaning: str
    unit: str
    series: str | None
    notes: dict[str, str]
    run_id: str
    by: tuple[str, ...]
    settings: Settings
    overall: tuple[Estimate, ...]
    slices: tuple[Estimate, ...]
    needs: tuple[str, ...] = ()  # what it can't do without, in words
    counts_labels: bool = False  # whether it rests on labels at all
    people: dict[str, int] = field(default_factory=dict)  # people's labels that it counts, by guide
    judges: dict[str, int] = field(default_factory=dict)  # verdicts that it counts, by judge

    @property
    def basis(self) -> Literal["people", "judge_only"] | None:
        """Whose labels the rates rest on; None where they need none, or have none."""
        if self.judges:
            return "judge_only"
        return "people" if self.people else None


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeNote:
    """A judge behind a figure, and how far it agrees with people anywhere in the store."""

    labeler: str
    model: str | None
    prompt_ver: str | None
    claims: int  # that it decided of the figure
    agreement: Estimate | None  # None: not yet checked against people


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeSummary:
    """Who made the deciding labels of a run, and how far an instrument agrees with people."""

    labeler: str
    kind: str
    model: str | None
    prompt_ver: str | None
    version: str | None
    labels: int
    deciding_labels: int
    agreement: Estimate | None  # None: agreement unknown
    calibration: str | None = None  # how far it is trusted, and until when; None: never measured
