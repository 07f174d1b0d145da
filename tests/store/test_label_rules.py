"""One set of rules for labels: the desk, files and judges are held to the same."""

from __future__ import annotations

from datetime import date
from itertools import product
from typing import Any, get_args

import pytest

from claimwise.errors import InputError, RefusedError
from claimwise.labelling.rules import rule_choice
from claimwise.labelling.tasks import list_asked_claims
from claimwise.labelling.values import Choice
from claimwise.store import Store
from claimwise.store.breaches import count_breaches
from claimwise.types.label_rules import Evidence, LabelFacts, find_breach, has_expired
from claimwise.types.rows import Claim, Label, Labeler, Row, Source, Verdict
from claimwise.types.validity import is_stale
from store.builders import CLAIM, base_rows, load, make

ACTION = "I refunded you."
OLD = "Tea used to cost €1."
NO_SPAN: dict[str, Any] = {"supporting_span": None, "source_id": None}
ENTRY: dict[str, Any] = {"supporting_span": "refund issued", "source_id": None}
EXPIRED: dict[str, Any] = {"supporting_span": OLD, "source_id": "old"}
PART = "Tea costs"

# A label that is otherwise right, and the field and the words that say what is wrong with it.
BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "supported without a span": (NO_SPAN, "supporting_span", "supported needs a span"),
    "supported by a document without a span": (
        {"supporting_span": None}, "supporting_span", "supported needs a span",
    ),
    "blank span": ({"supporting_span": " "}, "supporting_span", "supported needs a span"),
    "contradicted without a span": (
        {**NO_SPAN, "verdict": "contradicted"}, "supporting_span", "contradicted needs a span",
    ),
    "overreach without a span": (
        {**NO_SPAN, "verdict": "overreach", "covered_text": PART}, "supporting_span",
        "overreach needs a span",
    ),
    "overreach without the covered part": (
        {"verdict": "overreach"}, "covered_text", "the part of the claim",
    ),
    "stale in a source in force": ({"verdict": "stale"}, "source_id", "replaced or had expired"),
    "unlinked with a span": ({"verdict": "unlinked"}, "supporting_span", "rests on nothing"),
    "action without a log entry": (
        {**NO_SPAN, "claim_text": ACTION}, "supporting_span", "action log",
    ),
    "action by a document": ({"claim_text": ACTION}, "supporting_span", "action log"),
    "stale action": ({**ENTRY, "claim_text": ACTION, "verdict": "stale"}, "verdict", "expire"),
}  # fmt: skip

SOUND: dict[str, dict[str, Any]] = {
    "supported": {},
    "contradicted": {"verdict": "contradicted"},
    "overreach": {"verdict": "overreach", "covered_text": PART},
    "stale": {**EXPIRED, "verdict": "stale"},
    "unlinked": {**NO_SPAN, "verdict": "unlinked"},
    "action": {**ENTRY, "claim_text": ACTION},
}


def rows(*labels: dict[str, Any]) -> list[Row]:
    """Return a run with a claim of fact, one of an action, an old document, and labels."""
    old = make(Source, source_id="old", source_text=OLD, valid_until="2026-02-28")
    action = make(Claim, claim_text=ACTION, claim_type="action", position=1)
    return [*base_rows(without=(Label,)), old, action, *(make(Label, **one) for one in labels)]


def choose(store: Store, label: dict[str, Any]) -> Choice:
    """Return what the desk sends for the label that a file has."""
    row = make(Label, **label)
    assert isinstance(row, Label)
    entry = row.supporting_span is not None and row.source_id is None
    place = None
    if not entry and row.supporting_span is not None:
        text = store.query(
            "select source_text from sources where source_id = :id", {"id": row.source_id}
        )[0][0]
        place = text.index(row.supporting_span)
    return Choice(
        verdict=row.verdict, source_id=row.source_id, span_start=place,
        span_text=None if entry else row.supporting_span, entry_id="e1" if entry else None,
        covered_text=row.covered_text,
    )  # fmt: skip


def rule(store: Store, label: dict[str, Any]) -> None:
    claims = {one.claim_text: one for one in list_asked_claims(store, "r1", "grounded")}
    rule_choice(store, claims[label.get("claim_text", CLAIM)], choose(store, label))


@pytest.mark.parametrize("case", BROKEN)
def test_files_and_the_desk_refuse_the_same_labels(store: Store, case: str) -> None:
    label, field, expected = BROKEN[case]
    before = rows()
    with pytest.raises(InputError) as caught:
        load(store, *before, make(Label, **label))
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == ("rows.jsonl", len(before) + 1)
    assert problem.field == field
    assert expected in problem.expected
    assert "1 label breaks the labelling guide" in str(caught.value)
    assert store.query("select count(*) from labels") == [(0,)]
    load(store, *before)
    with pytest.raises(RefusedError, match=expected):
        rule(store, label)


@pytest.mark.parametrize("case", SOUND)
def test_files_and_the_desk_take_the_same_labels(store: Store, case: str) -> None:
    load(store, *rows(SOUND[case]))
    assert store.query("select count(*) from labels") == [(1,)]
    assert store.count_labels_against_guide() == 0
    rule(store, SOUND[case])


def test_first_lines_are_listed_and_all_are_counted(store: Store) -> None:
    broken = [{**NO_SPAN, "labeled_at": f"2026-03-01T09:{n:02}:00Z"} for n in range(30)]
    with pytest.raises(InputError) as caught:
        load(store, *rows(*broken))
    lines = [problem.line for problem in caught.value.problems]
    assert lines == list(range(len(rows()) + 1, len(rows()) + 21))
    assert "30 labels break the labelling guide" in str(caught.value)


def test_lenient_takes_them_and_they_stay_counted_until_taken_back(store: Store) -> None:
    counts = load(store, *rows(NO_SPAN, {"labeled_at": "2026-03-01T10:00:00Z"}), lenient=True)
    found = {count.kind: count.against_guide for count in counts if count.against_guide}
    assert found == {"labels": 1}
    assert store.query("select count(*) from labels") == [(2,)]
    assert store.count_labels_against_guide() == 1
    assert (store.count_labels_against_guide("r1"), store.count_labels_against_guide("r2")) == (
        1,
        0,
    )
    assert store.audit() == []
    store.execute(
        "insert into label_retractions select run_id, item_id, claim_id, 'grounded', labeler, "
        "labeled_at, labeled_at, 'ann' from labels where supporting_span is null"
    )
    assert store.count_labels_against_guide() == 0


def test_lenient_takes_no_span_that_stands_nowhere(store: Store) -> None:
    with pytest.raises(InputError, match="text that occurs in source doc"):
        load(store, *rows({"supporting_span": "Tea costs €9."}), lenient=True)


def test_judges_may_name_the_document_alone_but_not_nothing(store: Store) -> None:
    judge = make(Labeler, labeler="verifier:v1", labeler_kind="verifier")
    by_judge = {"labeler": "verifier:v1", "label_kind": "verifier", "guide_version": None}
    load(store, *rows(), judge, make(Label, **by_judge, supporting_span=None))
    later = {**by_judge, "labeled_at": "2026-03-02T09:00:00Z"}
    with pytest.raises(InputError, match="supported needs a span"):
        load(store, make(Label, **later, **NO_SPAN))


def test_database_and_rules_agree_when_a_document_has_expired(store: Store) -> None:
    day = date(2026, 3, 1)  # of the run
    documents = [
        (until, after)
        for until in (None, date(2026, 2, 28), day, date(2026, 3, 2))
        for after in (None, "doc")
    ]
    for number, (until, after) in enumerate(documents):
        document = make(Source, source_id=f"d{number}", valid_until=until, superseded_by=after)
        label = {"verdict": "stale", "source_id": f"d{number}",
                 "labeled_at": f"2026-03-01T10:0{number}:00Z"}  # fmt: skip
        before = store.count_labels_against_guide()
        load(store, *(() if number else rows()), document, make(Label, **label), lenient=True)
        expired = store.count_labels_against_guide() == before
        assert isinstance(document, Source)
        assert expired == has_expired(until, after, day) == is_stale(document, day)


def test_a_million_labels_cost_one_query(store: Store) -> None:
    asked: list[str] = []

    class Counting:
        def query(self, sql: str, params: Any) -> list[Any]:
            asked.append(sql)
            return store.query(sql, params)

    many = [{"labeled_at": f"2026-03-01T{n // 60:02}:{n % 60:02}:00Z"} for n in range(200)]
    load(store, *rows(*many))
    found = count_breaches(
        Counting(),  # type: ignore[arg-type]  # all that it asks of an engine
        "select l.*, 0 as file_no, 0 as line_no from labels as l",
    )
    assert (found.total, len(asked)) == (0, 1)


def test_only_what_the_guide_says_passes_for_people() -> None:
    both = (False, True)
    combinations = product(get_args(Verdict), both, (False,), get_args(Evidence), both, both)
    passed = [facts for facts in map(LabelFacts._make, combinations) if find_breach(facts) is None]
    assert {(f.verdict, f.is_action, f.evidence, f.covered) for f in passed if not f.expired} == {
        ("supported", False, "span", False),
        ("contradicted", False, "span", False),
        ("overreach", False, "span", True),
        ("unlinked", False, "nothing", False),
        ("unlinked", True, "nothing", False),
        ("supported", True, "entry", False),
        ("contradicted", True, "entry", False),
        ("overreach", True, "entry", True),
    }
    assert [f[:4] for f in passed if f.verdict == "stale"] == [("stale", False, False, "span")]
