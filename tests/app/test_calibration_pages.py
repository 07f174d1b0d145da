"""The pages of calibrations: who may see and make them, and what they show."""

from __future__ import annotations

import re
from html import unescape

from claimwise.calibration.queries import list_calibrations
from support.app_server import RunningApp

OVERLAP = {"verifier": "verifier:overlap-v0", "judgement": "grounded"}


def read_text(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_labelers_see_nothing(demo_app: RunningApp) -> None:
    assert demo_app.visit().get("/calibrations").status_code in {303, 401}
    assert demo_app.enter("lou").get("/calibrations").status_code == 403


def test_from_nothing_to_a_calibration(demo_app: RunningApp) -> None:
    person = demo_app.enter("ada", "adjudicator")
    empty = read_text(person.get("/calibrations").text)
    assert "No judge is checked against people yet" in empty
    assert "Calibrate verifier:overlap-v0 (against sources)" in empty
    made = person.post("/calibrations", **OVERLAP)
    assert made.status_code == 303
    with demo_app.open() as store:
        kept = {one.calibration_id: one for one in list_calibrations(store)}
        events = store.query("select account, subject, detail from audit_events "
                             "where event = 'calibrated'")  # fmt: skip
    assert events == [("ada", "verifier:overlap-v0", "unknown")]
    page = person.get(made.headers["location"])
    one = kept[made.headers["location"].rpartition("/")[2]]
    text = read_text(page.text)
    assert page.status_code == 200
    assert one.reason[1:] in text
    assert one.expires_at.date().isoformat() in text
    assert "74% (67–81%)" in text
    assert page.text.count("<svg") == 2
    assert " style=" not in page.text
    listed = read_text(person.get("/calibrations").text)
    assert all(name in listed for name in ("overall unknown", "domain=refunds unknown"))


def test_a_runs_page_names_the_calibration_of_its_probabilities(demo_app: RunningApp) -> None:
    person = demo_app.enter("ada", "adjudicator")
    page = "/runs/candidate?tab=method"
    assert "probabilities of support" not in read_text(person.get_current(page).text)
    person.post("/calibrations", **OVERLAP)
    text = read_text(person.get_current(page).text)
    assert "probabilities of support in travel are calibrated on 163 labelled claims of" in text
    assert re.search(r"mean score of 77 verdicts 0\.\d+, calibrated 0\.\d+", text)


def test_an_older_one_says_that_it_no_longer_counts(demo_app: RunningApp) -> None:
    person = demo_app.enter("ada", "adjudicator")
    first, _ = (person.post("/calibrations", **OVERLAP) for _ in range(2))
    assert "no longer counts" in read_text(person.get(first.headers["location"]).text)


def test_what_is_refused(demo_app: RunningApp) -> None:
    person = demo_app.enter("ada", "adjudicator")
    assert person.get("/calibrations/nope").status_code == 404
    for form in (
        {"verifier": "<script>alert(1)</script>"},
        {"verifier": ""},
        {"verifier": "overlap"},
        {"verifier": "verifier:overlap-v0", "judgement": "closed_book"},
        {"verifier": "verifier:overlap-v0", "judgement": "x' or 1=1"},
    ):
        answer = person.post("/calibrations", **form)
        assert answer.status_code == 400
        assert "<script>alert" not in answer.text
    with demo_app.open() as store:
        assert list_calibrations(store) == []
