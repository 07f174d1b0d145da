"""Clients that open connections, send a byte now and then, and never finish a request."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

HEADER = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = (
    b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\nname="
)
_BETWEEN_BYTES = 2.0


class Dropped(NamedTuple):
    """How many connections were opened, and how many the other side has ended."""

    opened: int
    dropped: int


class SlowClients(threading.Thread):
    """Holds connections open; every one that still is gets another byte every two seconds."""

    def __init__(self, port: int, count: int, beginning: bytes) -> None:
        super().__init__(daemon=True)
        self.opened = count
        self._open = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(count)]
        for each in self._open:
            each.sendall(beginning)
            each.setblocking(False)
        self._done = threading.Event()
        self.start()

    def run(self) -> None:
        """Go on until told to stop."""
        while not self._done.wait(_BETWEEN_BYTES):
            self._open = [each for each in self._open if _feed(each)]

    def count(self, seconds: float) -> Dropped:
        """Wait until all are dropped, at most so long; return how many were."""
        give_up = time.monotonic() + seconds
        while self._open and time.monotonic() < give_up:
            time.sleep(0.1)
        return Dropped(self.opened, self.opened - len(self._open))

    def close(self) -> None:
        """End what is left."""
        self._done.set()
        self.join()
        for each in self._open:
            each.close()


def _feed(connection: socket.socket) -> bool:
    """Send a byte; return whether the connection is still open."""
    try:
        while connection.recv(65536):
            pass  # an answer; the end is what is waited for
    except BlockingIOError:
        pass
    except OSError:
        connection.close()
        return False
    else:
        connection.close()
        return False
    try:
        connection.send(b"x")
    except BlockingIOError:
        return True
    except OSError:
        connection.close()
        return False
    return True


_PLAIN_SERVER = """
import socket, sys, uvicorn
async def app(scope, receive, send):
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})
bound = socket.socket()
bound.bind(("127.0.0.1", 0))
bound.listen(256)
print(bound.getsockname()[1], flush=True)
config = uvicorn.Config(app, lifespan="off", log_level="error")
uvicorn.Server(config).run(sockets=[bound])
"""


@contextmanager
def serve_plainly() -> Iterator[int]:
    """Run uvicorn as it comes, with an app that does nothing; yield its port."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PLAIN_SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
