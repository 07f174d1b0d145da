"""Small rows to build tests from, and ways to put them into a store and to look at it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from claimwise.readers.records import complete
from claimwise.store import LoadCount, Store
from claimwise.text import make_claim_id
from claimwise.types.rows import (
    ROW_TYPES,
    ActionEntry,
    Answer,
    AnswerLabel,
    Citation,
    Claim,
    ClosedBookLabel,
    Context,
    GoldSpan,
    GoldSpanVersion,
    Guide,
    Incident,
    IncidentClaim,
    IncidentContext,
    Item,
    ItemAttribute,
    ItemRetirement,
    Label,
    Labeler,
    LabelRetraction,
    Placed,
    QueueEntry,
    Row,
    Run,
    RunAction,
    Source,
    TrafficAnswer,
    Unscored,
)

TEXT = "Tea costs €2. Tea is hot. 🍵 is tea."
CLAIM = "Tea costs €2."
_ANSWER = {"run_id": "r1", "item_id": "q1"}
_AT = "2026-03-01T09:00:00Z"

# One record of every kind that only needs the others.
BASE: dict[type[Row], dict[str, Any]] = {
    Source: {"source_id": "doc", "corpus_ver": "v1", "source_text": TEXT},
    Item: {
        "item_id": "q1",
        "query": "What does tea cost?",
        "query_type": "lookup",
        "answerable": True,
        "stakes": "low",
        "source_corpus_ver": "v1",
    },
    ItemAttribute: {"item_id": "q1", "name": "team", "value": "sales"},
    GoldSpan: {"item_id": "q1", "source_id": "doc", "span_text": CLAIM, "required": True},
    GoldSpanVersion: {
        "item_id": "q1",
        "corpus_ver": "v0",
        "source_id": "doc",
        "span_text": "Tea costs €1.",
        "required": True,
        "span_start": 0,
        "span_end": 13,
        "replaced_at": _AT,
        "replaced_by": "ann",
        "reason": "the price went up",
    },
    ItemRetirement: {
        "item_id": "q1",
        "retired_at": _AT,
        "retired_by": "ann",
        "corpus_ver": "v2",
        "reason": "the price list has gone",
        "restored_at": "2026-03-02T09:00:00Z",
    },
    Incident: {
        "incident_id": "i1",
        "item_id": "q1",
        "origin": "trace",
        "place": "trace.json",
        "answer_text": "Tea costs €3.",
        "promoted_by": "ann",
        "promoted_at": _AT,
    },
    IncidentClaim: {
        "incident_id": "i1",
        "position": 0,
        "claim_text": "Tea costs €3.",
        "wrong": True,
        "labeler": "ann",
    },
    IncidentContext: {"incident_id": "i1", "position": 0, "source_id": "doc"},
    QueueEntry: {
        "entry_id": "w1",
        "task": "gold_spans",
        "item_id": "q1",
        "reason": "an incident",
        "added_at": _AT,
    },
    Guide: {"guide_version": "g1", "guide_text": "Judge fairly.", "created_at": _AT},
    Labeler: {"labeler": "ann", "labeler_kind": "human"},
    Run: {"run_id": "r1", "system": "bot", "corpus_ver": "v1", "started_at": _AT},
    Answer: {**_ANSWER, "answer_text": "Tea costs €2. I refunded you. Hello!"},
    TrafficAnswer: {
        **_ANSWER,
        "trace_id": "t1",
        "system": "bot",
        "answered_at": _AT,
        "received_at": _AT,
        "rule": "everything",
        "inclusion_probability": 0.5,
    },
    RunAction: {**_ANSWER, "action": "answer"},
    Context: {**_ANSWER, "position": 0, "source_id": "doc", "context_text": "Tea is hot."},
    ActionEntry: {**_ANSWER, "entry_id": "e1", "entry_text": "refund issued"},
    Claim: {**_ANSWER, "position": 0, "claim_text": CLAIM},
    Citation: {
        **_ANSWER,
        "claim_id": make_claim_id("q1", CLAIM),
        "position": 0,
        "source_id": "doc",
        "marker": "[1]",
    },
    Label: {
        **_ANSWER,
        "claim_text": CLAIM,
        "verdict": "supported",
        "supporting_span": CLAIM,
        "source_id": "doc",
        "labeler": "ann",
        "labeled_at": _AT,
        "guide_version": "g1",
    },
    ClosedBookLabel: {
        **_ANSWER,
        "claim_text": CLAIM,
        "label": "true",
        "labeler": "judge:m",
        "labeled_at": _AT,
    },
    AnswerLabel: {**_ANSWER, "correct": True, "labeler": "ann", "labeled_at": _AT},
    Unscored: {
        **_ANSWER,
        "claim_text": CLAIM,
        "labeler": "verifier:v1",
        "failed_at": _AT,
        "reason": "timeout",
    },
    LabelRetraction: {
        **_ANSWER,
        "claim_id": make_claim_id("q1", CLAIM),
        "judgement": "closed_book",
        "labeler": "judge:m",
        "labeled_at": _AT,
        "retracted_at": "2026-03-02T09:00:00Z",
        "retracted_by": "ann",
    },
}


def make(row_type: type[Row], **changes: Any) -> Row:
    """Return the base row of a type with some fields changed."""
    return complete(msgspec.convert({**BASE[row_type], **changes}, row_type))


def base_rows(*, without: tuple[type[Row], ...] = ()) -> list[Row]:
    """Return one row of every kind, parents first; no label taken back that isn't given."""
    if ClosedBookLabel in without:
        without = (*without, LabelRetraction)
    return [make(row_type) for row_type in ROW_TYPES if row_type not in without]


def put(rows: Iterable[Row]) -> list[Placed]:
    """Give rows places: lines of one file."""
    return [Placed(row, 0, number) for number, row in enumerate(rows, start=1)]


def load(store: Store, *rows: Row, **options: Any) -> list[LoadCount]:
    """Load rows as if they were the lines of ``rows.jsonl``."""
    return store.load(put(rows), ["rows.jsonl"], **options)


def dump(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Return everything in the store as the driver gives it."""
    with store.snapshot():
        return {t.table: [tuple(r.values()) for r in store.read_rows(t)] for t in ROW_TYPES}


def dump_typed(store: Store) -> dict[str, list[Row]]:
    """Return everything in the store as rows, which are equal across engines."""
    with store.snapshot():
        return {
            t.table: [msgspec.convert(row, t, strict=False) for row in store.read_rows(t)]
            for t in ROW_TYPES
        }


def new_place(request: pytest.FixtureRequest, engine: str, folder: Path) -> str:
    """Return where a new store can be made."""
    if engine == "sqlite":
        return str(folder / f"{uuid4().hex}.db")
    return f"{request.getfixturevalue('postgres_server')}?schema=s{uuid4().hex}"
