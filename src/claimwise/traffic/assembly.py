"""Makes answers of the spans in the inbox, once a trace is complete.

A trace is complete when its root span has come and then nothing more for a while, or after a stated
time whatever has come. Its answer is stored and its spans leave the inbox in one transaction, so a
process that is killed loses nothing and stores nothing twice.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from claimwise.config import TrafficSection
from claimwise.errors import ClaimwiseError, Problem
from claimwise.readers.choose import leave_out_history
from claimwise.readers.traces.otel import to_spans
from claimwise.readers.traces.reader import write_answers
from claimwise.readers.traces.spans import TraceSpan
from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.traffic.inbox import TURN, Borrow, Inbox, count_rejected
from claimwise.traffic.ingest import TrafficSettings, ingest
from claimwise.types.traces import Trace

_SQL = SqlFolder("claimwise.traffic")
_BATCH = 200  # traces of one transaction
_MOST_SPANS = 10_000  # of a trace
_MOST_CHARACTERS = 64 * 1024 * 1024
_PLACE = Path("OTLP")
_log = logging.getLogger("claimwise")


class _Ready(NamedTuple):
    trace_id: str
    spans: int


class Assembled(NamedTuple):
    """What has left the inbox."""

    traces: int
    spans: int


def assemble_ready(
    store: Store, settings: TrafficSettings, section: TrafficSection, now: datetime
) -> Assembled:
    """Make answers of the traces that are complete, as many as fit one transaction."""
    moments = {
        "quiet_since": now - timedelta(seconds=section.quiet_seconds),
        "old_since": now - timedelta(seconds=section.longest_seconds),
    }
    rows = store.query(_SQL["inbox_ready"], {**moments, "most": _BATCH})
    ready = [_Ready(str(row[0]), int(row[1])) for row in rows]
    if ready:
        _assemble(store, settings, ready, now)
    return Assembled(len(ready), sum(one.spans for one in ready))


def _assemble(
    store: Store, settings: TrafficSettings, ready: Iterable[_Ready], now: datetime
) -> None:
    records: list[Trace | Problem] = []
    entries: list[str] = []
    rejected: Counter[str] = Counter()
    for one in ready:
        held = store.query(_SQL["inbox_ids"], {"trace_id": one.trace_id})
        if one.spans > _MOST_SPANS or sum(row[1] for row in held) > _MOST_CHARACTERS:
            entries += [row[0] for row in held]
            records.append(_complain(one.trace_id, "larger than the limits"))
            continue
        found = store.query(_SQL["inbox_entries"], {"trace_id": one.trace_id})
        entries += [row[0] for row in found]
        if _was_assembled(store, one.trace_id):
            rejected["spans_after_the_end"] += one.spans
        else:
            records += read_trace(one.trace_id, [row[1] for row in found], rejected)

    def finish() -> None:
        for entry in entries:
            store.execute(_SQL["inbox_delete"], {"entry_id": entry})
        count_rejected(store, rejected, now)

    if records:
        ingest(store, settings, records, now=now, then=finish)
    else:
        with store.write(TURN):
            finish()


def _was_assembled(store: Store, trace_id: str) -> bool:
    ids = {"trace_id": trace_id, "first_turn": f"{trace_id}#1"}
    return bool(store.query(_SQL["was_assembled"], ids))


def read_trace(
    trace_id: str, payloads: Iterable[str], rejected: Counter[str]
) -> list[Trace | Problem]:
    """Return the answers of a trace's spans, or the problem with it; a span that came twice is one.

    ``rejected`` counts those.
    """
    spans: dict[str, TraceSpan] = {}
    try:
        for payload in payloads:
            for span in to_spans(msgspec.json.decode(payload), 1):
                known = spans.setdefault(span.span_id or f"-{len(spans)}", span)
                rejected["duplicate_span"] += known is not span
        found = [one for _, one in write_answers(_PLACE, {trace_id: list(spans.values())})]
    except Exception as error:  # noqa: BLE001 - whatever a trace holds, the next one is read
        _log.warning("warning: trace %s can't be read: %s", trace_id, type(error).__name__)
        return [_complain(trace_id, "it can't be read")]
    traces = [one for one in found if isinstance(one, Trace)]
    return [*leave_out_history(traces), *(one for one in found if isinstance(one, Problem))]


def _complain(trace_id: str, what: str) -> Problem:
    found = f"trace {trace_id}: {what}"
    return Problem(path=str(_PLACE), line=1, field=None, found=found, expected="")


class Assembler:
    """Does so in a thread of its own, every second.

    Args:
        borrow: lends a store.
        inbox: where the spans come in.
        settings: how traffic is taken in.
        section: how long traces are waited for.
        clock: the time in UTC, without a zone.
        then: called after answers were stored.
    """

    def __init__(
        self,
        borrow: Borrow,
        inbox: Inbox,
        settings: TrafficSettings,
        section: TrafficSection,
        clock: Callable[[], datetime],
        then: Callable[[], object] | None = None,
    ) -> None:
        self._borrow = borrow
        self._inbox = inbox
        self._settings = settings
        self._section = section
        self._clock = clock
        self._then = then
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="claimwise-assembler")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End after the traces at hand."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause = min(1.0, self._section.quiet_seconds)
        while not self._stop.wait(pause):
            try:
                self._work()
            except (ClaimwiseError, OSError) as error:
                # What is in the inbox stays there until the store can be used again.
                _log.warning("warning: traces wait: %s", error)

    def _work(self) -> None:
        with self._borrow() as store:
            done = 0
            while not self._stop.is_set():
                found = assemble_ready(store, self._settings, self._section, self._clock())
                done += found.traces
                self._inbox.forget(found.spans, store)
                if found.traces < _BATCH:
                    break
            if done:
                store.shed_memory()
            if self._inbox.has_notes:
                with store.write(TURN):
                    self._inbox.write_notes(store)
        if done and self._then is not None:
            self._then()
