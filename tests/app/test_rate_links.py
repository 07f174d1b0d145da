"""Every rate leads to what it counts: the list behind a number has that many claims or items."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claimwise.app.panels import MeasuredRun, draw_mix, find_table
from claimwise.app.rate_links import link_row, link_unscored
from claimwise.calibration.queries import list_calibrations
from claimwise.labelling.draw import draw_round
from claimwise.labelling.guide import read_guide
from claimwise.labelling.queue import add_guide, save_label, take_task
from claimwise.labelling.values import Choice
from claimwise.metrics import load_metrics
from claimwise.report import format as form
from claimwise.run_report import build_report
from claimwise.run_report.values import Report
from claimwise.store import Store
from support.app_server import Person, RunningApp, run_app, utc_now
from support.copies import Fill, add_demo

RUN = "candidate"
_CLAIMS = re.compile(r"<b>([\d,]+) claims?</b>")
_ITEMS = re.compile(r"<b>([\d,.]+) of ([\d,.]+) [a-z ]+</b>")


def add_round(store: Store) -> None:
    """Add the demo, and a round that people labelled: its sample then corrects the run's rate."""
    add_demo(store)
    guide = read_guide("grounded")
    add_guide(store, guide.version, guide.text, utc_now())
    drawn = draw_round(
        store, RUN, "grounded", title="A round", size=5, overlap=0.0, created_by="ada",
        guide_version=guide.version, now=utc_now(),
    )  # fmt: skip
    while task := take_task(store, drawn.round_id, "ana", utc_now()):
        save_label(store, task.task_id, "ana", Choice(verdict="unlinked"), utc_now())


@pytest.fixture
def corrected(copy_store: Callable[[Fill], str], tmp_path: Path) -> Iterator[RunningApp]:
    with run_app(copy_store(add_round), tmp_path) as running:
        yield running


def read_report(app: RunningApp) -> Report:
    with app.open() as store:
        return build_report(store, load_metrics(), RUN, version="0")


def count_listed(person: Person, link: str) -> tuple[float, ...]:
    """Return how many claims a link lists, or what its items add up to."""
    page = person.web.get(link)
    assert page.status_code == 200, link
    pattern = _CLAIMS if link.startswith("/claims") else _ITEMS
    found = pattern.search(page.text)
    return tuple(float(one.replace(",", "")) for one in found.groups()) if found else (0.0,)


def test_every_rate_of_a_run_leads_to_what_it_counts(demo_app: RunningApp) -> None:
    """The demo's run is labelled by people; closed-book rates count “true” and “false” alone."""
    report = read_report(demo_app)
    person = demo_app.enter("ada", "adjudicator")
    lists = set()
    for table in report.tables:
        for row in (*table.overall, *table.slices[:6]):
            if not row.claims:
                continue
            link = link_row(report, row, table.series)
            wanted: tuple[float, ...] = (row.numerator, row.claims)
            if table.metric == "faithfulness":
                wanted = (row.claims - row.numerator,)
            elif table.metric == "factual_precision":
                wanted = (count_false(demo_app, row.slice),)
            elif table.metric == "verdict_shares":
                wanted = (row.numerator,)
            assert count_listed(person, link) == wanted, link
            lists.add(link.partition("?")[0])
    assert lists == {"/claims", "/items"}


def count_false(app: RunningApp, group: dict[str, str | None]) -> float:
    """Count the claims of a group that are false or can't be verified."""
    conditions = "".join(f" and i.{name} = :{name}" for name in group)
    with app.open() as store:
        sql = (
            "select count(*) from deciding_closed_book_labels as d join eval_items as i "
            "on i.item_id = d.item_id where d.run_id = :run "
            f"and d.label in ('false', 'unverifiable'){conditions}"
        )
        return float(store.query(sql, {"run": RUN, **group})[0][0])


def test_rates_by_a_judge_alone_lead_to_what_the_judge_said(corrected: RunningApp) -> None:
    """Where people's labels correct the one rate, they don't decide what other rates count."""
    report = read_report(corrected)
    assert report.headline.basis == "corrected"
    person = corrected.enter("ada", "adjudicator")
    mix = draw_mix([MeasuredRun(RUN, "", report)])
    assert mix is not None
    [row] = mix.rows
    counted = {
        name: found.numerator if found else 0.0
        for name, found in zip(mix.names, row.found, strict=True)
    }
    listed = {name: count_listed(person, row.links[name])[0] for name in mix.names}
    assert listed == counted
    assert count_listed(person, row.links["unscored"]) == (row.unscored,)
    faithfulness = find_table(report, "faithfulness")
    assert faithfulness is not None
    group = next(one for one in faithfulness.slices if one.slice.keys() == {"stakes"})
    link = link_row(report, group, None)
    assert "by=verifier" in link
    assert count_listed(person, link) == (group.claims - group.numerator,)


def test_what_is_not_scored_is_listed(demo_app: RunningApp) -> None:
    report = read_report(demo_app)
    person = demo_app.enter("ada", "adjudicator")
    recall = find_table(report, "context_recall")
    assert recall is not None
    whole = form.overall_of(recall, None)
    assert whole is not None
    assert whole.unscored
    page = person.web.get(link_unscored(report, whole, None)).text
    assert 'aria-current="page">Not scored' in page
    claims = find_table(report, "faithfulness")
    assert claims is not None
    assert count_listed(person, link_unscored(report, claims.overall[0], None)) == (
        claims.overall[0].unscored,
    )


def test_items_are_divided_and_cut_into_pages(
    demo_app: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claimwise.app.items.PAGE", 3)
    person = demo_app.enter("ada", "adjudicator")
    start = "/items?run=candidate&metric=context_recall"
    seen: list[str] = []
    link: str | None = start
    while link:
        page = person.web.get(html.unescape(link)).text
        assert "Below 100% (5)" in page
        seen += re.findall(r'href="(/answers\?[^"]+)"', page)
        found = re.search(r'rel="next" href="([^"]+)"', page)
        link = found[1] if found else None
    assert len(seen) == len(set(seen)) == 5
    assert person.web.get(html.unescape(seen[0])).status_code == 200
    full = person.web.get(f"{start}&show=others&page=999999999999").text
    assert 'aria-current="page">100% (61)' in full
    assert 'rel="prev"' in full


@pytest.mark.parametrize(
    "link",
    ["/items", "/items?run=nothing", "/items?run=candidate", "/items?run=candidate&metric=other",
     "/items?run=candidate&metric=quadrant", "/items?run=candidate&metric=context_recall&part=x",
     "/items?run=candidate&metric=context_recall&group=colour=red"],
)  # fmt: skip
def test_rates_that_are_not_there_are_refused(demo_app: RunningApp, link: str) -> None:
    answer = demo_app.enter("ada", "adjudicator").web.get(link)
    assert answer.status_code in (400, 404)
    assert "fault in claimwise" not in answer.text


def test_a_part_or_group_without_items_says_so(demo_app: RunningApp) -> None:
    person = demo_app.enter("ada", "adjudicator")
    for more in ("quadrant&part=none", "context_recall&group=stakes=none&page=x&show=x"):
        page = person.web.get(f"/items?run=candidate&metric={more}")
        assert page.status_code == 200
        assert "No item of this run counts here." in page.text


def test_every_cell_of_a_calibration_leads_to_its_claims(demo_app: RunningApp) -> None:
    person = demo_app.enter("ada", "adjudicator")
    person.post("/calibrations", verifier="verifier:overlap-v0", judgement="grounded")
    with demo_app.open() as store:
        whole = next(one for one in list_calibrations(store) if not one.slice)
    page = person.web.get(f"/calibrations/{whole.calibration_id}").text
    cells = re.findall(r'<a href="(/claims\?[^"]+)">([\d,]+)</a>', page)
    counts = [count for given in whole.matrix.values() for count in given.values() if count]
    assert len(cells) > len(counts) + len(whole.bins)
    for link, count in cells:
        assert count_listed(person, html.unescape(link)) == (float(count.replace(",", "")),), link
    marks = re.findall(r'<a class="chart-link" href="([^"]+)"', page)
    assert len(marks) == len(whole.bins)


def test_the_audit_names_what_was_labelled_outside_of_rounds(demo_app: RunningApp) -> None:
    admin = demo_app.enter("root", "admin")
    with demo_app.open() as store:
        claim_id, text = store.query(
            "select claim_id, claim_text from claims where run_id = :run and item_id = 'agg-02' "
            "and claim_type <> 'non_factual' order by claim_id",
            {"run": RUN},
        )[0]
    label = {"run_id": RUN, "item_id": "agg-02", "claim_id": claim_id, "verdict": "unlinked"}
    admin.get("/label-claim?" + f"run={RUN}&item=agg-02&claim={claim_id}")
    assert admin.post_json("/api/claims/label", label).status_code == 200
    place = {"item": "agg-02", "sample": "0", "correct": "no"}
    assert admin.post(f"/label-answers/{RUN}", **place).status_code == 303
    case = {"run": RUN, "item": "agg-02", "sample": "0", "list": ""}
    assert admin.post("/answers/test-case", **case).status_code == 303
    page = admin.get("/audit").text
    subjects = [
        (link, html.unescape(words))
        for link, words in re.findall(r'<a href="(/[^"]+)" dir="auto">([^<]+)</a>', page)
    ]
    question = "“List all your railcards with price and discount.”"
    assert [words for _, words in subjects] == [
        question, f"answer to {question} in {RUN}", f"“{text}” in {RUN}"
    ]  # fmt: skip
    for link, _ in subjects:
        assert admin.web.get(html.unescape(link).partition("#")[0]).status_code == 200
