"""How far a command has come that judges many things, one after the other or at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeProgress:
    """How far it has come: ``done`` of ``total`` answers, items or claims."""

    total: int
    done: int
    unscored: int = 0  # claims without a verdict so far
    note: str = ""  # what is waited for, as “batch: 3 of 10 requests done”


Watch = Callable[[JudgeProgress], None]
