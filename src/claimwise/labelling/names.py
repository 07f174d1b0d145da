"""Says in words what ids stand for: of rounds, tasks, items, and places such as run/item/claim."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.store.runs import list_run_ids

_SQL = SqlFolder("claimwise.labelling")


class NamedTask(NamedTuple):
    """A claim that is labelled in a round."""

    claim_text: str
    run_id: str
    item_id: str
    sample: int
    claim_id: str
    round_title: str


class NamedPlace(NamedTuple):
    """A claim that someone chose by themselves, or an answer: then the text is its question."""

    run_id: str
    item_id: str
    sample: int
    claim_id: str | None
    text: str


def name_tasks(store: Store, ids: Collection[str]) -> dict[str, NamedTask]:
    """Return what tasks are about, by their ids; ids that are no tasks are left out."""
    listed, params = _list_ids(ids)
    if not params:
        return {}
    rows = store.query(_SQL["named_tasks"].format(ids=listed), params)
    return {task_id: NamedTask(*rest) for task_id, *rest in rows}


def name_rounds(store: Store, ids: Collection[str]) -> dict[str, str]:
    """Return the titles of rounds by their ids; ids that are no rounds are left out."""
    listed, params = _list_ids(ids)
    if not params:
        return {}
    sql = f"select round_id, title from annotation_rounds where round_id in ({listed})"
    return dict(store.query(sql, params))


def name_items(store: Store, ids: Collection[str]) -> dict[str, str]:
    """Return the questions of items by their ids; ids that are no items are left out."""
    listed, params = _list_ids(ids)
    if not params:
        return {}
    return dict(
        store.query(f"select item_id, query from eval_items where item_id in ({listed})", params)
    )


def name_places(store: Store, places: Collection[str]) -> dict[str, NamedPlace]:
    """Return the claims (``run/item/claim``) and answers (``run/item/sample``) that places name.

    Ids may contain slashes themselves; those of runs are known.
    """
    found = {}
    runs = sorted(list_run_ids(store), key=len, reverse=True)
    for place in places:
        run_id = next((one for one in runs if place.startswith(f"{one}/")), None)
        item_id, _, last = place[len(run_id) + 1 :].rpartition("/") if run_id else ("", "", "")
        named = _name_place(store, run_id, item_id, last) if run_id and item_id else None
        if named is not None:
            found[place] = named
    return found


def _name_place(store: Store, run_id: str, item_id: str, last: str) -> NamedPlace | None:
    claims = store.query(
        "select sample, claim_text from claims "
        "where run_id = :run_id and item_id = :item_id and claim_id = :claim_id",
        {"run_id": run_id, "item_id": item_id, "claim_id": last},
    )
    if claims:
        return NamedPlace(run_id, item_id, int(claims[0][0]), last, claims[0][1])
    question = name_items(store, [item_id]).get(item_id)
    if question is None or not (last.isascii() and last.isdigit()):
        return None
    return NamedPlace(run_id, item_id, int(last), None, question)


def _list_ids(ids: Collection[str]) -> tuple[str, dict[str, str]]:
    params = {f"id_{number}": one for number, one in enumerate(ids)}
    return ", ".join(f":{name}" for name in params), params
