"""Takes answers of live traffic in: chooses, redacts, stores, and counts what became of the rest.

One transaction holds a batch with its counts and the ids of its traces, so that a process that is
killed has taken a trace in or not, and one that comes again is known. Two processes that read the
same traces at once store each of them once: whoever remembers an id first has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from claimwise.config import Project, SampleRule
from claimwise.errors import InputError, Problem
from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.text.ids import make_content_id
from claimwise.traffic.redaction import RedactionError, Redactor
from claimwise.traffic.rows import Arrival, find_flaw, list_properties, make_answer_rows, receive
from claimwise.traffic.sampling import SamplingDecision, choose
from claimwise.traffic.values import (
    NO_RULE,
    UNKNOWN_SYSTEM,
    CountKey,
    IngestResult,
    Outcome,
    classify_problem,
)
from claimwise.types.rows import Placed, Row
from claimwise.types.traces import Trace

_SQL = SqlFolder("claimwise.traffic")
_BATCH = 500
_MOST_TRIES = 5

Records = Iterable[Trace | Problem]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrafficSettings:
    """How traffic is taken in."""

    rules: Sequence[SampleRule]
    redactor: Redactor
    system: str | None = None
    corpus: str | None = None


def read_traffic_settings(
    project: Project,
    *,
    system: str | None = None,
    corpus: str | None = None,
    rate: float | None = None,
) -> TrafficSettings:
    """Return a project's settings with what a command says instead.

    Raises:
        ClaimwiseError: what redacts is wrong.
    """
    section = project.config.traffic
    one_rule = () if rate is None else (SampleRule(name="command line", rate=rate),)
    return TrafficSettings(
        rules=one_rule or section.sample,
        redactor=Redactor(section.redact, project.folder),
        system=system or section.system,
        corpus=corpus or section.corpus,
    )


class Seen(NamedTuple):
    """A trace that came before."""

    day: str
    rule: str
    outcome: Outcome
    probability: float


@dataclass(slots=True)
class _Batch:
    """What one transaction writes."""

    rows: dict[tuple[str, ...], Row] = field(default_factory=dict)
    added: list[dict[str, object]] = field(default_factory=list)  # traces to remember
    taken: list[dict[str, object]] = field(default_factory=list)  # left out before, taken now
    raised: list[dict[str, object]] = field(default_factory=list)  # offered to a higher rate
    counts: Counter[CountKey] = field(default_factory=Counter)
    runs: dict[str, None] = field(default_factory=dict)
    known: set[tuple[str, str]] = field(default_factory=set)  # traces of this batch

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add rows; answers share runs and sources, which are the same by their ids."""
        for row in rows:
            key = (row.table, *(str(getattr(row, name)) for name in row.key))
            self.rows.setdefault(key, row)


class _OvertakenError(Exception):
    """Another process remembered one of these traces meanwhile."""


def ingest(
    store: Store,
    settings: TrafficSettings,
    records: Records,
    *,
    now: datetime | None = None,
    then: Callable[[], object] | None = None,
) -> IngestResult:
    """Take in answers, and problems in place of those that can't be read.

    Args:
        store: where to.
        settings: what is chosen and what is redacted.
        records: from the readers of traces.
        now: when they were received (UTC, without a zone).
        then: what else belongs to the transaction that stores them; where it is given, all records
            are one batch.
    """
    received_at = now or datetime.now(UTC).replace(tzinfo=None)
    result = IngestResult()
    source = iter(records)
    while batch := list(source if then else islice(source, _BATCH)):
        _ingest_batch(store, _Taker(store, settings, received_at), batch, result, then)
        if then:
            break
    return result


def _ingest_batch(
    store: Store,
    taker: _Taker,
    records: list[Trace | Problem],
    result: IngestResult,
    then: Callable[[], object] | None,
) -> None:
    """Take in a batch; where the store refuses it, one by one, so that only the culprit is left."""
    try:
        _write(store, lambda: taker.gather(records), result, then)
        return
    except InputError:
        pass
    for record in records:
        try:
            _write(store, lambda one=record: taker.gather([one]), result, None)  # type: ignore[misc]
        except InputError:
            _write(store, lambda one=record: taker.refuse(one), result, None)  # type: ignore[misc]
    if then is not None:
        with store.write():
            then()


def _write(
    store: Store,
    gather: Callable[[], _Batch],
    result: IngestResult,
    then: Callable[[], object] | None,
) -> None:
    for attempt in range(_MOST_TRIES):
        batch = gather()
        placed = [Placed(row, 0, 1) for row in batch.rows.values()]
        try:
            if placed:
                store.load(
                    placed,
                    ["traffic"],
                    before=lambda made=batch: _remember(store, made),  # type: ignore[misc]
                    then=then,
                )
            else:
                with store.write():
                    _remember(store, batch)
                    if then is not None:
                        then()
        except _OvertakenError:
            if attempt == _MOST_TRIES - 1:
                raise
            continue
        result.counts.update(batch.counts)
        result.backfilled += len(batch.taken)
        result.runs.update(batch.runs)
        return


def _remember(store: Store, batch: _Batch) -> None:
    """Write what is known of traces, and the counts, inside the transaction."""
    added = sum(store.execute(_SQL["add_seen"], one) for one in batch.added)
    taken = sum(store.execute(_SQL["take_seen"], one) for one in batch.taken)
    if added < len(batch.added) or taken < len(batch.taken):
        raise _OvertakenError
    for one in batch.raised:
        store.execute(_SQL["raise_seen"], one)
        store.execute(_SQL["raise_answer"], one)
    for key, number in batch.counts.items():
        if number:
            count = {**key._asdict(), "day": _to_day(key.day), "answers": number}
            store.execute(_SQL["count"], count)


def _to_day(day: str) -> object:
    return datetime.fromisoformat(day).date()


class _Taker:
    """Decides on each record of a batch, without writing anything."""

    def __init__(self, store: Store, settings: TrafficSettings, received_at: datetime) -> None:
        self._store = store
        self._settings = settings
        self._received_at = received_at

    def gather(self, records: Sequence[Trace | Problem]) -> _Batch:
        """Return what is to be written for some records."""
        batch = _Batch()
        for record in records:
            if isinstance(record, Problem):
                self._take_problem(record, batch, classify_problem(record.found))
            else:
                self._take_answer(record, batch)
        return batch

    def refuse(self, record: Trace | Problem) -> _Batch:
        """Return what is to be written for a record that the store refused."""
        batch = _Batch()
        if isinstance(record, Trace):
            self._leave(self._receive(record), batch, "unreadable", "refused")
        return batch

    def _receive(self, trace: Trace) -> Arrival:
        return receive(trace, self._settings.system, self._received_at)

    def _take_problem(self, problem: Problem, batch: _Batch, reason: str) -> None:
        """Count a record that can't be read; the same line of the same file again is the same."""
        name = Path(problem.path).name
        trace_id = make_content_id("x1", name, str(problem.line), problem.found)
        day = self._received_at.date().isoformat()
        system = self._settings.system or UNKNOWN_SYSTEM
        if self._find_seen(system, trace_id) or (system, trace_id) in batch.known:
            batch.counts[CountKey(day, system, NO_RULE, "duplicate")] += 1
            return
        batch.known.add((system, trace_id))
        batch.counts[CountKey(day, system, NO_RULE, "unreadable", reason)] += 1
        batch.added.append({
            "system": system, "trace_id": trace_id, "day": self._received_at.date(),
            "rule": NO_RULE, "outcome": "unreadable", "reason": reason,
            "inclusion_probability": 1.0,
        })  # fmt: skip

    def _take_answer(self, trace: Trace, batch: _Batch) -> None:
        flaw = find_flaw(trace)
        arrival = self._receive(trace)
        choice = choose(arrival.trace_id, list_properties(arrival), self._settings.rules)
        key = (arrival.system, arrival.trace_id)
        seen = self._find_seen(*key)
        if key in batch.known or (seen is not None and not self._is_promoted(seen, choice)):
            self._take_duplicate(arrival, choice, seen, batch)
        elif flaw is not None:
            self._leave(arrival, batch, "unreadable", flaw)
        elif choice.taken:
            self._keep(arrival, choice, seen, batch)
        else:
            self._leave(arrival, batch, "left_out", "", choice)
        batch.known.add(key)

    @staticmethod
    def _is_promoted(seen: Seen, choice: SamplingDecision) -> bool:
        return seen.outcome == "left_out" and choice.taken

    def _find_seen(self, system: str, trace_id: str) -> Seen | None:
        for found, day, rule, outcome, probability in self._store.query(
            _SQL["seen"], {"trace_id": trace_id}
        ):
            if found == system:
                return Seen(str(day)[:10], rule, outcome, probability)
        return None

    def _take_duplicate(
        self, arrival: Arrival, choice: SamplingDecision, seen: Seen | None, batch: _Batch
    ) -> None:
        """Count a trace that came before. A higher rate makes its probability higher as well.

        Sampling is nested: what a rate of 0.1 took, one of 0.5 takes too, so a trace that was
        offered to both was taken with a probability of 0.5.
        """
        day = arrival.day.isoformat()
        batch.counts[CountKey(day, arrival.system, NO_RULE, "duplicate")] += 1
        if seen is None or seen.outcome == "unreadable" or choice.rate <= seen.probability:
            return
        batch.raised.append(self._describe(arrival, seen.outcome, choice))
        batch.counts[CountKey(seen.day, arrival.system, seen.rule, seen.outcome)] -= 1
        batch.counts[CountKey(seen.day, arrival.system, choice.rule, seen.outcome)] += 1

    def _keep(
        self, arrival: Arrival, choice: SamplingDecision, seen: Seen | None, batch: _Batch
    ) -> None:
        """Redact an answer and make its rows."""
        try:
            redacted = self._settings.redactor.redact_trace(arrival.trace, arrival.trace_id)
            made = make_answer_rows(self._store, arrival._replace(trace=redacted), choice,
                             self._received_at, self._settings.corpus)  # fmt: skip
        except RedactionError:
            self._leave(arrival, batch, "unreadable", "redaction_failed", seen=seen)
            return
        day = arrival.day.isoformat()
        batch.add_rows(made.rows)
        batch.runs[made.run_id] = None
        batch.counts[CountKey(day, arrival.system, choice.rule, "sampled")] += 1
        for reason, is_so in (("clock", arrival.clock_is_wrong),
                              ("documents_not_found", made.unknown_documents > 0)):  # fmt: skip
            if is_so:
                batch.counts[CountKey(day, arrival.system, choice.rule, "note", reason)] += 1
        described = self._describe(arrival, "sampled", choice)
        if seen is None:
            batch.added.append(described)
        else:
            batch.taken.append(described)
            batch.counts[CountKey(seen.day, arrival.system, seen.rule, "left_out")] -= 1

    def _leave(
        self,
        arrival: Arrival,
        batch: _Batch,
        outcome: Outcome,
        reason: str,
        choice: SamplingDecision | None = None,
        seen: Seen | None = None,
    ) -> None:
        """Count an answer that is not stored, and remember its trace."""
        if seen is not None:
            return  # it was left out, and still is
        chosen = choice or SamplingDecision(NO_RULE, 1.0, False)
        key = CountKey(arrival.day.isoformat(), arrival.system, chosen.rule, outcome, reason)
        batch.counts[key] += 1
        batch.added.append({**self._describe(arrival, outcome, chosen), "reason": reason})

    @staticmethod
    def _describe(
        arrival: Arrival, outcome: Outcome, choice: SamplingDecision
    ) -> dict[str, object]:
        return {
            "system": arrival.system, "trace_id": arrival.trace_id, "day": arrival.day,
            "rule": choice.rule, "outcome": outcome, "reason": "",
            "inclusion_probability": choice.rate,
        }  # fmt: skip
