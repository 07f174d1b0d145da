"""Connections that take their time, and too many of them."""

from __future__ import annotations

import os
import resource
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from claimwise.app.connections import ConnectionLimits, RareLog, count_possible_connections
from claimwise.store import open_store
from support.app_process import AppProcess
from support.app_server import RunningApp, run_app
from support.waiting import DEADLINE, wait_until

LONG = 3600.0  # a deadline that no test reaches
HEADER = b"GET /login HTTP/1.1\r\nhost: localhost\r\n"
BODY = b"POST /login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9999\r\n\r\n"


@contextmanager
def serve(
    tmp_path: Path,
    *,
    header: float = LONG,
    body: float = LONG,
    answer: float = LONG,
    connections: int = 1000,
) -> Iterator[RunningApp]:
    place = str(tmp_path / "store.db")
    open_store(place, create=True).close()
    limits = ConnectionLimits(
        header_seconds=header, body_seconds=body, answer_seconds=answer, connections=connections
    )
    with run_app(place, tmp_path, limits=limits) as running:
        yield running


def connect(app: RunningApp) -> socket.socket:
    address = httpx2.URL(app.url)
    return socket.create_connection((address.host, address.port or 0), timeout=DEADLINE)


def is_served(app: RunningApp) -> bool:
    """Return whether a page comes; on a busy machine a short deadline may pass before that."""
    try:
        with httpx2.Client(base_url=app.url, timeout=DEADLINE, verify=False) as web:
            return web.get("/login").status_code == 200
    except httpx2.TransportError:
        return False


def is_cut(slow: socket.socket, byte: bytes) -> bool:
    """Send one more byte; return whether the other side has hung up."""
    try:
        slow.send(byte)
        ready, _, _ = select.select([slow], [], [], 0.02)
        return bool(ready) and slow.recv(65536) == b""
    except (ConnectionError, BrokenPipeError):
        return True


@pytest.mark.parametrize(
    ("begun", "limit"),
    [(b"", "header"), (HEADER, "header"), (BODY, "body")],
    ids=["nothing", "a header", "a body"],
)
def test_requests_that_never_end_are_dropped(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], begun: bytes, limit: str
) -> None:
    """Byte after byte, so that the connection is never idle."""
    short: dict[str, Any] = {limit: 0.5}
    with serve(tmp_path, **short) as app, ExitStack() as ends:
        slow = [ends.enter_context(connect(app)) for _ in range(30)]
        for one in slow:
            one.sendall(begun)
        left = set(slow)

        def all_cut() -> bool:
            left.difference_update({one for one in left if is_cut(one, b"a" if begun else b"")})
            return not left

        wait_until(all_cut, "unfinished requests are dropped")
        wait_until(lambda: is_served(app), "others are served")
    told = [line for line in capfd.readouterr().err.splitlines() if "dropped" in line]
    assert told == [f"dropped a connection that took too long sending a request's {limit}"]


def test_a_connection_kept_open_has_a_deadline_for_each_header(tmp_path: Path) -> None:
    with serve(tmp_path, header=3) as app, connect(app) as slow:
        slow.sendall(2 * (HEADER + b"\r\n") + HEADER)  # the third is not finished
        answer = b""
        while answer.count(b"</html>") < 2:
            part = slow.recv(65536)
            assert part, "the first two are answered"
            answer += part
        wait_until(lambda: is_cut(slow, b"a"), "the third is dropped")


def test_an_answer_that_nobody_reads_is_dropped(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serve(tmp_path, answer=0.5) as app, socket.socket() as deaf:
        address = httpx2.URL(app.url)
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.settimeout(DEADLINE)
        deaf.connect((address.host, address.port or 0))
        # Many requests in one go: their answers are more than the buffers of both sides hold.
        ask = b"GET /static/base.css HTTP/1.1\r\nhost: localhost\r\n\r\n"
        deaf.setblocking(False)
        told = ""

        def is_told() -> bool:
            nonlocal told
            with suppress(BlockingIOError, ConnectionError):
                deaf.send(ask * 100)
            told += capfd.readouterr().err
            return "took too long reading its answer" in told

        wait_until(is_told, "an answer that is not read is dropped")


def test_connections_beyond_a_number_are_turned_away(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serve(tmp_path, connections=5) as app:
        with ExitStack() as ends:
            held = [ends.enter_context(connect(app)) for _ in range(5)]
            for _ in range(20):
                with connect(app) as sixth:
                    assert sixth.recv(65536).startswith(b"HTTP/1.1 503 ")
            held[0].sendall(HEADER + b"\r\n")
            assert held[0].recv(65536).startswith(b"HTTP/1.1 200 "), "who is in is served"
        wait_until(lambda: is_served(app), "there is room again")
    told = [line for line in capfd.readouterr().err.splitlines() if "turned away" in line]
    assert len(told) == 1


def test_out_of_descriptors_is_logged_once_and_passes(own_demo: Path, tmp_path: Path) -> None:
    with AppProcess(tmp_path, str(own_demo)) as app, ExitStack() as ends:
        pid, url = app.pid, httpx2.URL(app.address)
        assert httpx2.get(url.join("/static/base.css")).status_code == 200, "it is up"
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
        first_free = next(number for number in count() if number not in used)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (first_free, before[1]))
        waiting = []

        def is_told() -> bool:  # one connection may still get a descriptor that was just freed
            waiting.append(ends.enter_context(socket.create_connection((url.host, url.port or 0))))
            return any("Too many open files" in line for line in app.lines)

        wait_until(is_told, "it is told")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        waiting[-1].settimeout(DEADLINE)
        waiting[-1].sendall(HEADER + b"\r\n")
        assert waiting[-1].recv(100).startswith(b"HTTP/1.1 200 "), "who waited is served"
    told = [
        line for line in app.lines if not line.startswith(("serving", "no accounts", "stopped"))
    ]
    assert told == ["can't take connections for now: Too many open files"]


@pytest.mark.parametrize(
    ("files", "connections"), [(64, 32), (256, 128), (1024, 896), (1_048_576, 1000)]
)
def test_connections_leave_descriptors_for_the_store(files: int, connections: int) -> None:
    assert count_possible_connections(files) == connections


def test_a_rare_log_tells_the_first_and_counts_the_rest(capfd: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    rare = RareLog(60, clock=lambda: now)
    for _ in range(1000):
        rare.note("too many")
    rare.note("something else")
    now = 61.0
    rare.note("too many")
    assert capfd.readouterr().err.splitlines() == [
        "too many",
        "something else",
        "too many (999 more since the last such line)",
    ]
