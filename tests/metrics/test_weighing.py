"""Weights by rounds: unbiased whatever the designs are; weights side by side are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from claimwise.calibration.queries import RoundSample
from claimwise.calibration.weights import weigh_samples

Flags = NDArray[np.bool_]
CLAIMS = 300
SAMPLES = 1_500
FIRST = {"doubtful": 40, "sure": 15}  # claims drawn of each stratum
SECOND = {"long": 60, "short": 8}
NUMBERS = np.arange(CLAIMS)
SUPPORTED = NUMBERS % 10 < 8  # the truth: 0.8
STRATA = {
    "first": np.where(SUPPORTED & (NUMBERS % 7 > 0), "sure", "doubtful"),
    "second": np.where(SUPPORTED ^ (NUMBERS % 5 == 0), "short", "long"),
}


def key(number: int) -> tuple[str, str]:
    return f"i{number // 3}", f"c{number}"


def draw_sample(
    strata: NDArray[np.str_], sizes: dict[str, int], free: Flags, generator: np.random.Generator
) -> tuple[RoundSample, dict[int, float]]:
    """Draw from the free claims; return the sample, and each drawn claim's chance."""
    labelled: dict[tuple[str, str], str] = {}
    chances: dict[int, float] = {}
    for name, size in sizes.items():
        members = np.flatnonzero((strata == name) & free)
        drawn = generator.permutation(members)[:size]
        labelled |= {key(n): name for n in drawn.tolist()}
        chances |= dict.fromkeys(drawn.tolist(), len(drawn) / len(members))
    counted = {name: int(((strata == name) & free).sum()) for name in sizes}
    left_out = tuple(key(n) for n in np.flatnonzero(~free).tolist())
    return RoundSample("r", counted, labelled, left_out), chances


def find_share(weights: dict[int, float]) -> float:
    return sum(w for n, w in weights.items() if SUPPORTED[n]) / sum(weights.values())


@pytest.mark.parametrize("again", [False, True])
def test_two_rounds_of_different_designs_are_unbiased(again: bool) -> None:
    """The second round leaves out what has a label, or draws from all claims again.

    Beside it the weights side by side, each label's own 1 / chance, the later one's where there
    are two: what was done before.
    """
    generator = np.random.Generator(np.random.PCG64(7))
    found, pooled = [], []
    numbers = {key(n): n for n in range(CLAIMS)}
    for _ in range(SAMPLES):
        every = np.ones(CLAIMS, dtype=bool)
        first, chances = draw_sample(STRATA["first"], FIRST, every, generator)
        if not again:
            every[list(chances)] = False
        second, later = draw_sample(STRATA["second"], SECOND, every, generator)
        weights = weigh_samples([first, second])
        found.append(find_share({numbers[name[1:]]: w for name, w in weights.items()}))
        pooled.append(find_share({n: 1 / chance for n, chance in (chances | later).items()}))
    truth = float(SUPPORTED.mean())
    error = float(np.std(found)) / SAMPLES**0.5
    assert abs(np.mean(found) - truth) < 4 * error + 0.002  # a ratio's bias is of order 1 / labels
    assert abs(np.mean(pooled) - truth) > 0.02


def test_weights_add_up_to_the_run() -> None:
    generator = np.random.Generator(np.random.PCG64(1))
    every = np.ones(CLAIMS, dtype=bool)
    first, chances = draw_sample(STRATA["first"], FIRST, every, generator)
    every[list(chances)] = False
    second, _ = draw_sample(STRATA["second"], SECOND, every, generator)
    weights = weigh_samples([first, second])
    assert sum(weights.values()) == pytest.approx(CLAIMS)
    assert len(weights) == sum(FIRST.values()) + sum(SECOND.values())


def test_one_round_weighs_by_what_was_labelled_not_by_what_was_drawn() -> None:
    sample = RoundSample(
        "r", {"a": 90, "b": 10}, {key(0): "a", key(1): "a", key(2): "b"}, (key(9),)
    )
    assert weigh_samples([sample]) == {
        ("r", *key(0)): 45, ("r", *key(1)): 45, ("r", *key(2)): 10, ("r", *key(9)): 1
    }  # fmt: skip


def test_a_claim_of_two_rounds_counts_once_with_the_average_of_its_weights() -> None:
    """Both rounds are worth two labels, so that each counts half."""
    one = RoundSample("r", {"a": 10}, {key(0): "a", key(1): "a"}, ())
    two = RoundSample("r", {"b": 10}, {key(0): "b", key(2): "b"}, ())
    assert weigh_samples([one, two]) == {
        ("r", *key(0)): 5, ("r", *key(1)): 2.5, ("r", *key(2)): 2.5
    }  # fmt: skip


def test_rounds_share_by_what_their_labels_are_worth() -> None:
    """One label says as much as one, three as much as three, and unequal weights cost some."""
    one = RoundSample("r", {"a": 10}, {key(0): "a"}, ())
    three = RoundSample("r", {"a": 10}, {key(n): "a" for n in (1, 2, 3)}, ())
    assert weigh_samples([one, three]) == {("r", *key(n)): 2.5 for n in range(4)}
    uneven = RoundSample("r", {"a": 9, "b": 1}, {key(1): "a", key(2): "b"}, ())
    worth = 100 / 82
    assert weigh_samples([one, uneven])["r", *key(1)] == pytest.approx(9 * worth / (1 + worth))


def test_a_round_with_an_empty_stratum_waits() -> None:
    whole = RoundSample("r", {"a": 10}, {key(0): "a"}, ())
    begun = RoundSample("r", {"a": 5, "b": 5}, {key(1): "a"}, ())
    assert weigh_samples([whole, begun]) == {("r", *key(0)): 10, ("r", *key(1)): 0}
    assert weigh_samples([begun]) == {("r", *key(1)): 5}
    skipped = RoundSample("r", {"a": 19, "b": 1}, {key(1): "a"}, ())
    assert weigh_samples([whole, skipped])["r", *key(1)] == 9.5
    unbegun = RoundSample("r", {"a": 10}, {}, ())
    assert weigh_samples([unbegun]) == {}


def test_runs_are_weighed_apart() -> None:
    one = RoundSample("r", {"a": 10}, {key(0): "a"}, ())
    other = RoundSample("s", {"a": 99}, {key(0): "a"}, ())
    assert weigh_samples([one, other]) == {("r", *key(0)): 10, ("s", *key(0)): 99}


STRATUM = st.tuples(st.integers(1, 8), st.integers(0, 30))  # labelled, and how many more there are


@given(st.lists(st.lists(STRATUM, min_size=1, max_size=4), min_size=1, max_size=3))
def test_whatever_the_rounds_weights_add_up(rounds: list[list[tuple[int, int]]]) -> None:
    """All rounds of the same 200 claims: a stratum takes up what the others leave."""
    samples = []
    for strata in rounds:
        sizes = [labelled + more for labelled, more in strata]
        sizes[-1] += 200 - sum(sizes)
        names = [f"s{n}" for n, (count, _) in enumerate(strata) for _ in range(count)]
        counted = {f"s{n}": size for n, size in enumerate(sizes)}
        labelled = {key(n): name for n, name in enumerate(names)}
        samples.append(RoundSample("r", counted, labelled, ()))
    weights = weigh_samples(samples)
    assert sum(weights.values()) == pytest.approx(200)
    assert all(weight > 0 for weight in weights.values())
