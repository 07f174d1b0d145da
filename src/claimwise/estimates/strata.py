"""Cuts a window's claims into strata: the judge's verdict × how sure it was."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from claimwise.labelling.draw import BANDS, OTHERS, find_cuts

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Strata = NDArray[np.int8]

SUPPORTED = "supported"
_PLACES = 3  # of a confidence: finer ones part no claims that differ


def assign_strata(approved: Flags, confidences: Floats) -> tuple[Strata, tuple[str, ...]]:
    """Return every claim's stratum, as its place among the names, and the names.

    Verdicts other than supported are taken together, as in small rounds: they differ little in what
    people call supported. Both kinds are cut by confidence into three bands of equal doubt
    (`find_cuts`), so that the few doubtful claims don't share a band with many sure ones. Claims
    without a confidence (NaN) are a stratum of their verdict's own.
    """
    found = np.zeros(len(approved), dtype=np.int8)
    names: list[str] = []
    for kind, inside in ((SUPPORTED, approved), (OTHERS, ~approved)):
        unknown = inside & np.isnan(confidences)
        known = inside & ~unknown
        found[unknown] = len(names)
        rounded = np.round(confidences[known], _PLACES)
        values, counts = np.unique(rounded, return_counts=True)
        cuts = find_cuts(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        found[known] = len(names) + 1 + (np.searchsorted(cuts, rounded) if cuts else 0)
        names += [kind, *(f"{kind}/{band}" for band in BANDS)]
    return found, tuple(names)
