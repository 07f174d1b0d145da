"""Reads the gates of ``claimwise.toml``: a wrong one stops gates, and no other command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

from claimwise.config import FILE_NAME, Project
from claimwise.errors import ConfigError, describe_unknown
from claimwise.gates.values import Gate

MOST_LOOKS = 100_000
_UNKNOWN_KEY: Final = re.compile(
    r"Object contains unknown field `(?P<key>.*)` - at `\$\[(?P<gate>\d+)\]`"
)


def read_gates(project: Project) -> tuple[Gate, ...]:
    """Return the gates of a project, each with a name.

    Raises:
        ConfigError: a gate has a key or value that nobody knows, contradicts itself, or shares its
            name with another.
    """
    path = project.folder / FILE_NAME
    try:
        gates = msgspec.convert(project.config.gates, tuple[Gate, ...])
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {_describe_invalid(str(error))}") from error
    return _name_gates(path, gates)


def _describe_invalid(message: str) -> str:
    """Say what is wrong with the gates as they were written; the converter counts from 0."""
    unknown = _UNKNOWN_KEY.fullmatch(message)
    if unknown is None:
        return f"[[gates]] {message}; docs/gates.md lists the keys"
    told = describe_unknown("key", unknown["key"], Gate.__struct_fields__)
    return f"[[gates]] {int(unknown['gate']) + 1}: {told}"


def _name_gates(path: Path, gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
    """Give a name to every gate that has none, and refuse gates that contradict themselves."""
    named: dict[str, Gate] = {}
    for number, gate in enumerate(gates, start=1):
        name = gate.name or "-".join(
            part for part in (gate.metric, gate.member, *gate.by, *gate.where.values()) if part
        )
        wrong = _find_contradiction(gate)
        if wrong:
            raise ConfigError(f"{path}: [[gates]] {number} ({name}): {wrong}")
        if name in named:
            raise ConfigError(
                f"{path}: [[gates]] {number}: there is another gate named {name!r}; rename one"
            )
        named[name] = msgspec.structs.replace(gate, name=name)
    return tuple(named.values())


def _find_contradiction(gate: Gate) -> str | None:
    """Say what of a gate can't be meant, or None."""
    return _check_limits(gate) or _check_looks(gate) or _check_shares(gate)


def _check_limits(gate: Gate) -> str | None:
    given = {n: v for n, v in (("min", gate.min), ("max", gate.max)) if v is not None}
    if len(given) == 2:
        if given["min"] > given["max"]:
            return f"min = {gate.min} is above max = {gate.max}; no rate can pass"
        return "has both min and max; write two gates, each with one"
    if gate.baseline is None and gate.margin is not None:
        return 'has margin but no baseline; add baseline = "previous" or a run'
    if gate.anchor != "best" and gate.baseline != "previous":
        return 'has anchor without baseline = "previous"; add it, or remove anchor'
    if gate.baseline is not None and given:
        return f"has both baseline and {min(given)}; write two gates, one with each"
    if gate.baseline is None and not given:
        return "has no limit; add min, max or baseline"
    for name, value in given.items():
        if not 0 < value < 1:
            return (
                f"{name} must be above 0 and below 1, not {value:g}: otherwise every run passes, "
                "or none can"
            )
    return None


def _check_looks(gate: Gate) -> str | None:
    """Say what is wrong with how often a gate looks."""
    looks, alarms = gate.looks_per_year, gate.false_alarms_per_year
    if looks is None and alarms is None:
        return None
    if looks is None or alarms is None:
        missing = "looks_per_year" if looks is None else "false_alarms_per_year"
        return f"has only half of a budget; add {missing}"
    if gate.looks != 1:
        return "has both looks and a budget of false alarms; keep one"
    if not 1 <= looks <= MOST_LOOKS:
        return f"looks_per_year must be 1 to {MOST_LOOKS:,}, not {looks:g}"
    if not 0.001 <= alarms <= 100:
        return f"false_alarms_per_year must be 0.001 to 100, not {alarms:g}"
    return None


def _check_shares(gate: Gate) -> str | None:
    for name, value, allowed, expected in (
        ("margin", gate.tolerance, 0 <= gate.tolerance < 1, "at least 0 and below 1"),
        (
            "confidence",
            gate.confidence,
            0.5 < gate.confidence <= 0.9999,
            "above 0.5 and at most 0.9999",
        ),
        (
            "min_agreement",
            gate.min_agreement,
            0 <= gate.min_agreement < 1,
            "at least 0 and below 1",
        ),
        ("looks", gate.looks, 1 <= gate.looks <= MOST_LOOKS, f"1 to {MOST_LOOKS:,}"),
        ("min_items", gate.min_items, gate.min_items >= 2, "2 or more"),
    ):
        if not allowed:
            return f"{name} must be {expected}, not {value:g}"
    return None


_ABSTENTION = ("correct_abstention", "over_refusal")


def name_abstention(gate: Gate) -> str | None:
    """Return which half of the abstention pair a gate is about, if it is about one."""
    name = gate.member if gate.metric == "abstention" else gate.metric
    return name if name in _ABSTENTION else None


def name_twin(gate: Gate) -> str | None:
    """Return the other half of the abstention pair, for a gate that is about one of them."""
    half = name_abstention(gate)
    return None if half is None else _ABSTENTION[half == _ABSTENTION[0]]
