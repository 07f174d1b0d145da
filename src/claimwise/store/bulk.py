"""Adds many labels at once: which of them decide, and the index of claims, are seen to set by set.

Triggers look at every label by itself, which takes several times as long as adding it. While many
are added they pause: a row of ``bulk_load`` tells them, which nobody outside the transaction sees.
Claims with one label are then indexed by one statement; only those with several are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from claimwise.store.engine import Engine
from claimwise.store.files import SqlFolder
from claimwise.types.rows import ClosedBookLabel, Judgement, Label, Row

LARGE: Final = 2_000
"""So many rows are added at once; for fewer, triggers cost less than the statements here."""

_SQL = SqlFolder("claimwise.store", "sql/bulk")
_JUDGEMENTS: Final[dict[type[Row], Judgement]] = {
    Label: "grounded",
    ClosedBookLabel: "closed_book",
}
# Made again when most of the index changes: that takes less than changing them row by row.
_INDEXES: Final = {
    "claim_index_by_rank": "(claim_rank, claim_no)",
    "claim_index_by_run": "(run_id, claim_rank, claim_no)",
    "claim_index_by_source": "(source_id, claim_rank) where source_id is not null",
    "claim_index_by_labeler": "(labeler, claim_rank) where labeler is not null",
    "claim_index_by_reason": "(unscored, claim_rank) where unscored is not null",
    "claim_index_by_dispute": "(claim_rank) where dispute > 0",
}


def add_at_once(engine: Engine, row_type: type[Row], rows: int, add: Callable[[], int]) -> int:
    """Add the staged rows of one type by ``add``; return how many it added.

    Call it inside a transaction. Rows of other types, and few, go the usual way.
    """
    judgement = _JUDGEMENTS.get(row_type)
    if judgement is None or rows < LARGE:
        return add()
    engine.execute(
        "insert into bulk_load (started_at) values (:now)",
        {"now": datetime.now(UTC).replace(tzinfo=None)},
    )
    added = add()
    engine.create_stage(
        f"stage_many_{row_type.table}", _SQL.for_judgement("many_labels", judgement)
    )
    with rebuild_indexes(engine, rows):
        engine.execute(_SQL.for_judgement("index_labels", judgement))
    engine.execute("delete from bulk_load")
    engine.execute(_SQL.for_judgement("compare_labels", judgement))
    return added


@contextmanager
def rebuild_indexes(engine: Engine, rows: int) -> Iterator[None]:
    """Change so many rows of the index of claims; its indexes are made again if they are most."""
    [(indexed,)] = engine.query("select count(*) from claim_index")
    rebuilt = _INDEXES if 2 * rows > indexed else {}
    for name in rebuilt:
        engine.run_script(f"drop index {name};")
    yield
    for name, columns in rebuilt.items():
        engine.run_script(f"create index {name} on claim_index {columns};")


def index_part(engine: Engine, rows: int) -> None:
    """Index the labels of one part, that many.

    Most claims had no label before. Where some had, or may have, the others are told from them.
    """
    if not engine.query("select 1 from label_retractions limit 1"):
        indexed = engine.execute(_SQL.for_judgement("index_part", "grounded"))
        if indexed == rows:
            return
    many = _SQL.for_judgement("many_labels", "grounded")
    engine.execute(f"insert into stage_many_labels {many}")
    engine.execute(_SQL.for_judgement("index_labels", "grounded"))


def compare_parts(engine: Engine) -> None:
    """Compare the labels of claims that have several, once all parts are there."""
    if engine.query("select 1 from stage_many_labels limit 1"):
        engine.execute(_SQL.for_judgement("compare_labels", "grounded"))
