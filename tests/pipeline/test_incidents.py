from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from claimwise.checking.check import judge_pieces, split_request
from claimwise.errors import InputError, StoreError
from claimwise.incidents import promotion
from claimwise.incidents.duplicates import find_near
from claimwise.incidents.promotion import make_trace, promote_trace
from claimwise.incidents.queries import (
    find_answer,
    list_incident_progress,
    list_queue,
    read_incidents,
)
from claimwise.incidents.values import ItemChoice, Promotion
from claimwise.judges.judge import load_verifier
from claimwise.metrics import load_metrics
from claimwise.metrics.counting import list_items
from claimwise.store import Store
from claimwise.text.questions import normalise_question
from claimwise.types.rows import QueueEntry, Source
from claimwise.types.traces import Passage, Trace
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict
from pipeline.instruments import ExactVerifier
from small_data import SOURCE, answer, item, label, load, run, source
from store.builders import dump

QUESTION = "How much does a balloon ride cost?"
PASSAGE = "A ride in the balloon costs 80 euros."
TRACE = Trace(
    origin="trace",
    place="trace.json",
    question=QUESTION,
    answer="A ride in the balloon costs 60 euros.",
    passages=(Passage(source_id="balloon", text=PASSAGE),),
    trace_id="t1",
    model="m",
    happened_at=datetime(2026, 11, 1, tzinfo=UTC),
    feedback="I paid 80!",
)


def change(**fields: Any) -> Trace:
    known = {name: getattr(TRACE, name) for name in Trace.__struct_fields__}
    return Trace(**{**known, **fields})


def promote(store: Store, trace: Trace = TRACE, item_id: str = "balloon", **more: Any) -> Promotion:
    stored = more.pop("stored", None)
    choice = ItemChoice(item_id=item_id, **{"answerable": True, **more})
    verifier = load_verifier("lexical")
    return promote_trace(store, trace, choice, who="ana", verifier=verifier, stored=stored)


@pytest.fixture
def golden(store: Store) -> Store:
    load(
        store,
        source(),
        item("height", gold_spans=[{"source_id": "doc", "span_text": "139 m", "required": True}]),
        item("architect", query="Who built it?", query_type="unanswerable", answerable=False),
        run(),
        answer("height", "The tower is 200 m tall.", "It opened in 1999.",
               contexts=[{"source_id": "doc", "context_text": "The tower is 139 m tall."}]),
        answer("architect", action="abstain"),
        label("height", "The tower is 200 m tall.", "contradicted"),
        label("height", "It opened in 1999.", "supported", labeler="verifier:v1"),
    )  # fmt: skip
    return store


def refusal(store: Store, trace: Trace = TRACE, **options: Any) -> str:
    before = dump(store)
    with pytest.raises(InputError) as caught:
        promote(store, trace, **options)
    assert dump(store) == before
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_trace_becomes_a_draft_item_with_its_history(golden: Store) -> None:
    done = promote(golden)
    assert done.new_item
    assert not done.repeated
    assert done.state == "needs spans"
    rows = read_incidents(golden)
    [incident] = rows.incidents
    assert incident.incident_id == done.incident.incident_id
    assert (incident.item_id, incident.origin, incident.place) == ("balloon", "trace", "trace.json")
    assert (incident.trace_id, incident.model, incident.promoted_by) == ("t1", "m", "ana")
    assert (incident.answer_text, incident.feedback) == (TRACE.answer, "I paid 80!")
    [made] = rows.items
    assert (made.query, made.query_type, made.stakes) == (QUESTION, "lookup", "high")
    assert (made.answerable, made.gold_answer, made.source_corpus_ver) == (True, None, "v1")
    [claim] = rows.claims
    assert (claim.wrong, claim.verdict) == (True, "contradicted")
    assert claim.labeler.startswith("verifier:lexical")
    assert [(c.source_id, c.context_text) for c in rows.contexts] == [("balloon", PASSAGE)]
    assert [(a.name, a.value) for a in rows.attributes] == [("origin", "incident")]
    assert [(q.task, q.item_id) for q in list_queue(golden)] == [("gold_spans", "balloon")]


def test_gold_spans_make_it_ready_and_close_the_queue(golden: Store) -> None:
    promote(golden)
    assert [s.state for s in list_incident_progress(golden)] == ["needs spans"]
    span = {"type": "gold_spans", "item_id": "balloon", "source_id": "balloon",
            "span_text": "80 euros", "required": True}  # fmt: skip
    load(golden, span)
    assert [s.state for s in list_incident_progress(golden)] == ["ready"]
    assert list_queue(golden) == []


def test_unanswerable_item_has_no_spans_to_wait_for(golden: Store) -> None:
    done = promote(golden, answerable=False)
    assert (done.state, done.queued, done.item.query_type) == ("ready", 0, "unanswerable")


def test_what_was_said_twice_is_promoted_once(golden: Store) -> None:
    first = promote(golden)
    before = dump(golden)
    again = promote(golden)
    assert again.repeated
    assert again.incident.incident_id == first.incident.incident_id
    assert dump(golden) == before


def test_another_wrong_answer_joins_the_same_item(golden: Store) -> None:
    promote(golden)
    other = change(answer="The balloon is free.", trace_id="t2", question=QUESTION.upper())
    done = promote(golden, other)
    assert not done.new_item
    assert [i.item_id for i in read_incidents(golden).incidents] == ["balloon", "balloon"]
    assert len(list_queue(golden)) == 1


# What changes no number.


def metric_rows(store: Store) -> dict[str, Any]:
    return {
        name: list_items(store, metric, "r", (), "default")
        for name, metric in load_metrics().items()
    }


def test_promoting_changes_no_metric_of_a_run(golden: Store) -> None:
    before = metric_rows(golden)
    promote(golden)
    promote(golden, change(question="Is the café open?"), "cafe", answerable=False)
    assert metric_rows(golden) == before


@pytest.mark.each_engine
def test_what_metrics_do_with_an_answered_draft(golden: Store) -> None:
    """Without gold an item is left out by what needs gold, and counted by what does not."""
    promote(golden)
    load(
        golden,
        run("r2", started_at="2026-10-01T00:00:00Z"),
        answer("balloon", "It costs 60 euros.", run_id="r2",
               contexts=[{"source_id": "balloon", "context_text": PASSAGE}]),
        label("balloon", "It costs 60 euros.", "contradicted", run_id="r2"),
        {"type": "answer_labels", "run_id": "r2", "item_id": "balloon", "correct": False,
         "labeler": "ana", "labeled_at": "2026-10-02T00:00:00Z"},
    )  # fmt: skip
    counted = {
        name: list_items(golden, metric, "r2", (), "default")
        for name, metric in load_metrics().items()
    }
    assert counted["context_recall"] == []
    assert counted["answer_correctness"] == []
    assert counted["quadrant"] == []
    [row] = counted["faithfulness"]
    assert (row.item_id, row.numerator, row.denominator) == ("balloon", 0, 1)


# Repeats.


def test_question_that_is_asked_already_is_refused(golden: Store) -> None:
    message = refusal(golden, change(question="  how TALL is it "), item_id="new")
    assert "item height asks this question already" in message
    assert "--as height files the incident under that item" in message


def test_id_of_another_question_is_refused(golden: Store) -> None:
    assert "found the item height, which asks 'How tall is it?'" in refusal(
        golden, item_id="height"
    )


def test_nearly_the_same_question_needs_force(golden: Store) -> None:
    promote(golden)
    near = change(question="What does a ride in the balloon cost?", trace_id="t2")
    message = refusal(golden, near, item_id="ride")
    assert f"almost the same question is asked by balloon ({QUESTION!r})" in message
    assert "--force makes a new item" in message
    done = promote(golden, near, "ride", force=True)
    assert done.new_item
    assert any(
        "almost the same question is asked by balloon" in warning for warning in done.warnings
    )


def test_near_question_can_be_filed_under_the_item(golden: Store) -> None:
    promote(golden)
    near = change(question="What does a ride in the balloon cost?", trace_id="t2")
    done = promote(golden, near)
    assert not done.new_item
    assert any("asks it in other words" in warning for warning in done.warnings)


@given(st.text())
def test_normalising_twice_is_normalising_once(text: str) -> None:
    assert normalise_question(normalise_question(text)) == normalise_question(text)


@given(st.text(alphabet="abc de?", max_size=20), st.text(alphabet="abc de?", max_size=20))
def test_nearness_is_mutual(one: str, other: str) -> None:
    assert bool(find_near(one, {"x": other})) == bool(find_near(other, {"x": one}))


# Documents.


def documents(store: Store) -> dict[str, str]:
    return dict(store.query("select source_id, source_text from sources order by source_id"))


def test_new_document_is_added_and_told(golden: Store) -> None:
    assert promote(golden).added_documents == ("balloon",)
    assert documents(golden) == {"balloon": PASSAGE, "doc": SOURCE}


def test_known_document_is_referred_to(golden: Store) -> None:
    passages = (Passage(source_id="doc", text="It opened in 1999."), Passage(source_id="doc"))
    done = promote(golden, change(passages=passages))
    assert done.added_documents == ()
    assert [c.source_id for c in read_incidents(golden).contexts] == ["doc", "doc"]


@pytest.mark.parametrize("name", [None, "chunk-17"])
def test_passage_is_found_in_its_document(golden: Store, name: str | None) -> None:
    done = promote(golden, change(passages=(Passage(source_id=name, text="Dogs may come in."),)))
    assert done.added_documents == ()
    assert [c.source_id for c in read_incidents(golden).contexts] == ["doc"]


def test_passages_of_one_new_document_are_joined(golden: Store) -> None:
    passages = tuple(Passage(source_id="new", text=text) for text in ("One.", "Two.", "One."))
    promote(golden, change(passages=passages))
    assert documents(golden)["new"] == "One.\n\nTwo."


def test_changed_document_is_left_alone_and_told(golden: Store) -> None:
    passages = (Passage(source_id="doc", text="The tower is 150 m tall."),)
    done = promote(golden, change(passages=passages))
    assert documents(golden) == {"doc": SOURCE}
    assert any("is not in that document" in warning for warning in done.warnings)


@pytest.mark.each_engine
def test_document_without_text_is_told(golden: Store) -> None:
    done = promote(golden, change(passages=(Passage(source_id="gone"),)))
    assert documents(golden) == {"doc": SOURCE}
    assert any("has no document gone" in warning for warning in done.warnings)
    assert {claim.wrong for claim in done.claims} == {None}


def test_store_without_documents_needs_a_corpus_version(store: Store) -> None:
    with pytest.raises(StoreError, match=r"no documents yet.* such as --corpus prod"):
        promote(store)
    assert promote(store, corpus_ver="v9").item.source_corpus_ver == "v9"


# Claims.


def test_without_passages_nothing_is_called_wrong(golden: Store) -> None:
    done = promote(golden, change(passages=None))
    [claim] = done.claims
    assert (claim.wrong, claim.verdict, claim.reason) == (None, None, "no_contexts")
    assert any("no claim was judged" in warning for warning in done.warnings)


class Counting(ExactVerifier):
    """Notes what it is asked to judge."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        self.asked += [claim.wording for claim in claims]
        return super().judge_answer(claims, request)


def test_what_an_answer_repeats_is_judged_once(golden: Store) -> None:
    """An answer that is a log may say the same thousands of times."""
    verifier = Counting()
    said = ["A ride in the balloon costs 80 euros.", "Dogs may ride. [1]", "Dogs may ride. [2]"]
    trace = change(answer="\n\n".join(said * 500))
    choice = ItemChoice(item_id="balloon", answerable=True)
    done = promote_trace(golden, trace, choice, who="ana", verifier=verifier)
    assert sorted(verifier.asked) == [said[0], "Dogs may ride.", "Dogs may ride."]
    assert [claim.claim_text for claim in done.claims] == [
        said[0], "Dogs may ride.", "Dogs may ride."
    ] * 500  # fmt: skip
    assert [claim.verdict for claim in done.claims] == ["supported", "unlinked", "unlinked"] * 500


class Looking(Counting):
    """Looks at the answer where a claim stands, and hears what it cites and speaks of."""

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        verdicts, warnings = super().judge_answer(claims, request)
        for claim in claims:
            assert request.answer[claim.start : claim.end] == claim.text
            assert all(request.answer[m.start : m.end] == m.text for m in claim.marks)
        told = [f"{c.wording} {c.antecedent} {[m.target for m in c.marks]}" for c in claims]
        return [replace(v, reason=why) for v, why in zip(verdicts, told, strict=True)], warnings


SAID = (
    "A ride in the balloon costs 80 euros. It takes an hour.", "The museum is free.",
    "The museum is free. It takes an hour.", "Dogs may ride. [1]", "Dogs may ride. [2]",
    "It takes an hour.", "I think so.", "This is unjudgeable.",
)  # fmt: skip


@given(said=st.lists(st.sampled_from(SAID), min_size=1, max_size=12))
def test_judging_once_is_judging_each(said: list[str]) -> None:
    """What stands twice but speaks of something else or cites another source is not the same."""
    trace = change(answer=" ".join(said))
    sources = tuple(
        Source(source_id=f"s{n}", corpus_ver="v1", source_text=text)
        for n, text in enumerate(("Dogs may ride.", "The museum is free."))
    )
    request = CheckRequest(answer=trace.answer, sources=sources, question=trace.question)
    each, _ = judge_pieces(split_request(request), request, Looking())
    evidence = promotion._Evidence([], [], sources, [])
    once = promotion._judge(trace, evidence, Looking(), None)
    assert once == [promotion._take_verdict(verdict, "verifier:exact-1") for verdict in each]


def test_a_person_says_which_claim_was_wrong(golden: Store) -> None:
    trace = change(answer="The ride costs 80 euros. It takes an hour.")
    done = promote(golden, trace, wrong=("it takes an HOUR",))
    assert [(claim.wrong, claim.labeler) for claim in done.claims][-1] == (True, "ana")
    assert done.claims[-1].reason == "named as wrong"


def test_wrong_words_that_no_claim_has_are_refused(golden: Store) -> None:
    message = refusal(golden, wrong=("the moon",))
    assert "found --wrong 'the moon', expected words of one of its claims" in message


# Answers of the store.


def test_stored_answer_brings_labels_item_and_spans(golden: Store) -> None:
    stored = find_answer(golden, "r/height")
    assert stored is not None
    done = promote(golden, make_trace(stored), "tower-height", answerable=None, stored=stored)
    assert (done.item.stakes, done.item.gold_answer, done.state) == ("low", "139 m", "ready")
    assert done.incident.place == "r/height/0"
    assert [(c.wrong, c.labeler) for c in done.claims] == [(True, "ana"), (False, "verifier:v1")]
    [copied] = done.warnings
    assert "the question of item height is now asked twice" in copied
    assert "--as height would have filed" in copied
    # One claim is labelled by a person, the other is supported: nobody has to look again.
    assert done.queued == 0


@pytest.mark.each_engine
def test_unlabelled_claims_of_a_stored_answer_wait_for_a_person(golden: Store) -> None:
    load(golden, run("r3"), answer("height", "It is blue.", run_id="r3"))
    stored = find_answer(golden, "r3/height/0")
    assert stored is not None
    done = promote(golden, make_trace(stored), "height", answerable=None, stored=stored)
    assert [(c.wrong, c.reason) for c in done.claims] == [(None, "no_label")]
    [entry] = list_queue(golden)
    assert (entry.task, entry.run_id, entry.item_id) == ("label", "r3", "height")
    load(golden, label("height", "It is blue.", "unlinked", run_id="r3"))
    assert list_queue(golden) == []


def test_answers_are_found_by_name(golden: Store) -> None:
    load(golden, run("a/b"), answer("height", "x.", run_id="a/b", sample=2))
    assert find_answer(golden, "a/b/height") is None
    found = find_answer(golden, "a/b/height/2")
    assert found is not None
    assert (found.run.run_id, found.sample, found.contexts) == ("a/b", 2, None)
    load(golden, run("f"), answer("height", run_id="f", answer_text=None, failure="timeout"))
    with pytest.raises(StoreError, match="failed and has no answer"):
        find_answer(golden, "f/height")


# What must be said.


def test_whether_it_can_be_answered_must_be_said(golden: Store) -> None:
    message = refusal(golden, answerable=None)
    assert "expected --answerable or --unanswerable" in message


def test_unknown_query_type_is_refused(golden: Store) -> None:
    assert "--query-type 'riddle', expected one of lookup" in refusal(golden, query_type="riddle")


def test_ids_keep_their_limits(golden: Store) -> None:
    message = refusal(golden, item_id="x" * 201)
    assert "items item_id: " in message
    assert "expected text of 1 to 200 characters" in message
    assert "expected text of 1 to 200" in refusal(golden, item_id="")
    address = "https://example.org/" + "x" * 300
    done = promote(golden, change(passages=(Passage(source_id=address, text=PASSAGE),)))
    assert done.added_documents[0].startswith("document:")


def test_queue_entries_name_a_claim_or_an_item() -> None:
    base: dict[str, Any] = {"entry_id": "w", "item_id": "q", "reason": "x",
                            "added_at": datetime(2026, 1, 1, tzinfo=UTC)}  # fmt: skip
    with pytest.raises(ValueError, match="go with the task label"):
        QueueEntry(**base, task="label")
    with pytest.raises(ValueError, match="go with the task label"):
        QueueEntry(**base, task="gold_spans", run_id="r", claim_id="c")
