"""Has the judge changed? Frozen claims that people labelled, judged again every week.

The system has no part in anchors: their texts never change. Where the judge's verdicts on them
move, the judge moved, and a rate of live traffic that rests on it alone means nothing until people
have labelled again.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from claimwise.monitoring.sequential import Array

ENOUGH_ANCHORS: Final = 50
"""With fewer, a change of a few points can't be seen."""

BASELINE_JUDGINGS: Final = 4
"""A judge may change its mind from week to week; its usual rate is the mean of the first four."""


def compare_judgings(baseline: Array, previous: Array, now: Array) -> tuple[Array, Array]:
    """Return how far the judge's rate on the anchors has moved, and that change's standard error.

    Method: the mean change of the anchors against the mean of the first judgings. Anchors are
    fixed, so only the judge's own wavering is chance: its variance per anchor is taken from the
    first judgings, or from the last two where that is more. One wavering anchor is assumed at
    least, since a judge that repeats itself exactly would turn a single change into infinite
    evidence.

    Args:
        baseline: 1 where the judge called an anchor supported, else 0: judgings × anchors on the
            last two axes.
        previous: the judging before the latest, anchors on the last axis.
        now: the latest judging.
    """
    judgings, anchors = baseline.shape[-2:]
    change = (now - baseline.mean(axis=-2)).mean(axis=-1)
    at_first = baseline.var(axis=-2, ddof=1).mean(axis=-1)
    lately = ((now - previous) ** 2).mean(axis=-1) / 2
    variance = np.maximum(np.maximum(at_first, lately), 1 / (2 * anchors))
    return np.asarray(change), np.asarray(np.sqrt(variance / anchors * (1 + 1 / judgings)))
