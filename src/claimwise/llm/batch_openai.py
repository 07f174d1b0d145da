"""OpenAI's batches, which Azure has too: a file is uploaded, then a batch is made of it."""

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
    read_since,
)
from claimwise.llm.batch_web import BatchHttpError, BatchWeb
from claimwise.types.llm import FailureCode


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

    def __init__(self, target: str) -> None:
        self._target = target  # what each request is for, as the provider names it

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
        return read_batch_id(found)

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
        since = read_since(batch).timestamp()
        after = ""
        found: list[BatchStatus] = []
        while True:
            page = web.ask("GET", f"/batches?limit={PAGE}{after}")
            listed = [one for one in page.get("data") or () if isinstance(one, dict)]
            for one in listed:
                named = (one.get("metadata") or {}).get(_METADATA) == batch.name
                if named or one.get("input_file_id") == batch.upload:
                    found.append(_read_openai(one))
            older = any((one.get("created_at") or since) < since for one in listed)
            if found or older or not listed or not page.get("has_more"):
                return found
            after = f"&after={quote(read_batch_id(listed[-1]), safe='')}"

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
        id=read_batch_id(found),
        ended=state in _OPENAI_ENDED,
        done=int(counts.get("completed") or 0) + int(counts.get("failed") or 0),
        total=int(counts.get("total") or 0),
        outputs=tuple(str(file) for file in files if file),
        missing=missing,
        why=told or WHY[missing],
    )


def _read_openai_line(line: bytes) -> BatchResult:
    try:
        found = _OPENAI_LINE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BatchHttpError(0, f"a line of the results is not a result: {error}") from error
    if found.response is not None and found.response.status_code:
        content = bytes(found.response.body)
        return BatchResult(
            custom_id=found.custom_id, status=found.response.status_code, content=content
        )
    reason = found.error or _OpenAIError()
    code = _OPENAI_CODES.get(reason.code or "", "server_error")
    told = reason.message or reason.code or "no response, and no reason"
    return BatchResult(custom_id=found.custom_id, code=code, detail=told)
