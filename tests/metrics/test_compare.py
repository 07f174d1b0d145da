"""Two runs of a store, compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from claimwise.comparison.compare import compare_runs
from claimwise.comparison.drift import explain_drift
from claimwise.comparison.queries import find_pair
from claimwise.comparison.values import Comparison
from claimwise.errors import MetricError, StoreError
from claimwise.metrics import load_metrics
from claimwise.store import Store, open_store
from claimwise.transfer import export_store
from claimwise.types.results import Settings, Weights
from small_data import answer, item, label, load, run, source

METRICS = load_metrics()
FAITHFULNESS = [METRICS["faithfulness"]]
SHARES = {"i0": 0.5, "i1": 0.1, "i2": 0.1, "i3": 0.1, "a0": 0.1, "gone": 0.05, "fresh": 0.05}


def told(run_id: str, item_id: str, *verdicts: str | None, **more: Any) -> list[Any]:
    """An answer with one claim per verdict; None leaves the claim without a label."""
    texts = [f"{run_id} {number}" for number in range(len(verdicts))]
    labels = [
        label(item_id, text, verdict, run_id=run_id, **more)
        for text, verdict in zip(texts, verdicts, strict=True)
        if verdict
    ]
    return [answer(item_id, *texts, run_id=run_id), *labels]


def fill(store: Store) -> None:
    """Lookups that get worse, an aggregation that gets better, one item on either side alone."""
    records = [source(), run("old"), run("new", started_at="2026-02-01T00:00:00Z")]
    for number in range(4):
        records.append(item(f"i{number}", query_type="lookup"))
        records += told("old", f"i{number}", "supported", "supported")
        second = "unlinked" if number < 3 else "supported"
        records += told("new", f"i{number}", "supported", second, None)
    records += [item("a0", query_type="aggregation"), item("gone"), item("fresh")]
    records += told("old", "a0", "stale", "supported")
    records += told("new", "a0", "supported", "supported")
    records += [*told("old", "gone", "supported"), *told("new", "fresh", "unlinked")]
    load(store, *records)


def compare(store: Store, *by: str, **more: Any) -> Comparison:
    return compare_runs(store, FAITHFULNESS, find_pair(store, "old", "new"), by, **more)


@pytest.mark.each_engine
def test_what_is_no_item_is_paired_by_its_name(store: Store) -> None:
    """A metric may count by query type, say: both runs have two of those, and none is an item."""
    fill(store)
    kinds = replace(
        METRICS["faithfulness"],
        name="by_kind",
        sql="select e.query_type as cluster_id, count(*) as denominator, "
        "sum(case when d.verdict = 'supported' then 1 else 0 end) as numerator "
        "from deciding_labels as d join eval_items as e on e.item_id = d.item_id "
        "where d.run_id = :run_id group by e.query_type",
    )
    pair = find_pair(store, "old", "new")
    for weights in (None, Weights(column="item_id", shares=tuple(SHARES.items()))):
        found = compare_runs(store, [kinds], pair, (), Settings(weights=weights))
        whole = found.metrics[0].overall[0]
        assert (whole.items, whole.base_claims, whole.new_claims) == (2, 11, 11)
        assert (whole.base, whole.new) == pytest.approx((10 / 11, 7 / 11))
        assert [one.item_id for one in found.moved] == ["lookup", "aggregation"]
        told = "Not weighted: by_kind counts by something other than items."
        assert (told in whole.warnings) == (weights is not None)
    with pytest.raises(MetricError, match=r"by_kind: it counts by something other than items \("):
        explain_drift(store, kinds, pair)


def test_shared_items_are_compared_and_the_others_listed(store: Store) -> None:
    fill(store)
    found = compare(store, "query_type")
    (metric,) = found.metrics
    (whole,) = metric.overall
    assert (found.shared, found.only_base, found.only_new) == (5, ("gone",), ("fresh",))
    assert whole.base == pytest.approx(9 / 10)
    assert whole.new == pytest.approx(7 / 10)
    assert whole.change == pytest.approx(-0.2)
    assert (whole.base_claims, whole.new_claims) == (10, 10)
    assert (whole.base_unscored, whole.new_unscored) == (0, 4)
    assert (whole.bound_low, whole.bound_high) == pytest.approx((7 / 14 - 0.9, 11 / 14 - 0.9))
    assert whole.low is not None
    assert whole.high is not None
    assert whole.low < -0.2 < whole.high
    assert "Fewer than 30 items (5): the range is rough." in whole.warnings


def test_slices_stand_worst_change_first_with_wider_intervals(store: Store) -> None:
    fill(store)
    (metric,) = compare(store, "query_type").metrics
    assert [row.slice["query_type"] for row in metric.slices] == ["lookup", "aggregation"]
    assert [row.change for row in metric.slices] == pytest.approx([-3 / 8, 0.5])
    lookup = metric.slices[0]
    assert lookup.simultaneous_low is not None
    assert lookup.low is not None
    assert lookup.simultaneous_low < lookup.low


@pytest.mark.each_engine
def test_lower_is_better_turns_the_order_round(store: Store) -> None:
    fill(store)
    stale = compare_runs(
        store, [METRICS["stale_share"]], find_pair(store, "old", "new"), ("query_type",)
    )
    (metric,) = stale.metrics
    assert [row.slice["query_type"] for row in metric.slices] == ["lookup", "aggregation"]
    assert metric.slices[1].change == pytest.approx(-0.5)


@pytest.mark.each_engine
def test_direction_follows_the_interval(store: Store) -> None:
    records = [source(), run("old"), run("new")]
    for number in range(60):
        records.append(item(f"i{number:02}"))
        records += told("old", f"i{number:02}", "supported", "supported")
        records += told("new", f"i{number:02}", "supported", *(["unlinked"] * (number % 3 == 0)))
    load(store, *records)
    assert compare(store).metrics[0].overall[0].direction == "worse"
    back = compare_runs(store, FAITHFULNESS, find_pair(store, "new", "old"))
    assert back.metrics[0].overall[0].direction == "better"
    stale = compare_runs(store, [METRICS["stale_share"]], find_pair(store, "old", "new"))
    (never,) = stale.metrics[0].overall
    assert never.direction == "unclear"
    assert never.warnings == (
        "Fewer than 10 items show how changes vary: their spread is partly assumed.",
    )
    shares = compare_runs(store, [METRICS["verdict_shares"]], find_pair(store, "old", "new"))
    given = {row.slice["verdict"]: row.direction for row in shares.metrics[0].overall}
    assert given == {"supported": "changed", "unlinked": "changed", "stale": "unclear",
                     "overreach": "unclear", "contradicted": "unclear"}  # fmt: skip


@pytest.mark.each_engine
def test_moved_items_show_their_claims_side_by_side(store: Store) -> None:
    fill(store)
    found = compare(store, most_moved=2)
    assert found.moved_metric == "faithfulness"
    first = found.moved[0]
    assert [item.item_id for item in found.moved] == ["a0", "i0"]
    assert first.contribution > 0 > found.moved[1].contribution
    assert [(old.verdict, new.verdict) for old, new in first.claims if old and new] == [
        ("stale", "supported"), ("supported", "supported"),
    ]  # fmt: skip
    second = found.moved[1].claims
    assert len(second) == 3
    assert second[2][0] is None
    assert second[2][1] is not None
    assert (second[2][1].verdict, second[2][1].reason) == (None, "no label")
    whole = found.metrics[0].overall[0].change
    every = compare(store, most_moved=100)
    unmoved = {"i3"}
    assert {item.item_id for item in every.moved} == {"a0", "i0", "i1", "i2"}
    assert whole == pytest.approx(
        sum(item.contribution for item in every.moved), abs=0.02 * len(unmoved)
    )


def test_claims_of_the_same_wording_share_a_row(store: Store) -> None:
    records = [source(), item("i"), run("old"), run("new")]
    records += [
        answer("i", "same", "other", run_id="old"), answer("i", "third", "same", run_id="new"),
        label("i", "same", "supported", run_id="old", supporting_span="Dogs may come in.",
              source_id="doc"),
        label("i", "same", "unlinked", run_id="new"), label("i", "third", "stale", run_id="new"),
    ]  # fmt: skip
    load(store, *records)
    (moved,) = compare(store).moved
    texts = [(old and old.text, new and new.text) for old, new in moved.claims]
    assert texts == [("same", "same"), ("other", "third")]
    old = moved.claims[0][0]
    assert old is not None
    assert (old.span, old.source_id, old.labeler) == ("Dogs may come in.", "doc", "ana")


def test_an_item_that_one_run_abstained_on_is_shared(store: Store) -> None:
    fill(store)
    records = [item("shy"), answer("shy", run_id="old", action="abstain"),
               *told("new", "shy", "unlinked")]  # fmt: skip
    load(store, *records)
    found = compare(store, most_moved=100)
    assert found.shared == 6
    assert found.metrics[0].overall[0].new_claims == 11
    shy = next(moved for moved in found.moved if moved.item_id == "shy")
    assert (shy.base_action, shy.new_action) == ("abstain", None)


def test_other_corpus_and_other_judge_are_named_as_drift(store: Store) -> None:
    fill(store)
    load(store, source(corpus_ver="v2"), run("other", corpus_ver="v2"),
         *told("other", "i0", "supported", labeler="verifier:v9"))  # fmt: skip
    found = compare_runs(store, FAITHFULNESS, find_pair(store, "old", "other"))
    assert len(found.warnings) == 2
    assert "different corpora (v1, v2)" in found.warnings[0]
    assert "(100% of the labels, from people to verifier:v9: faithfulness)" in found.warnings[1]
    assert all("`claimwise drift old other`" in warning for warning in found.warnings)
    assert compare(store).warnings == ()


def test_items_asked_more_often_are_told(store: Store) -> None:
    fill(store)
    load(store, answer("i0", "again", run_id="new", sample=1))
    assert "asked more often in one of the runs: 1. They weigh" in compare(store).warnings[0]


@pytest.mark.each_engine
def test_labels_policy_reaches_rates_and_claims(store: Store) -> None:
    fill(store)
    load(store, label("i0", "old 0", "contradicted", run_id="old", labeler="verifier:v1"),
         label("i0", "new 0", "supported", run_id="new", labeler="verifier:v1"))  # fmt: skip
    found = compare(store, settings=Settings(labels="verifier"))
    assert found.metrics[0].overall[0].change == 1
    claim = found.moved[0].claims[0][0]
    assert claim is not None
    assert (claim.verdict, claim.labeler) == ("contradicted", "verifier:v1")


def test_parquet_files_give_the_same(store: Store, tmp_path: Path) -> None:
    fill(store)
    export_store(store, tmp_path / "parquet", "parquet")
    with open_store(tmp_path / "parquet") as files:
        assert compare(files, "query_type").metrics == compare(store, "query_type").metrics
        assert compare(files).moved == compare(store).moved


def test_bad_input_is_refused_in_one_line(store: Store) -> None:
    fill(store)
    with pytest.raises(StoreError, match="Unknown run 'nope'"):
        find_pair(store, "nope", "new")
    with pytest.raises(StoreError, match="Both runs are 'old'"):
        find_pair(store, "old", "old")
    with pytest.raises(MetricError, match="Unknown column 'nonsense'"):
        compare(store, "nonsense")
    with pytest.raises(MetricError, match="'model' is a column of runs"):
        compare(store, "model")
    with pytest.raises(MetricError, match="confidence must be above"):
        compare(store, settings=Settings(confidence=2))


def test_nothing_shared_and_nothing_scored_are_refused(store: Store) -> None:
    load(store, source(), item("a"), item("b"), run("old"), run("new"), run("bare"),
         *told("old", "a", "supported"), *told("new", "b", "supported"),
         *told("bare", "a", None))  # fmt: skip
    with pytest.raises(MetricError, match=r"have no item in common \(of 1 and 1\)"):
        compare(store)
    with pytest.raises(MetricError, match="nothing is scored in both for faithfulness"):
        compare_runs(store, FAITHFULNESS, find_pair(store, "old", "bare"))
