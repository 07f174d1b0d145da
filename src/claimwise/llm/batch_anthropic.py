"""Anthropic's message batches: all requests in one, and results in any order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from claimwise.llm.batch_api import (
    PAGE,
    WHY,
    BatchResult,
    BatchStatus,
    SentBatch,
    read_batch_id,
    read_batch_time,
    read_since,
)
from claimwise.llm.batch_web import BatchHttpError, BatchWeb
from claimwise.types.llm import FailureCode


class _AnthropicOutcome(msgspec.Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")


class _AnthropicLine(msgspec.Struct):
    custom_id: str
    result: _AnthropicOutcome


class _AnthropicReason(msgspec.Struct, frozen=True):
    type: str = ""


class _AnthropicError(msgspec.Struct):
    error: _AnthropicReason = _AnthropicReason()


_ANTHROPIC_LINE = msgspec.json.Decoder(_AnthropicLine)
_ANTHROPIC_ERROR = msgspec.json.Decoder(_AnthropicError)
_ANTHROPIC_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
_ANTHROPIC_CODES: dict[str, FailureCode] = {"canceled": "cancelled", "expired": "expired"}


class AnthropicBatches:
    """``/v1/messages/batches``."""

    most_requests = 100_000
    most_bytes = 256_000_000
    price_share = 0.5

    def write_request(self, custom_id: str, body: bytes) -> bytes:
        """Return one request as a line."""
        return msgspec.json.encode({"custom_id": custom_id, "params": msgspec.Raw(body)})

    def upload(self, web: BatchWeb, name: str, lines: bytes) -> str:
        """Do nothing: the requests go along with the batch."""
        return ""

    def is_ready(self, web: BatchWeb, upload: str) -> bool:
        """There is no file to wait for."""
        return True

    def submit(self, web: BatchWeb, batch: SentBatch, lines: bytes) -> BatchStatus:
        """Send all requests at once."""
        joined = b",".join(lines.splitlines())
        content = b'{"requests":[' + joined + b"]}"
        return _read_anthropic(web.ask("POST", "/v1/messages/batches", content))

    def find(self, web: BatchWeb, batch: SentBatch) -> list[BatchStatus]:
        """Return batches of the same size since then; their results will say whose they are."""
        since, after = read_since(batch), ""
        found: list[BatchStatus] = []
        while True:
            page = web.ask("GET", f"/v1/messages/batches?limit={PAGE}{after}")
            listed = [one for one in page.get("data") or () if isinstance(one, dict)]
            for one in listed:
                if read_batch_time(one.get("created_at")) < since:
                    return found
                status = _read_anthropic(one)
                if status.total == batch.size:
                    found.append(status)
            if not listed or not page.get("has_more"):
                return found
            after = f"&after_id={quote(read_batch_id(listed[-1]), safe='')}"

    def poll(self, web: BatchWeb, batch_id: str) -> BatchStatus:
        """Ask how a batch stands."""
        return _read_anthropic(web.ask("GET", f"/v1/messages/batches/{quote(batch_id, safe='')}"))

    def read_results(self, web: BatchWeb, status: BatchStatus) -> Iterator[BatchResult]:
        """Yield the results; their address is ours to make, whatever the provider names."""
        path = f"/v1/messages/batches/{quote(status.id, safe='')}/results"
        for line in web.read_lines(path):
            yield _read_anthropic_line(line)


def _read_anthropic(found: dict[str, Any]) -> BatchStatus:
    counts = found.get("request_counts") or {}
    numbers = {name: int(number or 0) for name, number in counts.items()}
    total = sum(numbers.values())
    return BatchStatus(
        id=read_batch_id(found),
        ended=found.get("processing_status") == "ended",
        done=total - numbers.get("processing", 0),
        total=total,
    )


def _read_anthropic_line(line: bytes) -> BatchResult:
    try:
        found = _ANTHROPIC_LINE.decode(line)
        result = found.result
        if result.type == "succeeded":
            content, status = bytes(result.message), 200
        elif result.type == "errored":
            content = bytes(result.error)
            kind = _ANTHROPIC_ERROR.decode(content).error.type
            status = _ANTHROPIC_STATUS.get(kind, 500)
        else:
            code = _ANTHROPIC_CODES.get(result.type, "bad_reply")
            return BatchResult(custom_id=found.custom_id, code=code, detail=WHY[code])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BatchHttpError(0, f"a line of the results is not a result: {error}") from error
    return BatchResult(custom_id=found.custom_id, status=status, content=content)
