"""What is known of a slice's items, and what it would be if the unknown turned out well or ill."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimwise.types.results import Better

Floats = NDArray[np.float64]


class ItemRow(NamedTuple):
    """One item: its rate's numerator and denominator, and how far they can be believed.

    ``unscored`` units have no verdict. ``untrusted`` ones have one by an instrument whose
    agreement with people is unknown or too low: they may not make a gate pass. ``foreign`` ones
    were judged by an instrument that judged nothing of the run that is compared with: they may
    decide nothing. Both kinds are within the denominator, and foreign ones are untrusted too.
    """

    hits: float = 0.0
    units: float = 0.0
    unscored: float = 0.0
    untrusted: float = 0.0
    foreign: float = 0.0


@dataclass(frozen=True, slots=True)
class GateCounts:
    """The items of one slice, in the order of their ids."""

    rows: Mapping[str, ItemRow] = field(default_factory=dict)
    # What items belong to that are not independent; those without stand for themselves.
    clusters: Mapping[str, str] = field(default_factory=dict)

    def table(self, items: Iterable[str] | None = None) -> Floats:
        """Return a line for each item, of all or of those named; one that is not there is zeros.

        Items of one cluster are added up in one line.
        """
        wanted = list(self.rows if items is None else items)
        rows = [self.rows.get(item, ItemRow()) for item in wanted]
        table = np.array(rows, dtype=np.float64).reshape(-1, len(ItemRow._fields))
        if not self.clusters:
            return table
        places: dict[str, int] = {}
        lines = [places.setdefault(self.clusters.get(item, item), len(places)) for item in wanted]
        sums = np.zeros((len(places), table.shape[1]))
        np.add.at(sums, lines, table)
        return sums


def imagine(table: Floats, better: Better, *, well: bool, trusting: bool) -> tuple[Floats, Floats]:
    """Return numerators and denominators if all that is unknown had turned out well, or ill.

    Unscored units become hits or misses, whichever is better or worse. Units of foreign
    instruments, and unless ``trusting`` those of untrusted ones, are turned over as far as they
    go. What comes out are the ends between which the whole data must lie.
    """
    hits, units, unscored, untrusted, foreign = table.T
    doubted = foreign if trusting else np.maximum(untrusted, foreign)
    if well == (better == "higher"):
        hits = np.minimum(units, hits + doubted) + unscored
    else:
        hits = np.maximum(0.0, hits - doubted)
    return hits, units + unscored
