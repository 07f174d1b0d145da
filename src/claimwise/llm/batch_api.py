"""How a provider takes batches: what it must be able to do, and what comes back.

Only :meth:`BatchApi.submit` costs money. Whoever calls it writes that down beforehand, and
can find out afterwards with :meth:`BatchApi.find` whether the provider took it: by the uploaded
file, or, where a provider keeps nothing of ours with a batch, by its time and size, and by the ids
in its results.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import msgspec

from claimwise.llm.batch_web import BatchHttpError, BatchWeb
from claimwise.types.llm import FailureCode

_SKEW = timedelta(hours=26)  # by which our clock may be ahead; time zones are confused as well
PAGE = 100  # batches in one listing
WHY: dict[FailureCode, str] = {
    "bad_reply": "the batch ended without a result for it",
    "expired": "the batch ran out of time before this request was answered",
    "cancelled": "the batch was cancelled before this request was answered",
    "refused_request": "the provider refused the batch",
}


class BatchStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a batch stands."""

    id: str
    ended: bool
    done: int = 0
    total: int = 0
    outputs: tuple[str, ...] = ()  # files with results
    missing: FailureCode = "bad_reply"  # what a request without a result has come to
    why: str = WHY["bad_reply"]


class BatchResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one request: a response, or why there is none."""

    custom_id: str
    status: int = 0
    content: bytes | None = None
    code: FailureCode = "server_error"
    detail: str = ""


class SentBatch(Protocol):
    """A batch that was sent, or may have been."""

    name: str
    upload: str
    sent_at: datetime | None

    @property
    def size(self) -> int:
        """The number of requests."""
        ...


class BatchApi(Protocol):
    """A provider's batches. ``price_share`` is what they cost, as a share of single calls."""

    most_requests: int
    most_bytes: int
    price_share: float

    def write_request(self, custom_id: str, body: bytes) -> bytes:
        """Return one request as a line; ``body`` is what would be sent by itself."""
        ...

    def upload(self, web: BatchWeb, name: str, lines: bytes) -> str:
        """Upload requests where that is a step of its own; costs nothing. Return the file's id."""
        ...

    def is_ready(self, web: BatchWeb, upload: str) -> bool:
        """Tell whether an uploaded file can be used by now."""
        ...

    def submit(self, web: BatchWeb, batch: SentBatch, lines: bytes) -> BatchStatus:
        """Have requests worked on: this is what is paid for."""
        ...

    def find(self, web: BatchWeb, batch: SentBatch) -> list[BatchStatus]:
        """Return the provider's batches that may be this one."""
        ...

    def poll(self, web: BatchWeb, batch_id: str) -> BatchStatus:
        """Ask how a batch stands."""
        ...

    def read_results(self, web: BatchWeb, status: BatchStatus) -> Iterator[BatchResult]:
        """Yield the results of a batch that has ended, in any order."""
        ...


def read_batch_id(found: dict[str, Any]) -> str:
    """Return the id of a batch or a file."""
    name = found.get("id")
    if not isinstance(name, str) or not name:
        raise BatchHttpError(0, "the answer has no id")
    return name


def read_since(batch: SentBatch) -> datetime:
    """Return since when the provider may have a batch, by its own clock."""
    return (batch.sent_at or datetime.now(UTC)) - _SKEW


def read_batch_time(told: Any) -> datetime:
    """Return when a batch was made; one that does not say may have been made just now."""
    try:
        found = datetime.fromisoformat(str(told))
    except ValueError:
        return datetime.now(UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
