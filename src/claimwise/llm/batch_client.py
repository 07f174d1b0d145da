"""Asks a language model through the provider's batches: half the price, up to a day.

Judges ask for replies as ever. Here each thing is *replayed*: asked with the replies that the cache
has by now. What is missing is noted, and the judge goes on with a failure that is thrown away with
all that it makes of it. So one pass finds every request that can be made by now; they go off as
batches, the replies come into the cache, and the next pass finds the requests that hang on them: a
second step, or another try at what could not be read. When nothing is missing, everything is
replayed once more, and counts.

A request that follows a missing one in the same thing is noted only if it has the same prompt:
another prompt is a later step, whose text would come from replies that are not there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from claimwise.errors import BatchesWaitingError, LlmError
from claimwise.llm.batch_api import BatchApi, BatchResult, BatchStatus
from claimwise.llm.batch_exchange import BatchExchange
from claimwise.llm.batch_files import BatchFolder, BatchRecord, make_name
from claimwise.llm.batch_outbox import Outbox
from claimwise.llm.batch_web import BatchWeb
from claimwise.llm.client import LlmClient
from claimwise.llm.outcomes import RequestOutcome, make_failure, read_response
from claimwise.llm.pricing import FREE, cost_tokens
from claimwise.llm.providers import Endpoint, list_batching
from claimwise.llm.replays import Replay, ReplyMemory
from claimwise.llm.wire import Reading, adapt_features
from claimwise.types.llm import BulkReplyCache, ListAsks, LlmCall, LlmFailure, LlmReply, Price
from claimwise.types.progress import JudgeProgress, Watch

T = TypeVar("T")

_KEPT_AT_ONCE = 500  # replies in one transaction
_SHOWN = 3
_COME_BACK = "run the same command again to pick up the results"
_MISSING = LlmFailure(code="cancelled", detail="the reply waits in a batch", attempts=0)


class BatchClient(LlmClient):
    """A client whose requests go off as batches; for one thread.

    Args:
        model: as for :class:`LlmClient`, like all that follows the others.
        endpoint: of a provider that takes batches.
        folder: where is remembered what was sent.
        wait: whether to wait for batches that are under way.
        tell: called with a line for people before and after batches are sent.
        sleep: waits so many seconds; by default until Ctrl-C as well.

    Raises:
        LlmError: the provider does not take batches, or there is no cache for the replies.
    """

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        *,
        folder: Path,
        wait: bool = True,
        tell: Callable[[str], None] = lambda line: None,
        sleep: Callable[[float], None] | None = None,
        cache: BulkReplyCache | None = None,
        price: Price | None = None,
        **options: Any,
    ) -> None:
        api = _require_batches(endpoint)
        if cache is None:
            raise LlmError("--batch-api needs a store to keep replies in; nothing was sent")
        share = None if price is None else _scale_price(price, api.price_share)
        super().__init__(model, endpoint, cache=cache, price=share, **options)
        self.direct_price = price
        self.under_way: list[BatchStatus] = []  # batches that nobody waits for
        self._api: BatchApi = api
        self._wait = wait
        self._tell = tell
        web = BatchWeb(
            self._http,
            self._deadlines,
            self._timeout,
            make_url=endpoint.make_batch_url,
            hide_key=endpoint.hide_key,
        )
        self._exchange = BatchExchange(
            api,
            web,
            BatchFolder(folder),
            provider=endpoint.provider.name,
            sleep=sleep or self._rest_until_stopped,
            tell=tell,
        )
        self._memory = ReplyMemory(cache)
        self._outbox = Outbox()
        self._replay: Replay | None = None
        self._tried = {self._features}
        self._reserved: dict[str, float] = {}  # US$ that were set aside, by the name of a batch
        self._report: Callable[[str], None] = lambda note: None

    def close(self) -> None:
        """Close the connections; what is under way stays remembered."""
        super().close()
        self._outbox.close()
        self._exchange.folder.close()

    # Asking

    def fetch(self, list_asks: ListAsks, total: int, watch: Watch | None = None) -> None:
        """Get all replies that asking needs: as many rounds of batches as it takes.

        Without waiting it ends when there is nothing left to send; see :meth:`check_complete`.

        Args:
            list_asks: yields what to ask about, without what is done.
            total: how many things there are.
            watch: called with the progress.

        Raises:
            LlmError: the provider refuses a batch, or can't be reached.
        """
        done: set[Hashable] = set()

        def report(note: str) -> None:
            if watch is not None:
                watch(JudgeProgress(total=total, done=min(len(done), total), note=note))

        self._report = report
        self._receive_ended()
        while True:
            self._outbox.clear()
            for name, ask in list_asks(done):
                if self._rehearse(ask):
                    done.add(name)
                report("collecting requests")
            if not self._outbox.requests or not self._send_and_receive():
                return

    def replay(self, ask: Callable[[], T]) -> T | None:
        """Return what asking comes to, now that the replies are there; None: some are missing."""
        outcome, replay = self._run(ask)
        if replay.stage is not None:
            return None
        for call, reply in replay.rejected:
            super().reject(call, reply)
        self._memory.use(replay)
        self._count(cached=replay.kept)
        with self._lock:
            self._failed.update(replay.failed)
        return outcome

    @property
    def waiting(self) -> bool:
        """Whether batches are under way that nobody waits for."""
        return bool(self.under_way)

    def check_complete(self) -> None:
        """Refuse to go on as if all were done while batches are under way.

        Raises:
            BatchesWaitingError: they are.
        """
        if self.under_way:
            raise BatchesWaitingError(f"{describe_waiting(self.under_way)}; {_COME_BACK}")

    def describe_left(self) -> str | None:
        """Say which batches are under way, and how to come back to them; None: there are none."""
        found = self._exchange.folder.list(self.model, self.destination.origin)
        sent = [record for record in found if record.sent_at is not None]
        if not sent:
            return None
        requests = sum(record.size for record in sent)
        word = "batch stays" if len(sent) == 1 else "batches stay"
        return f"{len(sent):,} {word} submitted ({requests:,} requests); {_COME_BACK}"

    def ask_whole(self, ask: Callable[[], T]) -> T:
        """Return what asking about one thing comes to, after as many batches as it takes.

        Raises:
            BatchesWaitingError: they are under way, and nobody waits for them.
        """
        self.fetch(lambda done: ((name, ask) for name in ("one",) if name not in done), total=1)
        self.check_complete()
        found = self.replay(ask)
        assert found is not None  # nothing is missing any more
        return found

    def _rehearse(self, ask: Callable[[], object]) -> bool:
        """Ask, note what is missing, and tell whether nothing is."""
        return self._run(ask)[1].stage is None

    def _run(self, ask: Callable[[], T]) -> tuple[T, Replay]:
        replay = self._replay = Replay()
        try:
            return ask(), replay
        finally:
            self._replay = None

    def ask(self, call: LlmCall) -> LlmReply | LlmFailure:
        """Return the reply if it is there, or a failure; outside of a replay, in a batch of one."""
        replay = self._replay
        if replay is None:
            return self.ask_whole(partial(self.ask, call))
        key = self.key_for(call)
        replay.asked[key] += 1
        found = self._memory.find(key, replay.asked[key])
        if found is None:
            self._note_missing(key, call, replay)
            return _MISSING
        replay.count(key, found)
        return found

    def reject(self, call: LlmCall, reply: LlmReply) -> None:
        """Note that a reply is of no use: it leaves the cache when all that it is part of is done.

        Until then it stays, so that a killed command does not pay for it again.
        """
        if self._replay is None:
            super().reject(call, reply)
            return
        key = self.key_for(call)
        self._memory.reject(key, self._replay.asked[key], reply)
        self._replay.rejected.append((call, reply))

    def _note_missing(self, key: str, call: LlmCall, replay: Replay) -> None:
        replay.stage = replay.stage or call.prompt
        if key not in self._outbox.requests and call.prompt == replay.stage:
            endpoint = self._endpoint
            body = endpoint.wire.build_body(call, endpoint.model, self._features)
            self._outbox.add(key, call, msgspec.json.encode(body))

    # Sending

    def _send_and_receive(self) -> bool:
        """Send what is missing and not under way, and take what comes.

        Returns:
            Whether to ask on: False where batches are under way that nobody waits for.
        """
        with self._exchange.folder.lock():
            under_way = self._exchange.list_under_way(self.model, self.destination.origin)
            for record in under_way:
                self._set_aside(record)
            for keys in self._choose_requests(under_way):
                under_way.append(self._send_batch(keys))
        self.under_way = []
        self._exchange.wait_for(
            under_way, self._receive, is_needed=self._is_needed, watch=self._watch
        )
        return not self.waiting

    def _receive_ended(self) -> None:
        """Take what has come of batches that an earlier command left, before anything is asked."""
        folder = self._exchange.folder
        if not folder.path.exists():
            return
        with folder.lock():
            under_way = self._exchange.list_under_way(self.model, self.destination.origin)
        for record in under_way:
            self._set_aside(record)
            status = self._exchange.poll(record)
            if status is not None and status.ended:
                self._receive(record, status)

    def _is_needed(self, record: BatchRecord) -> bool:
        return any(key in self._outbox.requests for key, _ in record.requests)

    def _watch(self, under_way: list[BatchStatus]) -> bool:
        """Say how batches stand; return whether to wait for them."""
        self._report(describe_waiting(under_way))
        self.under_way = [] if self._wait else under_way
        return self._wait

    def _rest_until_stopped(self, seconds: float) -> None:
        if self._stopped.wait(seconds):
            raise KeyboardInterrupt

    def _choose_requests(self, under_way: Iterable[BatchRecord]) -> list[list[str]]:
        """Return what to send, by batches: not under way, not kept meanwhile, within the budget.

        What does not fit the budget may do so when the bill for the rest is known. If there is
        nothing to wait for, it does not.
        """
        there = {key for record in under_way for key, _ in record.requests}
        wanted = self._outbox.requests
        missing = [key for key in wanted if key not in there and self._memory.is_missing(key)]
        sent = [key for key in missing if self._budget.reserve(self._cost([key]), wait=False)]
        if missing and not sent and len(missing) == len(wanted):
            for key in missing:
                told = f"it could cost US$ {self._cost([key]):.4f}, more than is left"
                self._memory.fail(key, LlmFailure(code="cost_ceiling", detail=told))
        parts = list(self._outbox.cut(sent, self._api.most_requests, self._api.most_bytes))
        if parts:
            self._tell(self._describe_sending(sent, len(parts)))
        return parts

    def _cost(self, keys: Iterable[str], price: Price | None = None) -> float:
        """Return what requests may cost at most."""
        return self._outbox.cost(keys, price or self.price or FREE, self._scale)

    def _describe_sending(self, keys: list[str], parts: int) -> str:
        batches = "one batch" if parts == 1 else f"{parts:,} batches"
        told = f"sending {len(keys):,} requests to {self.destination.origin} in {batches}"
        if self.direct_price is None:
            return f"{told}; cost unknown (--price IN,OUT)"
        batch, direct = self._cost(keys), self._cost(keys, self.direct_price)
        return f"{told}: at most US$ {batch:,.4f} (one by one: US$ {direct:,.4f})"

    def _send_batch(self, keys: list[str]) -> BatchRecord:
        given, back = self._outbox.count_tokens(keys)
        record = BatchRecord(
            name=make_name(),
            model=self.model,
            origin=self.destination.origin,
            requests=[(key, self._outbox.requests[key].prompt) for key in keys],
            features=self._features,
            input_tokens=given,
            output_tokens=back,
        )
        self._reserved[record.name] = self._cost(keys)
        lines = (
            self._api.write_request(record.make_id(number), self._outbox.read_body(key))
            for number, key in enumerate(keys)
        )
        self._exchange.send(record, b"".join(line + b"\n" for line in lines))
        self._count(sent=record.size)
        return record

    def _set_aside(self, record: BatchRecord) -> None:
        """Count what an earlier command sent: its bill comes now."""
        if record.name not in self._reserved:
            worst = cost_tokens(self.price or FREE, record.input_tokens, record.output_tokens)
            self._reserved[record.name] = worst if self._budget.reserve(worst, wait=False) else 0.0

    # Receiving

    def _receive(self, record: BatchRecord, status: BatchStatus) -> None:
        """Keep what a batch brought: replies in the cache, failures for this command."""
        read: dict[int, RequestOutcome] = {}
        replies: list[tuple[str, LlmCall, LlmReply]] = []

        def take(number: int, result: BatchResult) -> None:
            outcome = read[number] = self._hide_key(_read_result(self._endpoint, result))
            if outcome.reading.code is None:
                replies.append(self._make_reply(*record.requests[number], outcome.reading))
                # The texts of all replies need not be held at once.
                short = msgspec.structs.replace(outcome.reading, text="")
                read[number] = msgspec.structs.replace(outcome, reading=short)
            if len(replies) >= _KEPT_AT_ONCE:
                self._memory.keep(replies)
                replies.clear()

        found = self._exchange.read_results(record, status, take)
        self._memory.keep(replies)
        if not found and not record.certain:
            record.not_ours.append(record.batch_id)
            record.batch_id = ""
            self._exchange.folder.write(record)
            return
        self._settle_bill(record, read.values())
        for number, (key, _) in enumerate(record.requests):
            outcome = read.get(number) or make_failure(status.missing, status.why)
            if outcome.reading.code is not None and not self._adapt(record, outcome):
                self._memory.fail(key, _make_failure(outcome))
        self._exchange.folder.remove(record)

    def _make_reply(self, key: str, prompt: str, reading: Reading) -> tuple[str, LlmCall, LlmReply]:
        # The text of the call is in the key; the cache keeps its model and prompt.
        call = LlmCall(model=self.model, prompt=prompt, system="", user="")
        reply = LlmReply(text=reading.text, served_by=reading.served_by, usage=reading.usage)
        return key, call, reply

    def _settle_bill(self, record: BatchRecord, outcomes: Iterable[RequestOutcome]) -> None:
        """Count tokens and their cost; a reply without a count may have cost its share."""
        read = list(outcomes)
        replied = [outcome for outcome in read if outcome.reading.code is None]
        given = sum(outcome.reading.usage.input_tokens or 0 for outcome in read)
        back = sum(outcome.reading.usage.output_tokens or 0 for outcome in read)
        self._count(replied=len(replied), input_tokens=given, output_tokens=back)
        self._scale = max(self._scale, given / max(1, record.input_tokens))
        self._takes_schema |= bool(replied) and record.features.schema
        reserved = self._reserved.pop(record.name, 0.0)
        unsure = reserved * sum(outcome.unsure for outcome in read) / record.size
        self._budget.settle(unsure, None)
        self._budget.settle(reserved - unsure, cost_tokens(self.price or FREE, given, back))

    def _adapt(self, record: BatchRecord, outcome: RequestOutcome) -> bool:
        """Leave out what a server refuses; return whether the request goes off again without it."""
        if outcome.status not in (400, 422) or outcome.reading.code == "content_filter":
            return False
        has_schema = record.features.schema and not self._takes_schema
        adapted = adapt_features(record.features, outcome.reading.detail, has_schema=has_schema)
        if adapted is None or (adapted in self._tried and adapted != self._features):
            return False
        self._tried.add(adapted)
        self._features = adapted
        return True


def _make_failure(outcome: RequestOutcome) -> LlmFailure:
    reading = outcome.reading
    code = reading.code or "bad_reply"
    return LlmFailure(code=code, detail=reading.detail, usage=reading.usage)


def _read_result(endpoint: Endpoint, result: BatchResult) -> RequestOutcome:
    if result.content is None:
        return make_failure(result.code, result.detail)
    return read_response(endpoint.wire, result.status, {}, result.content)


def _require_batches(endpoint: Endpoint) -> BatchApi:
    if endpoint.batches is None:
        raise LlmError(
            f"{endpoint.provider.name} does not support batches; leave out --batch-api, or use a "
            f"provider that does: {', '.join(list_batching())}; nothing was sent"
        )
    return endpoint.batches


def _scale_price(price: Price, share: float) -> Price:
    return Price(input=price.input * share, output=price.output * share)


def describe_waiting(batches: Iterable[BatchStatus]) -> str:
    """Say which batches are under way, and how far they are."""
    listed = list(batches)
    shown = ", ".join(status.id for status in listed[:_SHOWN])
    more = f" and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    done, total = sum(one.done for one in listed), sum(one.total for one in listed)
    word = "batch" if len(listed) == 1 else "batches"
    return f"{word} {shown}{more}: {done:,} of {total:,} requests done"
