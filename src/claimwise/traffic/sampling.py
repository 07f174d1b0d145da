"""Chooses which answers of live traffic are kept.

The choice goes by a hash of the trace's id alone. So whoever reads the same traces, in any order,
on any machine and later again, chooses the same; and what a low rate takes, a higher one takes too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import NamedTuple

from claimwise.config import SampleRule

# The rule that takes what no rule of the project names.
EVERYTHING = SampleRule(name="everything", rate=1.0)
_RECIPE = b"claimwise traffic 1\0"
_TURN = "#"


class SamplingDecision(NamedTuple):
    """What sampling said of an answer: by which rule, with what probability, and whether."""

    rule: str
    rate: float
    taken: bool


def draw(trace_id: str) -> float:
    """Return a trace's number between 0 and 1; a rate takes the traces whose number is below it."""
    digest = sha256(_RECIPE + trace_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) / 2**64


def choose(
    trace_id: str, properties: Mapping[str, str], rules: Sequence[SampleRule]
) -> SamplingDecision:
    """Return the choice of the first rule that fits; turns of one trace (``id#2``) share it."""
    rule = next((one for one in rules if _fits(one, properties)), EVERYTHING)
    return SamplingDecision(rule.name, rule.rate, draw(trace_id.partition(_TURN)[0]) < rule.rate)


def _fits(rule: SampleRule, properties: Mapping[str, str]) -> bool:
    """Tell whether every property that a rule names has one of its values."""
    for name, wanted in rule.where.items():
        patterns = (wanted,) if isinstance(wanted, str) else wanted
        value = properties.get(name)
        if value is None or not any(fnmatchcase(value, pattern) for pattern in patterns):
            return False
    return True
