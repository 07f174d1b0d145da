from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from threading import Barrier, get_ident
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claimwise.errors import RefusedError
from claimwise.incidents.queries import list_queue
from claimwise.labelling import queue
from claimwise.labelling.draw import draw_round
from claimwise.labelling.queue import (
    LEASE,
    add_guide,
    adjudicate,
    close_round,
    count_labels_of,
    create_round,
    hold_batch,
    hold_tasks,
    list_disputes,
    list_done_of,
    list_labels_of,
    list_rounds,
    list_strata,
    read_dispute,
    read_progress,
    read_round,
    read_skip,
    read_task,
    retract_decision,
    save_label,
    skip_task,
    take_task,
    undo_label,
    undo_skip,
)
from claimwise.labelling.values import Choice, DecisionKey, Task
from claimwise.store import Store, open_store
from small_data import SOURCE, load
from store.builders import new_place
from support.round_data import CLAIMS, EMOJI, NOW, UNLINKED, draw, fill, span
from support.waiting import DEADLINE

LATER = NOW + LEASE + timedelta(seconds=1)


@pytest.fixture
def filled(store: Store) -> Store:
    fill(store)
    return store


def take(store: Store, who: str = "ana", now: datetime = NOW, held: int = 1) -> Task:
    found = take_task(store, list_rounds(store)[0].round_id, who, now, held=held)
    assert found is not None
    return found


def count(store: Store, table: str) -> int:
    return int(store.query(f"select count(*) from {table}")[0][0])


def take_claim(store: Store, text: str, who: str = "ana") -> Task:
    """Take tasks until the one of a claim comes, passing on the others."""
    while (task := take(store, who)).claim_text != text:
        skip_task(store, task.task_id, who, "not this one", NOW)
    return task


# Guides and rounds.


def test_guide_is_kept_once_and_never_changed(store: Store) -> None:
    add_guide(store, "g", "one", NOW)
    add_guide(store, "g", "one", NOW)
    with pytest.raises(RefusedError, match="save the new text under a new version"):
        add_guide(store, "g", "two", NOW)
    assert store.query("select guide_version, guide_text from guide_versions") == [("g", "one")]


def test_round_is_read_as_it_was_made(filled: Store) -> None:
    made = draw(filled, overlap=0.5, seed=7)
    assert read_round(filled, made.round_id) == made
    assert list_rounds(filled) == [made]
    assert made.strata_by is None
    assert [tuple(s) for s in list_strata(filled, made.round_id)] == [("unscored", 10, 10)]
    progress = read_progress(filled, made.round_id, NOW)
    assert (progress.tasks, progress.slots, progress.done, progress.leased) == (10, 15, 0, 0)


def test_rounds_are_listed_latest_first_and_open_ones_alone(filled: Store) -> None:
    first = draw(filled, title="first")
    second = draw(filled, title="second", again=True, now=NOW + timedelta(days=1))
    close_round(filled, second.round_id, NOW + timedelta(days=2))
    assert [one.title for one in list_rounds(filled)] == ["second", "first"]
    assert [one.title for one in list_rounds(filled, open_only=True)] == ["first"]
    closed = read_round(filled, second.round_id).closed_at
    close_round(filled, second.round_id, NOW + timedelta(days=3))
    assert read_round(filled, second.round_id).closed_at == closed == NOW + timedelta(days=2)
    assert first.closed_at is None


def test_who_has_nothing_takes_over_what_others_have_far_ahead(filled: Store) -> None:
    """A batch is fetched ahead; when a round runs out, its end goes to whoever asks for work."""
    made = draw(filled)
    first = hold_batch(filled, made.round_id, "ana", NOW, 20)
    assert len(first) == 5, "half of ten; others want claims too"
    rest = hold_tasks(filled, made.round_id, "ben", NOW, 5)
    assert len({*first, *rest}) == 10
    assert set(hold_batch(filled, made.round_id, "cleo", NOW, 20)) == {first[-1], rest[-1]}
    assert hold_tasks(filled, made.round_id, "ana", NOW, 1) == first[:-1]
    for person in ("dora", "eve"):
        assert len(hold_batch(filled, made.round_id, person, NOW, 20)) == 2
    assert hold_batch(filled, made.round_id, "finn", NOW, 20) == [], "two stay with everybody"
    with pytest.raises(RefusedError, match="not yours"):
        save_label(filled, first[-1], "ana", UNLINKED, NOW)
    save_label(filled, first[0], "ana", UNLINKED, NOW)


def test_unknown_and_doubled_rounds_are_refused(filled: Store) -> None:
    made = draw(filled)
    with pytest.raises(RefusedError, match="Unknown round"):
        read_round(filled, "nothing")
    with pytest.raises(RefusedError, match="Unknown round"):
        close_round(filled, "'; drop table labels; --", NOW)
    with pytest.raises(RefusedError, match="Unknown round"):
        take_task(filled, "nothing", "ana", NOW)
    with pytest.raises(RefusedError, match="Unknown round"):
        take_task(filled, "\x00", "ana", NOW)
    with pytest.raises(RefusedError, match="there is one already"):
        draw(filled, again=True)
    with pytest.raises(RefusedError, match="no claims"):
        create_round(filled, msgspec.structs.replace(made, round_id="x"), [], [], NOW)
    assert count(filled, "annotation_rounds") == 1


# Taking tasks.


def test_task_shows_the_claim_and_what_to_judge_it_by(filled: Store) -> None:
    draw(filled)
    task = take_claim(filled, CLAIMS[1])
    assert task.query == "How tall is it?"
    assert [s.source_id for s in task.sources] == ["doc"]
    start = SOURCE.index("It opened")
    assert task.sources[0].shown == ((start, start + len("It opened in 1999.")),)
    assert task.sources[0].source_text == SOURCE
    assert (task.action_log, task.mine, task.guide_version) == ((), None, "g1")


def test_action_claim_comes_with_its_log_and_without_contexts_with_the_small_corpus(
    filled: Store,
) -> None:
    draw(filled)
    task = take_claim(filled, "I refunded you.")
    assert [entry.entry_text for entry in task.action_log] == ["refund issued"]
    assert {s.source_id for s in task.sources} == {"doc", "gone", "old", "tea"}
    validity = {s.source_id: (s.valid_until, s.superseded_by) for s in task.sources}
    assert validity["old"] == (date(2025, 1, 1), None)
    assert validity["gone"] == (None, "doc")


def test_task_holds_no_verdict_of_anyone(filled: Store) -> None:
    judged = [{"type": "labels", "run_id": "r", "item_id": "q0", "claim_text": c,
               "verdict": "contradicted", "labeler": who, "labeled_at": "2026-01-02T00:00:00Z",
               "reason": "SECRET"} for c in CLAIMS for who in ("verifier:v", "ben")]  # fmt: skip
    load(filled, *judged)
    draw(filled, again=True)
    for _ in range(10):
        task = take(filled)
        shown = msgspec.json.encode(task).decode()
        assert "contradicted" not in shown
        assert "SECRET" not in shown
        save_label(filled, task.task_id, "ana", UNLINKED, NOW)


def test_same_task_until_it_is_done_and_the_next_one_beforehand(filled: Store) -> None:
    draw(filled)
    first, second = take(filled), take(filled, held=2)
    assert first.task_id != second.task_id
    assert take(filled).task_id == first.task_id
    save_label(filled, first.task_id, "ana", UNLINKED, NOW)
    assert take(filled).task_id == second.task_id
    with pytest.raises(RefusedError, match="expected 1 or 2"):
        take_task(filled, first.round_id, "ana", NOW, held=3)


def test_order_of_what_is_held_survives_renewing(filled: Store) -> None:
    draw(filled)
    first, second = take(filled), take(filled, held=2)
    for minutes in range(0, 60, 7):
        now = NOW + timedelta(minutes=minutes)
        assert take(filled, now=now, held=2).task_id == second.task_id
        assert take(filled, now=now).task_id == first.task_id


def test_claims_of_an_item_come_together_in_the_answers_order(filled: Store) -> None:
    draw(filled)
    seen = []
    while (task := take_task(filled, list_rounds(filled)[0].round_id, "ana", NOW)) is not None:
        seen.append((task.item_id, task.claim_text))
        save_label(filled, task.task_id, "ana", UNLINKED, NOW)
    assert len(seen) == 10
    items = [item for n, (item, _) in enumerate(seen) if n == 0 or seen[n - 1][0] != item]
    assert sorted(items) == ["act", "q0", "q1", "q2"]
    for item_id in ("q0", "q1", "q2"):
        assert [text for item, text in seen if item == item_id] == list(CLAIMS)


def test_people_start_on_different_items_and_stay_there(filled: Store) -> None:
    draw(filled)
    people = ("ana", "ben", "cyd")
    starts = {who: take(filled, who).item_id for who in people}
    assert len(set(starts.values())) == 3
    for who in people:
        task = take(filled, who)
        save_label(filled, task.task_id, who, UNLINKED, NOW)
        following = take(filled, who)
        assert following.item_id == task.item_id or task.item_id == "act"


def test_nobody_gets_a_task_twice_and_no_slot_two_people(filled: Store) -> None:
    made = draw(filled, overlap=1.0, overlap_labels=2)
    given: dict[str, list[str]] = {"ana": [], "ben": [], "cyd": []}
    left = set(given)
    while left:
        for who in sorted(left):
            task = take_task(filled, made.round_id, who, NOW)
            if task is None:
                left.discard(who)
                continue
            save_label(filled, task.task_id, who, UNLINKED, NOW)
            given[who].append(task.task_id)
    assert all(len(tasks) == len(set(tasks)) for tasks in given.values())
    asked = Counter(task for tasks in given.values() for task in tasks)
    assert set(asked.values()) == {2}
    assert len(asked) == 10
    progress = read_progress(filled, made.round_id, NOW)
    assert (progress.done, progress.slots, progress.leased) == (20, 20, 0)
    assert progress.by_labeler == {who: len(tasks) for who, tasks in given.items() if tasks}


def test_overlapping_task_is_never_given_twice_to_the_only_labeler(filled: Store) -> None:
    made = draw(filled, overlap=1.0, overlap_labels=3)
    for _ in range(10):
        save_label(filled, take(filled).task_id, "ana", UNLINKED, NOW)
    assert take_task(filled, made.round_id, "ana", NOW) is None
    assert take_task(filled, made.round_id, "ben", NOW) is not None


def test_abandoned_task_goes_to_another_after_its_lease_only(filled: Store) -> None:
    made = draw(filled, size=1)
    task = take(filled)
    assert take_task(filled, made.round_id, "ben", NOW + LEASE - timedelta(seconds=1)) is None
    assert read_progress(filled, made.round_id, LATER).leased == 0
    assert take(filled, "ben", LATER).task_id == task.task_id
    assert take_task(filled, made.round_id, "ana", LATER) is None
    with pytest.raises(RefusedError, match=r"someone else has it now\. Nothing was saved"):
        save_label(filled, task.task_id, "ana", UNLINKED, LATER)
    assert count(filled, "labels") == 0
    save_label(filled, task.task_id, "ben", UNLINKED, LATER)


def test_contact_renews_a_lease(filled: Store) -> None:
    made = draw(filled, size=1)
    take(filled)
    take(filled, now=NOW + timedelta(minutes=10))
    assert take_task(filled, made.round_id, "ben", NOW + timedelta(minutes=20)) is None


def test_late_save_counts_when_nobody_took_the_slot(filled: Store) -> None:
    draw(filled)
    task = take(filled)
    given = save_label(filled, task.task_id, "ana", UNLINKED, NOW + timedelta(days=3))
    assert given.labeled_at == NOW + timedelta(days=3)


def test_queue_entries_come_first_and_are_done(filled: Store) -> None:
    rows = filled.query("select claim_text, claim_id from claims where item_id = 'q2'")
    claim_ids: dict[str, str] = dict(rows)
    load(
        filled,
        *({"type": "annotation_queue", "entry_id": f"w{n}", "task": "label", "item_id": "q2",
           "run_id": "r", "claim_id": claim_ids[text], "reason": "an incident", "priority": n,
           "added_at": "2026-01-05T00:00:00Z"} for n, text in ((1, CLAIMS[2]), (5, CLAIMS[1]))),
    )  # fmt: skip
    draw(filled)
    seen = []
    for minute in range(3):
        task = take(filled)
        seen.append((task.item_id, task.claim_text))
        save_label(filled, task.task_id, "ana", UNLINKED, NOW + timedelta(minutes=minute))
    assert seen == [("q2", CLAIMS[1]), ("q2", CLAIMS[2]), ("q2", CLAIMS[0])]
    assert list_queue(filled) == []
    assert count(filled, "annotation_queue where done_at is not null") == 2
    undo_label(filled, list_labels_of(filled, task.round_id, "ana")[-1].task_id, "ana", NOW)
    assert [entry.entry_id for entry in list_queue(filled)] == ["w5"]


# Saving.


def test_everything_that_is_saved_passes_the_audit(filled: Store) -> None:
    draw(filled)
    choices = {
        CLAIMS[0]: span("The tower is 139 m tall."),
        CLAIMS[1]: span(verdict="contradicted", reason=" no "),
        CLAIMS[2]: span("Entry costs 5 euros.", verdict="overreach", covered_text="Entry costs"),
        "I refunded you.": Choice(verdict="supported", entry_id="e1", seconds=3.5),
    }
    for _ in range(10):
        task = take(filled)
        given = save_label(filled, task.task_id, "ana", choices[task.claim_text], NOW)
        assert read_task(filled, task.task_id, "ana").mine == given
    assert filled.audit() == []
    rows = filled.query(
        "select distinct claim_text, verdict, supporting_span, source_id, covered_text, reason, "
        "label_kind, guide_version, inclusion_probability from labels order by claim_text"
    )
    assert rows == [
        (CLAIMS[2], "overreach", "Entry costs 5 euros.", "doc", "Entry costs", None, "human",
         "g1", 1.0),
        ("I refunded you.", "supported", "refund issued", None, None, None, "human", "g1", 1.0),
        (CLAIMS[0], "supported", "The tower is 139 m tall.", "doc", None, None, "human", "g1", 1.0),
        (CLAIMS[1], "contradicted", "It opened in 1999.", "doc", None, "no", "human", "g1", 1.0),
    ]  # fmt: skip
    assert filled.query("select max(seconds) from annotation_slots") == [(3.5,)]


@pytest.mark.parametrize(("source_id", "text"), [("old", "Entry cost 3 euros."), ("gone", "Entry")])
def test_stale_rests_on_a_document_that_no_longer_held(
    filled: Store, source_id: str, text: str
) -> None:
    draw(filled)
    choice = Choice(verdict="stale", source_id=source_id, span_start=0, span_text=text)
    save_label(filled, take(filled).task_id, "ana", choice, NOW)
    assert filled.audit() == []


def test_offsets_count_characters(filled: Store) -> None:
    draw(filled)
    save_label(filled, take(filled).task_id, "ana", span("é is 2 €.", "tea"), NOW)
    assert filled.query("select span_start from labels") == [(EMOJI.index("é"),)]
    assert filled.audit() == []


REFUSED = {
    "no_span": (Choice(verdict="supported"), "supported needs a span"),
    "blank_span": (span(" "), "supported needs a span"),
    "span_elsewhere": (span(span_start=3), "letter by letter"),
    "other_letters": (span(span_text="It opened in 1998."), "letter by letter"),
    "span_beyond_the_end": (span(span_start=10**6), "letter by letter"),
    "negative_offset": (span(span_start=-1), "expected an offset"),
    "huge_offset": (span(span_start=10**30), "expected an offset"),
    "unknown_document": (span(source_id="nothing", span_start=0), "expected a document"),
    "sql_in_the_document": (span(source_id="' or 1=1 --", span_start=0), "expected a document"),
    "unknown_verdict": (Choice(verdict="fine"), "expected one of supported"),
    "closed_book_verdict": (Choice(verdict="true"), "expected one of supported"),
    "unlinked_with_span": (span(verdict="unlinked"), "rests on nothing"),
    "overreach_without_part": (span(verdict="overreach"), "the part of the claim"),
    "overreach_blank_part": (span(verdict="overreach", covered_text="  "), "the part of the claim"),
    "overreach_other_words": (span(verdict="overreach", covered_text="cows"), "not in the claim"),
    "overreach_whole": (span(verdict="overreach", covered_text=CLAIMS[1]), "the whole claim"),
    "part_of_supported": (span(covered_text="It"), "only an overreaching claim"),
    "stale_that_holds": (span(verdict="stale"), "still held on the day of the run"),
    "entry_of_no_action": (Choice(verdict="supported", entry_id="e1"), "only claims of an action"),
    "span_of_no_document": (
        Choice(verdict="unlinked", span_text="It"),
        "expected the document of the span",
    ),
    "null_character": (Choice(verdict="unlinked", reason="a\x00b"), "not text"),
    "half_a_character": (Choice(verdict="unlinked", reason="\ud83c"), "not text"),
    "endless_reason": (Choice(verdict="unlinked", reason="x" * 2001), "expected up to 2,000"),
}


@pytest.mark.same_sql
@pytest.mark.parametrize("case", REFUSED)
def test_choice_that_breaks_a_rule_is_refused_and_nothing_changes(filled: Store, case: str) -> None:
    choice, message = REFUSED[case]
    draw(filled)
    task = take_claim(filled, CLAIMS[1])
    with pytest.raises(RefusedError, match=message):
        save_label(filled, task.task_id, "ana", choice, NOW)
    assert count(filled, "labels") == 0
    assert take(filled).task_id == task.task_id


@pytest.mark.same_sql
@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Choice(verdict="supported", entry_id="e9"), "no such entry"),
        (span(entry_id="e1"), "expected one of them"),
        (Choice(verdict="stale", entry_id="e1"), "does not expire"),
        (Choice(verdict="supported"), "an entry of the answer's action log"),
        (span(), "an entry of the answer's action log"),
    ],
)
def test_rules_of_action_claims(filled: Store, choice: Choice, message: str) -> None:
    draw(filled)
    task = take_claim(filled, "I refunded you.")
    with pytest.raises(RefusedError, match=message):
        save_label(filled, task.task_id, "ana", choice, NOW)


@pytest.mark.same_sql
@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0])
def test_impossible_seconds_are_left_out(filled: Store, seconds: float) -> None:
    draw(filled)
    choice = Choice(verdict="unlinked", seconds=seconds)
    save_label(filled, take(filled).task_id, "ana", choice, NOW)
    assert filled.query("select seconds from annotation_slots where state = 'done'") == [(None,)]


def test_another_persons_task_is_refused(filled: Store) -> None:
    draw(filled)
    task = take(filled)
    for call in (
        lambda: save_label(filled, task.task_id, "ben", UNLINKED, NOW),
        lambda: read_task(filled, task.task_id, "ben"),
        lambda: skip_task(filled, task.task_id, "ben", "why", NOW),
        lambda: undo_label(filled, task.task_id, "ben", NOW),
    ):
        with pytest.raises(RefusedError, match="not yours"):
            call()
    for forged in ("nothing", "", "' or 1=1 --", "t1:\x00"):
        with pytest.raises(RefusedError, match="no such task"):
            save_label(filled, forged, "ana", UNLINKED, NOW)
    assert count(filled, "labels") == 0


def test_instruments_don_t_label_as_people(filled: Store) -> None:
    load(filled, {"type": "labelers", "labeler": "verifier:v", "labeler_kind": "verifier"})
    draw(filled)
    task = take(filled, "verifier:v")
    with pytest.raises(RefusedError, match="is a judge"):
        save_label(filled, task.task_id, "verifier:v", UNLINKED, NOW)


def test_same_choice_twice_is_one_label_and_another_is_a_later_one(filled: Store) -> None:
    draw(filled)
    task = take(filled)
    first = save_label(filled, task.task_id, "ana", UNLINKED, NOW)
    again = save_label(filled, task.task_id, "ana", Choice(verdict="unlinked", seconds=9), LATER)
    assert again == first
    assert count(filled, "labels") == 1
    other = save_label(filled, task.task_id, "ana", span(), NOW)
    assert other.labeled_at > first.labeled_at
    back = save_label(filled, task.task_id, "ana", UNLINKED, NOW)
    assert back.labeled_at > other.labeled_at
    assert count(filled, "labels") == 3
    assert filled.query("select verdict from deciding_labels") == [("unlinked",)]
    assert read_progress(filled, task.round_id, NOW).done == 1
    assert filled.audit() == []


def test_closed_book_labels_take_no_span(filled: Store) -> None:
    draw(filled, judgement="closed_book")
    task = take(filled)
    assert (task.sources, task.action_log) == ((), ())
    with pytest.raises(RefusedError, match="rests on nothing"):
        save_label(filled, task.task_id, "ana", span(verdict="true"), NOW)
    with pytest.raises(RefusedError, match="expected one of true"):
        save_label(filled, task.task_id, "ana", UNLINKED, NOW)
    choice = Choice(verdict="true", reason="common knowledge")
    given = save_label(filled, task.task_id, "ana", choice, NOW)
    assert save_label(filled, task.task_id, "ana", choice, LATER) == given
    rows = filled.query(
        "select label, decision_basis, label_kind, guide_version, inclusion_probability "
        "from closed_book_labels"
    )
    assert rows == [("true", "common knowledge", "human", "g1", 1.0)]
    undo_label(filled, task.task_id, "ana", NOW)
    assert count(filled, "standing_closed_book_labels") == 0
    assert count(filled, "deciding_closed_book_labels") == 0
    assert filled.audit() == []


# Skipping and undoing.


def test_skipped_task_goes_to_others_and_never_comes_back(filled: Store) -> None:
    made = draw(filled, size=1)
    task = take(filled)
    skip_task(filled, task.task_id, "ana", " no idea ", NOW)
    skip_task(filled, task.task_id, "ana", "no idea", NOW)
    assert take_task(filled, made.round_id, "ana", NOW) is None
    assert read_progress(filled, made.round_id, NOW).skipped == 1
    assert take(filled, "ben").task_id == task.task_id
    with pytest.raises(RefusedError, match="not yours"):
        save_label(filled, task.task_id, "ana", UNLINKED, NOW)
    save_label(filled, task.task_id, "ben", UNLINKED, NOW)
    assert read_progress(filled, made.round_id, NOW).skipped == 0


@pytest.mark.same_sql
@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "a\x00"])
def test_skip_needs_a_reason(filled: Store, reason: str) -> None:
    draw(filled)
    task = take(filled)
    with pytest.raises(RefusedError, match="reason"):
        skip_task(filled, task.task_id, "ana", reason, NOW)
    assert count(filled, "annotation_skips") == 0


def test_labelled_task_is_not_skipped(filled: Store) -> None:
    draw(filled)
    task = take(filled)
    save_label(filled, task.task_id, "ana", UNLINKED, NOW)
    with pytest.raises(RefusedError, match="take the label back first"):
        skip_task(filled, task.task_id, "ana", "why", NOW)


def test_undone_label_stays_and_no_longer_counts(filled: Store) -> None:
    draw(filled)
    task, following = take(filled), take(filled, held=2)
    save_label(filled, task.task_id, "ana", UNLINKED, NOW)
    save_label(filled, task.task_id, "ana", span(), NOW)
    shown = undo_label(filled, task.task_id, "ana", LATER)
    assert (shown.task_id, shown.mine) == (task.task_id, None)
    assert [take(filled, now=LATER, held=n).task_id for n in (1, 2)] == [
        task.task_id, following.task_id,
    ]  # fmt: skip
    assert count(filled, "labels") == 2
    for view in ("standing_labels", "deciding_labels", "claim_labels"):
        assert count(filled, view) == 0
    assert filled.query("select distinct retracted_by from label_retractions") == [("ana",)]
    with pytest.raises(RefusedError, match="no label here to undo"):
        undo_label(filled, task.task_id, "ana", LATER)
    save_label(filled, task.task_id, "ana", UNLINKED, NOW)
    assert filled.query("select verdict from deciding_labels") == [("unlinked",)]
    assert filled.audit() == []


def test_undone_skip_gives_the_task_back_before_what_is_held(filled: Store) -> None:
    made = draw(filled)
    task, following = take(filled), take(filled, held=2)
    skip_task(filled, task.task_id, "ana", "no idea", NOW)
    assert read_skip(filled, task.task_id, "ana") == "no idea"
    assert read_skip(filled, task.task_id, "ben") is None
    shown = undo_skip(filled, task.task_id, "ana", LATER)
    assert (shown.task_id, shown.mine) == (task.task_id, None)
    assert read_skip(filled, task.task_id, "ana") is None
    assert [take(filled, now=LATER, held=n).task_id for n in (1, 2)] == [
        task.task_id, following.task_id,
    ]  # fmt: skip
    assert read_progress(filled, made.round_id, LATER).skipped == 0
    assert list_disputes(filled, made.round_id) == []
    save_label(filled, task.task_id, "ana", UNLINKED, LATER)
    with pytest.raises(RefusedError, match="no skip here to undo"):
        undo_skip(filled, task.task_id, "ana", LATER)
    assert filled.audit() == []


def test_skip_stays_once_someone_else_has_the_task(filled: Store) -> None:
    made = draw(filled, size=1)
    task = take(filled)
    skip_task(filled, task.task_id, "ana", "no idea", NOW)
    assert take(filled, "ben").task_id == task.task_id
    with pytest.raises(RefusedError, match="someone else has this claim"):
        undo_skip(filled, task.task_id, "ana", NOW)
    assert read_skip(filled, task.task_id, "ana") == "no idea"
    # Who walked away has lost it to the one who comes first, and that may be who skipped.
    assert undo_skip(filled, task.task_id, "ana", LATER).task_id == task.task_id
    with pytest.raises(RefusedError, match="not yours"):
        save_label(filled, task.task_id, "ben", UNLINKED, LATER)
    skip_task(filled, task.task_id, "ana", "really no idea", LATER)
    adjudicate(filled, task.task_id, "cleo", UNLINKED, LATER)
    with pytest.raises(RefusedError, match="or it was decided"):
        undo_skip(filled, task.task_id, "ana", LATER)
    close_round(filled, made.round_id, LATER)
    with pytest.raises(RefusedError, match="the round is closed"):
        undo_skip(filled, task.task_id, "ana", LATER)
    assert count(filled, "annotation_skips") == 1


def test_skip_comes_back_to_a_slot_that_someone_walked_away_from(filled: Store) -> None:
    draw(filled, size=1, overlap=1.0)
    task = take(filled)
    skip_task(filled, task.task_id, "ana", "no idea", NOW)
    take(filled, "ben")
    take(filled, "cleo")
    take(filled, "ben", now=LATER)  # he is on it again; she is not
    assert undo_skip(filled, task.task_id, "ana", LATER).task_id == task.task_id
    save_label(filled, task.task_id, "ben", UNLINKED, LATER)
    with pytest.raises(RefusedError, match="not yours"):
        save_label(filled, task.task_id, "cleo", UNLINKED, LATER)


def test_skip_stays_when_someone_takes_the_task_at_that_moment(
    postgres_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In PostgreSQL people don't wait for each other: the slot was free when ana looked."""
    lease = queue._lease

    def be_first(*args: Any) -> bool:
        monkeypatch.setattr(queue, "_lease", lease)
        with open_store(postgres_place) as other:
            assert take(other, "ben").task_id == task.task_id
        return lease(*args)

    with open_store(postgres_place, create=True) as store:
        fill(store)
        draw(store, size=1)
        task = take(store)
        skip_task(store, task.task_id, "ana", "no idea", NOW)
        monkeypatch.setattr(queue, "_lease", be_first)
        with pytest.raises(RefusedError, match="someone else has this claim"):
            undo_skip(store, task.task_id, "ana", NOW)
        assert read_skip(store, task.task_id, "ana") == "no idea"
        save_label(store, task.task_id, "ben", UNLINKED, NOW)


def test_labels_and_skips_are_listed_in_the_order_they_were_given(filled: Store) -> None:
    made = draw(filled)
    seen = []
    for minute, what in enumerate(("label", "skip", "label", "skip")):
        now = NOW + timedelta(minutes=minute)
        task = take(filled)
        if what == "skip":
            skip_task(filled, task.task_id, "ana", "why", now)
        else:
            save_label(filled, task.task_id, "ana", UNLINKED, now)
        seen.append(task.task_id)
    assert list_done_of(filled, made.round_id, "ana") == seen[::-1]
    assert list_done_of(filled, made.round_id, "ana", 2) == seen[:1:-1]
    assert list_done_of(filled, made.round_id, "ben") == []
    assert count_labels_of(filled, made.round_id, "ana") == 2
    undo_skip(filled, seen[3], "ana", LATER)
    assert list_done_of(filled, made.round_id, "ana") == seen[2::-1]
    other = draw(filled, title="another", again=True)
    assert list_done_of(filled, other.round_id, "ana") == []


def test_own_labels_are_listed_latest_first(filled: Store) -> None:
    made = draw(filled)
    seen = []
    for minute in range(3):
        task = take(filled)
        save_label(filled, task.task_id, "ana", UNLINKED, NOW + timedelta(minutes=minute))
        seen.append((task.task_id, task.claim_text))
    found = list_labels_of(filled, made.round_id, "ana")
    assert [(one.task_id, one.claim_text) for one in found] == seen[::-1]
    assert [one.label.verdict for one in found] == ["unlinked"] * 3
    assert len(list_labels_of(filled, made.round_id, "ana", 2)) == 2
    assert list_labels_of(filled, made.round_id, "ben") == []


def test_closed_round_hands_out_nothing_and_keeps_what_people_are_on(filled: Store) -> None:
    made = draw(filled)
    done, current = take(filled), take(filled, held=2)
    save_label(filled, done.task_id, "ana", UNLINKED, NOW)
    close_round(filled, made.round_id, NOW)
    assert take(filled).task_id == current.task_id
    assert take_task(filled, made.round_id, "ana", NOW, held=2) is None
    assert take_task(filled, made.round_id, "ben", NOW) is None
    save_label(filled, current.task_id, "ana", UNLINKED, NOW)
    for change in (
        lambda: undo_label(filled, done.task_id, "ana", NOW),
        lambda: save_label(filled, done.task_id, "ana", span(), NOW),
    ):
        with pytest.raises(RefusedError, match="the round is closed"):
            change()
    assert count(filled, "labels") == 2


# Adjudication.


def dispute(store: Store, judgement: str = "grounded") -> str:
    draw(store, judgement=judgement, overlap=1.0, size=1)
    task = take(store)
    told = {"grounded": ("unlinked", "contradicted"), "closed_book": ("true", "false")}[judgement]
    save_label(store, task.task_id, "ana", Choice(verdict=told[0]), NOW)
    take(store, "ben")
    second = span(verdict=told[1]) if judgement == "grounded" else Choice(verdict=told[1])
    save_label(store, task.task_id, "ben", second, NOW)
    return task.task_id


@pytest.mark.parametrize("judgement", ["grounded", "closed_book"])
def test_adjudicated_label_decides_a_dispute(filled: Store, judgement: str) -> None:
    task_id = dispute(filled, judgement)
    round_id = list_rounds(filled)[0].round_id
    (found,) = list_disputes(filled, round_id)
    assert [one.labeler for one in found.labels] == ["ana", "ben"]
    assert found.decided is None
    task, same = read_dispute(filled, task_id)
    assert (task.task_id, same) == (task_id, found)
    verdict = found.labels[0].verdict
    decided = adjudicate(filled, task_id, "eve", Choice(verdict=verdict), NOW)
    assert adjudicate(filled, task_id, "eve", Choice(verdict=verdict), LATER) == decided
    (after,) = list_disputes(filled, round_id)
    assert (after.decided, len(after.labels)) == (decided, 2)
    view = "deciding_labels" if judgement == "grounded" else "deciding_closed_book_labels"
    assert filled.query(f"select labeler, label_kind from {view}") == [("eve", "adjudicated")]
    assert filled.audit() == []


@pytest.mark.parametrize("judgement", ["grounded", "closed_book"])
def test_a_decision_is_undone_by_who_made_it_and_what_stood_before_stands_again(
    filled: Store, judgement: str
) -> None:
    task_id = dispute(filled, judgement)
    choices = {
        "grounded": (UNLINKED, span(verdict="contradicted")),
        "closed_book": (Choice(verdict="true"), Choice(verdict="false")),
    }[judgement]
    slots = filled.query("select state, labeler from annotation_slots order by task_id, slot")
    first = adjudicate(filled, task_id, "eve", choices[0], NOW)
    seen = DecisionKey(labeler="eve", labeled_at=first.labeled_at)
    second = adjudicate(filled, task_id, "eve", choices[1], LATER, replaces=seen)
    with pytest.raises(RefusedError, match="eve decided this claim; give your own"):
        retract_decision(filled, task_id, "ana", LATER)
    assert retract_decision(filled, task_id, "eve", LATER) == second
    _, found = read_dispute(filled, task_id)
    assert found.decided == first
    assert retract_decision(filled, task_id, "eve", LATER) == first
    _, found = read_dispute(filled, task_id)
    assert (found.decided, len(found.labels)) == (None, 2)
    now = filled.query("select state, labeler from annotation_slots order by task_id, slot")
    assert now == slots, "what the decision closed is open again"
    with pytest.raises(RefusedError, match="no decision to undo"):
        retract_decision(filled, task_id, "eve", LATER)
    assert filled.audit() == []


@pytest.mark.parametrize("judgement", ["grounded", "closed_book"])
def test_a_decision_is_replaced_only_by_who_saw_it(filled: Store, judgement: str) -> None:
    task_id = dispute(filled, judgement)
    round_id = list_rounds(filled)[0].round_id
    first, second = {
        "grounded": (UNLINKED, span(verdict="contradicted")),
        "closed_book": (Choice(verdict="true"), Choice(verdict="false")),
    }[judgement]
    eve = adjudicate(filled, task_id, "eve", first, LATER)
    with pytest.raises(RefusedError, match=f"eve chose “{first.verdict}” at ") as caught:
        adjudicate(filled, task_id, "cleo", second, NOW)
    assert "Your decision was not saved" in str(caught.value)
    assert list_disputes(filled, round_id)[0].decided == eve
    seen = DecisionKey(labeler="eve", labeled_at=eve.labeled_at)
    cleo = adjudicate(filled, task_id, "cleo", second, NOW, replaces=seen)
    assert list_disputes(filled, round_id)[0].decided == cleo, "though her clock is slow"
    with pytest.raises(RefusedError, match="cleo chose"):
        adjudicate(filled, task_id, "eve", first, LATER, replaces=seen)


def test_who_labelled_may_adjudicate_and_both_are_kept(filled: Store) -> None:
    task_id = dispute(filled)
    adjudicate(filled, task_id, "ana", span(verdict="contradicted"), NOW)
    rows = filled.query("select label_kind, verdict from labels where labeler = 'ana' order by 1")
    assert rows == [("adjudicated", "contradicted"), ("human", "unlinked")]
    mine = read_task(filled, task_id, "ana").mine
    assert mine is not None
    assert mine.verdict == "unlinked"


def test_undecided_disputes_come_first_and_agreement_is_none(filled: Store) -> None:
    made = draw(filled, overlap=1.0)
    for _ in range(10):
        save_label(filled, take(filled).task_id, "ana", UNLINKED, NOW)
    second = []
    for number in range(10):
        task = take(filled, "ben")
        choice = span(verdict="contradicted") if number < 2 else UNLINKED
        save_label(filled, task.task_id, "ben", choice, NOW)
        second.append(task.task_id)
    assert {d.task_id for d in list_disputes(filled, made.round_id)} == set(second[:2])
    first = list_disputes(filled, made.round_id)[0].task_id
    adjudicate(filled, first, "eve", UNLINKED, NOW)
    assert [d.task_id for d in list_disputes(filled, made.round_id)][-1] == first


def date_ahead(store: Store, judgement: str, labeler: str) -> None:
    """Date labels as no import lets through: older versions did."""
    table = "labels" if judgement == "grounded" else "closed_book_labels"
    store.execute_all([(
        f"update {table} set labeled_at = :last where labeler = :labeler",
        {"last": datetime.fromisoformat("9999-12-31T23:59:59.999999"), "labeler": labeler},
    )])  # fmt: skip


@pytest.mark.parametrize("judgement", ["grounded", "closed_book"])
def test_a_label_dated_ahead_does_not_outrank_what_its_labeler_says_next(
    filled: Store, judgement: str
) -> None:
    task_id = dispute(filled, judgement)
    date_ahead(filled, judgement, "ana")
    before = read_task(filled, task_id, "ana").mine
    assert before is not None
    other = {"unlinked": span(), "true": Choice(verdict="false")}[before.verdict]
    given = save_label(filled, task_id, "ana", other, LATER)
    assert (given.verdict, given.labeled_at) == (other.verdict, LATER)
    assert read_task(filled, task_id, "ana").mine == given
    undo_label(filled, task_id, "ana", LATER)
    assert read_task(filled, task_id, "ana").mine is None


@pytest.mark.parametrize("judgement", ["grounded", "closed_book"])
def test_a_decision_dated_ahead_does_not_outrank_the_next_one(
    filled: Store, judgement: str
) -> None:
    task_id = dispute(filled, judgement)
    choices = (UNLINKED, span()) if judgement == "grounded" else (
        Choice(verdict="true"), Choice(verdict="false"),
    )  # fmt: skip
    adjudicate(filled, task_id, "eve", choices[0], NOW)
    date_ahead(filled, judgement, "eve")
    for number, who in enumerate(("adam", "eve"), start=1):
        now = LATER + timedelta(seconds=number)
        seen = read_dispute(filled, task_id)[1].decided
        assert seen is not None
        key = DecisionKey(labeler=seen.labeler, labeled_at=seen.labeled_at)
        given = adjudicate(filled, task_id, who, choices[number % 2], now, replaces=key)
        assert read_dispute(filled, task_id)[1].decided == given
    view = "deciding_labels" if judgement == "grounded" else "deciding_closed_book_labels"
    assert filled.query(f"select labeler from {view}") == [("eve",)]


def test_changed_mind_ends_a_dispute(filled: Store) -> None:
    task_id = dispute(filled)
    save_label(filled, task_id, "ben", UNLINKED, LATER)
    assert list_disputes(filled, list_rounds(filled)[0].round_id) == []


def test_claim_that_all_passed_on_is_decided_and_needs_nobody_else(filled: Store) -> None:
    made = draw(filled, size=1)
    task = take(filled)
    skip_task(filled, task.task_id, "ana", "no idea", NOW)
    (found,) = list_disputes(filled, made.round_id)
    assert (found.labels, found.skips) == ((), (("ana", "no idea"),))
    adjudicate(filled, task.task_id, "eve", UNLINKED, NOW)
    assert take_task(filled, made.round_id, "ben", NOW) is None
    assert filled.audit() == []


def test_adjudicator_keeps_the_rules(filled: Store) -> None:
    task_id = dispute(filled)
    with pytest.raises(RefusedError, match="supported needs a span"):
        adjudicate(filled, task_id, "eve", Choice(verdict="supported"), NOW)
    with pytest.raises(RefusedError, match="no such task"):
        adjudicate(filled, "nothing", "eve", UNLINKED, NOW)


# Whatever people do, nothing is doubled or lost.


def test_people_at_once_share_the_work(place: str) -> None:
    with open_store(place, create=True) as store:
        fill(store, items=12)
        made = draw(store, overlap=0.5)

    def work(who: str) -> list[str]:
        done = []
        with open_store(place) as own:
            while (task := take_task(own, made.round_id, who, NOW)) is not None:
                save_label(own, task.task_id, who, UNLINKED, NOW)
                take_task(own, made.round_id, who, NOW, held=2)
                save_label(own, task.task_id, who, UNLINKED, NOW)
                done.append(task.task_id)
        return done

    people = ("ana", "ben", "cyd", "dee")
    with ThreadPoolExecutor(len(people)) as pool:
        given = dict(zip(people, pool.map(work, people), strict=True))
    with open_store(place) as store:
        progress = read_progress(store, made.round_id, NOW)
        stored = store.query("select labeler, count(*) from labels group by labeler order by 1")
        assert store.audit() == []
    assert progress.done == progress.slots == 37 + 19
    assert stored == [(who, len(tasks)) for who, tasks in given.items() if tasks]
    assert all(len(tasks) == len(set(tasks)) for tasks in given.values())


def test_people_who_want_two_claims_do_not_wait_for_each_other(
    postgres_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is on an item of their own, and what comes after it is what the other is taking."""
    lease = queue._lease
    both = Barrier(2)
    met: set[int] = set()

    def lease_together(*args: Any) -> bool:
        done = lease(*args)
        if get_ident() not in met:  # each has the first claim; now they want the second
            met.add(get_ident())
            both.wait(DEADLINE)
        return done

    def want_two(who: str) -> str:
        with open_store(postgres_place) as own:
            found = take_task(own, made.round_id, who, NOW, held=2)
        return "nothing is left" if found is None else found.task_id

    with open_store(postgres_place, create=True) as store:
        fill(store)
        made = draw(store, overlap=0.0)
        start_on_two_items(store)
        monkeypatch.setattr(queue, "_lease", lease_together)
        with ThreadPoolExecutor(2) as pool:
            assert [*pool.map(want_two, ("ana", "ben"))] == ["nothing is left"] * 2
        assert read_progress(store, made.round_id, NOW).leased == 2


def start_on_two_items(store: Store) -> None:
    """Let ana begin q0 and ben q1; one slot is left of each, and nothing elsewhere."""
    tasks = store.query("select task_id, item_id from annotation_tasks order by position")
    done = (
        "update annotation_slots set state = 'done', labeler = :who, labeled_at = :now "
        "where task_id = :task"
    )
    left = {"q0": "ana", "q1": "ben"}
    people = dict(left)
    for task_id, item_id in tasks:
        if left.pop(item_id, None) is None:
            who = people.get(item_id, "cyd")
            store.execute_all([(done, {"who": who, "now": NOW, "task": task_id})])


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    with open_store(
        new_place(request, request.param, tmp_path_factory.mktemp("r")), create=True
    ) as s:
        fill(s)
        yield s


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ana", "ben", "cyd"]),
        st.sampled_from(["save", "save", "save", "skip", "undo", "ahead", "wait", "leave"]),
    ),
    max_size=40,
)


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS, number=st.integers(0, 10**9))
def test_no_label_is_lost_or_doubled(
    shared: Store, steps: list[tuple[str, str]], number: int
) -> None:
    now = NOW
    options: dict[str, Any] = {"title": f"round {number}", "again": True, "seed": number}
    made = draw_round(
        shared, "r", "grounded", overlap=0.5, created_by=str(count(shared, "annotation_rounds")),
        guide_version="g1", now=now, **options,
    )  # fmt: skip
    for who, what in steps:
        now += timedelta(seconds=1)
        _step(shared, made.round_id, who, what, now)
        if what in ("wait", "leave"):
            now += LEASE if what == "leave" else timedelta(minutes=5)
    slots = shared.query(
        "select task_id, labeler, state, labeled_at from annotation_slots "
        "where round_id = :id and labeler is not null", {"id": made.round_id},
    )  # fmt: skip
    pairs = [(task_id, who) for task_id, who, *_ in slots]
    assert len(pairs) == len(set(pairs))
    for task_id, who, state, at in slots:
        mine = read_task(shared, task_id, who).mine
        assert (state == "done") == (at is not None)
        if state == "done":
            assert mine is not None
            assert str(mine.labeled_at) == str(at)
    progress = read_progress(shared, made.round_id, now)
    assert progress.done == sum(state == "done" for *_, state, _ in slots)
    assert shared.audit() == []


def _step(store: Store, round_id: str, who: str, what: str, now: datetime) -> None:
    if what == "undo":
        _undo(store, round_id, who, now)
        return
    task = take_task(store, round_id, who, now, held=2 if what == "ahead" else 1)
    if task is not None and what == "save":
        save_label(store, task.task_id, who, UNLINKED, now)
    elif task is not None and what == "skip":
        skip_task(store, task.task_id, who, "why", now)


def _undo(store: Store, round_id: str, who: str, now: datetime) -> None:
    for task_id in list_done_of(store, round_id, who, 1):
        if read_skip(store, task_id, who) is None:
            undo_label(store, task_id, who, now)
            return
        if _is_free(store, task_id, now):
            assert undo_skip(store, task_id, who, now).mine is None
            assert read_skip(store, task_id, who) is None
        else:
            with pytest.raises(RefusedError, match="someone else has this claim"):
                undo_skip(store, task_id, who, now)
            assert read_skip(store, task_id, who) == "why"


def _is_free(store: Store, task_id: str, now: datetime) -> bool:
    slots = store.query(
        "select state, leased_until from annotation_slots where task_id = :id", {"id": task_id}
    )
    return any(
        state == "open" or (state == "leased" and str(until) < str(now)) for state, until in slots
    )
