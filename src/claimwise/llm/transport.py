"""HTTP with one deadline for the whole of a request. Loads httpx2, so it is imported on use.

httpx2 counts time from byte to byte: a server that drips one every second is waited for without
end. Here every read and write of a request asks the same clock, from the first byte of the
connection to the last of the body.

Judging sends one kind of request all the time. `HttpClient.post_content` hands it to the pool below
httpx2, which takes a third less CPU time: no cookies, redirects and authentication to look for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from claimwise.errors import LlmError

__all__ = ["FAILED", "Deadlines", "HttpClient", "HttpReply", "open_http", "parse_url"]

# What a request may raise besides timeouts.
FAILED = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
    httpx2.DecodingError,
)

# How often a waiting read looks whether the client was stopped.
_SLICE_SECONDS = 0.5


class _Clock(threading.local):
    """The deadline of the request that a thread has under way."""

    at = float("inf")


class Deadlines:
    """The clocks of all threads, and the moment after which nobody waits any longer."""

    def __init__(self) -> None:
        self._clock = _Clock()
        self._stop_at = float("inf")

    def start(self, seconds: float) -> None:
        """Give this thread's next request so many seconds."""
        self._clock.at = time.monotonic() + seconds

    def stop(self, seconds: float) -> None:
        """Give the requests of all threads so many seconds from now, at most."""
        self._stop_at = min(self._stop_at, time.monotonic() + seconds)

    def left(self, error: type[Exception]) -> float:
        """Return the seconds left to this thread's request; raise when there are none."""
        seconds = min(self._clock.at, self._stop_at) - time.monotonic()
        if seconds <= 0:
            raise error("no whole reply in time")
        return seconds


class _Stream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream, deadlines: Deadlines) -> None:
        self._inner = inner
        self._deadlines = deadlines

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            left = self._deadlines.left(httpcore2.ReadTimeout)
            try:
                return self._inner.read(max_bytes, min(left, _SLICE_SECONDS))
            except httpcore2.ReadTimeout:
                continue

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadlines.left(httpcore2.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        left = self._deadlines.left(httpcore2.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._deadlines)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore2.NetworkBackend):
    def __init__(self, deadlines: Deadlines) -> None:
        self._inner = httpcore2.SyncBackend()
        self._deadlines = deadlines

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        left = self._deadlines.left(httpcore2.ConnectTimeout)
        stream = self._inner.connect_tcp(host, port, left, local_address, socket_options)
        return _Stream(stream, self._deadlines)


class _Transport(httpx2.HTTPTransport):
    """httpx2's own transport over a pool with our clock; httpx2 has no option for that."""

    def __init__(self, pool: httpcore2.ConnectionPool) -> None:
        # Instead of super().__init__(), which would make a pool of its own and throw it away.
        self._pool = pool


class _Parts(httpx2.SyncByteStream):
    """A body as it comes from the pool, for httpx2 to decode."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts


class HttpReply(NamedTuple):
    """A response; without a body where that is too long."""

    status: int
    headers: dict[str, str]  # by their names in small letters
    body: bytes | None


class HttpClient(httpx2.Client):
    """A client for one address; what is posted there has the same headers each time."""

    def __init__(
        self, url: httpx2.URL, headers: dict[str, str], pool: httpcore2.ConnectionPool
    ) -> None:
        # The pool's own timeouts are off: the clock has the say.
        super().__init__(
            transport=_Transport(pool), headers=headers, timeout=None, follow_redirects=False
        )
        self._pool = pool
        self._address = httpcore2.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        sent = self.build_request("POST", url).headers.raw
        self._posted = [(name, value) for name, value in sent if name.lower() != b"content-length"]

    def post_content(self, content: bytes, *, longest: int) -> HttpReply:
        """Post to the address, and return the whole reply, of at most so many bytes.

        Raises:
            httpcore2.ConnectError, httpcore2.TimeoutException: as they say.
            FAILED: all else that may go wrong on the way.
        """
        length = (b"Content-Length", str(len(content)).encode())
        request = httpcore2.Request(
            "POST", self._address, headers=[*self._posted, length], content=content
        )
        with closing(self._pool.handle_request(request)) as response:
            headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in response.headers
            }
            parts: Iterable[bytes] = response.iter_stream()
            if "content-encoding" in headers:
                parts = httpx2.Response(
                    response.status, headers=response.headers, stream=_Parts(parts)
                ).iter_bytes()
            return HttpReply(response.status, headers, _read_body(parts, longest))


def _read_body(parts: Iterable[bytes], longest: int) -> bytes | None:
    """Return a whole body, or None when it is too long: a little of it may unpack to a lot."""
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > longest:
            return None
    return bytes(body)


def open_http(
    url: str, headers: dict[str, str], deadlines: Deadlines, *, connections: int
) -> HttpClient:
    """Return a client for one server: connections are reused, proxies of the environment kept.

    Redirects are not followed: the headers hold a key, which is for this server alone.
    """
    parts = urlsplit(url)
    pool = httpcore2.ConnectionPool(
        # The system's certificates, read once and not for every connection.
        ssl_context=httpcore2.default_ssl_context() if parts.scheme == "https" else None,
        proxy=_find_proxy(parts.scheme, parts.hostname or ""),
        max_connections=connections,
        max_keepalive_connections=connections,
        keepalive_expiry=30.0,
        network_backend=_Backend(deadlines),
    )
    return HttpClient(parse_url(url), headers, pool)


def parse_url(url: str) -> httpx2.URL:
    """Return an address.

    Raises:
        LlmError: it can't be one.
    """
    try:
        return httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise LlmError(f"the address {url!r} can't be used: {error}; nothing was sent") from error


def _find_proxy(scheme: str, host: str) -> httpcore2.Proxy | None:
    """Return the environment's proxy; what is wrong with it is told without its password."""
    if proxy_bypass(host):
        return None
    proxies = getproxies()
    found = proxies.get(scheme) or proxies.get("all")
    if not found:
        return None
    try:
        proxy = httpx2.Proxy(found if "://" in found else f"http://{found}")
        if proxy.url.scheme not in ("http", "https") or not proxy.url.host:
            raise ValueError
        proxy.url.host.encode("idna")  # what a connection would raise later, with a traceback
        return httpcore2.Proxy(str(proxy.url), auth=proxy.raw_auth)
    except (ValueError, httpx2.InvalidURL):
        raise LlmError(
            f"the environment's proxy for {scheme} ({scheme.upper()}_PROXY or ALL_PROXY) is no "
            "http:// or https:// address: change it, or set NO_PROXY; nothing was sent"
        ) from None
