"""Gates in every format; text that wants to be more than text."""

from __future__ import annotations

import io
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from claimwise.gates.report import (
    gates_to_document,
    print_gates,
    render_annotations,
    render_gates_json,
    render_gates_markdown,
    render_junit,
)
from claimwise.gates.values import Gate, GateDecision, GateReport, Outcome, SliceDecision

HOSTILE = "x\n::error::owned %0A]]></failure><script>|`@team` \x1b[31m\x00\ufffe\u202e"


def make_slice(outcome: Outcome = "fail", value: str = "a", **more: Any) -> SliceDecision:
    base: dict[str, Any] = {
        "slice": {"team": value}, "outcome": outcome, "reason": "because", "rate": 0.7,
        "low": 0.6, "high": 0.8, "items": 20, "units": 80, "unscored": 1,
    }  # fmt: skip
    return SliceDecision(**{**base, **more})


def make_report(*slices: SliceDecision, outcome: Outcome = "fail", **gate: Any) -> GateReport:
    rule = Gate(**{"metric": "faithfulness", "name": "g", "min": 0.9, **gate})
    decision = GateDecision(
        gate=rule, title="Faithfulness", unit="claim", better="higher", rule="at least 90%",
        run_id="r", baseline_id=None, outcome=outcome, pass_confidence=0.95,
        fail_confidence=0.99, slices=slices, notes=("a note",),
    )  # fmt: skip
    return GateReport(run_id="r", store="s", version="1", gates=(decision,))


@pytest.mark.parametrize(
    ("outcome", "policy", "code", "blocks"),
    [
        ("pass", "fail", 0, False),
        ("fail", "warn", 2, True),
        ("inconclusive", "fail", 3, True),
        ("inconclusive", "warn", 0, False),
    ],
)
def test_exit_codes(outcome: Outcome, policy: str, code: int, blocks: bool) -> None:
    report = make_report(make_slice(outcome), outcome=outcome, on_inconclusive=policy)
    assert (report.exit_code, report.gates[0].blocks) == (code, blocks)
    document = gates_to_document(report)
    assert (document["exit_code"], document["gates"][0]["blocks"]) == (code, blocks)


@given(st.text())
def test_junit_is_well_formed_whatever_the_text(text: str) -> None:
    report = make_report(make_slice(value=text, reason=text), name=text or "g")
    root = ElementTree.fromstring(render_junit(report))
    (case,) = root.findall("testsuite/testcase")
    assert case.attrib["name"].startswith("team=")
    assert [child.tag for child in case] == ["failure"]


def test_junit_counts_and_types() -> None:
    outcomes: tuple[Outcome, ...] = ("fail", "inconclusive", "pass")
    slices = [make_slice(o, o) for o in outcomes]
    strict = ElementTree.fromstring(render_junit(make_report(*slices)))
    assert strict.attrib["failures"] == "2"
    types = [failure.attrib["type"] for failure in strict.iter("failure")]
    assert types == ["fail", "inconclusive"]
    lenient = ElementTree.fromstring(render_junit(make_report(*slices, on_inconclusive="warn")))
    assert (lenient.attrib["failures"], lenient.attrib["skipped"]) == ("1", "1")
    assert lenient.attrib["tests"] == "3"


@given(st.text())
def test_annotations_are_one_command_a_line(text: str) -> None:
    report = make_report(make_slice(value=text, reason=text), make_slice(), name=text or "g")
    lines = render_annotations(report).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("::error title=") for line in lines)


def test_a_passing_build_is_noticed() -> None:
    told = render_annotations(make_report(make_slice("pass"), outcome="pass"))
    assert told == "::notice title=claimwise gates::1 gate on run r: 1 passed\n"


def test_hostile_text_stays_text() -> None:
    report = make_report(make_slice(value=HOSTILE, reason=HOSTILE), name=HOSTILE)
    out = io.StringIO()
    print_gates(report, Console(file=out, width=200))
    for told in (out.getvalue(), render_gates_markdown(report), render_annotations(report)):
        assert "\x1b" not in told
        assert "\x00" not in told
        assert "\u202e" not in told
        assert not any(line.startswith("::error::owned") for line in told.splitlines())
    assert "<script>" not in render_gates_markdown(report)
    assert "<script>" not in render_junit(report)
    assert render_gates_json(report).isascii()


def test_many_slices_are_cut_where_people_read_and_whole_where_machines_do() -> None:
    report = make_report(*(make_slice(value=str(n)) for n in range(60)))
    out = io.StringIO()
    print_gates(report, Console(file=out, width=120))
    assert "… and 35 more groups" in out.getvalue()
    assert "… and 35 more groups" in render_gates_markdown(report)
    assert len(gates_to_document(report)["gates"][0]["slices"]) == 60
    assert render_junit(report).count("<testcase ") == 60


def test_a_comparison_shows_both_rates_and_the_change() -> None:
    found = make_slice(baseline_rate=0.9, change=-0.2, low=-0.25, high=-0.1)
    told = render_gates_markdown(make_report(found, min=None, baseline="b"))
    assert "90% → 70%" in told
    assert "−25.0 to −10.0 points" in told
