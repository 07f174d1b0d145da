"""Rows of the measuring spec's tables, typed into sqlite3 and psql, become rows of ours."""

from __future__ import annotations

import pytest

from claimwise.store import Store, open_store
from claimwise.text import make_claim_id
from test_spec_queries import ABSTENTION, FAITHFULNESS, type_into_shell

pytestmark = pytest.mark.each_engine

ITEMS = "(item_id, query, query_type, answerable, stakes, gold_answer, source_corpus_ver)"
LABELS = (
    "(run_id, item_id, claim_text, claim_type, verdict, supporting_span, source_id, labeler, "
    "labeled_at)"
)
SPEC = f"""
INSERT INTO eval_items {ITEMS} VALUES
('q1', 'How tall is the tower?', 'lookup', true, 'high', '139 m', '2026-01'),
('q2', 'Who will win?', 'unanswerable', false, 'low', NULL, '2026-01');
INSERT INTO gold_spans (item_id, source_id, span_text, required) VALUES
('q1', 'guide', 'The tower is 139 m tall.', true), ('q1', 'guide', 'It opened in 1999.', false);
INSERT INTO claim_labels {LABELS} VALUES
('r1', 'q1', 'It is 139 m tall.', 'factual', 'supported', 'The tower is 139 m tall.', 'guide',
 'verifier:v3', '2026-02-01 10:00:00'),
('r1', 'q1', 'It opened in 1998.', 'factual', 'contradicted', 'It opened in 1999.', 'guide', 'ana',
 '2026-02-01 10:00:00'),
('r1', 'q1', 'It is 139 m tall.', 'factual', 'unlinked', NULL, NULL, 'ana', '2026-02-01T09:00:00'),
('r1', 'q1', 'I booked a ticket.', 'action', 'supported', 'booking 17 confirmed', NULL, 'ana',
 '2026-02-01 10:00:00'),
('r1', 'q1', 'It has a lift to the top.', 'factual', 'overreach', 'a lift', 'leaflet', 'ana',
 '2026-02-01 10:00:00');
INSERT INTO run_actions (run_id, item_id, action) VALUES ('r1', 'q2', 'abstain'),
('r2', 'q1', 'answer');
"""


def test_inserts_of_the_spec_work_as_typed(new_place: str) -> None:
    open_store(new_place, create=True).close()
    type_into_shell(new_place, SPEC, "r1")
    [row] = type_into_shell(new_place, FAITHFULNESS, "r1")
    assert row[:4] == ["lookup", "high", "4", "1"], "the person outranks the judge"
    assert type_into_shell(new_place, ABSTENTION, "r1")[0][0].startswith("1")
    with open_store(new_place) as store:
        assert store.audit() == []
        assert set(store.settle().values()) == {0}
        assert store.query("select labeler, labeler_kind from labelers order by 1") == [
            ("ana", "human"), ("verifier:v3", "verifier")
        ]  # fmt: skip
        assert store.query("select source_id, span_start, span_end from gold_spans order by 2") == [
            ("guide", 0, 24), ("guide", 26, 44)
        ]  # fmt: skip
        times = store.query("select distinct cast(labeled_at as text) from labels order by 1")
        assert times == [("2026-02-01 09:00:00",), ("2026-02-01 10:00:00",)]
        [(answer,)] = store.query("select answer_text from answers where item_id = 'q1'")
        assert answer.splitlines()[:2] == ["It is 139 m tall.", "It opened in 1998."]
        ids: dict[str, str] = dict(store.query("select claim_text, claim_id from claims"))
        if store.engine_name == "postgresql":
            assert ids == {text: make_claim_id("q1", text) for text in ids}


REFUSED = {
    "no such item": "'r1', 'nope', 'C.', 'factual', 'unlinked', NULL, NULL, 'ana', '2026-02-01'",
    "expected supported": "'r1', 'q1', 'C.', 'factual', 'wrong', NULL, NULL, 'ana', '2026-02-01'",
    "needs the words": "'r1', 'q1', 'C.', 'factual', 'supported', NULL, NULL, 'ana', '2026-02-01'",
    "rests on nothing": "'r1', 'q1', 'C.', 'factual', 'unlinked', 'x', 'd', 'ana', '2026-02-01'",
    "letter by letter": "'r1', 'q1', 'C.', 'factual', 'supported', 'x', 'real', 'a', '2026-02-01'",
    "a day ahead": "'r1', 'q1', 'C.', 'factual', 'unlinked', NULL, NULL, 'ana', '2999-02-01'",
    "another type": "'r1', 'q1', 'Known.', 'action', 'unlinked', NULL, NULL, 'ana', '2026-02-01'",
    "action log": "'r1', 'q1', 'C.', 'action', 'supported', NULL, NULL, 'ana', '2026-02-01'",
}


def test_inserts_keep_the_rules_of_imports(store: Store) -> None:
    """One connection for all: what is refused leaves nothing behind."""
    execute = store._engine.execute
    execute(f"insert into eval_items {ITEMS} values ('q1', '?', 'lookup', true, 'low', null, 'v')")
    execute("insert into sources (source_id, corpus_ver, source_text) values ('real', 'v', 'y')")
    known = "'r1', 'q1', 'Known.', 'factual', 'unlinked', null, null, 'ana', '2026-02-01 00:00:00'"
    execute(f"insert into claim_labels {LABELS} values ({known})")
    for words, values in REFUSED.items():
        with pytest.raises(Exception, match=words.replace("no such item", "no (such )?item")):
            execute(f"insert into claim_labels {LABELS} values ({values})")
    with pytest.raises(Exception, match="letter by letter"):
        execute("insert into gold_spans (item_id, source_id, span_text, required) "
                "values ('q1', 'real', 'x', true)")  # fmt: skip
    counts = store.count_rows()
    assert (counts["labels"], counts["claims"], counts["sources"]) == (1, 1, 1)


def test_inserts_by_place_work_in_psql(postgres_server: str) -> None:
    """SQLite wants a value for every column, ours included: there the columns must be named."""
    place = f"{postgres_server}?schema=by_place"
    open_store(place, create=True).close()
    by_place = SPEC.replace(f" {ITEMS}", "").replace(f" {LABELS}", "")
    by_place = by_place.replace(" (item_id, source_id, span_text, required)", "")
    type_into_shell(place, by_place.replace(" (run_id, item_id, action)", ""), "r1")
    assert type_into_shell(place, FAITHFULNESS, "r1")[0][:4] == ["lookup", "high", "4", "1"]
