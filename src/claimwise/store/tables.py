"""What the loader must know of the tables beyond their rows: who refers to whom."""

from __future__ import annotations

from dataclasses import dataclass

from claimwise.types.rows import (
    ActionEntry,
    Answer,
    AnswerLabel,
    Citation,
    Claim,
    ClosedBookLabel,
    Context,
    GoldSpan,
    GoldSpanVersion,
    Incident,
    IncidentClaim,
    IncidentContext,
    ItemAttribute,
    ItemRetirement,
    Label,
    LabelRetraction,
    QueueEntry,
    Row,
    RunAction,
    TrafficAnswer,
    Unscored,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """Columns that must occur in another table, as its foreign keys say."""

    columns: tuple[str, ...]
    table: str
    what: str  # for messages
    brought_by: str  # likewise: how it gets into the store


_RUN = Reference(("run_id",), "runs", "a run", "runs.jsonl")
_ITEM = Reference(("item_id",), "eval_items", "an item", "items.jsonl")
_INCIDENT = Reference(("incident_id",), "incidents", "an incident", "incidents.jsonl")
_ANSWER = Reference(("run_id", "item_id", "sample"), "answers", "an answer", "answers.jsonl")
_CLAIM = Reference(
    ("run_id", "item_id", "claim_id"),
    "claims",
    "a claim of that run and item, letter by letter,",
    "claims.jsonl or the claims in answers.jsonl; `claimwise verify` splits answers into claims",
)
_GUIDE = Reference(("guide_version",), "guide_versions", "a guide version", "guides.jsonl")

REFERENCES: dict[type[Row], tuple[Reference, ...]] = {
    ItemAttribute: (_ITEM,),
    GoldSpan: (_ITEM,),
    GoldSpanVersion: (_ITEM,),
    ItemRetirement: (_ITEM,),
    Incident: (_ITEM,),
    IncidentClaim: (_INCIDENT,),
    IncidentContext: (_INCIDENT,),
    QueueEntry: (_ITEM,),
    Answer: (_RUN, _ITEM),
    TrafficAnswer: (_ANSWER,),
    RunAction: (_RUN, _ITEM),
    Context: (_ANSWER,),
    ActionEntry: (_ANSWER,),
    Claim: (_ANSWER,),
    Citation: (_CLAIM,),
    Label: (_CLAIM, _GUIDE),
    ClosedBookLabel: (_CLAIM, _GUIDE),
    AnswerLabel: (_ANSWER,),
    Unscored: (_CLAIM,),
    LabelRetraction: (_CLAIM,),
}
