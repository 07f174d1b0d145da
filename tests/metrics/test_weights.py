"""Weights for sets that are stratified out of proportion to traffic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from claimwise.config import Project, read_config
from claimwise.errors import ConfigError, MetricError
from claimwise.metrics import estimate_metric, load_metrics
from claimwise.store import Store, open_store
from claimwise.types.results import Estimate, Settings, Weights
from small_data import answer, item, label, load, run, source

FAITHFULNESS = load_metrics()["faithfulness"]
TRAFFIC = (("lookup", 0.9), ("multi_hop", 0.1))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Twenty lookups that are supported, twenty multi-hop questions of which half are not."""
    records = [source(), run()]
    for number in range(40):
        name, hard = f"i{number:02}", number >= 20
        claims = [f"{number} {n}" for n in range(2)]
        good = not hard or number % 2
        records += [
            item(name, query_type="multi_hop" if hard else "lookup",
                 attributes={"asked": "1" if hard else "9"}),
            answer(name, *claims),
            *(label(name, text, "supported" if good else "unlinked") for text in claims),
        ]  # fmt: skip
    with open_store(tmp_path / "store.db", create=True) as opened:
        load(opened, *records)
        yield opened


def measure(store: Store, weights: Weights | None, cluster: str | None = None) -> Estimate:
    settings = Settings(weights=weights, cluster=cluster)
    return estimate_metric(store, FAITHFULNESS, "r", ("query_type",), settings).overall[0]


@pytest.mark.parametrize(
    "weights", [Weights(column="query_type", shares=TRAFFIC), Weights(column="asked")]
)
def test_rates_over_the_whole_set_speak_for_the_traffic(store: Store, weights: Weights) -> None:
    plain, weighed = measure(store, None), measure(store, weights)
    assert (plain.micro, weighed.micro) == pytest.approx((0.75, 0.95))
    assert weighed.unweighted == (plain.micro, plain.low, plain.high)
    assert weighed.low is not None
    assert weighed.high is not None
    assert weighed.low < 0.95 < weighed.high
    assert (weighed.items, weighed.claims, weighed.asked) == (40, 80, 80)
    # Factors of 1.8 and 0.2 on as many claims each: 2 * (1.8² + 0.2²) / (1.8 + 0.2)².
    told = f"Weighted by {weights.column} (design effect 1.64); unweighted 75% ("
    assert weighed.warnings[0].startswith(told)


def test_even_weights_change_nothing(store: Store) -> None:
    even = Weights(column="query_type", shares=(("lookup", 0.5), ("multi_hop", 0.5)))
    plain, weighed = measure(store, None), measure(store, even)
    assert (weighed.micro, weighed.low, weighed.high, weighed.design_effect) == pytest.approx(
        (plain.micro, plain.low, plain.high, plain.design_effect)
    )


def test_items_of_a_cluster_stay_together(store: Store) -> None:
    weights = Weights(column="query_type", shares=TRAFFIC)
    apart, together = measure(store, weights), measure(store, weights, cluster="query_type")
    assert together.micro == pytest.approx(apart.micro)
    assert together.low is not None
    assert apart.low is not None
    assert together.low < apart.low


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ((("lookup", 0.9), ("multi_hop", 0.3)), r"add up to 1.2; they must add up to 1"),
        ((("lookup", 1.5), ("multi_hop", -0.5)), r"'lookup' must be between 0 and 1, not 1.5"),
        ((("lookup", 1.0),), r"has no share for 'multi_hop', which items of the run have"),
    ],
)
def test_bad_shares_are_refused(
    store: Store, shares: tuple[tuple[str, float], ...], words: str
) -> None:
    with pytest.raises(MetricError, match=words):
        measure(store, Weights(column="query_type", shares=shares))


def test_a_weight_that_is_no_number_is_refused(store: Store) -> None:
    with pytest.raises(MetricError, match="found 'lookup' in the column query_type"):
        measure(store, Weights(column="query_type"))


def test_traffic_that_no_item_shows_is_named(store: Store) -> None:
    shares = (("lookup", 0.6), ("multi_hop", 0.2), ("conflict", 0.2))
    found = measure(store, Weights(column="query_type", shares=shares))
    assert found.micro == pytest.approx(0.75 + 0.25 * 0.5)
    assert "No scored item with query_type=conflict (20% of the traffic)" in found.warnings[1]


def test_the_project_says_them(tmp_path: Path) -> None:
    path = tmp_path / "claimwise.toml"
    path.write_text("[weights]\nquery_type = { lookup = 0.9, multi_hop = 0.1 }\n")
    weights = Project(tmp_path, read_config(path)).settings.weights
    assert weights == Weights(column="query_type", shares=TRAFFIC)
    path.write_text('[weights]\nper_item = "asked"\n')
    assert Project(tmp_path, read_config(path)).settings.weights == Weights(column="asked")
    path.write_text('[weights]\nquery_type = "asked"\n')
    with pytest.raises(ConfigError, match="takes one line: a column with the traffic's shares"):
        read_config(path)
