"""Judges claims by a model that reads evidence and a claim together, window by window."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime

from claimwise.judges.open_models.identity import OpenJudgeIdentity
from claimwise.judges.open_models.pair_models import PairModel
from claimwise.judges.open_models.scored_claims import (
    CLAIM_TOO_LONG,
    ModelScores,
    combine_windows,
    decide_scored,
    judge_claims_with,
)
from claimwise.judges.open_models.windows import SourceWindows, Window
from claimwise.text.words import has_words
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores

MOST_WINDOWS = 16  # that a claim is read with


class PairJudge(OpenJudgeIdentity):
    """A model of :mod:`pair_models` as a judge: all claims of an answer go through it together."""

    def __init__(self, model: PairModel) -> None:
        self._model = model
        self._most = model.name.read_number("windows", MOST_WINDOWS)
        settings = f"windows of up to {model.window} {model.unit}, at most {self._most} per claim"
        super().__init__(model.name, model.fingerprint, settings)
        self._last: tuple[tuple[Source, ...], SourceWindows] | None = None

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Return the model's probabilities for claims about one document; None is unscored.

        A claim without any word, or too long for the model, can't be judged.
        """
        source = Source(source_id="document", corpus_ver="-", source_text=document)
        windows = SourceWindows([source], self._model.measure)
        asked = [n for n, claim in enumerate(claims) if has_words(claim)]
        today = datetime.now(UTC).date()
        found = self._score([claims[n] for n in asked], windows, today)
        scored = dict(zip(asked, found, strict=True))
        return [
            one.scores if isinstance(one := scored.get(n), ModelScores) else None
            for n in range(len(claims))
        ]

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return a verdict for every claim, in order, and warnings for the reader."""
        windows = self._cut(request.sources)

        def score(asked: Sequence[AnswerClaim], as_of: date) -> list[ModelScores | str]:
            return self._score([claim.wording for claim in asked], windows, as_of)

        def decide(claim: AnswerClaim, scored: ModelScores, as_of: date) -> ClaimVerdict:
            return decide_scored(claim, scored, self.threshold, windows, as_of)

        verdicts = judge_claims_with(score, claims, request, decide)
        some_left_out = len(windows.cut(self._model.window)) > self._most
        return verdicts, [self._describe_left_out()] if some_left_out else []

    def _describe_left_out(self) -> str:
        return (
            f"the sources are long: each claim was read with the {self._most} windows closest to "
            "it, not with all of them; add windows=N to the judge's name to read more"
        )

    def _cut(self, sources: tuple[Source, ...]) -> SourceWindows:
        """Return the sources' windows; answers that share their sources share them."""
        if self._last is None or self._last[0] is not sources:
            self._last = (sources, SourceWindows(sources, self._model.measure))
        return self._last[1]

    def _score(
        self, claims: Sequence[str], windows: SourceWindows, as_of: date
    ) -> list[ModelScores | str]:
        """Return what the model makes of every claim; all pairs are run together."""
        read = [self._choose(claim, windows) for claim in claims]
        encoded = [
            self._model.encode(windows.read(window), claim)
            for claim, chosen in zip(claims, read, strict=True)
            for window in chosen or ()
        ]
        scores = iter(self._model.score(encoded))
        return [
            CLAIM_TOO_LONG
            if chosen is None
            else combine_windows(
                [(window, next(scores)) for window in chosen],
                windows.sources,
                self.threshold,
                as_of,
            )
            for chosen in read
        ]

    def _choose(self, claim: str, windows: SourceWindows) -> Sequence[Window] | None:
        room = self._model.find_room(claim)
        if room is None:
            return None
        return windows.choose(windows.cut(room), claim, self._most)
