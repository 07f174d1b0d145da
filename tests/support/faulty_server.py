"""A real local HTTP server that speaks both wire formats and fails on demand.

    with FaultyServer(lambda asked: '{"word": "hi"}') as server:
        server.url                      # base URL in the OpenAI format: http://127.0.0.1:PORT/v1
        server.requests                 # every request: .body .headers .system .user .fault …
        server.count, server.peak       # requests so far; most of them under way at once

A reply function takes an :class:`Asked` and returns the model's text; wrong, missing or doubled
ids are its business. Faults are injected

- by share, seeded: ``FaultyServer(reply, faults={"malformed": .05, "500": .05, "hang": .01})``
- by script, in order of arrival: ``FaultyServer(reply, script=["429", "ok", "reset"])``; after
  its end the shares hold.

Faults, see ``FAULTS``: malformed and truncated texts, an unreadable envelope, HTTP errors (“429”
carries Retry-After), slow, dripping and hanging replies, and a connection that is reset.
``refuses={"schema", "temperature", "max_tokens"}`` answers 400 to requests with that parameter.

Nothing here need depend on how fast a machine is. ``server.admit(5)`` answers five requests in all
and holds the others until more are admitted. With ``clock=FakeClock()``, which the client is given
too, a hanging, dripping or slow reply moves that clock on, and then waits until the client has
looked at it.

A client for it needs no key: the model ``openai-compatible:any`` with ``CLAIMWISE_BASE_URL`` set
to ``server.url``; for the Anthropic format ``anthropic:any`` with ``ANTHROPIC_BASE_URL`` set to
``server.root`` and any ``ANTHROPIC_API_KEY``. :meth:`FaultyServer.set_environment` does both.
"""

from __future__ import annotations

import json
import random
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.clock import FakeClock
from support.local_server import LocalServer

FAULTS = frozenset(
    {
        "malformed",  # a whole reply whose text is no JSON
        "truncated",  # half of the text, and the model's limit as the reason
        "filtered",  # the provider withheld the reply
        "garbage",  # HTTP 200, but not the envelope
        "empty",  # an envelope without a reply
        "nousage",  # a good reply without counts of tokens
        "slow",  # a good reply after ``slow`` seconds
        "drip",  # a byte every ``drip`` seconds, from the first header on
        "hang",  # nothing, until the client goes
        "reset",  # the connection is reset half way
        "cut",  # the connection is closed before the promised length
        "400", "401", "404", "429", "500", "502", "503", "529",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """One request, as a reply function sees it."""

    number: int  # from 0, in order of arrival
    wire: str  # "openai" or "anthropic"
    path: str
    headers: dict[str, str]  # names in small letters
    body: dict[str, Any]
    system: str
    user: str
    fault: str | None = None


Reply = Callable[[Asked], str]


def echo(asked: Asked) -> str:
    """Reply with what ``ping@1`` asks for."""
    return json.dumps({"word": asked.user[-20:]})


@dataclass
class FaultyServer(LocalServer):
    """Serves from a thread; use it as a context."""

    reply: Reply = echo
    faults: Mapping[str, float] = field(default_factory=dict)
    script: Sequence[str] = ()
    seed: int = 0
    retry_after: str = "0.02"
    slow: float = 1.0
    drip: float = 0.05
    clock: FakeClock | None = None
    refuses: Iterable[str] = ()
    # What could have stood at each place of a reply, for who asks for it: (token, logarithm) pairs.
    odds: Callable[[Asked], Sequence[Mapping[str, float]]] | None = None

    def __post_init__(self) -> None:
        unknown = (set(self.faults) | set(self.script)) - FAULTS - {"ok"}
        assert not unknown, f"unknown faults: {unknown}"
        self.requests: list[Asked] = []
        self.peak = 0
        self.under_way = 0
        self.stopped = threading.Event()
        self._admitted = float("inf")
        self._more = threading.Condition()
        self._random = random.Random(self.seed)
        self._lock = threading.Lock()
        server = _Server(("127.0.0.1", 0), _Handler)
        server.faulty = self
        self.serve(server)

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.admit()
        super().__exit__()

    @property
    def url(self) -> str:
        """The base URL in the OpenAI format."""
        return f"{self.root}/v1"

    @property
    def count(self) -> int:
        """How many requests came so far."""
        return len(self.requests)

    def is_past(self, count: int) -> bool:
        """Return whether more requests came than that."""
        return self.count > count

    def set_environment(self, environ: Any) -> None:
        """Point both wire formats here: a dictionary, or pytest's monkeypatch."""
        put = getattr(environ, "setenv", None) or environ.__setitem__
        put("CLAIMWISE_BASE_URL", self.url)
        put("ANTHROPIC_BASE_URL", self.root)
        put("ANTHROPIC_API_KEY", "not-a-real-key")

    def admit(self, number: float = float("inf")) -> None:
        """Answer so many requests in all, by their order of arrival; later ones wait for more."""
        with self._more:
            self._admitted = number
            self._more.notify_all()

    def wait_admitted(self, number: int) -> None:
        """Hold a request until it may be answered."""
        with self._more:
            self._more.wait_for(lambda: number < self._admitted)

    def let_pass(self, seconds: float) -> bool:
        """Let time pass for the client; return whether the server was stopped meanwhile."""
        if self.clock is None:
            return self.stopped.wait(seconds)
        self.clock.advance(seconds)
        seen = self.clock.looks
        while self.clock.looks == seen:
            if self.stopped.wait(0.002):
                return True
        return False

    def begin(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Asked:
        """Record a request and decide what becomes of it."""
        wire = "anthropic" if path.endswith("/messages") else "openai"
        system, user = read_messages(wire, body)
        with self._lock:
            number = len(self.requests)
            fault = self._choose_fault(number)
            asked = Asked(number, wire, path, headers, body, system, user, fault)
            self.requests.append(asked)
            self.under_way += 1
            self.peak = max(self.peak, self.under_way)
        return asked

    def end(self) -> None:
        """A request is done with."""
        with self._lock:
            self.under_way -= 1

    def _choose_fault(self, number: int) -> str | None:
        drawn = self._random.random()  # always drawn: the script does not shift the shares
        if number < len(self.script):
            return None if self.script[number] == "ok" else self.script[number]
        for fault, share in self.faults.items():
            drawn -= share
            if drawn < 0:
                return fault
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    faulty: FaultyServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the game."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        server = self.server.faulty
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(self.rfile.read(int(headers["content-length"])))
        asked = server.begin(self.path, headers, body)
        try:
            self._answer(server, asked)
        finally:
            server.end()

    def _answer(self, server: FaultyServer, asked: Asked) -> None:
        server.wait_admitted(asked.number)
        refused = _find_refused(server, asked)
        if refused:
            self._send(400, _make_error(asked, f"Unsupported parameter: '{refused}'"))
        elif asked.fault and asked.fault.isdigit():
            status = int(asked.fault)
            more = {"Retry-After": server.retry_after} if status == 429 else {}
            self._send(status, _make_error(asked, f"injected {status}"), more)
        elif asked.fault in ("hang", "reset", "cut", "drip"):
            self._break(server, asked)
        else:
            if asked.fault == "slow":
                for _ in range(3):  # the client waits for one read longer than one look lasts
                    server.let_pass(server.slow / 3)
            self._send(200, make_envelope(asked, server.reply, server.odds))

    def _send(self, status: int, content: bytes, more: Mapping[str, str] = {}) -> None:
        self.wfile.write(_make_response(status, content, more))

    def _break(self, server: FaultyServer, asked: Asked) -> None:
        self.close_connection = True
        content = make_envelope(asked, server.reply)
        if asked.fault == "hang":
            server.let_pass(3600)
            server.stopped.wait()
        elif asked.fault == "drip":
            for byte in _make_response(200, content, {}):
                self.wfile.write(bytes([byte]))
                if server.let_pass(server.drip):
                    return
        elif asked.fault == "cut":
            self.wfile.write(_make_response(200, content, {})[:-10])
        else:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
            # Linger 0: closing sends RST, not FIN.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()


def _make_response(status: int, content: bytes, more: Mapping[str, str]) -> bytes:
    """One piece, so that no write waits for an acknowledgement."""
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(content)}", *(f"{name}: {more[name]}" for name in more)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + content


def read_messages(wire: str, body: dict[str, Any]) -> tuple[str, str]:
    """Return the system and the user text of a request."""
    said = {message["role"]: message["content"] for message in body.get("messages", [])}
    system = body.get("system", "") if wire == "anthropic" else said.get("system", "")
    return system, said.get("user", "")


def _find_refused(server: FaultyServer, asked: Asked) -> str | None:
    names = {
        "schema": ("response_format", "output_config"),
        "temperature": ("temperature",),
        "max_tokens": ("max_tokens",),
        "max_completion_tokens": ("max_completion_tokens",),
        "logprobs": ("logprobs",),
    }
    sent = (name for what in server.refuses for name in names[what] if name in asked.body)
    return next(sent, None)


def _make_error(asked: Asked, message: str) -> bytes:
    error = {"type": "invalid_request_error", "message": message}
    envelope = {"type": "error", "error": error} if asked.wire == "anthropic" else {"error": error}
    return json.dumps(envelope).encode()


def make_envelope(asked: Asked, reply: Reply, odds: Any = None) -> bytes:
    """Return a reply as its wire format has it."""
    if asked.fault == "garbage":
        return b"<html>Bad gateway, but 200"
    text = reply(asked)
    if asked.fault == "malformed":
        text = text[: max(1, len(text) // 2)] + " … and so on"
    if asked.fault == "truncated":
        text = text[: len(text) // 2]
    make = _make_anthropic if asked.wire == "anthropic" else _make_openai
    envelope = make(asked, text)
    if odds is not None and asked.body.get("logprobs"):
        envelope["choices"][0]["logprobs"] = {"content": [*map(_show_odds, odds(asked))]}
    return json.dumps(envelope).encode()


def _show_odds(place: Mapping[str, float]) -> dict[str, Any]:
    listed = [{"token": token, "logprob": logarithm} for token, logarithm in place.items()]
    return {**listed[0], "top_logprobs": listed}


def _make_openai(asked: Asked, text: str) -> dict[str, Any]:
    reason = {"truncated": "length", "filtered": "content_filter"}.get(asked.fault or "", "stop")
    message = {"role": "assistant", "content": None if asked.fault == "filtered" else text}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {
        "prompt_tokens": (len(asked.system) + len(asked.user)) // 4,
        "completion_tokens": len(text) // 4 + 1,
    }
    return {
        "id": f"r{asked.number}",
        "model": str(asked.body.get("model", "deployment")) + "-2026-01-01",
        "choices": [] if asked.fault == "empty" else [choice],
        **({} if asked.fault == "nousage" else {"usage": usage}),
    }


def _make_anthropic(asked: Asked, text: str) -> dict[str, Any]:
    reason = {"truncated": "max_tokens", "filtered": "refusal"}.get(asked.fault or "", "end_turn")
    usage = {
        "input_tokens": (len(asked.system) + len(asked.user)) // 4,
        "output_tokens": len(text) // 4 + 1,
    }
    return {
        "id": f"m{asked.number}",
        "type": "message",
        "model": asked.body["model"] + "-20260101",
        "content": [] if asked.fault == "empty" else [{"type": "text", "text": text}],
        "stop_reason": reason,
        **({} if asked.fault == "nousage" else {"usage": usage}),
    }
