"""Reads what a labeler sees of one claim, and what people have said of it."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from claimwise.errors import RefusedError
from claimwise.labelling.rounds import query_of
from claimwise.labelling.values import GivenLabel, LogEntry, Task, TaskSource
from claimwise.store.store import Store
from claimwise.types.rows import ClaimType, Judgement, LabelKind

# A corpus of which nobody knows what the system was shown is offered whole up to this size.
_WHOLE_DOCUMENTS = 50


class StoredClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim to be judged, with its answer and its question."""

    judgement: Judgement
    run_id: str
    item_id: str
    claim_id: str
    sample: int
    claim_text: str
    claim_type: ClaimType
    answer_start: int | None
    answer_end: int | None
    answer_text: str
    query: str
    corpus_ver: str
    started_at: datetime

    @property
    def params(self) -> dict[str, Any]:
        """The parameters by which queries name the claim and what belongs to it."""
        return {
            "run_id": self.run_id,
            "item_id": self.item_id,
            "claim_id": self.claim_id,
            "sample": self.sample,
            "corpus_ver": self.corpus_ver,
        }


class StoredTask(StoredClaim, frozen=True, kw_only=True):
    """A claim that a round asks for."""

    task_id: str
    round_id: str
    position: int
    inclusion_probability: float
    guide_version: str
    round_created_at: datetime
    closed_at: datetime | None


class ClaimLabels(NamedTuple):
    """What people say of a claim and stand by, the latest last."""

    human: tuple[GivenLabel, ...]
    adjudicated: tuple[GivenLabel, ...]

    def of(self, labeler: str) -> GivenLabel | None:
        """Return a labeler's latest own label."""
        return next((one for one in reversed(self.human) if one.labeler == labeler), None)

    def latest(self) -> tuple[GivenLabel, ...]:
        """Return each labeler's latest own label, in the order in which they were given."""
        last = {one.labeler: one for one in self.human}
        return tuple(one for one in self.human if last[one.labeler] is one)

    @property
    def decided(self) -> GivenLabel | None:
        """The latest adjudicated label."""
        return self.adjudicated[-1] if self.adjudicated else None


def find_task(store: Store, task_id: str) -> StoredTask:
    """Return a stored task.

    Raises:
        RefusedError: there is none of that id.
    """
    # PostgreSQL can't be asked for text with NUL in it, and no id has one.
    named = "\x00" not in task_id
    rows = store.query(query_of("task"), {"task_id": task_id}) if named else []
    if not rows:
        raise RefusedError("there is no such task")
    return msgspec.convert(
        dict(zip(StoredTask.__struct_fields__, rows[0], strict=True)), StoredTask
    )


def list_asked_claims(store: Store, run_id: str, judgement: Judgement) -> list[StoredClaim]:
    """Return the claims of a run that metrics ask for, in the order of items and answers."""
    names = StoredClaim.__struct_fields__[1:]
    return [
        msgspec.convert({"judgement": judgement, **dict(zip(names, row, strict=True))}, StoredClaim)
        for row in store.query(query_of("claims"), {"run_id": run_id})
    ]


def find_claim(
    store: Store, run_id: str, item_id: str, claim_id: str, judgement: Judgement
) -> StoredClaim | None:
    """Return a claim of a run that can be judged, or None."""
    params = {"run_id": run_id, "item_id": item_id, "claim_id": claim_id}
    if any("\x00" in value for value in params.values()):
        return None
    names = StoredClaim.__struct_fields__[1:]
    rows = store.query(query_of("claim"), params)
    if not rows:
        return None
    fields = dict(zip(names, rows[0], strict=True))
    return msgspec.convert({"judgement": judgement, **fields}, StoredClaim)


def read_claim_labels(store: Store, task: StoredClaim) -> ClaimLabels:
    """Return what people say of a claim, as far as they stand by it."""
    given: dict[LabelKind, list[GivenLabel]] = defaultdict(list)
    for *values, kind in store.query(query_of(f"labels_{task.judgement}"), task.params):
        fields = dict(zip(GivenLabel.__struct_fields__, values, strict=True))
        given[kind].append(msgspec.convert(fields, GivenLabel))
    return ClaimLabels(tuple(given["human"]), tuple(given["adjudicated"]))


def show_task(
    store: Store, task: StoredTask, mine: GivenLabel | None = None, *, with_sources: bool = True
) -> Task:
    """Return all that a labeler sees of a claim; closed-book, that is no source and no log."""
    shown = show_claim(store, task, task.guide_version, mine, with_sources=with_sources)
    return msgspec.structs.replace(shown, task_id=task.task_id, round_id=task.round_id)


def show_claim(
    store: Store,
    claim: StoredClaim,
    guide_version: str,
    mine: GivenLabel | None = None,
    *,
    with_sources: bool = True,
) -> Task:
    """Return all that a labeler sees of a claim that no round need ask for."""
    grounded = claim.judgement == "grounded"
    return Task(
        task_id="",
        round_id="",
        judgement=claim.judgement,
        guide_version=guide_version,
        run_id=claim.run_id,
        item_id=claim.item_id,
        claim_id=claim.claim_id,
        claim_text=claim.claim_text,
        claim_type=claim.claim_type,
        answer_text=claim.answer_text,
        answer_start=claim.answer_start,
        answer_end=claim.answer_end,
        query=claim.query,
        sources=read_task_sources(store, claim) if grounded and with_sources else (),
        action_log=read_log(store, claim) if grounded else (),
        cited=read_cited(store, claim) if grounded else (),
        markers=read_markers(store, claim) if grounded else {},
        mine=mine,
    )


def read_cited(store: Store, task: StoredClaim) -> tuple[str, ...]:
    """Return the documents that a claim cites."""
    return tuple(row[0] for row in store.query(query_of("cited"), task.params))


def read_markers(store: Store, task: StoredClaim) -> dict[str, str]:
    """Return the citation markers of a claim's answer with the documents they stand for."""
    return dict(store.query(query_of("markers"), task.params))


def read_task_sources(store: Store, task: StoredClaim) -> tuple[TaskSource, ...]:
    """Return whole documents, with the places that the system was shown."""
    rows = store.query(query_of("sources"), task.params)
    if not rows:
        params = {**task.params, "documents": _WHOLE_DOCUMENTS + 1}
        rows = store.query(query_of("corpus"), params)
        rows = rows if len(rows) <= _WHOLE_DOCUMENTS else []
    shown: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for source_id, start, end in store.query(query_of("shown"), task.params):
        shown[source_id].append((start, end))
    names = ("source_id", "source_text", "title", "url", "valid_from", "valid_until")
    return tuple(
        msgspec.convert(
            dict(zip((*names, "superseded_by"), row, strict=True), shown=tuple(shown[row[0]])),
            TaskSource,
        )
        for row in rows
    )


def read_log(store: Store, task: StoredClaim) -> tuple[LogEntry, ...]:
    """Return what the system did for the answer, as logged."""
    return tuple(
        msgspec.convert(dict(zip(LogEntry.__struct_fields__, row, strict=True)), LogEntry)
        for row in store.query(query_of("log"), task.params)
    )


def list_tasks(store: Store, round_id: str) -> list[StoredTask]:
    """Return the tasks of a round in order."""
    rows = store.query(query_of("round_tasks"), {"round_id": round_id})
    return [find_task(store, row[0]) for row in rows]


def read_judge_verdicts(store: Store, claim: StoredClaim) -> list[tuple[GivenLabel, float | None]]:
    """Return the latest verdict of every instrument on a claim, with its confidence."""
    latest: dict[str, tuple[GivenLabel, float | None]] = {}
    for *values, confidence in store.query(query_of(f"verdicts_{claim.judgement}"), claim.params):
        fields = dict(zip(GivenLabel.__struct_fields__, values, strict=True))
        latest[values[0]] = msgspec.convert(fields, GivenLabel), confidence
    return list(latest.values())
