"""What the workers of a job share when a language model judges: its turns, its money, its replies.

One keeper counts for all of them: in the process that started the job, or as an actor of Ray on the
same node. Nothing waits inside it. A worker asks again and again, and says between whiles that it
lives; what a lost one held is given back, and its money counted as spent.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Client, Connection, Listener
from typing import Any, NamedTuple, Protocol

from claimwise.errors import NotAStoreError
from claimwise.llm.limits import Budget, ConcurrencyLimiter
from claimwise.store.replies import StoredReplies, open_replies
from claimwise.types.llm import LlmCall, LlmReply

_POLL_SECONDS = 0.02
_BEAT_SECONDS = 5.0
LOST_SECONDS = 60.0  # of silence, after which a worker is taken for lost


class KeeperLink(Protocol):
    """How a worker reaches the keeper; can be sent to other processes."""

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the keeper."""
        ...


@dataclass(slots=True)
class _Holding:
    """What a worker has under way."""

    heard: float
    inside: int = 0
    set_aside: list[float] = field(default_factory=list)


class SharedSettings(NamedTuple):
    """What a keeper keeps to."""

    concurrency: int  # calls under way at once, of all workers together
    max_cost: float | None  # US$ that all calls together may cost
    replies: str | None = None  # the store that keeps replies; where there is none: nowhere
    fresh: bool = False  # ignore replies that were kept before


class Keeper:
    """Counts calls and money for all workers, and keeps replies; safe in many threads.

    Args:
        settings: the limits.
        clock: tells the time in seconds.
    """

    def __init__(
        self, settings: SharedSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limiter = ConcurrencyLimiter(settings.concurrency)
        self._budget = Budget(settings.max_cost)
        self._cache = _open_cache(settings.replies, fresh=settings.fresh)
        self._clock = clock
        self._holdings: dict[str, _Holding] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the store of replies."""
        if self._cache is not None:
            self._cache.close()

    def beat(self, worker: str) -> None:
        """Take note that a worker lives."""
        with self._lock:
            self._find(worker)

    def enter(self, worker: str) -> float | None:
        """Return the time of entry; None: there is no place now."""
        with self._lock:
            holding = self._find(worker)
            self._drop_lost()
            entered = self._limiter.enter(wait=False)
            holding.inside += entered is not None
        return entered

    def leave(self, worker: str, entered: float, overloaded: bool, replied: bool) -> None:
        """Take a place back, unless the worker was taken for lost meanwhile."""
        with self._lock:
            holding = self._find(worker)
            if holding.inside:
                holding.inside -= 1
                self._limiter.leave(entered, overloaded=overloaded, replied=replied)

    def pause(self, worker: str, seconds: float) -> None:
        """Let nobody in for a while: the server said to a worker when to come back."""
        self._limiter.pause(seconds)

    def reserve(self, worker: str, worst: float) -> bool | None:
        """Set money aside; False: there is none. None: there may be when others are done."""
        with self._lock:
            holding = self._find(worker)
            self._drop_lost()
            if self._budget.reserve(worst, wait=False):
                holding.set_aside.append(worst)
                return True
            return None if self._budget.can_afford(worst) else False

    def settle(self, worker: str, worst: float, cost: float | None) -> None:
        """Replace what was set aside by the cost; that of one who was lost is counted already."""
        with self._lock:
            holding = self._find(worker)
            if worst in holding.set_aside:
                holding.set_aside.remove(worst)
                self._budget.settle(worst, cost)

    def read_spent(self) -> tuple[float, float]:
        """Return what replies have cost, and what requests without a bill may have."""
        return self._budget.billed, self._budget.unsure

    def get(self, key: str) -> LlmReply | None:
        """Return a reply that was kept."""
        return None if self._cache is None else self._cache.get(key)

    def put(self, key: str, call: LlmCall, reply: LlmReply) -> None:
        """Keep a reply."""
        if self._cache is not None:
            self._cache.put(key, call, reply)

    def drop(self, key: str) -> None:
        """Forget a reply."""
        if self._cache is not None:
            self._cache.drop(key)

    def _find(self, worker: str) -> _Holding:
        holding = self._holdings.setdefault(worker, _Holding(self._clock()))
        holding.heard = self._clock()
        return holding

    def _drop_lost(self) -> None:
        """Give back what silent workers held; what they set aside may have been billed."""
        last = self._clock() - LOST_SECONDS
        for worker in [name for name, one in self._holdings.items() if one.heard < last]:
            holding = self._holdings.pop(worker)
            for _ in range(holding.inside):
                self._limiter.leave(0.0, overloaded=False, replied=False)
            for worst in holding.set_aside:
                self._budget.settle(worst, None)


def _open_cache(place: str | None, *, fresh: bool) -> StoredReplies | None:
    try:
        return None if place is None else open_replies(place, fresh=fresh)
    except NotAStoreError:
        return None


@dataclass(frozen=True, slots=True)
class ProcessLink:
    """Reaches the keeper of another process of this machine, over a connection per thread."""

    address: str
    key: bytes = field(repr=False)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the keeper."""
        known: dict[str, Connection] = _connections.__dict__
        if self.address not in known:
            known[self.address] = Client(self.address, authkey=self.key)
        known[self.address].send((name, arguments))
        result, error = known[self.address].recv()
        if error is not None:
            raise error
        return result


_connections = threading.local()


@contextmanager
def serve_keeper(settings: SharedSettings) -> Iterator[ProcessLink]:
    """Let other processes of this machine, and of this user, reach a keeper in this one."""
    keeper, key = Keeper(settings), secrets.token_bytes(32)
    with Listener(authkey=key, backlog=64) as listener:
        threading.Thread(target=_accept, args=(listener, keeper), daemon=True).start()
        try:
            yield ProcessLink(str(listener.address), key)
        finally:
            keeper.close()


def _accept(listener: Listener, keeper: Keeper) -> None:
    while True:
        try:
            connection = listener.accept()
        except OSError:
            return  # closed
        except Exception:  # noqa: BLE001, S112 - whoever it was did not know the key
            continue
        threading.Thread(target=_answer, args=(connection, keeper), daemon=True).start()


def _answer(connection: Connection, keeper: Keeper) -> None:
    with connection, suppress(EOFError, OSError):
        while True:
            name, arguments = connection.recv()
            try:
                connection.send((getattr(keeper, name)(*arguments), None))
            except Exception as error:  # noqa: BLE001 - it belongs to whoever asked
                connection.send((None, error))


@dataclass(frozen=True, slots=True)
class ActorLink:
    """Reaches a keeper that is an actor of Ray."""

    actor: Any

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the keeper."""
        import ray

        return ray.get(getattr(self.actor, name).remote(*arguments))


class SharedLimits:
    """A worker's end: what a client needs to keep to limits that others share."""

    def __init__(self, link: KeeperLink) -> None:
        self._link = link
        self._worker = secrets.token_hex(8)
        self._stopped = threading.Event()
        self.limiter = SharedLimiter(self._call, self._stopped)
        self.budget = SharedBudget(self._call, self._stopped)
        self.cache = SharedReplies(link)
        threading.Thread(target=self._beat, daemon=True).start()

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._link.call(name, self._worker, *arguments)

    def _beat(self) -> None:
        while not self._stopped.wait(_BEAT_SECONDS):
            try:
                self._call("beat")
            except Exception:  # noqa: BLE001 - the keeper is gone, and with it the job
                return


_Call = Callable[..., Any]


class SharedLimiter:
    """Lets a worker's calls in when all workers together leave room."""

    limit = 0  # what the server takes is known to the keeper alone

    def __init__(self, call: _Call, stopped: threading.Event) -> None:
        self._call = call
        self._stopped = stopped

    def enter(self) -> float | None:
        """Wait for a place; None when the client was stopped."""
        while not self._stopped.is_set():
            entered: float | None = self._call("enter")
            if entered is not None:
                return entered
            self._stopped.wait(_POLL_SECONDS)
        return None

    def leave(self, entered: float, *, overloaded: bool, replied: bool) -> None:
        """Give a place back."""
        self._call("leave", entered, overloaded, replied)

    def pause(self, seconds: float) -> None:
        """Let no worker's call in for a while."""
        self._call("pause", seconds)

    def stop(self) -> None:
        """Send everybody who waits away."""
        self._stopped.set()


class SharedBudget:
    """Sets a worker's money aside out of what all of them have."""

    billed = 0.0  # the keeper has the bill of all
    unsure = 0.0

    def __init__(self, call: _Call, stopped: threading.Event) -> None:
        self._call = call
        self._stopped = stopped

    def reserve(self, worst: float, *, wait: bool = True) -> bool:
        """Set money aside; False: there is none."""
        while not self._stopped.is_set():
            given: bool | None = self._call("reserve", worst)
            if given is not None or not wait:
                return bool(given)
            self._stopped.wait(_POLL_SECONDS)
        return True  # stopped: the limiter says so

    def settle(self, worst: float, cost: float | None) -> None:
        """Replace what was set aside by the cost."""
        self._call("settle", worst, cost)

    def stop(self) -> None:
        """Let everybody who waits go."""
        self._stopped.set()


class SharedReplies:
    """Finds and keeps replies where the keeper keeps them."""

    def __init__(self, link: KeeperLink) -> None:
        self._link = link

    def get(self, key: str) -> LlmReply | None:
        """Return a reply that was kept."""
        kept: LlmReply | None = self._link.call("get", key)
        return kept

    def put(self, key: str, call: LlmCall, reply: LlmReply) -> None:
        """Keep a reply."""
        self._link.call("put", key, call, reply)

    def drop(self, key: str) -> None:
        """Forget a reply."""
        self._link.call("drop", key)
