"""How providers take batches: OpenAI's files and batches (Azure's too), Anthropic's messages.

Only :meth:`BatchApi.submit` costs money. Whoever calls it writes down beforehand that he does, and
can find out afterwards with :meth:`BatchApi.find` whether the provider took it: by the uploaded
file, or, where a provider keeps nothing of ours with a batch, by its time and size, and by the ids
in its results.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from claimwise.llm.batch_web import BatchHttpError, BatchWeb
from claimwise.types.llm import FailureCode

_SKEW = timedelta(hours=26)  # by which our clock may be ahead; time zones are confused as well
_PAGE = 100


class BatchStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a batch stands."""

    id: str
    state: str  # the provider's own word
    ended: bool
    done: int = 0
    total: int = 0
    outputs: tuple[str, ...] = ()  # files with results
    missing: FailureCode = "bad_reply"  # what a request without a result has come to
    why: str = "the batch ended without a result for it"


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


# OpenAI


class _OpenAIResponse(msgspec.Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


class _OpenAIError(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _OpenAILine(msgspec.Struct):
    custom_id: str
    response: _OpenAIResponse | None = None
    error: _OpenAIError | None = None


_OPENAI_LINE = msgspec.json.Decoder(_OpenAILine)
_OPENAI_ENDED: dict[str, FailureCode] = {
    "completed": "bad_reply",
    "failed": "refused_request",
    "expired": "expired",
    "cancelled": "cancelled",
}
_OPENAI_CODES: dict[str, FailureCode] = {
    "batch_expired": "expired",
    "batch_cancelled": "cancelled",
}
_METADATA = "claimwise_batch"
_NOT_READY = frozenset({"pending", "running", "notRunning"})


class OpenAIBatches:
    """``/files`` and ``/batches``, as OpenAI and Azure have them."""

    most_requests = 50_000
    most_bytes = 200_000_000
    price_share = 0.5

    def __init__(self, target: str = "/v1/chat/completions") -> None:
        self._target = target

    def write_request(self, custom_id: str, body: bytes) -> bytes:
        """Return one request as a line."""
        line = {"custom_id": custom_id, "method": "POST", "url": self._target}
        return msgspec.json.encode({**line, "body": msgspec.Raw(body)})

    def upload(self, web: BatchWeb, name: str, lines: bytes) -> str:
        """Upload the requests as a file with the purpose “batch”."""
        mark = f"claimwise-{name}"
        head = (
            f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{mark}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        content = head.encode() + lines + f"\r\n--{mark}--\r\n".encode()
        found = web.ask("POST", "/files", content, f"multipart/form-data; boundary={mark}")
        return _read_id(found)

    def is_ready(self, web: BatchWeb, upload: str) -> bool:
        """Tell whether the file is processed: on Azure that takes a while."""
        found = web.ask("GET", f"/files/{quote(upload, safe='')}")
        return found.get("status") not in _NOT_READY

    def submit(self, web: BatchWeb, batch: SentBatch, lines: bytes) -> BatchStatus:
        """Make a batch of the uploaded file."""
        wanted = {
            "input_file_id": batch.upload,
            "endpoint": self._target,
            "completion_window": "24h",
            "metadata": {_METADATA: batch.name},
        }
        return _read_openai(web.ask("POST", "/batches", msgspec.json.encode(wanted)))

    def find(self, web: BatchWeb, batch: SentBatch) -> list[BatchStatus]:
        """Return the batches of the uploaded file: no other one has it."""
        since = _read_since(batch).timestamp()
        after = ""
        found: list[BatchStatus] = []
        while True:
            page = web.ask("GET", f"/batches?limit={_PAGE}{after}")
            listed = [one for one in page.get("data") or () if isinstance(one, dict)]
            for one in listed:
                named = (one.get("metadata") or {}).get(_METADATA) == batch.name
                if named or one.get("input_file_id") == batch.upload:
                    found.append(_read_openai(one))
            older = any((one.get("created_at") or since) < since for one in listed)
            if found or older or not listed or not page.get("has_more"):
                return found
            after = f"&after={quote(_read_id(listed[-1]), safe='')}"

    def poll(self, web: BatchWeb, batch_id: str) -> BatchStatus:
        """Ask how a batch stands."""
        return _read_openai(web.ask("GET", f"/batches/{quote(batch_id, safe='')}"))

    def read_results(self, web: BatchWeb, status: BatchStatus) -> Iterator[BatchResult]:
        """Yield the lines of both files: results, and failures."""
        for file in status.outputs:
            for line in web.read_lines(f"/files/{quote(file, safe='')}/content"):
                yield _read_openai_line(line)


def _read_openai(found: dict[str, Any]) -> BatchStatus:
    state = str(found.get("status"))
    counts = found.get("request_counts") or {}
    listed = (found.get("errors") or {}).get("data") or ()
    told = "; ".join(str(one.get("message")) for one in listed if isinstance(one, dict))
    missing = _OPENAI_ENDED.get(state, "bad_reply")
    files = (found.get("output_file_id"), found.get("error_file_id"))
    return BatchStatus(
        id=_read_id(found),
        state=state,
        ended=state in _OPENAI_ENDED,
        done=int(counts.get("completed") or 0) + int(counts.get("failed") or 0),
        total=int(counts.get("total") or 0),
        outputs=tuple(str(file) for file in files if file),
        missing=missing,
        why=told or _WHY.get(missing, _WHY["bad_reply"]),
    )


def _read_openai_line(line: bytes) -> BatchResult:
    try:
        found = _OPENAI_LINE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BatchHttpError(0, f"a line of the results is no result: {error}") from error
    if found.response is not None and found.response.status_code:
        content = bytes(found.response.body)
        return BatchResult(
            custom_id=found.custom_id, status=found.response.status_code, content=content
        )
    reason = found.error or _OpenAIError()
    code = _OPENAI_CODES.get(reason.code or "", "server_error")
    told = reason.message or reason.code or "no response, and no reason"
    return BatchResult(custom_id=found.custom_id, code=code, detail=told)


# Anthropic


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
_WHY: dict[FailureCode, str] = {
    "bad_reply": "the batch ended without a result for it",
    "expired": "the batch ran out of time before this request was answered",
    "cancelled": "the batch was cancelled before this request was answered",
    "refused_request": "the provider refused the batch",
}


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
        since, after = _read_since(batch), ""
        found: list[BatchStatus] = []
        while True:
            page = web.ask("GET", f"/v1/messages/batches?limit={_PAGE}{after}")
            listed = [one for one in page.get("data") or () if isinstance(one, dict)]
            for one in listed:
                if _read_time(one.get("created_at")) < since:
                    return found
                status = _read_anthropic(one)
                if status.total == batch.size:
                    found.append(status)
            if not listed or not page.get("has_more"):
                return found
            after = f"&after_id={quote(_read_id(listed[-1]), safe='')}"

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
    state = str(found.get("processing_status"))
    return BatchStatus(
        id=_read_id(found),
        state=state,
        ended=state == "ended",
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
            return BatchResult(custom_id=found.custom_id, code=code, detail=_WHY[code])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BatchHttpError(0, f"a line of the results is no result: {error}") from error
    return BatchResult(custom_id=found.custom_id, status=status, content=content)


# What both have


def _read_id(found: dict[str, Any]) -> str:
    name = found.get("id")
    if not isinstance(name, str) or not name:
        raise BatchHttpError(0, "the answer has no id")
    return name


def _read_since(batch: SentBatch) -> datetime:
    return (batch.sent_at or datetime.now(UTC)) - _SKEW


def _read_time(told: Any) -> datetime:
    """Return when a batch was made; one that does not say may have been made just now."""
    try:
        found = datetime.fromisoformat(str(told))
    except ValueError:
        return datetime.now(UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


FORMATS: dict[str, BatchApi] = {
    "openai": OpenAIBatches(),
    "azure": OpenAIBatches("/chat/completions"),
    "anthropic": AnthropicBatches(),
}
