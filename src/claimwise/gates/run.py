"""Runs a project's gates on a stored run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version

import msgspec

from claimwise.config import FILE_NAME, Project
from claimwise.errors import ConfigError, describe_unknown
from claimwise.gates import GateRule, decide_gate, gather_gate, resolve_gate
from claimwise.gates.baselines import PREVIOUS, find_anchor
from claimwise.gates.decide import add_slide, find_slide
from claimwise.gates.gather import measure_twin
from claimwise.gates.history import count_looks
from claimwise.gates.settings import name_abstention, name_twin, read_gates
from claimwise.gates.tables import RuleCountReader
from claimwise.gates.values import Gate, GateDecision, GateReport
from claimwise.metrics import load_metrics, refuse_unknown_run
from claimwise.metrics.estimate import check_labeler
from claimwise.store import Store
from claimwise.store.runs import find_latest_run


def run_gates(
    store: Store,
    project: Project,
    run_id: str | None = None,
    names: Sequence[str] = (),
    *,
    cluster: str | None = None,
) -> GateReport:
    """Decide the gates of a project on one run, the latest if none is named.

    Args:
        store: where the rows are.
        project: whose gates and metrics.
        run_id: the run.
        names: the gates; none for all. One half of the abstention pair brings the other's gate,
            where there is one; where there is none, its rate stands beside.

        cluster: what items belong to that are not independent; the project's when left out.

    Raises:
        ConfigError: there are no gates, or none of that name, or one does not fit its metric.
        MetricError: run, metric, slice or labeler are unknown, or there is nothing to decide by.
    """
    gates = _choose_gates(project, names)
    metrics = load_metrics(project.metrics_folder, project.citations)
    settings = project.settings
    rules = [
        replace(
            resolve_gate(gate, metrics, settings.labels),
            cluster=cluster or settings.cluster,
            weights=settings.weights,
        )
        for gate in gates
    ]
    with store.snapshot():
        run_id = run_id or find_latest_run(store)
        refuse_unknown_run(store, run_id)
        for rule in rules:
            check_labeler(store, rule.labels)
        gated = {name_abstention(gate) for gate in gates}
        decided = tuple(_decide(store, rule, run_id, gated) for rule in rules)
    return GateReport(run_id=run_id, store=store.place, version=version("claimwise"), gates=decided)


def _decide(store: Store, rule: GateRule, run_id: str, gated: set[str | None]) -> GateDecision:
    decision = decide_gate(gather_gate(store, rule, run_id))
    decision = _note_looks(store, decision)
    if rule.gate.baseline == PREVIOUS:
        decision = _hold_anchor(store, rule, decision)
    twin = name_twin(rule.gate)
    if twin is None or twin in gated:
        return decision
    found = measure_twin(store, rule, twin, run_id)
    return msgspec.structs.replace(decision, twin=found)


def _note_looks(store: Store, decision: GateDecision) -> GateDecision:
    """Say when a gate has looked more often than it declared: its error is spent."""
    gate = decision.gate
    if gate.looks == 1:
        return decision
    looks = count_looks(store, gate.name, decision.run_id)
    if looks <= gate.looks:
        return decision
    note = (
        f"Look {looks:,} of a gate that declares {gate.looks:,}: false alarms are likelier than "
        f"{1 - gate.confidence:.0%} by now; raise looks, or use false_alarms_per_year."
    )
    return msgspec.structs.replace(decision, notes=(*decision.notes, note))


def _hold_anchor(store: Store, rule: GateRule, decision: GateDecision) -> GateDecision:
    """Hold a run against an earlier one as well: many small drops may each pass."""
    measure = RuleCountReader(store, rule).measure
    anchor = find_anchor(store, rule, decision.run_id, decision.baseline_id or "", measure)
    if anchor is None:
        return decision
    held = replace(rule, gate=msgspec.structs.replace(rule.gate, baseline=anchor))
    return add_slide(decision, find_slide(gather_gate(store, held, decision.run_id)), anchor)


def _choose_gates(project: Project, names: Sequence[str]) -> list[Gate]:
    gates = read_gates(project)
    if not gates:
        raise ConfigError(
            f"{project.folder / FILE_NAME}: no gates yet; add one, such as [[gates]] with "
            'metric = "faithfulness" and min = 0.8 (see docs/gates.md)'
        )
    unknown = set(names) - {gate.name for gate in gates}
    if unknown:
        raise ConfigError(describe_unknown("gate", min(unknown), (gate.name for gate in gates)))
    chosen = [gate for gate in gates if not names or gate.name in names]
    halves = any(name_abstention(gate) for gate in chosen)
    return [gate for gate in gates if gate in chosen or (halves and name_abstention(gate))]
