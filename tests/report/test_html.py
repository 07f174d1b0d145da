from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from claimwise.run_report import render_html
from claimwise.run_report.html import MOST_CLAIMS
from claimwise.run_report.values import Report, Summary
from report.conftest import make_claim, make_headline, make_summary

VOID = {
    "meta",
    "br",
    "link",
    "img",
    "input",
    "line",
    "rect",
}  # line and rect close themselves in SVG


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
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def html(report: Report, summary: Summary) -> str:
    """The page of a report with something of everything."""
    return render_html(report, summary)


@pytest.mark.parametrize("name", ["report", "one_sided", "bare"])
def test_well_formed_and_says_nothing_odd(
    name: str, request: pytest.FixtureRequest, summary_of: Callable[[Report], Summary]
) -> None:
    report: Report = request.getfixturevalue(name)
    page = Page(render_html(report, summary_of(report)))
    values = [value for _, attrs in page.tags for value in attrs.values() if value]
    assert not re.search(r"\bNone\b|\bnan\b|[-−]0\.00", " ".join([page.text, *values]))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_order(html: str) -> None:
    text = Page(html).text
    parts = ("Run r1", "86% of claims are supported by their sources", "range 81–90%",
             "hallucination rate 14% (10–19%)", "Change", "+1.2 points", "Worst groups", "70%",
             "What went wrong", "Worst claims", "All unsupported claims",
             "How is this calculated?", "Not scored 6 of 1,240", "Judges and labelers", "Metrics",
             "What faithfulness means", "What abstention means",
             "Reproduce these figures")  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_nothing_comes_from_outside(html: str) -> None:
    page = Page(html)
    assert not {"link", "iframe", "img", "object", "form", "base"} & {t for t, _ in page.tags}
    for _, attrs in page.tags:
        assert not {"src", "onclick", "onload", "onerror"} & set(attrs)
        assert (attrs.get("href") or "#").startswith("#")
    style = html.split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    assert "//" not in style


def test_policy_allows_our_own_script_alone(html: str) -> None:
    policies = [
        str(attrs["content"]) for tag, attrs in Page(html).tags
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    ]  # fmt: skip
    script = html.split("<script>")[1].split("</script>")[0]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert policies == [
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    ]
    assert "innerHTML" not in script


def test_foreign_text_is_only_text(html: str) -> None:
    assert html.count("<script") == 1  # ours
    assert html.count("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;") >= 8
    for raw in ("<i>odd", "<em>careful", "m<b>", "\x1b", "\u202e", "of a <b>", "Wrong <i>",
                "says <em>", "javascript:", "<b>no"):  # fmt: skip
        assert raw not in html


def test_claims_stand_marked_in_their_answers(html: str) -> None:
    text = Page(html).text
    marked = re.findall(r'<mark class="v-(\w+)">(.*?)</mark><sup>(\d)</sup>', html)
    assert ("overreach", "Wrong &lt;i&gt;words&lt;/i&gt;!", "1") in marked
    assert ("unlinked", "", "2") in marked  # of the same words
    assert "△ overreach Claim 2 of a <b>kind</b> The source says 5, the claim 6" in text
    assert "“The source says <em>otherwise</em>.” doc Judged by verifier:v3" in text


def test_claims_are_folded_by_group(html: str) -> None:
    page = Page(html)
    groups = [attrs for tag, attrs in page.tags if attrs.get("class") == "group"]
    assert len(groups) == 2
    assert "open" in groups[0]
    assert "query_type = lookup 2 claims 1 contradicted, 1 stale" in page.text


def test_many_claims_are_cut_with_the_command_for_all(report: Report) -> None:
    claims = tuple(make_claim(number) for number in range(MOST_CLAIMS + 1))
    summary = make_summary(claims=claims, errors=(("contradicted", 5000),))
    html = render_html(report, summary)
    assert html.count('class="answer-card"') == MOST_CLAIMS
    text = Page(html).text
    assert "1,000 of 5,000 unsupported claims" in text
    assert "The worst 1,000 are listed here. claimwise claims lists all of them." in text
    assert len(html) < 3_000_000


def test_long_answers_show_what_is_around_the_marks(report: Report) -> None:
    answer = "x" * 5000 + " wrong. " + "y" * 5000
    claim = make_claim(1, answer_text=answer, answer_start=5001, answer_end=5007)
    html = render_html(report, make_summary(claims=(claim,)))
    assert "wrong." in html
    assert html.count("[…]") == 2
    assert "x" * 1000 not in html


def test_a_run_without_labels_shows_no_figure(bare: Report, bare_summary: Summary) -> None:
    text = Page(render_html(bare, bare_summary)).text.split("How is this calculated?")[0]
    assert "Not measured nobody has labelled this run" in text
    assert "Judge the claims: claimwise verify --run r0" in text
    assert "%" not in text


def test_judge_only_says_what_its_range_holds(report: Report) -> None:
    headline = make_headline(basis="judge_only", judge="verifier:v3", low=0.3, high=0.97)
    text = Page(render_html(report, make_summary(headline=headline))).text
    assert "Judge only (verifier:v3); the range includes its error." in text
    assert "Sampling alone would say 82–89%." in text
    unknown = make_headline(basis="judge_only", low=None, high=None, why="no card")
    text = Page(render_html(report, make_summary(headline=unknown))).text
    assert "no range · hallucination rate 14%" in text
    assert "Judge only; no range: no card." in text


def test_says_what_was_not_scored(html: str) -> None:
    text = Page(html).text
    assert "6 claims (4 timeout, 2 <i>odd</i>); 1 failed answer; 3 answers not split" in text
    assert "6 of 1,240 claims without a verdict (4 timeout, 2 <i>odd</i>)." in text
    assert "faithfulness 1,240 1,234 6 86% 85–87%" in text
    assert "verifier:new judge — 2 not yet checked against people" in text


def test_abstention_is_a_pair(report: Report, one_sided: Report, summary: Summary) -> None:
    for one in (report, one_sided):
        text = Page(render_html(one, summary)).text
        part = text.split("What abstention means")[1].split("What quadrant means")[0]
        assert part.count("correct_abstention") == part.count("over_refusal") == 2


def test_errors_stand_alone_in_the_mix_of_verdicts(html: str) -> None:
    """Supported, 80% of all, has no part of the bar; the errors fill it."""
    bar = html.split("What verdict_shares means")[1].split("<svg")[1].split("</svg>")[0]
    assert 'aria-label="unlinked 10%, contradicted 6.0%, stale 4.0%"' in bar
    widths = [float(width) for width in re.findall(r'width="([\d.]+)"', bar)]
    assert widths == [50, 30, 20]


def test_small_groups_are_folded(html: str) -> None:
    part = html.split("What faithfulness means")[1].split("</section>")[0]
    large, small = part.split('<details class="small">')
    assert "2 groups with fewer than 5 items" in small
    assert '<th scope="row">one' in small
    assert '<th scope="row">one' not in large


def test_tables_are_accessible(html: str) -> None:
    page = Page(html)
    assert all(attrs.get("scope") in {"row", "col"} for tag, attrs in page.tags if tag == "th")
    plots = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert plots
    assert all(attrs.get("role") == "img" and attrs.get("aria-label") for attrs in plots)
    assert dict(page.tags[0][1]) == {"lang": "en"}


def test_every_link_leads_somewhere(html: str) -> None:
    page = Page(html)
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    links = {str(attrs["href"])[1:] for tag, attrs in page.tags if tag == "a"}
    assert links
    assert links <= ids


def test_warnings_appear_once(html: str) -> None:
    assert Page(html).text.count("Fewer than 30 items: the range is rough.") == 1


def test_groups_that_are_clearly_worse_are_marked(html: str) -> None:
    rows = [attrs for tag, attrs in Page(html).tags if tag == "tr"]
    assert sum(attrs.get("class") == "worse" for attrs in rows) == 2  # in its table, and among all


def test_groups_have_their_bounds(html: str) -> None:
    text = Page(html).text
    assert "3 bounds 85–87%" in text
    assert "4.5% (1.0–10%) bounds 85–87%" in text
