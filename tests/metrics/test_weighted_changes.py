"""Weights in everything that compares runs or decides about them: compare, drift, plan and gates.

The golden set has two lookups for every multi-hop question, the traffic nine. From the first run to
the others lookups get worse and multi-hop questions better: the set's rate rises, the traffic's
falls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from claimwise.calibration.headline import find_headline
from claimwise.comparison.compare import compare_runs
from claimwise.comparison.drift import explain_drift
from claimwise.comparison.plan import plan_items
from claimwise.comparison.queries import find_pair
from claimwise.comparison.values import Comparison
from claimwise.config import Config, Project
from claimwise.errors import MetricError
from claimwise.gates.run import run_gates
from claimwise.gates.values import Gate, GateDecision
from claimwise.metrics import estimate_metric, load_metrics
from claimwise.run_report.summary import build_summary
from claimwise.store import Store, open_store
from claimwise.store.lookup import find_run
from claimwise.types.results import Settings, Weights
from small_data import Record, answer, item, label, load, run, source
from support.gates import write_gates

METRICS = load_metrics()
FAITHFULNESS = METRICS["faithfulness"]
TRAFFIC = {"lookup": 0.9, "multi_hop": 0.1}
EVEN = {"lookup": 80 / 120, "multi_hop": 40 / 120}
TOLD = "Weighted by query_type (design effect 1.2"  # 1.245: factors of 1.35 and 0.3
JUDGE = "judge:x"
WRONG = {"before": (0, 20), "mid": (8, 0), "r": (8, 0)}  # items of lookups and multi-hop questions


def make_run(run_id: str, day: int) -> list[Record]:
    """Two claims per item, both wrong in the first items of either kind."""
    rows = [run(run_id, started_at=f"2026-01-0{day}T00:00:00Z")]
    lookups, hops = WRONG[run_id]
    for number in range(120):
        name, is_wrong = f"i{number:03}", number < lookups or 80 <= number < 80 + hops
        rows.append(answer(name, f"one {number}", f"two {number}", run_id=run_id))
        rows += [
            label(name, f"{word} {number}", "unlinked" if is_wrong else "supported", run_id=run_id)
            for word in ("one", "two")
        ]
    return rows


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Three runs on 80 lookups of two domains and 40 multi-hop questions of one of them."""
    items = [
        item(f"i{n:03}", query_type="lookup" if n < 80 else "multi_hop",
             domain="law" if n < 40 else "tax", attributes={"topic": "a" if n % 2 else "b"})
        for n in range(120)
    ]  # fmt: skip
    records = [row for day, run_id in enumerate(WRONG, start=1) for row in make_run(run_id, day)]
    with open_store(tmp_path_factory.mktemp("weights") / "store.db", create=True) as opened:
        load(opened, source(), *items, *records)
        yield opened


def weigh(shares: dict[str, float] | None) -> Settings:
    weights = shares and Weights(column="query_type", shares=tuple(shares.items()))
    return Settings(weights=weights or None)


def compare(store: Store, shares: dict[str, float] | None, by: tuple[str, ...] = ()) -> Comparison:
    return compare_runs(store, [FAITHFULNESS], find_pair(store, "before", "r"), by, weigh(shares))


def decide(store: Store, shares: dict[str, float] | None, **rule: Any) -> GateDecision:
    gate = Gate(**{"metric": "faithfulness", "name": "g", **rule})
    weights: dict[str, Any] = {} if shares is None else {"query_type": shares}
    project = Project(Path(), Config(gates=write_gates(gate), weights=weights))
    return run_gates(store, project, "r").gates[0]


def test_weights_turn_a_rise_of_the_set_into_the_fall_of_the_traffic(store: Store) -> None:
    plain, weighed = compare(store, None), compare(store, TRAFFIC)
    rows = [one.metrics[0].overall[0] for one in (plain, weighed)]
    assert [(row.base, row.new) for row in rows] == [
        pytest.approx((200 / 240, 224 / 240)),
        pytest.approx((0.9 + 0.1 * 0.5, 0.9 * 0.9 + 0.1)),
    ]
    assert [row.direction for row in rows] == ["better", "unclear"]
    assert (rows[1].items, rows[1].base_claims) == (120, 240)  # counts stay counts
    assert rows[1].warnings[0].startswith(TOLD)
    change = weighed.headline.change
    assert change is not None
    assert change.change == pytest.approx(rows[1].change)
    assert weighed.headline.new.rate == pytest.approx(rows[1].new)
    # One of 80 lookups counts for 0.9 / 80 of the traffic, and for one of 120 items here.
    moved = [one.moved[0].contribution for one in (plain, weighed)]
    assert moved == pytest.approx([-1 / 120, -0.9 / 80])


def test_drift_splits_the_movement_of_the_traffic(store: Store) -> None:
    pair = find_pair(store, "before", "r")
    found = explain_drift(store, FAITHFULNESS, pair, (), weigh(TRAFFIC))[0]
    assert (found.base_rate, found.new_rate) == pytest.approx((0.95, 0.91))
    assert sum(part.change for part in found.parts) == pytest.approx(found.change)
    assert (found.low, found.high) == pytest.approx(
        [getattr(compare(store, TRAFFIC).metrics[0].overall[0], end) for end in ("low", "high")],
        abs=0.002,
    )
    assert found.warnings[0].startswith(TOLD)


def test_gates_decide_about_the_traffic(store: Store) -> None:
    """With and without weights: a floor, a comparison, and the run that a slide is held against."""
    assert decide(store, None, min=0.915).slices[0].rate == pytest.approx(224 / 240)
    floor = decide(store, TRAFFIC, min=0.915)
    assert floor.slices[0].rate == pytest.approx(0.91)
    assert (floor.slices[0].items, floor.slices[0].units) == (120, 240)
    assert floor.notes[0].startswith(TOLD)
    moved = [decide(store, shares, baseline="before", margin=0.02) for shares in (None, TRAFFIC)]
    assert [one.outcome for one in moved] == ["pass", "inconclusive"]
    assert moved[1].slices[0].change == pytest.approx(-0.04)
    held = [decide(store, shares, baseline="previous", margin=0.02) for shares in (None, TRAFFIC)]
    assert [one.anchor_id for one in held] == [None, "before"]


def test_slices_are_weighted_alike_everywhere(store: Store) -> None:
    """Tax holds 40 lookups and all multi-hop questions; a query type by itself is as it is."""
    by = ("domain",)
    table = estimate_metric(store, FAITHFULNESS, "before", by, weigh(TRAFFIC))
    rates = {row.slice["domain"]: row.micro for row in table.slices}
    tax = (0.45 + 0.1 * 0.5) / (0.45 + 0.1)
    assert rates == pytest.approx({"law": 1.0, "tax": tax})
    moved = compare(store, TRAFFIC, by).metrics[0].slices
    assert {row.slice["domain"]: row.base for row in moved} == pytest.approx(rates)
    gate = decide(store, TRAFFIC, by=["domain"], baseline="before", margin=0.02)
    assert {one.slice["domain"]: one.baseline_rate for one in gate.slices} == pytest.approx(rates)
    own = estimate_metric(store, FAITHFULNESS, "before", ("query_type",), weigh(TRAFFIC)).slices
    plain = estimate_metric(store, FAITHFULNESS, "before", ("query_type",)).slices
    assert own == plain
    # Also where the type has no share of the traffic: its items are all that the slice is about.
    unasked = {"lookup": 1.0, "multi_hop": 0.0}
    rates = {row.slice["query_type"]: row.micro for row in plain}
    gate = decide(store, unasked, by=["query_type"], baseline="before", margin=0.02)
    assert {one.slice["query_type"]: one.baseline_rate for one in gate.slices} == rates
    moved = compare(store, unasked, ("query_type",)).metrics[0].slices
    assert {row.slice["query_type"]: row.base for row in moved} == rates
    assert compare(store, unasked).metrics[0].overall[0].new == pytest.approx(0.9)


def test_plans_count_what_weighted_items_are_worth(store: Store) -> None:
    runs = [find_run(store, "before"), find_run(store, "mid")]
    plain, weighed = (
        plan_items(store, FAITHFULNESS, runs, (), weigh(shares)) for shares in (None, TRAFFIC)
    )
    assert weighed.overall[0].rate == pytest.approx(0.95)
    assert weighed.overall[0].claims_per_item == plain.overall[0].claims_per_item == 2
    assert weighed.weighting is not None
    assert weighed.weighting.design_effect == pytest.approx(1.245)
    # The same spread per claim, told by what claims are worth.
    assert weighed.overall[0].paired_labels == 2 * (weighed.overall[0].paired_items or 0)


def test_shares_that_the_items_have_anyway_change_nothing(store: Store) -> None:
    def measure(shares: dict[str, float] | None) -> Any:
        settings, pair = weigh(shares), find_pair(store, "before", "r")
        by, runs = ("domain", "topic"), [pair.new, pair.base]
        table = estimate_metric(store, FAITHFULNESS, "r", by, settings, margins=True)
        return (
            table.overall,
            table.slices,
            find_headline(store, METRICS, "r", settings),
            msgspec.structs.replace(compare(store, shares, by), settings=Settings()),
            [
                msgspec.structs.replace(one, settings=Settings())
                for one in explain_drift(store, FAITHFULNESS, pair, by, settings)
            ],
            plan_items(store, FAITHFULNESS, runs, by, settings),
            decide(store, shares, min=0.8, by=["domain"]),
            decide(store, shares, baseline="previous", margin=0.02),
        )

    assert measure(EVEN) == measure(None)


def test_a_rate_never_weighs_labels_that_it_does_not_count(store: Store) -> None:
    """People labelled all of the run; a judge's labels on it are no part of their rate."""
    rows = [
        label(f"i{n:03}", f"one {n}", "unlinked", labeler=JUDGE, label_kind="verifier")
        for n in range(80)
    ]
    load(store, {"type": "labelers", "labeler": JUDGE, "labeler_kind": "verifier"}, *rows)
    settings = replace(weigh(TRAFFIC), labels="verifier")
    found = estimate_metric(store, FAITHFULNESS, "r", (), settings, labels="human")
    assert found.overall[0].micro == pytest.approx(0.91)


def test_what_is_counted_by_no_item_is_not_weighted_and_says_so(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "by_topic.sql").write_text(
        "-- title: By topic\n-- meaning: Share of supported claims.\n-- grain: topic\n"
        "-- better: higher\nselect a.value as cluster_id, count(*) as denominator,\n"
        "sum(case when d.verdict = 'supported' then 1 else 0 end) as numerator\n"
        "from deciding_labels as d join item_attributes as a on a.item_id = d.item_id\n"
        "where d.run_id = :run_id and d.label_kind = 'human' group by a.value"
    )
    told = "Not weighted: by_topic counts by something other than items."
    metric = load_metrics(tmp_path / "metrics")["by_topic"]
    row = estimate_metric(store, metric, "mid", (), weigh(TRAFFIC)).overall[0]
    assert row.micro == pytest.approx(224 / 240)
    assert row.warnings[0] == told
    gate = write_gates(Gate(metric="by_topic", name="g", min=0.5))
    project = Project(tmp_path, Config(gates=gate, weights={"query_type": TRAFFIC}))
    found = run_gates(store, project, "mid").gates[0]
    assert found.slices[0].rate == pytest.approx(224 / 240)
    assert found.weighting is None
    assert told in found.notes


def test_one_line_says_what_is_wrong_with_weights(store: Store) -> None:
    for shares, words in (
        ({"lookup": 1.0}, "has no share for 'multi_hop', which items of the run have"),
        ({"lookup": 0.9, "multi_hop": 0.3}, "add up to 1.2; they must add up to 1"),
    ):
        for use in (compare, lambda store, shares: decide(store, shares, min=0.5)):
            with pytest.raises(MetricError, match=words):
                use(store, shares)
    with pytest.raises(MetricError, match=r"\[weights\]: Unknown column 'kind'"):
        estimate_metric(store, FAITHFULNESS, "r", (), Settings(weights=Weights(column="kind")))
    missing = {"lookup": 0.7, "multi_hop": 0.1, "conflict": 0.2}
    told = "No scored item with query_type=conflict (20% of the traffic)"
    settings, pair = weigh(missing), find_pair(store, "before", "r")
    for notes in (
        compare(store, missing).warnings,
        explain_drift(store, FAITHFULNESS, pair, (), settings)[0].warnings,
        plan_items(store, FAITHFULNESS, [pair.new], (), settings).warnings,
        decide(store, missing, min=0.5).notes,
        build_summary(store, "r", settings=settings).warnings,
    ):
        assert any(told in note for note in notes)
