from __future__ import annotations

import re

import pytest

from claimwise.report.markdown import escape
from claimwise.run_report import (
    render_markdown,
    render_summary_markdown,
    render_tables_markdown,
)
from claimwise.run_report.values import Report
from report.conftest import make_summary


def test_order(report: Report) -> None:
    text = render_markdown(report)
    parts = ("# Report on run r1", "**Worst group: faithfulness 48% (31–66%) in ",
             "## Not scored", "## Judges and labelers", "## Metrics", "### Faithfulness",
             "### Abstention", "## Reproduce these figures")  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_tables_are_rectangular(report: Report) -> None:
    blocks = re.findall(r"(?:^\|.*\|$\n?)+", render_markdown(report), re.MULTILINE)
    assert len(blocks) > 8
    for block in blocks:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block


def test_foreign_text_is_only_text(report: Report) -> None:
    text = render_markdown(report)
    assert "<script" not in text
    assert "&lt;script&gt;alert('x')&lt;/script&gt; \\| " in text
    assert "\\[a](http\\://evil.test)" in text
    assert "\\*\\*bold\\*\\*" in text
    assert "<span>@</span>all" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("query_type", "query_type"),
        ("_soft_", "\\_soft\\_"),
        ("48% (31–66%) in", "48% (31–66%) in"),
        ("[0.310, 0.660](x)", "\\[0.310, 0.660](x)"),
        ("a@b", "a@b"),
        ("two\nlines", "two lines"),
        ("www.x.test & <b>", "www\\.x.test &amp; &lt;b&gt;"),
        ("# heading", "\\# heading"),
        ("- [ ] task", "\\- \\[ ] task"),
        ("12. one", "12\\. one"),
        ("---", "\\---"),
        ("-0.031", "-0.031"),
    ],
)
def test_escape(text: str, expected: str) -> None:
    assert escape(text) == expected


def test_says_what_was_not_scored(report: Report) -> None:
    text = render_markdown(report)
    assert "- 6 of 1,240 claims without a verdict (4 timeout, 2 &lt;i&gt;odd&lt;/i&gt;)." in text
    assert "| faithfulness | 1,240 | 6 | 86% | 85–87% |" in text
    assert "- **Warning:** &lt;em&gt;careful&lt;/em&gt;" in text


def test_agreement_unknown(report: Report) -> None:
    line = next(x for x in render_markdown(report).splitlines() if x.startswith("| verifier:new"))
    assert line.endswith("| not yet checked against people |")


def test_abstention_is_a_pair(report: Report, one_sided: Report) -> None:
    for text in (render_markdown(report), render_markdown(one_sided)):
        part = text.split("### Abstention")[1].split("###")[0]
        assert "| correct_abstention, adjusted range | over_refusal, adjusted range |" in part
        assert re.search(r"^\| correct_abstention .*\n\| over_refusal ", part, re.MULTILINE)


def test_slices_that_stand_out_are_bold(report: Report) -> None:
    assert "| **aggregation** | **high** | **48%** | **31–66%** |" in render_markdown(report)


@pytest.mark.parametrize("name", ["report", "one_sided", "bare"])
def test_says_nothing_odd(name: str, request: pytest.FixtureRequest) -> None:
    text = render_markdown(request.getfixturevalue(name))
    assert not re.search(r"\bNone\b|\bnan\b|[-−]0\.00", text)


def test_metrics_of_two_runs(report: Report, bare: Report) -> None:
    text = render_tables_markdown([*report.tables, *bare.tables])
    assert text.count("## Run r1") == 1
    assert "Not measured: factual precision (12 claims asked, none scored), context recall" in text


def test_slices_have_their_bounds(report: Report) -> None:
    lines = render_markdown(report).splitlines()
    alone = next(line for line in lines if line.startswith("| **aggregation"))
    assert "85–87%" in alone
    pair = next(line for line in lines if line.startswith("| mixed"))
    assert pair.count("bounds 85–87%") == 1  # of the other member, everything was scored


def test_first_screen_is_short_and_harmless() -> None:
    text = render_summary_markdown(make_summary())
    assert len(text.splitlines()) < 40
    assert "- **Supported**: 86% of claims (range 81–90%), so the hallucination rate is 14%" in text
    assert "- **overreach**: “Claim 2 of a &lt;b&gt;kind&lt;/b&gt;”" in text
    for raw in ("<script", "<b>", "\x1b", "\u202e", "**bold**", "(http:", " @all"):
        assert raw not in text
