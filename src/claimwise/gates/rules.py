"""Turns a gate as it was written into a rule that fits the metric it names."""

from __future__ import annotations

from dataclasses import dataclass

from claimwise.errors import ConfigError
from claimwise.gates.values import Gate
from claimwise.metrics import Metric, find_metric
from claimwise.report.format import show_exact_percent
from claimwise.types.results import Better, Weights


@dataclass(frozen=True, kw_only=True, slots=True)
class GateRule:
    """A gate and the metric, the member and the direction that it is about."""

    gate: Gate
    metric: Metric
    member: str | None
    better: Better
    labels: str
    cluster: str | None = None  # what items belong to that are not independent
    weights: Weights | None = None  # what items count for; None: all alike

    @property
    def by(self) -> tuple[str, ...]:
        """The slice columns; the series is none, as the member is chosen."""
        return tuple(name for name in dict.fromkeys(self.gate.by) if name != self.metric.series)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that counts are kept by: slices, conditions, the series."""
        series = (self.metric.series,) if self.metric.series else ()
        return tuple(dict.fromkeys((*self.by, *self.gate.where, *series)))

    def describe(self) -> str:
        """Say the rule in words."""
        gate = self.gate
        if gate.relative:
            told = f"not worse than {gate.baseline}, margin {describe_margin(gate.tolerance)}"
        else:
            most = "at most" if gate.min is None else "at least"
            told = f"{most} {show_exact_percent(gate.limit)}"
        where = ", ".join(f"{name}={value}" for name, value in gate.where.items())
        by = " × ".join(self.by)
        return told + (f" in every {by}" if by else "") + (f" where {where}" if where else "")


def describe_margin(margin: float) -> str:
    """Write the drop that a gate allows: ``5 points``."""
    return f"{100 * margin:.6g} {'point' if round(100 * margin, 6) == 1 else 'points'}"


def resolve_gate(gate: Gate, metrics: dict[str, Metric], labels: str) -> GateRule:
    """Fit a gate to its metric; ``labels`` is the project's policy, for gates without one.

    Raises:
        MetricError: there is no such metric.
        ConfigError: member or limit do not fit the metric.
    """
    metric = find_metric(metrics, gate.metric)
    member = _find_member(gate, metric)
    better = metric.better_for(member)
    limit: Better | None = None
    if not gate.relative:
        limit = "higher" if gate.min is not None else "lower"
    if better and limit and better != limit:
        wanted, found = ("min", "max") if better == "higher" else ("max", "min")
        raise ConfigError(
            f"[[gates]] {gate.name}: {better} is better for {member or metric.name}; use {wanted} "
            f"instead of {found}"
        )
    direction = better or limit
    if direction is None:
        raise ConfigError(
            f"[[gates]] {gate.name}: {member or metric.name} doesn't say whether higher or lower "
            "is better, so it can't be compared with a baseline; use min or max, or add "
            "-- better: … to the metric's header"
        )
    return GateRule(
        gate=gate, metric=metric, member=member, better=direction, labels=gate.labels or labels
    )


def _find_member(gate: Gate, metric: Metric) -> str | None:
    """Return the member of the series; an alias of a metric names one by itself."""
    if metric.series is None:
        if gate.member is None:
            return None
        raise ConfigError(
            f"[[gates]] {gate.name}: {metric.name} has no members; remove member = {gate.member!r}"
        )
    alias = gate.metric if gate.metric != metric.name else None
    if gate.member and alias and gate.member != alias:
        raise ConfigError(
            f"[[gates]] {gate.name}: metric = {alias!r} and member = {gate.member!r} contradict "
            "each other; keep one"
        )
    member = gate.member or alias
    if member is None:
        listed = ", ".join(metric.notes) or f"a value of {metric.series}"
        raise ConfigError(
            f"[[gates]] {gate.name}: {metric.name} has several rates; add member = one of: {listed}"
        )
    return member
