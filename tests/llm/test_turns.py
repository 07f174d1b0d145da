from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.llm.limits import Budget, ConcurrencyLimiter

EVENTS = st.lists(st.sampled_from(["replied", "overloaded", "failed"]), max_size=200)


@given(st.integers(1, 100), EVENTS)
def test_the_limit_stays_between_one_and_the_most(most: int, events: list[str]) -> None:
    gate = ConcurrencyLimiter(most)
    for event in events:
        entered = gate.enter()
        assert entered is not None
        gate.leave(entered, overloaded=event == "overloaded", replied=event == "replied")
        assert 1 <= gate.limit <= most


def test_a_burst_of_overloads_halves_once() -> None:
    gate = ConcurrencyLimiter(16)
    entered = [gate.enter() for _ in range(16)]
    for moment in entered:
        assert moment is not None
        gate.leave(moment, overloaded=True, replied=False)
    assert gate.limit == 8
    later = gate.enter()
    assert later is not None
    gate.leave(later, overloaded=True, replied=False)
    assert gate.limit == 4


def test_after_an_overload_a_round_of_replies_adds_one() -> None:
    gate = ConcurrencyLimiter(16)
    moment = gate.enter()
    assert moment is not None
    gate.leave(moment, overloaded=True, replied=False)
    for _ in range(9):
        moment = gate.enter()
        assert moment is not None
        gate.leave(moment, overloaded=False, replied=True)
    assert gate.limit == 9


def test_stopped_gates_let_nobody_in() -> None:
    gate, budget = ConcurrencyLimiter(1), Budget(1.0)
    assert gate.enter() is not None
    gate.stop()
    assert gate.enter() is None
    budget.reserve(0.8)
    budget.stop()
    assert budget.reserve(0.8), "whoever waited goes on to the gate, which says no"


@given(
    st.floats(0.1, 10.0),
    st.lists(st.tuples(st.floats(0.0, 3.0), st.none() | st.floats(0.0, 1.0)), max_size=60),
)
def test_the_ceiling_is_never_passed(
    ceiling: float, requests: list[tuple[float, float | None]]
) -> None:
    """A bill is a share of the worst case; None: there was no bill."""
    budget = Budget(ceiling)
    for worst, share in requests:
        if budget.reserve(worst):
            budget.settle(worst, None if share is None else share * worst)
        else:
            assert budget.billed + budget.unsure + worst > ceiling
        assert budget.billed + budget.unsure <= ceiling + 1e-6


def test_without_a_ceiling_everything_is_counted() -> None:
    budget = Budget(None)
    assert budget.reserve(1e9)
    budget.settle(1e9, 3.0)
    assert (budget.billed, budget.unsure) == pytest.approx((3.0, 0.0))
