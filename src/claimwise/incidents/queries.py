"""Reads what promoting an incident needs, the incidents, and the annotators' queue."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from claimwise.errors import StoreError
from claimwise.incidents.values import IncidentState
from claimwise.store.files import SqlFolder
from claimwise.store.lookup import select_rows, to_row
from claimwise.store.store import Store
from claimwise.types.rows import (
    ClaimType,
    Context,
    GoldSpan,
    Incident,
    IncidentClaim,
    IncidentContext,
    Item,
    ItemAttribute,
    LabelKind,
    QueueEntry,
    Row,
    Run,
    Source,
    Verdict,
)

_SQL = SqlFolder("claimwise.incidents")

R = TypeVar("R", bound=Row)


class DecidedClaim(NamedTuple):
    """A stored claim and the label that decides it."""

    claim_id: str
    claim_text: str
    claim_type: ClaimType
    verdict: Verdict | None
    labeler: str | None
    label_kind: LabelKind | None
    reason: str | None


class FoundAnswer(NamedTuple):
    """A stored answer with what belongs to it."""

    run: Run
    item: Item
    sample: int
    text: str
    claims: list[DecidedClaim]
    # None: nobody recorded what was retrieved.
    contexts: list[Context] | None
    gold_spans: list[GoldSpan]


class IncidentProgress(NamedTuple):
    """Where an incident's item stands."""

    incident_id: str
    query: str
    state: IncidentState
    asked_in: str | None


class IncidentRows(NamedTuple):
    """Everything stored about incidents and their items."""

    incidents: list[Incident]
    claims: list[IncidentClaim]
    contexts: list[IncidentContext]
    items: list[Item]
    attributes: list[ItemAttribute]
    gold_spans: list[GoldSpan]
    sources: list[Source]


def find_answer(store: Store, name: str) -> FoundAnswer | None:
    """Return the answer that ``RUN/ITEM`` or ``RUN/ITEM/SAMPLE`` means, or None.

    Raises:
        StoreError: the name means two answers, or the system gave none there.
    """
    found = store.query(_SQL["answer"], {"name": name})
    if not found:
        return None
    if len(found) > 1:
        raise StoreError(
            f"{store.place}: {len(found)} answers are called {name!r}; give the full id of one"
        )
    if found[0][3] is None:
        raise StoreError(f"{store.place}: {name} failed and has no answer to promote")
    return _gather_answer(store, found[0])


def read_stored_answer(store: Store, run_id: str, item_id: str, sample: int) -> FoundAnswer | None:
    """Return an answer by its key; None where there is none, or its system failed to give one."""
    found = store.query(
        "select run_id, item_id, sample, answer_text, context_count from answers "
        "where run_id = :run_id and item_id = :item_id and sample = :sample "
        "and answer_text is not null",
        {"run_id": run_id, "item_id": item_id, "sample": sample},
    )
    return _gather_answer(store, found[0]) if found else None


def _gather_answer(store: Store, record: tuple[Any, ...]) -> FoundAnswer:
    run_id, item_id, sample, text, count = record
    key = {"run_id": run_id, "item_id": item_id, "sample": sample}
    of_answer = "where run_id = :run_id and item_id = :item_id and sample = :sample"
    contexts = select_rows(store, Context, of_answer, **key)
    return FoundAnswer(
        run=select_rows(store, Run, "where run_id = :run_id", run_id=run_id)[0],
        item=select_rows(store, Item, "where item_id = :item_id", item_id=item_id)[0],
        sample=sample,
        text=text,
        claims=[DecidedClaim(*row) for row in store.query(_SQL["claims"], key)],
        contexts=contexts if contexts or count is not None else None,
        gold_spans=select_rows(store, GoldSpan, "where item_id = :item_id", item_id=item_id),
    )


def find_item(store: Store, item_id: str) -> Item | None:
    """Return an item, or None."""
    found = select_rows(store, Item, "where item_id = :item_id", item_id=item_id)
    return found[0] if found else None


def has_spans(store: Store, item_id: str) -> bool:
    """Tell whether anybody has given an item gold spans."""
    sql = "select 1 from gold_spans where item_id = :item_id limit 1"
    return bool(store.query(sql, {"item_id": item_id}))


def find_incident(store: Store, incident_id: str) -> Incident | None:
    """Return an incident, or None."""
    found = select_rows(
        store, Incident, "where incident_id = :incident_id", incident_id=incident_id
    )
    return found[0] if found else None


def read_questions(store: Store) -> dict[str, str]:
    """Return what every item of the test set asks, by its id; live traffic is none of it."""
    sql = (
        "select e.item_id, e.query from eval_items as e where not exists "
        "(select 1 from traffic_answers as t where t.item_id = e.item_id) order by e.item_id"
    )
    return dict(store.query(sql))


def find_holder(store: Store, corpus_ver: str, passage: str) -> str | None:
    """Return the id of a document that holds a passage letter by letter, or None."""
    found = store.query(_SQL["holders"], {"corpus_ver": corpus_ver, "passage": passage})
    return found[0][0] if found else None


def list_incident_progress(store: Store) -> list[IncidentProgress]:
    """Return where every incident's item stands, the latest promoted first."""
    return [IncidentProgress(*row) for row in store.query(_SQL["standing"])]


def read_incident_state(store: Store) -> tuple[Any, ...]:
    """Return what the list of incidents rests on, besides items and gold spans, in counts."""
    return tuple(store.query(_SQL["state"])[0])


def list_queue(store: Store) -> list[QueueEntry]:
    """Return what waits for annotators, the most urgent first."""
    return [to_row(QueueEntry, row) for row in store.query(_SQL["queue"])]


def read_entry_ids(store: Store) -> frozenset[str]:
    """Return the ids of all entries that the queue has or had."""
    return frozenset(row[0] for row in store.query("select entry_id from annotation_queue"))


def read_incidents(store: Store) -> IncidentRows:
    """Return all incidents with their items, spans, and the documents those refer to."""
    of_items = "where item_id in (select item_id from incidents)"
    used = (
        "where exists (select 1 from eval_items as e join incidents as i "
        "on i.item_id = e.item_id where e.source_corpus_ver = sources.corpus_ver and ("
        "exists (select 1 from gold_spans as g where g.item_id = e.item_id "
        "and g.source_id = sources.source_id) or exists (select 1 from incident_contexts as c "
        "where c.incident_id = i.incident_id and c.source_id = sources.source_id)))"
    )
    return IncidentRows(
        incidents=select_rows(store, Incident),
        claims=select_rows(store, IncidentClaim),
        contexts=select_rows(store, IncidentContext),
        items=select_rows(store, Item, of_items),
        attributes=select_rows(store, ItemAttribute, of_items),
        gold_spans=select_rows(store, GoldSpan, of_items),
        sources=select_rows(store, Source, used),
    )
