"""A gate's rule and reasons as pages show them: in percent, like the figures beside them.

On the command line and in files they keep the fractions of ``claimwise.toml``.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from claimwise.gates.report import describe_gate, describe_report, name_decided_slice
from claimwise.gates.values import FAILED, GateDecision, GateReport, SliceDecision
from claimwise.report.format import clean, show_percent

# A fraction that is no part of a name or a version.
_FRACTION = re.compile(r"(?<![\w.:/@-])[01]\.\d+(?![\w:/@-]| points)")
_LIMIT = re.compile(r" \(limit [^)]*\)")  # where the rule has just been told
_MEASURED = 5  # characters, as 0.742; shorter ones come from the settings


def name_gate(decision: GateDecision) -> str:
    """Say which gate this is and what it asks for."""
    return describe_gate(replace(decision, rule=_show_shares(decision, decision.rule)))


def give_reason(decision: GateDecision, found: SliceDecision) -> str:
    """Say why a gate decided a group as it did."""
    return _show_shares(decision, clean(found.reason))


def explain_pass(gates: GateReport) -> str:
    """Say what a run that can be shipped has passed."""
    if gates.outcome == "inconclusive" or len(gates.gates) > 1:
        return describe_report(gates)
    return name_gate(gates.gates[0])


def explain_block(gates: GateReport) -> str:
    """Say which gate stops a run, where, and why; and how many more do."""
    blocking = [one for one in gates.gates if one.blocks]
    outcome = "fail" if gates.exit_code == FAILED else "inconclusive"
    first = next(one for one in blocking if one.outcome == outcome)
    others = len(blocking) - 1
    verb = "does" if others == 1 else "do"
    more = f" {others} more of {len(gates.gates)} gates {verb} not pass." if others else ""
    return f"Gate {_explain(first, outcome)}.{more}"


def _explain(decision: GateDecision, outcome: str) -> str:
    """Say what a gate asks for, and what the first group with an outcome has instead."""
    title = clean(decision.title).replace("_", " ")
    rule = f"{title} must be {_show_shares(decision, clean(decision.rule))}"
    told = f"{clean(decision.gate.name)}: {rule}"
    found = next((one for one in decision.slices if one.outcome == outcome), None)
    if found is None:
        return told
    reason = _LIMIT.sub("", give_reason(decision, found))
    if found.slice:
        return f"{told}; {name_decided_slice(found)}: {reason}"
    is_rate = outcome == "fail" and not decision.gate.relative
    return f"{told} and is {reason}" if is_rate else f"{told}; {reason}"


def _show_shares(decision: GateDecision, text: str) -> str:
    """Write the fractions of a text as percent; those of a gate that compares, as points."""
    return _FRACTION.sub(_show_points if decision.gate.relative else _show_share, text)


def _show_share(found: re.Match[str]) -> str:
    value = float(found[0])
    return show_percent(value) if len(found[0]) >= _MEASURED else f"{round(100 * value, 1):g}%"


def _show_points(found: re.Match[str]) -> str:
    return f"{round(100 * float(found[0]), 1):g} points"
