"""Metrics of other packages: in the catalogue with their package, and never in another's place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.errors import MetricError
from claimwise.metrics import estimate_metric, load_metrics
from claimwise.store import Store
from support.packages import install_package

METRIC = """-- title: Short claims
-- meaning: claims of fewer than 40 characters / claims
-- grain: claim
-- better: higher
select e.query_type, e.item_id as cluster_id, n.numerator, n.denominator
from (
    select c.item_id, count(*) as denominator,
           sum(case when length(c.claim_text) < 40 then 1 else 0 end) as numerator
    from claims as c where c.run_id = :run_id group by c.item_id
) as n
join eval_items as e on e.item_id = n.item_id
"""
BUILT_IN = set(load_metrics())

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    def add(files: dict[str, str], name: str = "acme", code: str = '"""Lengths."""') -> None:
        entries = {name: ""}
        install_package(monkeypatch, tmp_path, name, code, files=files, metrics=entries)

    return add


def list_new() -> set[str]:
    return set(load_metrics()) - BUILT_IN


@pytest.mark.each_engine
def test_a_package_brings_a_metric(
    install: Install, demo_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    install({"short_claims.sql": METRIC})
    assert list_new() == {"short_claims"}
    metric = load_metrics()["short_claims"]
    assert (metric.package, metric.title) == ("acme 1.0", "Short claims")
    [overall] = estimate_metric(demo_store, metric, "baseline").overall
    assert overall.micro is not None
    assert 0 < overall.micro < 1
    assert run(["metrics", "--list", "--format", "json"]) == 0
    listed = {m["metric"]: m["package"] for m in json.loads(capsys.readouterr().out)["metrics"]}
    assert listed["short_claims"] == "acme 1.0"
    assert listed["faithfulness"] is None


@pytest.mark.parametrize(
    "files",
    [
        {"faithfulness.sql": METRIC},
        {"own.sql": "-- aliases: faithfulness\n" + METRIC},
    ],
)
def test_a_built_in_metric_is_not_replaced(
    install: Install, files: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    before = load_metrics()["faithfulness"]
    install({**files, "fine.sql": METRIC})
    assert list_new() == {"fine"}
    assert load_metrics()["faithfulness"] == before
    assert "the metric “faithfulness” of acme 1.0 is left out: claimwise has a" in caplog.text


def test_of_two_metrics_of_one_name_neither_is_taken(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install({"same.sql": METRIC})
    install({"same.sql": METRIC, "fine.sql": METRIC}, name="other")
    assert list_new() == {"fine"}
    assert "“same” of acme 1.0 is left out: other 1.0 has" in caplog.text
    assert "“same” of other 1.0 is left out: acme 1.0 has" in caplog.text


def test_a_projects_metric_can_not_take_an_installed_name(install: Install, tmp_path: Path) -> None:
    install({"same.sql": METRIC})
    folder = tmp_path / "metrics"
    folder.mkdir()
    (folder / "same.sql").write_text(METRIC, encoding="utf-8")
    with pytest.raises(MetricError, match=r"named same \(from acme 1\.0\); rename the file"):
        load_metrics(folder)


@pytest.mark.parametrize(
    ("files", "code", "told"),
    [
        ({"own.sql": "select 1"}, "", "own.sql: the header lacks -- title"),
        ({}, "", "holds no .sql file"),
        ({"own.sql": METRIC}, "raise ImportError('no')", "ImportError: no"),
    ],
)
def test_a_broken_package_is_one_line_and_the_rest_works(
    install: Install,
    files: dict[str, str],
    code: str,
    told: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    install(files, code=code)
    install({"fine.sql": METRIC}, name="other")
    assert list_new() == {"fine"}
    [line] = caplog.messages
    assert line.startswith("warning: the metric “acme” of acme 1.0 does not work: ")
    assert told in line
