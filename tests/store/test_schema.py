from __future__ import annotations

import os
import sqlite3
import stat
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.context import ForkServerContext
from pathlib import Path
from uuid import uuid4

import pytest

from claimwise.errors import NewerSchemaError, NotAStoreError, StoreError
from claimwise.store import Store, list_views, migrations, open_store
from claimwise.store.engine import Engine
from claimwise.store.postgres import PostgresEngine
from claimwise.store.sqlite import SQLiteEngine
from claimwise.store.tables import REFERENCES
from claimwise.types.rows import ROW_TYPES, Item, Row
from store import workers
from store.builders import base_rows, dump, load, make
from support.waiting import DEADLINE

LEDGER = "schema_migrations"


def table_columns(store: Store, table: str) -> list[str]:
    if store.engine_name == "sqlite":
        return [row[1] for row in store.query(f"pragma table_info({table})")]
    return [
        row[0]
        for row in store.query(
            "select column_name from information_schema.columns "
            "where table_schema = current_schema() and table_name = :name "
            "order by ordinal_position",
            {"name": table},
        )
    ]


def primary_key(store: Store, table: str) -> list[str]:
    if store.engine_name == "sqlite":
        rows = store.query(f"pragma table_info({table})")
        return [row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5]]
    return [
        row[0]
        for row in store.query(
            "select k.column_name from information_schema.table_constraints as t "
            "join information_schema.key_column_usage as k "
            "on k.constraint_name = t.constraint_name and k.table_schema = t.table_schema "
            "where t.constraint_type = 'PRIMARY KEY' and t.table_schema = current_schema() "
            "and t.table_name = :name order by k.ordinal_position",
            {"name": table},
        )
    ]


def foreign_keys(store: Store, table: str) -> set[tuple[str, tuple[str, ...]]]:
    """Return the parents of a table: their names and the columns that refer to them."""
    if store.engine_name == "sqlite":
        found: dict[int, tuple[str, list[str]]] = {}
        for number, _, parent, column, target, *_ in store.query(
            f"pragma foreign_key_list({table})"
        ):
            assert column == target
            found.setdefault(number, (parent, []))[1].append(column)
        return {(parent, tuple(columns)) for parent, columns in found.values()}
    rows = store.query(
        "select c.confrelid::regclass::text, "
        "array(select a.attname::text from unnest(c.conkey) with ordinality as k(n, i) "
        "join pg_attribute as a on a.attrelid = c.conrelid and a.attnum = k.n order by k.i) "
        "from pg_constraint as c where c.contype = 'f' and c.conrelid = to_regclass(:name)",
        {"name": table},
    )
    return {(parent, tuple(columns)) for parent, columns in rows}


def tables(store: Store) -> set[str]:
    if store.engine_name == "sqlite":
        return {r[0] for r in store.query("select name from sqlite_master where type = 'table'")}
    sql = "select tablename::text from pg_tables where schemaname = current_schema()"
    return {row[0] for row in store.query(sql)}


# The tables.


def test_schema_has_a_table_per_row_type_the_ledger_and_the_cache(store: Store) -> None:
    people = {
        "accounts", "annotation_rounds", "annotation_saves", "annotation_skips", "annotation_slots",
        "annotation_round_runs", "annotation_strata", "annotation_tasks", "audit_events",
        "calibrations", "gate_results", "imported_annotations", "invites",
        "login_failures", "sessions", "share_links",
    }  # fmt: skip
    production = {
        "alarms", "api_keys", "monitor_points", "traffic_counts", "traffic_inbox", "traffic_seen",
        "webhook_deliveries",
    }  # fmt: skip
    ours = {LEDGER, "llm_replies", "claim_index", "claim_words", "bulk_load"}
    found = {name for name in tables(store) if not name.startswith("claim_words_")}  # SQLite's own
    assert found == {t.table for t in ROW_TYPES} | people | production | ours


def test_columns_are_the_fields_of_the_rows(store: Store) -> None:
    for row_type in ROW_TYPES:
        assert table_columns(store, row_type.table) == list(row_type.__struct_fields__)


def test_primary_keys_are_the_keys_of_the_rows(store: Store) -> None:
    for row_type in ROW_TYPES:
        assert primary_key(store, row_type.table) == list(row_type.key)


def test_foreign_keys_are_checked_before_the_database_does(store: Store) -> None:
    """Else a user would get the database's message without file and line."""
    implied = {
        # Registered on first use.
        (table, "labelers")
        for table in ("labels", "closed_book_labels", "answer_labels", "unscored_claims")
    } | {
        # The claim is there, so its answer is, and so its item.
        ("labels", "eval_items"),
        # Who gave the label that is taken back is known.
        ("label_retractions", "labelers"),
    }
    by_table = {row_type.table: row_type for row_type in ROW_TYPES}
    for table, row_type in by_table.items():
        checked = {(r.table, r.columns) for r in REFERENCES.get(row_type, ())}
        for parent, columns in foreign_keys(store, table):
            assert (parent, columns) in checked or (table, parent) in implied


def test_references_are_foreign_keys(store: Store) -> None:
    for row_type, references in REFERENCES.items():
        declared = foreign_keys(store, row_type.table)
        assert {(r.table, r.columns) for r in references} <= declared


def test_references_point_to_keys_of_earlier_tables() -> None:
    order: dict[str, tuple[int, type[Row]]] = {t.table: (n, t) for n, t in enumerate(ROW_TYPES)}
    for row_type, references in REFERENCES.items():
        for reference in references:
            number, parent = order[reference.table]
            assert number < order[row_type.table][0]
            unique = {parent.key, ("run_id", "item_id", "sample")}
            assert reference.columns in unique


def test_views_have_the_columns_of_their_tables(store: Store) -> None:
    for view, table in (
        ("deciding_labels", "labels"),
        ("deciding_closed_book_labels", "closed_book_labels"),
        ("deciding_answer_labels", "answer_labels"),
        ("candidate_labels", "labels"),
        ("standing_labels", "labels"),
        ("standing_closed_book_labels", "closed_book_labels"),
    ):
        kept = ["decides"] if "answer" not in table else []
        assert [*store.describe(f"select * from {view}"), *kept] == table_columns(store, table)


def test_views_are_all_there(store: Store) -> None:
    assert store.missing_views() == []
    name = list_views()[-1][0]
    store._engine.run_script(f"drop view {name};")
    assert store.missing_views() == [name]


# Migrations.


def test_migrations_are_recorded_once(new_place: str) -> None:
    for _ in range(3):
        with open_store(new_place, create=True) as store:
            rows = store.query(f"select version, name from {LEDGER} order by version")
            assert rows == [(n, name) for n, name, _ in migrations.list_migrations()]
            assert store.schema_version == migrations.list_migrations()[-1][0]


def test_migrations_are_numbered_without_gaps() -> None:
    numbers = [number for number, _, _ in migrations.list_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


def add_migration(monkeypatch: pytest.MonkeyPatch, sql: str) -> int:
    known = migrations.list_migrations()
    number = known[-1][0] + 1
    monkeypatch.setattr(migrations, "list_migrations", lambda: [*known, (number, "next", sql)])
    return number


def test_new_migration_is_applied_to_an_old_store(
    new_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(new_place, create=True) as store:
        load(store, *base_rows())
        before = dump(store)
        store._engine.run_script("drop view claim_labels;")
    number = add_migration(monkeypatch, "create table extra (a integer);\n-- done;\n")
    with open_store(new_place) as store:
        assert store.schema_version == number
        assert "extra" in tables(store)
        assert store.missing_views() == []
        assert dump(store) == before


# Views of tables that only later migrations make.
OLD_VIEWS = [
    view
    for view in list_views(kept=False)
    if view[0] not in ("retired_answers", "corpus_gold_spans", "deciding_actions", "indexed_claims")
]


def test_labels_of_a_store_without_retractions_stand(
    new_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = [
        (name, sql.replace("standing_", ""))
        for name, sql in OLD_VIEWS
        if "standing" not in name and name != "claim_labels"  # they name later columns
    ]
    with monkeypatch.context() as old:
        known = migrations.list_migrations()[:3]
        old.setattr(migrations, "list_migrations", lambda: known)
        old.setattr(migrations, "list_views", lambda **_: views)
        with open_store(new_place, create=True) as store:
            assert "label_retractions" not in tables(store)
            for statement in OLD_ROWS:
                store._engine.execute(statement)
    with open_store(new_place) as store:
        assert "label_retractions" in tables(store)
        assert store.query("select verdict, covered_text from deciding_labels") == [
            ("unlinked", None)
        ]
        assert store.audit() == []


OLD_ROWS = (
    "insert into eval_items (item_id, query, query_type, answerable, stakes, source_corpus_ver) "
    "values ('q', '?', 'lookup', true, 'low', 'v')",
    "insert into runs (run_id, system, corpus_ver, started_at) "
    "values ('r', 's', 'v', '2026-01-01 00:00:00')",
    "insert into answers (run_id, item_id, answer_text) values ('r', 'q', 'Yes.')",
    "insert into claims (run_id, item_id, claim_id, position, claim_text, claim_type, unit) "
    "values ('r', 'q', 'c', 0, 'Yes.', 'factual', 'atomic')",
    "insert into run_actions (run_id, item_id, action) values ('r', 'q', 'answer')",
    "insert into run_actions (run_id, item_id, action, sample) values ('r', 'q', 'clarify', 3)",
    "insert into labelers (labeler, labeler_kind) values ('ana', 'human')",
    "insert into labels (run_id, item_id, claim_id, claim_text, claim_type, verdict, labeler, "
    "labeled_at, label_kind) values ('r', 'q', 'c', 'Yes.', 'factual', 'unlinked', 'ana', "
    "'2026-01-02 00:00:00', 'human')",
)


@pytest.mark.parametrize("exists", [True, False])
def test_broken_migration_leaves_nothing(
    new_place: str, exists: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if exists:
        with open_store(new_place, create=True) as store:
            load(store, *base_rows())
            before = dump(store)
    with monkeypatch.context() as patch:
        add_migration(
            patch,
            "create table extra (a integer);\ninsert into extra values (1);\n"
            "alter table runs add column extra integer;\ncreate table runs (a integer);\n",
        )
        with pytest.raises(StoreError) as caught:
            open_store(new_place, create=True)
        assert "runs" in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1
    if exists:
        with open_store(new_place) as store:
            assert store.schema_version == migrations.list_migrations()[-1][0]
            assert "extra" not in tables(store)
            assert dump(store) == before
    else:
        with pytest.raises(NotAStoreError):
            open_store(new_place)
        with open_store(new_place, create=True) as store:
            assert "extra" not in tables(store)
            load(store, *base_rows())


def test_store_of_a_newer_claimwise_is_left_alone(new_place: str) -> None:
    with open_store(new_place, create=True) as store:
        load(store, *base_rows())
        shown, before = store.place, dump(store)
        store._engine.execute(
            f"insert into {LEDGER} (version, name, applied_at) "
            "values (99, 'future', '2030-01-01 00:00:00')"
        )
        store._engine.run_script("drop view claim_labels;")
    for create in (False, True):
        with pytest.raises(NewerSchemaError) as caught:
            open_store(new_place, create=create)
        latest = migrations.list_migrations()[-1][0]
        assert str(caught.value) == (
            f"{shown}: written by a newer claimwise (schema 99; this version knows up to "
            f"{latest}); upgrade claimwise"
        )
    engine = store_engine(new_place)
    try:
        assert not engine.has_table("claim_labels")
        assert dump(Store(engine)) == before
    finally:
        engine.close()


def store_engine(place: str) -> Engine:
    from claimwise.store.store import _open_engine

    return _open_engine(place, create=False)


def test_several_processes_can_make_one_store(new_place: str, forking: ForkServerContext) -> None:
    if new_place.startswith("postgresql"):
        server, _, name = new_place.partition("?schema=")
        with open_store(f"{server}?schema=admin", create=True) as admin:
            admin._engine.run_script(f"create schema {name}")
    with ProcessPoolExecutor(4, mp_context=forking) as pool:
        found = list(pool.map(workers.make_store, [new_place] * 12))
    known = len(migrations.list_migrations())
    assert found == [known] * 12
    with open_store(new_place) as store:
        assert store.query(f"select count(*) from {LEDGER}") == [(known,)]
        assert store.missing_views() == []


def test_several_connections_can_make_one_schema(postgres_server: str) -> None:
    places = [f"{postgres_server}?schema=s{uuid4().hex}" for _ in range(30)]
    together = threading.Barrier(4)

    def make_all() -> str:
        try:
            for place in places:
                together.wait(DEADLINE)
                PostgresEngine(place, create=True).close()
        except (StoreError, threading.BrokenBarrierError) as error:
            together.abort()
            return str(error) or "another one failed"
        return "all made"

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(make_all) for _ in range(4)]
    assert [job.result() for job in jobs] == ["all made"] * 4


def test_sqlite_finds_sound_rows_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite 3.40 said "NULL value in run_actions.action" of every row."""
    path = tmp_path / "store.db"
    with monkeypatch.context() as old:
        known = migrations.list_migrations()[:4]  # those of claimwise 0.6.0
        old.setattr(migrations, "list_migrations", lambda: known)
        with open_store(path, create=True) as store:
            for statement in OLD_ROWS:
                store._engine.execute(statement)
            store._engine.run_script("create view own as select action from run_actions;")
            before = store.query("select * from run_actions")
            keys = store.query("pragma foreign_key_list(run_actions)")
    with open_store(path) as store:
        assert store.query("select * from run_actions") == before
        assert store.query("pragma foreign_key_list(run_actions)") == keys
        assert store.query("select count(*) from own") == [(2,)]
        assert "run_actions_before" not in tables(store)
        assert store.query("pragma integrity_check") == [("ok",)]


OLD_ITEM = "item_id, query, query_type, answerable, stakes, gold_answer, source_corpus_ver, domain"


def test_items_of_an_old_store_may_become_unknown(
    new_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as old:
        known = migrations.list_migrations()[:5]  # those of claimwise 0.7.0
        old.setattr(migrations, "list_migrations", lambda: known)
        old.setattr(migrations, "list_views", lambda **_: OLD_VIEWS)
        with open_store(new_place, create=True) as store:
            for statement in OLD_ROWS:
                store._engine.execute(statement)
            store._engine.run_script("create view own as select stakes from eval_items;")
            before = store.query(f"select {OLD_ITEM} from eval_items")
            there = {t.table for t in ROW_TYPES} & set(tables(store))
            parents = {table: foreign_keys(store, table) for table in there}
    with open_store(new_place) as store:
        assert store.query(f"select {OLD_ITEM}, cluster_id from eval_items") == [(*before[0], None)]
        assert {table: foreign_keys(store, table) for table in parents} == parents
        assert store.query("select stakes from own") == [("low",)]
        load(store, make(Item, item_id="q2", query_type=None, answerable=None, stakes=None))
        assert store.query(
            "select query_type, answerable, stakes from eval_items where item_id = 'q2'"
        ) == [(None, None, None)]
        with pytest.raises(StoreError, match=r"(?i)foreign key"):
            store._engine.execute("delete from eval_items where item_id = 'q'")
        assert store.audit() == []


def test_line_breaks_in_an_old_store_hide_no_gold_span(
    new_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as old:
        known = migrations.list_migrations()[:9]  # those of claimwise 0.8.0
        old.setattr(migrations, "list_migrations", lambda: known)
        old.setattr(migrations, "list_views", lambda **_: OLD_VIEWS)
        with open_store(new_place, create=True) as store:
            for statement in (*OLD_ROWS, *OLD_SPANS):
                store._engine.execute(statement)
    with open_store(new_place) as store:
        assert store.query("select span_words from gold_spans") == [("5 euros",)]
        assert store.query("select context_words from contexts") == [("It costs 5 euros a day.",)]


OLD_SPANS = (
    "insert into gold_spans (item_id, source_id, span_text, required, span_start, span_end) "
    "values ('q', 'd', '5\neuros', true, 0, 7)",
    "insert into contexts (run_id, item_id, position, source_id, context_text) "
    "values ('r', 'q', 0, 'd', ' It costs 5\n\n       euros\ta day. ')",
)


def test_migration_of_a_store_with_lost_parents_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    with monkeypatch.context() as old:
        known = migrations.list_migrations()[:5]
        old.setattr(migrations, "list_migrations", lambda: known)
        with open_store(path, create=True) as store:
            for statement in OLD_ROWS:
                store._engine.execute(statement)
            store._engine.execute("pragma foreign_keys = off")
            store._engine.execute("delete from eval_items")
    with pytest.raises(StoreError, match="rows of eval_items that are not there; nothing was"):
        open_store(path)
    with sqlite3.connect(path) as db:
        assert db.execute(f"select max(version) from {LEDGER}").fetchone() == (5,)
    db.close()


def test_migration_killed_at_any_statement_is_done_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that goes away without a commit is what a killed process leaves."""
    path = tmp_path / "store.db"
    with monkeypatch.context() as old:
        known = migrations.list_migrations()[:5]
        old.setattr(migrations, "list_migrations", lambda: known)
        with open_store(path, create=True) as store:
            for statement in OLD_ROWS:
                store._engine.execute(statement)
            before = store.query(f"select {OLD_ITEM} from eval_items")
    deadly = 1
    while True:
        killed = kill_migration(path, deadly)
        with sqlite3.connect(path) as db:
            assert db.execute(f"select {OLD_ITEM} from eval_items").fetchall() == before
            version = db.execute(f"select max(version) from {LEDGER}").fetchone()[0]
            columns = [row[1] for row in db.execute("pragma table_info(eval_items)")]
            assert (version == 5) == ("cluster_id" not in columns)
            assert db.execute("pragma foreign_key_check").fetchall() == []
        db.close()
        if not killed:
            break
        deadly += 1
    assert deadly > 10  # statements before the last, each of which was once the last


def kill_migration(path: Path, deadly: int) -> bool:
    """Migrate until a number of statements were run, then drop the connection."""

    class KilledError(Exception):
        pass

    engine = store_engine(str(path))
    assert isinstance(engine, SQLiteEngine)
    db = engine._db

    class Dying:
        left = deadly

        def __getattr__(self, name: str) -> object:
            return getattr(db, name)

        def execute(self, *arguments: object) -> object:
            if not self.left:
                raise KilledError
            self.left -= 1
            return db.execute(*arguments)  # type: ignore[arg-type]

    engine._db = Dying()  # type: ignore[assignment]
    try:
        migrations.apply_migrations(engine, create=False)
    except KilledError:
        return True
    finally:
        db.close()
    return False


ODD_NAMES = ("a?mode=ro", "a#b", "a%41", "a b", "[1]*", "it's", "{x}", "-x", "~", "file:x", "é\nü")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_sqlite_store_is_the_file_that_its_path_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store(name, create=True) as store:
        load(store, *base_rows())
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with open_store(tmp_path / name) as store:
        assert store.count_rows()["runs"] == 1


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o600), (0o000, 0o600), (0o277, 0o400)])
def test_store_is_its_owners(tmp_path: Path, umask: int, mode: int) -> None:
    path = tmp_path / "store.db"
    before = os.umask(umask)
    try:
        if mode == 0o400 and os.getuid() != 0:
            pytest.skip("only root can fill what may not be written")
        with open_store(path, create=True) as store:
            load(store, *base_rows())
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"store.db": mode, "store.db-wal": mode, "store.db-shm": mode}


def test_store_keeps_the_permissions_that_someone_gave_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with open_store(path, create=True):
        path.chmod(0o660)
    with open_store(path, create=True) as store:
        load(store, *base_rows())
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


@pytest.mark.parametrize("create", [False, True])
def test_pipe_is_no_store(tmp_path: Path, create: bool) -> None:
    path = tmp_path / "store.db"
    os.mkfifo(path)
    message = refusal(path, create=create)
    assert (
        message
        == f"{path}: this is a pipe or a device, not a SQLite file; name another with --store"
    )


# What is no store.


def refusal(place: str | Path, *, create: bool = False) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(place, create=create)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


def test_missing_store_is_told_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    message = refusal(path)
    assert message.startswith(f"{path}: no store there")
    assert "claimwise init" in message
    assert list(tmp_path.iterdir()) == []


def test_missing_store_on_a_server_is_told(postgres_server: str) -> None:
    message = refusal(f"{postgres_server}?schema=nobody_made_this")
    assert "no store there yet; create one with `claimwise init`" in message


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("content", [b"hello\n", b"run_id,system\n" * 1000, b"\x00" * 5000])
def test_other_file_is_told_and_left_alone(tmp_path: Path, content: bytes, create: bool) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    message = refusal(path, create=create)
    assert message == f"{path}: not a SQLite file; name another with --store"
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_empty_file_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    assert "no store there yet" in refusal(path)


def test_empty_file_is_left_empty(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    refusal(path)
    assert path.read_bytes() == b""


def test_empty_folder_is_no_store(tmp_path: Path) -> None:
    message = refusal(tmp_path, create=True)
    assert message.startswith(f"{tmp_path}: no runs.parquet")


def make_other_database(path: Path) -> bytes:
    with sqlite3.connect(path) as db:
        db.execute("create table bookmarks (url text)")
    db.close()
    return path.read_bytes()


def test_other_database_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    make_other_database(path)
    assert "no store there yet" in refusal(path)


def test_other_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    before = make_other_database(path)
    refusal(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["places.sqlite"]


def test_unknown_scheme_is_told_without_its_password() -> None:
    message = refusal("mysql://ann:secret@host/db")
    assert (
        message == "mysql://…: stores of this kind are not supported; use a path, postgresql://, "
        "or parquet:URL for Parquet files"
    )
