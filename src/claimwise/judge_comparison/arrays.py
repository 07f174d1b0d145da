"""What each claim counts for in a mean over labels and sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


def share_claims(
    supported: NDArray[np.bool_], weights: Floats, sets: Numbers
) -> tuple[Floats, Numbers]:
    """Return each claim's share of the balanced accuracy, and its cell: its set and label.

    Balanced accuracy is the mean over sets of the mean of sensitivity and specificity, so it is
    the sum of the shares of the claims that are judged rightly. Sets whose claims are all of one
    kind have neither figure: their claims have the share 0.
    """
    cells = (2 * sets + supported).astype(np.intp)
    held = np.bincount(cells, weights, minlength=2 * int(sets.max(initial=-1)) + 2)
    whole = (held[0::2] > 0) & (held[1::2] > 0)
    if not whole.any():
        return np.zeros(len(weights)), cells
    shares = np.where(whole[sets], weights / held[cells] / (2 * whole.sum()), 0.0)
    return shares, cells
