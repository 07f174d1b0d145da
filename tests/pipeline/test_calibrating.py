"""Calibrations from a store to a status: SQLite and PostgreSQL, real rows, real rounds."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from claimwise.agreement.people import measure_people
from claimwise.calibration.calibrate import calibrate_verifier
from claimwise.calibration.correction import correct_run
from claimwise.calibration.correction_text import describe_correction
from claimwise.calibration.queries import (
    list_calibrations,
    list_measurable,
    read_calibration,
    read_samples,
)
from claimwise.calibration.report import describe_calibration_basis
from claimwise.calibration.status import CalibrationStatuses, read_calibration_statuses
from claimwise.calibration.values import Calibrated, Calibration, TrustRule
from claimwise.calibration.weights import weigh_samples
from claimwise.errors import MetricError, StoreError
from claimwise.labelling.draw import draw_round
from claimwise.labelling.queue import save_label, take_task
from claimwise.labelling.rounds import add_guide, list_rounds
from claimwise.labelling.values import Choice
from claimwise.store import Store, open_store
from claimwise.transfer.files import export_store
from claimwise.types.rows import SMALLEST_CHANCE, Judgement
from small_data import Record, answer, closed_label, item, label, load, run, source

NOW = datetime(2026, 11, 15, 12)  # noqa: DTZ001 - stores keep times in UTC without a zone


@pytest.fixture(autouse=True)
def _clock_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels are given in the months after NOW, whenever these tests run."""
    monkeypatch.setattr("claimwise.store.load.find_latest_time", lambda: NOW + timedelta(days=60))


SPAN = {"supporting_span": "It opened in 1999.", "source_id": "doc"}
VERIFIER: Record = {
    "type": "labelers", "labeler": "verifier:v-1", "labeler_kind": "verifier", "model": "m",
    "prompt_ver": "p1",
}  # fmt: skip


def give(item_id: str, text: str, verdict: str, labeler: str, **more: Any) -> Record:
    span = SPAN if verdict == "supported" else {}
    return label(item_id, text, verdict, labeler=labeler, **span, **more)


def make_judged(
    items: int, *, wrong: int = 0, overlap: bool = True, first: int = 0, **of_item: Any
) -> list[Record]:
    """Items with four claims, half of them supported; the instrument errs on the first ``wrong``.

    Both people say the same, but for one claim in ten items.
    """
    rows: list[Record] = []
    for n in range(first, first + items):
        name = f"i{n}"
        rows += [item(name, **of_item), answer(name, *(f"claim {c}" for c in range(4)))]
        for c in range(4):
            text, good = f"claim {c}", c % 2 == 0
            truth, other = ("supported", "unlinked") if good else ("unlinked", "supported")
            rows.append(give(name, text, other if c < wrong else truth, "verifier:v-1",
                             confidence=0.9 if c != 3 else 0.6))  # fmt: skip
            rows.append(give(name, text, truth, "ana"))
            if overlap:
                second = other if c == 0 and n % 10 == 0 else truth
                rows.append(give(name, text, second, "ben", labeled_at="2026-01-15T00:00:00Z"))
    return rows


def calibrate(store: Store, **more: Any) -> Calibrated:
    return calibrate_verifier(store, "v-1", now=NOW, **more)


def test_an_instrument_that_agrees_is_trusted(store: Store) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(40))
    found = calibrate(store)
    one = found.overall
    assert one.status == "trusted", one.reason
    assert (one.claims, one.items, one.unscored, one.unjudged) == (160, 40, 0, 0)
    assert one.balanced_accuracy.value == 1
    assert one.people.claims == 160
    assert one.contested == 4
    assert one.expires_at == NOW + timedelta(days=90)
    assert (one.prompt_ver, one.model, one.runs) == ("p1", "m", ("r",))
    assert found.slices == ()  # no item has a domain
    assert found.corrected == ()
    assert list_calibrations(store) == [one]
    assert read_calibration(store, one.calibration_id) == one
    assert read_calibration(store, "nope") is None


def test_one_that_guesses_is_not(store: Store) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(40, wrong=2))
    one = calibrate(store).overall
    assert one.status == "not trusted"
    assert one.balanced_accuracy.value == pytest.approx(0.5)


def test_people_come_first(store: Store) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(40, overlap=False))
    one = calibrate(store).overall
    assert one.status == "unknown"
    assert "nobody knows if people agree" in one.reason


@pytest.mark.each_engine
def test_adjudications_are_no_second_person(store: Store) -> None:
    rows = make_judged(40, overlap=False)
    rows += [give(f"i{n}", "claim 1", "unlinked", "eve", label_kind="adjudicated",
                  labeled_at="2026-01-20T00:00:00Z") for n in range(40)]  # fmt: skip
    load(store, VERIFIER, source(), run(), *rows)
    assert calibrate(store).overall.people.claims == 0


@pytest.mark.each_engine
def test_people_are_not_compared_across_versions_of_the_guide(store: Store) -> None:
    rows = make_judged(40)
    guides = {"ana": "g1", "ben": "g2"}
    for row in rows:
        if row["type"] == "labels" and row["labeler"] in guides:
            row["guide_version"] = guides[row["labeler"]]
    for version in guides.values():
        add_guide(store, version, version, NOW)
    load(store, VERIFIER, source(), run(), *rows)
    one = calibrate(store).overall
    assert (one.people.claims, one.contested) == (0, 0)
    assert measure_people(store, "r").several_labels == 0


def test_exported_files_are_measured_and_keep_nothing(store: Store, tmp_path: Path) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(40))
    export_store(store, tmp_path / "files", "parquet")
    with open_store(tmp_path / "files") as files:
        found = calibrate(files, keep=False)
        assert found.overall.balanced_accuracy == calibrate(store).overall.balanced_accuracy
        assert found.corrected == ()
        with pytest.raises(StoreError, match="read-only"):
            calibrate(files)
        assert list_calibrations(files) == []
        assert list_rounds(files) == []


def test_slices_stand_worst_first_and_decide_for_their_items(store: Store) -> None:
    load(
        store, VERIFIER, source(), run(), *make_judged(40, domain="law"),
        *make_judged(40, wrong=2, first=40, domain="health"),
        *make_judged(5, first=80, domain="sport"),
    )  # fmt: skip
    found = calibrate(store, by=("domain",))
    assert [(one.slice["domain"], one.status) for one in found.slices] == [
        ("health", "not trusted"), ("law", "trusted"), ("sport", "unknown"),
    ]  # fmt: skip
    standings = read_calibration_statuses(store, NOW)
    for domain, standing in (("law", "trusted"), ("health", "not trusted"), ("sport", "unknown")):
        known = standings.find("verifier:v-1", "grounded", {"domain": domain})
        assert known is not None
        assert known[0] == standing
    assert standings.find("verifier:v-1", "grounded", {"domain": "travel"}) is None
    assert standings.find("verifier:v-1", "closed_book", {"domain": "law"}) is None
    told = standings.describe("verifier:v-1")
    assert told == (
        "trusted in domain=law; not trusted in domain=health; unknown in domain=sport "
        "until 2027-02-13"
    )


@pytest.mark.each_engine
def test_another_slice_can_take_trust_away(store: Store) -> None:
    load(
        store, VERIFIER, source(), run(), *make_judged(60, domain="law"),
        *make_judged(30, wrong=2, first=60, domain="law", query_type="multi_hop"),
    )  # fmt: skip
    calibrate(store, by=("domain", "query_type"), rule=TrustRule(level=0.7, margin=0.5))
    standings = read_calibration_statuses(store, NOW)
    found = {
        kind: standings.find("verifier:v-1", "grounded", {"domain": "law", "query_type": kind})
        for kind in ("lookup", "multi_hop")
    }
    assert found["lookup"] is not None
    assert found["multi_hop"] is not None
    assert (found["lookup"][0], found["multi_hop"][0]) == ("trusted", "not trusted")


@pytest.mark.each_engine
def test_it_expires_is_superseded_and_void(store: Store) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(40))
    first = calibrate(store, rule=TrustRule(days=10)).overall
    later = NOW + timedelta(days=10)
    assert first.stand(later - timedelta(seconds=1)) == "trusted"
    assert first.stand(later) == "expired"
    standings = read_calibration_statuses(store, later)
    assert standings.describe("verifier:v-1") == "expired on 2026-11-25"
    assert standings.list_expired() == ["verifier:v-1"]
    second = calibrate_verifier(store, "v-1", now=later).overall
    assert list_calibrations(store) == [second]
    assert read_calibration(store, first.calibration_id) == first
    for other in ({"model": "m2"}, {"prompt_ver": "p2"}):
        load(store, VERIFIER, update=True)
        assert list_calibrations(store) == [second]
        load(store, {**VERIFIER, **other}, update=True)
        assert list_calibrations(store) == []
    assert read_calibration_statuses(store, later).describe("verifier:v-1") is None


@pytest.mark.each_engine
def test_what_another_version_wrote_is_not_passed_over(store: Store) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(40))
    calibrate(store)
    store.execute_all([("update calibrations set detail = :text", {"text": "{}"})])
    with pytest.raises(StoreError, match="make it again with `claimwise calibrate`"):
        list_calibrations(store)
    calibrate_verifier(store, "v-1", now=NOW + timedelta(days=1))
    assert len(list_calibrations(store)) == 1


def test_a_dry_run_keeps_nothing(store: Store) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(40))
    assert calibrate(store, keep=False).kept is False
    assert list_calibrations(store) == []


def test_what_it_could_not_judge_is_counted_and_in_no_figure(store: Store) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(30))
    load(
        store, item("u"), answer("u", "lost", "never"),
        give("u", "lost", "supported", "ana"), give("u", "never", "supported", "ana"),
        {"type": "unscored", "run_id": "r", "item_id": "u", "claim_text": "lost",
         "labeler": "verifier:v-1", "failed_at": "2026-02-01T00:00:00Z", "reason": "timeout"},
    )  # fmt: skip
    one = calibrate(store).overall
    assert (one.claims, one.unscored, one.unjudged) == (120, 1, 1)
    assert sum(count for row in one.matrix.values() for count in row.values()) == 120


def test_a_slice_that_it_judged_nothing_of(store: Store) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(30, domain="law"))
    load(store, item("u", domain="sport"), answer("u", "x"), give("u", "x", "supported", "ana"))
    empty = next(one for one in calibrate(store).slices if one.slice == {"domain": "sport"})
    assert (empty.claims, empty.unjudged, empty.status) == (0, 1, "unknown")
    assert (empty.kappa.value, empty.agreement.value, empty.bins) == (None, None, ())


@pytest.mark.each_engine
def test_the_latest_verdict_counts_and_labels_taken_back_don_t(store: Store) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(30))
    load(store, give("i0", "claim 0", "unlinked", "verifier:v-1",
                     labeled_at="2026-02-02T00:00:00Z"))  # fmt: skip
    assert calibrate(store).overall.matrix["unlinked"]["supported"] == 1
    key = {"run_id": "r", "item_id": "i1", "labeler": "ana", "labeled_at": NOW, "by": "ana"}
    store.execute_all([(
        "insert into label_retractions select run_id, item_id, claim_id, 'grounded', labeler, "
        "labeled_at, :labeled_at, :by from labels where run_id = :run_id and item_id = :item_id "
        "and labeler = :labeler", key,
    )])  # fmt: skip
    one = calibrate(store).overall
    assert one.claims == 120  # ben's labels of that item decide now
    assert one.people.claims == 116


@pytest.mark.each_engine
def test_closed_book_verdicts_have_calibrations_of_their_own(store: Store) -> None:
    rows = [
        row
        for n in range(30)
        for row in (
            item(f"i{n}"), answer(f"i{n}", "a", "b"),
            *(closed_label(f"i{n}", text, told, labeler=who)
              for text, told in (("a", "true"), ("b", "false")) for who in ("ana", "verifier:v-1")),
        )
    ]  # fmt: skip
    load(store, VERIFIER, source(), run(), *rows)
    found = calibrate(store, judgement="closed_book", rule=TrustRule(min_claims=20)).overall
    assert (found.judgement, found.claims, found.without_confidence) == ("closed_book", 60, 60)
    assert found.matrix["true"] == {"true": 30, "false": 0, "unverifiable": 0, "non_factual": 0}
    assert (found.bins, found.fit, found.thresholds) == ((), None, ())
    assert list_measurable(store, "closed_book") == ["verifier:v-1"]
    assert list_measurable(store, "grounded") == []
    with pytest.raises(MetricError, match="has no grounded verdict on claims"):
        calibrate(store)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nope", "Unknown judge 'nope'"),
        ("v-", "2 judges match 'v-': verifier:v-1, verifier:v-10"),
        ("", "Unknown judge ''"),
        ("verifier:v-10", "let people label claims that it judged"),
    ],
)
def test_names(store: Store, name: str, words: str) -> None:
    load(store, VERIFIER, {**VERIFIER, "labeler": "verifier:v-10"}, source(), run())
    with pytest.raises(MetricError, match=words):
        calibrate_verifier(store, name, now=NOW)


def test_an_exact_name_is_not_ambiguous(store: Store) -> None:
    load(store, VERIFIER, {**VERIFIER, "labeler": "verifier:v-10"}, source(), run(),
         *make_judged(30))  # fmt: skip
    assert calibrate_verifier(store, "verifier:v-1", now=NOW).overall.claims == 120


def test_unknown_slice_and_run(store: Store) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(2))
    with pytest.raises(MetricError, match="Unknown column 'colour'"):
        calibrate(store, by=("colour",))
    with pytest.raises(MetricError, match="Unknown run 'nope'"):
        calibrate(store, runs=("nope",))


def test_counting_words_stands_beside_it(store: Store) -> None:
    load(store, VERIFIER, {**VERIFIER, "labeler": "verifier:overlap-1"}, source(), run(),
         *make_judged(40))  # fmt: skip
    assert calibrate(store).overall.baseline is None
    load(store, *(give(f"i{n}", f"claim {c}", "supported" if c < 3 else "unlinked",
                       "verifier:overlap-1") for n in range(30) for c in range(4)))  # fmt: skip
    found = calibrate(store).overall.baseline
    assert found is not None
    assert (found.labeler, found.claims) == ("verifier:overlap-1", 120)
    assert found.balanced_accuracy.value == pytest.approx((1 + 0.5) / 2)
    assert found.instrument.value == 1
    assert calibrate_verifier(store, "overlap", now=NOW).overall.baseline is None


# -- rounds: weights and corrected rates -----------------------------------------------------------


def make_run(store: Store, items: int, run_id: str = "r") -> None:
    """A run whose first claim of every item is wrong; the instrument calls half of those good."""
    rows: list[Record] = []
    for n in range(items):
        name = f"i{n}"
        rows += [item(name)] if run_id == "r" else []
        rows += [answer(name, *(f"claim {c}" for c in range(4)), run_id=run_id)]
        rows += [
            give(name, f"claim {c}", "unlinked" if c == 0 and n % 2 else "supported",
                 "verifier:v-1", run_id=run_id, confidence=0.9)
            for c in range(4)
        ]  # fmt: skip
    load(store, *rows)


def answer_round(store: Store, round_id: str, who: str = "ana", most: int = 999) -> int:
    """Label the tasks of a round as the truth is."""
    given = 0
    while given < most and (task := take_task(store, round_id, who, NOW)) is not None:
        good = task.claim_text != "claim 0"
        span = "It opened in 1999."
        place = task.sources[0].source_text.index(span)
        choice = (
            Choice(verdict="supported", source_id="doc", span_start=place, span_text=span)
            if good
            else Choice(verdict="unlinked")
        )
        save_label(store, task.task_id, who, choice, NOW)
        given += 1
    return given


def draw(
    store: Store,
    run_id: str = "r",
    now: datetime = NOW,
    judgement: Judgement = "grounded",
    **more: Any,
) -> str:
    add_guide(store, "g1", "Judge fairly.", NOW)
    return draw_round(
        store, run_id, judgement, title=None, verifier="v-1", overlap=0.0, created_by="amy",
        guide_version="g1", now=now, **more,
    ).round_id  # fmt: skip


def reopen(store: Store, round_id: str, stratum: str) -> None:
    """Undo the labels of a stratum, as if nobody had come to it."""
    tasks = "from annotation_tasks as t where t.round_id = :round_id and t.stratum = :stratum"
    params = {"round_id": round_id, "stratum": stratum}
    store.execute_all([
        ("update annotation_slots set state = 'open', labeler = null where task_id in (select "
         f"t.task_id {tasks})", params),
        (f"delete from labels where labeler = 'ana' and exists (select 1 {tasks} "
         "and t.item_id = labels.item_id and t.claim_id = labels.claim_id)", params),
    ])  # fmt: skip


def load_late(store: Store, labeled_at: datetime, **more: Any) -> None:
    """Import labels of seven claims that nobody has labelled."""
    free = store.query(
        "select item_id, claim_text from claims as c where not exists (select 1 from labels as l "
        "where l.claim_id = c.claim_id and l.item_id = c.item_id and l.labeler = 'ana') "
        "order by item_id, claim_text"
    )
    at = labeled_at.isoformat() + "Z"
    load(store, *(give(name, text, "supported", "bo", labeled_at=at, **more)
                  for name, text in free[:7]))  # fmt: skip


def test_a_round_corrects_the_rate(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 80)
    round_id = draw(store, size=120, floor=50)  # the smaller stratum is drawn more often
    assert correct_run(store, "r") is None  # nobody has labelled yet
    assert answer_round(store, round_id) == 120
    found = correct_run(store, "r")
    assert found is not None
    assert (found.round_id, found.labels, found.claims, found.missing) == (round_id, 120, 320, 0)
    assert found.instrument.value == pytest.approx(280 / 320)
    assert found.low < 0.75 < found.high  # the truth
    assert found.value == pytest.approx(0.75, abs=0.06)
    assert found.high < 280 / 320
    assert found.notes == ()
    calibrated = calibrate(store, rule=TrustRule(min_claims=50))
    assert calibrated.corrected == (found,)
    one = calibrated.overall
    assert one.weighted
    assert one.effective_claims < one.claims == 120
    assert one.prevalence.value == pytest.approx(found.value, abs=1e-9)


def test_an_unfinished_round_says_what_is_missing(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 40)
    round_id = draw(store, size=60)
    for _ in range(5):
        task = take_task(store, round_id, "ana", NOW)
        assert task is not None
        save_label(store, task.task_id, "ana", Choice(verdict="unlinked"), NOW)
    found = correct_run(store, "r")
    assert found is not None
    assert (found.labels, found.missing) == (5, 55)
    assert "55 claims of the round have no label in it" in found.notes[0]


def test_a_round_that_has_barely_begun_does_not_push_aside_a_finished_one(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 80)
    done = draw(store, size=120)
    answer_round(store, done)
    finished = correct_run(store, "r")
    later = NOW + timedelta(days=1)
    newer = draw(store, size=120, now=later)
    assert correct_run(store, "r") == finished
    assert answer_round(store, newer, most=3) == 3
    found = correct_run(store, "r")
    assert finished is not None
    assert found is not None
    assert (found.round_id, found.low, found.high) == (done, finished.low, finished.high)
    assert f"the newer round {newer} has labels on 3 of its 120 claims" in found.notes[-1]
    answer_round(store, newer)
    found = correct_run(store, "r")
    assert found is not None
    assert (found.round_id, found.labels, found.earlier) == (newer, 120, 120)
    assert found.notes == ()


def test_labels_from_before_a_round_stand_for_themselves(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 40)
    load(store, *(give(f"i{n}", f"claim {c}", "supported" if c else "unlinked", "ana")
                  for n in range(10) for c in range(4)))  # fmt: skip
    round_id = draw(store, size=60)
    answer_round(store, round_id)
    found = correct_run(store, "r")
    assert found is not None
    assert (found.claims, found.labels, found.earlier, found.notes) == (160, 60, 40, ())
    assert found.low < 0.75 < found.high


def test_earlier_labels_are_no_labels_of_a_round_that_draws_again(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 40)
    first = draw(store, size=60)
    answer_round(store, first)
    finished = correct_run(store, "r")
    again = draw(store, size=60, seed=5, again=True, now=NOW + timedelta(days=1))
    assert correct_run(store, "r") == finished  # nobody has labelled in it yet
    assert answer_round(store, again, "bo", most=5) == 5
    found = correct_run(store, "r")
    assert found is not None
    assert (found.round_id, found.labels, found.earlier, found.missing) == (first, 60, 0, 0)
    assert f"the newer round {again} has labels on 5 of its 60 claims" in found.notes[-1]
    answer_round(store, again, "bo", most=50)
    found = correct_run(store, "r")
    assert found is not None
    assert (found.round_id, found.labels, found.earlier, found.missing) == (again, 55, 0, 5)
    assert (found.claims, len(found.notes)) == (160, 1)


def test_a_correction_leaves_out_what_its_round_did_whatever_came_later(store: Store) -> None:
    """Labels imported later with an earlier date: no reason to forget what was left out."""
    load(store, VERIFIER, source(), run())
    make_run(store, 80)
    answer_round(store, draw(store, size=100))
    round_id = draw(store, size=60, floor=5, now=NOW + timedelta(days=1))
    answer_round(store, round_id)
    before = correct_run(store, "r")
    assert before is not None
    load_late(store, NOW + timedelta(hours=23))
    found = correct_run(store, "r")
    assert found == before
    assert (found.round_id, found.labels, found.earlier, found.claims) == (round_id, 60, 100, 320)
    told = f"(corrected by 60 labels of people in round {round_id} and 100 from before it, over 320"
    assert told in describe_correction(found)


@pytest.mark.each_engine
def test_a_round_with_whole_strata_unlabelled_corrects_only_where_all_are_so(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 80)
    first = draw(store, size=100)
    answer_round(store, first, most=30)
    later = draw(store, size=60, floor=5, seed=5, now=NOW + timedelta(days=1))
    answer_round(store, later)
    reopen(store, later, "unlinked")
    found = correct_run(store, "r")
    assert found is not None
    assert (found.round_id, found.labels) == (first, 30)
    reopen(store, first, "supported")
    found = correct_run(store, "r")
    assert found is not None
    assert found.round_id == later
    assert any("it could hold anything" in note for note in found.notes)


def test_two_rounds_of_one_run_are_weighed_each_by_its_own_design(store: Store) -> None:
    """The second round leaves out what the first labelled; all labels count, once each."""
    load(store, VERIFIER, source(), run())
    make_run(store, 80)
    answer_round(store, draw(store, size=100))
    answer_round(store, draw(store, size=60, floor=5, now=NOW + timedelta(days=1)))
    samples = read_samples(store, "grounded")
    assert sorted((len(one.labelled), len(one.left_out)) for one in samples) == [
        (60, 100),
        (100, 0),
    ]
    assert sum(weigh_samples(samples).values()) == pytest.approx(320)
    found = calibrate(store).overall
    assert (found.claims, found.unweighted_labels) == (160, 0)
    assert found.prevalence.value == pytest.approx(0.75, abs=0.06)


def test_a_round_that_draws_again_leaves_nothing_out(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 40)
    answer_round(store, draw(store, size=60))
    answer_round(store, draw(store, size=60, seed=5, again=True, now=NOW + timedelta(days=1)), "bo")
    samples = read_samples(store, "grounded")
    assert [one.left_out for one in samples] == [(), ()]
    shared = set(samples[0].labelled) & set(samples[1].labelled)
    assert shared
    assert calibrate(store).overall.claims == 120 - len(shared)
    assert sum(weigh_samples(samples).values()) == pytest.approx(160)


@pytest.mark.each_engine
def test_only_what_was_labelled_in_a_round_counts_for_it(store: Store) -> None:
    """Drawn again and not yet labelled again, or labelled and taken back: neither is a label."""
    load(store, VERIFIER, source(), run())
    make_run(store, 40)
    answer_round(store, draw(store, size=60))
    draw(store, size=60, seed=5, again=True, now=NOW + timedelta(days=1))
    [first] = read_samples(store, "grounded")
    assert len(first.labelled) == 60
    store.execute_all([(
        "insert into label_retractions select run_id, item_id, claim_id, 'grounded', labeler, "
        "labeled_at, labeled_at, 'amy' from labels where labeler = 'ana' and item_id = "
        "(select min(item_id) from labels where labeler = 'ana')", {},
    )])  # fmt: skip
    [after] = read_samples(store, "grounded")
    assert 0 < 60 - len(after.labelled) <= 4


@pytest.mark.each_engine
def test_what_got_its_label_after_a_round_was_not_left_out_of_it(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 40)
    answer_round(store, draw(store, size=60))
    draw(store, size=20, floor=5, now=NOW + timedelta(days=1))
    answer_round(store, draw(store, size=20, floor=5, now=NOW + timedelta(days=1, hours=1)), "bo")
    store.execute_all([(
        "insert into label_retractions select run_id, item_id, claim_id, 'grounded', labeler, "
        "labeled_at, labeled_at, 'amy' from labels where labeler = 'ana'", {},
    )])  # fmt: skip
    [last] = read_samples(store, "grounded")
    assert (len(last.labelled), last.left_out) == (20, ())
    load(store, *(give(f"i{n}", "claim 3", "supported", "cy", labeled_at="2027-01-01T00:00:00Z")
                  for n in range(40)))  # fmt: skip
    assert read_samples(store, "grounded")[0].left_out == ()


@pytest.mark.each_engine
def test_a_chance_next_to_nothing_of_an_older_import_is_taken_for_the_smallest(
    store: Store,
) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(40))
    found = []
    for chance in (SMALLEST_CHANCE, 1e-160, 5e-324):
        store.execute_all([(
            "update labels set inclusion_probability = :chance where item_id = 'i3'",
            {"chance": chance},
        )])  # fmt: skip
        found.append(calibrate(store).overall.balanced_accuracy)
    assert found[0] == found[1] == found[2]


def test_the_baseline_is_weighed_as_the_instrument_is(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 80)
    words = "verifier:overlap-v0"
    load(store, {"type": "labelers", "labeler": words, "labeler_kind": "verifier"},
         *(give(f"i{n}", f"claim {c}", "unlinked" if c == 0 and n % 2 else "supported", words)
           for n in range(80) for c in range(4)))  # fmt: skip
    answer_round(store, draw(store, size=80, floor=30))
    answer_round(store, draw(store, size=60, floor=5, now=NOW + timedelta(days=1)))
    found = calibrate(store).overall
    assert found.weighted
    assert found.baseline is not None
    assert found.baseline.balanced_accuracy == found.baseline.instrument == found.balanced_accuracy


def test_a_grounded_round_weighs_no_closed_book_label(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 80)
    answer_round(store, draw(store, size=120, floor=38))
    load(
        store,
        *(
            closed_label(f"i{n}", f"claim {c}", "true" if c else "false", labeler=who)
            for n in range(40)
            for c in range(4)
            for who in ("verifier:v-1", "cy")
        ),
    )
    found = calibrate(store, judgement="closed_book").overall
    assert (found.claims, found.weighted, found.effective_claims) == (160, False, 160)


def test_a_round_with_whole_strata_unlabelled_waits_and_is_counted(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 80)
    answer_round(store, draw(store, size=100))
    before = calibrate(store).overall
    later = draw(store, size=60, floor=5, now=NOW + timedelta(days=1))
    answer_round(store, later)
    reopen(store, later, "unlinked")
    found = calibrate(store).overall
    assert found.waiting > 0
    assert (found.claims, found.unweighted_labels) == (before.claims, 0)
    assert found.prevalence == before.prevalence
    assert any("they wait" in line for line in describe_calibration_basis(found))


def test_labels_that_came_later_with_an_earlier_date_push_nothing_out(store: Store) -> None:
    """The second round left 100 out, whatever else has a label of before by now."""
    load(store, VERIFIER, source(), run())
    make_run(store, 80)
    answer_round(store, draw(store, size=100))
    answer_round(store, draw(store, size=60, floor=5, now=NOW + timedelta(days=1)))
    load_late(store, NOW + timedelta(hours=23))
    samples = read_samples(store, "grounded")
    assert sorted(len(one.left_out) for one in samples) == [0, 100]
    assert sum(weigh_samples(samples).values()) == pytest.approx(320)
    assert calibrate(store).overall.unweighted_labels == 7


@pytest.mark.each_engine
def test_labels_outside_any_round_stand_for_themselves_and_are_counted(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 40)
    answer_round(store, draw(store, size=60))
    load_late(store, NOW + timedelta(days=50), inclusion_probability=0.01)
    found = calibrate(store).overall
    assert (found.claims, found.unweighted_labels) == (67, 7)


@pytest.mark.each_engine
def test_a_closed_book_round_corrects_by_its_own_labels(store: Store) -> None:
    load(store, VERIFIER, source(), run())
    make_run(store, 20)  # the grounded verdicts in it play no part
    load(store, *(closed_label(f"i{n}", f"claim {c}", "true", labeler="verifier:v-1")
                  for n in range(20) for c in range(4)))  # fmt: skip
    load(store, *(closed_label("i0", f"claim {c}", "true") for c in range(4)))
    round_id = draw(store, judgement="closed_book", size=40)
    while (task := take_task(store, round_id, "bo", NOW)) is not None:
        told = "false" if task.claim_text == "claim 0" else "true"
        save_label(store, task.task_id, "bo", Choice(verdict=told), NOW)
    assert correct_run(store, "r") is None
    found = correct_run(store, "r", "closed_book")
    assert found is not None
    assert (found.labels, found.earlier, found.claims, found.notes) == (40, 4, 80, ())
    assert found.instrument.value == 1
    assert found.low < 61 / 80 < found.high < 1  # the truth: claim 0 of all items but one is false


def test_labels_of_one_run_correct_no_other(store: Store) -> None:
    load(store, VERIFIER, source(), run(), run("other"))
    make_run(store, 20)
    make_run(store, 20, "other")
    answer_round(store, draw(store))
    assert correct_run(store, "r") is not None
    assert correct_run(store, "other") is None


def test_standings_of_nothing(store: Store) -> None:
    standings = CalibrationStatuses([], NOW)
    assert standings.describe("verifier:v-1") is None
    assert standings.find("verifier:v-1", "grounded", {}) is None
    assert standings.list_expired() == []


def test_an_overall_calibration_says_nothing_of_domains_that_it_has_not_seen(store: Store) -> None:
    load(store, VERIFIER, source(), run(), *make_judged(40, domain="law"))
    one: Calibration = calibrate(store, by=()).overall
    assert one.domains == ("law",)
    standings = read_calibration_statuses(store, NOW)
    assert standings.find("verifier:v-1", "grounded", {"domain": "law"}) == ("trusted", one)
    assert standings.find("verifier:v-1", "grounded", {"domain": None}) is None
