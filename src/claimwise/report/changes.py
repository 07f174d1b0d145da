"""How changes and pairs of runs are written, in one style for every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from claimwise.report.format import MISSING, clean, clean_value, pluralize, show_points

RUN_FIELDS: Final = {
    "system": "system",
    "model": "model",
    "prompt_ver": "prompt",
    "retriever_ver": "retriever",
    "corpus_ver": "corpus",
    "started_at": "started",
}
_MOST_LISTED: Final = 10


def show_change(value: float | None) -> str:
    """Write a change in percentage points: ``+3.4``, and never ``−0.0``."""
    return MISSING if value is None else show_points(value)


def show_change_range(low: float | None, high: float | None) -> str:
    """Write the range of a change in percentage points: ``−2.1 to +8.8``."""
    return MISSING if low is None or high is None else f"{show_points(low)} to {show_points(high)}"


def show_ranged_change(value: float | None, bounds: tuple[float, float] | None) -> str:
    """Write a change in percentage points with its range: ``+4.2 (+1.1 to +7.3)``."""
    if value is None or bounds is None:
        return show_change(value)
    return f"{show_change(value)} ({show_change_range(*bounds)})"


def list_ids(ids: Sequence[str]) -> str:
    """Write some ids, and how many more there are."""
    shown = ", ".join(clean(one) for one in ids[:_MOST_LISTED])
    more = len(ids) - _MOST_LISTED
    return f"{shown} and {more:,} more" if more > 0 else shown


def describe_one_sided(run: Mapping[str, str | None], ids: Sequence[str]) -> str:
    """Say which items only one of the runs was asked."""
    counted = pluralize(len(ids), "item")
    return f"{counted} in {clean(run.get('run_id'))} alone: {list_ids(ids)}"


def describe_side(run: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """List what is known of a run, by name."""
    return [(name, clean(run.get(key))) for key, name in RUN_FIELDS.items()]


def name_slice(values: Mapping[str, str | None], *, without: str | None = None) -> str:
    """Write a slice: ``query_type=aggregation, stakes=high``; "overall" without columns."""
    parts = [
        f"{clean(name)}={clean_value(value)}" for name, value in values.items() if name != without
    ]
    return ", ".join(parts) or "overall"
