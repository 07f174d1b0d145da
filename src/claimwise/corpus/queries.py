"""Reads corpus versions and golden sets, and keeps what a change replaces."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import NamedTuple

import msgspec

from claimwise.corpus.values import CorpusVersion, GoldenChange
from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.store.lookup import select_rows
from claimwise.types.rows import GoldSpan, Item, ItemRetirement

_SQL = SqlFolder("claimwise.corpus")

_RETIRED = "select item_id from item_retirements where restored_at is null"


class Shares(NamedTuple):
    """How many items a golden set has, and how many of those that answer nothing outright."""

    items: int
    unanswerable: int
    ambiguous: int


def count_shares(store: Store) -> Shares:
    """Count the items that count, the unanswerable and the ambiguous ones."""
    return Shares(*map(int, store.query(_SQL["shares"])[0]))


def list_doubtful_items(store: Store) -> list[tuple[str, str]]:
    """Return items that look like mistakes: what is wrong, and which."""
    return [(doubt, item_id) for doubt, item_id in store.query(_SQL["doubtful_items"])]


def read_golden_questions(store: Store) -> dict[str, str]:
    """Return what every item that counts asks, by its id."""
    sql = (
        f"select item_id, query from eval_items where item_id not in ({_RETIRED}) order by item_id"
    )
    return dict(store.query(sql))


def list_versions(store: Store) -> list[CorpusVersion]:
    """Return the corpus versions that documents, items or runs name, by name."""
    rows = store.query(_SQL["versions"])
    names = CorpusVersion.__struct_fields__
    return [CorpusVersion(**dict(zip(names, row, strict=True))) for row in rows]


def read_golden_set(store: Store, corpus_ver: str) -> list[tuple[Item, list[GoldSpan]]]:
    """Return the items that were written for a corpus version and count, with their gold spans."""
    spans: defaultdict[str, list[GoldSpan]] = defaultdict(list)
    of_version = "item_id in (select item_id from eval_items where source_corpus_ver = :version)"
    for span in select_rows(store, GoldSpan, f"where {of_version}", version=corpus_ver):
        spans[span.item_id].append(span)
    where = f"where source_corpus_ver = :version and item_id not in ({_RETIRED})"
    items = select_rows(store, Item, where, version=corpus_ver)
    return [(item, spans[item.item_id]) for item in items]


def read_spans(store: Store, item_id: str) -> list[GoldSpan]:
    """Return the gold spans of an item that are in force."""
    return select_rows(store, GoldSpan, "where item_id = :item_id", item_id=item_id)


def list_history(store: Store, item_id: str | None = None) -> list[GoldenChange]:
    """Return what was changed in the golden set, the latest first; of one item, or of all."""
    names = GoldenChange.__struct_fields__
    found = [
        msgspec.convert(dict(zip(names, row[: len(names)], strict=True)), GoldenChange)
        for row in store.query(_SQL["history"])
    ]
    return [change for change in found if item_id is None or change.item_id == item_id]


def replace_spans(
    store: Store, item_id: str, corpus_ver: str | None, *, now: datetime, who: str, reason: str
) -> int:
    """Keep an item's gold spans as an earlier version and take them out; return how many.

    Inside a transaction: the caller puts others in their place. The item belongs to
    ``corpus_ver`` from then on, and counts again if it was retired.
    """
    kept = store.execute(
        _SQL["archive"], {"item_id": item_id, "now": now, "who": who, "reason": reason}
    )
    store.execute("delete from gold_spans where item_id = :item_id", {"item_id": item_id})
    if corpus_ver is not None:
        store.execute(
            "update eval_items set source_corpus_ver = :version where item_id = :item_id",
            {"version": corpus_ver, "item_id": item_id},
        )
    store.execute(
        "update item_retirements set restored_at = :now "
        "where item_id = :item_id and restored_at is null",
        {"item_id": item_id, "now": now},
    )
    return kept


def retire_item(
    store: Store, item_id: str, corpus_ver: str, *, now: datetime, who: str, reason: str
) -> None:
    """Retire an item, inside a transaction: it stays in the store and no longer counts."""
    columns = ItemRetirement.__struct_fields__
    store.insert_rows(
        ItemRetirement.table, columns, [(item_id, now, who, corpus_ver, reason, None)]
    )
