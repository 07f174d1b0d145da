"""Says in words what the ids of rounds and tasks stand for."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from claimwise.store import Store
from claimwise.store.files import SqlFolder

_SQL = SqlFolder("claimwise.labelling")


class NamedTask(NamedTuple):
    """A claim that is labelled in a round."""

    claim_text: str
    run_id: str
    item_id: str
    sample: int
    claim_id: str
    round_title: str


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


def _list_ids(ids: Collection[str]) -> tuple[str, dict[str, str]]:
    params = {f"id_{number}": one for number, one in enumerate(ids)}
    return ", ".join(f":{name}" for name in params), params
