"""Reads what the pages for labelers show around a claim: how much is left, and where to go on."""

from __future__ import annotations

from datetime import datetime
from statistics import median
from typing import Any, NamedTuple

import msgspec

from claimwise.errors import RefusedError
from claimwise.labelling.queue import count_labels_of
from claimwise.labelling.rounds import query_of
from claimwise.labelling.values import Round, TaskSource
from claimwise.store.files import SqlFolder
from claimwise.store.store import Store

_SQL = SqlFolder("claimwise.labelling", "sql_desk")
_LATEST = 20  # labels that tell someone's pace


class RoundCount(msgspec.Struct, frozen=True):
    """How many labels a round wants, and how many it has."""

    slots: int
    done: int


class GoldEntry(NamedTuple):
    """An item that waits for gold spans."""

    entry_id: str
    reason: str
    added_at: datetime
    item_id: str
    query: str
    gold_answer: str | None
    corpus_ver: str
    domain: str | None


def count_round(store: Store, round_id: str) -> RoundCount:
    """Return how far a round is; cheap enough to ask with every claim."""
    return RoundCount(*store.query(_SQL["counts"], {"round_id": round_id})[0])


class DisputeCount(NamedTuple):
    """How many claims of a round people differ on, and how many of those nobody has decided."""

    all: int
    open: int


def count_disputes(store: Store, chosen: Round) -> DisputeCount:
    """Count the disputes of a round; cheap enough to ask of every round."""
    # One row, not one for each dispute: beside a thread that computes, each waits for its turn.
    counted = (
        "select count(*), coalesce(sum(case when d.decided then 0 else 1 end), 0) "
        f"from ({query_of('disputes', chosen.judgement)}) as d"
    )
    return DisputeCount(*store.query(counted, {"round_id": chosen.round_id})[0])


def count_left_in_round(store: Store, round_id: str, labeler: str) -> int:
    """Count the claims of a round that a person holds or could still be given."""
    params = {"round_id": round_id, "labeler": labeler}
    return int(store.query(_SQL["left_in_round"], params)[0][0])


class OwnProgress(msgspec.Struct, frozen=True):
    """How far one person is in a round, and how fast."""

    done: int
    left: int  # claims that they hold or could still be given
    seconds: float | None  # per claim, the median of the latest; None before the first


def read_own_progress(store: Store, round_id: str, labeler: str) -> OwnProgress:
    """Return how far a person is in a round, whatever the others did."""
    params = {"round_id": round_id, "labeler": labeler, "wanted": _LATEST}
    seconds = [row[0] for row in store.query(_SQL["own_seconds"], params)]
    return OwnProgress(
        done=count_labels_of(store, round_id, labeler),
        left=count_left_in_round(store, round_id, labeler),
        seconds=median(seconds) if seconds else None,
    )


def read_run_start(store: Store, run_id: str) -> datetime:
    """Return when a run began: sources are judged as of that day."""
    rows = store.query("select started_at from runs where run_id = :run_id", {"run_id": run_id})
    return msgspec.convert(rows[0][0], datetime)


class RunMatch(msgspec.Struct, frozen=True):
    """A run that a search found."""

    run_id: str
    system: str
    started_at: datetime


def search_runs(store: Store, words: str, most: int) -> list[RunMatch]:
    """Return the latest runs whose id, system, model or versions hold some words."""
    rows = store.query(_SQL["search_runs"], {"words": words, "most": most})
    return [RunMatch(run_id, system, msgspec.convert(at, datetime)) for run_id, system, at in rows]


def list_gold_entries(store: Store) -> list[GoldEntry]:
    """Return the items that wait for gold spans, the most urgent first."""
    return [
        GoldEntry(entry_id, reason, msgspec.convert(added_at, datetime), *rest)
        for entry_id, reason, added_at, *rest in store.query(_SQL["gold_entries"])
    ]


def find_documents(
    store: Store, corpus_ver: str, words: str, *, limit: int = 20
) -> list[TaskSource]:
    """Return documents that hold words in this order, whatever their case; all, without words."""
    params = {"corpus_ver": corpus_ver, "words": words, "documents": limit}
    return query_documents(store, "gold_documents", params)


def list_incident_documents(store: Store, item_id: str, corpus_ver: str) -> list[TaskSource]:
    """Return the documents that the system was given when an item's incident happened."""
    params = {"item_id": item_id, "corpus_ver": corpus_ver}
    return query_documents(store, "incident_documents", params)


def finish_entry(store: Store, entry_id: str, now: datetime) -> None:
    """Take an entry from the queue.

    Raises:
        RefusedError: it does not wait any more.
    """
    with store.write():
        changed = store.execute(
            "update annotation_queue set done_at = :now "
            "where entry_id = :entry_id and done_at is null",
            {"now": now, "entry_id": entry_id},
        )
        if changed != 1:
            raise RefusedError("this item no longer waits: someone else was first; nothing changed")


def query_documents(store: Store, name: str, params: dict[str, Any]) -> list[TaskSource]:
    """Return the documents that a query of this folder finds."""
    columns = (
        "source_id", "source_text", "title", "url", "valid_from", "valid_until", "superseded_by",
    )  # fmt: skip
    return [
        msgspec.convert(dict(zip(columns, row, strict=True)), TaskSource)
        for row in store.query(_SQL[name], params)
    ]
