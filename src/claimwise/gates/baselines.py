"""Which earlier run a gate compares with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from claimwise.errors import MetricError, describe_unknown
from claimwise.gates.counts import ItemRow
from claimwise.gates.rules import GateRule
from claimwise.store import Store

PREVIOUS: Final = "previous"
BEST: Final = "best"
NO_ANCHOR: Final = "none"
MOST_ANCHORS: Final = 100  # earlier runs among which the best is sought


def find_anchor(
    store: Store,
    rule: GateRule,
    run_id: str,
    previous: str,
    measure: Callable[[str], Mapping[str, ItemRow]],
) -> str | None:
    """Return the run that a slow slide is held against; None when it is the previous one.

    It is the one that the gate names, or the best by the gate's own metric among the latest
    earlier runs of the same system on the same corpus version that share at least half of this
    run's items with it. ``measure`` returns the measured items of a run.

    Raises:
        MetricError: the gate names a run that can't be compared with.
    """
    gate = rule.gate
    if gate.anchor == NO_ANCHOR:
        return None
    if gate.anchor != BEST:
        pinned = replace(rule, gate=msgspec.structs.replace(gate, baseline=gate.anchor))
        found = find_baseline(store, pinned, run_id)
        return None if found == previous else found
    own = measure(run_id)
    rated = []
    for earlier in _list_earlier(store, run_id)[:MOST_ANCHORS]:
        items = measure(earlier)
        units = sum(row.units for row in items.values())
        if units and 2 * len(items.keys() & own.keys()) >= len(own):
            rated.append((sum(row.hits for row in items.values()) / units, earlier))
    if not rated:
        return None
    # Of equal ones the latest: it is listed first.
    sign = 1 if rule.better == "higher" else -1
    best = max(rated, key=lambda one: sign * one[0])[1]
    return None if best == previous else best


def _list_earlier(store: Store, run_id: str) -> list[str]:
    """Return the runs of the same system and corpus version before a run, the latest first."""
    rows = store.query(
        "select e.run_id from runs as e join runs as r on r.run_id = :run_id "
        "where e.system = r.system and e.corpus_ver = r.corpus_ver "
        "and e.started_at < r.started_at order by e.started_at desc, e.run_id desc",
        {"run_id": run_id},
    )
    return [row[0] for row in rows]


def find_baseline(store: Store, rule: GateRule, run_id: str) -> str:
    """Return the baseline's id.

    ``previous`` is the run of the same system that started last before this one.

    Raises:
        MetricError: there is none, it is the run itself, or it ran on another corpus version.
    """
    gate = rule.gate
    wanted = (
        _find_previous(store, rule, run_id) if gate.baseline == PREVIOUS else gate.baseline or ""
    )
    runs: dict[str, str] = dict(store.query("select run_id, corpus_ver from runs"))
    if wanted not in runs:
        raise MetricError(
            f"gate {gate.name}: {describe_unknown('run', wanted, sorted(runs), where=store.place)}"
        )
    if wanted == run_id:
        raise MetricError(
            f"gate {gate.name}: the baseline {wanted!r} is the run itself; check another run, or "
            "name another baseline"
        )
    if runs[wanted] != runs[run_id]:
        raise MetricError(
            f"gate {gate.name}: the baseline {wanted!r} used corpus {runs[wanted]!r} and run "
            f"{run_id!r} used {runs[run_id]!r}, so their difference is not the system's alone; "
            f"`claimwise drift {wanted} {run_id}` explains it"
        )
    return str(wanted)


def _find_previous(store: Store, rule: GateRule, run_id: str) -> str:
    """Return the run of the same system that started last before a run."""
    rows = store.query(
        "select e.run_id from runs as e join runs as r on r.run_id = :run_id "
        "where e.system = r.system and e.started_at < r.started_at "
        "order by e.started_at desc, e.run_id desc limit 1",
        {"run_id": run_id},
    )
    if not rows:
        raise MetricError(
            f"gate {rule.gate.name}: the system of {run_id!r} has no run before it to compare "
            "with; import one, or name a baseline"
        )
    return str(rows[0][0])
