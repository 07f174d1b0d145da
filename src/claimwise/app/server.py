"""Runs the app until someone stops it."""

from __future__ import annotations

import errno
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from types import FrameType

from claimwise.accounts.queries import create_setup_invite
from claimwise.app import security
from claimwise.app.pool import StorePool
from claimwise.config import Project
from claimwise.errors import ClaimwiseError, MissingExtraError, StoreError
from claimwise.store import Store, open_store

_BUSY_SECONDS = 10.0  # a browser does not wait as long as a command
_WAITING = 2048  # connections that nobody has taken yet


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeOptions:
    """Where the app is served."""

    host: str = "127.0.0.1"
    port: int = 8700
    host_names: Sequence[str] = ()
    behind_https: bool = False
    proxies: int | None = None  # before the app; by default one if it is behind HTTPS, else none


def serve_app(
    project: Project,
    place: str,
    options: ServeOptions,
    say: Callable[[str], None],
    *,
    first_page: str = "/",
) -> None:
    """Serve the app over a store; return when it was told to stop.

    Raises:
        ClaimwiseError: the port is taken, the store can't be written, or the extra is missing.
    """
    try:
        from claimwise.app.api import Api
        from claimwise.app.app import Site, build_app, read_clock
        from claimwise.app.connections import build_server
    except ModuleNotFoundError as error:
        if error.name not in ("h11", "starlette", "uvicorn"):
            raise
        raise MissingExtraError("the app in the browser", "web") from error

    with ExitStack() as ends:
        bound = ends.enter_context(bind_socket(options))
        pool = StorePool(lambda: open_store(place, busy_seconds=_BUSY_SECONDS))
        ends.callback(pool.close)
        api = ends.enter_context(Api(pool, project, read_clock))
        site = Site(
            api=api,
            pool=pool,
            project=project,
            hosts=security.list_hosts(options.host, options.host_names),
            behind_https=options.behind_https,
            proxies=_count_proxies(options),
        )
        server = build_server(build_app(site))
        # SIGINT too: a shell's background jobs begin with it ignored.
        for number in (signal.SIGINT, signal.SIGTERM):
            if not callable(signal.getsignal(number)):
                signal.signal(number, _stop)
        with suppress(KeyboardInterrupt):
            with pool.borrow() as store:
                _announce(store, bound, options, say, first_page)
            server.run(sockets=[bound])
    say("stopped")


def _stop(number: int, frame: FrameType | None) -> None:
    """End as Ctrl-C does: the server hands the signal on once its last requests are done."""
    raise KeyboardInterrupt


def bind_socket(options: ServeOptions) -> socket.socket:
    """Take the address and port.

    Raises:
        ClaimwiseError: it can't be had.
    """
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # asyncio turns off waiting for more to send (40 ms an answer) on sockets that say “TCP” alone.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((options.host, options.port))
        bound.listen(_WAITING)  # who comes before the server is ready waits, and is not refused
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            found = "already in use; choose another --port"
        else:
            found = f"can't be used: {error.strerror or error}"
        raise ClaimwiseError(f"{options.host}:{options.port}: {found}") from error
    return bound


def _announce(
    store: Store,
    bound: socket.socket,
    options: ServeOptions,
    say: Callable[[str], None],
    first_page: str,
) -> None:
    if store.schema_version is None:
        raise StoreError(
            f"{store.place}: the store is read-only; the app needs a SQLite or PostgreSQL store"
        )
    base = _write_base(bound, options)
    if not security.is_loopback(options.host):
        say(_warn_of_reach(options))
    now = datetime.now(UTC).replace(tzinfo=None)
    token = create_setup_invite(store, now)
    if token:
        say(f"no accounts yet; make the admin's within an hour: {base}/setup/{token}")
    say(f"serving {store.place} at {base}{first_page} (Ctrl-C stops)")


def _count_proxies(options: ServeOptions) -> int:
    return int(options.behind_https) if options.proxies is None else options.proxies


def _warn_of_reach(options: ServeOptions) -> str:
    """Return what can happen when other machines reach the address."""
    start = f"warning: {options.host} can be reached from other machines"
    if options.behind_https or _count_proxies(options):
        return (
            f"{start} without going through your proxy: passwords can be read on the way, and "
            "anyone can pretend to come from another address; bind to 127.0.0.1, or let a firewall "
            "admit the proxy alone"
        )
    return (
        f"{start}, without encryption: passwords can be read on the way; put HTTPS before it and "
        "add --behind-https"
    )


def _write_base(bound: socket.socket, options: ServeOptions) -> str:
    """Return the address that people type."""
    if options.behind_https and options.host_names:
        return f"https://{options.host_names[0]}"
    port = bound.getsockname()[1]
    name = options.host_names[0] if options.host_names else options.host
    if name in ("0.0.0.0", "::"):  # noqa: S104 - a name to print
        name = "localhost"
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"
