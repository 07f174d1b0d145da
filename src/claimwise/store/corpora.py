"""Reads a whole corpus version of the store, for searching."""

from __future__ import annotations

from collections.abc import Container

import msgspec

from claimwise.errors import StoreError, describe_unknown
from claimwise.store.store import Store
from claimwise.types.rows import Source

_SHOWN = 5


def choose_corpus(store: Store, version: str | None = None) -> str:
    """Return a corpus version that has documents: the one asked for, or the newest.

    Versions carry no date: the newest is that of the run that began last, and without runs the
    last by name.

    Raises:
        StoreError: there is no such version, or there are no documents.
    """
    known = [row[0] for row in store.query("select distinct corpus_ver from sources order by 1")]
    if version is not None and version in known:
        return version
    if not known or version is not None:
        if version is None:
            raise StoreError(f"{store.place}: no sources yet; import some with `claimwise import`")
        raise StoreError(describe_unknown("corpus version", version, known, where=store.place))
    for documents in (" and s.source_kind is null", ""):  # passages of answers are no corpus
        latest = store.query(
            "select r.corpus_ver from runs as r where exists "
            f"(select 1 from sources as s where s.corpus_ver = r.corpus_ver{documents}) "
            "order by r.started_at desc, r.run_id limit 1"
        )
        if latest:
            return str(latest[0][0])
    return str(known[-1])


def read_corpus_version(store: Store, version: str) -> list[Source]:
    """Return all documents of a corpus version, in the order of their ids."""
    columns = Source.__struct_fields__
    sql = (
        f"select {', '.join(columns)} from sources where corpus_ver = :corpus_ver "
        "order by source_id"
    )
    rows = store.query(sql, {"corpus_ver": version})
    return [msgspec.convert(dict(zip(columns, row, strict=True)), Source) for row in rows]


def read_texts(store: Store, version: str, wanted: Container[str]) -> dict[str, str]:
    """Return the texts of a corpus version's documents, by id, as far as they are wanted."""
    rows = store.query(
        "select source_id, source_text from sources where corpus_ver = :corpus_ver",
        {"corpus_ver": version},
    )
    return {source_id: text for source_id, text in rows if source_id in wanted}
