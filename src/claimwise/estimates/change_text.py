"""Compares two windows by their names, and says what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from claimwise.errors import ClaimwiseError
from claimwise.estimates.change import Part, WindowChange, compare_windows
from claimwise.estimates.periods import parse_period
from claimwise.estimates.queries import read_groups, read_window
from claimwise.estimates.report import WindowReport, describe_next_step, to_document
from claimwise.report.format import (
    clean,
    show_count,
    show_exact_percent,
    show_percent,
    show_percent_range,
    show_points,
)
from claimwise.store import Store
from claimwise.types.results import Settings

SCHEMA: Final = "claimwise.window-change.v1"


def compare_named_windows(
    store: Store,
    names: tuple[str, str],
    system: str | None,
    settings: Settings,
    *,
    by: str | None = None,
) -> WindowChange:
    """Compare two windows that a user names, by the groups of a column where one is given.

    Raises:
        ClaimwiseError: a window can't be read, or both are the same; the column is unknown.
    """
    now = datetime.now(UTC).replace(tzinfo=None)
    base, new = (parse_period(name, now) for name in names)
    if (base.start, base.until) == (new.start, new.until):
        raise ClaimwiseError(f"Both windows are {base.name!r}. Name two different windows.")
    read = [read_window(store, system, one, cluster=settings.cluster) for one in (base, new)]
    groups = None
    if by is not None:
        groups = (read_groups(store, read[0], by), read_groups(store, read[1], by))
    return compare_windows(read[0], read[1], confidence=settings.confidence, by=by, groups=groups)


def render_change(change: WindowChange, form: str) -> str:
    """Return a change as text (also for Markdown and HTML readers) or JSON."""
    if form == "json":
        return json.dumps(to_change_document(change), ensure_ascii=False, indent=2)
    if form == "html":
        raise ClaimwiseError("--unpaired prints text, Markdown or JSON. Choose one of those.")
    lines = list(_describe(change))
    return "\n".join(["```", *lines, "```"] if form == "markdown" else lines)


def _describe(change: WindowChange) -> Iterator[str]:
    pair = (change.base, change.new)
    width = max(len(one.data.period.name) for one in pair)
    if change.change is None:
        yield "No change can be given: one of the windows has no rate."
    else:
        yield _say_change(change)
    yield ""
    yield from (f"  {one.data.period.name:<{width}}  {_describe_one(one)}" for one in pair)
    if change.mix is not None and change.within is not None:
        yield ""
        yield f"  of which the mix of {clean(change.by)}: {_show_part(change.mix)}"
        yield f"  and within those groups: {_show_part(change.within)}"
        yield ""
        yield from _describe_groups(change)
    elif change.by is not None and change.change is not None:
        yield ""
        yield "  The mix needs a corrected rate in both windows."
    if change.shared_clusters:
        yield ""
        yield (
            f"  {show_count(change.shared_clusters)} clusters lie in both windows; the range "
            "allows for it."
        )
    for one in pair:
        if step := describe_next_step(one):
            yield f"  Next for {one.data.period.name}: {step}"


def _say_change(change: WindowChange) -> str:
    part, sure = change.change, show_exact_percent(change.new.estimate.confidence)
    assert part is not None
    rates = [show_percent(one.estimate.rate) for one in (change.base, change.new)]
    word = "rose" if part.value > 0 else "fell"
    told = f"Supported claims {word} from {rates[0]} to {rates[1]}"
    if part.low <= 0 <= part.high:
        told = f"Supported claims: {rates[0]} to {rates[1]}, no clear change"
    return f"{told}: {_show_part(part)}, {sure} range"


def _show_part(part: Part) -> str:
    span = f"{show_points(part.low)} to {show_points(part.high)}"
    return f"{show_points(part.value)} points ({span})"


def _describe_one(one: WindowReport) -> str:
    found = one.estimate
    if found.rate is None:
        return f"no rate: {'; '.join(found.refusals)}"
    how = {"corrected": "corrected", "labels_only": "labels only"}[found.basis]
    return (
        f"{show_percent(found.rate)} ({show_percent_range(found.low, found.high)}), {how}, "
        f"{show_count(found.labels)} labels; judge only {show_percent(found.judge_only)}"
    )


def _describe_groups(change: WindowChange) -> Iterator[str]:
    width = max(len(clean(name)) for name in (change.by, *(one.name for one in change.groups)))
    yield f"  {clean(change.by):<{width}}  share of claims  supported"
    for one in change.groups:
        yield (
            f"  {clean(one.name):<{width}}  "
            f"{show_percent(one.base_share):>6} → {show_percent(one.new_share):<6}  "
            f"{show_percent(one.base_rate):>6} → {show_percent(one.new_rate)}"
        )


def to_change_document(change: WindowChange) -> dict[str, Any]:
    """Return a change as plain values, ready for JSON."""

    def write(part: Part | None) -> dict[str, float] | None:
        return None if part is None else asdict(part)

    return {
        "schema": SCHEMA,
        "headline": write(change.change),
        "confidence": change.new.estimate.confidence,
        "shared_clusters": change.shared_clusters,
        "by": change.by,
        "mix": write(change.mix),
        "within": write(change.within),
        "groups": [asdict(one) for one in change.groups],
        "base": to_document(change.base),
        "new": to_document(change.new),
    }
