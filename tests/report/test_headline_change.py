"""How a headline moved, where one of the two rates is a sample of people's labels, extended."""

from __future__ import annotations

from math import hypot
from typing import Any

import pytest

from claimwise.calibration.basis import RunBasis
from claimwise.calibration.headline import Headline
from claimwise.calibration.headline_change import HeadlineChange, find_headline_change
from claimwise.metrics import load_metrics
from claimwise.store import Store
from claimwise.types.results import Settings


def make_basis(run_id: str, **changes: Any) -> RunBasis:
    values: dict[str, Any] = {
        "judgement": "grounded", "basis": "people", "rate": 0.8, "low": 0.7, "high": 0.88,
        "confidence": 0.95, "items": 50, "claims": 200, "asked": 200, "unscored": 0,
        "labels": "human", "sampling_low": 0.75, "sampling_high": 0.85,
    }  # fmt: skip
    headline = Headline(**(values | changes))
    return RunBasis(run_id, {"grounded": headline}, "default", {}, {})


CORRECTED = {
    "basis": "corrected", "rate": 0.6, "low": 0.45, "high": 0.72, "judge": "verifier:v1",
    "labels": "labeler:verifier:v1", "sampling_low": None, "sampling_high": None,
}  # fmt: skip


def find_change(store: Store, base: RunBasis, new: RunBasis) -> HeadlineChange:
    found = find_headline_change(store, load_metrics(), base, new, Settings())
    assert found is not None
    return found


@pytest.mark.parametrize("turned", [False, True])
def test_a_corrected_rate_is_compared_with_people_s_own(store: Store, turned: bool) -> None:
    """Both are what people say: separate samples, each with all that its range leaves open."""
    people, corrected = make_basis("a"), make_basis("b", **CORRECTED)
    found = find_change(store, *((corrected, people) if turned else (people, corrected)))
    down = hypot(0.6 - 0.45, 0.88 - 0.8)
    up = hypot(0.72 - 0.6, 0.8 - 0.7)
    wanted = (0.2, 0.2 - up, 0.2 + down) if turned else (-0.2, -0.2 - down, -0.2 + up)
    assert (found.change, found.low, found.high) == pytest.approx(wanted)
    assert (found.why, found.judge, found.switched) == (None, None, False)


def test_rates_corrected_by_different_judges_are_compared(store: Store) -> None:
    other = make_basis("a", **CORRECTED | {"judge": "verifier:v2", "rate": 0.7, "high": 0.8})
    found = find_change(store, other, make_basis("b", **CORRECTED))
    assert found.change == pytest.approx(-0.1)
    assert found.judge is None
    same = find_change(store, make_basis("a", **CORRECTED), make_basis("b", **CORRECTED))
    assert same.change == pytest.approx(0.0)
    assert same.judge == "verifier:v1"


def test_a_rate_without_a_range_gives_no_change(store: Store) -> None:
    bare = make_basis("a", low=None, high=None)
    found = find_change(store, bare, make_basis("b", **CORRECTED))
    assert (found.change, found.why) == (None, "as one of the two has no range")
