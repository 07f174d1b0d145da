"""Connections: lent to one at a time, opened when needed, replaced when broken."""

from __future__ import annotations

import socket
import sqlite3
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from claimwise.accounts.queries import add_event
from claimwise.app.pool import StorePool
from claimwise.app.requests import Refusal
from claimwise.errors import RefusedError, StoreError, StoreReplacedError
from claimwise.store import Store, open_store
from claimwise.store.sqlite import SQLiteEngine
from support.app_server import RunningApp, run_app, utc_now
from support.waiting import DEADLINE

pytestmark = pytest.mark.each_engine


@pytest.fixture
def pool(place: str) -> Iterator[StorePool]:
    open_store(place, create=True).close()
    opened = StorePool(lambda: open_store(place), size=2)
    yield opened
    opened.close()


def test_a_connection_is_lent_to_one_at_a_time_and_kept(pool: StorePool) -> None:
    with pool.borrow() as first, pool.borrow() as second:
        assert first is not second
        came = threading.Event()
        lent: list[Store] = []

        def wait() -> None:
            came.set()
            with pool.borrow() as third:
                lent.append(third)

        thread = threading.Thread(target=wait)
        thread.start()
        assert came.wait(DEADLINE)
    thread.join()
    assert lent[0] in (first, second), "there are two, so it waited for one"
    with pool.borrow() as again:
        assert again in (first, second)


def test_a_refusal_keeps_the_connection_and_a_fault_does_not(pool: StorePool) -> None:
    with pool.borrow() as first:
        pass
    for harmless in (Refusal(400, "no"), RefusedError("no")):
        with pytest.raises(type(harmless)), pool.borrow() as store:
            raise harmless
        assert store is first
    for fault in (StoreError("gone"), ValueError("what")):
        with pytest.raises(type(fault)), pool.borrow() as store:
            raise fault
        with pool.borrow() as fresh:
            assert fresh is not store
            assert fresh.query("select 1") == [(1,)]


def test_after_a_fault_all_older_connections_go(pool: StorePool) -> None:
    with pool.borrow() as first, pool.borrow() as second:
        pass
    with pytest.raises(StoreError), pool.borrow():
        raise StoreError("the server was restarted")
    with ExitStack() as ends:
        fresh = [ends.enter_context(pool.borrow()) for _ in range(2)]
        assert not {id(first), id(second)} & {id(store) for store in fresh}


def test_connections_that_are_out_at_the_end_are_closed_when_they_come_back(
    pool: StorePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Store] = []
    with pool.borrow() as store:
        pool.close()
        assert store.query("select 1") == [(1,)]
        really = store.close

        def close() -> None:
            really()
            closed.append(store)

        monkeypatch.setattr(store, "close", close)
    assert closed == [store]


def test_after_the_end_nobody_opens_a_connection_that_nobody_would_close(pool: StorePool) -> None:
    """Work beside the requests, such as measuring, may go on for a while."""
    pool.close()
    with pytest.raises(StoreError, match="the server has stopped"), pool.borrow():
        pass


def test_connections_that_the_server_cut_are_replaced(postgres_place: str) -> None:
    """One request hears of it; the next ones work."""
    open_store(postgres_place, create=True).close()
    pool = StorePool(lambda: open_store(postgres_place), size=3)
    with ExitStack() as ends:
        pids = [_read_pid(ends.enter_context(pool.borrow())) for _ in range(3)]
    with open_store(postgres_place) as other:
        for pid in pids:
            other.query("select pg_terminate_backend(:pid)", {"pid": pid})
    with pytest.raises(Exception), pool.borrow() as store, store.write():  # noqa: B017, PT011
        store.query("select 1")
    for _ in range(4):
        with pool.borrow() as store:
            assert store.query("select 1") == [(1,)]
    pool.close()


class ShutDownInReply:
    """Stands between the app and PostgreSQL; can append a server's last words to a reply.

    A server that shuts down says so at any time. When that comes in one piece with the reply
    before, asyncpg's next query fails with an ``InternalClientError``.
    """

    _TEXT = b"SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
    LAST_WORDS = b"E" + struct.pack("!I", 4 + len(_TEXT)) + _TEXT

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname or "", parts.port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = url.replace(f":{parts.port}/", f":{self._listener.getsockname()[1]}/")
        self.armed = False
        self._open: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._open += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if self.armed and source.getpeername()[:2] == self._server:
                    self.armed = False
                    data += self.LAST_WORDS
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for one in self._open:
            one.close()


def test_a_driver_that_lost_its_way_is_a_503_and_replaced(
    postgres_place: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    open_store(postgres_place, create=True).close()
    proxy = ShutDownInReply(postgres_place)
    try:
        with run_app(proxy.url, tmp_path) as app:
            admin = app.enter("root", "admin")
            proxy.armed = True
            assert admin.get("/people").status_code == 503
            assert admin.get("/people").status_code == 200
    finally:
        proxy.close()
    assert "StoreError: " in capfd.readouterr().err


def _read_pid(store: Store) -> int:
    return int(store.query("select pg_backend_pid()")[0][0])


def open_impatiently(place: str) -> Store:
    """Open a store that tells of a lock at once, not after a minute."""
    return Store(SQLiteEngine(Path(place), create=False, busy_seconds=0))


def test_a_locked_store_is_told_in_one_line_and_nothing_is_lost(
    own_demo: Path, tmp_path: Path
) -> None:
    place = str(own_demo)
    with run_app(place, tmp_path, open_one=open_impatiently) as app:
        admin = app.enter("root", "admin")
        lock = sqlite3.connect(place, isolation_level=None)
        lock.execute("begin immediate")
        try:
            answer = admin.post("/people/invite", role="labeler")
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "5"
            assert "nothing was changed" in answer.text
            answer = admin.post("/rounds", run="baseline", title="a round")
            assert (answer.status_code, place in answer.text) == (503, False)
            assert admin.get("/people").status_code == 200, "reading goes on"
        finally:
            lock.execute("rollback")
            lock.close()
        assert admin.post("/people/invite", role="labeler").status_code == 200


# The store's file is deleted or replaced under the server.


def add_event_row(store: Store, name: str) -> None:
    add_event(store, name, account=None, now=utc_now())


def list_event_rows(place: Path) -> set[str]:
    with open_store(place) as store:
        return {row[0] for row in store.query("select event from audit_events")}


@pytest.fixture
def file_pool(tmp_path: Path) -> Iterator[StorePool]:
    path = tmp_path / "store.db"
    open_store(path, create=True).close()
    pool = StorePool(lambda: open_store(path, busy_seconds=1), size=3)
    yield pool
    pool.close()


def delete_file(path: Path) -> None:
    path.unlink()


def delete_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def replace_file(path: Path) -> None:
    spare = path.with_name("spare.db")
    with open_store(spare, create=True) as store:
        add_event_row(store, "in the spare")
    spare.replace(path)


@pytest.mark.parametrize("harm", [delete_file, delete_log, replace_file])
def test_a_write_that_ends_in_a_file_that_is_gone_is_an_error(
    file_pool: StorePool, harm: Callable[[Path], None]
) -> None:
    """SQLite commits into a deleted file without a word."""
    with file_pool.borrow() as store:
        add_event_row(store, "before")

    def write_and_harm() -> None:
        with file_pool.borrow() as store, store.write():
            add_event_row(store, "lost")
            harm(Path(file_pool.place))

    with pytest.raises(StoreReplacedError, match="deleted or replaced"):
        write_and_harm()


def test_a_replaced_store_is_opened_anew_and_not_mixed_with_the_old_one(
    file_pool: StorePool, capfd: pytest.CaptureFixture[str]
) -> None:
    path = Path(file_pool.place)
    with file_pool.borrow() as one, file_pool.borrow() as two:
        add_event_row(one, "in the old one")
        add_event_row(two, "in the old one too")
    moved = path.with_name("moved.db")
    path.rename(moved)
    with pytest.raises(StoreError, match="no store there"), file_pool.borrow():
        pass
    replace_file(path)
    for number in range(3):
        with file_pool.borrow() as store:
            add_event_row(store, f"after {number}")
    assert list_event_rows(path) == {"in the spare", "after 0", "after 1", "after 2"}
    assert list_event_rows(moved) == {"in the old one", "in the old one too"}
    told = [line for line in capfd.readouterr().err.splitlines() if "replaced" in line]
    assert told == [f"{path}: the file was deleted or replaced; the one there now is in use"]


def test_no_new_file_is_opened_while_the_old_one_is_in_use(file_pool: StorePool) -> None:
    path = Path(file_pool.place)
    with file_pool.borrow() as old:
        add_event_row(old, "old")
        replace_file(path)
        with pytest.raises(StoreReplacedError, match="old requests are ending"), file_pool.borrow():
            pass
        assert old.query("select event from audit_events") == [("old",)]
    with file_pool.borrow() as new:
        assert new.query("select event from audit_events") == [("in the spare",)]


def test_the_app_acknowledges_nothing_without_its_file_and_recovers(demo_app: RunningApp) -> None:
    admin = demo_app.enter("root", "admin")
    path = Path(demo_app.place)
    away = path.with_name("away.db")
    assert admin.post("/people/invite", role="labeler").status_code == 200
    path.rename(away)
    for _ in range(3):
        answer = admin.post("/people/invite", role="labeler")
        assert (answer.status_code, answer.headers.get("retry-after")) == (503, "5")
        assert admin.get("/people").status_code == 503
    away.rename(path)
    assert admin.post("/people/invite", role="labeler").status_code == 200
    with demo_app.open() as store:
        assert store.query("select count(*) from invites") == [(2,)]
