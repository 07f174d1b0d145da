"""Decides how many calls may be under way, and how much of the money is spoken for."""

from __future__ import annotations

import threading
import time
from typing import Protocol

_START = 64  # calls at once before anything is known of the server; a lower limit holds at once
_GIVE = 1e-9  # of a US$: sums of floats


class CallLimiter(Protocol):
    """Lets calls in: as many as the server takes, for one client or for several together."""

    @property
    def limit(self) -> int:
        """How many calls may be under way now."""
        ...

    def enter(self) -> float | None:
        """Wait for a place; return the time of entry, or None when the client was stopped."""
        ...

    def leave(self, entered: float, *, overloaded: bool, replied: bool) -> None:
        """Give a place back, and say how the server did."""
        ...

    def pause(self, seconds: float) -> None:
        """Let nobody in for a while."""
        ...

    def stop(self) -> None:
        """Send everybody who waits away."""
        ...


class CostLimiter(Protocol):
    """Keeps cost below a ceiling, for one client or for several together."""

    @property
    def billed(self) -> float:
        """What replies have cost."""
        ...

    @property
    def unsure(self) -> float:
        """What requests without a bill may have cost."""
        ...

    def reserve(self, worst: float, *, wait: bool = True) -> bool:
        """Set money aside; False: there is none, or none yet and nobody is to ``wait``."""
        ...

    def settle(self, worst: float, cost: float | None) -> None:
        """Replace what was set aside by the cost; None: there may have been one."""
        ...

    def stop(self) -> None:
        """Let everybody who waits go."""
        ...


class ConcurrencyLimiter:
    """Adaptive concurrency: grows while replies come, halves when the server is overloaded.

    Until the first overload every reply adds a place, so that a large limit is reached within a
    few round trips; after it every full round of replies adds one. A burst of overloads counts
    once: only calls that began after the last halving can halve again.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._limit = float(min(_START, most))
        self._steep = True
        self._halved_at = float("-inf")
        self._open_at = float("-inf")
        self._inside = 0
        self._stopped = False
        self._changed = threading.Condition()

    @property
    def limit(self) -> int:
        """How many calls may be under way now."""
        return int(self._limit)

    def enter(self, *, wait: bool = True) -> float | None:
        """Wait for a place; return the time of entry, or None when the client was stopped.

        Without ``wait``, None also says that there is no place now.
        """
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                if now >= self._open_at and self._inside < self.limit:
                    self._inside += 1
                    return now
                if not wait:
                    return None
                self._changed.wait(self._open_at - now if now < self._open_at else None)
        return None

    def leave(self, entered: float, *, overloaded: bool, replied: bool) -> None:
        """Give a place back, and say how the server did."""
        with self._changed:
            self._inside -= 1
            if overloaded and entered > self._halved_at:
                self._halved_at = time.monotonic()
                self._limit = max(1.0, self._limit / 2)
                self._steep = False
            elif replied:
                grown = self._limit + (1.0 if self._steep else 1.0 / self._limit)
                self._limit = min(float(self.most), grown)
            self._changed.notify(2)  # one place was given back, one may be new

    def pause(self, seconds: float) -> None:
        """Let nobody in for a while: the server said when to come back."""
        with self._changed:
            self._open_at = max(self._open_at, time.monotonic() + seconds)

    def stop(self) -> None:
        """Send everybody who waits away, and everybody who comes."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


class Budget:
    """A ceiling for cost that holds whatever comes back.

    The worst case of a request is set aside before it is sent. Its bill replaces it; a request
    that ended without one (given up on, broken off) may have been billed, so what was set aside
    for it stays counted.
    """

    def __init__(self, ceiling: float | None) -> None:
        self._ceiling = float("inf") if ceiling is None else ceiling
        self.billed = 0.0
        self.unsure = 0.0
        self._set_aside = 0.0
        self._stopped = False
        self._changed = threading.Condition()

    def can_afford(self, worst: float) -> bool:
        """Tell whether there would be enough if nothing that is set aside were billed."""
        return worst <= self._ceiling - self.billed - self.unsure + _GIVE

    def reserve(self, worst: float, *, wait: bool = True) -> bool:
        """Set money aside; False: there is none.

        Calls under way may leave enough: they are waited for, unless ``wait`` is False.
        """
        with self._changed:
            while not self._stopped:
                if not self.can_afford(worst):
                    return False
                if self.can_afford(worst + self._set_aside):
                    self._set_aside += worst
                    return True
                if not wait:
                    return False
                self._changed.wait()
            self._set_aside += worst
        return True  # stopped: the gate says so

    def settle(self, worst: float, cost: float | None) -> None:
        """Replace what was set aside by the cost; None: there may have been one."""
        with self._changed:
            self._set_aside -= worst
            if cost is None:
                self.unsure += worst
            else:
                self.billed += cost
            self._changed.notify_all()

    def stop(self) -> None:
        """Let everybody who waits go."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
