"""Collects the requests of batches; their bodies, which may be gigabytes, are in a file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

from claimwise.llm.pricing import cost_tokens, estimate_tokens
from claimwise.types.llm import LlmCall, Price

_FRAME = 256  # bytes that a request has around its body, at most


class OutgoingRequest(NamedTuple):
    """A request to send: where its body is, and what it may take."""

    prompt: str
    start: int
    length: int
    input_tokens: int  # estimated
    output_tokens: int  # at most


class Outbox:
    """Requests by the key of their call, in the order of asking."""

    def __init__(self) -> None:
        self.requests: dict[str, OutgoingRequest] = {}
        self._bodies: IO[bytes] = tempfile.TemporaryFile(prefix="claimwise-")  # noqa: SIM115

    def add(self, key: str, call: LlmCall, body: bytes) -> None:
        """Take a request."""
        start = self._bodies.seek(0, 2)
        self._bodies.write(body)
        tokens = estimate_tokens(call), call.max_tokens
        self.requests[key] = OutgoingRequest(call.prompt, start, len(body), *tokens)

    def read_body(self, key: str) -> bytes:
        """Return the body of a request."""
        self._bodies.seek(self.requests[key].start)
        return self._bodies.read(self.requests[key].length)

    def count_tokens(self, keys: Iterable[str]) -> tuple[int, int]:
        """Return the tokens that requests may take, in and out."""
        wanted = [self.requests[key] for key in keys]
        return sum(one.input_tokens for one in wanted), sum(one.output_tokens for one in wanted)

    def cost(self, keys: Iterable[str], price: Price, scale: float) -> float:
        """Return what requests may cost; ``scale`` is by how much tokens are underestimated."""
        given, back = self.count_tokens(keys)
        return cost_tokens(price, given * scale, back)

    def cut(self, keys: Iterable[str], most: int, most_bytes: int) -> Iterator[list[str]]:
        """Yield as many requests at a time as a batch may have; a large one goes by itself."""
        part: list[str] = []
        size = 0
        for key in keys:
            more = self.requests[key].length + _FRAME
            if len(part) == most or (part and size + more > most_bytes):
                yield part
                part, size = [], 0
            part.append(key)
            size += more
        if part:
            yield part

    def clear(self) -> None:
        """Forget all requests."""
        self.requests = {}
        self._bodies.truncate(0)

    def close(self) -> None:
        """Remove the file."""
        self._bodies.close()
