from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from claimwise.store import Store, open_store
from claimwise.types.rows import AnswerLabel, Claim, ClosedBookLabel, Label, Row
from store.builders import base_rows, load, make, new_place

START = datetime(2026, 1, 1)  # noqa: DTZ001


class Vote(NamedTuple):
    claim: int
    kind: str
    day: int
    labeler: str


VOTES = st.builds(
    Vote,
    st.integers(0, 2),
    st.sampled_from(["adjudicated", "human", "verifier"]),
    st.integers(0, 2),
    st.sampled_from(["a", "B", "c", "é", "_"]),
)


def decide(votes: list[Vote]) -> dict[int, Vote]:
    """Say in Python who decides: the kind, then the latest, then the labeler's name."""
    rank = {"adjudicated": 0, "human": 1, "verifier": 2}
    best: dict[int, Vote] = {}
    for vote in sorted(votes, key=lambda v: (rank[v.kind], -v.day, name_of(v))):
        best.setdefault(vote.claim, vote)
    return best


def name_of(vote: Vote) -> str:
    return f"verifier:{vote.labeler}" if vote.kind == "verifier" else vote.labeler


def fields(vote: Vote) -> dict[str, Any]:
    return {
        "labeler": name_of(vote),
        "label_kind": vote.kind,
        "labeled_at": (START + timedelta(days=vote.day)).isoformat(),
    }


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def votable(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A store with claims, whose labels every example writes again."""
    place = new_place(request, request.param, tmp_path_factory.mktemp("votes"))
    with open_store(place, create=True) as store:
        load(store, *base_rows(without=(Label, ClosedBookLabel, AnswerLabel)))
        load(store, *(make(Claim, claim_text=f"c{n}", position=n) for n in range(3)))
        yield store


def vote(store: Store, table: str, rows: list[Row]) -> None:
    store._engine.execute(f"delete from {table}")
    load(store, *rows)


CASES = {
    "nobody": ([], None),
    "one": ([Vote(0, "verifier", 0, "a")], 0),
    "human_beats_later_verifier": ([Vote(0, "verifier", 2, "a"), Vote(0, "human", 0, "c")], 1),
    "adjudicated_beats_human": ([Vote(0, "human", 2, "a"), Vote(0, "adjudicated", 0, "c")], 1),
    "later_beats_earlier": ([Vote(0, "human", 1, "a"), Vote(0, "human", 2, "c")], 1),
    "name_breaks_the_tie": ([Vote(0, "human", 1, "c"), Vote(0, "human", 1, "a")], 1),
    "own_later_label_counts": ([Vote(0, "human", 1, "a"), Vote(0, "human", 2, "a")], 1),
    "all_three": (
        [Vote(0, "verifier", 2, "a"), Vote(0, "human", 1, "a"), Vote(0, "adjudicated", 0, "a")],
        2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_deciding_label_follows_the_rule(votable: Store, case: str) -> None:
    votes, winner = CASES[case]
    rows = [make(Label, claim_text="c0", source_id=None, supporting_span=None, verdict="unlinked",
                 **fields(v)) for v in votes]  # fmt: skip
    vote(votable, "labels", rows)
    found = votable.query("select labeler, label_kind, labeled_at from deciding_labels")
    expected = [] if winner is None else [votes[winner]]
    assert [row[:2] for row in found] == [(name_of(v), v.kind) for v in expected]
    days = [(START + timedelta(days=v.day)).isoformat(sep=" ") for v in expected]
    assert [str(row[2]) for row in found] == days


_FEW = settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
BALLOTS = st.lists(VOTES, max_size=10, unique_by=lambda v: (v.claim, name_of(v), v.day))


@_FEW
@given(votes=BALLOTS)
@example(votes=[Vote(0, "human", 0, "a"), Vote(0, "human", 0, "B"), Vote(0, "human", 0, "é")])
def test_deciding_labels_agree_with_python(votable: Store, votes: list[Vote]) -> None:
    rows = [make(Label, claim_text=f"c{v.claim}", source_id=None, supporting_span=None,
                 verdict="unlinked", **fields(v)) for v in votes]  # fmt: skip
    vote(votable, "labels", rows)
    found = votable.query("select claim_text, labeler, label_kind from deciding_labels order by 1")
    expected = decide(votes)
    assert found == [(f"c{n}", name_of(expected[n]), expected[n].kind) for n in sorted(expected)]


@_FEW
@given(votes=BALLOTS)
def test_deciding_closed_book_labels_agree_with_python(votable: Store, votes: list[Vote]) -> None:
    rows = [make(ClosedBookLabel, claim_text=f"c{v.claim}", **fields(v)) for v in votes]
    vote(votable, "closed_book_labels", rows)
    sql = "select claim_text, labeler, label_kind from deciding_closed_book_labels order by 1"
    expected = decide(votes)
    assert votable.query(sql) == [
        (f"c{n}", name_of(expected[n]), expected[n].kind) for n in sorted(expected)
    ]


@_FEW
@given(votes=BALLOTS)
def test_deciding_answer_labels_agree_with_python(votable: Store, votes: list[Vote]) -> None:
    alike = {(name_of(v), v.day): v._replace(claim=0) for v in votes}
    vote(votable, "answer_labels", [make(AnswerLabel, **fields(v)) for v in alike.values()])
    expected = decide(list(alike.values()))
    found = votable.query("select labeler, label_kind from deciding_answer_labels")
    assert found == [(name_of(v), v.kind) for v in expected.values()]


def test_demo_has_one_deciding_label_per_labelled_claim(demo_store: Store) -> None:
    sql = "select count(*) from (select distinct run_id, item_id, claim_id from {}) as t"
    decided = demo_store.query("select count(*) from deciding_labels")
    assert decided == demo_store.query(sql.format("labels"))
    assert decided == demo_store.query(sql.format("deciding_labels"))


def test_names_sort_alike_whatever_the_collation_of_the_database(postgres_server: str) -> None:
    with open_store(f"{postgres_server}?schema=collation", create=True) as admin:
        admin._engine.run_script("drop database if exists german;")
        admin._engine.run_script(
            "create database german template template0 locale_provider icu icu_locale 'de'"
        )
    other = postgres_server.rpartition("/")[0] + "/german"
    with open_store(other, create=True) as store:
        load(store, *base_rows(without=(Label,)))
        rows = [make(Label, labeler=name) for name in ("a", "B")]
        load(store, *rows)
        found = store.query("select labeler from deciding_labels")
        ordered = store.query("select labeler from labels order by labeler")
    with open_store(f"{postgres_server}?schema=collation") as admin:
        admin._engine.run_script("drop database german")
    assert found == [("B",)]
    assert ordered == [("B",), ("a",)]
