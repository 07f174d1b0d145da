"""The one rate of a run that is worth believing, and what it rests on.

Three bases: *people* labelled the claims; a judge labelled all and people a sample, by which the
rate is *corrected*; or a *judge only*, whose own error is then part of the range. A mixture of
some people's and some judge's labels is no rate of anything, and is never one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as change_settings
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from claimwise.calibration.correction import correct_run
from claimwise.calibration.values import CorrectedRate
from claimwise.judges.card import find_accuracy
from claimwise.metrics import Metric, estimate_metric, find_metric, narrow_labels
from claimwise.metrics.judge_error import RatePair, predict_people_rate
from claimwise.store import Store
from claimwise.types.results import Estimate, Settings, Weighting
from claimwise.types.rows import Judgement

Basis = Literal["people", "corrected", "judge_only"]

METRIC_OF: Final[dict[Judgement, str]] = {
    "grounded": "faithfulness",
    "closed_book": "factual_precision",
}
_LABELS_OF: Final[dict[Judgement, str]] = {
    "grounded": "deciding_labels",
    "closed_book": "deciding_closed_book_labels",
}
_ONE_JUDGE: Final = 0.98  # of the verdicts: what others gave can't move the rate


class Headline(Struct, frozen=True, kw_only=True):
    """A run's share of supported claims (closed-book: of true ones), with basis and range.

    ``low`` and ``high`` hold people's rate with ``confidence``; for a judge alone they contain
    its own error, and ``sampling_low`` and ``sampling_high`` don't. Without a range ``why`` says
    what is missing. ``labels`` is the policy by which parts of the run are measured on the same
    basis: groups, claims, changes.
    """

    judgement: Judgement
    basis: Basis | None  # None: nobody has labelled the run
    rate: float | None
    low: float | None
    high: float | None
    confidence: float
    items: int
    claims: int  # scored claims that the rate is about
    asked: int
    unscored: int  # asked, and without a verdict on this basis
    labels: str
    judge: str | None = None  # the judge behind it; None: people alone, or several judges
    people_labels: int = 0  # labels of people that it rests on
    sampling_low: float | None = None
    sampling_high: float | None = None
    why: str | None = None
    weighting: Weighting | None = None  # None: all items count alike

    @property
    def width(self) -> float:
        """How far the range reaches; as far as it can without one."""
        return 1.0 if self.low is None or self.high is None else self.high - self.low


def find_headline(
    store: Store,
    metrics: dict[str, Metric],
    run_id: str,
    settings: Settings | None = None,
) -> Headline:
    """Return the best rate that a run's labels allow.

    People's labels on every claim come first. Otherwise it is the rate corrected by a round of
    people's labels or, where people labelled at least half of the claims without a round, their
    rate with a range that allows for whatever the others may be: the narrower of the two. With
    neither it is the judge's rate. Settings that name labels (people's, judges', one labeler's)
    leave no choice.

    Raises:
        MetricError: run or settings are unknown.
    """
    return choose_headline(find_headlines(store, metrics, run_id, settings))


def find_headlines(
    store: Store,
    metrics: dict[str, Metric],
    run_id: str,
    settings: Settings | None = None,
) -> dict[Judgement, Headline]:
    """Return the best rate of a run for each way of judging, as `find_headline` does."""
    settings = settings or Settings()
    return {kind: _find_for(store, metrics, run_id, kind, settings) for kind in METRIC_OF}


def choose_headline(found: Mapping[Judgement, Headline]) -> Headline:
    """Return the headline of the first way of judging that has labels."""
    return next((one for one in found.values() if one.basis is not None), found["grounded"])


def _find_for(
    store: Store,
    metrics: dict[str, Metric],
    run_id: str,
    judgement: Judgement,
    settings: Settings,
) -> Headline:
    metric = find_metric(metrics, METRIC_OF[judgement])

    def measure(labels: str) -> Estimate:
        chosen = change_settings(settings, labels=labels)
        return estimate_metric(store, metric, run_id, (), chosen).overall[0]

    if settings.labels != "default":
        return _take_as_given(store, run_id, judgement, settings, measure(settings.labels))
    people, judges = measure("human"), measure("verifier")
    asked = max(people.asked, judges.asked)
    by_people = _rate_people(people, judgement, settings, asked)
    if people.micro is not None and (people.scored >= asked or judges.micro is None):
        return by_people
    corrected = correct_run(
        store, run_id, judgement, confidence=settings.confidence, cluster=settings.cluster,
        weights=settings.weights,
    )  # fmt: skip
    backed = [] if corrected is None else [_rate_corrected(corrected, judgement, asked, people)]
    if 2 * people.scored >= asked > 0:
        backed.append(by_people)
    if backed:
        return min(backed, key=lambda one: one.width)
    return _rate_judge(store, run_id, judgement, settings, judges)


def _take_as_given(
    store: Store, run_id: str, judgement: Judgement, settings: Settings, found: Estimate
) -> Headline:
    kind, _, name = settings.labels.partition(":")
    if kind == "labeler":
        rows = store.query(
            "select labeler_kind from labelers where labeler = :name", {"name": name}
        )
        kind = rows[0][0] if rows else "human"
    if kind == "human":
        return _rate_people(found, judgement, settings, found.asked)
    return _rate_judge(store, run_id, judgement, settings, found)


def _take_estimate(
    found: Estimate, judgement: Judgement, settings: Settings, basis: Basis
) -> Headline:
    """Return a rate as it was estimated, its range being the interval over items alone."""
    usual = "human" if basis == "people" else "verifier"
    return Headline(
        judgement=judgement,
        basis=None if found.micro is None else basis,
        rate=found.micro,
        low=found.low,
        high=found.high,
        confidence=settings.confidence,
        items=found.items,
        claims=found.claims,
        asked=found.asked,
        unscored=found.unscored,
        labels=usual if settings.labels == "default" else settings.labels,
        sampling_low=found.low,
        sampling_high=found.high,
        why="nobody has labelled this run" if found.micro is None else None,
        weighting=found.weighting,
    )


def _rate_people(found: Estimate, judgement: Judgement, settings: Settings, asked: int) -> Headline:
    """Return people's rate; claims that they left out widen its range by all they could be."""
    low, high = found.low, found.high
    missing = max(0, asked - found.scored)
    if missing and low is not None and high is not None:
        share = found.scored / asked
        if found.weighting and found.bound_low is not None and found.bound_high is not None:
            share = 1 - (found.bound_high - found.bound_low)  # by what the items count for
        low, high = low * share, high * share + 1 - share
    return replace(
        _take_estimate(found, judgement, settings, "people"),
        low=low,
        high=high,
        asked=asked,
        unscored=missing,
        people_labels=found.scored,
    )


def _rate_corrected(
    found: CorrectedRate, judgement: Judgement, asked: int, people: Estimate
) -> Headline:
    """Return a round's rate: corrected where a judge made its strata, else people's own."""
    return Headline(
        judgement=judgement,
        basis="corrected" if found.labeler else "people",
        rate=found.value,
        low=found.low,
        high=found.high,
        confidence=found.confidence,
        items=people.items,
        claims=found.claims,
        asked=asked,
        unscored=max(0, asked - found.claims),
        labels=f"labeler:{found.labeler}" if found.labeler else "human",
        judge=found.labeler,
        people_labels=found.labels + found.earlier,
        weighting=found.weighting,
    )


def _rate_judge(
    store: Store, run_id: str, judgement: Judgement, settings: Settings, found: Estimate
) -> Headline:
    """Return a judge's rate, with its own error in the range; without one where nobody knows it."""
    headline = _take_estimate(found, judgement, settings, "judge_only")
    if found.micro is None:
        return replace(headline, low=None, high=None)
    judge, why = _find_judge(store, run_id, judgement, headline.labels)
    low = high = None
    if judge is not None:
        sets = list_rate_pairs(judge) if judgement == "grounded" else []
        sampling = None if found.low is None or found.high is None else (found.low, found.high)
        predicted = predict_people_rate(
            found.micro, found.claims, sets, sampling=sampling, confidence=settings.confidence
        )
        if predicted is None:
            why = f"nobody has measured on labelled sets how far {judge} is from people"
        else:
            low, high = predicted
    return replace(headline, low=low, high=high, judge=judge, why=why)


def _find_judge(
    store: Store, run_id: str, judgement: Judgement, labels: str
) -> tuple[str | None, str | None]:
    """Return the judge that gave all verdicts but a trace; or why there is none."""
    prefix, params = narrow_labels(labels)
    rows = store.query(
        f"{prefix}select labeler, count(*) from {_LABELS_OF[judgement]} where run_id = :run_id "
        "and label_kind = 'verifier' group by labeler order by count(*) desc, labeler",
        {"run_id": run_id, **params},
    )
    if rows and rows[0][1] >= _ONE_JUDGE * sum(row[1] for row in rows):
        return str(rows[0][0]), None
    names = ", ".join(str(row[0]) for row in rows)
    return None, f"several judges share the run: {names}" if rows else None


def list_rate_pairs(labeler: str) -> list[RatePair]:
    """Return a judge's and people's rates on the labelled sets of its card; empty without one."""
    accuracy = find_accuracy(labeler)
    found = []
    for one in accuracy.sets.values() if accuracy else ():
        people, hits, rejects = one.prevalence, one.sensitivity, one.specificity
        if people is not None and hits is not None and rejects is not None:
            judge = people * hits + (1 - people) * (1 - rejects)
            found.append(RatePair(judge, people, one.n - one.unscored))
    return found
