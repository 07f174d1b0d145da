"""The index of claims follows whatever is stored: what it holds is what its view says."""

from __future__ import annotations

import pytest

from claimwise.store import Store, list_views, migrations, open_store
from claimwise.store.claim_index import match_words
from small_data import Record, answer, claim, closed_label, item, label, load, run, source

TALL, OLD = "It is 139 m tall.", "It opened in 1999."
DAY = "2026-02-{:02}T00:00:00Z"
COLUMNS = (
    "run_id, item_id, claim_id, judgement, claim_rank, verdict, unscored, labeler, source_id, "
    "dispute"
)


def look(store: Store) -> list[tuple[object, ...]]:
    """Return verdict, reason and dispute of every claim in the index, which must be the view's."""
    found = store.query(f"select {COLUMNS} from claim_index order by {COLUMNS}")
    assert found == store.query(f"select {COLUMNS} from indexed_claims order by {COLUMNS}")
    shown = store.query(
        "select c.claim_text, i.verdict, i.unscored, i.dispute from claim_index as i "
        "join claims as c on c.run_id = i.run_id and c.item_id = i.item_id "
        "and c.claim_id = i.claim_id order by i.claim_rank, c.claim_text"
    )
    return [tuple(row) for row in shown]


def search(store: Store, text: str) -> list[str]:
    match = match_words(store.engine_name, text)
    assert match is not None
    sql = (
        "select c.claim_text from claim_index as m join claims as c on c.run_id = m.run_id "
        "and c.item_id = m.item_id and c.claim_id = m.claim_id where {} order by c.claim_text"
    )
    found = store.query(sql.format(f"m.claim_no in ({match.hits})"), {"words": match.words})
    assert found == store.query(sql.format(match.holds), {"words": match.words})
    return [row[0] for row in found]


def tower() -> list[Record]:
    return [source(), item("q", query="How tall is the tower?"), run(),
            answer("q", TALL, OLD, claim("Great question!", claim_type="non_factual"))]  # fmt: skip


def test_index_follows_labels_retractions_and_failures(store: Store) -> None:
    load(store, *tower())
    assert look(store) == [(TALL, None, "not_judged", 0), (OLD, None, "not_judged", 0)]
    ids: dict[str, str] = dict(store.query("select claim_text, claim_id from claims"))
    place = {"run_id": "r", "item_id": "q", "claim_id": ids[TALL]}
    load(store, {"type": "unscored", **place, "labeler": "verifier:v", "reason": "timeout",
                 "failed_at": DAY.format(1)})  # fmt: skip
    assert look(store)[0] == (TALL, None, "timeout", 0)
    load(
        store,
        label("q", TALL, "unlinked", labeler="verifier:v", labeled_at=DAY.format(2)),
        closed_label("q", "Great question!", "non_factual", labeler="verifier:v"),
        closed_label("q", TALL, "false", labeler="verifier:v", labeled_at=DAY.format(2)),
    )
    assert look(store) == [
        (TALL, "unlinked", None, 0), (OLD, None, "not_judged", 0), (TALL, "false", None, 0),
        ("Great question!", "non_factual", None, 0),
    ]  # fmt: skip
    load(store, label("q", TALL, "supported", labeler="ana", labeled_at=DAY.format(3)))
    assert (TALL, "supported", None, 2) in look(store), "the judge differs from people"
    load(store, label("q", TALL, "overreach", labeler="ben", labeled_at=DAY.format(4)))
    assert (TALL, "overreach", None, 3) in look(store), "and people differ"
    load(store, {"type": "label_retractions", **place, "judgement": "grounded", "labeler": "ben",
                 "labeled_at": DAY.format(4), "retracted_at": DAY.format(5),
                 "retracted_by": "ben"})  # fmt: skip
    assert (TALL, "supported", None, 2) in look(store)


def test_index_follows_what_is_deleted(store: Store) -> None:
    load(
        store, *tower(),
        label("q", TALL, "unlinked", labeler="ana", labeled_at=DAY.format(1)),
        closed_label("q", "Great question!", "non_factual", labeler="ana"),
        closed_label("q", TALL, "false", labeler="ana", labeled_at=DAY.format(2)),
    )  # fmt: skip
    assert len(look(store)) == 4
    store.execute_all([("delete from labels", {}), ("delete from closed_book_labels", {})])
    assert look(store) == [(TALL, None, "not_judged", 0), (OLD, None, "not_judged", 0)]
    store.execute_all([("delete from claims where claim_text = :text", {"text": TALL})])
    assert look(store) == [(OLD, None, "not_judged", 0)]
    assert search(store, "139") == []
    assert search(store, "tower") == [OLD]


def test_words_are_those_of_the_claim_and_its_question(store: Store) -> None:
    load(store, *tower())
    assert search(store, "TOWER open") == [OLD], "a word may go on; one is in the question"
    assert search(store, '"tall is the"') == [TALL, OLD]
    assert search(store, '"open"') == [], "words in quotation marks are whole"
    assert search(store, "in 19") == [], "and so are short ones"
    load(store, item("q", query="Since when is it there?"), update=True)
    assert search(store, "tower") == []
    assert search(store, "since 1999") == [OLD]
    assert match_words(store.engine_name, '?! "" \'') is None


@pytest.mark.parametrize("text", ["'", "a' | 'b", '" * AND NOT', "a:*", "x\\", "💥 -- ;", "<b>"])
def test_no_search_breaks_the_query(store: Store, text: str) -> None:
    load(store, *tower())
    if match_words(store.engine_name, text) is not None:
        assert search(store, text) == []


def test_claims_of_an_old_store_are_indexed(
    new_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those with several labels, whose flags are written while the store is migrated."""
    with monkeypatch.context() as old:
        known = migrations.list_migrations()[:11]
        views = [view for view in list_views(kept=False) if view[0] != "indexed_claims"]
        old.setattr(migrations, "list_migrations", lambda: known)
        old.setattr(migrations, "list_views", lambda **_: views)
        with open_store(new_place, create=True) as store:
            load(
                store, *tower(),
                label("q", TALL, "unlinked", labeler="ana", labeled_at=DAY.format(1)),
                label("q", OLD, "supported", labeler="verifier:v1", labeled_at=DAY.format(1)),
                label("q", OLD, "unlinked", labeler="ana", labeled_at=DAY.format(1)),
                closed_label("q", TALL, "true", labeler="ana", labeled_at=DAY.format(2)),
            )  # fmt: skip
    with open_store(new_place) as store:
        assert look(store) == [
            (TALL, "unlinked", None, 0), (OLD, "unlinked", None, 2), (TALL, "true", None, 0),
        ]  # fmt: skip
        assert search(store, "tower 139") == [TALL, TALL], "for both ways of judging"
