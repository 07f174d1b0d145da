"""Calibrates an instrument: reads what people and it said, measures, decides, keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import uuid4

from msgspec.structs import replace

from claimwise.calibration.correction import correct_run
from claimwise.calibration.maps import find_thresholds, fit_map
from claimwise.calibration.measure import (
    ClaimArrays,
    compare_with_people,
    count_matrix,
    measure_balanced,
    measure_bins,
    measure_calibration_error,
    measure_kappa,
    measure_share,
    measure_verdicts,
    read_claims,
)
from claimwise.calibration.queries import (
    Key,
    LabelledClaims,
    RegisteredJudge,
    RoundSample,
    add_calibrations,
    find_registered_judge,
    list_baselines,
    name_calibrated_slice,
    read_all_domains,
    read_judged,
    read_samples,
    read_slices,
)
from claimwise.calibration.trust import decide_trust
from claimwise.calibration.values import Baseline, Calibrated, Calibration, JudgedClaim, TrustRule
from claimwise.calibration.weights import weigh_samples
from claimwise.errors import MetricError
from claimwise.metrics import refuse_unknown_run
from claimwise.metrics.clusters import map_clusters
from claimwise.store import Store
from claimwise.types.results import Weights
from claimwise.types.rows import Judgement


def calibrate_verifier(
    store: Store,
    name: str,
    *,
    now: datetime,
    judgement: Judgement = "grounded",
    runs: Sequence[str] = (),
    by: Sequence[str] = ("domain",),
    rule: TrustRule | None = None,
    keep: bool = True,
    cluster: str | None = None,
    weights: Weights | None = None,
) -> Calibrated:
    """Measure an instrument against people's labels, overall and by slice, and keep what came.

    Args:
        store: where the labels are.
        name: the instrument, or an unambiguous part of its name.
        now: the date of the calibration, UTC without zone.
        judgement: which of its verdicts.
        runs: the runs whose labels count; none for all.
        by: columns of items or attributes; each one's values are slices.
        rule: when it is trusted, and how long that lasts.
        keep: store it, so that gates and reports use it.
        cluster: what items belong to that are not independent (`map_clusters`).
        weights: what items count for in the corrected rates of runs.

    Raises:
        MetricError: instrument, run or slice are unknown, or no claim has both labels.
    """
    with store.snapshot():
        for run_id in runs:
            refuse_unknown_run(store, run_id)
        instrument = find_registered_judge(store, name)
        samples = read_samples(store, judgement)
        labelled = weigh_labelled(read_judged(store, instrument.labeler, judgement, runs), samples)
        _refuse_nothing(instrument, labelled, judgement)
        judged_runs = sorted({claim.run_id for claim in labelled.judged})
        clusters = map_clusters(store, judged_runs, cluster)
        baseline = _read_baseline(store, instrument.labeler, judgement, runs, samples)
        work = _Work(
            instrument,
            judgement,
            labelled,
            rule or TrustRule(),
            now,
            read_all_domains(store),
            baseline,
            clusters,
            cluster,
        )
        slices = _cut(work, read_slices(store, by), by)
        corrected = [
            correct_run(store, run, judgement, cluster=cluster, weights=weights)
            for run in judged_runs
        ]
    overall = work.measure({}, frozenset(read_items(labelled)))
    found = sorted((work.measure(*one) for one in slices), key=_badness)
    if keep:
        add_calibrations(store, [overall, *found])
    return Calibrated(
        overall=overall,
        slices=tuple(found),
        corrected=tuple(one for one in corrected if one is not None),
        kept=keep,
    )


def read_items(labelled: LabelledClaims) -> set[str]:
    """Return the items that people labelled claims of."""
    items = {claim.item_id for claim in labelled.judged}
    others = (labelled.unscored, labelled.unjudged, labelled.waiting)
    return items.union(*(one.values() for one in others))


def _refuse_nothing(
    instrument: RegisteredJudge, labelled: LabelledClaims, judgement: Judgement
) -> None:
    if labelled.judged:
        return
    told = len(labelled.unscored) + len(labelled.unjudged)
    raise MetricError(
        f"{instrument.labeler} has no {judgement.replace('_', '-')} verdict on "
        f"{f'the {told:,} claims' if told else 'claims'} that people labelled; let people label "
        "claims that it judged (claimwise annotate)"
    )


def weigh_labelled(labelled: LabelledClaims, samples: Sequence[RoundSample]) -> LabelledClaims:
    """Give every claim of a run with rounds the weight that those say, and no other.

    Claims without any weight wait; those that no round knows stand for themselves.
    """
    weights = weigh_samples(samples)
    runs = {sample.run_id for sample in samples}
    waiting = {
        _key(claim): claim.item_id for claim in labelled.judged if weights.get(_key(claim)) == 0
    }
    judged = [
        replace(claim, inclusion_probability=None, weight=weights.get(_key(claim)))
        if claim.run_id in runs
        else claim
        for claim in labelled.judged
        if _key(claim) not in waiting
    ]
    return labelled._replace(judged=judged, waiting=waiting)


def _read_baseline(
    store: Store,
    labeler: str,
    judgement: Judgement,
    runs: Sequence[str],
    samples: Sequence[RoundSample],
) -> _Overlap | None:
    """Return what the word-overlap baseline says of labelled claims; None when it said nothing."""
    names = list_baselines(store)
    if judgement != "grounded" or labeler in names:
        return None
    for name in names:
        judged = weigh_labelled(read_judged(store, name, judgement, runs), samples).judged
        if judged:
            return _Overlap(name, {_key(claim): claim for claim in judged})
    return None


def _cut(
    work: _Work, values: Mapping[str, Mapping[str, str | None]], by: Sequence[str]
) -> list[tuple[dict[str, str | None], frozenset[str]]]:
    """Return the slices of every column that divides the labelled items, with their items."""
    found = []
    for name in dict.fromkeys(by):
        items: dict[str | None, set[str]] = {}
        for item in read_items(work.labelled):
            items.setdefault(values[item][name], set()).add(item)
        if set(items) == {None}:  # nobody gave these items a value: that is the whole once more
            continue
        found += [({name: value}, frozenset(held)) for value, held in items.items()]
    return found


def _badness(one: Calibration) -> tuple[bool, float, str]:
    value = one.balanced_accuracy.value
    return value is None, value or 0.0, name_calibrated_slice(one.slice)


class _Overlap(NamedTuple):
    """The word-overlap baseline and its verdicts."""

    labeler: str
    judged: Mapping[Key, JudgedClaim]

    def compare(
        self, claims: Sequence[JudgedClaim], confidence: float, clusters: Mapping[str, str]
    ) -> Baseline | None:
        """Measure the baseline and the instrument on the claims that both judged."""
        shared = [claim for claim in claims if _key(claim) in self.judged]
        if not shared:
            return None
        own = [self.judged[_key(claim)] for claim in shared]
        return Baseline(
            labeler=self.labeler,
            claims=len(shared),
            balanced_accuracy=measure_balanced(read_claims(own, "grounded", confidence, clusters)),
            instrument=measure_balanced(read_claims(shared, "grounded", confidence, clusters)),
        )


class _Work(NamedTuple):
    """What all slices of one calibration share."""

    instrument: RegisteredJudge
    judgement: Judgement
    labelled: LabelledClaims
    rule: TrustRule
    now: datetime
    domains: Mapping[str, str | None]
    baseline: _Overlap | None
    clusters: Mapping[str, str]  # what items belong to that are not independent
    cluster: str | None

    def measure(self, values: dict[str, str | None], items: frozenset[str]) -> Calibration:
        """Measure the instrument on the claims of some items."""
        rule = self.rule
        claims = [claim for claim in self.labelled.judged if claim.item_id in items]
        judged = read_claims(claims, self.judgement, rule.confidence, self.clusters)
        balanced, people = measure_balanced(judged), compare_with_people(judged)
        status, reason = decide_trust(rule, len(claims), balanced, people)
        return Calibration(
            calibration_id=uuid4().hex,
            labeler=self.instrument.labeler,
            judgement=self.judgement,
            prompt_ver=self.instrument.prompt_ver,
            model=self.instrument.model,
            slice=values,
            domains=self._list_domains(claims),
            status=status,
            reason=reason,
            rule=rule,
            made_at=self.now,
            expires_at=self.now + timedelta(days=rule.days),
            balanced_accuracy=balanced,
            people=people,
            baseline=self._compare(claims),
            cluster=self.cluster,
            **self._count_labels(claims, judged, items),
            **_measure_verdicts(judged),
            **_measure_scores(judged, rule.precision),
        )

    def _count_labels(
        self, claims: Sequence[JudgedClaim], judged: ClaimArrays, items: frozenset[str]
    ) -> dict[str, Any]:
        """Return what a calibration rests on, and what is not in it."""
        labelled = self.labelled
        times = [labelled.labelled_at[_key(claim)] for claim in claims]
        return {
            "runs": tuple(sorted({claim.run_id for claim in claims})),
            "labelled_from": min(times, default=None),
            "labelled_until": max(times, default=None),
            "claims": len(claims),
            "items": len({claim.item_id for claim in claims}),
            "unscored": _count_of(labelled.unscored, items),
            "unjudged": _count_of(labelled.unjudged, items),
            "waiting": _count_of(labelled.waiting, items),
            "contested": sum(claim.contested for claim in claims),
            "weighted": judged.weighted,
            "unweighted_labels": _count_unweighted(claims) if judged.weighted else 0,
            "effective_claims": float(judged.weights.sum()),
        }

    def _compare(self, claims: Sequence[JudgedClaim]) -> Baseline | None:
        if self.baseline is None:
            return None
        return self.baseline.compare(claims, self.rule.confidence, self.clusters)

    def _list_domains(self, claims: Sequence[JudgedClaim]) -> tuple[str | None, ...]:
        found = {self.domains.get(claim.item_id) for claim in claims}
        return tuple(sorted(found, key=lambda name: (name is None, name or "")))


def _measure_verdicts(judged: ClaimArrays) -> dict[str, Any]:
    """Return how an instrument's verdicts compare with people's."""
    every = judged.said >= 0
    return {
        "matrix": count_matrix(judged),
        "prevalence": measure_share(judged, judged.holds, every),
        "agreement": measure_share(judged, judged.said == judged.told, every),
        "kappa": measure_kappa(judged),
        "sensitivity": measure_share(
            judged, judged.says, judged.holds, why="people call no claim supported"
        ),
        "specificity": measure_share(
            judged, ~judged.says, ~judged.holds, why="people call every claim supported"
        ),
        "verdicts": measure_verdicts(judged),
    }


def _measure_scores(judged: ClaimArrays, precision: float) -> dict[str, Any]:
    """Return how an instrument's confidences compare with what people said."""
    scored = judged.scored
    return {
        "without_confidence": len(judged.said) - len(scored.scores),
        "bins": measure_bins(judged),
        "ece": measure_calibration_error(judged),
        "fit": fit_map(scored),
        "thresholds": find_thresholds(scored, precision),
    }


def _key(claim: JudgedClaim) -> Key:
    return claim.run_id, claim.item_id, claim.claim_id


def _count_of(claims: Mapping[Key, str], items: frozenset[str]) -> int:
    return sum(item in items for item in claims.values())


def _count_unweighted(claims: Sequence[JudgedClaim]) -> int:
    return sum(claim.weight is None and claim.inclusion_probability is None for claim in claims)
