"""What passes between splitting an answer, judging its claims, and showing the verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Final, Literal, get_args

import msgspec
from msgspec import Struct

from claimwise.types.rows import ActionEntry, ClaimType, FactLabel, Judgement, Source, Verdict

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

# Why a stretch of an answer makes no checkable claim.
NotAClaim = Literal["question", "opinion", "hedge", "framing", "refusal", "code"]


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A citation marker as it stands in the answer: ``[2]``, ``(Smith, 2019)``, a footnote."""

    text: str
    start: int
    end: int
    # What it points at: "2", "smith-2019", a URL; the source's number or id where that is plain.
    target: str


class AnswerClaim(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of an answer, with its place.

    ``answer[start:end]`` is ``text``. ``wording`` is what is judged: the text without markup and
    citation markers, and with a pronoun replaced by its antecedent where that is certain.
    """

    text: str
    start: int
    end: int
    wording: str
    claim_type: ClaimType = "factual"
    not_a_claim: NotAClaim | None = None
    # The subject taken over from an earlier claim, when it is certain which one is meant.
    antecedent: str | None = None
    # A pronoun or a bare reference whose antecedent is not certain: judged as it stands.
    ambiguous: bool = False
    # Signs that it still holds more than one statement ("and", "; "…), as the detector names them.
    compound: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a source: ``source_text[start:end]`` is ``text``."""

    source_id: str
    start: int
    end: int
    text: str


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """A verifier's calibrated probabilities; they add up to 1."""

    supports: float
    contradicts: float
    neither: float


class ClaimVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, its verdict, and what the verdict rests on.

    ``verdict`` is None for stretches that make no claim and for claims that could not be judged;
    the latter carry a code in ``unscored``.
    """

    claim: AnswerClaim
    verdict: Verdict | None = None
    # The probability that the verdict is right, as the instrument gives it.
    confidence: float | None = None
    # The probability that people call the claim supported, by a calibration of the instrument.
    calibrated: float | None = None
    scores: Scores | None = None
    span: Span | None = None
    # In words, naming the evidence: "the source says 139 m, the claim 200 m".
    reason: str = ""
    # What an overreaching claim says beyond its span.
    exceeds: str | None = None
    # Spans of other sources that say otherwise.
    conflicts: tuple[Span, ...] = ()
    # The instrument that judged; a fallback says so here ("lexical": the text is not English).
    instrument: str = ""
    unscored: str | None = None


class CheckRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to judge one answer by."""

    answer: str
    sources: tuple[Source, ...]
    question: str | None = None
    # None: nobody kept a log; empty: a log was kept and nothing was done.
    actions: tuple[ActionEntry, ...] | None = None
    # The day on which sources must hold: a stored run's own day; None is today.
    as_of: date | None = None


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """An answer's claims with their verdicts, in the answer's order."""

    answer: str
    claims: tuple[ClaimVerdict, ...]
    # The instrument's full name, as labels carry it: "verifier:embedded-3".
    verifier: str
    # How far the instrument agrees with people, in words; None when nobody has measured it.
    agreement: str | None = None
    # Which calibration made the claims' calibrated probabilities; None: nobody looked for one.
    calibration: MapBasis | None = None
    # Things a reader must know: a language that the encoder does not read, an empty source.
    warnings: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Verdict, int]:
        """The number of claims of every verdict, zeros included."""
        given = [judged.verdict for judged in self.claims]
        return {verdict: given.count(verdict) for verdict in VERDICTS}

    @property
    def judged(self) -> int:
        """The number of claims with a verdict: the rate's denominator."""
        return sum(judged.verdict is not None for judged in self.claims)

    @property
    def supported(self) -> int:
        """The number of supported claims."""
        return sum(judged.verdict == "supported" for judged in self.claims)

    @property
    def unscored(self) -> int:
        """The number of claims that could not be judged: beside the rate, never in it."""
        return sum(judged.unscored is not None for judged in self.claims)

    @property
    def rate(self) -> float | None:
        """Supported claims per judged claim; None when nothing was judged, as in a refusal."""
        return self.supported / self.judged if self.judged else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The rate if no unscored claim were supported, and if all were; None without claims."""
        asked = self.judged + self.unscored
        if not asked:
            return None
        return self.supported / asked, (self.supported + self.unscored) / asked


class MapBasis(Struct, frozen=True, kw_only=True):
    """Which calibration an instrument's probabilities of a domain go through, or why none does."""

    labeler: str
    domain: str | None
    calibration_id: str | None = None
    slice: dict[str, str | None] = {}
    claims: int = 0  # labelled ones that the map was fitted on
    runs: tuple[str, ...] = ()  # whose labels those are
    made_at: datetime | None = None
    kind: str | None = None
    ece_before: float | None = None
    ece_after: float | None = None  # on items that were held out
    why: str | None = None


CHOICES: Final[Mapping[Judgement, tuple[str, ...]]] = {
    "grounded": get_args(Verdict),
    "closed_book": get_args(FactLabel),
}
"""What a claim may be called, in the usual order."""
