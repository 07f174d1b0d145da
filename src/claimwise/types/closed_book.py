"""What passes between cutting an answer into pieces, judging them closed-book, and showing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import msgspec

from claimwise.types.rows import FactLabel
from claimwise.types.verdicts import AnswerClaim

FACT_LABELS: tuple[FactLabel, ...] = get_args(FactLabel)

# What a reader should know of a labelled claim. Those of ``SET_ASIDE`` take a claim out of the
# rate: it is unscored, with the flag as its code, and shown beside the rate.
ClaimFlag = Literal[
    "compound",  # it may still hold two statements: one label can hide that half of it is wrong
    "opinion",  # called true or false, and reads like a value judgement, which is neither
    "called_non_factual",  # called non-factual, and our splitter sees a fact in it
    "second_look",  # “true” with a number or a date: where a judge that guesses is found out
    "shortened",  # the decision basis was longer than 20 words
]
SET_ASIDE: tuple[ClaimFlag, ...] = ("compound", "opinion", "called_non_factual")
WHY_SET_ASIDE: dict[ClaimFlag, str] = {
    "compound": "it still joins two facts, and one verdict can hide a wrong half",
    "opinion": "it reads like a value judgement, which is neither true nor false",
    "called_non_factual": "it states something that can be checked",
}


class AnswerPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of an answer as the judge gets it: ``answer[start:end]``, under an id.

    ``claims`` is what our own splitter finds in it: they are unscored when the judge leaves the
    piece out, so that nothing gets lost.
    """

    id: str
    text: str
    start: int
    end: int
    claims: tuple[AnswerClaim, ...] = ()

    @property
    def factual(self) -> tuple[AnswerClaim, ...]:
        """The claims that can be true or false."""
        return tuple(claim for claim in self.claims if claim.claim_type != "non_factual")


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge is told beside the answer."""

    domain_hint: str | None = None  # the field, in a few words
    question: str | None = None  # what was asked: it says what “it” means


class FactClaim(msgspec.Struct, frozen=True, kw_only=True):
    """An atomic claim with its label, or with the code of what went wrong; never both.

    ``said`` is the judge's label of a claim that was set aside.
    """

    text: str
    label: FactLabel | None = None
    decision_basis: str = ""
    # The piece that it was found in, and where that stands in the answer.
    piece: str
    start: int
    end: int
    flags: tuple[ClaimFlag, ...] = ()
    unscored: str | None = None
    detail: str = ""
    said: FactLabel | None = None


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer took. Tokens are the provider's count; cached replies cost nothing."""

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            calls=self.calls + other.calls,
            cached=self.cached + other.cached,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class Repeats(msgspec.Struct, frozen=True, kw_only=True):
    """How steady the judge is: it was asked several times about the same pieces."""

    asked: int
    factual_precision: tuple[float | None, ...]
    # Pieces with a label in two or more repeats, and those among them whose label changed.
    compared: int
    flipped: int


class FactCheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """An answer's claims, labelled from the judge's own knowledge, in the answer's order."""

    answer: str
    claims: tuple[FactClaim, ...]
    summary_basis: str = ""
    judge: str  # as labels carry it: "judge:closed-book@2:openai:gpt-4o"
    prompt: str
    model: str
    served_by: str = ""
    frame: Frame = Frame()
    # How far the judge agrees with people, in words; None when nobody has measured it.
    agreement: str | None = None
    # Claims of our splitter of which the judge labelled nothing, though it returned their piece.
    skipped: tuple[FactClaim, ...] = ()
    # Ids in the reply that nobody asked for: dropped, with all that stood under them.
    invented: tuple[str, ...] = ()
    # Of the answer as a whole: "no_domain_hint", "summary_shortened"…
    flags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    spent: Spent = Spent()
    repeats: Repeats | None = None

    @property
    def counts(self) -> dict[FactLabel, int]:
        """The number of claims of every label, zeros included."""
        given = [claim.label for claim in self.claims]
        return {label: given.count(label) for label in FACT_LABELS}

    @property
    def scored(self) -> tuple[FactClaim, ...]:
        """The claims with a label."""
        return tuple(claim for claim in self.claims if claim.label is not None)

    @property
    def unscored(self) -> tuple[FactClaim, ...]:
        """The claims that have no label, and those passed over: beside the rate, never in it."""
        return (*(claim for claim in self.claims if claim.label is None), *self.skipped)

    @property
    def set_aside(self) -> dict[ClaimFlag, int]:
        """The number of claims that have a label which is not counted, by why not."""
        codes = [claim.unscored for claim in self.claims]
        return {flag: codes.count(flag) for flag in SET_ASIDE if flag in codes}

    @property
    def factual_precision(self) -> float | None:
        """True claims per true or false claim; None when there is neither."""
        return measure_precision(self.claims)

    @property
    def precision_unflagged(self) -> float | None:
        """The rate itself: flagged claims are no longer in it. Kept for readers of 0.9."""
        return self.factual_precision

    @property
    def precision_as_labelled(self) -> float | None:
        """The same with the claims that were set aside, as the judge labelled them."""
        return _measure([claim.said or claim.label for claim in self.claims])

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The rate if all unscored claims were false, and if all were true."""
        counts, missing = self.counts, len(self.unscored)
        whole = counts["true"] + counts["false"] + missing
        if not whole:
            return None
        return counts["true"] / whole, (counts["true"] + missing) / whole

    @property
    def second_look(self) -> tuple[FactClaim, ...]:
        """The claims that people, or a search in documents, should look at again."""
        return tuple(claim for claim in self.scored if "second_look" in claim.flags)


def measure_precision(claims: Iterable[FactClaim]) -> float | None:
    """Return true over true and false; unverifiable and non-factual claims count for neither."""
    return _measure([claim.label for claim in claims])


def _measure(labels: Sequence[FactLabel | None]) -> float | None:
    decided = labels.count("true") + labels.count("false")
    return labels.count("true") / decided if decided else None


def combine_labels(labels: Iterable[FactLabel]) -> FactLabel | None:
    """Return the label of a whole by those of its parts; None without parts.

    One false part makes the whole false; it is true only when every factual part is.
    """
    found = set(labels)
    for label in ("false", "unverifiable", "true", "non_factual"):
        if label in found:
            return label
    return None


class QueuedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A stored claim that needs a second look: called true, and it rests on a number or a date."""

    run_id: str
    item_id: str
    claim_id: str
    claim_text: str


class FactcheckRunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a command did, and how the run stands under its judge."""

    run_id: str
    judge: str
    agreement: str | None
    answers: int
    failed: int  # answers that the system did not give
    abstained: int  # answers in which the system declined or asked for clarification
    done_before: int
    without_claims: int  # answers that claim nothing
    split: int  # claims that this command found and stored
    judged: int  # claims that this command labelled
    seconds: float
    labels: dict[str, int]  # of the whole run
    unscored: dict[str, int]  # of the whole run, by reason
    flags: dict[str, int]  # claims of this command, by what to doubt in them
    labels_unflagged: dict[str, int]  # labels of this command; doubtful claims have none
    invented: int  # ids in replies that nobody asked for
    without_hint: int  # answers that read like a specialist field and had no hint
    repeats: int  # the first decides
    compared: int  # claims of the run with a label in two or more repeats
    flipped: int  # of these, with different ones
    spent: Spent
    second_look: tuple[QueuedClaim, ...]
    changed: tuple[QueuedClaim, ...] = ()  # claims on which repeats disagree
    warnings: tuple[str, ...] = ()

    @property
    def queue(self) -> tuple[QueuedClaim, ...]:
        """The claims that people should look at: each once."""
        return tuple(dict.fromkeys((*self.second_look, *self.changed)))

    @property
    def factual_precision(self) -> float | None:
        """True per true or false claim of the run; None without one."""
        return _precision(self.labels)

    @property
    def precision_unflagged(self) -> float | None:
        """The same for the claims that this command labelled."""
        return _precision(self.labels_unflagged)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The rate if all unscored claims were false, and if all were true."""
        true, missing = self.labels.get("true", 0), sum(self.unscored.values())
        whole = true + self.labels.get("false", 0) + missing
        return (true / whole, (true + missing) / whole) if whole else None


def _precision(labels: dict[str, int]) -> float | None:
    true, false = labels.get("true", 0), labels.get("false", 0)
    return true / (true + false) if true + false else None


class ProbeClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence that a judge is tried on."""

    text: str
    kind: Literal["made_up", "known_true", "known_false"]


class ProbeRate(msgspec.Struct, frozen=True, kw_only=True):
    """How often a judge did something, with Wilson's interval; ``unscored`` stand beside it."""

    hits: int
    scored: int
    unscored: int
    low: float | None
    high: float | None

    @property
    def rate(self) -> float | None:
        """Hits per scored claim; None when nothing was scored."""
        return self.hits / self.scored if self.scored else None


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True):
    """How often a judge says “true” to what does not exist, and whether it knows what all know.

    ``verdict``: "trusted" when even the upper end of the interval, every unscored claim counted
    as a hit, is within the limit; "not_trusted" when the rate itself is above it, or when it
    surely knows too few of the plain facts; "inconclusive" when too few were asked, or scored, to
    say.
    """

    judge: str
    limit: float
    seed: int
    verdict: Literal["trusted", "not_trusted", "inconclusive"]
    # Made-up claims that it calls true, the upper end with unscored ones counted as hits.
    made_up_true: ProbeRate
    highest: float | None
    known_true: ProbeRate  # plainly true ones that it calls true
    known_false: ProbeRate  # plainly false ones that it calls false
    fooled: tuple[str, ...] = ()  # the made-up claims that it called true
    unscored: dict[str, int] = {}  # by code
    warnings: tuple[str, ...] = ()
    probed_at: str = ""  # UTC, as 2026-01-31T12:00:00Z
    spent: Spent = Spent()


class TruthfulQaResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a judge did on questions of TruthfulQA: one true and one false answer to each.

    ``verdict`` is that of ``ProbeResult``, by the false answers that it calls true; None without a
    limit.
    """

    judge: str
    questions: int
    seed: int
    limit: float | None
    verdict: Literal["trusted", "not_trusted", "inconclusive"] | None
    false_called_true: ProbeRate
    false_called_false: ProbeRate
    true_called_true: ProbeRate
    believed: tuple[str, ...] = ()  # the false answers that it called true
    unscored: dict[str, int] = {}  # by code
    spent: Spent = Spent()
