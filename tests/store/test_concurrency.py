from __future__ import annotations

import signal
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest

import claimwise.store.load as loading
from claimwise.errors import ClaimwiseError, InputError, StoreBusyError
from claimwise.store import Store, open_store
from claimwise.store.checks import Violation
from claimwise.store.engine import Engine
from claimwise.store.sqlite import SQLiteEngine
from claimwise.types.rows import Answer, GoldSpan, Guide, Item, Label, Row, Run, Source
from store import workers
from store.builders import TEXT, base_rows, dump, load, make
from support.waiting import DEADLINE, wait_until


def prepare(place: str) -> None:
    """Make a store that small imports fit into, still without labels."""
    with open_store(place, create=True) as store:
        load(store, make(Source), make(Guide), make(Run))


def test_writers_and_readers_work_side_by_side(place: str, forking: ForkServerContext) -> None:
    prepare(place)
    writers, imports = 4, 10
    total = writers * imports * workers.LABELS
    with ProcessPoolExecutor(writers + 2, mp_context=forking) as pool:
        reading = [pool.submit(workers.read_until, place, total) for _ in range(2)]
        writing = [pool.submit(workers.write_many, place, n, imports) for n in range(writers)]
        assert [w.result() for w in writing] == [imports] * writers
        assert all(r.result() >= 1 for r in reading)
    with open_store(place) as store:
        counts = store.count_rows()
        assert counts["labels"] == counts["claims"] == total
        assert counts["answers"] == counts["labelers"] == writers * imports
        assert store.audit() == []


@pytest.mark.parametrize("work", [workers.die_while_reading, workers.die_while_writing])
def test_killed_writer_leaves_the_store_as_it_was(
    place: str, work: Callable[[str], None], forking: ForkServerContext
) -> None:
    with open_store(place, create=True) as store:
        load(store, *base_rows())
        before = dump(store)
    process = forking.Process(target=work, args=(place,))
    process.start()
    process.join(DEADLINE)
    assert process.exitcode == -signal.SIGKILL
    with open_store(place) as store:
        assert dump(store) == before
        load(store, *workers.small_import("after"))
        assert store.count_rows()["labels"] == 1 + workers.LABELS
        assert store.audit() == []


def test_busy_store_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    prepare(str(path))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    store = Store(SQLiteEngine(path, create=False, busy_seconds=0.2))
    before = dump(store)  # readers do not wait
    assert store.query("pragma busy_timeout") == [(200,)]
    with pytest.raises(StoreBusyError) as caught:
        load(store, make(Item))
    assert str(caught.value) == (
        f"{path}: another process has been writing for over 0.2 s; nothing was changed; "
        "try again when it is done"
    )
    other.execute("rollback")
    other.close()
    assert dump(store) == before
    load(store, make(Item))
    store.close()


def test_writer_waits_for_its_turn(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    prepare(str(path))
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")
    begun = threading.Event()

    def release() -> None:
        assert begun.wait(DEADLINE)
        other.execute("commit")

    def note(statement: str) -> None:
        if statement == "begin immediate":  # it is called before the lock is asked for
            begun.set()

    thread = threading.Thread(target=release)
    thread.start()
    with open_store(path) as store:
        assert isinstance(store._engine, SQLiteEngine)
        store._engine._db.set_trace_callback(note)
        (count,) = load(store, make(Item))
    thread.join()
    other.close()
    assert begun.is_set()
    assert count.added == 1


def attempt(place: str, *rows: Row, **options: bool) -> object:
    """Load rows through a connection of their own; return the counts or the error."""
    try:
        with open_store(place) as store:
            return load(store, *rows, **options)
    except ClaimwiseError as error:
        return error


def attempt_aside(place: str, *rows: Row, **options: bool) -> Callable[[], object]:
    """Begin the same in a thread; return what waits for its outcome."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(attempt(place, *rows, **options)))
    thread.start()

    def wait() -> object:
        thread.join()
        return found[0]

    return wait


@pytest.fixture
def is_waiting(place: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Tells whether someone waits for the turn to write that another one has."""
    if place.startswith("postgresql"):
        sql = "select count(*) from pg_locks where locktype = 'advisory' and not granted"

        def ask() -> bool:
            with open_store(place) as store:
                return bool(store.query(sql)[0][0])

        return ask
    turns: list[SQLiteEngine] = []
    real = SQLiteEngine.write

    def write(engine: SQLiteEngine, turn: str | None = None) -> AbstractContextManager[None]:
        turns.append(engine)
        return real(engine, turn)

    monkeypatch.setattr(SQLiteEngine, "write", write)
    return lambda: len(turns) >= 2


def test_two_imports_of_the_same_rows_share_the_work(
    place: str, monkeypatch: pytest.MonkeyPatch, is_waiting: Callable[[], bool]
) -> None:
    """Whoever comes second finds the rows of the first, and neither fails."""
    prepare(place)
    real, first = loading._count_stored, threading.Lock()

    def meet(*arguments: Any) -> int:
        if first.acquire(blocking=False):
            wait_until(is_waiting, "the other one has come")
        return real(*arguments)

    monkeypatch.setattr(loading, "_count_stored", meet)
    items = [make(Item, item_id=f"q{n}") for n in range(15_000)]
    wait = attempt_aside(place, *items[::-1])
    outcomes = [attempt(place, *items), wait()]
    assert all(isinstance(outcome, list) for outcome in outcomes), outcomes
    with open_store(place) as store:
        assert store.count_rows()["eval_items"] == len(items)


def test_two_answers_under_one_key_are_not_dropped_silently(
    place: str, monkeypatch: pytest.MonkeyPatch, is_waiting: Callable[[], bool]
) -> None:
    """Whoever comes second must hear of it, though nothing was there when he looked."""
    with open_store(place, create=True) as store:
        load(store, make(Source), make(Item), make(Run))
    looked, done = threading.Event(), threading.Event()
    real = loading._count_stored

    def pause(*arguments: Any) -> int:
        found = real(*arguments)
        if threading.current_thread() is not threading.main_thread():
            looked.set()
            wait_until(lambda: done.is_set() or is_waiting(), "the other one has come")
        return found

    monkeypatch.setattr(loading, "_count_stored", pause)
    wait = attempt_aside(place, make(Answer, answer_text="Other."))
    assert looked.wait(DEADLINE)
    here = attempt(place, make(Answer))
    done.set()
    outcomes = [here, wait()]
    assert [type(outcome) for outcome in outcomes].count(InputError) == 1, outcomes


def test_update_and_new_span_can_not_break_each_other(
    place: str, monkeypatch: pytest.MonkeyPatch, is_waiting: Callable[[], bool]
) -> None:
    with open_store(place, create=True) as store:
        load(store, make(Source), make(Item))
    checked, done = threading.Event(), threading.Event()
    real = loading._stored_violations

    def pause(engine: Engine) -> list[Violation]:
        found = real(engine)
        checked.set()
        wait_until(lambda: done.is_set() or is_waiting(), "the other one has come")
        return found

    monkeypatch.setattr(loading, "_stored_violations", pause)
    changed = make(Source, source_text=TEXT.replace("€2", "€3"))
    wait = attempt_aside(place, changed, update=True)
    assert checked.wait(DEADLINE)
    here = attempt(place, make(GoldSpan))
    done.set()
    outcomes = [here, wait()]
    assert [type(outcome) for outcome in outcomes].count(InputError) == 1, outcomes
    with open_store(place) as store:
        assert store.audit() == []


def test_snapshot_shows_one_state(place: str) -> None:
    with open_store(place, create=True) as store:
        load(store, *base_rows())
        with store.snapshot():
            before = store.query("select count(*) from labels")
            attempt(place, make(Label, labeler="bob"))
            assert store.query("select count(*) from labels") == before
        assert store.query("select count(*) from labels") == [(2,)]


def test_snapshot_ends_when_its_reader_fails(place: str) -> None:
    with open_store(place, create=True) as store:
        with pytest.raises(ZeroDivisionError), store.snapshot():
            _ = 1 / 0
        load(store, make(Item))
        assert store.count_rows()["eval_items"] == 1
