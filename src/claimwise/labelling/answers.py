"""Labels of answers: does one match the gold answer? For any answer of any run, by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from claimwise.errors import RefusedError
from claimwise.labelling.rules import check_text
from claimwise.store.files import SqlFolder
from claimwise.store.store import Store
from claimwise.types.rows import AnswerLabel, Placed

_SQL = SqlFolder("claimwise.labelling", "sql_desk")
_LONGEST_REASON = 2_000


class AnswerRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose answers can be compared with gold answers, and how far a person is."""

    run_id: str
    system: str
    started_at: datetime
    answers: int
    mine: int


class AnswerPlace(NamedTuple):
    """Which answer of a run."""

    item_id: str
    sample: int


class OwnAnswerLabel(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said last of an answer."""

    correct: bool
    reason: str | None
    labeled_at: datetime


class AnswerToLabel(msgspec.Struct, frozen=True, kw_only=True):
    """An answer beside its gold answer. It holds nobody else's label."""

    run_id: str
    item_id: str
    sample: int
    query: str
    gold_answer: str | None
    answer_text: str


class CitingClaim(NamedTuple):
    """A claim of an answer, and the verdict that a person gave it."""

    claim_id: str
    claim_text: str
    citations: int
    mine: str | None


def list_answer_runs(store: Store, labeler: str, words: str, most: int) -> list[AnswerRun]:
    """Return the latest runs with answers to label whose id or system holds some words."""
    rows = store.query(_SQL["answer_runs"], {"labeler": labeler, "words": words, "most": most})
    names = AnswerRun.__struct_fields__
    return [msgspec.convert(dict(zip(names, row, strict=True)), AnswerRun) for row in rows]


def find_next_answer(
    store: Store, run_id: str, labeler: str, after: AnswerPlace | None = None
) -> AnswerPlace | None:
    """Return the next answer that a person has not labelled, behind a place or from the start."""
    for place in ([after] if after else []) + [AnswerPlace("", -1)]:
        params = {"run_id": run_id, "labeler": labeler, **place._asdict()}
        found = store.query(_SQL["next_answer"], params)
        if found:
            return AnswerPlace(*found[0])
    return None


def read_labelled_answer(store: Store, run_id: str, place: AnswerPlace) -> AnswerToLabel | None:
    """Return an answer, or None when there is none."""
    rows = store.query(_SQL["answer"], {"run_id": run_id, **place._asdict()})
    names = AnswerToLabel.__struct_fields__
    return msgspec.convert(dict(zip(names, rows[0], strict=True)), AnswerToLabel) if rows else None


def read_own_label(store: Store, answer: AnswerToLabel, labeler: str) -> OwnAnswerLabel | None:
    """Return what a person said last of an answer, or None."""
    rows = store.query(_SQL["own_answer_label"], _key(answer, labeler))
    names = OwnAnswerLabel.__struct_fields__
    if not rows:
        return None
    fields = dict(zip(names, rows[0], strict=True))
    return msgspec.convert(fields, OwnAnswerLabel, strict=False)


def list_answer_claims(store: Store, answer: AnswerToLabel, labeler: str) -> list[CitingClaim]:
    """Return the claims of an answer with a person's own verdicts."""
    rows = store.query(_SQL["answer_claims"], _key(answer, labeler))
    return [CitingClaim(*row) for row in rows]


def label_answer(
    store: Store, answer: AnswerToLabel, labeler: str, now: datetime, *, correct: bool, reason: str
) -> bool:
    """Add what a person says of an answer; return whether that is new.

    The same again changes nothing, another choice is a later label.

    Raises:
        RefusedError: there is no gold answer to compare with, or the reason can't be kept.
    """
    if answer.gold_answer is None:
        raise RefusedError("this item has no gold answer, so no answer to it can match")
    check_text("reason", reason)
    if len(reason) > _LONGEST_REASON:
        raise RefusedError(f"reason: found {len(reason):,} characters, expected up to 2,000")
    given = reason.strip() or None
    last = read_own_label(store, answer, labeler)
    if last is not None and (last.correct, last.reason) == (correct, given):
        return False
    row = AnswerLabel(
        run_id=answer.run_id,
        item_id=answer.item_id,
        sample=answer.sample,
        correct=correct,
        labeler=labeler,
        labeled_at=now if last is None else max(now, last.labeled_at + timedelta(microseconds=1)),
        label_kind="human",
        reason=given,
    )
    store.load([Placed(row, 0, 1)], ["answer"])
    return True


def _key(answer: AnswerToLabel, labeler: str) -> dict[str, Any]:
    return {
        "run_id": answer.run_id,
        "item_id": answer.item_id,
        "sample": answer.sample,
        "labeler": labeler,
    }
