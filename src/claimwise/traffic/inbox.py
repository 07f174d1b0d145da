"""Keeps spans until their trace is complete: what is acknowledged here survives a crash.

One thread writes, and one transaction holds all requests that wait at that moment, so that many
senders share each flush of the disk. Beyond a number of spans, requests are turned away.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from datetime import datetime
from time import monotonic
from typing import NamedTuple
from uuid import uuid4

from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.traffic.otlp import InboxEntry
from claimwise.traffic.values import NO_RULE, UNKNOWN_SYSTEM

_SQL = SqlFolder("claimwise.traffic")
_MOST_WAITING = 64  # requests
_LOOK_SECONDS, _LOOK_WHEN_FULL = 60.0, 1.0
_COLUMNS = ("entry_id", "trace_id", "received_at", "has_root", "spans", "payload")
TURN = "traffic"

Borrow = Callable[[], AbstractContextManager[Store]]


class InboxFullError(Exception):
    """There are more spans than can be taken in: the sender has to wait."""


class _Waiting(NamedTuple):
    entries: list[InboxEntry]
    done: Future[None]


class Inbox:
    """Takes spans in. Start it, and close it: what waits is written first.

    Args:
        borrow: lends a store.
        most_spans: how many spans may be kept that are no answers yet.
        clock: the time in UTC, without a zone.
    """

    def __init__(self, borrow: Borrow, most_spans: int, clock: Callable[[], datetime]) -> None:
        self._borrow = borrow
        self._most_spans = most_spans
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: deque[_Waiting] = deque()
        self._notes: Counter[str] = Counter()
        self._depth = 0
        self._looked_at = 0.0
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="claimwise-inbox")

    def start(self) -> None:
        """Begin to write."""
        with self._borrow() as store:
            self._read_depth(store)
        self._thread.start()

    def close(self) -> None:
        """Write what waits, and end."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def submit(self, entries: list[InboxEntry], rejected: Counter[str]) -> Future[None]:
        """Return what is done once the entries are durable.

        Raises:
            InboxFullError: too much waits already.
        """
        with self._changed:
            if self._closing or len(self._waiting) >= _MOST_WAITING or self.is_full:
                raise InboxFullError(
                    "More spans are waiting than can be kept; send them again later."
                )
            waiting = _Waiting(entries, Future())
            self._waiting.append(waiting)
            self._notes.update(rejected)
            self._changed.notify()
        return waiting.done

    @property
    def is_full(self) -> bool:
        """Whether as many spans wait as may."""
        return self._depth >= self._most_spans

    @property
    def has_notes(self) -> bool:
        """Whether something was counted that is not written yet."""
        return bool(self._notes)

    def note(self, reason: str) -> None:
        """Count a request that was refused as a whole; it is written with the next one."""
        with self._changed:
            self._notes[reason] += 1

    def write_notes(self, store: Store) -> None:
        """Write what was counted, in the transaction that is open."""
        with self._changed:
            notes, self._notes = self._notes, Counter()
        count_rejected(store, notes, self._clock())

    def forget(self, spans: int, store: Store) -> None:
        """Take note of spans that have left, and look from time to time how many there really are.

        To count them means to read them all, so it is done rarely, unless senders wait for it.
        """
        with self._changed:
            self._depth = max(0, self._depth - spans)
        pause = _LOOK_WHEN_FULL if self.is_full else _LOOK_SECONDS
        if monotonic() - self._looked_at >= pause:
            self._read_depth(store)

    def _read_depth(self, store: Store) -> None:
        self._looked_at = monotonic()
        self._depth = int(store.query(_SQL["inbox_depth"])[0][0])

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                batch = list(self._waiting)
                self._waiting.clear()
                if not batch:
                    return
            self._write(batch)

    def _write(self, batch: list[_Waiting]) -> None:
        now = self._clock()
        rows = [
            (uuid4().hex, one.trace_id, now, one.has_root, one.spans, one.payload)
            for waiting in batch
            for one in waiting.entries
        ]
        try:
            with self._borrow() as store:
                with store.write(TURN):
                    store.insert_rows("traffic_inbox", _COLUMNS, rows)
                    self.write_notes(store)
                store.shed_memory()
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            for waiting in batch:
                waiting.done.set_exception(error)
            return
        with self._changed:
            self._depth += sum(entry.spans for one in batch for entry in one.entries)
        for waiting in batch:
            waiting.done.set_result(None)


def count_rejected(store: Store, reasons: Counter[str], now: datetime) -> None:
    """Count spans that are no part of an answer, in the transaction that is open."""
    for reason, number in reasons.items():
        count = {"day": now.date(), "system": UNKNOWN_SYSTEM, "rule": NO_RULE,
                 "outcome": "rejected", "reason": reason, "answers": number}  # fmt: skip
        store.execute(_SQL["count"], count)
