"""The split of a movement: parts that add up, and intervals that mean something."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.comparison.decomposition import (
    BASE_ONLY,
    KEPT,
    MOVED,
    NEW_ONLY,
    Overlap,
    PairedCounts,
    Split,
    split_movement,
)
from claimwise.metrics.paired import compare_items

PAIR = st.integers(0, 6).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m)))
ROW = st.tuples(
    st.sampled_from([BASE_ONLY, NEW_ONLY, KEPT, MOVED]), PAIR, PAIR, st.integers(1, 3), PAIR,
    st.integers(0, 6),
)  # fmt: skip


def make_counts(rows: list[Any]) -> tuple[PairedCounts, Overlap]:
    group = np.array([row[0] for row in rows], dtype=np.int64)
    table = np.array([(*row[1], *row[2]) for row in rows], dtype=float).T
    base, new = group != NEW_ONLY, group != BASE_ONLY
    scale = np.where(base & new, [1 / row[3] for row in rows], 1.0)
    old = np.array([row[4] for row in rows], dtype=float).T
    again = np.minimum(np.array([row[5] for row in rows], dtype=float), old[1])
    counts = PairedCounts(
        base_hits=table[0] * base, base_units=table[1] * base,
        new_hits=table[2] * new, new_units=table[3] * new, group=group, scale=scale,
    )  # fmt: skip
    return counts, Overlap(
        old_hits=old[0], old_units=old[1], new_hits=again, new_units=old[1], share=0.7
    )


@given(st.lists(ROW, min_size=1, max_size=30), st.booleans(), st.booleans(), st.booleans())
def test_parts_add_up_to_the_whole(rows: Any, judged: bool, changed: bool, known: bool) -> None:
    counts, overlap = make_counts(rows)
    split = split_movement(
        counts, overlap if judged else None, instrument_changed=changed, evidence_known=known
    )
    if split is None:
        return
    assert sum(piece.change for piece in split.pieces) == pytest.approx(
        split.whole.change, abs=1e-12
    )
    assert split.whole.change == pytest.approx(split.new - split.base, abs=1e-12)
    causes = [cause for piece in split.pieces for cause in piece.causes]
    assert sorted(causes) == ["evidence", "instrument", "mix", "system"]
    for piece in (*split.pieces, split.whole):
        assert piece.low <= piece.change <= piece.high


def draw(sizes: dict[int, int], seed: int = 1, drop: float = 0.0) -> PairedCounts:
    generator = np.random.default_rng(seed)
    group = np.repeat(list(sizes), list(sizes.values())).astype(np.int64)
    chance = generator.beta(5, 1, len(group))
    base_units = generator.integers(1, 8, len(group)) * (group != NEW_ONLY)
    new_units = generator.integers(1, 8, len(group)) * (group != BASE_ONLY)
    return PairedCounts(
        base_hits=generator.binomial(base_units, chance).astype(float),
        base_units=base_units.astype(float),
        new_hits=generator.binomial(new_units, chance * (1 - drop)).astype(float),
        new_units=new_units.astype(float),
        group=group,
        scale=np.ones(len(group)),
    )


def by_cause(split: Split | None) -> dict[tuple[str, ...], Any]:
    assert split is not None
    return {tuple(piece.causes): piece for piece in split.pieces}


def test_without_another_cause_the_system_is_the_paired_difference() -> None:
    counts = draw({KEPT: 90}, drop=0.1)
    split = split_movement(counts)
    expected = compare_items(counts.base_hits, counts.base_units, counts.new_hits, counts.new_units)
    parts = by_cause(split)
    assert expected is not None
    system = parts["system",]
    assert (system.low, system.high) == pytest.approx(expected.interval(0.95))
    for name in ("mix", "evidence", "instrument"):
        assert (parts[name,].change, parts[name,].low, parts[name,].high) == (0, 0, 0)


def test_runs_without_a_difference_are_enclosed_as_a_comparison_does() -> None:
    ones = np.full(40, 3.0)
    same = PairedCounts(
        base_hits=ones, base_units=ones, new_hits=ones, new_units=ones,
        group=np.full(40, KEPT), scale=np.ones(40),
    )  # fmt: skip
    expected = compare_items(ones, ones, ones, ones)
    assert expected is not None
    system = by_cause(split_movement(same))["system",]
    assert (system.low, system.high) == pytest.approx(expected.interval(0.95))
    assert system.low < 0 < system.high


def test_influences_agree_with_leaving_items_out() -> None:
    """The variance by linearisation is that of the jackknife, up to terms of higher order."""
    counts = draw({KEPT: 120, MOVED: 60, BASE_ONLY: 50, NEW_ONLY: 40})
    parts = by_cause(split_movement(counts, confidence=0.95))

    def leave_out(number: int) -> dict[tuple[str, ...], float]:
        kept = np.arange(len(counts.group)) != number
        names = ("base_hits", "base_units", "new_hits", "new_units", "group", "scale")
        left = replace(counts, **{name: getattr(counts, name)[kept] for name in names})
        return {causes: piece.change for causes, piece in by_cause(split_movement(left)).items()}

    left = [leave_out(number) for number in range(len(counts.group))]
    for cause in ("system", "evidence", "mix"):
        variance = 0.0
        for group in (BASE_ONLY, NEW_ONLY, KEPT, MOVED):
            values = np.array([left[n][cause,] for n in np.flatnonzero(counts.group == group)])
            size = len(values)
            variance += (size - 1) / size * float(np.sum((values - values.mean()) ** 2))
        half = (parts[cause,].high - parts[cause,].low) / 2
        assert half == pytest.approx(1.97 * variance**0.5, rel=0.04)


def test_a_harsher_judge_is_not_blamed_on_the_system() -> None:
    counts = draw({KEPT: 400}, seed=6)
    generator = np.random.default_rng(9)
    judged = replace(
        counts, new_hits=generator.binomial(counts.new_hits.astype(int), 0.8).astype(float)
    )
    again = generator.binomial(counts.base_hits.astype(int), 0.8).astype(float)
    overlap = Overlap(
        old_hits=counts.base_hits, old_units=counts.base_units, new_hits=again,
        new_units=counts.base_units, share=1.0,
    )  # fmt: skip
    parts = by_cause(split_movement(judged, overlap, instrument_changed=True))
    assert parts["instrument",].high < -0.1
    assert parts["system",].low < 0 < parts["system",].high
    apart = by_cause(split_movement(judged, None, instrument_changed=True))
    assert set(apart) == {("system", "instrument"), ("evidence",), ("mix",)}
    assert apart["system", "instrument"].high < -0.1


def test_what_cannot_be_told_apart_comes_as_one_piece() -> None:
    counts = draw({MOVED: 50})
    assert set(by_cause(split_movement(counts))) == {
        ("system", "evidence"), ("instrument",), ("mix",),
    }  # fmt: skip
    unknown = split_movement(draw({KEPT: 50}), instrument_changed=True, evidence_known=False)
    assert set(by_cause(unknown)) == {("system", "evidence", "instrument"), ("mix",)}


def test_nothing_shared_or_nothing_scored_gives_none() -> None:
    assert split_movement(draw({BASE_ONLY: 5, NEW_ONLY: 5})) is None
    empty = draw({KEPT: 5})
    nothing = np.zeros(5)
    assert split_movement(replace(empty, new_hits=nothing, new_units=nothing)) is None


def test_one_item_in_a_group_makes_wide_intervals() -> None:
    parts = by_cause(split_movement(draw({KEPT: 60, NEW_ONLY: 1})))
    assert parts["mix",].high - parts["mix",].low > 0
    alone = by_cause(split_movement(draw({KEPT: 1})))
    assert alone["system",].high - alone["system",].low > 1


def test_asking_an_item_three_times_is_mix_not_system() -> None:
    """Base asks each item once; the new run asks the bad half of them three times."""
    hits, units = np.array([2.0] * 20 + [0.0] * 20), np.full(40, 2.0)
    often = np.array([1.0] * 20 + [3.0] * 20)
    counts = PairedCounts(
        base_hits=hits, base_units=units, new_hits=hits * often, new_units=units * often,
        group=np.full(40, KEPT), scale=1 / often,
    )  # fmt: skip
    parts = by_cause(split_movement(counts))
    assert parts["system",].change == pytest.approx(0)
    assert parts["mix",].change == pytest.approx(-0.25)
