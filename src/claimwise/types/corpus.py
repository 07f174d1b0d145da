"""What passes between searching a corpus, judging by its passages, and the cascade around both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from claimwise.types.closed_book import FactCheckResult
from claimwise.types.rows import FactLabel
from claimwise.types.verdicts import VERDICTS, ClaimVerdict

# What became of a claim: a verdict of `check`, or that no passage came close enough to judge by.
NO_PASSAGE = "no_passage"
OUTCOMES: tuple[str, ...] = (*VERDICTS, NO_PASSAGE)

Stage = Literal["closed_book", "corpus", "people"]
STAGES: tuple[Stage, ...] = get_args(Stage)
# Stages that decide; the third one is a queue.
CLOSED_BOOK, CORPUS, PEOPLE = STAGES


class Retrieval(msgspec.Struct, frozen=True, kw_only=True):
    """How passages are looked for and believed; kept with every result."""

    k: int = 5  # passages for a claim, at most
    # The least share of a claim's content words, rare ones weighing more, that a passage holds.
    floor: float = 0.3
    # The least probability of support from which a verifier that gives one is believed. Sources
    # that a system was given mostly bear on the answer, passages that we found often do not.
    sure: float = 0.6

    def describe(self) -> str:
        """Return the settings in words, as a labeler carries them."""
        return f"{self.k} passages, floor {self.floor:g}, sure {self.sure:g}"


class CorpusPassage(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a document that was found for a claim: ``document[start:end]``."""

    source_id: str
    start: int
    end: int
    score: float  # BM25: it ranks the passages of one claim, and means nothing beyond that
    found: float  # share of the claim's content words that it holds
    weight: float  # the same, words weighing by their rarity: what the floor is held against


class CorpusInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Which corpus was searched."""

    name: str
    version: str | None  # of the store's sources; None for files
    documents: int
    passages: int
    characters: int


class CorpusVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A claim's verdict by a corpus, its span counted in the document, and what was found for it.

    Without any passage the verdict is "unlinked", and the outcome says ``no_passage``: the corpus
    is silent, which makes nothing false.
    """

    judged: ClaimVerdict
    passages: tuple[CorpusPassage, ...] = ()
    no_passage: bool = False

    @property
    def outcome(self) -> str | None:
        """The verdict or ``no_passage``; None for what makes no claim or could not be judged."""
        return NO_PASSAGE if self.no_passage else self.judged.verdict


class OpenBookResult(msgspec.Struct, frozen=True, kw_only=True):
    """An answer's claims with their verdicts by a corpus, in the answer's order."""

    answer: str
    claims: tuple[CorpusVerdict, ...]
    corpus: CorpusInfo
    retrieval: Retrieval
    verifier: str
    agreement: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The number of claims of every outcome, zeros included."""
        found = [claim.outcome for claim in self.claims]
        return {outcome: found.count(outcome) for outcome in OUTCOMES}

    @property
    def unscored(self) -> int:
        """The number of claims that could not be judged."""
        return sum(claim.judged.unscored is not None for claim in self.claims)

    @property
    def asked(self) -> int:
        """The number of claims, whatever became of them."""
        return sum(self.counts.values()) + self.unscored

    @property
    def decided(self) -> int:
        """The number of claims that the corpus backs or contradicts: the rate's denominator."""
        return self.counts["supported"] + self.counts["contradicted"]

    @property
    def factual_precision(self) -> float | None:
        """Backed per backed or contradicted claim; None when there is neither."""
        return self.counts["supported"] / self.decided if self.decided else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The rate over all claims if every undecided one were false, and if all were true."""
        return bound_rate(self.counts["supported"], self.counts["contradicted"], self.asked)


class CascadeClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim on its way: what each stage made of it, and the one stage where it ended."""

    text: str
    start: int
    end: int
    # The first stage: its label or the code of its failure, its basis, and what to doubt.
    label: FactLabel | None = None
    unscored: str | None = None
    basis: str = ""
    doubts: tuple[str, ...] = ()
    # The second stage; None for claims that ended in the first.
    corpus: CorpusVerdict | None = None
    # Where it ended, the label it has there (None: people must say), and why.
    stage: Stage
    decided: FactLabel | None = None
    why: str = ""


class StageReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one stage got, did and took: ``claims`` = ``decided`` + ``passed_on`` (or waiting)."""

    stage: Stage
    instrument: str
    agreement: str | None = None  # how far the instrument agrees with people; None: unknown
    claims: int
    decided: int
    passed_on: int
    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0  # US$; None: the price is unknown
    seconds: float = 0.0


class PeopleClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A stored claim that a cascade left to people, and why."""

    run_id: str
    item_id: str
    claim_id: str
    claim_text: str
    why: str


class CascadeRunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a cascade did with a stored run, and how the run stands under it."""

    run_id: str
    labeler: str
    agreement: str | None
    settings: str | None
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
    stages: dict[Stage, int]  # claims of the whole run, by where they ended
    queue: tuple[PeopleClaim, ...]  # of the whole run: those that ended with people
    warnings: tuple[str, ...] = ()

    @property
    def factual_precision(self) -> float | None:
        """True per true or false claim of the run; None without one."""
        true, false = self.labels.get("true", 0), self.labels.get("false", 0)
        return true / (true + false) if true + false else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The rate over all factual claims, those without a label taken as false, and as true."""
        true, false = self.labels.get("true", 0), self.labels.get("false", 0)
        return bound_rate(true, false, true + false + sum(self.unscored.values()))


class CascadeResult(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that went through the stages; every claim of the first ends in exactly one."""

    answer: str
    claims: tuple[CascadeClaim, ...]
    stages: tuple[StageReport, ...]
    first: FactCheckResult
    corpus: CorpusInfo
    retrieval: Retrieval
    warnings: tuple[str, ...] = ()

    @property
    def queue(self) -> tuple[CascadeClaim, ...]:
        """The claims that people must look at."""
        return tuple(claim for claim in self.claims if claim.stage == PEOPLE)

    @property
    def first_precision(self) -> float | None:
        """True per true or false claim by the first stage alone."""
        return _rate(claim.label for claim in self.claims)

    @property
    def first_bounds(self) -> tuple[float, float] | None:
        """That rate over all factual claims, undecided ones taken as false, and as true."""
        return _bound_labels(claim.label for claim in self.claims)

    @property
    def precision(self) -> float | None:
        """True per true or false claim after the cascade; the queue counts for neither."""
        return _rate(claim.decided for claim in self.claims)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """That rate over all factual claims, queued ones taken as false, and as true."""
        return _bound_labels(claim.decided for claim in self.claims)


def bound_rate(true: int, false: int, whole: int) -> tuple[float, float] | None:
    """Return the share of true claims if all undecided ones were false, and if all were true."""
    return (true / whole, (whole - false) / whole) if whole else None


def _rate(labels: Iterable[str | None]) -> float | None:
    found = list(labels)
    decided = found.count("true") + found.count("false")
    return found.count("true") / decided if decided else None


def _bound_labels(labels: Iterable[str | None]) -> tuple[float, float] | None:
    """Bound the rate over all claims but those called non-factual."""
    found = [label for label in labels if label != "non_factual"]
    return bound_rate(found.count("true"), found.count("false"), len(found))
