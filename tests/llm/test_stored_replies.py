from __future__ import annotations

import signal
import sqlite3
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.resources import files
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import msgspec
import pytest

from claimwise.errors import StoreBusyError, StoreError
from claimwise.llm.client import make_key
from claimwise.store import Store, open_store
from claimwise.store.replies import StoredReplies, open_replies
from claimwise.store.sqlite import SQLiteEngine
from llm.conftest import Opener
from llm.killed import make_call, make_reply, put_and_die, put_many
from support.faulty_server import FaultyServer
from support.waiting import DEADLINE, wait_until


@pytest.fixture
def made(place: str) -> str:
    """The place of a new store, on each engine in turn."""
    open_store(place, create=True).close()
    return place


def keep(replies: StoredReplies, name: str) -> str:
    key = make_key(make_call(name))
    replies.put(key, make_call(name), make_reply(name))
    return key


@pytest.mark.each_engine
def test_replies_come_back_as_they_were(made: str) -> None:
    with open_replies(made) as replies:
        key = keep(replies, "a")
        assert replies.get("nonsense") is None
    with open_replies(made) as again:
        assert again.get(key) == msgspec.structs.replace(make_reply("a"), cached=True)
    with open_store(made) as store:
        rows = store.query("select model, prompt, served_by, output_tokens from llm_replies")
        assert rows == [("m:x", "p@1", "x-1", None)]
        day = store.query("select cast(created_at as text) from llm_replies")[0][0]
        assert day.startswith("20")


def test_fresh_replies_take_the_place_of_old_ones(made: str) -> None:
    with open_replies(made) as replies:
        old, kept = keep(replies, "a"), keep(replies, "b")
    with open_replies(made, fresh=True) as replies:
        assert replies.get(old) is None
        replies.put(old, make_call("a"), make_reply("new"))
        replies.put(old, make_call("a"), make_reply("newer"))
        found = replies.get(old)
        assert found is not None
        assert found.text == make_reply("new").text
    with open_replies(made) as replies:
        assert {key: found.text for key in (old, kept) if (found := replies.get(key))} == {
            old: make_reply("new").text,
            kept: make_reply("b").text,
        }


@pytest.mark.each_engine
def test_the_first_reply_stays_until_it_is_dropped(made: str) -> None:
    with open_replies(made) as replies:
        key = keep(replies, "a")
        replies.put(key, make_call("a"), make_reply("other"))
        found = replies.get(key)
        assert found is not None
        assert found.text == make_reply("a").text
        replies.drop(key)
        replies.drop(key)
        assert replies.get(key) is None
        replies.put(key, make_call("a"), make_reply("other"))
        assert replies.get(key) is not None


@pytest.mark.each_engine
def test_many_replies_replace_those_under_their_keys(made: str) -> None:
    keys = [make_key(make_call(name)) for name in ("a", "b")]
    with open_replies(made) as replies:
        replies.put(keys[0], make_call("a"), make_reply("old"))
        new = [(key, make_call("x"), make_reply(key[:4])) for key in keys]
        replies.replace_all(new)
        replies.replace_all(new)
    with open_replies(made, fresh=True) as fresh:
        assert fresh.get(keys[0]) is None
        fresh.replace_all(new[:1])
        for key, found in zip(keys, map(fresh.get, keys), strict=True):
            assert (found is None) == (key == keys[1])
    with open_replies(made) as replies:
        for key in keys:
            found = replies.get(key)
            assert found is not None
            assert found.text == make_reply(key[:4]).text


@pytest.mark.each_engine
def test_killed_in_the_moment_after_put_it_is_there(made: str, forking: ForkServerContext) -> None:
    for name in ("a", "b", "c"):
        process = forking.Process(target=put_and_die, args=(made, name))
        process.start()
        process.join(DEADLINE)
        assert process.exitcode == -signal.SIGKILL
    with open_replies(made) as replies:
        for name in ("a", "b", "c"):
            found = replies.get(make_key(make_call(name)))
            assert found is not None, name
            assert found.text == make_reply(name).text


@pytest.mark.each_engine
def test_many_threads_share_a_connection(made: str) -> None:
    with open_replies(made) as replies, ThreadPoolExecutor(16) as pool:
        keys = list(pool.map(lambda n: keep(replies, str(n % 150)), range(300)))
        found = list(pool.map(replies.get, keys))
    assert [reply.text for reply in found if reply] == [
        make_reply(str(n % 150)).text for n in range(300)
    ]
    with open_store(made) as store:
        assert store.query("select count(*) from llm_replies") == [(150,)]


@pytest.mark.each_engine
def test_many_processes_share_a_store(made: str, forking: ForkServerContext) -> None:
    names = [[f"{worker}-{n}" for n in range(15)] + ["shared"] for worker in range(4)]
    with ProcessPoolExecutor(4, mp_context=forking) as pool:
        assert list(pool.map(put_many, [made] * 4, names)) == [16] * 4
    with open_store(made) as store:
        assert store.query("select count(*) from llm_replies") == [(61,)]


def test_threads_that_wait_are_written_together(tmp_path: Path) -> None:
    """One commit serves all who came while another one wrote."""
    place = str(tmp_path / "store.db")
    open_store(place, create=True).close()
    store = open_store(place)
    batches: list[int] = []
    first, go = threading.Event(), threading.Event()
    real = store.execute_all

    def execute_all(statements: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        statements = list(statements)
        batches.append(len(statements))
        first.set()
        assert go.wait(DEADLINE)
        real(statements)

    store.execute_all = execute_all  # type: ignore[method-assign]
    with StoredReplies(store) as replies, ThreadPoolExecutor(9) as pool:
        written = [pool.submit(keep, replies, "first")]
        assert first.wait(DEADLINE)
        written += [pool.submit(keep, replies, str(n)) for n in range(8)]
        wait_until(lambda: len(replies._queue) == 8, "eight wait")
        go.set()
        keys = [done.result() for done in written]
        assert batches == [1, 8]
        assert all(replies.get(key) for key in keys)


def test_whoever_waited_hears_that_it_was_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    open_store(path, create=True).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    with StoredReplies(Store(SQLiteEngine(path, create=False, busy_seconds=0.2))) as replies:
        with pytest.raises(StoreBusyError, match="another process has been writing"):
            keep(replies, "a")
        other.execute("rollback")
        other.close()
        assert replies.get(keep(replies, "a")) is not None


def test_an_older_store_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    first = files("claimwise.store").joinpath("sql/schema/0001_initial.sql")
    with sqlite3.connect(path) as old:
        old.executescript(first.read_text(encoding="utf-8"))
        old.execute(
            "create table schema_migrations "
            "(version integer primary key, name text not null, applied_at timestamp not null)"
        )
        old.execute("insert into schema_migrations values (1, 'initial', '2026-01-01 00:00:00')")
    old.close()
    with open_replies(path) as replies:
        assert replies.get(keep(replies, "a")) is not None


def test_parquet_files_keep_no_replies(tmp_path: Path) -> None:
    (tmp_path / "runs.parquet").write_bytes(b"")
    with pytest.raises(StoreError):
        open_replies(tmp_path)


def test_a_client_pays_once_over_two_runs(made: str, connect: Opener) -> None:
    with FaultyServer() as server:
        for _ in range(2):
            with open_replies(made) as replies:
                client = connect(server, cache=replies)
                for name in ("a", "b"):
                    client.ask(make_call(name))
        assert server.count == 2
    assert client.tally.cached == 2
