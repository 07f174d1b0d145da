"""The baseline that every verifier is shown beside: counting words.

The share of a claim's words that its document holds. It reads nothing, knows nothing, and is
hard to beat on long answers, which is why no accuracy is printed without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from claimwise.judges.decide import decide_action
from claimwise.text.sentences import find_sentences
from claimwise.text.words import is_common, read_stems
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores, Span


class OverlapVerifier:
    """Counts the words of a claim that its document holds, and points at the likeliest sentence."""

    name: str = "overlap"
    version: str = "1"
    labeler: str = "verifier:overlap-1"
    # Of 0.30, 0.31 … 1.00 the share with the best mean balanced accuracy (0.575) over the openly
    # licensed dev sets with documents: wice, summedits, bump, factcheck_bench, fool_me_twice.
    threshold: float = 0.7

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Return the share of each claim's words found in the document as its support.

        The share is no calibrated probability. It can't tell a denial from silence either:
        whatever is not found counts as neither.
        """
        stems = frozenset(read_stems(document))
        return [_score(share_found(claim, stems)) for claim in claims]

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return "supported" or "unlinked" for every claim by the words of all sources together.

        A supported claim rests on the sentence that holds most of its words, an action on the log.
        What makes no claim gets no verdict. There is no confidence: a share is no probability.
        """
        stems = frozenset(read_stems("\n".join(source.source_text for source in request.sources)))
        sentences: list[_Sentence] = []
        verdicts = []
        for claim in claims:
            if claim.claim_type == "action" and claim.not_a_claim is None:
                verdicts.append(decide_action(claim, request.actions))
                continue
            verdict = self._judge(claim, stems)
            if verdict.verdict == "supported":
                sentences = sentences or _read_sentences(request.sources)
                verdict = replace(verdict, span=_find_likeliest(claim.wording, sentences))
            verdicts.append(verdict)
        return verdicts, []

    def _judge(self, claim: AnswerClaim, stems: frozenset[str]) -> ClaimVerdict:
        if claim.not_a_claim is not None:
            return ClaimVerdict(claim=claim, instrument=self.name)
        share = share_found(claim.wording, stems)
        return ClaimVerdict(
            claim=claim,
            verdict="supported" if share >= self.threshold else "unlinked",
            scores=_score(share),
            reason=f"the sources hold {share:.0%} of the claim's words",
            instrument=self.name,
        )


class _Sentence(NamedTuple):
    span: Span
    stems: frozenset[str]


def _read_sentences(sources: Sequence[Source]) -> list[_Sentence]:
    found = []
    for source in sources:
        text = source.source_text
        for start, end in find_sentences(text):
            words = text[start:end]
            span = Span(source_id=source.source_id, start=start, end=end, text=words)
            found.append(_Sentence(span, frozenset(read_stems(words))))
    return found


def _find_likeliest(claim: str, sentences: Sequence[_Sentence]) -> Span:
    """Return the sentence that holds most of a claim's words, the first of several."""
    return max(sentences, key=lambda sentence: share_found(claim, sentence.stems)).span


def share_found(claim: str, stems: frozenset[str]) -> float:
    """Return the share of a claim's different content words that are among the stems.

    A claim of common words alone ("It is not.") is counted by all its words; a claim without any
    word has nothing that could be found: 0.
    """
    words = frozenset(read_stems(claim))
    telling = {stem for stem in words if not is_common(stem)} or words
    return len(telling & stems) / len(telling) if telling else 0.0


def _score(share: float) -> Scores:
    return Scores(supports=share, contradicts=0.0, neither=1 - share)
