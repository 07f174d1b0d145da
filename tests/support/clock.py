"""A clock that a test moves, in the place of a module's ``time``."""

from __future__ import annotations

import threading


class FakeClock:
    """Stands still until it is moved on; counts how often someone has looked at it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.looks = 0
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        """Return the time, in seconds."""
        with self._lock:
            self.looks += 1
            return self.now

    def advance(self, seconds: float) -> None:
        """Move on."""
        with self._lock:
            self.now += seconds
