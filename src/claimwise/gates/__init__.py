"""Decides gates: rules of a project, counted items, one-sided bounds. Never sees a model."""

from claimwise.gates.decide import decide_gate
from claimwise.gates.gather import gather_gate
from claimwise.gates.rules import GateRule, resolve_gate

__all__ = ["GateRule", "decide_gate", "gather_gate", "resolve_gate"]
