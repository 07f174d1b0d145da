"""Counts the work of a function: the same on a busy machine and on an idle one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class TooMuchWorkError(Exception):
    """A function did more than it was allowed; it was stopped there."""


def count_steps(work: Callable[[], object], most: int) -> int:
    """Return how many instructions of Python a function executes, here and in all it calls.

    What a built-in function does counts as one, whatever it is given.

    Raises:
        TooMuchWorkError: they are more than ``most``.
    """
    steps = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if event == "opcode":
            steps += 1
            if steps > most:
                raise TooMuchWorkError(f"more than {most:,} steps")
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps
