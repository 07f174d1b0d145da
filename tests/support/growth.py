"""Tells whether work grows with its input and not with the square of it, on a busy machine too."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

_NOISE = 0.02  # seconds of the processor; below that, times say nothing


def grows_evenly(work: Callable[[int], Callable[[], object]], size: int, *, times: int = 4) -> bool:
    """Tell whether ``times`` as much input takes about ``times`` as long, in the best of five.

    Half of the excess of a quadratic method, which takes times² as long, is let pass. The first run
    counts too, though something may be loaded in it: the faster one of the smaller input's does.

    Args:
        work: prepares input of a size, and returns what is to be done with it.
        size: of the smaller input.
        times: how often the larger one is as large.
    """
    small, large = work(size), work(size * times)
    most = (times + times**2) / 2
    for _ in range(5):
        least = min(measure_cpu(small) for _ in range(2))
        if measure_cpu(large) < most * least + _NOISE:
            return True
    return False


def measure_cpu(work: Callable[[], object]) -> float:
    """Return the processor's time for it in this thread: what others run is not counted.

    Nor is the collector of garbage, which in a long run of tests looks through all that they left,
    nor coverage, which has seen these lines when they ran for the first time.
    """
    tracer = sys.gettrace()
    sys.settrace(None)
    gc.disable()
    try:
        begun = time.thread_time()
        work()
        return time.thread_time() - begun
    finally:
        gc.enable()
        sys.settrace(tracer)
