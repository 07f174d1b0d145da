"""Reads a window of traffic: the claims of its answers, a judge's scores and people's labels.

Runs are read one after the other, as columns of numbers, each in as few bytes as it needs: a year
of traffic, tens of millions of claims, fits into memory so.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimwise.calibration.queries import RegisteredJudge, find_registered_judge
from claimwise.errors import MetricError, describe_unknown
from claimwise.estimates.rounds import (
    WindowRound,
    combine_chances,
    list_window_rounds,
    to_stored_time,
)
from claimwise.estimates.strata import assign_strata
from claimwise.estimates.window import ClaimTable
from claimwise.metrics.counting import CONVERSATION, NO_CLUSTER, write_cluster, write_slice
from claimwise.report.format import show_percent
from claimwise.store import Store
from claimwise.store.files import SqlFolder

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SQL = SqlFolder("claimwise.estimates")
_SUPPORTED: Final = "supported"
_UNKNOWN_CONFIDENCE: Final = 0.75  # a score for verdicts without one; labels recalibrate it
_ONE_JUDGE: Final = 0.98  # of the verdicts: what others gave can't move the rate
_COVERED: Final = 0.9  # of the claims, by rounds: labels of fewer speak for other traffic
_CLAIM_COLUMNS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A window: from a moment until another, UTC, the latter not included."""

    start: datetime
    until: datetime
    name: str
    option: str = "7d"  # as the option --window names it


class WindowRun(NamedTuple):
    """A run of a window: its answers within it."""

    run_id: str
    system: str
    answers: int
    first: datetime
    last: datetime


class WindowLabel(NamedTuple):
    """A claim of the window that people labelled."""

    row: int  # among all claims of the window, scored or not
    run_id: str
    item_id: str
    claim_id: str
    supported: bool
    labeled_at: datetime
    first_labeled_at: datetime
    chance: float | None  # as its label says


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowData:
    """What an estimate needs of a window, and what its report says beside it."""

    period: Period
    system: str | None
    cluster: str
    runs: tuple[WindowRun, ...]
    judge: RegisteredJudge | None
    table: ClaimTable
    labels: tuple[WindowLabel, ...]  # in the order of the table's labelled rows
    scored: Flags  # which of the window's claims are in the table
    run_claims: dict[str, int]  # claims of the window by run, in order
    unscored: int
    unscored_weight: float
    not_judged: int  # of the unscored: the judge was never asked
    reasons: dict[str, int] = field(default_factory=dict)  # of the unscored that it was asked
    barred: tuple[str, ...] = ()  # why the judge can't be corrected here

    @property
    def places(self) -> NDArray[np.intp]:
        """The places of the table's claims among all of the window."""
        return np.flatnonzero(self.scored)

    @property
    def answers(self) -> int:
        """How many answers the window holds."""
        return sum(run.answers for run in self.runs)


class _Columns(NamedTuple):
    """The claims of one run, or of all."""

    items: NDArray[np.int32]  # their answers
    scored: Flags
    approved: Flags
    confidences: Floats
    failed: Flags


def read_window(
    store: Store,
    system: str | None,
    period: Period,
    *,
    judge: str | None = None,
    cluster: str | None = None,
) -> WindowData:
    """Read a window's claims with one judge's scores and people's deciding labels.

    The judge is the one named, or the one with most verdicts in the window. Claims that it did not
    score are counted beside the table, never in it. Labels are those of the window's own claims:
    others speak for other traffic. ``cluster`` is what makes answers alike: conversation (default,
    where one is known), document, item, or a column of items.

    Raises:
        MetricError: system, judge or cluster are unknown.
    """
    params = {"start": period.start, "until": period.until, "system": system or ""}
    runs = tuple(_to_run(row) for row in store.query(_SQL["window_runs"], params))
    if not runs and system is not None:
        _check_system(store, system)
    found, changed = _choose_judge(store, params, judge, runs)
    reader = _Reader(store, period, found, cluster or CONVERSATION)
    reader.read_runs([run.run_id for run in runs])
    rounds = list_window_rounds(store, [run.run_id for run in runs])
    if not reader.labels:
        changed += _name_earlier_labels(store, params)
    return reader.gather(system, runs, changed, rounds)


def _check_system(store: Store, system: str) -> None:
    known = [row[0] for row in store.query("select distinct system from traffic_answers")]
    if system not in known:
        raise MetricError(describe_unknown("system", system, known, where="the traffic"))


def _to_run(row: tuple[object, ...]) -> WindowRun:
    run_id, system, answers, first, last = row
    return WindowRun(
        str(run_id), str(system), int(str(answers)), to_stored_time(first), to_stored_time(last)
    )


def _write(store: Store, name: str) -> str:
    """Return a query on labels that nobody has taken back.

    Most stores hold no retraction. Their labels are read as they are then: DuckDB can't narrow the
    view to one run, and would read all labels for each.
    """
    taken = "select 1 from label_retractions where judgement = 'grounded' limit 1"
    return _SQL[name].format(standing_labels="standing_labels" if store.query(taken) else "labels")


def _choose_judge(
    store: Store, params: dict[str, object], name: str | None, runs: Sequence[WindowRun]
) -> tuple[RegisteredJudge | None, list[str]]:
    """Return the judge of a window, and that it changed inside, where it did."""
    given: dict[str, Counter[str]] = defaultdict(Counter)
    for run_id, labeler, verdicts in store.query(_write(store, "judges"), params):
        given[labeler][run_id] += verdicts
    if name is None and not given:
        return None, []
    chosen = find_registered_judge(
        store, name or max(given, key=lambda one: (given[one].total(), one))
    )
    own = given[chosen.labeler]
    total = sum(max(held[run.run_id] for held in given.values()) for run in runs)
    others = {
        labeler: sum(held[run.run_id] for run in runs if not own[run.run_id])
        for labeler, held in given.items()
        if labeler != chosen.labeler
    }
    if sum(others.values()) <= (1 - _ONE_JUDGE) * total:
        return chosen, []
    other = max(others, key=lambda one: (others[one], one))
    days = [run.first for run in runs if given[other][run.run_id] and not own[run.run_id]]
    return chosen, [
        f"the judge changed inside the window: {other} judged the answers from "
        f"{min(days):%Y-%m-%d}, {chosen.labeler} the others; judge them all with one"
    ]


def _name_earlier_labels(store: Store, params: dict[str, object]) -> list[str]:
    """Say that people labelled earlier answers alone: those can't correct these."""
    [(count, latest)] = store.query(_SQL["earlier_labels"], params)
    if not count:
        return []
    return [
        f"no label in this window; the {count:,} labels of earlier answers, the latest of "
        f"{to_stored_time(latest):%Y-%m-%d}, are too old to correct it"
    ]


def read_groups(store: Store, data: WindowData, by: str) -> NDArray[np.generic]:
    """Return the value of a column of items or runs for every claim of a window's table.

    Raises:
        MetricError: there is no such column.
    """
    joins: list[str] = []
    value = write_slice(store, by, [], joins)
    sql = _SQL["answers"].format(cluster=f"coalesce({value}, 'unknown')", joins=" ".join(joins))
    params = {"start": data.period.start, "until": data.period.until}
    found = [
        str(row[1])
        for run in data.runs
        for row in store.query(sql, {"run_id": run.run_id, **params})
    ]
    assert data.table.items is not None
    return np.array(found, dtype=object)[data.table.items]


class _Reader:
    """Reads runs one after the other, and puts their columns together."""

    def __init__(
        self, store: Store, period: Period, judge: RegisteredJudge | None, cluster: str
    ) -> None:
        self._store = store
        self._period = period
        self._judge = judge
        self._cluster = cluster
        self._columns: list[_Columns] = []
        self._clusters: dict[str, int] = {}
        self._cluster_of = array("i")  # by answer
        self._weights = array("d")  # by answer
        self.labels: list[WindowLabel] = []
        self._claims: dict[str, int] = {}  # by run
        self._reasons: Counter[str] = Counter()
        self._claims_sql, self._told_sql = _write(store, "claims"), _write(store, "told")

    def read_runs(self, run_ids: Sequence[str]) -> None:
        """Read the answers, claims and labels of runs within the window."""
        given = {
            "start": self._period.start, "until": self._period.until,
            "labeler": self._judge.labeler if self._judge else "",
        }  # fmt: skip
        several = [{"run_id": run_id, **given} for run_id in run_ids]
        found = self._store.query_numbers(self._claims_sql, _CLAIM_COLUMNS, several)
        for params, numbers in zip(several, found, strict=True):
            self._add_run(params, numbers)

    def _add_run(self, params: dict[str, Any], numbers: Floats) -> None:
        run_id = params["run_id"]
        first, offset = len(self._cluster_of), sum(self._claims.values())
        for item, cluster, chance in self._store.query(self._write_answers(), params):
            name = item if self._cluster == NO_CLUSTER else str(cluster)
            self._cluster_of.append(self._clusters.setdefault(name, len(self._clusters)))
            self._weights.append(1 / chance)
        items, approved, confidences, failed, numbered = numbers
        self._columns.append(
            _Columns(
                items=(items + first).astype(np.int32),
                scored=~np.isnan(approved),
                approved=approved == 1,
                confidences=confidences.copy(),  # a view would keep all columns
                failed=failed == 1,
            )
        )
        self._claims[run_id] = len(items)
        told = self._store.query(self._told_sql, params)
        places = np.flatnonzero(~np.isnan(numbered))
        for place, number in zip(places.tolist(), numbered[places].tolist(), strict=True):
            verdict, at, first_at, chance, item, claim = told[int(number)]
            self.labels.append(
                WindowLabel(
                    offset + place,
                    run_id,
                    item,
                    claim,
                    verdict == _SUPPORTED,
                    to_stored_time(at),
                    to_stored_time(first_at),
                    chance,
                )
            )
        if failed.any():
            self._reasons.update(dict(self._store.query(_SQL["unscored_reasons"], params)))

    def _write_answers(self) -> str:
        joins: list[str] = []
        above = "m.conversation"
        if self._cluster not in (CONVERSATION, NO_CLUSTER):
            above = write_cluster(self._store, self._cluster, joins)
        return _SQL["answers"].format(cluster=above, joins=" ".join(joins))

    def gather(
        self,
        system: str | None,
        runs: tuple[WindowRun, ...],
        barred: list[str],
        rounds: Sequence[WindowRound],
    ) -> WindowData:
        """Return all runs in one table, unscored claims counted beside it."""
        columns = self._join_columns()
        scored = columns.scored
        labels = [one for one in self.labels if scored[one.row]]
        chances, covered = combine_chances(labels, rounds, self._claims)
        if labels and covered < _COVERED:
            barred.append(
                f"the labels were drawn from {show_percent(covered)} of the window's claims; the "
                "others are of another population"
            )
        left_out = ~scored
        return WindowData(
            period=self._period,
            system=system,
            cluster=self._cluster,
            runs=runs,
            judge=self._judge,
            table=self._tabulate(columns, labels, chances),
            labels=tuple(labels),
            scored=scored,
            run_claims=self._claims,
            unscored=int(left_out.sum()),
            unscored_weight=float(np.array(self._weights)[columns.items[left_out]].sum()),
            not_judged=int((left_out & ~columns.failed).sum()),
            reasons=dict(self._reasons),
            barred=tuple(barred),
        )

    def _join_columns(self) -> _Columns:
        """Return the claims of all runs; those of each run are given up column by column."""
        parts = [list(one) for one in zip(*self._columns, strict=True)]
        self._columns.clear()
        if not parts:
            none = np.zeros(0, dtype=bool)
            return _Columns(np.zeros(0, dtype=np.int32), none, none, np.zeros(0), none)
        return _Columns(*(np.concatenate(parts.pop(0)) for _ in _Columns._fields))

    def _tabulate(
        self, columns: _Columns, labels: Sequence[WindowLabel], chances: Floats
    ) -> ClaimTable:
        scored = columns.scored
        approved, confidences = columns.approved[scored], columns.confidences[scored]
        strata, names = assign_strata(approved, confidences)
        # Confidences become scores in their place: a year of them is large.
        confidences[np.isnan(confidences)] = _UNKNOWN_CONFIDENCE
        np.subtract(1, confidences, out=confidences, where=~approved)
        items = columns.items[scored]
        return ClaimTable(
            clusters=np.array(self._cluster_of)[items],
            names=np.array(list(self._clusters), dtype=object),
            strata=strata,
            stratum_names=names,
            scores=confidences,
            approved=approved,
            weights=np.array(self._weights)[items],
            rows=np.searchsorted(np.flatnonzero(scored), [one.row for one in labels]),
            told=np.array([one.supported for one in labels], dtype=bool),
            chances=chances,
            items=items,
        )
