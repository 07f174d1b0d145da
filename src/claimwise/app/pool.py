"""Connections to the store, lent to requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from claimwise.app.requests import Refusal, log
from claimwise.errors import ClaimwiseError, StoreBusyError, StoreError, StoreReplacedError
from claimwise.store import Store

_SIZES = {"sqlite": 16, "postgresql": 20}


class StorePool:
    """Opens connections when they are needed, up to a number, and keeps them.

    A connection that failed is closed, and with it all that were opened before it: when a
    database was restarted, one request hears of it, and the rest get new connections. The same
    happens when the store's file was deleted or replaced. Then nothing is opened until the last
    connection to the old file is closed: SQLite's connections to two files of one name would
    share a log, and mix the two.

    Args:
        open_store: opens one connection.
        size: how many there may be; by default, what suits the database.
    """

    def __init__(self, open_store: Callable[[], Store], *, size: int | None = None) -> None:
        self._open = open_store
        first = open_store()
        self.place = first.place
        self.size = size or _SIZES.get(first.engine_name, 1)
        self._age = 0
        self._idle = [(0, first)]
        self._out: list[int] = []  # the ages of what is lent or being closed
        self._newest = first
        self._replaced = False  # the file has gone, and none was opened since
        self._closed = False
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(self.size)

    @contextmanager
    def borrow(self) -> Iterator[Store]:
        """Lend a connection to one thread, waiting for one when all are out.

        Raises:
            StoreError: the pool was closed.
        """
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
            self._age += 1
            self._closed = True
        self._close_stale()

    def _take(self) -> tuple[int, Store]:
        with self._lock:
            if self._closed:
                raise StoreError(f"{self.place}: the server has stopped")
            if not self._replaced and not self._newest.is_in_place():
                self._replaced = True
                self._age += 1
        self._close_stale()
        with self._lock:
            if self._replaced and any(age < self._age for age in self._out):
                raise StoreReplacedError(
                    f"{self.place}: the file was replaced; old requests are ending"
                )
            age, store = self._idle.pop() if self._idle else (self._age, None)
            self._out.append(age)
        if store is not None:
            return age, store
        try:
            return age, self._open_anew()
        except BaseException:
            with self._lock:
                self._out.remove(age)
            raise

    def _open_anew(self) -> Store:
        store = self._open()
        with self._lock:
            self._newest = store
            if self._replaced:
                self._replaced = False
                log(f"{self.place}: the file was deleted or replaced; the one there now is in use")
        return store

    def _give_back(self, age: int, store: Store) -> None:
        with self._lock:
            self._out.remove(age)
            self._idle.append((age, store))
        self._close_stale()

    def _close_stale(self) -> None:
        """Close the idle connections that are older than a fault; until then they count as out."""
        with self._lock:
            stale = [pair for pair in self._idle if pair[0] < self._age]
            self._idle = [pair for pair in self._idle if pair[0] >= self._age]
            self._out += [age for age, _ in stale]
        for age, store in stale:
            _close_quietly(store)
            with self._lock:
                self._out.remove(age)


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
