"""Adds up a day: what came in, what became of it, and what judge and people say of its claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from claimwise.calibration.probabilities import score_verdict
from claimwise.monitoring.daily_rate import find_bands
from claimwise.monitoring.queries import DayRows, LabelRow, TrafficRow
from claimwise.monitoring.values import WHOLE, DayFigures

REFUSED: Final = "abstain"
_UNKNOWN_CONFIDENCE: Final = 0.9  # of judges that give none
_BUILT_IN = ("query_type", "domain", "stakes")

AnswerKey = tuple[str, str, int]


class WatchedClaim(NamedTuple):
    """A claim with what its judge and people say of it."""

    claim_id: str
    judge: str | None
    approved: bool
    score: float
    label: bool | None
    inclusion: float | None


def add_up_day(rows: DayRows, by: Sequence[str]) -> dict[str, DayFigures]:
    """Return a day's figures: of the whole under the name ``WHOLE``, and of every group."""
    claims = gather_claims(rows.labels)
    trusted = _find_trusted(claims)
    figures: dict[str, DayFigures] = {WHOLE: DayFigures()}
    for answer in rows.answers:
        groups = list(_name_groups(answer, rows.attributes.get(answer.item_id, {}), by))
        key = (answer.run_id, answer.item_id, answer.sample)
        for name in (WHOLE, *groups):
            one = figures.setdefault(name, DayFigures())
            _add_answer(one, answer, groups)
            _add_claims(one, answer, claims.get(key, []), trusted)
    figures[WHOLE].reasons.update(rows.reasons)
    return figures


def _name_groups(answer: TrafficRow, own: dict[str, str], by: Sequence[str]) -> Iterator[str]:
    for name in by:
        value = getattr(answer, name) if name in _BUILT_IN else own.get(name)
        if value is not None:
            yield f"{name}={value}"


def _add_answer(figures: DayFigures, answer: TrafficRow, groups: Sequence[str]) -> None:
    weight = 1 / answer.inclusion_probability
    figures.answers += 1
    figures.weight += weight
    if answer.action == REFUSED:
        figures.refusals += 1
        figures.refused_weight += weight
    figures.versions[answer.version] += 1
    figures.runs[answer.run_id] += 1
    for kind in (*groups, _band_length(answer.question_length), _band_passages(answer)):
        figures.inputs[kind] = figures.inputs.get(kind, 0.0) + weight


def _band_length(characters: int) -> str:
    word = "short" if characters < 60 else "medium" if characters < 250 else "long"
    return f"question={word}"


def _band_passages(answer: TrafficRow) -> str:
    count = answer.context_count
    word = "unknown" if count is None else "none" if not count else "1-3" if count < 4 else "4+"
    return f"passages={word}"


def _add_claims(
    figures: DayFigures, answer: TrafficRow, claims: Sequence[WatchedClaim], trusted: bool
) -> None:
    weight = 1 / answer.inclusion_probability
    if not answer.is_split:  # nobody has judged it: one claim at least was not scored
        figures.claims += 1
        figures.unscored += 1
        figures.asked_weight += weight
        figures.unscored_weight += weight
        figures.reasons["not_judged"] += 1
    chosen = False
    for claim in claims:
        figures.claims += 1
        figures.asked_weight += weight
        if claim.judge is None:
            figures.unscored += 1
            figures.unscored_weight += weight
            continue
        figures.judges[claim.judge] += 1
        figures.approved_weight += weight * claim.approved
        band = int(find_bands(np.asarray(claim.score)))
        figures.sizes[band] += weight
        if claim.label is None or (claim.inclusion is None and trusted):
            continue
        _add_label(figures, band, claim, weight / (claim.inclusion or 1.0), first=not chosen)
        chosen = True


def _add_label(
    figures: DayFigures, band: int, claim: WatchedClaim, stands: float, *, first: bool
) -> None:
    says = bool(claim.label)
    figures.labels += 1
    figures.label_weights[band] += stands
    figures.supported_weights[band] += stands * says
    figures.label_counts[band] += 1
    figures.supported_counts[band] += says
    if first:
        figures.single_labels.append((band, says, stands))


def gather_claims(rows: Sequence[LabelRow]) -> dict[AnswerKey, list[WatchedClaim]]:
    """Return the claims of every answer, each with what judge and people say of it."""
    by_claim: dict[tuple[AnswerKey, str], list[LabelRow]] = defaultdict(list)
    for row in rows:
        by_claim[(row.run_id, row.item_id, row.sample), row.claim_id].append(row)
    found: dict[AnswerKey, list[WatchedClaim]] = defaultdict(list)
    for (key, claim_id), labels in by_claim.items():
        found[key].append(_judge_claim(claim_id, labels))
    return found


def _judge_claim(claim_id: str, labels: Sequence[LabelRow]) -> WatchedClaim:
    """Return the latest verdict of a judge, and people's label: adjudicated first, then the latest.

    Labels come in the order of their times.
    """
    judged = [one for one in labels if one.label_kind == "verifier"]
    said = [one for one in labels if one.label_kind == "adjudicated"] or [
        one for one in labels if one.label_kind == "human"
    ]
    judge = judged[-1] if judged else None
    score, approved = 0.0, False
    if judge is not None and judge.verdict is not None:
        approved = judge.verdict == "supported"
        confidence = _UNKNOWN_CONFIDENCE if judge.confidence is None else judge.confidence
        score = score_verdict(judge.verdict, confidence)
    return WatchedClaim(
        claim_id=claim_id,
        judge=judge.labeler if judge else None,
        approved=approved,
        score=score,
        label=said[-1].verdict == "supported" if said else None,
        inclusion=said[-1].inclusion_probability if said else None,
    )


def _find_trusted(claims: dict[AnswerKey, list[WatchedClaim]]) -> bool:
    """Return whether some label was drawn with a known chance: others then don't count.

    Somebody chose those, for example as they looked wrong: beside a sample they would bias it.
    """
    return any(
        one.label is not None and one.inclusion is not None
        for found in claims.values()
        for one in found
    )
