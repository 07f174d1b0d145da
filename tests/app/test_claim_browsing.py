"""The claims and an answer as pages: what a link says, foreign text, CSV, test cases."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claimwise.app import claims as claims_page
from claimwise.store import Store, open_store
from small_data import Record, answer, claim, item, label, load, run, source
from support.app_server import Person, RunningApp, run_app
from support.copies import Fill

EVIL = "<script>alert(1)</script>"
FORMULA = "=HYPERLINK(1)"
TEXT = f"{EVIL} is tall and old. {FORMULA}"
JUDGE = {"labeler": "verifier:v1", "labeled_at": "2026-01-02T00:00:00Z"}


def hostile_run() -> list[Record]:
    """An answer with overlapping claims, one without a place, and markup wherever text can be."""
    return [
        source(title=EVIL, url="javascript:alert(1)", source_text=f"Before. {EVIL} stands. After."),
        item("a/b?c", query=EVIL, answerable=None, query_type=None, stakes=None, domain=EVIL),
        item("later"),
        run("r/1"),
        answer("a/b?c", claim(f"{EVIL} is tall and old", answer_start=0, answer_end=39),
               claim("It is old", answer_start=34, answer_end=48),
               claim(FORMULA), run_id="r/1", answer_text=TEXT),
        answer("later", "Never judged", run_id="r/1"),
        label("a/b?c", f"{EVIL} is tall and old", "contradicted", run_id="r/1", source_id="doc",
              supporting_span=f"{EVIL} stands", confidence=0.9, reason=EVIL, **JUDGE),
        label("a/b?c", f"{EVIL} is tall and old", "overreach", run_id="r/1", labeler="ana"),
        label("a/b?c", FORMULA, "unlinked", run_id="r/1", **JUDGE),
    ]  # fmt: skip


def add_hostile_run(store: Store) -> None:
    load(store, *hostile_run())


@pytest.fixture
def hostile(copy_store: Callable[[Fill], str], tmp_path: Path) -> Iterator[RunningApp]:
    with run_app(copy_store(add_hostile_run), tmp_path) as running:
        yield running


ANSWER = {"run": "r/1", "item": "a/b?c", "sample": "0"}


def show_answer(person: Person, **more: str) -> str:
    page = person.web.get("/answers", params={**ANSWER, **more})
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert 'href="javascript' not in page.text
    return page.text


def strip_tags(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page))


@pytest.mark.each_engine
def test_list_leads_to_the_answer_and_shows_foreign_text_as_text(hostile: RunningApp) -> None:
    person = hostile.enter("ada", "adjudicator")
    start = person.web.get("/claims")
    assert start.headers["location"] == "/claims?run=r%2F1", "all state is in the link"
    page = person.web.get(start.headers["location"]).text
    assert "<script>alert" not in page
    assert "<b>4 claims</b> in r/1, worst first" in page
    assert page.index("overreach") < page.index("unlinked") < page.index("not judged")
    assert "judge differs" in page
    link = html.unescape(re.findall(r'class="verdict v-overreach" href="([^"]+)"', page)[0])
    found = person.web.get(link.partition("#")[0])
    assert found.status_code == 200
    assert 'id="chosen"' in found.text
    assert "/claims?run=r%2F1" in found.text, "the way back to the list"


def test_answer_marks_overlapping_claims_and_lists_those_without_a_place(
    hostile: RunningApp,
) -> None:
    page = show_answer(hostile.enter("ada", "adjudicator"))
    marked = re.findall(r'<mark class="(v-[a-z-]+)( several)?">(.*?)</mark>', page)
    assert [(kind, bool(several), html.unescape(text)) for kind, several, text in marked] == [
        ("v-overreach", False, TEXT[:34]),
        ("v-overreach", True, TEXT[34:39]),
        ("v-not-scored", False, TEXT[39:48]),
    ]
    assert "their place in the answer is unknown: 3." in page
    words = strip_tags(page)
    assert TEXT in re.sub(r"\d[△○?](?: overreach| not scored)", "", words), "nothing is lost"
    assert f"Before. {EVIL} stands. After." in re.sub(r"1△ overreach", "", words)
    history = words[words.index("History of claim 1") :]
    assert history.index("ana person") < history.index("verifier:v1 judge")
    assert "90% sure · not calibrated" in history
    assert 'rel="next"' in page
    assert 'rel="prev"' not in page


def test_csv_holds_all_that_is_listed_and_no_formula(
    hostile: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims_page, "_CSV_PAGE", 3)
    person = hostile.enter("ada", "adjudicator")
    sent = person.web.get("/claims.csv", params={"run": "r/1"})
    assert sent.headers["content-type"] == "text/csv; charset=utf-8"
    assert sent.headers["transfer-encoding"] == "chunked", "it is sent while it is read"
    rows = list(csv.DictReader(io.StringIO(sent.text)))
    assert [row["verdict"] for row in rows] == ["overreach", "unlinked", "", ""]
    assert rows[1]["claim_text"] == f"'{FORMULA}"
    assert rows[0]["judges"] == "verifier:v1: contradicted"
    assert rows[0]["dispute"] == "judge differs"
    some = person.web.get("/claims.csv", params={"run": "r/1", "verdict": "unsupported"})
    assert len(list(csv.DictReader(io.StringIO(some.text)))) == 2


def test_answer_becomes_a_test_case_once(hostile: RunningApp) -> None:
    person = hostile.enter("ada", "adjudicator")
    assert "Can the sources answer this question?" in show_answer(person)
    unsaid = person.post("/answers/test-case", **ANSWER)
    assert unsaid.status_code == 409
    assert "whether the sources can answer" in unsaid.text
    for _ in range(2):
        done = person.post("/answers/test-case", **ANSWER, answerable="yes", list="run=r%2F1")
        assert done.status_code == 303
    page = person.web.get(done.headers["location"]).text
    assert "This answer is a test case now: <b>incident-a/b?c</b>" in page
    assert "Make it a test case" not in page
    with hostile.open() as store:
        made = store.query("select item_id, promoted_by, place from incidents")
        assert made == [("incident-a/b?c", "ada", "r/1/a/b?c/0")]
        audited = "select count(*) from audit_events where event = 'promoted'"
        assert store.query(audited) == [(1,)]
    nowhere = person.post("/answers/test-case", run="r/1", item="none")
    assert nowhere.status_code == 404


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/claims?run=none", 404, "There is no such run"),
        ("/claims?run=&verdict=wrong", 400, "Unknown verdict"),
        ("/claims?run=&group=colour%3Dred", 400, "Unknown column"),
        ("/claims?run=&group=model%3Dx", 400, "choose a run"),
        ("/claims?run=&disputed=maybe", 400, "can&#39;t be chosen by"),
        ("/claims?run=&after=99999999999999999999-1", 400, "no page of the list"),
        ("/claims?run=&q=zebra", 200, "No claim matches these filters"),
        ("/answers?run=r%2F1&item=none", 404, "no such answer"),
        ("/answers?run=r%2F1&item=later&sample=-1", 404, "no such answer"),
    ],
)
def test_links_that_lead_nowhere_say_so(nowhere: Person, path: str, status: int, told: str) -> None:
    page = nowhere.web.get(path)
    assert (page.status_code, told.lower() in page.text.lower()) == (status, True), page.text


@pytest.mark.each_engine
def test_hostile_filters_find_nothing_and_break_nothing(hostile: RunningApp) -> None:
    person = hostile.enter("ada", "adjudicator")
    texts = (
        "'; drop table claims; --",
        '" OR * NEAR(a b)',
        "a\\' & !b:*",
        EVIL,
        "99999999999999999",
    )
    for name in ("q", "verdict", "group", "disputed", "judge", "source", "reason", "after", "list"):
        for text in texts:
            page = person.web.get("/claims", params={"run": "", name: text})
            assert page.status_code in (200, 400), (name, text)
            assert "<script>alert" not in page.text
            show_answer(person, **{name: text, "claim": text})


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """An adjudicator of an app over the hostile run."""
    folder = tmp_path_factory.mktemp("nowhere")
    place = str(folder / "store.db")
    with open_store(place, create=True) as store:
        add_hostile_run(store)
    with run_app(place, folder) as running:
        yield running.enter("ada", "adjudicator")


def test_a_store_without_claims_says_what_to_do(app: RunningApp) -> None:
    page = app.enter("ada", "adjudicator").get("/claims")
    assert page.status_code == 200
    assert "claimwise import FOLDER" in page.text
