"""Two windows compared: the range of their difference, shared clusters, and the mix."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from click.testing import CliRunner

from claimwise.cli.main import cli
from claimwise.estimates.change import compare_windows
from claimwise.estimates.queries import Period, WindowData
from claimwise.estimates.window import ClaimTable
from claimwise.store import open_store
from support.traffic_data import MONDAY, fill_traffic

WEEK = Period(start=MONDAY, until=MONDAY + timedelta(days=7), name="2026-W46")


def make_window(
    generator: np.random.Generator, hard: float, clusters: int = 250, first: int = 0
) -> tuple[WindowData, np.ndarray]:
    """Clusters of 8 claims, all easy (rate 0.95) or hard (0.7); 400 random labels."""
    kind = generator.random(clusters) < hard
    rates = generator.beta(np.where(kind, 7.0, 9.5), np.where(kind, 3.0, 0.5))
    codes = np.repeat(np.arange(clusters), 8)
    right = generator.random(len(codes)) < rates[codes]
    odds = 1.2 * (2 * right - 1) + generator.normal(0.8, 1.0, len(codes))
    rows = np.sort(generator.choice(len(codes), 400, replace=False))
    table = ClaimTable(
        clusters=codes,
        names=np.array([f"c{first + code}" for code in range(clusters)]),
        strata=(odds > 0).astype(np.intp),
        stratum_names=("others", "supported"),
        scores=1 / (1 + np.exp(-odds)),
        approved=odds > 0,
        weights=np.ones(len(codes)),
        rows=rows,
        told=right[rows],
        chances=np.full(400, 400 / len(codes)),
        items=codes,
    )
    data = WindowData(
        period=WEEK, system=None, cluster="item", runs=(), judge=None, table=table, labels=(),
        scored=np.ones(len(codes), dtype=bool), run_claims={}, unscored=0, unscored_weight=0.0,
        not_judged=0,
    )  # fmt: skip
    return data, np.where(kind[codes], "hard", "easy")


def test_the_range_of_a_difference_and_of_its_mix_hold_the_truth() -> None:
    generator = np.random.default_rng(11)
    held = {"change": 0, "mix": 0, "within": 0}
    for _ in range(60):
        base, old = make_window(generator, 0.3)
        new, fresh = make_window(generator, 0.6, first=1000)
        found = compare_windows(base, new, by="kind", groups=(old, fresh))
        assert found.change is not None
        assert found.mix is not None
        assert found.within is not None
        assert found.mix.value + found.within.value == pytest.approx(found.change.value, abs=1e-9)
        for name, truth in (("change", -0.075), ("mix", -0.075), ("within", 0.0)):
            part = getattr(found, name)
            held[name] += part.low <= truth <= part.high
    assert all(count >= 53 for count in held.values()), held  # of 60 at 95%


def test_clusters_of_both_windows_narrow_the_range_of_the_change() -> None:
    """The same traffic twice: nothing can differ, whatever the labels say."""
    generator = np.random.default_rng(2)
    base, _ = make_window(generator, 0.3)
    again = replace(base, table=replace(base.table, names=np.array([f"d{n}" for n in range(250)])))

    shared, apart = compare_windows(base, base), compare_windows(base, again)

    assert (shared.shared_clusters, apart.shared_clusters) == (250, 0)
    assert shared.change is not None
    assert apart.change is not None
    assert shared.change.high - shared.change.low < 0.5 * (apart.change.high - apart.change.low)


def test_compare_and_drift_take_windows(place: str) -> None:
    with open_store(place) as store:
        fill_traffic(store, labels=300, chance=300 / 840, start=MONDAY - timedelta(days=7))
        fill_traffic(store, labels=300, chance=300 / 840, rate=0.6, seed=1)
        with store.write():
            store.execute("update eval_items set domain = 'billing' where item_id like '%1'")
    compared = CliRunner().invoke(
        cli, ["compare", "--unpaired", "2026-W45", "2026-W46", "--store", place, "--format", "json"]
    )
    drifted = CliRunner().invoke(
        cli, ["drift", "--unpaired", "2026-W45", "2026-W46", "--store", place, "--by", "domain"]
    )

    assert compared.exit_code == drifted.exit_code == 0, compared.output + drifted.output
    change = json.loads(compared.stdout)["headline"]
    assert change["low"] < -0.25 < change["high"] < 0
    assert (
        "Supported claims fell from 83% to 62%: −20.6 points (−27.6 to −13.6), 95% range"
        in drifted.stdout
    )
    assert "of which the mix of domain:" in drifted.stdout
    assert "billing" in drifted.stdout
