"""HTTP for provider batches: whole JSON answers, and files of lines. Loads httpx2 on use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from claimwise.errors import LlmError, make_printable
from claimwise.llm.outcomes import find_message, read_retry_after

if TYPE_CHECKING:
    import httpx2

    from claimwise.llm.transport import Deadlines

_LONGEST_ANSWER = 16 << 20  # bytes; also of one line
_BYTES_PER_SECOND = 100_000  # a connection that is slower than this is given up
_SHOWN = 300
_PASSING = frozenset({0, 408, 409, 425, 429})


class BatchHttpError(LlmError):
    """A request about a batch failed. ``status`` is 0 where there was no response."""

    def __init__(self, status: int, detail: str, wait: float | None = None) -> None:
        super().__init__(f"HTTP {status}: {detail}" if status else detail)
        self.status = status
        self.wait = wait  # seconds, when the server said

    @property
    def passing(self) -> bool:
        """Whether the same request may fare better later."""
        return self.status in _PASSING or self.status >= 500

    @property
    def unsure(self) -> bool:
        """Whether the server may have done what it was asked for."""
        return self.status == 0 or self.status >= 500


class BatchWeb:
    """Asks one provider about batches.

    Args:
        http: the connection, whose headers hold the key.
        deadlines: its clock.
        timeout: seconds for an answer, or for the next part of a file.
        make_url: makes an address of a path.
        hide_key: cuts the key out of what a server says.
    """

    def __init__(
        self,
        http: httpx2.Client,
        deadlines: Deadlines,
        timeout: float,
        *,
        make_url: Callable[[str], str],
        hide_key: Callable[[str], str],
    ) -> None:
        self.wait: float | None = None  # what the last answer said, in seconds
        self._http = http
        self._make_url = make_url
        self._hide_key = hide_key
        self._deadlines = deadlines
        self._timeout = timeout

    def ask(
        self, method: str, path: str, content: bytes = b"", kind: str = "application/json"
    ) -> dict[str, Any]:
        """Return the JSON object that a request is answered with.

        Raises:
            BatchHttpError: there is none.
        """
        self._deadlines.start(self._timeout + len(content) / _BYTES_PER_SECOND)
        body = b"".join(self._stream(method, path, content, kind, _LONGEST_ANSWER))
        try:
            return msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BatchHttpError(0, f"the answer is no JSON object: {error}") from error

    def read_lines(self, path: str) -> Iterator[bytes]:
        """Yield the lines of a file; time counts from one part of it to the next.

        Raises:
            BatchHttpError: it can't be read to its end.
        """
        rest = b""
        self._deadlines.start(self._timeout)
        for part in self._stream("GET", path, b"", "application/json", None):
            *lines, rest = (rest + part).split(b"\n")
            yield from (line for line in lines if line.strip())
            if len(rest) > _LONGEST_ANSWER:
                raise BatchHttpError(0, f"a line of more than {_LONGEST_ANSWER >> 20} MiB")
            self._deadlines.start(self._timeout)
        if rest.strip():
            yield rest

    def _stream(
        self, method: str, path: str, content: bytes, kind: str, longest: int | None
    ) -> Iterator[bytes]:
        import httpx2

        url = self._make_url(path)
        read = 0
        try:
            with self._http.stream(
                method, url, content=content, headers={"content-type": kind}
            ) as response:
                if response.status_code >= 300:
                    raise self._refuse(response)
                self.wait = read_retry_after(response.headers)
                for part in response.iter_bytes():
                    read += len(part)
                    if longest is not None and read > longest:
                        raise BatchHttpError(0, f"an answer of more than {longest >> 20} MiB")
                    yield part
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise BatchHttpError(0, f"no connection: {type(error).__name__}: {error}") from error

    def _refuse(self, response: httpx2.Response) -> BatchHttpError:
        told = find_message(next(response.iter_bytes(1 << 16), b""))[: 10 * _SHOWN]
        shown = make_printable(self._hide_key(told))[:_SHOWN]
        return BatchHttpError(response.status_code, shown, read_retry_after(response.headers))
