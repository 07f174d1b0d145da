"""Keeps what became of gates: a breach is an event, not a line in a log that is thrown away."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

import msgspec

from claimwise.gates.values import GateDecision, GateEvent, GateReport, Outcome
from claimwise.metrics import Metric, find_metric
from claimwise.store import Store

_TABLE = "gate_results"
_COLUMNS = GateEvent.__struct_fields__
_DOCUMENTS = ("inputs", "decision")
_WORST_LAST: Final[tuple[Outcome, ...]] = ("pass", "inconclusive", "fail")


def keep_results(
    store: Store, report: GateReport, metrics: dict[str, Metric], *, now: datetime | None = None
) -> tuple[GateEvent, ...]:
    """Keep what became of all gates of a report, at one moment, all or none.

    Exported files can't be written to: for them nothing is kept.

    Raises:
        StoreError: the store can't be written to.
    """
    if store.schema_version is None:
        return ()
    moment = now or datetime.now(UTC).replace(tzinfo=None)
    events = tuple(_make_event(one, report, metrics, moment) for one in report.gates)
    with store.write():
        store.insert_rows(_TABLE, _COLUMNS, [_to_record(one) for one in events])
    return events


def list_results(
    store: Store, *, run_id: str | None = None, names: Sequence[str] = ()
) -> list[GateEvent]:
    """Return what was kept, the latest first; of a run or of gates, where those are named."""
    if store.schema_version is None:
        return []
    columns = ", ".join(_COLUMNS)
    rows = store.query(f"select {columns} from {_TABLE} order by decided_at desc, gate, event_id")
    events = [_read_event(row) for row in rows]
    return [
        one for one in events if run_id in (None, one.run_id) and (not names or one.gate in names)
    ]


def list_latest(store: Store, *, run_id: str | None = None, limit: int) -> list[GateEvent]:
    """Return the latest of what was kept, of a run where one is named."""
    columns, params = ", ".join(_COLUMNS), {} if run_id is None else {"run_id": run_id}
    chosen = "" if run_id is None else "where run_id = :run_id "
    rows = store.query(
        f"select {columns} from {_TABLE} {chosen}"
        f"order by decided_at desc, gate, event_id limit {limit}",
        params,
    )
    return [_read_event(row) for row in rows]


def find_event(store: Store, event_id: str) -> GateEvent | None:
    """Return one of the kept results, or None."""
    columns = ", ".join(_COLUMNS)
    rows = store.query(
        f"select {columns} from {_TABLE} where event_id = :event_id", {"event_id": event_id}
    )
    return _read_event(rows[0]) if rows else None


def list_outcomes(store: Store, run_ids: Sequence[str]) -> dict[str, Outcome]:
    """Return what became of runs: the worst of what each gate last said; runs without are left out.

    A gate that was inconclusive and only warns counts as passed, as it does for a build.
    """
    params = {f"run_{number}": run_id for number, run_id in enumerate(run_ids)}
    if not params:
        return {}
    listed = ", ".join(f":{name}" for name in params)
    rows = store.query(
        f"select run_id, gate, outcome, blocks from {_TABLE} where run_id in ({listed}) "
        "order by decided_at, event_id",
        params,
    )
    last: dict[tuple[str, str], Outcome] = {
        (run_id, gate): outcome if blocks else "pass" for run_id, gate, outcome, blocks in rows
    }
    found: dict[str, Outcome] = {}
    for (run_id, _), outcome in last.items():
        worst = max((found.get(run_id, "pass"), outcome), key=_WORST_LAST.index)
        found[run_id] = worst
    return found


def count_looks(store: Store, gate: str, run_id: str) -> int:
    """Return at how many runs a gate has looked, this one included; one more look is none."""
    if store.schema_version is None:
        return 1
    rows = store.query(
        f"select count(distinct run_id) from {_TABLE} where gate = :gate and run_id <> :run_id",
        {"gate": gate, "run_id": run_id},
    )
    return 1 + int(rows[0][0])


def _make_event(
    decision: GateDecision, report: GateReport, metrics: dict[str, Metric], moment: datetime
) -> GateEvent:
    metric = find_metric(metrics, decision.gate.metric)
    return GateEvent(
        event_id=uuid4().hex,
        decided_at=moment,
        gate=decision.gate.name,
        run_id=decision.run_id,
        baseline_id=decision.baseline_id,
        outcome=decision.outcome,
        blocks=decision.blocks,
        version=report.version,
        inputs={
            "gate": _to_document(decision.gate),
            "metric": metric.name,
            "metric_sha256": hashlib.sha256(metric.sql.encode()).hexdigest(),
        },
        decision=_to_document(decision),
    )


def _to_document(value: msgspec.Struct) -> dict[str, Any]:
    """Return a value as reading it again from JSON gives it."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value))
    return found


def _to_record(event: GateEvent) -> tuple[Any, ...]:
    values = {name: getattr(event, name) for name in _COLUMNS}
    for name in _DOCUMENTS:
        values[name] = msgspec.json.encode(values[name]).decode()
    return tuple(values.values())


def _read_event(row: tuple[Any, ...]) -> GateEvent:
    values = dict(zip(_COLUMNS, row, strict=True))
    for name in _DOCUMENTS:
        values[name] = msgspec.json.decode(values[name])
    return msgspec.convert(values, GateEvent, strict=False)
