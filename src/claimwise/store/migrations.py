"""Brings a database to the schema of this version.

Migrations are the numbered files of ``sql/schema``. Each is applied once, inside a transaction
together with its record, so a killed process leaves either both or neither. Views hold no data:
they are rebuilt whenever a migration was applied.
"""

from __future__ import annotations

from datetime import UTC, datetime

from claimwise.errors import NewerSchemaError, NotAStoreError
from claimwise.store.claim_index import INDEXED_SINCE, refill_claim_index
from claimwise.store.deciding import KEPT_SINCE, settle_labels
from claimwise.store.engine import Engine
from claimwise.store.files import SqlFolder, list_views
from claimwise.store.proposals import PROPOSED_SINCE, propose_stored_actions

_SCHEMA = SqlFolder("claimwise.store", "sql/schema")
_WRITING = SqlFolder("claimwise.store", "sql/writing")

_LEDGER = "schema_migrations"


def list_migrations() -> list[tuple[int, str, str]]:
    """Return number, name and SQL of every migration, in order."""
    found = []
    for file_name, sql in _SCHEMA.items():
        number, _, name = file_name.partition("_")
        found.append((int(number), name, sql))
    return found


def read_version(engine: Engine) -> int:
    """Return the number of the last applied migration; 0 for an empty database."""
    if not engine.has_table(_LEDGER):
        return 0
    return int(engine.query(f"select coalesce(max(version), 0) from {_LEDGER}")[0][0])


def apply_migrations(engine: Engine, *, create: bool) -> None:
    """Apply what is missing.

    Raises:
        NewerSchemaError: a newer claimwise wrote the database; it is left as it is.
        NotAStoreError: the database has no store and ``create`` is false.
    """
    known = list_migrations()
    latest = known[-1][0]
    version = read_version(engine)
    if version > latest:
        raise NewerSchemaError(
            f"{engine.place}: written by a newer claimwise (schema {version}; this version knows "
            f"up to {latest}); upgrade claimwise"
        )
    if version == 0 and not create:
        raise NotAStoreError(
            f"{engine.place}: no store there yet; create one with `claimwise init`"
        )
    if version == latest:
        return
    with engine.migrate():
        engine.run_script(
            f"create table if not exists {_LEDGER} "
            "(version integer primary key, name text not null, applied_at timestamp not null);"
        )
        # Asked again inside the transaction: another process may have been faster.
        version = read_version(engine)
        for number, name, sql in known:
            if number > version:
                engine.run_script(sql)
                if number == PROPOSED_SINCE:
                    propose_stored_actions(engine)
                _record(engine, number, name)
        write_views(engine)
        if latest >= KEPT_SINCE:
            engine.run_script(_WRITING["spec_tables"])  # it goes with the view that it writes to
        if version < KEPT_SINCE <= latest:
            settle_labels(engine)
        if version < INDEXED_SINCE <= latest:
            refill_claim_index(engine)  # settling labels has indexed some of their claims


def _record(engine: Engine, number: int, name: str) -> None:
    engine.execute(
        f"insert into {_LEDGER} (version, name, applied_at) values (:number, :name, :now)",
        {"number": number, "name": name, "now": datetime.now(UTC).replace(tzinfo=None)},
    )


def write_views(engine: Engine) -> None:
    """Define all views, replacing older definitions."""
    views = list_views(kept=engine.keeps_decisions)
    for name, _ in reversed(views):
        engine.run_script(f"drop view if exists {name};")
    for name, sql in views:
        engine.run_script(f"create view {name} as\n{sql};")
