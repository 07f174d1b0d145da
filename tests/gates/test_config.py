"""``[[gates]]`` in ``claimwise.toml``: what is read, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimwise.config import Project, read_config
from claimwise.errors import ClaimwiseError, ConfigError, MetricError
from claimwise.gates import resolve_gate
from claimwise.gates.settings import name_twin, read_gates
from claimwise.gates.values import Gate
from claimwise.metrics import load_metrics

METRICS = load_metrics()


def read(folder: Path, *gates: str) -> tuple[Gate, ...]:
    path = folder / "claimwise.toml"
    path.write_text("\n".join(f"[[gates]]\n{gate}" for gate in gates), encoding="utf-8")
    return read_gates(Project(folder, read_config(path)))


def test_a_gate_has_a_name_and_defaults(tmp_path: Path) -> None:
    first, second, third = read(
        tmp_path,
        'metric = "faithfulness"\nmin = 0.8\nby = ["query_type"]',
        'metric = "verdict_shares"\nmember = "stale"\nmax = 0.1\nwhere = { stakes = "high" }',
        'metric = "faithfulness"\nbaseline = "previous"\nname = "no worse"',
    )
    assert [first.name, second.name, third.name] == [
        "faithfulness-query_type", "verdict_shares-stale-high", "no worse"
    ]  # fmt: skip
    assert (first.confidence, first.min_agreement, first.on_inconclusive) == (0.95, 0.8, "fail")
    assert (third.relative, third.tolerance) == (True, 0.05)


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ("min = 0.9\nmax = 0.2", "above max = 0.2"),
        ("min = 0.2\nmax = 0.9", "write two gates"),
        ("min = 1.2", "min must be above 0 and below 1, not 1.2"),
        ("min = 1.0", "min must be above 0 and below 1, not 1"),
        ("max = 0.0", "max must be above 0 and below 1, not 0"),
        ("min = nan", "min must be above 0 and below 1, not nan"),
        ("min = 0.9\nmargin = 0.05", "margin but no baseline"),
        ('min = 0.9\nbaseline = "x"', "has both baseline and min"),
        ("", "has no limit"),
        ('baseline = "x"\nmargin = -0.1', "margin must be at least 0 and below 1, not -0.1"),
        ("min = 0.9\nconfidence = 1.5", "confidence must be above 0.5 and at most 0.9999, not 1.5"),
        ("min = 0.9\nlooks = 0", "looks must be 1 to 100,000, not 0"),
        ("min = 0.9\nmin_items = 0", "min_items must be 2 or more, not 0"),
        ("min = 0.9\nlooks_per_year = 500", "only half of a budget; add false_alarms_per_year"),
        ("min = 0.9\nfalse_alarms_per_year = 0.5", "only half of a budget; add looks_per_year"),
        (
            "min = 0.9\nlooks = 9\nlooks_per_year = 500\nfalse_alarms_per_year = 0.5",
            "both looks and a budget of false alarms; keep one",
        ),
        (
            "min = 0.9\nlooks_per_year = 0\nfalse_alarms_per_year = 0.5",
            "looks_per_year must be 1 to 100,000, not 0",
        ),
        (
            "min = 0.9\nlooks_per_year = 500\nfalse_alarms_per_year = nan",
            "false_alarms_per_year must be 0.001 to 100, not nan",
        ),
        ("min = 0.9\nmin_agreement = 2.0", "min_agreement must be at least 0 and below 1, not 2"),
        ('min = 0.9\non_inconclusive = "ignore"', "ignore"),
        ('min = 0.9\nthreshold = "x"', "threshold"),
        ('min = "high"', "Expected `float"),
    ],
)
def test_contradictions_are_refused_in_one_line(tmp_path: Path, gate: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, f'metric = "faithfulness"\n{gate}')
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_gates_may_not_share_a_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="another gate named 'faithfulness'"):
        read(tmp_path, *['metric = "faithfulness"\nmin = 0.8'] * 2)


@pytest.mark.parametrize(
    ("gate", "twin"),
    [
        ('metric = "correct_abstention"\nmin = 0.8', "over_refusal"),
        ('metric = "over_refusal"\nmax = 0.1', "correct_abstention"),
        ('metric = "abstention"\nmember = "over_refusal"\nmax = 0.1', "correct_abstention"),
        ('metric = "over_refusal"\nbaseline = "previous"', "correct_abstention"),
        ('metric = "faithfulness"\nmin = 0.8', None),
    ],
)
def test_one_half_of_the_abstention_pair_may_stand_alone(
    tmp_path: Path, gate: str, twin: str | None
) -> None:
    (found,) = read(tmp_path, gate)
    assert name_twin(found) == twin


def test_both_halves_are_read(tmp_path: Path) -> None:
    gates = read(
        tmp_path,
        'metric = "abstention"\nmember = "over_refusal"\nmax = 0.1',
        'metric = "correct_abstention"\nmin = 0.8',
    )
    assert [gate.name for gate in gates] == ["abstention-over_refusal", "correct_abstention"]


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        (Gate(metric="faithfullness", name="g", min=0.8), "Known metrics: abstention"),
        (Gate(metric="faithfulness", name="g", max=0.8), "higher is better"),
        (Gate(metric="stale_share", name="g", min=0.8), "lower is better"),
        (Gate(metric="faithfulness", name="g", member="x", min=0.8), "has no members"),
        (Gate(metric="abstention", name="g", min=0.8), "correct_abstention, over_refusal"),
        (
            Gate(metric="over_refusal", name="g", member="correct_abstention", min=0.8),
            "keep one",
        ),
        (
            Gate(metric="verdict_shares", name="g", member="stale", baseline="b"),
            "higher or lower is better",
        ),
    ],
)
def test_gates_must_fit_their_metric(gate: Gate, words: str) -> None:
    with pytest.raises((ConfigError, MetricError), match=words) as caught:
        resolve_gate(gate, METRICS, "default")
    assert isinstance(caught.value, ClaimwiseError)
    assert "\n" not in str(caught.value)


def test_an_alias_names_its_member() -> None:
    rule = resolve_gate(Gate(metric="over_refusal", name="g", max=0.2), METRICS, "human")
    assert (rule.metric.name, rule.member, rule.better) == ("abstention", "over_refusal", "lower")
    assert (rule.columns, rule.labels) == (("measure",), "human")
    assert rule.describe() == "at most 20%"
