from __future__ import annotations

from pathlib import Path

import pytest

from claimwise.errors import MetricError
from claimwise.measure import find_metric, load_metrics
from claimwise.measure.catalogue import parse_metric

HEADER = "-- title: T\n-- meaning: first\n--   and second line\n-- grain: one row per item\n"


def test_header_is_read() -> None:
    more = (
        "-- series: s\n-- better a: higher\n-- better: lower\n"
        "-- note a: what a is\n-- aliases: x, y\n"
    )
    metric = parse_metric("own", HEADER + more + "select 1;\n", "own.sql")
    assert metric.meaning == "first and second line"
    assert metric.series == "s"
    assert (metric.better_for("a"), metric.better_for("b")) == ("higher", "lower")
    assert metric.notes == {"a": "what a is"}
    assert metric.aliases == ("x", "y")
    assert metric.unit == "claim"
    assert metric.sql.endswith("select 1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select 1", "the header lacks -- title"),
        ("-- title: T\n-- grain: g\nselect 1", "the header lacks -- meaning"),
        (HEADER + "-- colour: red\nselect 1", "own.sql:5: found '-- colour: red'"),
        (HEADER + "-- better: bigger\nselect 1", "found 'bigger', expected higher or lower"),
    ],
)
def test_bad_headers_get_one_line(text: str, message: str) -> None:
    with pytest.raises(MetricError) as caught:
        parse_metric("own", text, "own.sql")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_names_are_refused() -> None:
    with pytest.raises(MetricError, match="lower case"):
        parse_metric("My Metric", HEADER + "select 1", "My Metric.sql")


def test_project_metrics_join_the_built_in_ones(tmp_path: Path) -> None:
    (tmp_path / "own.sql").write_text(HEADER + "select 1", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not a metric", encoding="utf-8")
    metrics = load_metrics(tmp_path)
    assert set(metrics) - set(load_metrics()) == {"own"}
    assert load_metrics(tmp_path / "missing") == load_metrics()


def test_project_metric_may_not_take_a_built_in_name(tmp_path: Path) -> None:
    (tmp_path / "faithfulness.sql").write_text(HEADER + "select 1", encoding="utf-8")
    with pytest.raises(MetricError, match="second metric named faithfulness"):
        load_metrics(tmp_path)


@pytest.mark.parametrize("end", ["", ";", " ; -- done\n", "; /* a */ -- b\n\n", "\n-- ;\n;"])
def test_what_follows_the_statement_is_dropped(end: str) -> None:
    metric = parse_metric("own", HEADER + "select '-- no; comment'" + end, "own.sql")
    assert metric.sql.endswith("select '-- no; comment'")


def test_unreadable_project_metrics_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "own.sql").write_bytes(b"-- title: caf\xe9")
    with pytest.raises(MetricError, match=r"own.sql: .* expected a readable UTF-8 file"):
        load_metrics(tmp_path)
    (tmp_path / "own.sql").unlink()
    (tmp_path / "folder.sql").mkdir()
    with pytest.raises(MetricError, match=r"folder.sql: found a folder, expected a file"):
        load_metrics(tmp_path)


def test_abstention_answers_to_both_names() -> None:
    metrics = load_metrics()
    assert find_metric(metrics, "correct_abstention") is metrics["abstention"]
    assert find_metric(metrics, "over_refusal") is metrics["abstention"]
    with pytest.raises(MetricError, match="expected one of abstention, answer_correctness"):
        find_metric(metrics, "vibes")


@pytest.mark.parametrize("name", load_metrics())
def test_built_in_metrics_document_themselves(name: str) -> None:
    metric = load_metrics()[name]
    assert metric.meaning
    assert metric.grain.startswith("one row per item")
    assert (
        metric.series is None
        or metric.notes
        or metric.name
        in (
            "verifier_agreement",
            "unscored_reasons",
        )
    )
