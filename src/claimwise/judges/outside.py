"""Makes a verifier of a judge that another package brings, and holds it to its contract."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from typing import Protocol

from msgspec.structs import replace

from claimwise.registry import Entry
from claimwise.types.verdicts import VERDICTS, AnswerClaim, CheckRequest, ClaimVerdict, Scores

# Without a hyphen, so that no two pairs of name and version make the same labeler.
_VERSION = re.compile(r"[A-Za-z0-9_.]+")
_METHODS = ("score_claims", "judge_answer")


class Judge(Protocol):
    """What a package brings that judges claims against sources (group ``claimwise.judges``).

    ``version`` changes whenever verdicts may change: labels carry it after the judge's name.
    ``threshold`` is the probability of support from which it says "supported". A judge must be
    safe to load in several processes.
    """

    version: str
    threshold: float

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Return probabilities for claims about one document; None is unscored."""
        ...

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return a verdict for every claim, in order, and warnings for the reader.

        A claim that it can't judge gets ``ClaimVerdict(claim=claim, unscored="why_not")``.
        """
        ...


class OutsideVerifier:
    """A judge of another package. Its labels carry the registered name and the judge's version.

    It says nothing of its agreement with people: that is unknown until it was measured here.
    What makes no claim is not shown to the judge. What the judge returns is checked; a fault is
    told as the package's.
    """

    def __init__(self, entry: Entry, judge: Judge, name: str | None = None) -> None:
        """Take a judge over; ``name`` is what the user typed, with the model that it runs.

        Raises:
            PluginError: the judge lacks something.
        """
        self._entry = entry
        self._judge = judge
        for method in _METHODS:
            if not callable(getattr(judge, method, None)):
                raise entry.fail(f"the judge has no method {method}")
        self.name: str = name or entry.name
        self.version: str = _read_version(entry, judge)
        self.labeler: str = f"verifier:{self.name}-{self.version}"
        self.model: str = entry.origin
        self.threshold: float = _read_threshold(entry, judge)

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Return the judge's probabilities."""
        return self._entry.call(self._score, claims, document)

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return the judge's verdicts; what makes no claim gets none."""
        asked = [claim for claim in claims if claim.not_a_claim is None]
        given, warnings = self._entry.call(self._judge_claims, asked, request)
        named = iter([replace(v, instrument=v.instrument or self.name) for v in given])
        verdicts = [
            next(named)
            if claim.not_a_claim is None
            else ClaimVerdict(claim=claim, instrument=self.name)
            for claim in claims
        ]
        return verdicts, warnings

    def _score(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        found = list(self._judge.score_claims(claims, document))
        if len(found) != len(claims):
            raise self._entry.fail(
                f"score_claims returned {len(found)} scores for {len(claims)} claims"
            )
        for scores in found:
            self._check_scores(scores)
        return found

    def _judge_claims(
        self, claims: list[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        verdicts, warnings = self._judge.judge_answer(claims, request)
        if [verdict.claim for verdict in verdicts] != claims:
            raise self._entry.fail("judge_answer must return one verdict per claim, in order")
        for verdict in verdicts:
            self._check_verdict(verdict, request)
        return list(verdicts), [str(warning) for warning in warnings]

    def _check_verdict(self, verdict: ClaimVerdict, request: CheckRequest) -> None:
        if (verdict.verdict is None) == (verdict.unscored is None):
            raise self._entry.fail("a claim needs a verdict or, in unscored, why it has none")
        if verdict.verdict is not None and verdict.verdict not in VERDICTS:
            raise self._entry.fail(
                f"found the verdict {verdict.verdict!r}, expected one of {', '.join(VERDICTS)}"
            )
        if verdict.confidence is not None and not _is_share(verdict.confidence):
            raise self._entry.fail(f"found the confidence {verdict.confidence!r}, expected 0 to 1")
        self._check_scores(verdict.scores)
        for span in filter(None, (verdict.span, *verdict.conflicts)):
            texts = [s.source_text for s in request.sources if s.source_id == span.source_id]
            if not any(text[span.start : span.end] == span.text for text in texts):
                raise self._entry.fail(
                    f"a span of {span.source_id!r} is not what the source has there"
                )

    def _check_scores(self, scores: Scores | None) -> None:
        if scores is None:
            return
        parts = (scores.supports, scores.contradicts, scores.neither)
        if not all(map(_is_share, parts)) or abs(sum(parts) - 1) > 0.01:
            raise self._entry.fail(f"found the scores {parts}, expected shares that add up to 1")


def _read_version(entry: Entry, judge: Judge) -> str:
    version = getattr(judge, "version", None)
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise entry.fail(f"found the judge's version {version!r}, expected letters, digits, _ or .")
    return version


def _read_threshold(entry: Entry, judge: Judge) -> float:
    threshold = getattr(judge, "threshold", None)
    if not isinstance(threshold, int | float) or not _is_share(threshold):
        raise entry.fail(f"found the judge's threshold {threshold!r}, expected 0 to 1")
    return float(threshold)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value) and 0 <= value <= 1
