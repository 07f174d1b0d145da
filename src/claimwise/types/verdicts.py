"""What passes between splitting an answer, judging its claims, and showing the verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from importlib import import_module
from typing import Any, Final, Literal, get_args

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


class Ancestor(msgspec.Struct, frozen=True, kw_only=True):
    """A heading, list item or table cell whose words a claim took over: its place in the answer."""

    text: str
    start: int
    end: int


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
    # What it stands under and took words from, outermost first: headings, items, cells.
    ancestors: tuple[Ancestor, ...] = ()


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
    # The judge's full name, as labels carry it: "verifier:embedded-7".
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

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one flat dictionary per claim, as tables take them, in the answer's order.

        Keys that a stored run's claims have too are named as there (``claimwise.claims_frame``).
        """
        return [self._to_dict(position, judged) for position, judged in enumerate(self.claims)]

    def _to_dict(self, position: int, judged: ClaimVerdict) -> dict[str, Any]:
        claim, span = judged.claim, judged.span
        return {
            "position": position,
            "claim_text": claim.wording,
            "claim_type": claim.claim_type,
            "not_a_claim": claim.not_a_claim,
            "answer_start": claim.start,
            "answer_end": claim.end,
            "verdict": judged.verdict,
            "labeler": self.verifier,
            "confidence": judged.confidence,
            "calibrated": judged.calibrated,
            "evidence": span.text if span else None,
            "evidence_start": span.start if span else None,
            "source_id": span.source_id if span else None,
            "reason": judged.reason or None,
            "unscored": judged.unscored,
        }

    def _repr_html_(self) -> str:
        """Return the marked answer with its claims, for notebooks."""
        # Not an import statement: pages are above types, and only a notebook asks for one.
        render = import_module("claimwise.checking.report").render_checked_html
        return str(render(self))


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
