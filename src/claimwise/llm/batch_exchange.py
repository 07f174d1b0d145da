"""Sends batches, finds again those whose answer nobody heard, waits for them, reads results.

Only one step costs money: :meth:`BatchApi.submit`. A record says *before* it that it is being
taken, and after it which batch came of it. A command that is killed between the two leaves a record
with a time and without an id; the next one asks the provider for it before it sends anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import msgspec

from claimwise.errors import LlmError
from claimwise.llm.batch_api import BatchApi, BatchResult, BatchStatus
from claimwise.llm.batch_files import BatchFolder, BatchRecord
from claimwise.llm.batch_web import BatchHttpError, BatchWeb

T = TypeVar("T")

_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 5.0, 300.0, 1.5  # seconds between two looks at a batch
_LONGEST_WAIT = 3600.0  # a server that asks for more is looked at sooner
_RETRIES, _POLL_RETRIES = 6, 40  # in a row; a day's wait outlives some hours without a network
_SETTLED_SECONDS = 120.0  # after so long, a batch that a provider does not list was never taken
_LONGEST_SUBMIT = 3600.0  # seconds that the largest batch may be on its way to the provider


class BatchExchange:
    """The batches of one model: ``sleep`` waits, ``tell`` is called with lines for people."""

    def __init__(
        self,
        api: BatchApi,
        web: BatchWeb,
        folder: BatchFolder,
        *,
        provider: str,
        sleep: Callable[[float], None],
        tell: Callable[[str], None],
    ) -> None:
        self.folder = folder
        self._api = api
        self._web = web
        self._provider = provider
        self._sleep = sleep
        self._tell = tell

    def list_under_way(self, model: str, origin: str) -> list[BatchRecord]:
        """Return the batches that the provider has, inside the folder's lock.

        What was never sent is forgotten. What may have been is looked for.

        Raises:
            LlmError: the provider can't be asked.
        """
        found = self.folder.list(model, origin)
        under_way = []
        for record in found:
            if record.batch_id or (record.sent_at and self._adopt(record, found)):
                under_way.append(record)
            else:
                self.folder.remove(record)
        return under_way

    def send(self, record: BatchRecord, lines: bytes) -> None:
        """Send a batch, inside the folder's lock.

        Raises:
            LlmError: the provider refuses it, or can't be reached; it was not taken.
        """
        self.folder.write(record)
        record.upload = self._insist(partial(self._api.upload, self._web, record.name, lines))
        while not self._insist(partial(self._api.is_ready, self._web, record.upload)):
            self._sleep(_FIRST_PAUSE)
        for _ in range(_RETRIES):
            if self._submit(record, lines):
                self._tell(f"batch {record.batch_id}: {record.size:,} requests")
                return
        self.folder.remove(record)
        raise LlmError(
            f"{self._provider} did not accept a batch after {_RETRIES} tries; try again later"
        )

    def _submit(self, record: BatchRecord, lines: bytes) -> bool:
        """Do what is paid for, once; False: it was surely not taken, and may be another time."""
        record.sent_at = datetime.now(UTC)
        self.folder.write(record)
        try:
            record.batch_id = self._api.submit(self._web, record, lines).id
        except BatchHttpError as error:
            if error.unsure:
                return self._adopt(record, self.folder.list(record.model, record.origin))
            if not error.passing:
                self.folder.remove(record)
                raise LlmError(f"{self._provider} refused a batch: {error}") from error
            self._sleep(_FIRST_PAUSE if error.wait is None else error.wait)
            return False
        self.folder.write(record)
        return True

    def _adopt(self, record: BatchRecord, others: Iterable[BatchRecord]) -> bool:
        """Look for a batch that the provider may have taken, and write down which it is.

        What was taken a moment ago may not be listed yet. That it was not taken is sure when it
        was sent long ago, or is not listed for two minutes.
        """
        known = {*record.not_ours, *(other.batch_id for other in others)}
        sent_at = record.sent_at or datetime.now(UTC)
        is_old = (datetime.now(UTC) - sent_at).total_seconds() > _LONGEST_SUBMIT
        left = 0.0 if is_old else _SETTLED_SECONDS
        while True:
            listed = self._insist(partial(self._api.find, self._web, record))
            found = next((status for status in listed if status.id not in known), None)
            if found is not None:
                record.batch_id, record.certain = found.id, bool(record.upload)
                self.folder.write(record)
                self._tell(f"batch {found.id}: found again; the provider's answer had been lost")
                return True
            if left <= 0:
                return False
            self._sleep(min(_FIRST_PAUSE, left))
            left -= _FIRST_PAUSE

    def wait_for(
        self,
        records: Iterable[BatchRecord],
        take: Callable[[BatchRecord, BatchStatus], None],
        *,
        is_needed: Callable[[BatchRecord], bool],
        watch: Callable[[list[BatchStatus]], bool],
    ) -> None:
        """Hand batches that have ended to ``take``; wait until one has, if one is needed.

        Args:
            records: the batches.
            take: called with each that has ended.
            is_needed: whether a batch is worth waiting for.
            watch: called with those under way before each pause; False ends the waiting.

        Raises:
            LlmError: the provider does not know a batch that is needed, or can't be reached.
        """
        left, pause = list(records), _FIRST_PAUSE
        while True:
            under_way: dict[str, BatchStatus] = {}
            for record in left:
                status = self.poll(record)
                if status is None:
                    self._give_up(record, is_needed=is_needed(record))
                elif status.ended:
                    take(record, status)
                else:
                    # A batch that is being looked through may not know its size yet.
                    total = status.total or record.size
                    under_way[record.name] = msgspec.structs.replace(status, total=total)
            needed = [under_way[r.name] for r in left if r.name in under_way and is_needed(r)]
            if len(under_way) < len(left) or not needed or not watch(needed):
                return
            said = self._web.wait
            self._sleep(pause if said is None else min(_LONGEST_WAIT, said))
            pause = min(_LONGEST_PAUSE, pause * _GROWTH)

    def poll(self, record: BatchRecord) -> BatchStatus | None:
        """Ask how a batch stands; None: the provider does not know it.

        Raises:
            LlmError: the provider can't be asked.
        """
        try:
            return self._insist(partial(self._api.poll, self._web, record.batch_id), _POLL_RETRIES)
        except LlmError as error:
            if isinstance(error.__cause__, BatchHttpError) and error.__cause__.status == 404:
                return None
            raise

    def _give_up(self, record: BatchRecord, *, is_needed: bool) -> None:
        """Forget a batch that is gone, if nobody needs it."""
        if is_needed:
            raise LlmError(
                f"{self._provider} has no batch {record.batch_id} for this key; use the key that "
                f"submitted it, or delete {self.folder.find(record)} to ask again and pay again"
            )
        self.folder.remove(record)

    def read_results(
        self, record: BatchRecord, status: BatchStatus, take: Callable[[int, BatchResult], None]
    ) -> int:
        """Hand every result to ``take`` once, with its number; return how many there were.

        Raises:
            LlmError: they can't be read to their end.
        """
        seen: set[int] = set()

        def read() -> None:
            for result in self._api.read_results(self._web, status):
                number = record.find_number(result.custom_id)
                if number is not None and number not in seen:
                    take(number, result)
                    seen.add(number)

        self._insist(read, _POLL_RETRIES)
        return len(seen)

    def _insist(self, ask: Callable[[], T], most: int = _RETRIES) -> T:
        """Ask again while it may help, after pauses that double or as the server says."""
        pause = 1.0
        for attempt in range(1, most + 1):
            try:
                return ask()
            except BatchHttpError as error:
                if not error.passing or attempt == most:
                    raise LlmError(
                        f"{self._provider}: {error}; batches that were sent are remembered: run "
                        "the same command again to pick them up"
                    ) from error
                self._sleep(pause if error.wait is None else min(_LONGEST_WAIT, error.wait))
                pause = min(_LONGEST_PAUSE, 2 * pause)
        raise AssertionError("unreachable")
