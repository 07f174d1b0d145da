"""Rounds: samples of a run's claims that people label, and how far each is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from claimwise.errors import ClaimwiseError, RefusedError, describe_unknown
from claimwise.labelling.values import Progress, Round
from claimwise.store.engine import Record
from claimwise.store.files import SqlFolder
from claimwise.store.store import Store
from claimwise.text import make_content_id
from claimwise.types.rows import Judgement

_SQL = SqlFolder("claimwise.labelling")


class Stratum(NamedTuple):
    """Claims that were drawn alike: how many there are, and how many were chosen."""

    stratum: str
    claims: int
    chosen: int


class NewTask(NamedTuple):
    """A claim that was drawn. Tasks are asked in the order of their positions."""

    position: int
    item_id: str
    claim_id: str
    stratum: str
    inclusion_probability: float
    wanted: int  # how many people label it
    run_id: str | None = None  # None: the round's own


class Candidate(NamedTuple):
    """A claim that a round may ask for."""

    item_id: str
    claim_id: str
    sample: int
    position: int
    verdict: str | None  # the instrument's
    confidence: float | None
    told: str | None  # what people have decided before
    open_round: str | None = None  # the title of an open round that asks for it already


def add_guide(store: Store, version: str, text: str, now: datetime) -> None:
    """Keep the text of a guide version. The same text again changes nothing.

    Raises:
        RefusedError: the version has another text: labels were given by that one.
    """
    with store.write():
        known = store.query(
            "select guide_text from guide_versions where guide_version = :version",
            {"version": version},
        )
        if known and known[0][0] != text:
            raise RefusedError(
                f"guide {version}: found another text than the stored one, by which labels were "
                "given; save the new text under a new version"
            )
        if not known:
            store.execute(
                "insert into guide_versions (guide_version, guide_text, created_at) "
                "values (:version, :text, :now)",
                {"version": version, "text": text, "now": now},
            )


def create_round(
    store: Store,
    new: Round,
    strata: Sequence[Stratum],
    tasks: Sequence[NewTask],
    now: datetime,
    runs: Mapping[str, int] | None = None,
) -> None:
    """Store a round with its strata, tasks and a slot for every label wanted, all or nothing.

    ``runs`` are those that a window's round drew from, with the claims of each that it could draw.

    Raises:
        RefusedError: there is a round of that id, or nothing to label.
    """
    if not tasks:
        raise RefusedError(f"round {new.round_id}: found no claims, expected at least one to label")
    with store.write():
        if store.query(
            "select 1 from annotation_rounds where round_id = :id", {"id": new.round_id}
        ):
            raise RefusedError(f"round {new.round_id}: there is one already; nothing was changed")
        fields = msgspec.structs.replace(new, created_at=now)
        store.insert_rows(
            "annotation_rounds", Round.__struct_fields__, [msgspec.structs.astuple(fields)]
        )
        store.insert_rows(
            "annotation_strata",
            ("round_id", *Stratum._fields),
            ((new.round_id, *stratum) for stratum in strata),
        )
        store.insert_rows(
            "annotation_round_runs",
            ("round_id", "run_id", "claims"),
            ((new.round_id, run_id, claims) for run_id, claims in (runs or {}).items()),
        )
        _add_tasks(store, new, tasks)


def _add_tasks(store: Store, new: Round, tasks: Sequence[NewTask]) -> None:
    ids = [make_task_id(new.round_id, task.item_id, task.claim_id) for task in tasks]
    columns = ("task_id", "round_id", *NewTask._fields)
    rows = (
        (task_id, new.round_id, *task._replace(run_id=task.run_id or new.run_id))
        for task_id, task in zip(ids, tasks, strict=True)
    )
    store.insert_rows("annotation_tasks", columns, rows)

    def list_slots() -> Iterator[tuple[Any, ...]]:
        for task_id, task in zip(ids, tasks, strict=True):
            for slot in range(task.wanted):
                yield task_id, slot, new.round_id, task.position, "open"

    store.insert_rows(
        "annotation_slots", ("task_id", "slot", "round_id", "position", "state"), list_slots()
    )


def make_task_id(round_id: str, item_id: str, claim_id: str) -> str:
    """Return the id of a claim's task in a round."""
    return make_content_id("t1", round_id, item_id, claim_id)


def list_rounds(store: Store, *, open_only: bool = False) -> list[Round]:
    """Return the rounds, the latest first; exported files hold none."""
    if store.schema_version is None:
        return []
    found = [_to_round(row) for row in store.query(query_of("rounds"))]
    return [one for one in found if not open_only or one.closed_at is None]


def _to_round(row: Record) -> Round:
    return msgspec.convert(dict(zip(Round.__struct_fields__, row, strict=True)), Round)


def read_round(store: Store, round_id: str) -> Round:
    """Return a round.

    Raises:
        RefusedError: there is none of that id.
    """
    # PostgreSQL can't be asked for text with NUL in it, and no id has one; files hold no rounds.
    named = "\x00" not in round_id and store.schema_version is not None
    rows = store.query(query_of("round"), {"round_id": round_id}) if named else []
    if not rows:
        known = (one.round_id for one in list_rounds(store)) if named else ()
        raise RefusedError(describe_unknown("round", round_id, known, where=store.place))
    return _to_round(rows[0])


def find_round(store: Store, name: str) -> Round:
    """Return the round of an id, or of the beginning of one.

    Raises:
        RefusedError: no id begins like that, or several do.
    """
    known = list_rounds(store)
    found = [one for one in known if one.round_id == name]
    found = found or [one for one in known if name and one.round_id.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(one.round_id for one in found)
        raise RefusedError(f"{len(found)} rounds start with {name!r}: {names}. Name one of them.")
    advice = "" if known else "Create one with `claimwise rounds create`."
    ids = (one.round_id for one in known)
    raise RefusedError(describe_unknown("round", name, ids, where=store.place, advice=advice))


def list_strata(store: Store, round_id: str) -> list[Stratum]:
    """Return the strata of a round, by name."""
    return [Stratum(*row) for row in store.query(query_of("strata"), {"round_id": round_id})]


def close_round(store: Store, round_id: str, now: datetime) -> None:
    """End a round: nothing more is handed out. Who is on a claim may still save it.

    Closing again changes nothing.

    Raises:
        RefusedError: there is none of that id.
    """
    with store.write():
        read_round(store, round_id)
        store.execute(
            "update annotation_rounds set closed_at = :now "
            "where round_id = :round_id and closed_at is null",
            {"now": now, "round_id": round_id},
        )


def read_progress(store: Store, round_id: str, now: datetime) -> Progress:
    """Return how far a round is; leases that have ended count as open."""
    params = {"round_id": round_id, "now": now}
    tasks = store.query("select count(*) from annotation_tasks where round_id = :round_id", params)[
        0
    ][0]
    states: dict[str, int] = dict(store.query(query_of("counts"), params))
    return Progress(
        tasks=tasks,
        slots=sum(states.values()),
        done=states.get("done", 0),
        leased=store.query(query_of("leased"), params)[0][0],
        skipped=store.query(query_of("skipped"), params)[0][0],
        by_labeler=dict(store.query(query_of("by_labeler"), params)),
    )


def check_texts_kept(store: Store, run_ids: Iterable[str]) -> None:
    """Refuse runs of live traffic whose texts are deleted in part: nobody could label those.

    A sample of what is left would speak for another population than the run.

    Raises:
        ClaimwiseError: texts of a run are deleted.
    """
    for run_id in run_ids:
        deleted, latest = store.query(_SQL["deleted_texts"], {"run_id": run_id})[0]
        if deleted:
            raise ClaimwiseError(
                f"{run_id}: the texts of {deleted} answers were deleted (`traffic retain`, "
                f"{str(latest)[:10]}), so nobody can label them; choose a later run or --window"
            )


def list_candidates(
    store: Store, run_id: str, judgement: Judgement, labeler: str | None
) -> list[Candidate]:
    """Return the claims of a run that metrics ask for, in the order of items and answers.

    Each with the latest verdict of one judge, with what people have decided, if they have, and with
    the open round that asks for it.
    """
    params = {"run_id": run_id, "labeler": labeler or ""}
    # Put together here: a database that knows little of its tables would compare all with all.
    judged = {
        (item_id, claim_id): (verdict, confidence)
        for item_id, claim_id, verdict, confidence in store.query(
            query_of(f"judged_{judgement}"), params
        )
    }
    told = {
        (item_id, claim_id): verdict
        for item_id, claim_id, verdict in store.query(query_of("told", judgement), params)
    }
    asked_by = {
        (item_id, claim_id): title
        for item_id, claim_id, title in store.query(
            query_of("in_open_rounds"), {"run_id": run_id, "judgement": judgement}
        )
    }
    found = []
    for item_id, claim_id, sample, position in store.query(query_of("asked"), params):
        key = item_id, claim_id
        known = *judged.get(key, (None, None)), told.get(key), asked_by.get(key)
        found.append(Candidate(item_id, claim_id, sample, position, *known))
    return found


def list_run_judges(store: Store, run_id: str, judgement: Judgement) -> list[str]:
    """Return the instruments that judged a run, those with most labels first."""
    rows = store.query(query_of("instruments", judgement), {"run_id": run_id})
    return [row[0] for row in rows]


def query_of(name: str, judgement: Judgement = "grounded") -> str:
    """Return a query on rounds, and on the labels of a way of judging."""
    return _SQL.for_judgement(name, judgement)
