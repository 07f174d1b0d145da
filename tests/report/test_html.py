from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from claimwise.run_report import render_html
from claimwise.run_report.values import Report

VOID = {"meta", "br", "link", "img", "line", "rect"}  # line and rect close themselves in SVG


class Page(HTMLParser):
    """A page that was read with every tag checked for its end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), tag
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.mark.parametrize("name", ["report", "one_sided", "bare"])
def test_well_formed_and_says_nothing_odd(name: str, request: pytest.FixtureRequest) -> None:
    page = Page(render_html(request.getfixturevalue(name)))
    values = [value for _, attrs in page.tags for value in attrs.values() if value]
    assert not re.search(r"\bNone\b|\bnan\b|-0\.00", " ".join([page.text, *values]))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_order(report: Report) -> None:
    text = Page(render_html(report)).text
    parts = ("Report on run r1", "Worst slice: faithfulness 0.482 [0.310, 0.660]", "Not scored",
             "Instruments", "Metrics", "What faithfulness means", "What abstention means",
             "Reproduce")  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_nothing_comes_from_outside(report: Report) -> None:
    page = Page(render_html(report))
    assert not {"script", "link", "iframe", "img", "object", "form", "base"} & {
        t for t, _ in page.tags
    }
    for _, attrs in page.tags:
        assert not {"src", "onclick", "onload", "onerror"} & set(attrs)
        assert (attrs.get("href") or "#").startswith("#")
    style = render_html(report).split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    assert "//" not in style


def test_content_security_policy(report: Report) -> None:
    policies = [
        attrs["content"] for tag, attrs in Page(render_html(report)).tags
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    ]  # fmt: skip
    assert len(policies) == 1
    assert str(policies[0]).startswith(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    )


def test_foreign_text_is_only_text(report: Report) -> None:
    html = render_html(report)
    assert "<script" not in html
    assert html.count("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;") >= 2  # system and slice
    for raw in ("<i>odd", "<em>careful", "m<b>", "\x1b", "\u202e"):
        assert raw not in html


def test_says_what_was_not_scored(report: Report) -> None:
    text = Page(render_html(report)).text
    assert "6 of 1,240 claims without a verdict: timeout 4, <i>odd</i> 2." in text
    assert "faithfulness 1,240 1,234 6 0.861 [0.850, 0.870]" in text
    assert "1 failed answer; 3 answers not split into claims." in text
    assert "verifier:new verifier — 2 agreement unknown" in text


def test_abstention_is_a_pair(report: Report, one_sided: Report) -> None:
    for text in (Page(render_html(report)).text, Page(render_html(one_sided)).text):
        part = text.split("What abstention means")[1].split("What quadrant means")[0]
        assert part.count("correct_abstention") == part.count("over_refusal") == 2


def test_tables_are_accessible(report: Report) -> None:
    page = Page(render_html(report))
    assert all(attrs.get("scope") in {"row", "col"} for tag, attrs in page.tags if tag == "th")
    plots = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert plots
    assert all(attrs.get("role") == "img" and attrs.get("aria-label") for attrs in plots)
    assert dict(page.tags[0][1]) == {"lang": "en"}


def test_every_link_leads_somewhere(report: Report) -> None:
    page = Page(render_html(report))
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    links = {str(attrs["href"])[1:] for tag, attrs in page.tags if tag == "a"}
    assert links
    assert links <= ids


def test_warnings_appear_once(report: Report) -> None:
    assert Page(render_html(report)).text.count("Fewer than 30 items: the interval is rough.") == 1


def test_slices_that_stand_out_are_marked(report: Report) -> None:
    rows = [attrs for tag, attrs in Page(render_html(report)).tags if tag == "tr"]
    assert sum(attrs.get("class") == "worse" for attrs in rows) == 1


def test_slices_have_their_bounds(report: Report) -> None:
    text = Page(render_html(report)).text
    assert "3 bounds [0.850, 0.870]" in text
    assert "0.045 [0.010, 0.100] bounds [0.850, 0.870]" in text
