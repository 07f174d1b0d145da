"""People who label, what they are asked, and what they answer."""

from __future__ import annotations

from datetime import date, datetime

from msgspec import Struct

from claimwise.types.rows import ClaimType, Judgement


class Round(Struct, frozen=True, kw_only=True):
    """A sample of one run's claims, drawn once, for people to label."""

    round_id: str
    run_id: str
    judgement: Judgement
    title: str
    guide_version: str
    strata_by: str | None  # the instrument whose verdicts made the strata
    overlap: float  # share of the tasks that several people label
    overlap_labels: int  # how many
    seed: int
    created_by: str
    created_at: datetime
    closed_at: datetime | None = None
    asked: int | None = None  # how many claims it was asked for; None: rounds of older versions
    shortfall: str | None = None  # why it has fewer, in a sentence


class Progress(Struct, frozen=True, kw_only=True):
    """How far a round is. Slots are labels wanted; a task may want several."""

    tasks: int
    slots: int
    done: int
    leased: int
    skipped: int  # tasks that someone passed on and nobody has labelled
    by_labeler: dict[str, int]


class TaskSource(Struct, frozen=True, kw_only=True):
    """One document to judge against, whole, with the places that the system was shown."""

    source_id: str
    source_text: str
    title: str | None = None
    url: str | None = None
    valid_from: date | None = None
    valid_until: date | None = None
    superseded_by: str | None = None
    shown: tuple[tuple[int, int], ...] = ()  # offsets of the contexts the system read
    in_corpus: bool = True  # False: only a context's text is known, spans are offsets into that


class LogEntry(Struct, frozen=True, kw_only=True):
    """One line of the action log."""

    entry_id: str
    entry_text: str
    logged_at: datetime | None = None


class GivenLabel(Struct, frozen=True, kw_only=True):
    """A person's label as they gave it, grounded or closed-book."""

    labeler: str
    verdict: str  # one of VERDICTS, or of FACT_LABELS when closed-book
    labeled_at: datetime
    guide_version: str | None = None
    source_id: str | None = None
    supporting_span: str | None = None
    span_start: int | None = None
    covered_text: str | None = None
    reason: str | None = None


class Task(Struct, frozen=True, kw_only=True):
    """All that a labeler sees of one claim. Holds no verdict of anyone else."""

    task_id: str
    round_id: str
    judgement: Judgement
    guide_version: str
    run_id: str
    item_id: str
    claim_id: str
    claim_text: str
    claim_type: ClaimType
    answer_text: str
    answer_start: int | None
    answer_end: int | None
    query: str
    sources: tuple[TaskSource, ...]
    action_log: tuple[LogEntry, ...]
    cited: tuple[str, ...] = ()  # the sources that the claim cites
    markers: dict[str, str] = {}  # citation markers of the answer, as “[2]”, and their sources
    mine: GivenLabel | None = None  # the labeler's own standing label, when they come back to it


class Choice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a labeler answers. Offsets count characters (code points) of the source's text."""

    verdict: str
    source_id: str | None = None
    span_start: int | None = None
    span_text: str | None = None
    entry_id: str | None = None  # action claims: the log entry instead of a span
    covered_text: str | None = None  # overreach: the part of the claim that the span covers
    reason: str | None = None
    seconds: float | None = None
    suggestion: int | None = (
        None  # 1 to 3: the suggested text they took; 0: another; None: no offer
    )
    save_id: str | None = None  # the page's own id of this save: sent again, it is the same save
    seen: datetime | None = None  # when the own label was given that this one replaces


class DecisionKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which of a claim's decisions: who made it, and when."""

    labeler: str
    labeled_at: datetime


class Decision(Choice, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an adjudicator answers, and the decision they saw, which this one replaces."""

    replaces: DecisionKey | None = None


class Dispute(Struct, frozen=True, kw_only=True):
    """A claim that an adjudicator has to decide: people differ, or all passed on it."""

    task_id: str
    round_id: str
    item_id: str
    claim_text: str
    labels: tuple[GivenLabel, ...]
    skips: tuple[tuple[str, str], ...]  # labeler and reason
    decided: GivenLabel | None = None
