"""Keeps measured figures for a while, so that a page need not wait for them to be measured again.

A report on a million labels takes a minute, and a dashboard shows dozens of runs. So figures are
measured by one thread beside the requests, which wait for them a moment and then show what there
is: the figures, older ones with the time at which they were made, or that they are under way. What
is shown also says whether it counts all that was stored when the page was asked for; a page that
does not is fetched again by itself (static/figures.js).

Before figures are used again the run's fingerprint is read; figures whose run has not changed
stay. Where reading it takes long, on a large run, it is read again only after twenty times as long.
Figures older than ten minutes, and than a hundred times as long as making them took, are made again
in any case, because a fingerprint does not see rows that were changed in place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from time import monotonic
from typing import Any, Final, NamedTuple

from claimwise.app.requests import Borrow, Call
from claimwise.errors import ClaimwiseError
from claimwise.store import Store
from claimwise.store.runs import read_fingerprint

PATIENCE: Final = 1.0
_LEAST_PATIENCE: Final = 0.1
_OLDEST: Final = 600.0
_REST: Final = 20  # times as long as reading a fingerprint takes, where that is not quick
_QUICK: Final = 0.05
_HOLD: Final = 100  # times as long as measuring takes
_MOST_KEPT: Final = 600


class Wanted(NamedTuple):
    """A figure that a page wants: its name, the run it is of, and how to measure it.

    One of several runs names the others too; one that rests on more than runs says how to read
    the state of that. Where nothing of them has changed, the figure stays.
    """

    key: Hashable
    run_id: str
    measure: Callable[[Store], Any]
    others: tuple[str, ...] = ()
    read_state: Callable[[Store], tuple[Any, ...]] | None = None

    def read_fingerprint(self, store: Store) -> tuple[Any, ...]:
        """Return what the figure rests on, in counts and times."""
        found = tuple(read_fingerprint(store, one) for one in (self.run_id, *self.others))
        return (*found, self.read_state(store)) if self.read_state else found


@dataclass(kw_only=True, slots=True)
class Kept:
    """A figure as it was measured, or the reason why it could not be."""

    value: Any
    problem: str | None
    made_at: datetime  # UTC, without zone
    fingerprint: tuple[Any, ...]
    made: float  # by the clock that never jumps
    checked: float  # before the fingerprint was read: what came later may not be counted
    check_seconds: float
    make_seconds: float

    def is_old(self) -> bool:
        """Return whether the figure has to be made again, whatever its run looks like."""
        if self.problem is not None:  # a failure is never kept: the next one who asks tries again
            return True
        return monotonic() - self.made >= max(_OLDEST, _HOLD * self.make_seconds)

    def is_fresh(self) -> bool:
        """Return whether the figure may be shown without looking at its run again."""
        rest = _REST * self.check_seconds if self.check_seconds > _QUICK else 0.0
        return monotonic() - self.checked < rest and not self.is_old()


class ReadyFigures(NamedTuple):
    """The figures that there are for a page, by their keys."""

    kept: Mapping[Hashable, Kept]
    current: bool  # they are all there, and count all that was stored when they were asked for
    as_of: datetime | None  # UTC, without zone; what was stored until then is counted


def _show(kept: Mapping[Hashable, Kept], *, current: bool) -> ReadyFigures:
    oldest = min((one.checked for one in kept.values()), default=None)
    if oldest is None:
        return ReadyFigures(kept, current, None)
    as_of = datetime.now(UTC) - timedelta(seconds=monotonic() - oldest)
    return ReadyFigures(kept, current, as_of.replace(tzinfo=None))


def read_figures(call: Call, wanted: Sequence[Wanted], *, spent: float = 0.0) -> ReadyFigures:
    """Return figures from those that all requests of a server share.

    A page that has spent seconds on something else waits for its figures so much the less.

    Without a server there is one connection, which two threads must not use at once: figures are
    measured here and now, and not kept.
    """
    if call.borrow is None:
        made = {one.key: _measure(lambda: nullcontext(call.store), one, None) for one in wanted}
        return _show(made, current=True)
    return _share_figures(call.borrow).get(wanted, spent=spent)


@lru_cache(maxsize=4)
def _share_figures(borrow: Borrow) -> FigureStore:
    return FigureStore(borrow)


class FigureStore:
    """Measures what pages want, one after the other, and keeps it."""

    def __init__(self, borrow: Borrow) -> None:
        self._borrow = borrow
        self._kept: dict[Hashable, Kept] = {}
        self._waiting: dict[Hashable, Wanted] = {}
        self._changed = threading.Condition()
        self._busy = False

    def get(
        self, wanted: Sequence[Wanted], *, patience: float = PATIENCE, spent: float = 0.0
    ) -> ReadyFigures:
        """Return the figures that there are within ``patience - spent`` seconds.

        A figure that is being measured for the first time is missing; one that is being measured
        again is the older one.
        """
        asked = monotonic()
        with self._changed:
            self._changed.wait_for(
                lambda: not self._order(wanted, asked),
                timeout=max(_LEAST_PATIENCE, patience - spent),
            )
            kept = {one.key: self._kept[one.key] for one in wanted if one.key in self._kept}
            checked = all(one.checked >= asked for one in kept.values())
            return _show(kept, current=checked and len(kept) == len(wanted))

    def _order(self, wanted: Sequence[Wanted], since: float) -> bool:
        """Have measured what has to be; return whether there is any such thing.

        That is what was not checked ``since``, not even by a measurement that another request has
        begun a moment earlier, and may not be shown unchecked.
        """
        due = [one for one in wanted if not self._is_settled(one.key, since)]
        for one in due:
            self._waiting.setdefault(one.key, one)
        if due and not self._busy:
            self._busy = True
            threading.Thread(target=self._work, name="figures", daemon=True).start()
        return bool(due)

    def _is_settled(self, key: Hashable, since: float) -> bool:
        kept = self._kept.get(key)
        return kept is not None and (kept.checked >= since or kept.is_fresh())

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
            fingerprint = wanted.read_fingerprint(store)
            seconds = monotonic() - started
            if old and old.fingerprint == fingerprint and not old.is_old():
                old.checked, old.check_seconds = started, seconds
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
        checked=started,
        check_seconds=seconds,
        make_seconds=now - started - seconds,
    )
