from __future__ import annotations

from typing import Any

import pytest

from claimwise.checking.queries import JudgingScope, count_verdicts, list_compared
from claimwise.errors import InputError
from claimwise.incidents.queries import list_queue
from claimwise.metrics import find_metric, load_metrics
from claimwise.metrics.counting import list_items
from claimwise.run_report.build import build_report
from claimwise.store import Store
from claimwise.store.lookup import find_run
from small_data import answer, closed_label, item, label, load, run, source

CLAIM = "It is 139 m tall."
DAY = "2026-02-{:02}T00:00:00Z"


@pytest.fixture
def voted(store: Store) -> Store:
    """A claim that two people and a verifier judged, both ways of judging."""
    load(
        store, source(), item("q"), run(), answer("q", CLAIM),
        label("q", CLAIM, "unlinked", labeler="ana", labeled_at=DAY.format(1)),
        label("q", CLAIM, "contradicted", labeler="ben", labeled_at=DAY.format(2)),
        label("q", CLAIM, "unlinked", labeler="verifier:v", labeled_at=DAY.format(3)),
        closed_label("q", CLAIM, "true", labeler="ana", labeled_at=DAY.format(1)),
        closed_label("q", CLAIM, "false", labeler="ben", labeled_at=DAY.format(2)),
    )  # fmt: skip
    return store


def retract(store: Store, labeler: str, day: int, **more: Any) -> None:
    claim_id = store.query("select claim_id from claims")[0][0]
    load(
        store,
        {"type": "label_retractions", "run_id": "r", "item_id": "q", "claim_id": claim_id,
         "labeler": labeler, "labeled_at": DAY.format(day), "retracted_at": DAY.format(9),
         "retracted_by": labeler, **more},
    )  # fmt: skip


def decided(store: Store, view: str = "deciding_labels") -> list[tuple[Any, ...]]:
    return store.query(f"select labeler from {view}")


def rate(store: Store, metric: str, labels: str = "default") -> list[tuple[float, float]]:
    rows = list_items(store, find_metric(load_metrics(), metric), "r", (), labels)
    return [(row.numerator, row.denominator) for row in rows]


def test_retracted_label_no_longer_decides(voted: Store) -> None:
    assert decided(voted) == [("ben",)]
    retract(voted, "ben", 2)
    assert decided(voted) == [("ana",)]
    assert decided(voted, "deciding_closed_book_labels") == [("ben",)]
    retract(voted, "ana", 1)
    assert decided(voted) == [("verifier:v",)]
    assert voted.count_rows()["labels"] == 3
    assert voted.audit() == []


def test_closed_book_label_is_retracted_by_itself(voted: Store) -> None:
    retract(voted, "ben", 2, judgement="closed_book")
    assert decided(voted, "deciding_closed_book_labels") == [("ana",)]
    assert decided(voted) == [("ben",)]


@pytest.mark.parametrize("labels", ["human", "labeler:ben"])
def test_narrower_sets_leave_retracted_labels_out(voted: Store, labels: str) -> None:
    assert rate(voted, "faithfulness", labels) == [(0, 1)]
    retract(voted, "ben", 2)
    if labels == "human":
        retract(voted, "ana", 1)
    assert rate(voted, "faithfulness", labels) == [(0, 0)]


def test_agreement_and_contested_share_ignore_retracted_labels(voted: Store) -> None:
    assert rate(voted, "contested_share") == [(1, 1)]
    assert rate(voted, "verifier_agreement") == [(0, 1)]
    retract(voted, "ben", 2)
    assert rate(voted, "contested_share") == []
    assert rate(voted, "verifier_agreement") == [(1, 1)]


def test_retracted_verdict_of_a_verifier_is_not_counted(voted: Store) -> None:
    load(voted, label("q", CLAIM, "stale", labeler="verifier:v#2", labeled_at=DAY.format(4)))
    first = JudgingScope(run=find_run(voted, "r"), labeler="verifier:v")
    assert [claim.verdicts for claim in list_compared(voted, first)] == [2]
    retract(voted, "verifier:v#2", 4)
    assert list_compared(voted, first) == []
    judging = JudgingScope(run=find_run(voted, "r"), labeler="verifier:v#2")
    assert count_verdicts(voted, judging) == {}


def test_report_counts_standing_labels(voted: Store) -> None:
    retract(voted, "ben", 2)
    retract(voted, "ben", 2, judgement="closed_book")
    report = build_report(voted, load_metrics(), "r", by=(), version="0")
    assert [one.labeler for one in report.instruments] == ["ana", "verifier:v"]


def test_queue_waits_again_for_a_label_taken_back(voted: Store) -> None:
    claim_id = voted.query("select claim_id from claims")[0][0]
    load(
        voted,
        {"type": "annotation_queue", "entry_id": "w", "task": "label", "item_id": "q",
         "run_id": "r", "claim_id": claim_id, "reason": "x", "added_at": DAY.format(1)},
    )  # fmt: skip
    assert list_queue(voted) == []
    retract(voted, "ben", 2)
    retract(voted, "ana", 1)
    assert [entry.entry_id for entry in list_queue(voted)] == ["w"]


@pytest.mark.parametrize(
    ("labeler", "day", "more"),
    [
        ("ana", 2, {}),
        ("nobody", 1, {}),
        ("verifier:v", 3, {"judgement": "closed_book"}),
    ],
)
def test_only_a_given_label_is_retracted(voted: Store, labeler: str, day: int, more: Any) -> None:
    with pytest.raises(InputError, match="label of that claim by that labeler at that time"):
        retract(voted, labeler, day, **more)
    assert voted.count_rows()["label_retractions"] == 0


@pytest.mark.parametrize(
    ("covered", "expected"),
    [(CLAIM, "not all of it"), ("cows", "letter by letter")],
)
def test_covered_part_stands_in_the_claim(voted: Store, covered: str, expected: str) -> None:
    more = {"source_id": "doc", "supporting_span": "It opened in 1999.", "labeler": "cyd"}
    with pytest.raises(InputError, match=expected):
        load(voted, label("q", CLAIM, "overreach", covered_text=covered, **more))
    load(voted, label("q", CLAIM, "overreach", covered_text="It is", **more))
    rows = voted.query("select covered_text from labels where labeler = 'cyd'")
    assert rows == [("It is",)]


def test_closed_book_guide_must_be_known(voted: Store) -> None:
    with pytest.raises(InputError, match="a guide version"):
        load(voted, closed_label("q", CLAIM, "true", labeler="cyd", guide_version="none"))
    guide = {"type": "guides", "guide_version": "g", "guide_text": "t",
             "created_at": DAY.format(1)}  # fmt: skip
    more = {"guide_version": "g", "inclusion_probability": 0.25}
    load(voted, guide, closed_label("q", CLAIM, "true", labeler="cyd", **more))
    sql = (
        "select guide_version, inclusion_probability from closed_book_labels where labeler = 'cyd'"
    )
    assert voted.query(sql) == [("g", 0.25)]
