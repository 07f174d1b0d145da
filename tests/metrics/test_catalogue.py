from __future__ import annotations

from pathlib import Path

import pytest

from claimwise.errors import MetricError
from claimwise.metrics import find_metric, load_metrics
from claimwise.metrics.catalogue import list_metrics, parse_metric

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
    assert (metric.role, metric.order, metric.labels, metric.needs) == (
        "detail", None, (), (),
    )  # fmt: skip
    assert metric.sql.endswith("select 1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select 1", "the header lacks -- title"),
        ("-- title: T\n-- grain: g\nselect 1", "the header lacks -- meaning"),
        (HEADER + "-- colour: red\nselect 1", "own.sql:5: found '-- colour: red'"),
        (HEADER + "-- better: bigger\nselect 1", "found 'bigger', expected higher or lower"),
        (HEADER + "-- role: star\nselect 1", "role: found 'star', expected main or detail or"),
        (HEADER + "-- order: first\nselect 1", "order: found 'first', expected a whole number"),
        (HEADER + "-- order: -1\nselect 1", "order: found '-1', expected a whole number"),
        (HEADER + "-- labels: mine\nselect 1", "labels: found 'mine', expected none, or of decid"),
        (HEADER + "-- labels:\nselect 1", "labels: found '', expected none, or of deciding"),
        (HEADER + "-- needs: luck\nselect 1", "needs: found 'luck', expected people"),
        (HEADER + "-- title: U\nselect 1", "own.sql:5: found a second -- title"),
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
    with pytest.raises(MetricError, match="another metric named faithfulness"):
        load_metrics(tmp_path)


@pytest.mark.parametrize("end", ["", ";", " ; -- done\n", "; /* a */ -- b\n\n", "\n-- ;\n;"])
def test_what_follows_the_statement_is_dropped(end: str) -> None:
    metric = parse_metric("own", HEADER + "select '-- no; comment'" + end, "own.sql")
    assert metric.sql.endswith("select '-- no; comment'")


def test_unreadable_project_metrics_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "own.sql").write_bytes(b"-- title: caf\xe9")
    with pytest.raises(MetricError, match=r"own.sql: .* save the file as UTF-8"):
        load_metrics(tmp_path)
    (tmp_path / "own.sql").unlink()
    (tmp_path / "folder.sql").mkdir()
    with pytest.raises(MetricError, match=r"folder.sql: found a folder, expected a file"):
        load_metrics(tmp_path)


def test_abstention_answers_to_both_names() -> None:
    metrics = load_metrics()
    assert find_metric(metrics, "correct_abstention") is metrics["abstention"]
    assert find_metric(metrics, "over_refusal") is metrics["abstention"]
    with pytest.raises(MetricError, match="Known metrics: abstention, answer_correctness"):
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


def test_header_says_how_a_metric_is_treated() -> None:
    more = "-- role: main\n-- order: 15\n-- labels: deciding_labels, candidate_labels\n"
    metric = parse_metric("own", f"{HEADER}{more}-- needs: people\nselect 1", "own.sql")
    assert (metric.role, metric.order, metric.needs) == ("main", 15, ("people's labels",))
    assert metric.labels == ("deciding_labels", "candidate_labels")
    quiet = parse_metric("own", f"{HEADER}-- labels: none\nselect 1 from labels", "own.sql")
    assert quiet.labels == ()


@pytest.mark.parametrize("name", load_metrics())
def test_built_in_metrics_name_the_labels_that_their_sql_reads(name: str) -> None:
    metric = load_metrics()[name]
    lines = [line for line in metric.sql.splitlines() if not line.startswith("-- labels:")]
    assert len(lines) == len(metric.sql.splitlines()) - 1
    read = parse_metric(name, "\n".join(lines), name).labels
    assert set(metric.labels) == (set() if metric.role == "measurement" else set(read))
    assert metric.order is not None


def test_metrics_stand_in_the_order_of_their_headers() -> None:
    headers = {"a": "", "b": "-- role: main\n-- order: 20\n", "c": "-- order: 10\n", "d": "",
               "m": "-- role: measurement\n-- order: 1\n"}  # fmt: skip
    metrics = {n: parse_metric(n, f"{HEADER}{h}select 1", n) for n, h in headers.items()}
    assert [one.name for one in list_metrics(metrics, "main", "detail")] == ["c", "b", "a", "d"]
    assert [one.name for one in list_metrics(metrics, "main")] == ["b"]
    assert [one.name for one in list_metrics(metrics, "measurement")] == ["m"]


def test_comparisons_go_by_the_main_metrics() -> None:
    found = [one.name for one in list_metrics(load_metrics(), "main")]
    assert found[:2] == ["faithfulness", "factual_precision"]
    assert not {"quadrant", "verdict_shares", "unscored_share", "contested_share"} & set(found)
