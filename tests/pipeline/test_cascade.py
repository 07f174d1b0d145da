"""The cascade: where claims end, that none gets lost, and what each stage took."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.judges.corpus import Corpus
from claimwise.judges.grounded import GroundedJudge
from claimwise.judges.judge import load_verifier
from claimwise.openbook.cascade import cascade_answer, plan_cascade
from claimwise.types.corpus import STAGES, CascadeResult
from claimwise.types.llm import LlmCall, LlmFailure, Tally
from claimwise.types.rows import Source
from pipeline.instruments import ExactVerifier
from support.closed_book import ScriptedAsker, label_pieces
from support.grounded_model import reply_to_call

# What the corpus makes of each sentence.
SUPPORTED, CONTRADICTED = "The tower is 139 m tall.", "Entry costs 9 euros."
STALE, SILENT = "Dogs may come in.", "Zeppelins carried mail to Quito."
UNLINKED, UNJUDGEABLE = "The bridge crosses the tower.", "The bridge is unjudgeable."
OPINION = "The tower is the most important monument."
SENTENCES = (SUPPORTED, CONTRADICTED, STALE, SILENT, UNLINKED, UNJUDGEABLE, OPINION)

CORPUS = Corpus(
    [
        Source(source_id="tower", corpus_ver="-", source_text=f"{SUPPORTED} {OPINION}"),
        Source(
            source_id="bridge",
            corpus_ver="-",
            source_text="The bridge crosses the Odet. Entry costs 5 euros.",
        ),
        Source(source_id="old", corpus_ver="-", source_text=STALE, superseded_by="new"),
    ]
)
LABELS = ("true", "false", "unverifiable", "non_factual")


def judge_as(labels: dict[str, str]) -> ClosedBookJudge:
    def reply(call: LlmCall) -> dict[str, Any]:
        return label_pieces(call.user, lambda text: labels[text])

    return ClosedBookJudge(ScriptedAsker(reply))


def send(labels: dict[str, str]) -> CascadeResult:
    return cascade_answer(" ".join(labels), judge_as(labels), CORPUS, ExactVerifier())


def check_totals(result: CascadeResult) -> None:
    """Every claim of the first stage ends in exactly one place, and all counts follow from that."""
    first, second, people = result.stages
    assert [stage.stage for stage in result.stages] == list(STAGES)
    started = [*result.first.claims, *result.first.skipped]
    assert Counter(c.text for c in result.claims) == Counter(c.text for c in started)
    assert first.claims == len(started)
    assert first.decided + second.decided + len(result.queue) == first.claims
    for stage, following in itertools.pairwise(result.stages):
        assert stage.decided + stage.passed_on == stage.claims
        assert stage.passed_on == following.claims
    assert people.claims == people.passed_on == len(result.queue)
    for claim in result.claims:
        assert claim.why
        assert (claim.decided is None) == (claim.stage == "people")
        assert bool(claim.doubts) == (claim.corpus is not None)
        if claim.stage == "closed_book":
            assert claim.corpus is None or claim.label == "false"
        else:
            assert claim.corpus is not None
    for rate, bounds in (
        (result.precision, result.bounds),
        (result.first_precision, result.first_bounds),
    ):
        if rate is not None:
            assert bounds is not None
            assert 0 <= bounds[0] <= rate <= bounds[1] <= 1


@pytest.mark.parametrize(
    ("sentence", "label", "stage", "decided", "why"),
    [
        # The first stage is believed when it has no number in it, and not beyond that.
        (STALE, "true", "closed_book", "true", "known"),
        (OPINION, "non_factual", "closed_book", "non_factual", "known"),
        # A number: looked up, and settled where the two agree.
        (SUPPORTED, "true", "corpus", "true", "it stands there"),
        (CONTRADICTED, "false", "corpus", "false", "5 euros"),
        (SUPPORTED, "unverifiable", "corpus", "true", "it stands there"),
        (CONTRADICTED, "unverifiable", "corpus", "false", "5 euros"),
        # They disagree.
        (SUPPORTED, "false", "people", None, "the judge says false, the corpus says true"),
        (CONTRADICTED, "true", "people", None, "the judge says true, the corpus says false"),
        # The corpus is silent: the judge's “false” stands.
        (STALE, "false", "closed_book", "false", "the judge says false, and only a document that"),
        (SILENT, "false", "closed_book", "false", "the judge says false, and the corpus has no"),
        (UNLINKED, "false", "closed_book", "false", "neither supports nor contradicts"),
        (UNJUDGEABLE, "false", "people", None, "could not judge it: timeout"),
        (OPINION, "false", "people", None, "value judgement"),
        # Nothing settles it.
        (SILENT, "unverifiable", "people", None, "no passage"),
        (UNLINKED, "unverifiable", "people", None, "neither supports nor contradicts"),
        (UNJUDGEABLE, "unverifiable", "people", None, "could not judge it: timeout"),
        # That a document shares an opinion makes it no fact.
        (OPINION, "true", "people", None, "value judgement"),
    ],
)
def test_where_a_claim_ends(
    sentence: str, label: str, stage: str, decided: str | None, why: str
) -> None:
    result = send({sentence: label})
    (claim,) = result.claims
    assert (claim.stage, claim.decided) == (stage, decided)
    assert why in claim.why
    assert claim.label == label
    check_totals(result)


def test_a_silent_corpus_leaves_the_rate_of_the_judge_alone() -> None:
    """Three of five are true by the judge; a corpus about something else must not make it five."""
    names = ("Khufu", "Cheops", "Hemon")
    true = [f"{name} was a builder of the pyramid." for name in names]
    false = ["The pyramid is made of chalk.", "The pyramid is in Peru."]
    labels = dict.fromkeys(true, "true") | dict.fromkeys(false, "false")
    corpus = Corpus([Source(source_id="a", corpus_ver="-", source_text="Dogs may come in.")])
    result = cascade_answer(" ".join(labels), judge_as(labels), corpus, load_verifier("lexical"))
    assert (result.first_precision, result.precision) == (0.6, 0.6)


def test_documents_that_disagree_settle_nothing() -> None:
    corpus = Corpus(
        [
            Source(source_id="a", corpus_ver="-", source_text="A day ticket costs €21."),
            Source(source_id="b", corpus_ver="-", source_text="A day ticket costs €19."),
        ]
    )
    text = "A day ticket costs €21."
    result = cascade_answer(text, judge_as({text: "true"}), corpus, load_verifier("lexical"))
    assert result.claims[0].stage == "people"
    assert "disagree" in result.claims[0].why


@given(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=7, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries(
            {text: st.sampled_from([*LABELS, "missing", "bad"]) for text in chosen}
        )
    )
)
def test_no_claim_gets_lost_or_counted_twice(labels: dict[str, str]) -> None:
    def reply(call: LlmCall) -> dict[str, Any]:
        said = label_pieces(call.user, lambda text: labels[text])
        kept = [p for p in said["pieces"] if p["claims"][0]["label"] != "missing"]
        return {**said, "pieces": kept}

    judge = ClosedBookJudge(ScriptedAsker(reply))
    result = cascade_answer(" ".join(labels), judge, CORPUS, ExactVerifier())
    check_totals(result)
    # An opinion that the judge leaves out is no claim of ours either; all others are there.
    left_out = {OPINION} if labels.get(OPINION) == "missing" else set()
    assert {claim.text for claim in result.claims} >= labels.keys() - left_out


def test_a_judge_that_fails_hands_everything_to_the_corpus() -> None:
    asker = ScriptedAsker(LlmFailure(code="timeout", detail="no reply"))
    answer = f"{SUPPORTED} {SILENT}"
    result = cascade_answer(answer, ClosedBookJudge(asker), CORPUS, ExactVerifier())
    check_totals(result)
    assert [(c.stage, c.decided, c.doubts) for c in result.claims] == [
        ("corpus", "true", ("timeout",)),
        ("people", None, ("timeout",)),
    ]
    assert result.first_precision is None
    assert result.first_bounds == (0.0, 1.0)
    assert result.precision == 1.0
    assert result.bounds == (0.5, 1.0)


def test_claims_that_the_judge_skipped_are_not_lost() -> None:
    def reply(call: LlmCall) -> dict[str, Any]:
        said = label_pieces(call.user, lambda _: "true")
        said["pieces"][0]["claims"] = []
        return said

    judge = ClosedBookJudge(ScriptedAsker(reply))
    result = cascade_answer(f"{SUPPORTED} {STALE}", judge, CORPUS, ExactVerifier())
    check_totals(result)
    assert [(c.stage, c.doubts) for c in result.claims] == [
        ("corpus", ("skipped_piece",)),
        ("closed_book", ()),
    ]


def test_rates_stand_side_by_side_over_the_same_claims() -> None:
    result = send({SUPPORTED: "unverifiable", CONTRADICTED: "true", STALE: "true", SILENT: "false"})
    assert result.first_precision == pytest.approx(2 / 3)
    assert result.first_bounds == (0.5, 0.75)
    assert result.precision == pytest.approx(2 / 3)
    assert result.bounds == (0.5, 0.75)
    assert [claim.text for claim in result.queue] == [CONTRADICTED]


@pytest.mark.parametrize("answer", ["", "Hello!", "I like it."])
def test_an_answer_without_facts_has_no_rate(answer: str) -> None:
    asker = ScriptedAsker({"pieces": [{"id": "s1", "claims": []}], "summary_basis": ""})
    result = cascade_answer(answer, ClosedBookJudge(asker), CORPUS, ExactVerifier())
    assert result.claims == ()
    assert result.precision is None
    assert result.bounds is None
    check_totals(result)


def test_what_each_stage_took() -> None:
    """Two stages over one client: what it counts in between belongs to the second."""
    labels = {SUPPORTED: "true", STALE: "true"}

    def reply(call: LlmCall) -> dict[str, Any] | str:
        if call.prompt.startswith("closed-book"):
            return label_pieces(call.user, lambda text: labels[text])
        return reply_to_call(call)

    asker = ScriptedAsker(reply)

    def tally() -> Tally:
        sent = len(asker.calls)
        return Tally(sent=sent, input_tokens=100 * sent, output_tokens=10 * sent, cost=0.5 * sent)

    reader = GroundedJudge(asker)
    judge = ClosedBookJudge(asker)
    answer = " ".join(labels)
    result = cascade_answer(answer, judge, CORPUS, reader, tally=tally)
    check_totals(result)
    first, second, people = result.stages
    for stage in (first, second):
        assert (stage.calls, stage.input_tokens, stage.output_tokens) == (1, 100, 10)
        assert stage.cost == 0.5
        assert stage.seconds >= 0
    assert (people.calls, people.cost) == (0, 0.0)
    assert second.instrument == reader.labeler
    assert second.claims == 1
    # Planned as if all were suspicious: never fewer calls than were made.
    plan = plan_cascade(answer, judge, CORPUS, reader)
    assert plan[0] == asker.calls[0]
    assert len(plan) == 2
    assert plan_cascade(answer, judge, CORPUS, None) == asker.calls[:1]


def test_a_stage_that_sends_nothing_costs_nothing_at_an_unknown_price() -> None:
    judge = judge_as({SUPPORTED: "true"})
    asker = judge.client
    assert isinstance(asker, ScriptedAsker)
    result = cascade_answer(
        SUPPORTED, judge, CORPUS, ExactVerifier(), tally=lambda: Tally(sent=len(asker.calls))
    )
    assert [stage.cost for stage in result.stages] == [None, 0.0, 0.0]
