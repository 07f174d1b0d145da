from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from claimwise.report.columns import Column, Writer, fit_columns
from claimwise.report.format import (
    clean,
    clean_value,
    forest_of,
    generalize_warning,
    show_number,
    slice_cell,
    slice_name,
)
from claimwise.run_report import (
    print_report,
    print_summary,
    print_tables,
    render_html,
    render_markdown,
)
from claimwise.run_report.values import Report
from claimwise.types.results import Estimate
from report.conftest import make_summary


def show(report: Report, width: int = 100, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    console = Console(file=file, width=width, highlight=False, color_system=None)
    print_report(report, console)
    return raw.getvalue().decode(encoding)


def test_order(report: Report) -> None:
    text = show(report)
    parts = ("Report on run r1", "Worst group: faithfulness 48% (31–66%)", "Not scored",
             "Judges and labelers", "Metrics", "\nFaithfulness", "\nAbstention",
             "Reproduce these figures")  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_worst_slice_says_where_and_whether_it_stands_out(report: Report) -> None:
    text = " ".join(show(report).split())
    assert (
        "in query_type=aggregation, stakes=high; overall 86% Clearly worse than overall: the range "
        "excludes the overall rate. Measured on 12 items, 54 claims; adjusted for 5 comparisons."
        in text
    )
    assert re.search(r"over refusal +4\.5% .* possibly chance", text)


def test_says_what_was_not_scored(report: Report) -> None:
    text = show(report)
    assert "6 of 1,240 claims without a verdict (4 timeout, 2 <i>odd</i>)." in text
    assert re.search(r"faithfulness +1,240 +6 +86% 85–87%", text)
    assert "1 failed answer; 3 answers not split into claims." in text
    assert "! <em>careful</em>" in text


def test_instruments_have_their_agreement(report: Report) -> None:
    text = show(report)
    assert re.search(r"verifier:v3 +judge +4 80% \(81–90%\) of 1,234 claims", text)
    assert re.search(r"verifier:new +judge +2 not yet checked against people", text)


@pytest.mark.parametrize("width", [80, 100, 140])
def test_fits(report: Report, width: int) -> None:
    lines = show(report, width).split("\nReproduce")[0].splitlines()
    assert max(map(cell_len, lines)) <= width
    row = next(line for line in lines if line.strip().startswith("aggregation"))
    assert {"48%", "31–66%", "12", "54", "3"} <= set(row.split())
    assert "●" in row


def test_wide_consoles_show_precision_by_slice(report: Report) -> None:
    assert "effect" not in _slice_header(show(report, 100))
    assert "effect" in _slice_header(show(report, 140))


def _slice_header(text: str) -> str:
    return next(line for line in text.splitlines() if line.strip().startswith("query_type"))


def test_overall_has_everything(report: Report) -> None:
    block = show(report).split("\nFaithfulness")[1]
    parts = (
        "86% (81–90%)", "macro 84% (80–88%)", "100 items, 1,234 claims; 6 unscored, bounds 85–87%",
        "design effect 1.43", "ICC 0.00", "smallest detectable difference 9.1 points",
    )  # fmt: skip
    assert [part for part in parts if part not in block] == []


def test_abstention_is_a_pair(report: Report, one_sided: Report) -> None:
    both = r"correct_abstention \(higher is better\) +over_refusal"
    assert re.search(both, show(report))
    assert re.search("correct_abstention +over_refusal", show(one_sided))
    assert "— not measured" in show(one_sided)


def test_quadrant_says_what_each_cell_indicts(report: Report) -> None:
    text = show(report).split("\nQuadrant")[1].split("\nVerdict")[0]
    for note in ("as it should be", "the corpus is wrong", "luck", "the system failed"):
        assert note in text


def test_unmeasured_metrics_take_one_line(report: Report) -> None:
    line = "Not measured: factual precision (12 claims asked, none scored), context recall"
    assert line in show(report)
    assert "\nContext recall" not in show(report)


def test_warnings_appear_once(report: Report) -> None:
    assert show(report).count("Fewer than 30 items: the range is rough.") == 1


@pytest.mark.parametrize("name", ["report", "one_sided", "bare"])
def test_says_nothing_odd(name: str, request: pytest.FixtureRequest) -> None:
    text = show(request.getfixturevalue(name))
    assert not re.search(r"\bNone\b|\bnan\b|[-−]0\.00|\x1b|\u202e", text)


def test_bare(bare: Report) -> None:
    text = show(bare)
    assert "Worst group: none: the run was not grouped" in text
    assert "Not measured: faithfulness, abstention" in text
    assert "Nobody has labelled this run." in text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_first_screen_on_every_console(encoding: str) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    print_summary(make_summary(), Console(file=file, width=80, color_system=None))
    text = raw.getvalue().decode(encoding)
    dash = "–" if encoding == "utf-8" else "-"
    assert f"86% of claims (range 81{dash}90%), so the hallucination rate is 14%" in text
    assert "\x1b" not in text
    assert all(cell_len(line) <= 80 for line in text.splitlines())


def test_ascii(report: Report) -> None:
    text = show(report, encoding="ascii")
    assert "model m1 | retriever bm25" in " ".join(text.split())
    assert re.search(r"31-66% +-+=*o=+-+ +\| ", text)


def test_long_lists_are_cut_and_say_so(many_slices: Callable[[int], Report]) -> None:
    text = show(many_slices(33))
    assert "type 9 " in text
    assert "type 10 " not in text
    assert "and 23 more groups: claimwise metrics --metric faithfulness" in text


def test_print_tables_prints_every_slice(many_slices: Callable[[int], Report]) -> None:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    print_tables(many_slices(33).tables, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "type 32 " in text
    assert re.search(r"stale +lookup +low +4\.0%", text)


def test_commands_are_quoted(report: Report) -> None:
    assert "--interval bootstrap-bca --seed 7 --store '/tmp/it'\"'\"'s here.db'" in show(report)


def test_forest(make_row: Callable[..., Estimate]) -> None:
    row = make_row(micro=0.5, low=0.4, high=0.69, simultaneous_low=0.2, simultaneous_high=0.8)
    writer = Writer(Console(file=io.StringIO()))
    assert str(writer.draw_forest(forest_of(row, 0.75), 10)) == "  ──━●━┼─ "
    assert str(writer.draw_forest(forest_of(row, 0.65), 10)) == "  ──━●┿── "
    assert str(writer.draw_forest(forest_of(row, 1.0), 10)) == "  ──━●━──┊"


def test_names_are_cut_before_figures() -> None:
    columns = [Column(header="a", cells=["x" * 60], least=8), Column(header="b", cells=["0.123"])]
    assert fit_columns(columns, 80) == [28, 5]
    assert fit_columns(columns, 20) == [14, 5]


def test_words(report: Report, make_row: Callable[..., Estimate]) -> None:
    assert generalize_warning("1,234 unscored: see (3) there.") == "Unscored: see there."
    assert show_number(-0.001) == "0.00"
    assert show_number(-0.031) == "−0.03"
    assert slice_name(report.worst[0].estimate) == "query_type=aggregation, stakes=high"
    assert slice_name(make_row(slice={"a": None, "b": ""})) == 'a=(unknown), b=""'


# Names that look alike.

ALIKE = [
    "", " ", "  ", "\n", "\t", "\xa0", "\u200b", "(all)", "(unknown)", None, '""', '"\\n"',
    "a", "a ", " a", "a\n", "a  b", "a b", "\ufffd", "\x1b[0m",
]  # fmt: skip


def test_no_two_slices_look_alike(make_row: Callable[..., Estimate]) -> None:
    shown = [slice_cell(make_row(slice={"a": value}), "a") for value in ALIKE]
    assert shown[:4] == ['""', '"\\x20"', '"\\x20\\x20"', '"\\n"']
    total = slice_cell(make_row(slice={}), "a")
    assert (total, shown[ALIKE.index("(all)")]) == ("(all)", '"(all)"')
    assert len({total, *shown}) == len(ALIKE) + 1


CONFUSING = st.text(' \n\t"\\nx20a\u200b\xa0', max_size=4) | st.text()


@given(CONFUSING, CONFUSING)
def test_every_value_has_a_name_of_its_own(one: str, other: str) -> None:
    first, second = clean_value(one), clean_value(other)
    assert (first == second) == (one == other)
    assert clean(first) == first  # Markdown and HTML make one space of many
    assert first not in ("(all)", "(unknown)")


def render_page(report: Report) -> str:
    return render_html(report, make_summary(claims=(), groups=())).split("<script>")[0]


@pytest.mark.parametrize("render", [show, render_markdown, render_page])
def test_alike_slices_are_told_apart_in_every_report(
    report: Report, make_row: Callable[..., Estimate], render: Callable[[Report], str]
) -> None:
    table = report.tables[0]
    slices = tuple(
        make_row(slice={"query_type": value, "stakes": "low"}) for value in ("", " ", "\n", "(all)")
    )
    changed = replace(report, tables=(replace(table, slices=slices), *report.tables[1:]), worst=())
    text = unescape(render(changed)).replace("\\\\", "\\")
    for name in ('""', '"\\x20"', '"\\n"', '"(all)"'):
        assert text.count(name) == 1


# What the unscored could change.


def test_slices_have_their_bounds_beside_them(report: Report) -> None:
    lines = show(report, 100).splitlines()
    row = next(line for line in lines if line.strip().startswith("aggregation"))
    assert " 85–87% " in row
    assert "●" in row
    whole = next(line for line in lines if line.strip().startswith("one "))
    assert "85–87%" not in whole  # everything was scored


def test_narrow_consoles_have_the_bounds_below(report: Report) -> None:
    text = " ".join(show(report, 80).split())
    assert (
        "Bounds of groups with unscored claims: query_type=aggregation, stakes=high "
        "85–87%; " in text
    )
    assert not re.search(r"query_type=one, stakes=low \d", text)


@pytest.mark.parametrize("width", [80, 100, 140])
def test_pairs_have_the_bounds_below(report: Report, width: int) -> None:
    block = " ".join(show(report, width).split("\nAbstention")[1].split())
    assert "measure=over_refusal, query_type=mixed, stakes=low 85–87%" in block
    assert "measure=correct_abstention, query_type=mixed" not in block  # all scored


def test_without_unscored_claims_there_are_no_bounds(report: Report) -> None:
    tables = tuple(
        replace(table, slices=tuple(replace(row, unscored=0) for row in table.slices))
        for table in report.tables
    )
    for width in (80, 100):
        text = show(replace(report, tables=tables), width).split("\nMetrics")[1]
        assert "Bounds of groups" not in text
        assert " bounds\n" not in text


def test_a_long_name_is_set_in_one_pass(copied: list[int]) -> None:
    text = "x" * 100_000
    Writer(Console(file=io.StringIO(), width=100)).say(text, indent=2)
    assert len(text) < sum(copied) < 20 * len(text)
