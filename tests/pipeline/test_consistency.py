"""Several answers to one question: agreement, what is left out, and its measured accuracy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.consistency.compare import (
    compare_answers,
    compare_given,
    compare_run,
    consistency_accuracy,
    plan_comparisons,
)
from claimwise.consistency.values import CAUTION, GivenAnswer
from claimwise.errors import ClaimwiseError, StoreError
from claimwise.judges.grounded import GroundedJudge
from claimwise.metrics.accuracy import Resampling
from claimwise.store import Store
from claimwise.types.llm import LlmCall, LlmFailure
from pipeline.instruments import ExactVerifier
from small_data import answer, claim, item, label, load, run, source
from support.grounded_model import reply_to_call
from support.injections import INJECTIONS
from support.scripted import ScriptedAsker

TALL, TALLER, OPENED = "The tower is 139 m tall.", "The tower is 200 m tall.", "It opened in 1999."
HOW = Resampling(resamples=200)


def compare(*answers: str, verifier: Any = None) -> Any:
    return compare_answers(answers, verifier=verifier or ExactVerifier())


def test_agreement_is_the_share_of_other_answers_that_support_a_claim() -> None:
    result = compare(f"{TALL} The bridge is red.", TALL, TALLER)
    first, second, third = result.answers
    tall, red = first.claims
    assert (tall.agreement, tall.contradiction) == (0.5, 0.5)
    assert (red.agreement, red.contradiction) == (0.0, 0.0)
    assert first.agreement == 0.25
    assert second.agreement == 0.5
    assert (third.agreement, third.contradiction) == (0.0, 1.0)
    assert [other.answer for other in tall.others] == ["answer-2", "answer-3"]
    assert tall.others[0].span.source_id == "answer-2"
    assert result.caution == CAUTION
    assert result.verifier == "verifier:exact-1"


@given(
    st.lists(st.sampled_from([TALL, TALLER, OPENED, "Dogs may come in."]), min_size=2, max_size=5)
)
def test_shares_add_up_to_at_most_one_and_no_answer_is_its_own_witness(texts: list[str]) -> None:
    result = compare(*texts)
    assert len(result.answers) == len(texts)
    for answered in result.answers:
        for found in answered.claims:
            assert len(found.others) == len(texts) - 1
            assert answered.name not in {other.answer for other in found.others}
            assert 0 <= found.agreement + found.contradiction <= 1
            assert found.bounds == (found.agreement, found.agreement)


def test_the_order_of_answers_changes_nothing() -> None:
    texts = {"a": f"{TALL} {OPENED}", "b": TALLER, "c": TALL}
    one = compare_answers(texts, verifier=ExactVerifier())
    other = compare_answers(dict(reversed(texts.items())), verifier=ExactVerifier())
    assert {a.name: a.agreement for a in one.answers} == {
        a.name: a.agreement for a in other.answers
    }
    assert one.agreement == pytest.approx(other.agreement)


def test_failed_comparisons_are_counted_and_bounded() -> None:
    result = compare("The tower is unjudgeable. The bridge is red.", "The bridge is red.")
    lost, red = result.answers[0].claims
    assert lost.agreement is None
    assert lost.bounds == (0.0, 1.0)
    assert lost.others[0].unscored == "timeout"
    assert red.agreement == 1.0
    assert result.answers[0].agreement == 1.0  # the mean of what is known
    assert result.unscored == 1


def test_a_refusal_supports_nothing_and_has_no_agreement_of_its_own() -> None:
    result = compare(TALL, "I can't answer that.")
    assert result.answers[0].agreement == 0.0
    assert result.answers[1].agreement is None
    assert result.answers[1].claims == ()


def test_what_was_done_is_compared_by_its_words() -> None:
    result = compare("I have refunded your order 5512.", "I have refunded your order 5512. Bye!")
    assert result.answers[0].claims[0].agreement == 1.0


def test_answers_that_repeat_each_other_are_named() -> None:
    assert "repeat another word for word" in compare(TALL, TALL, TALLER).warnings[0]
    assert compare(TALL, TALLER).warnings == ()


def test_empty_answers_are_left_out_and_one_answer_is_refused() -> None:
    result = compare(TALL, " ", TALLER)
    assert len(result.answers) == 2
    assert result.warnings == ("answer answer-2 is empty: left out",)
    with pytest.raises(ClaimwiseError, match="at least two answers"):
        compare(TALL, "")
    with pytest.raises(TypeError, match="several answers"):
        compare_answers(TALL)


@pytest.mark.parametrize("text", INJECTIONS.values(), ids=INJECTIONS)
def test_a_hostile_answer_supports_nothing(text: str) -> None:
    result = compare("The bridge crosses the Odet.", text, verifier="lexical")
    assert result.answers[0].claims[0].agreement == 0.0


def test_a_judge_is_asked_once_for_every_ordered_pair() -> None:
    given = [GivenAnswer(name=str(n), text=text) for n, text in enumerate((TALL, TALLER, TALL))]
    asker = ScriptedAsker(reply_to_call)
    judge = GroundedJudge(asker)
    planned = plan_comparisons(given, judge)
    for threads in (1, 4):
        result = compare_given(given, judge, threads=threads)
        assert [a.agreement for a in result.answers] == [0.5, 0.0, 0.5]
        assert [a.contradiction for a in result.answers] == [0.5, 1.0, 0.5]
    assert len(planned) == 6
    # 0 against 1 and 2 against 1 are the same words: equal calls are paid once.
    assert {call.user for call in planned} == {call.user for call in asker.calls}


def test_a_judge_that_fails_leaves_agreement_unknown() -> None:
    def fail(call: LlmCall) -> LlmFailure:
        return LlmFailure(code="rate_limited", detail="429")

    result = compare_answers([TALL, TALLER], verifier=GroundedJudge(ScriptedAsker(fail)))
    assert result.agreement is None
    assert result.unscored == 2


# Stored runs


def sample(item_id: str, number: int, *texts: str) -> dict[str, Any]:
    return answer(
        item_id, *map(claim, texts), sample=number, answer_text=" ".join(texts) or "Who knows?"
    )


def fill(store: Store, items: int = 6) -> None:
    """Items where two samples of three agree; the odd one out is wrong, but in the first item."""
    rows: list[dict[str, Any]] = [source(), run()]
    for number in range(items):
        name = f"i{number}"
        right, wrong = (
            f"The tower is {100 + number} m tall.",
            f"The tower is {300 + number} m tall.",
        )
        rows += [
            item(name),
            sample(name, 0, right),
            sample(name, 1, right),
            sample(name, 2, wrong),
        ]
    load(store, *rows)


def say(store: Store, name: str, verdict: str, number: int, **more: Any) -> None:
    found = store.query(
        "select claim_id from claims where item_id = :item and sample = :sample",
        {"item": name, "sample": number},
    )
    load(store, {**label(name, "", verdict, claim_id=found[0][0], **more), "claim_text": None})


@pytest.mark.each_engine
def test_the_samples_of_a_run_are_compared_item_by_item(store: Store) -> None:
    fill(store)
    load(store, item("alone"), sample("alone", 0, "The tower is 5 m tall."))
    load(store, item("mute"), answer("mute", answer_text=None, failure="timeout", action="abstain"))
    found = compare_run(store, "r", ExactVerifier())
    assert len(found.items) == 6
    assert found.left_out == 2
    assert found.items["i0"].question == "How tall is it?"
    assert [a.agreement for a in found.items["i0"].answers] == [0.5, 0.5, 0.0]
    assert found.agreement == pytest.approx(1 / 3)
    assert found.accuracy == ()


def test_answers_that_nobody_split_are_split(store: Store) -> None:
    load(
        store,
        source(),
        run(),
        item("i"),
        answer("i", sample=0, answer_text=f"{TALL} {OPENED}"),
        answer("i", sample=1, answer_text=TALL),
    )
    found = compare_run(store, "r", ExactVerifier())
    assert [len(a.claims) for a in found.items["i"].answers] == [2, 1]
    assert store.query("select count(*) from claims") == [(0,)]


def test_a_run_without_samples_is_refused(store: Store) -> None:
    load(store, source(), run(), item("i"), answer("i", TALL))
    with pytest.raises(StoreError, match="run 'r' has one answer per item"):
        compare_run(store, "r", ExactVerifier())
    with pytest.raises(StoreError, match="Unknown run 'x'"):
        compare_run(store, "x", ExactVerifier())


@pytest.mark.each_engine
def test_accuracy_is_unknown_without_labels_of_people(store: Store) -> None:
    fill(store, 2)
    say(store, "i0", "supported", 0, labeler="verifier:x-1", label_kind="verifier")
    found = compare_run(store, "r", ExactVerifier())
    assert consistency_accuracy(store, found, HOW) == ()


@pytest.mark.each_engine
def test_accuracy_of_agreement_against_people(store: Store) -> None:
    """The odd one out is wrong in five items of six: AUC and balanced accuracy by hand."""
    fill(store)
    for number in range(6):
        name = f"i{number}"
        odd_is_right = number == 0
        say(store, name, "unlinked" if odd_is_right else "supported", 0)
        say(store, name, "supported" if odd_is_right else "contradicted", 2)
    found = compare_run(store, "r", ExactVerifier())
    (measured,) = consistency_accuracy(store, found, HOW)
    assert measured.labels == "grounded"
    own = measured.accuracy
    assert (own.n, own.groups, own.unscored) == (12, 6, 0)
    # Approved: 5 with 0.5, 1 with 0. Not approved: 5 with 0, 1 with 0.5.
    assert own.auc == pytest.approx((25 + 5 * 0.5 + 5 * 0.5) / 36)
    assert own.balanced_accuracy == pytest.approx(5 / 6)
    low, high = own.intervals["auc"] or (1.0, 0.0)
    assert low <= (own.auc or 0) <= high
    # Beside it, as always, counting words: all say nearly the same here.
    assert measured.baseline.n == 12
    assert own.difference is not None


@pytest.mark.each_engine
def test_closed_book_labels_are_measured_too(store: Store) -> None:
    fill(store, 3)
    for number in range(3):
        for sample_number, said in ((0, "true"), (2, "false"), (1, "unverifiable")):
            found = store.query(
                "select claim_id from claims where item_id = :item and sample = :sample",
                {"item": f"i{number}", "sample": sample_number},
            )
            load(
                store,
                {
                    "type": "closed_book_labels",
                    "run_id": "r",
                    "item_id": f"i{number}",
                    "claim_id": found[0][0],
                    "label": said,
                    "labeler": "ana",
                    "labeled_at": "2026-02-01T00:00:00Z",
                },
            )
    (measured,) = consistency_accuracy(store, compare_run(store, "r", ExactVerifier()), HOW)
    assert measured.labels == "closed_book"
    assert measured.accuracy.n == 6  # unverifiable is neither right nor wrong
    assert measured.accuracy.auc == 1.0
