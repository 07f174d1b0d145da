"""Loading what several processes may have done: nothing is doubled, nothing is mixed."""

from __future__ import annotations

from datetime import datetime

from claimwise.checking.queries import EVER
from claimwise.store import LoadCount, Store
from claimwise.types.rows import Answer, Citation, Claim, Item, Label, Row, Run, Source, Unscored
from store.builders import CLAIM, load, make, put

LATER = "2026-03-02T09:00:00Z"
BY = {"labeler": "verifier:v1", "guide_version": None}


def add(store: Store, *rows: Row, since: datetime = EVER) -> dict[str, LoadCount]:
    counts = store.load(put(rows), ["work"], judged_since=since)
    return {count.kind: count for count in counts}


def prepare(store: Store) -> None:
    load(store, make(Source), make(Item), make(Run), make(Answer))


def test_labels_are_given_once(store: Store) -> None:
    prepare(store)
    assert add(store, make(Claim), make(Citation), make(Label, **BY))["labels"].added == 1
    found = add(store, make(Claim), make(Citation), make(Label, labeled_at=LATER, **BY))
    assert {kind: (count.read, count.added) for kind, count in found.items()} == {
        "claims": (0, 0),
        "citations": (0, 0),
        "labels": (0, 0),
    }
    assert store.count_rows()["labels"] == 1


def test_others_labels_do_not_count(store: Store) -> None:
    prepare(store)
    add(store, make(Claim), make(Label, **BY))
    other = make(Label, labeler="verifier:v2", guide_version=None)
    assert add(store, other)["labels"].added == 1


def test_labels_older_than_asked_do_not_count(store: Store) -> None:
    prepare(store)
    add(store, make(Claim), make(Label, **BY))
    since = datetime.fromisoformat("2026-03-02")
    assert add(store, make(Label, labeled_at=LATER, **BY), since=since)["labels"].added == 1
    again = make(Label, labeled_at="2026-03-03T09:00:00Z", **BY)
    assert add(store, again, since=since)["labels"].added == 0


def test_who_splits_first_decides_on_the_claims(store: Store) -> None:
    """The labels of a late process stay only where the claims are the same."""
    prepare(store)
    add(store, make(Claim), make(Label, **BY))
    other = {"claim_text": "Tea is hot.", "position": 1}
    rows = [
        make(Claim, position=3),
        make(Claim, **other),
        make(Label, labeler="verifier:v2", guide_version=None),
        make(Label, claim_text="Tea is hot.", supporting_span=None, source_id=None,
             labeler="verifier:v2", guide_version=None),
        make(Unscored, claim_text="Tea is hot.", labeler="verifier:v2"),
    ]  # fmt: skip
    found = add(store, *rows)
    assert (found["claims"].added, found["labels"].added, found["unscored"].added) == (0, 1, 0)
    assert store.query("select claim_text, position from claims") == [(CLAIM, 0)]
    assert store.audit() == []


def test_failures_are_told_once_and_never_beside_a_label(store: Store) -> None:
    prepare(store)
    add(store, make(Claim), make(Unscored))
    assert add(store, make(Unscored, failed_at=LATER))["unscored"].added == 0
    assert add(store, make(Unscored, failed_at=LATER, reason="cut off"))["unscored"].added == 1
    assert add(store, make(Label, **BY))["labels"].added == 1
    late = make(Unscored, failed_at="2026-03-05T09:00:00Z", reason="other")
    assert add(store, late)["unscored"].added == 0
