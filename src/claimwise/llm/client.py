"""Asks a language model over HTTP: in turn, within time and money, again when it is worth it."""

from __future__ import annotations

import random
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from hashlib import sha256
from types import TracebackType
from typing import Self

import msgspec

from claimwise.config import LlmSection
from claimwise.errors import LlmError, make_printable
from claimwise.llm.limits import Budget, CallLimiter, ConcurrencyLimiter, CostLimiter
from claimwise.llm.outcomes import RequestOutcome, make_failure, read_response
from claimwise.llm.pricing import FREE, cost_tokens, estimate_tokens, find_price
from claimwise.llm.providers import Destination, Endpoint, find_endpoint
from claimwise.llm.token_odds import pack_reply
from claimwise.llm.wire import Features, adapt_features
from claimwise.types.llm import FailureCode, LlmCall, LlmFailure, LlmReply, Price, ReplyCache, Tally

_BACKOFF_SECONDS = 0.5  # the first pause is up to this long, every further one up to twice as long
_LONGEST_PAUSE = 30.0
_LONGEST_WAIT = 300.0  # a server that asks for more is not waited for
_LONGEST_TIMEOUT = 86_400.0  # a socket takes no more than some, and none takes “inf”
_GRACE_SECONDS = 3.0
_SHOWN = 300
_LONGEST_BODY = 16 << 20  # bytes, unpacked; far more than any limit of tokens allows
_OVERLOADED = frozenset({429, 503, 529})
_NO_SIGNAL = b"\0"  # signals are numbered from 1


def make_key(call: LlmCall, address: str = "") -> str:
    """Return the cache's key of a call: SHA-256 over every field, as canonical JSON.

    What a call does not need (a number where it is asked for the first time, fields of its own) is
    left out: replies that were kept before calls had these are found.

    Args:
        call: what is asked.
        address: where, unless it is the provider's own address: two servers of one's own may
            call different models by the same name.
    """
    fields = msgspec.structs.asdict(call)
    if call.repeat == 1:
        del fields["repeat"]
    if call.extra is None:
        del fields["extra"]
    return sha256(msgspec.json.encode((address, fields), order="sorted")).hexdigest()


class LlmClient:
    """An :class:`~claimwise.types.llm.Asker` for one model. Close it, or use it as a context.

    Every call ends: with a reply, or with a failure that says why there is none. Equal calls that
    are made at once are sent once.
    """

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        *,
        cache: ReplyCache | None = None,
        price: Price | None = None,
        max_cost: float | None = None,
        concurrency: int = LlmSection().concurrency,
        timeout: float = LlmSection().timeout,
        attempts: int = LlmSection().attempts,
        sending: bool = True,
        limiter: CallLimiter | None = None,
        budget: CostLimiter | None = None,
    ) -> None:
        from claimwise.llm.transport import Deadlines, open_http

        self.model = model
        self.price = price
        self.concurrency = concurrency
        self._endpoint = endpoint
        self._cache = cache
        self._timeout = min(_LONGEST_TIMEOUT, timeout)  # in this order “nan” is not the least
        self._attempts = attempts
        # Clients in several processes share these.
        self._gate: CallLimiter = limiter or ConcurrencyLimiter(concurrency)
        self._budget: CostLimiter = budget or Budget(max_cost)
        self._deadlines = Deadlines()
        self._http = open_http(
            endpoint.url, endpoint.make_headers(), self._deadlines, connections=concurrency
        )
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[LlmReply | LlmFailure]] = {}
        self._counts: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._features = endpoint.features
        self._takes_schema = False  # seen to work
        self._scale = 1.0  # by which tokens were underestimated so far, at most
        self._hopeless: LlmFailure | None = None
        if not sending:
            self.cancel(0.0)

    def __repr__(self) -> str:
        return f"LlmClient({self._endpoint!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop at once and close the connections."""
        self.cancel(0.0)
        self._http.close()

    def cancel(self, grace: float = _GRACE_SECONDS) -> None:
        """Send nothing more: waiting calls return ``cancelled`` now.

        Requests under way are paid for already: their replies are still taken, and kept in the
        cache, when they come within ``grace`` seconds.
        """
        self._deadlines.stop(grace)
        self._stopped.set()
        self._gate.stop()
        self._budget.stop()

    @property
    def destination(self) -> Destination:
        """Where calls go."""
        return self._endpoint.destination

    @property
    def tally(self) -> Tally:
        """What was done so far."""
        with self._lock:
            counts = dict(self._counts)
            failed = dict(self._failed)
        known = self.price is not None
        return Tally(
            **counts,
            failed=failed,
            cost=self._budget.billed if known else None,
            unsure_cost=self._budget.unsure if known else None,
            concurrency=self._gate.limit,
            refused=self._features.refused,
        )

    def key_for(self, call: LlmCall) -> str:
        """Return the cache's key of a call."""
        return make_key(call, self._endpoint.address)

    def is_cached(self, call: LlmCall) -> bool:
        """Tell whether a call would be answered from the cache."""
        return self._cache is not None and self._cache.get(self.key_for(call)) is not None

    def reject(self, call: LlmCall, reply: LlmReply) -> None:
        """Forget a cached reply that turned out to be unusable."""
        if self._cache is None:
            return
        key = self.key_for(call)
        kept = self._cache.get(key)
        # Another thread may have put a better one there meanwhile.
        if kept is not None and kept.text == reply.text:
            self._cache.drop(key)

    def ask(self, call: LlmCall) -> LlmReply | LlmFailure:
        """Return the reply, from the cache if it is there; waits for its turn, tries again.

        Raises:
            ClaimwiseError: the cache can't be used; what was paid for could not be kept.
        """
        key = self.key_for(call)
        with self._lock:
            shared = self._under_way.get(key)
            if shared is None:
                mine = self._under_way[key] = Future()
        if shared is not None:
            return self._take_shared(shared.result())
        try:
            outcome = self._ask_once(key, call)
            mine.set_result(outcome)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._under_way[key]
        return outcome

    def _ask_once(self, key: str, call: LlmCall) -> LlmReply | LlmFailure:
        kept = None if self._cache is None else self._cache.get(key)
        if kept is not None:
            self._count(cached=1)
            return msgspec.structs.replace(kept, cached=True)
        reply = self._ask_model(call)
        if self._cache is not None and isinstance(reply, LlmReply):
            self._cache.put(key, call, reply)
        return reply

    def _take_shared(self, outcome: LlmReply | LlmFailure) -> LlmReply | LlmFailure:
        if isinstance(outcome, LlmReply):
            self._count(cached=1)
            return msgspec.structs.replace(outcome, cached=True)
        return self._fail(outcome)

    def _ask_model(self, call: LlmCall) -> LlmReply | LlmFailure:
        began = time.monotonic()
        for attempt in range(1, self._attempts + 1):
            if self._hopeless is not None:
                return self._fail(self._hopeless)
            outcome = self._request(call)
            reading = outcome.reading
            if reading.code is None:
                self._count(replied=1)
                return LlmReply(
                    text=pack_reply(call, reading),
                    served_by=reading.served_by,
                    usage=reading.usage,
                    seconds=time.monotonic() - began,
                    attempts=attempt,
                )
            failure = LlmFailure(
                code=reading.code, detail=reading.detail, attempts=attempt, usage=reading.usage
            )
            if not outcome.again or attempt == self._attempts or not self._rest(outcome, attempt):
                break
            self._count(retried=1)
        return self._fail(failure)

    def _request(self, call: LlmCall) -> RequestOutcome:
        """Send a call once, when its turn comes and there is money for its worst case."""
        estimate = estimate_tokens(call)
        price = self.price or FREE
        worst = cost_tokens(price, estimate * self._scale, call.max_tokens)
        if not self._budget.reserve(worst):
            told = f"it could cost US$ {worst:.4f}, more than is left"
            return make_failure("cost_ceiling", told)
        entered = self._gate.enter()
        if entered is None:
            self._budget.settle(worst, 0.0)
            return make_failure("cancelled", "the command was stopped")
        outcome = None
        try:
            outcome = self._send_adapted(call)
        finally:
            self._settle(worst, outcome)
            self._gate.leave(
                entered,
                overloaded=outcome is not None and outcome.status in _OVERLOADED,
                replied=outcome is not None and outcome.reading.code is None,
            )
        self._learn(outcome, estimate)
        return outcome

    def _settle(self, worst: float, outcome: RequestOutcome | None) -> None:
        if outcome is None or outcome.unsure:
            self._budget.settle(worst, None)
            return
        usage = outcome.reading.usage
        price = self.price or FREE
        cost = cost_tokens(price, usage.input_tokens or 0, usage.output_tokens or 0)
        self._budget.settle(worst, cost)

    def _learn(self, outcome: RequestOutcome, estimate: int) -> None:
        """Count tokens; estimate more of them when there were more than thought."""
        usage = outcome.reading.usage
        counted = usage.input_tokens or 0
        self._count(input_tokens=counted, output_tokens=usage.output_tokens or 0)
        self._scale = max(self._scale, counted / estimate)
        if outcome.for_good:
            self._hopeless = LlmFailure(
                code=outcome.reading.code or "refused_request",
                detail=f"{outcome.reading.detail} (said to an earlier call; this one was not sent)",
                attempts=0,
            )

    def _send_adapted(self, call: LlmCall) -> RequestOutcome:
        """Send a call; what the server refuses is left out, and remembered once that worked."""
        features = self._features
        tried = {features}
        while True:
            outcome = self._send(call, features)
            if outcome.reading.code is None:
                self._takes_schema |= call.schema is not None and features.schema
                if len(tried) > 1:
                    self._features = features
            if outcome.status not in (400, 422) or outcome.reading.code == "content_filter":
                return outcome
            has_schema = call.schema is not None and not self._takes_schema
            adapted = adapt_features(features, outcome.reading.detail, has_schema=has_schema)
            if adapted is None or adapted in tried or self._stopped.is_set():
                return outcome
            self._count(retried=1)
            tried.add(adapted)
            features = adapted

    def _send(self, call: LlmCall, features: Features) -> RequestOutcome:
        endpoint = self._endpoint
        content = msgspec.json.encode(endpoint.wire.build_body(call, endpoint.model, features))
        self._count(sent=1)
        outcome = self._post(content)
        if self._stopped.is_set() and outcome.status == 0:
            told = "the command was stopped while the call was under way"
            outcome = make_failure("cancelled", told, sent=outcome.unsure)
        return self._hide_key(outcome)

    def _hide_key(self, outcome: RequestOutcome) -> RequestOutcome:
        """Return an outcome in which no server can show the key again."""
        reading, endpoint = outcome.reading, self._endpoint
        told = reading.detail[: 10 * _SHOWN]
        clean = msgspec.structs.replace(
            reading,
            detail=make_printable(endpoint.hide_key(told))[:_SHOWN],
            # Kept in the cache: a server that repeats its headers must not put a key there.
            text=endpoint.drop_key(reading.text),
            served_by=endpoint.drop_key(reading.served_by),
        )
        return msgspec.structs.replace(outcome, reading=clean)

    def _post(self, content: bytes) -> RequestOutcome:
        import httpcore2

        from claimwise.llm.transport import FAILED

        self._deadlines.start(self._timeout)
        try:
            reply = self._http.post_content(content, longest=_LONGEST_BODY)
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
            code: FailureCode = (
                "timeout" if isinstance(error, httpcore2.TimeoutException) else "connection"
            )
            return make_failure(code, f"no connection: {error}", again=True)
        except httpcore2.TimeoutException:
            told = f"no whole reply within {self._timeout:g} s"
            return make_failure("timeout", told, again=True, sent=True)
        except FAILED as error:
            told = f"{type(error).__name__}: {error}"
            return make_failure("connection", told, again=True, sent=True)
        if reply.body is None:
            told = f"a reply of more than {_LONGEST_BODY >> 20} MiB"
            return make_failure("bad_reply", told, sent=True)
        return read_response(self._endpoint.wire, reply.status, reply.headers, reply.body)

    def _rest(self, outcome: RequestOutcome, attempt: int) -> bool:
        """Wait before the next attempt; False when the server asks for too long a wait.

        What the server asks for holds for all calls: others would only be refused as well.
        Otherwise a random part of a pause that doubles each time, so that calls that failed
        together do not come back together.
        """
        if outcome.wait is not None:
            if outcome.wait > _LONGEST_WAIT:
                return False
            self._gate.pause(outcome.wait)
        longest = min(_LONGEST_PAUSE, _BACKOFF_SECONDS * 2 ** (attempt - 1))
        pause = random.uniform(0.0, longest)  # noqa: S311  # no secret in it
        self._stopped.wait((outcome.wait or 0.0) + pause)
        return True

    def _fail(self, failure: LlmFailure) -> LlmFailure:
        with self._lock:
            self._failed[failure.code] += 1
        return failure

    def _count(self, **more: int) -> None:
        with self._lock:
            for name, number in more.items():
                self._counts[name] += number


def open_client(
    model: str,
    *,
    section: LlmSection | None = None,
    cache: ReplyCache | None = None,
    price: Price | None = None,
    max_cost: float | None = None,
    concurrency: int | None = None,
    timeout: float | None = None,
    environ: Mapping[str, str] | None = None,
    allowed_hosts: Collection[str] = (),
    sending: bool = True,
    make: Callable[..., LlmClient] = LlmClient,
) -> LlmClient:
    """Return a client for ``provider:model``; nothing is sent yet.

    Args:
        model: the name as users write it.
        section: the project's ``[llm]``; what the other arguments leave out is taken from it.
        cache: where replies are kept; None: nowhere.
        price: US$ per million tokens.
        max_cost: US$ that all calls together may cost.
        concurrency: calls under way at once, at most.
        timeout: seconds for one request, from first to last byte.
        environ: the environment; the process's own by default.
        allowed_hosts: origins that the user allows ``section`` to send to, as
            ``https://models.example.com``.
        sending: False for a dry run: no key is needed, and every call returns ``cancelled``.
        make: makes the client; one that asks call by call by default.

    Raises:
        LlmError: unknown provider, missing key or address, a host that the user has not allowed,
            or a ceiling without a price.
    """
    settings = LlmSection() if section is None else section
    endpoint = find_endpoint(model, settings, environ, allowed_hosts=allowed_hosts, sending=sending)
    known = price or find_price(model, settings)
    if max_cost is not None and known is None:
        raise LlmError(
            f"--max-cost needs the price of {model}: give --price IN,OUT in US$ per million "
            f'tokens, or add [llm.prices."{model}"] to claimwise.toml; nothing was sent'
        )
    return make(
        model,
        endpoint,
        cache=cache,
        price=known,
        max_cost=max_cost,
        concurrency=concurrency or settings.concurrency,
        timeout=timeout or settings.timeout,
        attempts=settings.attempts,
        sending=sending,
    )


@contextmanager
def stop_on_interrupt(client: LlmClient) -> Iterator[None]:
    """While inside, Ctrl-C cancels the client's calls before it interrupts the main thread.

    Without it the main thread would wait for workers that wait for the server. Elsewhere than in
    the main thread nothing happens, since Python gives signals to that one alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT) or signal.SIG_DFL
    # The system may hand the signal to a worker. Python's own handler then waits until the main
    # thread wakes up, which it does not while it waits for workers that wait for the server; but
    # the number of the signal is written to this socket at once, whichever thread was hit.
    heard, written = socket.socketpair()
    written.setblocking(False)

    def obey() -> None:
        # In a thread of its own: the main one may hold the very locks that cancelling needs.
        while (number := heard.recv(1)) != _NO_SIGNAL:
            if number[0] == signal.SIGINT:
                client.cancel()

    waiting = threading.Thread(target=obey, daemon=True)
    waiting.start()
    wakeup = signal.set_wakeup_fd(written.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, before if callable(before) else signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(wakeup)
        written.send(_NO_SIGNAL)
        waiting.join()
        heard.close()
        written.close()
