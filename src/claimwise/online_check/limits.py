"""How often a key may ask: so many answers per minute, a minute's worth at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import ceil
from time import monotonic

_MINUTE = 60.0
_MOST_KEYS = 10_000


class RateLimits:
    """Counts what each key asks for.

    A key has a bucket that fills evenly over a minute; an answer takes one out.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}  # what is left, and since when

    def take(self, key_id: str, per_minute: int, count: int = 1) -> int:
        """Take a number of answers; return 0, or in how many seconds to ask again."""
        now = self._clock()
        with self._lock:
            left, since = self._buckets.get(key_id, (float(per_minute), now))
            left = min(float(per_minute), left + (now - since) * per_minute / _MINUTE)
            # One request may take all there is: a batch larger than the limit goes through alone.
            wanted = min(count, per_minute)
            allowed = left >= wanted
            self._buckets[key_id] = (left - wanted if allowed else left, now)
            if len(self._buckets) > _MOST_KEYS:
                self._buckets.pop(next(iter(self._buckets)))
        return 0 if allowed else max(1, ceil((wanted - left) * _MINUTE / per_minute))
