from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from claimwise.claims.queries import choose_judgement, count_claims, list_claims
from claimwise.errors import MetricError, StoreError
from claimwise.store import Store, open_store
from claimwise.transfer import export_store
from small_data import Record, answer, claim, closed_label, item, label, load, run, source

pytestmark = pytest.mark.each_engine

JUDGE = {"labeler": "verifier:v1", "labeled_at": "2026-01-02T00:00:00Z"}
TALL = "The tower is 200 m tall"
OLD = "It opened in 1999"
FREE = "Entry is free"
DOGS = "Dogs may come in"
CATS = "Cats may come in"


def labelled_run() -> list[Record]:
    """A claim of every kind: by people, by a judge that is sure or not, failed, never judged."""
    return [
        source(title="Guide to the tower"),
        item("q1", domain="tower", attributes={"channel": "web"}),
        item("q2", query="What does 100% of it cost?", stakes="high", query_type="multi_hop"),
        run(),
        answer("q1", TALL, OLD, claim("Great question!", claim_type="non_factual"),
               answer_text=f"{TALL}. {OLD}."),
        answer("q2", FREE, DOGS, CATS, "Cows may come in", "Birds may come in"),
        label("q1", TALL, "contradicted", supporting_span="The tower is 139 m tall.",
              source_id="doc", confidence=0.7, reason="139 m, not 200 m", **JUDGE),
        label("q1", OLD, "supported", supporting_span="It opened in 1999.", source_id="doc",
              confidence=0.9, **JUDGE),
        label("q2", FREE, "contradicted", confidence=0.8, **JUDGE),
        label("q2", DOGS, "unlinked", confidence=0.6, **JUDGE),
        label("q2", CATS, "unlinked", confidence=0.9, **JUDGE),
        label("q2", "Cows may come in", "overreach", confidence=0.5, **JUDGE),
        {"type": "unscored", "run_id": "r", "item_id": "q2", "claim_text": "Birds may come in",
         "labeler": "verifier:v1", "failed_at": "2026-01-02T00:00:00Z", "reason": "timeout"},
    ]  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "duckdb"])
def judged(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """The labelled run on every engine. Read it; don't write to it."""
    folder = tmp_path_factory.mktemp("judged")
    place = str(folder / "store.db")
    if request.param == "postgresql":
        place = f"{request.getfixturevalue('postgres_server')}?schema=listed_claims"
    with open_store(place, create=True) as store:
        load(store, *labelled_run())
        if request.param == "duckdb":
            export_store(store, folder / "parquet", "parquet")
        else:
            yield store
            return
    with open_store(folder / "parquet") as store:
        yield store


def texts(store: Store, **options: Any) -> list[str]:
    return [row.claim_text for row in list_claims(store, "r", **options)]


def test_claims_come_worst_first_and_the_surest_first_within_a_verdict(judged: Store) -> None:
    assert texts(judged) == [
        FREE, TALL, "Cows may come in", CATS, DOGS, "Birds may come in", OLD,
    ]  # fmt: skip
    assert count_claims(judged, "r") == {
        "contradicted": 2, "overreach": 1, "unlinked": 2, "unscored": 1, "supported": 1,
    }  # fmt: skip


def test_a_claim_brings_all_that_a_reader_needs(judged: Store) -> None:
    row = list_claims(judged, "r", where={"domain": "tower"}, by=["labeler", "system"])[0]
    assert (row.verdict, row.label_kind, row.labeler) == (
        "contradicted",
        "verifier",
        "verifier:v1",
    )
    assert (row.confidence, row.reason) == (0.7, "139 m, not 200 m")
    assert (row.evidence, row.evidence_start) == ("The tower is 139 m tall.", 0)
    assert (row.source_id, row.source_title) == ("doc", "Guide to the tower")
    assert row.question == "How tall is it?"
    assert row.answer_text == f"{TALL}. {OLD}."
    assert row.slice == {
        "query_type": "lookup", "stakes": "low", "domain": "tower", "channel": "web",
        "labeler": "verifier:v1", "system": "s",
    }  # fmt: skip
    failed = list_claims(judged, "r", verdicts=["unscored"])[0]
    assert (failed.verdict, failed.unscored, failed.word) == (None, "timeout", "unscored")
    assert row.to_dict()["labeled_at"] == "2026-01-02T00:00:00"


def test_filters_narrow_the_list(judged: Store) -> None:
    assert texts(judged, verdicts=["unlinked"]) == [CATS, DOGS]
    assert texts(judged, verdicts=["supported", "unscored"]) == ["Birds may come in", OLD]
    assert texts(judged, unscored=False)[-2:] == [DOGS, OLD]
    assert texts(judged, where={"channel": "web"}) == [TALL, OLD]
    assert texts(judged, where={"domain": None, "verdict": "contradicted"}) == [FREE]
    assert texts(judged, where={"source_id": "doc"}) == [TALL, OLD]
    assert texts(judged, labels="human") == [TALL, OLD, FREE, DOGS, CATS,
                                             "Cows may come in", "Birds may come in"]  # fmt: skip


def test_search_finds_text_in_claim_evidence_reason_and_question(judged: Store) -> None:
    assert texts(judged, search="CATS may") == [CATS]
    assert texts(judged, search="139 m tall") == [TALL]
    assert texts(judged, search="not 200") == [TALL]
    assert texts(judged, search="100%", limit=1) == [FREE]
    assert texts(judged, search="1%9 m") == []
    assert texts(judged, search="_") == []


def test_pages_joined_are_the_whole_list(judged: Store) -> None:
    whole = list_claims(judged, "r")
    paged, after = [], None
    while page := list_claims(judged, "r", limit=2, after=after):
        assert len(page) <= 2
        paged += page
        after = page[-1].place
    assert paged == whole
    assert all(one.place < two.place for one, two in pairwise(whole))


def test_unknown_names_are_refused_with_those_that_are_known(judged: Store) -> None:
    with pytest.raises(MetricError, match=r"Unknown verdict 'wrong'\. Known verdicts: supported"):
        list_claims(judged, "r", verdicts=["wrong"])
    with pytest.raises(MetricError, match=r"Unknown column 'colour'\..*channel"):
        list_claims(judged, "r", where={"colour": "red"})
    with pytest.raises(MetricError, match=r"Unknown column .*; drop"):
        list_claims(judged, "r", by=["x'; drop"])
    with pytest.raises(StoreError, match="Unknown run 'nope'"):
        list_claims(judged, "nope")


def test_people_decide_before_judges_and_come_first(store: Store) -> None:
    load(store, *labelled_run(),
         label("q2", DOGS, "contradicted", labeler="ana"),
         label("q1", TALL, "contradicted", labeler="eve", label_kind="adjudicated"))  # fmt: skip
    rows = list_claims(store, "r")
    assert [row.claim_text for row in rows[:3]] == [TALL, DOGS, FREE]
    assert [row.label_kind for row in rows[:3]] == ["adjudicated", "human", "verifier"]


def test_disputed_are_those_where_people_differ_or_a_judge_differs_from_them(store: Store) -> None:
    load(store, *labelled_run(),
         label("q1", OLD, "supported", labeler="ana"),
         label("q1", TALL, "contradicted", labeler="ana"),
         label("q1", TALL, "unlinked", labeler="bob"),
         label("q2", DOGS, "supported", labeler="ana"))  # fmt: skip
    assert texts(store, disputed=True) == [TALL, DOGS]
    # Adjudication settles what people said; a judge that says otherwise still differs.
    load(store, label("q1", TALL, "contradicted", labeler="eve", label_kind="adjudicated"),
         label("q2", DOGS, "unlinked", labeler="eve", label_kind="adjudicated"),
         label("q2", FREE, "supported", labeler="eve", label_kind="adjudicated"))  # fmt: skip
    assert texts(store, disputed=True) == [FREE]
    assert [row.claim_text for row in list_claims(store, "r") if row.disputed] == [FREE]


def test_a_run_judged_closed_book_is_listed_by_those_verdicts(store: Store) -> None:
    load(store, item("q"), run(), answer("q", "One", "Two", "Three", "Four", "Five"),
         *(closed_label("q", text, told, labeler="judge:m", decision_basis=f"because {text}")
           for text, told in [("One", "true"), ("Two", "unverifiable"), ("Three", "false"),
                              ("Four", "non_factual")]))  # fmt: skip
    assert choose_judgement(store, "r") == "closed_book"
    rows = list_claims(store, "r")
    assert [(row.claim_text, row.word) for row in rows] == [
        ("Three", "false"), ("Two", "unverifiable"), ("Five", "unscored"), ("One", "true"),
        ("Four", "non_factual"),
    ]  # fmt: skip
    assert rows[0].reason == "because Three"
    assert rows[2].unscored == "not_judged"
    # Once it is judged against sources, those verdicts are the ones that count.
    load(store, label("q", "One", "unlinked"))
    assert choose_judgement(store, "r") == "grounded"
    assert count_claims(store, "r") == {"unlinked": 1, "unscored": 4}
    assert count_claims(store, "r", judgement="closed_book")["false"] == 1


def test_labels_taken_back_do_not_count(store: Store) -> None:
    load(store, *labelled_run())
    row = next(row for row in list_claims(store, "r") if row.claim_text == FREE)
    load(store, {"type": "label_retractions", "run_id": "r", "item_id": "q2",
                 "claim_id": row.claim_id, "labeler": JUDGE["labeler"],
                 "labeled_at": JUDGE["labeled_at"], "retracted_at": "2026-03-01T00:00:00Z",
                 "retracted_by": "ana"})  # fmt: skip
    assert next(row for row in list_claims(store, "r") if row.claim_text == FREE).verdict is None


def test_parquet_lists_the_same_as_the_store_it_came_from(
    demo_store: Store, tmp_path: Path
) -> None:
    export_store(demo_store, tmp_path / "p", "parquet")
    with open_store(tmp_path / "p") as parquet:
        for run_id in ("baseline", "candidate"):
            assert list_claims(parquet, run_id) == list_claims(demo_store, run_id)
