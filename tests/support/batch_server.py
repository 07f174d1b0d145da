"""A real local HTTP server that takes batches: OpenAI's and Azure's files, Anthropic's messages.

    with BatchServer(reply_to_request) as server:
        server.set_environment(monkeypatch)     # openai:…, azure:…, anthropic:…
        server.batches, server.paid             # what was taken; the texts that a bill would list

Single calls are answered as well (``server.direct``), so that a run in batches can be compared with
one without. A batch is over when it was looked at more than ``polls`` times; its requests end as
``fate`` says: “ok”, an HTTP status, “expired”, “cancelled”, “lost” (no line at all) or a fault of
the faulty server. ``script`` gives requests about batches faults in the order in which they come:
“POST /batches unheard” is taken and gets no answer, “GET /batches 503” is refused.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.faulty_server import Asked, Reply, make_envelope, read_messages
from support.local_server import LocalServer

_ROUTE = re.compile(
    r"(?:/v1|/openai(?:/deployments/m)?)/(?P<kind>files|batches|messages/batches|chat/completions|messages)"
    r"(?:/(?P<id>[^/]+))?(?:/(?P<part>content|results))?"
)
_ANTHROPIC_TYPES = {"400": "invalid_request_error", "500": "api_error"}


@dataclass
class TakenBatch:
    """A batch that the server has."""

    id: str
    requests: list[dict[str, Any]]
    wire: str
    created: datetime
    input_file: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    polls: int = 0
    failed: str = ""  # the whole batch was refused after it was taken: why


@dataclass
class BatchServer(LocalServer):
    """Serves from a thread; use it as a context."""

    reply: Reply
    fate: Callable[[Asked], str] = lambda asked: "ok"
    polls: int = 0
    script: list[str] = field(default_factory=list)
    retry_after: str | None = None
    listed_after: int = 0  # a new batch is listed from the so-manieth listing on
    refused: str = ""  # why every batch fails its validation

    def __post_init__(self) -> None:
        self.batches: list[TakenBatch] = []
        self.files: dict[str, bytes] = {}
        self.direct: list[Asked] = []
        self.seen: list[str] = []  # every request about batches: "POST /batches"
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        server = _Server(("127.0.0.1", 0), _Handler)
        server.owner = self
        self.serve(server)

    @property
    def paid(self) -> list[str]:
        """The prompt of every request in a batch, in the order of arrival."""
        return [
            self.ask(batch, number).user
            for batch in self.batches
            for number in range(len(batch.requests))
        ]

    @property
    def environ(self) -> dict[str, str]:
        """The variables that point all formats here."""
        found: dict[str, str] = {}
        self.set_environment(found)
        return found

    def set_environment(self, environ: Any) -> None:
        """Point all formats here: a dictionary, or pytest's monkeypatch."""
        put = getattr(environ, "setenv", None) or environ.__setitem__
        put("OPENAI_BASE_URL", f"{self.root}/v1")
        put("ANTHROPIC_BASE_URL", self.root)
        put("AZURE_OPENAI_ENDPOINT", self.root)
        for name in ("OPENAI", "ANTHROPIC", "AZURE_OPENAI"):
            put(f"{name}_API_KEY", "not-a-real-key")

    def ask(self, batch: TakenBatch, number: int) -> Asked:
        """Return one request of a batch as a reply function sees it."""
        request = batch.requests[number]
        body = request["params" if batch.wire == "anthropic" else "body"]
        system, user = read_messages(batch.wire, body)
        return Asked(number, batch.wire, "", {}, body, system, user)

    def take(self, wire: str, requests: list[dict[str, Any]], **more: Any) -> TakenBatch:
        """Take a batch: from here on it would be paid for."""
        ids = [request["custom_id"] for request in requests]
        assert len(set(ids)) == len(ids), "a custom_id twice"
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in ids)
        number = len(self.batches) + 1
        batch = TakenBatch(
            f"batch_{number}", requests, wire, datetime.now(UTC), failed=self.refused, **more
        )
        self.batches.append(batch)
        return batch

    def is_over(self, batch: TakenBatch) -> bool:
        return batch.polls > self.polls

    def write_results(self, batch: TakenBatch, kind: str) -> bytes:
        """Return the lines of a file of results, in no order that a client could rely on."""
        lines = []
        for number, request in enumerate(batch.requests):
            asked = self.ask(batch, number)
            fate = self.fate(asked)
            write = _write_anthropic if batch.wire == "anthropic" else _write_openai
            where, line = write(request["custom_id"], asked, fate, self.reply)
            if where == kind:
                lines.append(json.dumps(line))
        random.Random(3).shuffle(lines)
        return "\n".join(lines).encode()


def _write_openai(name: str, asked: Asked, fate: str, reply: Reply) -> tuple[str, Any]:
    if fate in ("expired", "cancelled"):
        error = {"code": f"batch_{fate}", "message": f"This request could not be executed: {fate}"}
        return "error", {"custom_id": name, "response": None, "error": error}
    if fate.isdigit():
        body = {"error": {"message": f"injected {fate}", "code": None}}
        response = {"status_code": int(fate), "request_id": "r", "body": body}
        return "error", {"custom_id": name, "response": response, "error": None}
    if fate == "lost":
        return "", None
    body = json.loads(make_envelope(_with_fault(asked, fate), reply))
    response = {"status_code": 200, "request_id": "r", "body": body}
    return "output", {"custom_id": name, "response": response, "error": None}


def _write_anthropic(name: str, asked: Asked, fate: str, reply: Reply) -> tuple[str, Any]:
    if fate in ("expired", "cancelled"):
        told: dict[str, Any] = {"type": "expired" if fate == "expired" else "canceled"}
    elif fate.isdigit():
        reason = {"type": _ANTHROPIC_TYPES[fate], "message": f"injected {fate}"}
        told = {"type": "errored", "error": {"type": "error", "error": reason}}
    elif fate == "lost":
        return "", None
    else:
        message = json.loads(make_envelope(_with_fault(asked, fate), reply))
        told = {"type": "succeeded", "message": message}
    return "output", {"custom_id": name, "result": told}


def _with_fault(asked: Asked, fate: str) -> Asked:
    return asked if fate == "ok" else replace(asked, fault=fate)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: BatchServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that are killed are part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._serve("GET", b"")

    def do_POST(self) -> None:
        self._serve("POST", self.rfile.read(int(self.headers["content-length"])))

    def _serve(self, method: str, content: bytes) -> None:
        owner = self.server.owner
        parts = urlsplit(self.path)
        found = _ROUTE.fullmatch(parts.path)
        assert found, self.path
        kind = found["kind"]
        if kind in ("chat/completions", "messages"):
            self._answer_directly(kind, content)
            return
        with owner.lock:
            step = f"{method} /{kind}" + ("/…" if found["id"] else "")
            owner.seen.append(step)
            owner.headers.append({name.lower(): value for name, value in self.headers.items()})
            fault = ""
            if owner.script and owner.script[0].startswith(f"{step} "):
                fault = owner.script.pop(0).rpartition(" ")[2]
            if fault.isdigit():
                self._send(int(fault), {"error": {"message": f"injected {fault}"}})
                return
            answer = self._act(step, found, parse_qs(parts.query), content)
        if fault == "unheard":
            self.close_connection = True
            self.connection.close()
        elif isinstance(answer, bytes):
            self._send_bytes(200, answer)
        else:
            self._send(404 if answer is None else 200, answer or {"error": {"message": "unknown"}})

    def _act(self, step: str, found: re.Match[str], query: Any, content: bytes) -> Any:
        owner = self.server.owner
        name, part = found["id"], found["part"]
        if step == "POST /files":
            file = f"file-{len(owner.files) + 1}"
            owner.files[file] = _read_upload(self.headers["content-type"], content)
            return {"id": file, "object": "file", "status": "processed", "purpose": "batch"}
        if found["kind"] == "files":
            if part is None:
                return {"id": name, "status": "processed"} if name in owner.files else None
            batch, kind = name.split(".")
            return owner.write_results(self._find(batch), kind)
        if step == "POST /batches":
            return self._take_openai(json.loads(content))
        if step == "POST /messages/batches":
            return self._show(owner.take("anthropic", json.loads(content)["requests"]))
        if name is None:
            return self._list(query)
        batch = self._find(name)
        if batch is None or part is None:
            if batch is not None:
                batch.polls += 1
            return None if batch is None else self._show(batch)
        return owner.write_results(batch, "output")

    def _take_openai(self, wanted: dict[str, Any]) -> dict[str, Any]:
        owner = self.server.owner
        assert wanted["completion_window"] == "24h"
        lines = owner.files[wanted["input_file_id"]].decode().splitlines()
        requests = [json.loads(line) for line in lines]
        assert {request["url"] for request in requests} == {wanted["endpoint"]}
        assert {request["method"] for request in requests} == {"POST"}
        batch = owner.take(
            "openai", requests, input_file=wanted["input_file_id"], metadata=wanted["metadata"]
        )
        return self._show(batch)

    def _find(self, name: str) -> Any:
        return next((one for one in self.server.owner.batches if one.id == name), None)

    def _list(self, query: dict[str, list[str]]) -> dict[str, Any]:
        """Return one batch per page, the newest first."""
        owner = self.server.owner
        if owner.listed_after:
            owner.listed_after -= 1
            return {"data": [], "has_more": False}
        wire = "anthropic" if "messages" in self.path else "openai"
        known = [one for one in reversed(owner.batches) if one.wire == wire]
        [after] = query.get("after") or query.get("after_id") or [""]
        names = [one.id for one in known]
        rest = known[names.index(after) + 1 :] if after else known
        return {"data": [self._show(one) for one in rest[:1]], "has_more": len(rest) > 1}

    def _show(self, batch: TakenBatch) -> dict[str, Any]:
        owner = self.server.owner
        over, size = owner.is_over(batch), len(batch.requests)
        if batch.wire == "anthropic":
            counts = dict.fromkeys(("succeeded", "errored", "canceled", "expired"), 0)
            counts |= {"processing": 0 if over else size, "succeeded": size if over else 0}
            return {
                "id": batch.id,
                "type": "message_batch",
                "processing_status": "ended" if over else "in_progress",
                "request_counts": counts,
                "created_at": batch.created.isoformat().replace("+00:00", "Z"),
                "results_url": "https://elsewhere.example/results" if over else None,
            }
        fates = {owner.fate(owner.ask(batch, number)) for number in range(size)}
        ended = (
            "expired"
            if "expired" in fates
            else "cancelled"
            if "cancelled" in fates
            else "completed"
        )
        shown = {
            "id": batch.id,
            "object": "batch",
            "status": ended if over else "in_progress",
            "input_file_id": batch.input_file,
            "created_at": int(batch.created.timestamp()),
            "metadata": batch.metadata,
            "request_counts": {"total": size, "completed": size, "failed": 0} if over else None,
            "errors": None,
        }
        if over and batch.failed:
            return shown | {"status": "failed", "errors": {"data": [{"message": batch.failed}]}}
        if over:
            shown |= {"output_file_id": f"{batch.id}.output", "error_file_id": f"{batch.id}.error"}
        return shown

    def _answer_directly(self, kind: str, content: bytes) -> None:
        owner = self.server.owner
        wire = "anthropic" if kind == "messages" else "openai"
        body = json.loads(content)
        system, user = read_messages(wire, body)
        with owner.lock:
            asked = Asked(len(owner.direct), wire, self.path, {}, body, system, user)
            owner.direct.append(asked)
        self._send_bytes(200, make_envelope(_with_fault(asked, owner.fate(asked)), owner.reply))

    def _send(self, status: int, answer: Any) -> None:
        self._send_bytes(status, json.dumps(answer).encode())

    def _send_bytes(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if self.server.owner.retry_after is not None:
            self.send_header("Retry-After", self.server.owner.retry_after)
        self.end_headers()
        self.wfile.write(content)


def _read_upload(kind: str, content: bytes) -> bytes:
    """Return the file of a form, read as mail is: by somebody else's code."""
    form = BytesParser().parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + content)
    found: Any = form.get_payload()
    parts = {part.get_param("name", header="content-disposition"): part for part in found}
    assert parts["purpose"].get_payload() == "batch"
    file: bytes = parts["file"].get_payload(decode=True)
    return file
