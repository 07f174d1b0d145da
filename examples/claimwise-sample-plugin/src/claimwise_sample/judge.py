"""A judge: a claim is supported when one sentence of a source has all its words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from claimwise.plugins import AnswerClaim, CheckRequest, ClaimVerdict, Plugin, Scores, Source, Span

_SENTENCE = re.compile(r"[^.!?]+(?:[.!?](?!\s|\Z)[^.!?]*)*[.!?]?")
_WORD = re.compile(r"\w+")


class AllWordsJudge:
    """Looks for a sentence with all words of the claim, whatever their order."""

    version = "1"  # change it whenever verdicts may change: labels carry it
    threshold = 0.5

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Return 1 or 0: it is sure of itself, and often wrong."""
        return [_score(_find_sentence(claim, document) is not None) for claim in claims]

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return a verdict for every claim, in order."""
        return [_judge(claim, request.sources) for claim in claims], []


def _judge(claim: AnswerClaim, sources: Sequence[Source]) -> ClaimVerdict:
    if not _WORD.search(claim.wording):
        return ClaimVerdict(claim=claim, unscored="no_words")
    for source in sources:
        found = _find_sentence(claim.wording, source.source_text)
        if found is not None:
            start, end = found
            text = source.source_text[start:end]
            return ClaimVerdict(
                claim=claim,
                verdict="supported",
                scores=_score(True),
                span=Span(source_id=source.source_id, start=start, end=end, text=text),
                reason="one sentence has all words of the claim",
            )
    return ClaimVerdict(
        claim=claim,
        verdict="unlinked",
        scores=_score(False),
        reason="no sentence has all words of the claim",
    )


def _find_sentence(claim: str, text: str) -> tuple[int, int] | None:
    words = set(_WORD.findall(claim.lower()))
    for sentence in _SENTENCE.finditer(text):
        if words and words <= set(_WORD.findall(sentence.group().lower())):
            return sentence.start(), sentence.end()
    return None


def _score(found: bool) -> Scores:
    return Scores(supports=float(found), contradicts=0.0, neither=1.0 - found)


ALL_WORDS = Plugin(
    description="one sentence of a source must have all words of the claim",
    load=AllWordsJudge,
    card="An example. Nobody has measured it: claimwise bench-verifier FOLDER --verifier all-words",
)
