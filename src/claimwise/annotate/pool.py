"""Connections to the store, lent to requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from claimwise.annotate.calls import Refusal
from claimwise.errors import ClaimwiseError, StoreBusyError, StoreError
from claimwise.store import Store

_SIZES = {"sqlite": 16, "postgresql": 20}


class StorePool:
    """Opens connections when they are needed, up to a number, and keeps them.

    A connection that failed is closed, and with it all that were opened before it: when a
    database was restarted, one request hears of it, and the rest get new connections.

    Args:
        open_store: opens one connection.
        size: how many there may be; by default, what suits the database.
    """

    def __init__(self, open_store: Callable[[], Store], *, size: int | None = None) -> None:
        self._open = open_store
        first = open_store()
        self.place = first.place
        self.size = size or _SIZES.get(first.engine_name, 1)
        self._idle = [(0, first)]
        self._age = 0
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(self.size)

    @contextmanager
    def borrow(self) -> Iterator[Store]:
        """Lend a connection to one thread, waiting for one when all are out."""
        with self._free:
            age, store = self._take()
            try:
                yield store
            except BaseException as error:
                if not _leaves_it_whole(error):
                    with self._lock:
                        self._age = max(self._age, age + 1)
                raise
            finally:
                self._give_back(age, store)

    def close(self) -> None:
        """Close the connections: those that are out, when they come back."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._age += 1
        for _, store in idle:
            store.close()

    def _take(self) -> tuple[int, Store]:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            age = self._age
        return age, self._open()

    def _give_back(self, age: int, store: Store) -> None:
        with self._lock:
            if age >= self._age:
                self._idle.append((age, store))
                return
            stale = [(a, s) for a, s in self._idle if a < self._age]
            self._idle = [(a, s) for a, s in self._idle if a >= self._age]
        for _, one in (*stale, (age, store)):
            _close_quietly(one)


def _leaves_it_whole(error: BaseException) -> bool:
    """Return whether a connection can be lent again after an error.

    A refusal is no fault of the connection. A lost one shows in many ways, its driver's own
    errors among them.
    """
    if isinstance(error, StoreError):
        return isinstance(error, StoreBusyError)
    return isinstance(error, Refusal | ClaimwiseError)


def _close_quietly(store: Store) -> None:
    """Close a connection that may be broken already."""
    with suppress(Exception):  # whatever its driver says, it is gone
        store.close()
