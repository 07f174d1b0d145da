"""What planning an evaluation returns."""

from __future__ import annotations

import msgspec

from claimwise.types.results import Better, Weighting


class PlanRow(msgspec.Struct, frozen=True, kw_only=True):
    """How many items a slice needs, and what those it has can show.

    Items are needed in either run; ``paired`` ones are the same in both. Labels are what one run
    of that many items has to be labelled with. None: no number of items shows it (the rate has
    no room for such a drop), or, for ``sees``, too few items to say.
    """

    slice: dict[str, str | None]
    better: Better | None
    rate: float
    claims_per_item: float
    icc: float | None
    design_effect: float
    correlation: float
    items: int
    paired_items: int | None
    paired_labels: int | None
    unpaired_items: int | None
    unpaired_labels: int | None
    # The smallest drop that the items at hand would show, paired and not.
    sees_paired: float | None
    sees_unpaired: float | None
    # Which of the figures above are assumed, in words; empty when all are this project's own.
    assumed: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Items and labels needed to see a drop, overall and by slice."""

    metric: str
    title: str
    unit: str
    series: str | None
    run_id: str | None
    base_id: str | None
    by: tuple[str, ...]
    drop: float
    power: float
    confidence: float
    # The confidence of one slice, so that all of them hold together.
    slice_confidence: float
    overall: tuple[PlanRow, ...]
    slices: tuple[PlanRow, ...]
    warnings: tuple[str, ...] = ()
    weighting: Weighting | None = None  # None: all items count alike
