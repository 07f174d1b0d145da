"""The web server: how long a connection may take, and how many there may be.

uvicorn waits for ever for a request that was begun, so whoever opens connections and sends a byte
now and then holds all of them. Here every stage of a connection has a deadline, and connections
beyond a number are turned away. What can happen a thousand times in a second is logged rarely.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from claimwise.app.requests import log

_LAST_SECONDS = 5  # for requests under way when the server is stopped
_MOST_CONNECTIONS = 1000
_OTHER_FILES = 128  # descriptors left for the store, the log and whatever Python opens
_FEWEST_CONNECTIONS = 32
_NO_MORE_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_TURNED_AWAY = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"retry-after: 5\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)


def count_possible_connections(file_limit: int) -> int:
    """Return how many connections fit into a limit on open files."""
    return min(_MOST_CONNECTIONS, max(_FEWEST_CONNECTIONS, file_limit - _OTHER_FILES))


def _read_file_limit() -> int:
    try:
        import resource
    except ImportError:  # Windows, whose sockets don't count as files
        return _MOST_CONNECTIONS + _OTHER_FILES
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionLimits:
    """What one connection may take, and how many there may be."""

    header_seconds: float = 15.0  # from the connection's start, or the end of the answer before
    body_seconds: float = 60.0  # from the end of the header
    answer_seconds: float = 120.0  # for the other side to read the answer
    connections: int = field(default_factory=lambda: count_possible_connections(_read_file_limit()))


class RareLog:
    """Logs the first event of a kind at once, and those that follow once per interval."""

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._kinds: dict[str, tuple[float, int]] = {}  # when it was last logged, and how often not

    def note(self, event: str) -> None:
        """Count an event; log it, with the number of those before it, unless one was lately."""
        now = self._clock()
        last, unsaid = self._kinds.get(event, (None, 0))
        if last is not None and now - last < self._seconds:
            self._kinds[event] = last, unsaid + 1
            return
        self._kinds[event] = now, 0
        log(f"{event} ({unsaid:,} more since the last such line)" if unsaid else event)


class LimitedConfig(uvicorn.Config):
    """uvicorn's settings, with our limits."""

    def __init__(self, app: ASGIApp, limits: ConnectionLimits) -> None:
        super().__init__(
            app,
            http=LimitedProtocol,
            loop="asyncio",
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=_LAST_SECONDS,
        )
        self.limits = limits
        self.rare_log = RareLog()


class LimitedProtocol(H11Protocol):
    """One connection, dropped when it takes too long over a request or over its answer."""

    def __init__(
        self,
        config: LimitedConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = config.limits
        self._rare_log = config.rare_log
        self._stage: tuple[str, object] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or turn the connection away when there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            most = self._limits.connections
            self._rare_log.note(f"more than {most} connections at once: new ones are turned away")
            transport.write(_TURNED_AWAY)
            transport.close()
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Go on to the next request, once the whole answer was handed to the transport."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._set_timer(None)
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the clock of the stage that the connection is in, unless it runs already."""
        found = self._find_stage()
        # Each request has stages of its own.
        stage = (found[0], self.cycle) if found else None
        if stage != self._stage:
            self._stage = stage
            self._set_timer(found[1] if found else None)

    def _find_stage(self) -> tuple[str, float] | None:
        """Return what the other side has to do, and how long it may take; None: it is our turn."""
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            return "reading its answer", self._limits.answer_seconds
        if self.conn.their_state is h11.IDLE:
            return "sending a request's header", self._limits.header_seconds
        if self.conn.their_state is h11.SEND_BODY:
            return "sending a request's body", self._limits.body_seconds
        return None

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        stage = self._stage
        self._watch()
        if stage is not None and stage == self._stage:
            self._rare_log.note(f"dropped a connection that took too long {stage[0]}")
            self.transport.abort()


class LimitedServer(uvicorn.Server):
    """uvicorn's server, which does not fill the log when no connection can be taken."""

    def __init__(self, config: LimitedConfig) -> None:
        super().__init__(config)
        self._rare_log = config.rare_log

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        asyncio.get_running_loop().set_exception_handler(self._handle_fault)
        await super().startup(sockets)

    def _handle_fault(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # asyncio reports each of some thousand tries to take a connection, with a traceback.
        fault = context.get("exception")
        if isinstance(fault, OSError) and fault.errno in _NO_MORE_FILES:
            self._rare_log.note(f"can't take connections for now: {fault.strerror}")
        else:
            loop.default_exception_handler(context)


def build_server(app: ASGIApp, limits: ConnectionLimits | None = None) -> LimitedServer:
    """Return a server for the app; ``run`` it with a bound socket."""
    return LimitedServer(LimitedConfig(app, limits or ConnectionLimits()))
