"""Whether a label decides its claim is kept beside it; here it is compared with the rule.

Triggers keep it (``sql/schema/0017_deciding_flags.sql``), and the index of claims with it. Both can
be worked out again at any time: the views ``computed_deciding_…`` compare the labels of each claim,
and ``indexed_claims`` says what the index must hold.
"""

from __future__ import annotations

from typing import Final

from claimwise.store.engine import Engine
from claimwise.store.files import SqlFolder
from claimwise.types.rows import Judgement

KEPT_SINCE: Final = 17
"""The migration that added the flags; labels that were stored before are compared once."""

_SQL = SqlFolder("claimwise.store", "sql/deciding")
_TABLES: Final[dict[str, Judgement]] = {"labels": "grounded", "closed_book_labels": "closed_book"}
_INDEXED: Final = (
    "run_id, item_id, claim_id, judgement, claim_rank, verdict, unscored, labeler, source_id, "
    "dispute"
)


def settle_labels(engine: Engine) -> None:
    """Compare all labels, and correct the flags that say otherwise."""
    for table in _TABLES:
        engine.execute(f"update {table} as l set decides = not decides where {_find_wrong(table)}")


def count_unsettled(engine: Engine) -> dict[str, int]:
    """Work out again what is kept; return by table how many rows differ from it."""
    found = {
        table: f"select count(*) from {table} as l where {_find_wrong(table)}" for table in _TABLES
    }
    if engine.writable:
        missing = f"select {_INDEXED} from indexed_claims except select {_INDEXED} from claim_index"
        surplus = f"select {_INDEXED} from claim_index except select {_INDEXED} from indexed_claims"
        found["claim_index"] = (
            f"select (select count(*) from ({missing}) as m) + "
            f"(select count(*) from ({surplus}) as s)"
        )
    return {table: int(engine.query(sql)[0][0]) for table, sql in found.items()}


def _find_wrong(table: str) -> str:
    judgement = _TABLES[table]
    many = _SQL.for_judgement("many_labels", judgement)
    wrong = _SQL.for_judgement("wrong", judgement)
    return f"(l.run_id, l.item_id, l.claim_id) in (\n{many}\n) and {wrong}"
