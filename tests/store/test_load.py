from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claimwise.errors import InputError, Problem
from claimwise.store import Store, open_store
from claimwise.store.tables import REFERENCES, Reference
from claimwise.text import make_claim_id
from claimwise.types.rows import (
    ROW_TYPES,
    ActionEntry,
    Answer,
    AnswerLabel,
    Citation,
    Claim,
    ClosedBookLabel,
    Context,
    GoldSpan,
    Item,
    ItemAttribute,
    Label,
    Labeler,
    Placed,
    Row,
    Run,
    Source,
    Unscored,
)
from store.builders import (
    BASE,
    CLAIM,
    TEXT,
    base_rows,
    dump,
    dump_typed,
    load,
    make,
    new_place,
    put,
)

LATER = "2026-04-01T00:00:00Z"


@pytest.fixture
def full(store: Store) -> Store:
    """A store with one row of every kind, on each engine in turn."""
    load(store, *base_rows())
    return store


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def kept(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A store like ``full`` that no test changes: for what is refused."""
    place = new_place(request, request.param, tmp_path_factory.mktemp("kept"))
    with open_store(place, create=True) as opened:
        load(opened, *base_rows())
        yield opened


def refuse(store: Store, *rows: Row, **options: bool) -> tuple[Problem, ...]:
    """Load what must be refused, see that nothing changed, return the problems."""
    before = dump(store)
    with pytest.raises(InputError) as caught:
        load(store, *rows, **options)
    assert dump(store) == before
    return caught.value.problems


def column(store: Store, select: str) -> list[object]:
    return [row[0] for row in store.query(select)]


# All or nothing.


def test_load_adds_rows_of_every_kind(store: Store) -> None:
    counts = {c.kind: (c.read, c.added, c.updated, c.unchanged) for c in load(store, *base_rows())}
    assert counts == {t.kind: (1, 1, 0, 0) for t in ROW_TYPES}
    numbers = store.count_rows()
    # ann was described; verifier:v1 and judge:m were registered on first use.
    assert numbers.pop("labelers") == 3
    assert set(numbers.values()) == {1}
    assert store.audit() == []


def test_load_takes_rows_in_any_order(store: Store) -> None:
    load(store, *reversed(base_rows()))
    shuffled = dump(store)
    assert all(shuffled.values())


def test_load_with_an_error_in_the_last_kind_changes_nothing(full: Store) -> None:
    fresh = [
        make(Source, source_id="doc2"),
        make(Item, item_id="q2"),
        make(Run, run_id="r2"),
        make(Answer, item_id="q2"),
        make(Claim, item_id="q2"),
        make(Label, item_id="q2", labeler="newcomer"),
        make(Unscored, item_id="q2", claim_text="nobody said this"),
    ]
    (problem,) = refuse(full, *fresh)
    assert (problem.path, problem.line, problem.field) == ("rows.jsonl", 7, "claim_text")
    load(full, *fresh[:-1])
    assert full.count_rows()["labels"] == 2


def test_load_from_a_reader_that_fails_changes_nothing(kept: Store) -> None:
    def read() -> Iterator[Placed]:
        yield from put([make(Source, source_id="doc2"), make(Item, item_id="q2")])
        raise InputError([Problem(path="f", line=9, field=None, found="a", expected="b")])

    before = dump(kept)
    with pytest.raises(InputError, match="f:9: found a, expected b"):
        kept.load(read(), ["f"])
    assert dump(kept) == before
    load(kept, make(Item))


def test_load_leaves_no_temporary_tables(kept: Store) -> None:
    refuse(kept, make(Label, claim_text="?"))
    load(kept, *base_rows())
    if kept.engine_name == "sqlite":
        assert column(kept, "select name from sqlite_temp_master") == []
    else:
        assert column(kept, "select tablename from pg_tables where tablename like 'stage%'") == []


def test_load_again_changes_nothing(kept: Store) -> None:
    before = dump(kept)
    for update in (False, True):
        counts = load(kept, *base_rows(), update=update)
        assert {(c.read, c.added, c.updated, c.unchanged) for c in counts} == {(1, 0, 0, 1)}
    assert dump(kept) == before


def test_load_of_its_own_rows_changes_nothing(kept: Store) -> None:
    before = dump(kept)
    stored = [row for rows in dump_typed(kept).values() for row in rows]
    counts = load(kept, *stored)
    assert {c.added for c in counts} == {0}
    assert dump(kept) == before


def test_load_of_nothing_does_nothing(kept: Store) -> None:
    before = dump(kept)
    assert load(kept) == []
    assert dump(kept) == before


def test_dry_run_counts_and_changes_nothing(kept: Store) -> None:
    before = dump(kept)
    rows = [*base_rows(), make(Item, item_id="q2"), make(Label, labeler="newcomer")]
    counts = {c.kind: (c.added, c.unchanged) for c in load(kept, *rows, dry_run=True)}
    assert counts["items"] == (1, 1)
    assert counts["labels"] == (1, 1)
    assert dump(kept) == before


def test_dry_run_of_an_update_changes_nothing(kept: Store) -> None:
    before = dump(kept)
    (count,) = load(kept, make(Item, stakes="high"), update=True, dry_run=True)
    assert count.updated == 1
    assert dump(kept) == before


def test_dry_run_refuses_what_an_import_refuses(kept: Store) -> None:
    row = make(Label, claim_text="nobody said this")
    assert refuse(kept, row, dry_run=True) == refuse(kept, row)


def test_many_rows_go_in_by_several_batches(store: Store) -> None:
    count = 20_001
    items = (make(Item, item_id=f"q{n:06}") for n in range(count))
    (result,) = load(store, *items)
    assert (result.read, result.added) == (count, count)


# Updates.


@pytest.mark.parametrize(
    ("row_type", "changes"),
    [
        (Source, {"title": "Prices", "source_text": TEXT + " More."}),
        (Item, {"gold_answer": "€2", "stakes": "high", "domain": "shop"}),
        (ItemAttribute, {"value": "support"}),
        (Labeler, {"model": "person"}),
        (Run, {"model": "m-2", "started_at": LATER}),
    ],
)
def test_update_changes_curated_rows(
    full: Store, row_type: type[Row], changes: dict[str, str]
) -> None:
    row = make(row_type, **changes)
    (problem,) = refuse(full, row)
    assert problem.field in changes
    assert "--update" in problem.expected
    (count,) = load(full, row, update=True)
    assert (count.read, count.added, count.updated, count.unchanged) == (1, 0, 1, 0)
    (stored,) = [r for r in dump_typed(full)[row_type.table] if same_key(r, row)]
    for name in changes:
        if name != "started_at":
            assert getattr(stored, name) == getattr(row, name)
    (again,) = load(full, row)
    assert again.unchanged == 1


def same_key(one: Row, other: Row) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in type(one).key)


def test_update_can_empty_an_optional_field(full: Store) -> None:
    load(full, make(Source, title="Prices"), update=True)
    load(full, make(Source), update=True)
    assert column(full, "select title from sources") == [None]


def test_update_adds_new_rows_too(full: Store) -> None:
    (count,) = load(full, make(Item, stakes="high"), make(Item, item_id="q2"), update=True)
    assert (count.added, count.updated, count.unchanged) == (1, 1, 0)


@pytest.mark.parametrize(
    ("row", "table"),
    [
        (make(Source, source_text="Tea is free. Tea is hot."), "gold_spans"),
        (make(Source, source_text="Now: " + TEXT), "gold_spans"),
        (make(Item, source_corpus_ver="v2"), "gold_spans"),
        (make(Run, corpus_ver="v2"), "contexts"),
        (make(Labeler, labeler_kind="verifier"), "labels"),
    ],
)
def test_update_that_breaks_stored_rows_is_refused(kept: Store, row: Row, table: str) -> None:
    problems = refuse(kept, row, update=True)
    assert any(p.field is not None and p.field.startswith(f"{table}.") for p in problems)
    assert all(p.path == kept.place for p in problems)


def test_update_that_cuts_a_cited_span_is_refused(full: Store) -> None:
    load(full, make(Citation, position=1, span_text="🍵 is tea."))
    (problem,) = refuse(full, make(Source, source_text=TEXT[:-10]), update=True)
    assert problem.field == "citations.span_text"


def test_update_never_changes_what_was_said(kept: Store) -> None:
    refuse(kept, make(Answer, answer_text="Tea is free."), update=True)
    refuse(kept, make(Label, verdict="stale"), update=True)
    refuse(kept, make(GoldSpan, required=False), update=True)


def test_update_with_two_contents_for_one_key_is_refused(full: Store) -> None:
    refuse(full, make(Item, stakes="high"), make(Item, stakes="medium"), update=True)


# Conflicts and duplicates.


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (make(Answer, answer_text="Tea is free."), "answer_text"),
        (make(Answer, answer_text=None, failure="timeout"), "answer_text"),
        (make(Answer, context_count=2), "context_count"),
        (make(Label, verdict="contradicted"), "verdict"),
        (make(Label, confidence=0.5), "confidence"),
        (make(Label, supporting_span="Tea is hot."), "supporting_span"),
        (make(ClosedBookLabel, label="false"), "label"),
        (make(AnswerLabel, correct=False), "correct"),
        (make(Unscored, reason="unparsable"), "reason"),
        (make(Claim, claim_type="action"), "claim_type"),
        (make(Citation, marker=None), "marker"),
        (make(Context, score=1.5), "score"),
        (make(ActionEntry, entry_text="nothing done"), "entry_text"),
        (make(GoldSpan, required=False), "required"),
    ],
)
def test_changed_record_is_refused(kept: Store, row: Row, field: str) -> None:
    (problem,) = refuse(kept, row)
    assert (problem.line, problem.field) == (1, field)
    assert "another value for" in problem.found
    assert "never overwritten" in problem.expected


def test_label_at_another_time_is_a_new_record(full: Store) -> None:
    (count,) = load(full, make(Label, verdict="contradicted", labeled_at=LATER))
    assert count.added == 1


def test_duplicate_in_one_import_is_refused(store: Store) -> None:
    for first, row_type in enumerate(ROW_TYPES, start=1):
        rows = [*base_rows(), make(row_type)]
        (problem,) = refuse(store, *rows)
        assert problem.line == len(rows)
        assert problem.field in row_type.key
        assert problem.expected == f"it once (first at rows.jsonl:{first})"


def test_duplicate_gold_span_with_and_without_offset_is_refused(store: Store) -> None:
    rows = [make(Source), make(Item), make(GoldSpan), gold_at(CLAIM, 0)]
    (problem,) = refuse(store, *rows)
    assert problem.line == 4


@pytest.mark.parametrize(
    ("row_type", "reference"),
    [(row_type, r) for row_type, references in REFERENCES.items() for r in references],
)
def test_missing_reference_is_refused(
    kept: Store, row_type: type[Row], reference: Reference
) -> None:
    name = reference.columns[-1]
    rows = [make(t) for t in ROW_TYPES if t in (row_type,)]
    broken = make(row_type, **{name: 7 if name == "sample" else "nobody"})
    problems = refuse(kept, *rows, broken)
    if name == "claim_id" and "claim_text" in row_type.__struct_fields__:
        name = "claim_text"  # which these rows give too, and people know
    assert {(p.line, p.field) for p in problems} == {(2, name)}
    assert {p.expected for p in problems} == {
        f"{reference.what} that is in the store or in this import ({reference.brought_by})"
    }


def test_parents_of_the_same_import_are_found(store: Store) -> None:
    load(store, *base_rows(without=(Labeler,)))
    assert store.count_rows()["labels"] == 1


# Spans.


def gold_at(text: str, start: int) -> Row:
    return make(GoldSpan, span_text=text, span_start=start, span_end=start + len(text))


def spans(store: Store) -> list[tuple[str, int]]:
    return [
        tuple(r) for r in store.query("select span_text, span_start from gold_spans order by 2")
    ]


def test_span_without_offset_gets_its_first_occurrence(store: Store) -> None:
    load(store, make(Source), make(Item), make(GoldSpan, span_text="Tea"))
    assert spans(store) == [("Tea", 0)]


def test_span_with_offset_keeps_it(store: Store) -> None:
    second = TEXT.index("Tea", 1)
    load(store, make(Source), make(Item), gold_at("Tea", second))
    assert spans(store) == [("Tea", second)]


@pytest.mark.parametrize("start", [1, len(TEXT) - 1, len(TEXT), 10**9 - 3])
def test_span_with_wrong_offset_is_refused(kept: Store, start: int) -> None:
    (problem,) = refuse(kept, gold_at("Tea", start))
    assert problem.field == "span_text"
    assert problem.expected.endswith(f"at offset {start}")


def test_span_differing_in_case_or_normal_form_is_refused(store: Store) -> None:
    load(store, make(Source, source_text="Cafe\u0301 au lait"), make(Item))
    for text in ("cafe\u0301", "Caf\u00e9", "Cafe\u0301  au"):
        (problem,) = refuse(store, make(GoldSpan, span_text=text))
        assert problem.field == "span_text"


def test_span_offsets_count_code_points(store: Store) -> None:
    text = "👩‍👩‍👧 e\u0301 𝔘 \u200b\ufeff → Ω\r\n\ttea 🍵"
    parts = ["👧", "e\u0301", "\u0301", "𝔘", "Ω\r\n\ttea", "🍵", "\ufeff"]
    load(store, make(Source, source_text=text), make(Item))
    load(store, *(make(GoldSpan, span_text=part) for part in parts))
    assert sorted(spans(store)) == sorted((part, text.index(part)) for part in parts)
    assert store.audit() == []


def test_span_of_several_thousand_characters_is_stored(store: Store) -> None:
    dice = random.Random(7)
    text = "".join(chr(dice.randrange(0x4E00, 0x9FFF)) for _ in range(5_000))
    load(store, make(Source, source_text=text), make(Item), make(GoldSpan, span_text=text))
    assert spans(store) == [(text, 0)]


def test_long_texts_are_stored(store: Store) -> None:
    text = "Tea 🍵. " * 150_000
    rows = [make(Source, source_text=text), make(Item), make(Run), make(Answer, answer_text=text)]
    load(store, *rows, gold_at("Tea", 700_000))
    assert column(store, "select length(source_text) from sources") == [len(text)]
    assert column(store, "select answer_text from answers") == [text]


def test_label_span_gets_its_place(full: Store) -> None:
    load(full, make(Label, labeler="bob", supporting_span="🍵 is tea."))
    found = full.query("select labeler, span_start from labels order by labeler")
    assert found == [("ann", 0), ("bob", TEXT.index("🍵"))]


def test_label_span_of_another_corpus_version_is_refused(full: Store) -> None:
    load(full, make(Source, corpus_ver="v2", source_text="Tea costs €3."))
    (problem,) = refuse(full, make(Label, labeler="bob", supporting_span="Tea costs €3."))
    assert problem.field == "supporting_span"


def test_citation_may_name_a_document_that_is_not_there(full: Store) -> None:
    load(full, make(Citation, position=1, source_id="invented", span_text="Tea cures all."))
    found = full.query("select span_text, span_start from citations where position = 1")
    assert found == [("Tea cures all.", None)]


def test_citation_may_point_nowhere(full: Store) -> None:
    load(full, make(Citation, position=1, source_id=None, marker="[9]"))
    assert full.count_rows()["citations"] == 2


def test_citation_span_that_its_document_lacks_is_refused(kept: Store) -> None:
    (problem,) = refuse(kept, make(Citation, position=1, span_text="Tea cures all."))
    assert (problem.field, problem.found) == ("span_text", "Tea cures all.")


def test_context_reworded_has_no_place(full: Store) -> None:
    load(full, make(Context, position=1, context_text="The tea is hot."))
    found = full.query("select position, span_start, span_end from contexts order by position")
    start = TEXT.index("Tea is hot.")
    assert found == [(0, start, start + 11), (1, None, None)]


def test_context_of_a_missing_document_is_refused(kept: Store) -> None:
    (problem,) = refuse(kept, make(Context, position=1, source_id="doc9"))
    assert (problem.field, problem.found) == ("source_id", "doc9")


def test_claim_offsets_fit_the_answer(full: Store) -> None:
    answer = BASE[Answer]["answer_text"]
    end = len(answer)
    load(full, make(Claim, claim_text="Hello!", answer_start=end - 6, answer_end=end))
    broken = make(Claim, claim_text="Bye!", answer_start=end - 6, answer_end=end + 1)
    (problem,) = refuse(full, broken)
    assert problem.expected == f"an offset up to {end}, the answer's length"


def test_claim_of_a_failed_answer_is_refused(kept: Store) -> None:
    failed = make(Answer, sample=1, answer_text=None, failure="timeout")
    (problem,) = refuse(kept, failed, make(Claim, sample=1, claim_text="Hi."))
    assert problem.line == 2
    assert "gave no answer" in problem.expected


# Action claims rest on the log.

DONE = "I refunded you."


def test_action_label_rests_on_an_entry_of_the_log(full: Store) -> None:
    load(full, make(Claim, claim_text=DONE, claim_type="action"))
    label = {"claim_text": DONE, "source_id": None}
    load(full, make(Label, **label, supporting_span="refund issued"))
    (problem,) = refuse(full, make(Label, **label, supporting_span="refund", labeled_at=LATER))
    assert problem.field == "supporting_span"
    assert "action_log" in problem.expected


def test_action_label_does_not_rest_on_another_samples_log(full: Store) -> None:
    load(full, make(Answer, sample=1), make(ActionEntry, sample=1, entry_text="mail sent"))
    load(full, make(Claim, claim_text=DONE, claim_type="action"))
    refuse(full, make(Label, claim_text=DONE, source_id=None, supporting_span="mail sent"))


def test_factual_label_does_not_rest_on_the_log(kept: Store) -> None:
    row = make(Label, labeler="bob", source_id=None, supporting_span="refund issued")
    (problem,) = refuse(kept, row)
    assert problem.field == "source_id"


# Labels and labelers.


def test_label_of_a_non_factual_claim_is_refused(full: Store) -> None:
    load(full, make(Claim, claim_text="Hello!", claim_type="non_factual"))
    row = make(Label, claim_text="Hello!", verdict="unlinked", supporting_span=None, source_id=None)
    (problem,) = refuse(full, row)
    assert problem.found == "a label on a non_factual claim"
    load(full, make(ClosedBookLabel, claim_text="Hello!", label="non_factual"))


@pytest.mark.parametrize("row_type", [Label, ClosedBookLabel, Unscored])
def test_label_that_misquotes_its_claim_is_refused(kept: Store, row_type: type[Row]) -> None:
    claim_id = make_claim_id("q1", CLAIM)
    changes = {"labeler": "bob", "claim_id": claim_id, "claim_text": "Tea costs €3."}
    (problem,) = refuse(kept, make(row_type, **changes))
    assert (problem.field, problem.found) == ("claim_text", "Tea costs €3.")


def test_label_gets_text_and_type_of_its_claim(full: Store) -> None:
    load(full, make(Label, labeler="bob", claim_id=make_claim_id("q1", CLAIM), claim_text=None))
    found = full.query("select claim_text, claim_type from labels where labeler = 'bob'")
    assert found == [(CLAIM, "factual")]


def test_labelers_are_registered_with_the_kind_of_their_name(store: Store) -> None:
    kinds = {
        "bob": "human",
        "verifier:v3": "verifier",
        "judge:gpt": "verifier",
        "verifier": "human",
        "judgement": "human",
        "my verifier:v3": "human",
    }
    rows = base_rows(without=(Label, Labeler, ClosedBookLabel, AnswerLabel, Unscored))
    load(store, *rows, *(make(Label, labeler=name) for name in kinds))
    assert dict(store.query("select labeler, labeler_kind from labelers")) == kinds
    assert dict(store.query("select labeler, label_kind from labels")) == kinds


def test_labeler_names_have_the_same_kind_on_both_engines(store: Store) -> None:
    load(store, *base_rows(), make(Label, labeler="Verifier:v3"), make(Label, labeler="JUDGE:x"))
    kinds: dict[str, str] = dict(store.query("select labeler, labeler_kind from labelers"))
    assert (kinds["Verifier:v3"], kinds["JUDGE:x"]) == ("human", "human")


def test_labelers_are_registered_by_every_kind_of_label(full: Store) -> None:
    for row_type in (Label, ClosedBookLabel, AnswerLabel, Unscored):
        name = f"judge:{row_type.kind}"
        load(full, make(row_type, labeler=name))
        sql = "select labeler_kind from labelers where labeler = :name"
        assert full.query(sql, {"name": name}) == [("verifier",)]


def test_described_labeler_keeps_its_kind(full: Store) -> None:
    load(full, make(Labeler, labeler="gpt", labeler_kind="verifier"))
    load(full, make(Label, labeler="gpt"))
    found = full.query("select label_kind from labels where labeler = 'gpt'")
    assert found == [("verifier",)]


def test_labeler_described_in_the_same_import_keeps_its_kind(full: Store) -> None:
    load(full, make(Label, labeler="gpt"), make(Labeler, labeler="gpt", labeler_kind="verifier"))
    found = full.query("select label_kind from labels where labeler = 'gpt'")
    assert found == [("verifier",)]


@pytest.mark.parametrize("row_type", [Label, ClosedBookLabel, AnswerLabel])
@pytest.mark.parametrize(
    ("labeler", "kind"),
    [("verifier:v1", "adjudicated"), ("verifier:v1", "human"), ("ann", "verifier")],
)
def test_label_kind_must_fit_its_labeler(
    kept: Store, row_type: type[Row], labeler: str, kind: str
) -> None:
    row = make(row_type, labeler=labeler, label_kind=kind, labeled_at=LATER)
    (problem,) = refuse(kept, row)
    assert (problem.field, problem.found) == ("label_kind", f"{kind} by {labeler}")


def test_people_may_adjudicate(full: Store) -> None:
    kinds = (Label, ClosedBookLabel, AnswerLabel)
    late = {"labeler": "ann", "label_kind": "adjudicated", "labeled_at": LATER}
    assert [c.added for c in load(full, *(make(t, **late) for t in kinds))] == [1, 1, 1]


# Times.


def test_times_are_stored_in_utc(full: Store) -> None:
    moments = {
        "a": "2026-03-01T10:00:00+01:00",
        "b": "2026-03-01T09:00:00Z",
        "c": "2026-03-01T09:00:00",
        "d": "2026-02-28T23:00:00-10:00",
        "e": "2026-03-01T14:45:00.000001+05:45",
    }
    load(full, *(make(Label, labeler=name, labeled_at=at) for name, at in moments.items()))
    found: dict[str, str] = dict(full.query("select labeler, cast(labeled_at as text) from labels"))
    nine = "2026-03-01 09:00:00"
    expected = {"ann": nine, "a": nine, "b": nine, "c": nine, "d": nine, "e": nine + ".000001"}
    assert found == expected


def test_same_moment_in_two_zones_is_one_record(kept: Store) -> None:
    (count,) = load(kept, make(Label, labeled_at="2026-03-01T10:00:00+01:00"))
    assert count.unchanged == 1


def test_times_sort_as_times(full: Store) -> None:
    moments = ["2026-03-01T09:00:00.5Z", "2026-03-01T09:00:01Z", "2026-03-01T09:00:00.25Z"]
    load(full, *(make(Label, labeler=str(n), labeled_at=at) for n, at in enumerate(moments)))
    found = column(full, "select labeler from labels order by labeled_at")
    assert found == ["ann", "2", "0", "1"]


def test_time_parameters_compare_with_stored_times(kept: Store) -> None:
    sql = "select count(*) from labels where labeled_at = :at"
    assert kept.query(sql, {"at": datetime(2026, 3, 1, 9)}) == [(1,)]  # noqa: DTZ001


def test_early_and_late_times_are_stored(full: Store) -> None:
    load(full, make(Label, labeled_at="0001-01-01T00:00:00Z"))
    load(full, make(Run, run_id="late", started_at="9999-12-31T23:59:59.999999Z"))
    assert full.count_rows()["labels"] == 2
    assert full.count_rows()["runs"] == 2


@pytest.mark.parametrize("row_type", [Label, ClosedBookLabel, AnswerLabel])
def test_labels_dated_ahead_of_now_are_refused(full: Store, row_type: type[Row]) -> None:
    """One that is later than all to come would decide its claim for good."""
    now = datetime.now(UTC)
    times = [now + timedelta(days=2), now + timedelta(hours=23), now + timedelta(days=9)]
    rows = [make(row_type, labeler="cy", labeled_at=moment.isoformat()) for moment in times]
    with pytest.raises(InputError) as caught:
        load(full, *rows)
    assert [(p.line, p.field) for p in caught.value.problems] == [
        (1, "labeled_at"),
        (3, "labeled_at"),
    ]
    assert "no more than a day ahead of now" in str(caught.value)
    before = full.count_rows()[row_type.table]
    load(full, rows[1])
    assert full.count_rows()[row_type.table] == before + 1


# Both engines.


def test_both_engines_hold_the_same_rows(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    text = "Ω 👩‍👩‍👧 e\u0301 \"quoted\", 'single' \\ % _ ; -- \r\n tab\t end"
    rows = [
        *base_rows(),
        make(Source, source_id="odd", source_text=text, valid_from="2026-01-01", title=""),
        make(Item, item_id="Q2", query=text, gold_answer=""),
        make(GoldSpan, item_id="Q2", source_id="odd", span_text="e\u0301"),
        make(Answer, item_id="Q2", answer_text=text, context_count=0),
        make(Claim, item_id="Q2", claim_text=text, answer_start=0, answer_end=len(text)),
        make(
            Label,
            item_id="Q2",
            claim_text=text,
            source_id="odd",
            supporting_span="👧",
            labeler="Ännchen",
            labeled_at="2026-03-01T10:00:00.123456+01:00",
            confidence=0.1,
            inclusion_probability=1 / 3,
        ),
        make(Context, item_id="Q2", position=0, source_id="odd", context_text="tab\t", score=-1e-9),
    ]
    found = []
    for engine in ("sqlite", "postgresql"):
        place = new_place(request, engine, tmp_path)
        with open_store(place, create=True) as opened:
            load(opened, *rows)
            found.append(dump_typed(opened))
            assert opened.audit() == []
    assert found[0] == found[1]


def test_problems_read_the_same_on_both_engines(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    broken: list[Row] = [
        make(Item, stakes="high"),
        make(Label, claim_text="?"),
        make(Label, labeler="b", supporting_span="?"),
        make(Label, labeler="verifier:v1", label_kind="human"),
        make(GoldSpan, source_id="doc9"),
        make(Context, position=3, span_start=0, span_end=999),
        make(Claim, claim_text="x", answer_start=0, answer_end=999),
        make(AnswerLabel, correct=False),
    ]
    found = []
    for engine in ("sqlite", "postgresql"):
        place = new_place(request, engine, tmp_path)
        with open_store(place, create=True) as opened:
            load(opened, *base_rows())
            found.append([str(refuse(opened, row)) for row in broken])
    assert found[0] == found[1]
