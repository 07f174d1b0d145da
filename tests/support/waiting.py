"""Waits for what a test is waiting for, and says so when it does not come."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Seconds after which something is broken, not slow: other programs may keep all cores busy.
DEADLINE = 180.0


def wait_until(condition: Callable[[], T], what: str, *, seconds: float = DEADLINE) -> T:
    """Ask again and again until the answer is true, and return it.

    Args:
        condition: what is asked, a few hundred times per second at most.
        what: the condition in words, for whoever reads that it was never met.
        seconds: when to give up.
    """
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"waited {seconds:g} s in vain until {what}"
        time.sleep(0.005)
    return found
