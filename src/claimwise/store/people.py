"""Reads what people say of a run's claims: what instruments are measured against."""

from __future__ import annotations

from claimwise.store.files import SqlFolder
from claimwise.store.store import Store
from claimwise.types.rows import Judgement

_SQL = SqlFolder("claimwise.store", "sql/people")


def read_approved(store: Store, run_id: str, judgement: Judgement) -> dict[tuple[str, str], bool]:
    """Return by item and claim whether people call it supported, or true without sources.

    Of several labels the deciding one counts; labels of instruments don't.
    """
    rows = store.query(_SQL[judgement], {"run_id": run_id})
    return {(item_id, claim_id): bool(approved) for item_id, claim_id, approved in rows}
