"""From a model's probabilities to a verdict with the sentence it rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from claimwise.judges.decide import decide_unasked, is_for_model
from claimwise.judges.open_models.windows import SourceWindows, Window
from claimwise.types.rows import Source, Verdict
from claimwise.types.validity import explain_stale, is_stale
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores, Span

CLAIM_TOO_LONG = "claim_too_long"
ANSWER_TOO_LONG = "answer_too_long"
_WHY_UNSCORED = {
    CLAIM_TOO_LONG: "the claim is too long for the model to read beside its evidence",
    ANSWER_TOO_LONG: "the answer is too long for the model to read beside its evidence",
}
NOTHING_SAID = Scores(supports=0.0, contradicts=0.0, neither=1.0)


class ModelScores(NamedTuple):
    """What a model makes of a claim: probabilities, and the windows that speak for and against."""

    scores: Scores
    support: Window | None = None
    against: Window | None = None


def combine_windows(
    found: Sequence[tuple[Window, Scores]], sources: Sequence[Source], threshold: float, as_of: date
) -> ModelScores:
    """Return what the windows of a claim say together.

    One window is enough to support a claim: support is the largest of all. The largest
    contradiction counts as far as that leaves room. Of windows that support, one whose source still
    holds goes before others. Without any window, nothing is said.
    """
    if not found:
        return ModelScores(NOTHING_SAID)

    def rank(one: tuple[Window, Scores]) -> tuple[bool, float]:
        window, scores = one
        enough = scores.supports >= threshold
        return enough and not is_stale(sources[window.source], as_of), scores.supports

    best, told = max(found, key=rank)
    against, otherwise = max(found, key=lambda one: one[1].contradicts)
    supports = told.supports
    contradicts = min(otherwise.contradicts, 1 - supports)
    scores = Scores(supports=supports, contradicts=contradicts, neither=1 - supports - contradicts)
    return ModelScores(scores, best, against)


def judge_claims_with(
    score: Callable[[Sequence[AnswerClaim], date], Sequence[ModelScores | str]],
    claims: Sequence[AnswerClaim],
    request: CheckRequest,
    decide: Callable[[AnswerClaim, ModelScores, date], ClaimVerdict],
) -> list[ClaimVerdict]:
    """Return a verdict for every claim; the model is asked about all that it can judge, at once.

    Actions rest on the log, what makes no claim has no verdict, and a claim without a word is
    unscored, as is one for which ``score`` returns why it has none.
    """
    as_of = request.as_of or datetime.now(UTC).date()
    asked = [c for c in claims if is_for_model(c)]
    scored = dict(zip(map(id, asked), score(asked, as_of), strict=True))
    verdicts: list[ClaimVerdict] = []
    for claim in claims:
        found = scored.get(id(claim))
        if isinstance(found, ModelScores):
            verdicts.append(decide(claim, found, as_of))
        elif found is not None:
            reason = _WHY_UNSCORED[found]
            verdicts.append(ClaimVerdict(claim=claim, unscored=found, reason=reason))
        else:
            verdicts.append(decide_unasked(claim, request))
    return verdicts


def decide_scored(
    claim: AnswerClaim, scored: ModelScores, threshold: float, windows: SourceWindows, as_of: date
) -> ClaimVerdict:
    """Return the verdict on a claim.

    Supported from the threshold on, stale where the source of it no longer holds; contradicted
    where that is more likely than not; else unlinked. The span is the sentence of the window that
    shares most words with the claim: the model says which window decided, not which words.
    """
    scores = scored.scores
    if scored.support is not None and scores.supports >= threshold:
        span = windows.find_span(claim.wording, scored.support)
        source = windows.sources[scored.support.source]
        reason = f"the model finds support with probability {scores.supports:.0%}"
        if is_stale(source, as_of):
            reason += f", but {explain_stale(source)}"
            return _tell(claim, "stale", scores, scores.supports, reason, span)
        return _tell(claim, "supported", scores, scores.supports, reason, span)
    if scored.against is not None and scores.contradicts >= 0.5:
        span = windows.find_span(claim.wording, scored.against)
        reason = f"the model finds a contradiction with probability {scores.contradicts:.0%}"
        return _tell(claim, "contradicted", scores, scores.contradicts, reason, span)
    reason = f"no passage supports it: the highest probability of support is {scores.supports:.0%}"
    return _tell(claim, "unlinked", scores, scores.neither, reason, None)


def _tell(
    claim: AnswerClaim,
    verdict: Verdict,
    scores: Scores,
    sure: float,
    reason: str,
    span: Span | None,
) -> ClaimVerdict:
    return ClaimVerdict(
        claim=claim, verdict=verdict, confidence=sure, scores=scores, span=span, reason=reason
    )
