"""Keeps measured figures for a while, so that a page need not wait for them to be measured anew.

A report on a million labels takes a minute, and a dashboard shows dozens of runs. So figures are
measured by one thread beside the requests, which wait for them a moment and then show what there
is: the figures, older ones with the time at which they were made, or that they are under way.

Before figures are used again the run's fingerprint is read; figures whose run has not changed
stay. A fingerprint costs time too, on a large run: it is read again only after twenty times as
long as reading it took. Figures older than ten minutes, and than a hundred times as long as making
them took, are made anew in any case, because a fingerprint does not see rows that were changed in
place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from time import monotonic
from typing import Any, Final, NamedTuple

from claimwise.annotate.calls import Borrow, Call
from claimwise.errors import ClaimwiseError
from claimwise.store import Store
from claimwise.store.runs import read_fingerprint

PATIENCE: Final = 1.0
_LEAST_PATIENCE: Final = 0.1
_OLDEST: Final = 600.0
_REST: Final = 20  # times as long as reading a fingerprint takes
_HOLD: Final = 100  # times as long as measuring takes
_MOST_KEPT: Final = 600


class Wanted(NamedTuple):
    """A figure that a page wants: its name, the run it is of, and how to measure it."""

    key: Hashable
    run_id: str
    measure: Callable[[Store], Any]


@dataclass(kw_only=True, slots=True)
class Kept:
    """A figure as it was measured, or the reason why it could not be."""

    value: Any
    problem: str | None
    made_at: datetime  # UTC, without zone
    fingerprint: tuple[Any, ...]
    made: float  # by the clock that never jumps
    checked: float
    check_seconds: float
    make_seconds: float

    def is_old(self) -> bool:
        """Return whether the figure has to be made anew, whatever its run looks like."""
        if self.problem is not None:  # a failure is never kept: the next one who asks tries again
            return True
        return monotonic() - self.made >= max(_OLDEST, _HOLD * self.make_seconds)

    def is_fresh(self) -> bool:
        """Return whether the figure may be shown without looking at its run again."""
        return monotonic() - self.checked < _REST * self.check_seconds and not self.is_old()


def read_figures(
    call: Call, wanted: Sequence[Wanted], *, spent: float = 0.0
) -> Mapping[Hashable, Kept]:
    """Return figures from those that all requests of a server share.

    A page that has spent seconds on something else waits for its figures so much the less.

    Without a server there is one connection, which two threads must not use at once: figures are
    measured here and now, and not kept.
    """
    if call.borrow is None:
        return {one.key: _measure(lambda: nullcontext(call.store), one, None) for one in wanted}
    return _share_figures(call.borrow).get(wanted, spent=spent)


@lru_cache(maxsize=4)
def _share_figures(borrow: Borrow) -> Figures:
    return Figures(borrow)


class Figures:
    """Measures what pages want, one after the other, and keeps it."""

    def __init__(self, borrow: Borrow) -> None:
        self._borrow = borrow
        self._kept: dict[Hashable, Kept] = {}
        self._waiting: dict[Hashable, Wanted] = {}
        self._changed = threading.Condition()
        self._busy = False

    def get(
        self, wanted: Sequence[Wanted], *, patience: float = PATIENCE, spent: float = 0.0
    ) -> Mapping[Hashable, Kept]:
        """Return the figures that there are within ``patience - spent`` seconds, by their keys.

        A figure that is being measured for the first time is missing; one that is being measured
        anew is the older one.
        """
        with self._changed:
            due = [one for one in wanted if not self._is_fresh(one.key)]
            for one in due:
                self._waiting.setdefault(one.key, one)
            if due and not self._busy:
                self._busy = True
                threading.Thread(target=self._work, name="figures", daemon=True).start()
            self._changed.wait_for(
                lambda: not any(one.key in self._waiting for one in due),
                timeout=max(_LEAST_PATIENCE, patience - spent),
            )
            return {one.key: self._kept[one.key] for one in wanted if one.key in self._kept}

    def _is_fresh(self, key: Hashable) -> bool:
        kept = self._kept.get(key)
        return kept is not None and kept.is_fresh()

    def _work(self) -> None:
        """Measure until nothing waits; whoever wants more starts another thread."""
        while True:
            with self._changed:
                wanted = next(iter(self._waiting.values()), None)
                if wanted is None:
                    self._busy = False
                    return
                old = self._kept.get(wanted.key)
            kept = _measure(self._borrow, wanted, old)
            with self._changed:
                self._kept.pop(wanted.key, None)
                self._kept[wanted.key] = kept
                while len(self._kept) > _MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
                self._waiting.pop(wanted.key, None)
                self._changed.notify_all()


def _measure(borrow: Borrow, wanted: Wanted, old: Kept | None) -> Kept:
    """Return the old figure when its run is as it was, else a new one."""
    started, at = monotonic(), datetime.now(UTC)
    fingerprint: tuple[Any, ...] = ()
    seconds = 0.0
    value, problem = None, None
    try:
        with borrow() as store:
            # Before measuring: what changes meanwhile is seen the next time.
            fingerprint = read_fingerprint(store, wanted.run_id)
            seconds = monotonic() - started
            if old and old.fingerprint == fingerprint and not old.is_old():
                old.checked, old.check_seconds = monotonic(), seconds
                return old
            value = wanted.measure(store)
    except ClaimwiseError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, or waits for ever
        problem = f"measuring failed: {type(error).__name__}"
    now = monotonic()
    return Kept(
        value=value,
        problem=problem,
        made_at=at.replace(tzinfo=None, microsecond=0),
        fingerprint=fingerprint,
        made=now,
        checked=now,
        check_seconds=seconds,
        make_seconds=now - started - seconds,
    )
