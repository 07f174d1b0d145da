from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claimwise.errors import MetricError
from claimwise.metrics import estimate_metric, find_metric, load_metrics
from claimwise.metrics.catalogue import parse_metric
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import korn_graubard_bound, korn_graubard_interval, wilson_interval
from claimwise.store import Store, open_store
from claimwise.transfer import export_store
from claimwise.types.results import Estimate, MetricTable, Settings
from small_data import answer, item, label, load, run
from support.copies import StoreCopies, add_demo

METRICS = load_metrics()
FAITHFULNESS = METRICS["faithfulness"]
HEADER = "-- title: T\n-- meaning: m\n-- grain: one row per item\n-- better: lower\n"


def custom(sql: str) -> Any:
    return parse_metric("own", HEADER + sql, "metrics/own.sql")


def fill(store: Store) -> None:
    """Two types of items: three good lookups, two poor aggregations, one unscored claim."""
    records = [run(model="m1")]
    for number in range(5):
        name = f"i{number}"
        kind = "lookup" if number < 3 else "aggregation"
        region = {"attributes": {"region": "EU" if number % 2 else "US"}} if number else {}
        records += [
            item(name, query_type=kind, stakes="high" if number == 4 else "low", **region),
            answer(name, "one", "two", "three"),
            label(name, "one", "supported"),
            label(name, "two", "supported" if kind == "lookup" else "unlinked"),
        ]
        if number:
            records.append(label(name, "three", "supported" if number == 1 else "stale"))
    load(store, *records)


def by_slice(rows: tuple[Estimate, ...]) -> dict[tuple[str | None, ...], Estimate]:
    return {tuple(row.slice.values()): row for row in rows}


def test_overall_counts_and_bounds(store: Store) -> None:
    fill(store)
    whole = estimate_metric(store, FAITHFULNESS, "r").overall[0]
    # i0 2/2 (one unscored), i1 3/3, i2 2/3, i3 1/3, i4 1/3
    assert (whole.asked, whole.scored, whole.unscored, whole.claims) == (15, 14, 1, 14)
    assert whole.items == 5
    assert whole.micro == pytest.approx(9 / 14)
    assert whole.macro == pytest.approx((1 + 1 + 2 / 3 + 1 / 3 + 1 / 3) / 5)
    assert (whole.bound_low, whole.bound_high) == (9 / 15, 10 / 15)
    expected = wilson_interval(Histogram.from_clusters([2, 3, 2, 1, 1], [2, 3, 3, 3, 3]))
    assert expected is not None
    assert (whole.low, whole.high) == (expected.low, expected.high)
    upper = korn_graubard_bound(Histogram.from_clusters([2, 3, 2, 1, 1], [2, 3, 3, 3, 3]), 0.95)
    assert upper is not None
    assert whole.decision_high == upper
    assert whole.decision_low is not None
    assert whole.micro is not None
    assert whole.decision_low < whole.micro < upper
    assert "1 unscored: the bounds say what they could change." in whole.warnings


def test_slices_worst_first(store: Store) -> None:
    fill(store)
    table = estimate_metric(store, FAITHFULNESS, "r", ("query_type", "stakes"))
    assert [(row.slice["query_type"], row.slice["stakes"]) for row in table.slices] == [
        ("aggregation", "high"),
        ("aggregation", "low"),
        ("lookup", "low"),
    ]
    assert [row.micro for row in table.slices] == sorted(row.micro or 0 for row in table.slices)
    assert sum(row.asked for row in table.slices) == table.overall[0].asked


def test_lower_is_better_sorts_the_other_way(store: Store) -> None:
    fill(store)
    rows = estimate_metric(store, METRICS["stale_share"], "r", ("query_type",)).slices
    assert [row.slice["query_type"] for row in rows] == ["aggregation", "lookup"]
    assert [row.micro for row in rows] == [pytest.approx(2 / 6), pytest.approx(1 / 8)]


@pytest.mark.each_engine
def test_slices_by_attribute_run_column_and_boolean(store: Store) -> None:
    fill(store)
    table = estimate_metric(store, FAITHFULNESS, "r", ("region", "model", "answerable"))
    found = by_slice(table.slices)
    assert set(found) == {("EU", "m1", "true"), ("US", "m1", "true"), (None, "m1", "true")}
    assert found[None, "m1", "true"].items == 1


def test_simultaneous_intervals_are_wider(store: Store) -> None:
    fill(store)
    for row in estimate_metric(store, FAITHFULNESS, "r", ("query_type",)).slices:
        assert row.simultaneous_low is not None
        assert row.low is not None
        assert row.high is not None
        assert row.simultaneous_high is not None
        assert row.simultaneous_low < row.low < row.high < row.simultaneous_high
    whole = estimate_metric(store, FAITHFULNESS, "r").overall[0]
    assert (whole.simultaneous_low, whole.simultaneous_high) == (whole.low, whole.high)


@pytest.mark.each_engine
def test_margins_add_slices_by_each_column(store: Store) -> None:
    fill(store)
    table = estimate_metric(store, FAITHFULNESS, "r", ("query_type", "stakes"), margins=True)
    slices = [row.slice for row in table.slices]
    assert len(slices) == 3 + 2 + 2
    assert {"query_type": "aggregation"} in slices
    assert {"stakes": "high"} in slices
    alone = estimate_metric(store, FAITHFULNESS, "r", ("stakes",))
    wanted = next(row for row in table.slices if row.slice == {"stakes": "low"})
    same = next(row for row in alone.slices if row.slice == {"stakes": "low"})
    assert (wanted.micro, wanted.low, wanted.high) == (same.micro, same.low, same.high)


@pytest.mark.each_engine
def test_slices_within_items_still_count_items_once(store: Store) -> None:
    """Where an item lies in several slices, the whole can't be added up from them."""
    fill(store)
    metric = custom(
        "select d.item_id as cluster_id, d.verdict, count(*) as denominator, "
        "sum(case when d.verdict = 'stale' then 1 else 0 end) as numerator "
        "from deciding_labels as d where d.run_id = :run_id group by d.item_id, d.verdict"
    )
    table = estimate_metric(store, metric, "r", ("verdict", "query_type"), margins=True)
    assert table.overall[0].items == 5
    assert table.overall[0].claims == 14
    stale = next(row for row in table.slices if row.slice == {"verdict": "stale"})
    assert (stale.items, stale.claims, stale.micro) == (3, 3, 1.0)
    lookups = next(row for row in table.slices if row.slice == {"query_type": "lookup"})
    assert (lookups.items, lookups.claims) == (3, 8)


@pytest.mark.each_engine
def test_item_columns_win_over_a_metrics_own(store: Store) -> None:
    """Otherwise an item would be counted once per value of the metric's column."""
    fill(store)
    metric = custom(
        "select d.item_id as cluster_id, d.verdict as stakes, count(*) as denominator, "
        "0 as numerator from deciding_labels as d where d.run_id = :run_id "
        "group by d.item_id, d.verdict"
    )
    table = estimate_metric(store, metric, "r", ("stakes",))
    assert {row.slice["stakes"] for row in table.slices} == {"low", "high"}
    assert table.overall[0].items == 5


@pytest.mark.each_engine
def test_metric_that_does_not_say_what_was_asked(store: Store) -> None:
    fill(store)
    metric = custom(
        "select item_id as cluster_id, count(*) as denominator, 0 as numerator "
        "from deciding_labels where run_id = :run_id group by item_id"
    )
    [row] = estimate_metric(store, metric, "r").overall
    assert any("what is unscored is not known" in warning for warning in row.warnings)


def test_members_without_a_better_end_stand_in_order_without_blame(store: Store) -> None:
    fill(store)
    table = estimate_metric(store, METRICS["verdict_shares"], "r", ("query_type",))
    supported = [row for row in table.slices if row.slice["verdict"] == "supported"]
    assert [row.slice["query_type"] for row in supported] == ["aggregation", "lookup"]
    assert not [w for row in table.slices for w in row.warnings if "bad outcome" in w]


@pytest.mark.each_engine
def test_far_tails_get_enough_resamples(store: Store) -> None:
    """With many slices a bootstrap of few resamples would stop widening."""
    records = [run()]
    for number in range(60):
        bad = number % 6 == 0
        records += [
            item(f"i{number}", attributes={"slice": str(number % 20)}),
            answer(f"i{number}", "one", "two"),
            label(f"i{number}", "one", "supported"),
            label(f"i{number}", "two", "unlinked" if bad else "supported"),
        ]
    load(store, *records)
    settings = Settings(method="bootstrap-percentile", resamples=100)
    whole = estimate_metric(store, FAITHFULNESS, "r", ("slice",), settings)
    row = next(r for r in whole.slices if r.micro not in (None, 1.0))
    assert row.simultaneous_low is not None
    assert row.low is not None
    assert row.simultaneous_low <= row.low


def test_series_members_stand_side_by_side(store: Store) -> None:
    fill(store)
    table = estimate_metric(store, find_metric(METRICS, "over_refusal"), "r", ("query_type",))
    assert table.metric == "abstention"
    assert [row.slice["measure"] for row in table.overall] == ["over_refusal"]
    load(store, item("no", answerable=False, gold_answer=None), answer("no", action="abstain"))
    both = estimate_metric(store, find_metric(METRICS, "over_refusal"), "r").overall
    assert [row.slice["measure"] for row in both] == ["correct_abstention", "over_refusal"]
    assert [row.better for row in both] == ["higher", "lower"]
    assert [row.micro for row in both] == [1.0, 0.0]


@pytest.mark.each_engine
def test_rates_of_nothing_are_null(store: Store) -> None:
    load(store, run())
    for metric in METRICS.values():
        for row in estimate_metric(store, metric, "r", ("query_type",)).overall:
            assert (row.micro, row.low, row.macro, row.bound_low) == (None, None, None, None)
            assert (row.items, row.claims, row.asked) == (0, 0, 0)


def test_everything_unscored_is_null_with_full_bounds(store: Store) -> None:
    load(store, run(), item("a"), answer("a", "one", "two"))
    row = estimate_metric(store, FAITHFULNESS, "r").overall[0]
    assert (row.micro, row.low, row.high) == (None, None, None)
    assert (row.asked, row.scored, row.unscored) == (2, 0, 2)
    assert (row.bound_low, row.bound_high) == (0.0, 1.0)


@pytest.mark.parametrize("method", ["korn-graubard", "bootstrap-percentile", "bootstrap-bca"])
def test_other_intervals(store: Store, method: str) -> None:
    fill(store)
    settings = Settings(method=method, resamples=500, seed=7)
    row = estimate_metric(store, FAITHFULNESS, "r", settings=settings).overall[0]
    assert row.method == method
    assert row.low is not None
    assert row.high is not None
    assert 0 < row.low < 9 / 14 < row.high < 1
    again = estimate_metric(store, FAITHFULNESS, "r", settings=settings).overall[0]
    assert (again.low, again.high) == (row.low, row.high)
    if method == "korn-graubard":
        exact = korn_graubard_interval(Histogram.from_clusters([2, 3, 2, 1, 1], [2, 3, 3, 3, 3]))
        assert exact is not None
        assert row.low == exact.low


@pytest.mark.each_engine
@pytest.mark.parametrize(
    ("labels", "expected"),
    [("default", (1, 2, 2)), ("human", (1, 1, 2)), ("verifier", (0, 2, 2)),
     ("labeler:verifier:v", (0, 2, 2))],
)  # fmt: skip
def test_labels_that_may_decide(store: Store, labels: str, expected: tuple[int, ...]) -> None:
    load(
        store, run(), item("a"), answer("a", "one", "two"), label("a", "one", "supported"),
        label("a", "one", "stale", labeler="verifier:v"),
        label("a", "two", "unlinked", labeler="verifier:v"),
    )  # fmt: skip
    settings = Settings(labels=labels)
    row = estimate_metric(store, FAITHFULNESS, "r", ("query_type",), settings).overall[0]
    assert (row.numerator, row.scored, row.asked) == expected


@pytest.mark.each_engine
@pytest.mark.same_sql
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"run_id": "nope"}, "Unknown run 'nope'"),
        ({"by": ("colour",)}, "Unknown column 'colour'"),
        ({"by": ("numerator",)}, "Unknown column 'numerator'"),
        ({"by": ("stakes'; drop table runs; --",)}, "Unknown column "),
        ({"settings": Settings(method="magic")}, "Unknown interval 'magic'"),
        (
            {"settings": Settings(confidence=1.0)},
            "confidence must be above 0.5 and at most 0.9999, such as 0.95, not 1.0",
        ),
        ({"settings": Settings(resamples=1)}, "between 100 and 1,000,000, not 1"),
        ({"settings": Settings(labels="best")}, "Unknown labels 'best'. Choose default"),
        ({"settings": Settings(labels="labeler:")}, "Unknown labels 'labeler:'"),
        (
            {"settings": Settings(labels="labeler:eve")},
            "Unknown labeler 'eve'",
        ),
        (
            {"settings": Settings(confidence=0.5)},
            "confidence must be above 0.5 and at most 0.9999, such as 0.95, not 0.5",
        ),
        ({"settings": Settings(seed=-1)}, "seed must be 0 or more, not -1"),
        ({"settings": Settings(resamples=10**9)}, "1,000,000, not 1000000000"),
    ],
)
def test_bad_arguments_get_one_line(store: Store, arguments: dict[str, Any], message: str) -> None:
    fill(store)
    with pytest.raises(MetricError) as caught:
        estimate_metric(store, FAITHFULNESS, **{"run_id": "r", **arguments})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.each_engine
@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select item_id as cluster_id, 1 as numerator from eval_items",
         "a column denominator too"),
        ("select item_id as cluster_id, 2 as numerator, 1 as denominator from eval_items",
         "numerator 2 and denominator 1"),
        ("select item_id as cluster_id, cast(null as integer) as numerator, 1 as denominator "
         "from eval_items", "expected four numbers for every item"),
        ("select item_id as cluster_id, 1 as numerator, 2 as denominator, 1 as asked "
         "from eval_items", "expected denominator <= scored <= asked"),
        ("select item_id as cluster_id, 1 as numerator, 1 as denominator from eval_items "
         "where query_type = :kind", "found :kind, expected no parameter but :run_id"),
        ("select nonsense", "nonsense"),
        ("delete from eval_items", "syntax error"),
    ],
)  # fmt: skip
def test_metrics_that_break_the_contract(store: Store, sql: str, message: str) -> None:
    fill(store)
    with pytest.raises(MetricError) as caught:
        estimate_metric(store, custom(sql), "r")
    assert str(caught.value).startswith("metrics/own.sql: ")
    assert message in str(caught.value)
    assert store.query("select count(*) from eval_items") == [(5,)]


def _figures(table: MetricTable) -> list[tuple[Any, ...]]:
    return [
        (row.slice, row.micro, row.low, row.high, row.macro, row.simultaneous_low, row.asked)
        for row in (*table.overall, *table.slices)
    ]


@pytest.mark.parametrize("method", ["wilson", "bootstrap-bca"])
def test_same_figures_on_every_engine(
    store_copies: StoreCopies, tmp_path: Path, method: str
) -> None:
    settings = Settings(method=method, resamples=300)
    places = [store_copies.copy(engine, add_demo) for engine in ("sqlite", "postgresql")]
    with open_store(places[1]) as store:
        export_store(store, tmp_path / "parquet", "parquet")
    found = []
    for place in (*places, str(tmp_path / "parquet")):
        with open_store(place) as store:
            found.append(
                [
                    _figures(estimate_metric(store, metric, "baseline", ("query_type", "stakes"),
                                             settings))
                    for metric in METRICS.values()
                ]
            )  # fmt: skip
    assert found[0] == found[1]
    assert found[0] == found[2]
