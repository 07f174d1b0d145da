"""Comparisons, drifts and plans in every format; what they show was written by others."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from claimwise.comparison.compare import compare_runs
from claimwise.comparison.drift import explain_drift
from claimwise.comparison.drift_report import (
    print_drifts,
    render_drifts_markdown,
    to_drift_document,
)
from claimwise.comparison.drift_values import Drift
from claimwise.comparison.plan import plan_items
from claimwise.comparison.plan_report import print_plan, render_plan_markdown, to_plan_document
from claimwise.comparison.plan_values import Plan
from claimwise.comparison.queries import find_pair
from claimwise.comparison.report import (
    print_comparison,
    render_comparison_html,
    render_comparison_markdown,
    to_comparison_document,
)
from claimwise.comparison.screen import format_comparison, render_screen_markdown
from claimwise.comparison.values import Comparison
from claimwise.metrics import load_metrics
from claimwise.report.changes import list_ids, show_change, show_change_range
from claimwise.run_report import html
from claimwise.store import open_store
from report.conftest import HOSTILE
from report.test_html import Page
from small_data import SOURCE, answer, item, label, load, run, source

METRICS = load_metrics()


@pytest.fixture(scope="module")
def compared(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Comparison, tuple[Drift, ...], Plan]:
    """Two runs in which every foreign text is hostile."""
    text = f"{SOURCE} {HOSTILE}"
    records: list[Any] = [
        source("doc <b>", source_text=text), source("doc <b>", corpus_ver="v2", source_text=SOURCE),
        run("old", model=HOSTILE), run("new", system=HOSTILE, corpus_ver="v2"),
    ]  # fmt: skip
    for number in range(12):
        name = f"i{number:02} <i>"
        spans = [{"source_id": "doc <b>", "span_text": HOSTILE, "required": True}]
        records.append(
            item(name, query=HOSTILE, query_type="lookup", attributes={"kind": HOSTILE},
                 gold_spans=spans if number < 3 else [])
        )  # fmt: skip
        claims = [f"{HOSTILE} {number}", "plain", "left out"]
        records += [answer(name, *claims, run_id="old"), answer(name, *claims, run_id="new")]
        records += [
            label(name, claims[0], "supported", run_id="old", supporting_span=HOSTILE,
                  source_id="doc <b>", labeler=f"verifier:{HOSTILE}"),
            label(name, claims[1], "supported", run_id="old", labeler=f"verifier:{HOSTILE}"),
            label(name, claims[0], "unlinked" if number % 2 else "supported", run_id="new"),
            label(name, claims[1], "supported", run_id="new"),
        ]  # fmt: skip
    records += [item(HOSTILE), answer(HOSTILE, "c", run_id="new"),
                label(HOSTILE, "c", "supported", run_id="new")]  # fmt: skip
    place = tmp_path_factory.mktemp("compared") / "store.db"
    with open_store(place, create=True) as store:
        load(store, *records)
        pair = find_pair(store, "old", "new")
        chosen = [METRICS["faithfulness"], METRICS["abstention"], METRICS["factual_precision"]]
        return (
            compare_runs(store, chosen, pair, ("kind",), version="9"),
            explain_drift(store, METRICS["faithfulness"], pair, ("kind",)),
            plan_items(store, METRICS["faithfulness"], [pair.new, pair.base], ("kind",)),
        )


def to_text(show: Any, value: Any, width: int = 100, encoding: str = "utf-8") -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, highlight=False, force_terminal=False)
    show(value, console)
    file.flush()
    return file.buffer.getvalue().decode(encoding)


def test_a_comparison_on_a_terminal(compared: Any) -> None:
    text = to_text(print_comparison, compared[0])
    parts = ("old to new", "1 item in new alone", "different corpora (v1, v2)", "Clearly worse",
             "Faithfulness", "Abstention", "Not measured in both runs: factual precision",
             "Items that moved faithfulness most", "not scored (no label)")  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "+0.0 " in text
    assert "−0.0 " not in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_one_screen_says_what_moved_and_what_flipped(compared: Any, width: int) -> None:
    text = format_comparison(compared[0], width)
    lines = text.splitlines()
    assert len(lines) <= 25
    assert max(map(cell_len, lines)) <= width
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "Runs          old to new, 12 shared items" in text
    assert "faithfulness 100% to 75%: −25.0 (" in text
    assert "\n  supported → unlinked: “<script>" in text
    assert lines[-1] == "More          claimwise compare old new --full"


def test_one_screen_in_markdown_is_only_text(compared: Any) -> None:
    page = render_screen_markdown(compared[0])
    assert "- supported → unlinked: “&lt;script&gt;" in page
    assert not re.search(r"<(?!/?span>)", page)
    assert "\x1b" not in page
    assert page.endswith("**More**: `claimwise compare old new --full`\n")


@pytest.mark.parametrize(
    "show", [(print_comparison, 0), (print_drifts, 1), (print_plan, 2)], ids=lambda s: s[0].__name__
)
@pytest.mark.parametrize("width", [60, 140])
def test_nothing_steers_the_terminal(compared: Any, show: Any, width: int) -> None:
    text = to_text(show[0], compared[show[1]], width)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert max(map(len, text.splitlines())) <= max(width, 140)
    assert to_text(show[0], compared[show[1]], width, "ascii").isascii()


def test_markdown_is_rectangular_and_only_text(compared: Any) -> None:
    pages = (
        render_comparison_markdown(compared[0]),
        render_drifts_markdown(compared[1]),
        render_plan_markdown(compared[2]),
    )
    for page in pages:
        blocks = re.findall(r"(?:^\|.*\|$\n?)+", page, re.MULTILINE)
        assert blocks
        for block in blocks:
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(widths) == 1, block
        assert not re.search(r"<(?!/?span>)", page)
        assert "](http" not in page.replace("\\[a](http", "")
        assert "\x1b" not in page
    assert "&lt;script&gt;" in pages[0]


def test_html_is_whole_and_only_text(compared: Any) -> None:
    text = render_comparison_html(compared[0])
    page = Page(text)
    names = {tag for tag, _ in page.tags}
    assert names.isdisjoint({"script", "img", "link", "a", "i", "iframe"})
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert "http://evil.test" in page.text
    assert "src=" not in text
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text
    values = [value for _, attrs in page.tags for value in attrs.values() if value]
    assert not re.search(r"\bNone\b|\bnan\b|-0\.000", " ".join([page.text, *values]))
    for part in ("old to new", "Change of faithfulness", "Clearly worse:", "Items that moved"):
        assert part in page.text


def test_documents_are_plain_values(compared: Any) -> None:
    comparison = json.loads(json.dumps(to_comparison_document(compared[0])))
    assert comparison["format"] == 1
    assert comparison["metrics"][0]["overall"][0]["change"] == pytest.approx(-0.25)
    assert comparison["moved"][0]["claims"][0][1]["verdict"] == "unlinked"
    drift = json.loads(json.dumps(to_drift_document(compared[1])))
    changes = [part["change"] for part in drift["drifts"][0]["parts"]]
    assert sum(changes) == pytest.approx(drift["drifts"][0]["change"])
    plan = json.loads(json.dumps(to_plan_document(compared[2])))
    assert plan["overall"][0]["items"] == 13


def test_a_drift_in_words(compared: Any) -> None:
    text = to_text(print_drifts, compared[1], 200)
    for part in ("faithfulness: 100% to 76%, −24.0 points (", "system + judge", "evidence", "mix",
                 "overall", "Evidence changed for i00 <i>, i01 <i>, i02 <i> (documents: doc <b>)",
                 "! No claim was judged by both judges", "To know more: Let people label",
                 "1 item in new alone", "can't be told apart"):  # fmt: skip
        assert part in text


def test_a_plan_in_words(compared: Any) -> None:
    text = " ".join(to_text(print_plan, compared[2], 160).split())
    assert (
        "To detect a drop of 5 points in faithfulness 80% of the time, at 95% confidence (" in text
    )
    assert "The 13 items you have can show a drop of" in text
    assert "if both runs answer the same items" in text
    assert "assumed: correlation of runs (0.5)" in text


def test_figures() -> None:
    assert show_change(-0.0001) == "+0.0"
    assert show_change(0.0346) == "+3.5"
    assert show_change(None) == "—"
    assert show_change_range(-0.02, 0.5) == "−2.0 to +50.0"
    assert list_ids([str(n) for n in range(12)]).endswith("9 and 2 more")


def test_every_template_is_shipped() -> None:
    folder = Path(html.__file__).parent / "templates"
    assert {path.name for path in folder.iterdir()} == {
        "report.html.jinja", "report.css.jinja", "search.js", "compare.html.jinja",
        "page.css.jinja",
    }  # fmt: skip
