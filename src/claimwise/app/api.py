"""What programs ask the server: to take in traces (OTLP), and to check answers.

A program shows a key in place of a login; nothing here reads a cookie, so no page of another site
can use somebody's. Spans are acknowledged once they are durable.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response as WebResponse
from starlette.routing import Route

from claimwise.accounts.api_keys import ApiKey, find_key, list_keys
from claimwise.app import requests
from claimwise.app.pool import StorePool
from claimwise.app.requests import Refusal
from claimwise.config import Project
from claimwise.errors import ClaimwiseError, StoreError
from claimwise.judges.judge import load_verifier
from claimwise.monitoring.prometheus import MEDIA_TYPE, write_metrics
from claimwise.online_check.checker import BadAnswerError, OnlineChecker, OverloadedError
from claimwise.online_check.limits import RateLimits
from claimwise.online_check.openapi import CHECK, TRACES, describe_api
from claimwise.online_check.values import CheckCall, CheckReply
from claimwise.traffic import otlp
from claimwise.traffic.assembly import Assembler
from claimwise.traffic.inbox import Inbox, InboxFullError
from claimwise.traffic.ingest import read_traffic_settings
from claimwise.traffic.judging import judge_traffic
from claimwise.traffic.otlp import OtlpError

CHECK_BYTES = 4 * 1024 * 1024
_BEARER = "bearer "
_MOST_AT_ONCE = 32  # requests of programs under way; beyond it, they are turned away
_READERS = 2  # threads that read spans: more would only take the processor from each other
_DURABLE_SECONDS = 30.0
_JSON = "application/json"
_RETRY_SECONDS = "2"


class Api:
    """Serves programs; use it as a context. Traces are assembled in the background meanwhile.

    Args:
        pool: lends stores.
        project: its settings.
        clock: the time in UTC, without a zone.
    """

    def __init__(self, pool: StorePool, project: Project, clock: Callable[[], datetime]) -> None:
        traffic, check = project.config.traffic, project.config.check
        settings = read_traffic_settings(project)
        self._pool = pool
        self._clock = clock
        self._redactor = settings.redactor
        self._check = check
        self._inbox = Inbox(pool.borrow, traffic.inbox_spans, clock)
        then = None if traffic.judge is None else _Judging(pool, traffic.judge)
        self._judging = then
        self._assembler = Assembler(
            pool.borrow, self._inbox, settings, traffic, clock, then.wake if then else None
        )
        self._checker = OnlineChecker(
            lambda: load_verifier(check.judge or "auto"),
            workers=check.workers,
            waiting=check.waiting,
        )
        self._limits = RateLimits()
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="claimwise-spans")
        # Apart from those, so that no check waits for somebody's spans.
        self._doorkeepers = ThreadPoolExecutor(_READERS, thread_name_prefix="claimwise-keys")
        self._under_way = 0

    def __enter__(self) -> Self:
        self._inbox.start()
        self._assembler.start()
        if self._judging:
            self._judging.start()
        threading.Thread(target=self._warm_up, name="claimwise-warm-up", daemon=True).start()
        return self

    def _warm_up(self) -> None:
        """Load the judge of checks before the first one, where a key may ask for them."""
        try:
            with self._pool.borrow() as store:
                wanted = any(key.allows("check") and not key.revoked_at for key in list_keys(store))
            if wanted:
                _ = self._checker.judge
        except ClaimwiseError as error:
            requests.log(f"error: the judge of checks can't be loaded: {error}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._assembler.close()
        self._inbox.close()
        if self._judging:
            self._judging.close()
        self._checker.close()
        self._readers.shutdown()
        self._doorkeepers.shutdown()

    def list_routes(self) -> list[Route]:
        """Return what programs can ask for."""
        return [
            Route(TRACES, self._guard(self._take_traces), methods=["POST"]),
            Route(CHECK, self._guard(self._check_answers), methods=["POST"]),
            Route("/metrics", self._guard(self._show_metrics), methods=["GET"]),
            Route("/v1/openapi.json", self._show_openapi, methods=["GET"]),
            Route("/v1", self._show_page, methods=["GET"]),
        ]

    # Who asks, and whether there is room.

    def _guard(
        self, answer: Callable[[Request], Awaitable[WebResponse]]
    ) -> Callable[[Request], Awaitable[WebResponse]]:
        """Return what answers a request whatever happens, unless too many are under way."""

        async def endpoint(request: Request) -> WebResponse:
            if self._under_way >= _MOST_AT_ONCE:
                return _refuse(request, 429, "Too many requests at once. Ask again in a moment.")
            self._under_way += 1
            try:
                return await answer(request)
            except Refusal as refusal:
                return _refuse(request, refusal.status, refusal.message, refusal.headers)
            except OtlpError as error:
                self._inbox.note(error.reason)
                return _refuse(request, error.status, str(error))
            except (InboxFullError, OverloadedError) as error:
                return _refuse(request, 429, str(error))
            except (StoreError, TimeoutError) as error:
                requests.log(f"error: {request.url.path}: {error}")
                return _refuse(request, 503, "The store can't be used right now; ask again later.")
            except ClientDisconnect:
                return WebResponse(status_code=400)
            except Exception as error:  # noqa: BLE001 - no fault may show its insides
                requests.log(f"error: {request.url.path}: {type(error).__name__}: {error}")
                return _refuse(request, 500, "This is a fault in claimwise; its log has a line.")
            finally:
                self._under_way -= 1

        return endpoint

    async def _admit(self, request: Request, scope: str) -> ApiKey:
        """Return the key of a request, before its body is read.

        Raises:
            Refusal: there is none, it does not hold, or it is for something else.
        """
        given = request.headers.get("authorization", "")
        token = given[len(_BEARER) :] if given.lower().startswith(_BEARER) else ""
        token = token.strip() or request.headers.get("x-api-key", "").strip()
        asked = {"www-authenticate": "Bearer"}
        if not token:
            told = "Send a key: authorization: Bearer KEY (`claimwise keys create` makes one)."
            raise Refusal(401, told, asked)

        def look() -> ApiKey | None:
            with self._pool.borrow() as store:
                return find_key(store, token, self._clock())

        key = await asyncio.get_running_loop().run_in_executor(self._doorkeepers, look)
        if key is None:
            raise Refusal(401, "This key does not exist, has expired or was revoked.", asked)
        if not key.allows(scope):
            raise Refusal(403, f"This key has no scope “{scope}”, only {key.scopes}.")
        return key

    # Figures.

    async def _show_metrics(self, request: Request) -> WebResponse:
        """Show the monitor's figures as Prometheus reads them."""
        await self._admit(request, "metrics")

        def write() -> str:
            with self._pool.borrow() as store:
                return write_metrics(store)

        text = await asyncio.get_running_loop().run_in_executor(self._readers, write)
        return WebResponse(text, media_type=MEDIA_TYPE)

    # Traces.

    async def _take_traces(self, request: Request) -> WebResponse:
        await self._admit(request, "traces")
        kind = request.headers.get("content-type", "")
        if self._inbox.is_full:
            raise InboxFullError("More spans are waiting than can be kept; send them again later.")
        body = await read_request_body(request, otlp.BODY_BYTES)
        encoding = request.headers.get("content-encoding")
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(self._readers, self._read_spans, body, encoding, kind)
        received = await reading
        if received.entries or received.rejected:
            done = self._inbox.submit(received.entries, received.rejected)
            await asyncio.wait_for(asyncio.wrap_future(done), _DURABLE_SECONDS)
        is_protobuf = kind.partition(";")[0].strip().lower() == otlp.PROTOBUF
        return WebResponse(
            otlp.write_response(kind, received.rejected),
            media_type=otlp.PROTOBUF if is_protobuf else _JSON,
        )

    def _read_spans(self, body: bytes, encoding: str | None, kind: str) -> otlp.Received:
        unpacked = otlp.unpack(body, encoding)
        return otlp.read_request(otlp.decode_request(unpacked, kind), self._redactor)

    # Checks.

    async def _check_answers(self, request: Request) -> WebResponse:
        key = await self._admit(request, "check")
        body = await read_request_body(request, CHECK_BYTES)
        call = read_call(body)
        per_minute = key.requests_per_minute or self._check.requests_per_minute
        wait = self._limits.take(key.key_id, per_minute, len(call.answers))
        if wait:
            told = f"This key may check {per_minute:,} answers per minute. Ask again in {wait} s."
            raise Refusal(429, told, {"retry-after": str(wait)})
        deadline = (call.deadline_ms or self._check.deadline_ms) / 1000
        try:
            results = await self._checker.check(call.answers, deadline)
        except BadAnswerError as error:
            raise Refusal(400, str(error)) from error
        reply = CheckReply(judge=self._checker.labeler, results=tuple(results))
        return WebResponse(msgspec.json.encode(reply), media_type=_JSON)

    # What there is.

    async def _show_openapi(self, request: Request) -> WebResponse:
        return WebResponse(msgspec.json.encode(describe_api()), media_type=_JSON)

    async def _show_page(self, request: Request) -> WebResponse:
        made = requests.render_page("api.html", None, api=describe_page())
        return WebResponse(made.body, media_type=made.media_type)


class _Judging:
    """Judges what came in, in a thread of its own, whenever there is something new."""

    def __init__(self, pool: StorePool, judge: str) -> None:
        self._pool = pool
        self._verifier = load_verifier(judge)
        self._new = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="claimwise-judge", daemon=True)

    def start(self) -> None:
        self._new.set()  # what the last server left
        self._thread.start()

    def wake(self) -> None:
        self._new.set()

    def close(self) -> None:
        self._closing = True
        self._new.set()

    def _work(self) -> None:
        while self._new.wait() and not self._closing:
            self._new.clear()
            try:
                with self._pool.borrow() as store:
                    judge_traffic(store, self._verifier)
            except Exception as error:  # noqa: BLE001 - the next answers are judged all the same
                requests.log(f"error: judging traffic: {type(error).__name__}: {error}")


async def read_request_body(request: Request, most: int) -> bytes:
    """Return a request's body.

    Raises:
        Refusal: it is longer than allowed; no more of it is read.
    """
    too_long = Refusal(413, f"This request is longer than {most // 1024} KB.")
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > most:
        raise too_long
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise too_long
    return bytes(body)


def read_call(body: bytes) -> CheckCall:
    """Return a request for checks: several answers, or one.

    Raises:
        Refusal: it is neither; says where it is wrong.
    """
    try:
        found = msgspec.json.decode(body)
        if isinstance(found, dict) and "answer" in found and "answers" not in found:
            deadline = found.pop("deadline_ms", None)
            found = {"answers": [found], "deadline_ms": deadline}
        return msgspec.convert(found, CheckCall)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        told = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refusal(400, f"This request can't be read: {told}.") from error


def describe_page() -> dict[str, Any]:
    """Return what the page shows of the interface."""
    found = describe_api()
    return {
        "info": found["info"],
        "paths": found["paths"],
        "schemas": found["components"]["schemas"],
    }


def _refuse(
    request: Request, status: int, message: str, headers: dict[str, str] | None = None
) -> WebResponse:
    """Answer with an error in the format that the sender expects."""
    more = dict(headers or {})
    if status in (429, 503):
        more.setdefault("retry-after", _RETRY_SECONDS)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.url.path == TRACES:
        binary = kind == otlp.PROTOBUF
        body = otlp.write_error(kind, message)
        return WebResponse(body, status, more, media_type=kind if binary else _JSON)
    return WebResponse(requests.encode_json({"error": message}), status, more, media_type=_JSON)
