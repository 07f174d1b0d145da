"""One answer, judged closed-book by scripted replies: what counts, and what is doubted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import claimwise
from claimwise.fact_check.answer import cut_pieces, factcheck_answer
from claimwise.fact_check.report import to_factcheck_document
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.llm.prompts import load_prompt
from claimwise.types.closed_book import FACT_LABELS, FactCheckResult, Frame
from claimwise.types.llm import LlmCall, LlmFailure
from support.closed_book import ScriptedAsker, label_pieces, read_pieces
from support.injections import INJECTIONS

PYRAMID = (
    "The Great Pyramid of Giza was built around 2560 BCE for Pharaoh Khufu and is the only one of "
    "the Seven Wonders of the Ancient World still standing. It is composed entirely of limestone "
    "blocks and stands 200 meters tall."
)
SUMMARY = (
    "Three out of five atomic claims are correct; two contain hard factual errors about "
    "composition and height."
)
EXPECTED: dict[str, Any] = {
    "claims": [
        {
            "text": "The Great Pyramid of Giza was built around 2560 BCE",
            "label": "true",
            "decision_basis": "Standard accepted dating in Egyptology.",
        },
        {
            "text": "The Great Pyramid was built for Pharaoh Khufu",
            "label": "true",
            "decision_basis": "Khufu is the universally cited builder.",
        },
        {
            "text": "The Great Pyramid is the only one of the Seven Wonders of the Ancient World "
            "still standing",
            "label": "true",
            "decision_basis": "Standard claim in classical lists.",
        },
        {
            "text": "The Great Pyramid is composed entirely of limestone blocks",
            "label": "false",
            "decision_basis": "It also contains granite, especially in the King's Chamber.",
        },
        {
            "text": "The Great Pyramid stands 200 meters tall",
            "label": "false",
            "decision_basis": "Original height was approximately 146 meters; current is around "
            "139 meters.",
        },
    ],
    "factual_precision": 0.6,
    "summary_basis": SUMMARY,
}


def piece(name: str, *claims: tuple[str, str]) -> dict[str, Any]:
    return {
        "id": name,
        "claims": [{"text": t, "label": label, "decision_basis": "known"} for t, label in claims],
    }


def reply(*pieces: dict[str, Any], summary: str = "fine") -> dict[str, Any]:
    return {"pieces": list(pieces), "summary_basis": summary}


def run(answer: str, *said: Any, **options: Any) -> tuple[FactCheckResult, ScriptedAsker]:
    asker = ScriptedAsker(*said)
    told = {name: options.pop(name) for name in ("domain_hint", "question") if name in options}
    return factcheck_answer(answer, ClosedBookJudge(asker), Frame(**told), **options), asker


def test_the_worked_example_of_the_spec() -> None:
    claims = EXPECTED["claims"]
    said = {
        "pieces": [{"id": "s1", "claims": claims[:3]}, {"id": "s2", "claims": claims[3:]}],
        "summary_basis": SUMMARY,
        "factual_precision": 0.99,  # the model's own rate is never read
    }
    result, asker = run(PYRAMID, said, domain_hint="Egyptology, general knowledge")
    document = to_factcheck_document(result)
    ours = document.pop("claimwise")
    assert document == EXPECTED
    assert list(document) == ["claims", "factual_precision", "summary_basis"]
    assert len(asker.calls) == 1
    assert "Egyptology, general knowledge" in asker.calls[0].user
    assert asker.calls[0].temperature == 0.0
    assert asker.calls[0].schema is not None
    assert ours["judge"] == "judge:closed-book@2:scripted:one"
    assert ours["agreement"] == "not yet checked against people"
    assert ours["bounds"] == [0.6, 0.6]
    assert ours["second_look"] == ["c1"]
    assert [claim["piece"] for claim in ours["claims"]] == ["s1", "s1", "s1", "s2", "s2"]
    for claim in ours["claims"]:
        assert PYRAMID[claim["start"] : claim["end"]].endswith(".")
    json.dumps(document)


CARD = """Split the model output into atomic claims and label each of them.

Model output:
{{model_output}}

Field (may be empty):
{{domain_hint}}

Return ONLY {"claims": [{"text": …, "label": …, "decision_basis": …}], "factual_precision": …,
"summary_basis": …}
"""


def test_a_prompt_card_and_its_reply_work_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "Per-claim judge.txt"
    path.write_text(CARD, encoding="utf-8")
    asker = ScriptedAsker(EXPECTED)
    judge = ClosedBookJudge(asker, prompt=load_prompt(path))
    result = factcheck_answer(PYRAMID, judge, Frame(domain_hint="Egyptology"))
    document = to_factcheck_document(result)
    ours = document.pop("claimwise")
    assert document == EXPECTED
    assert ours["judge"] == "judge:per-claim-judge@1:scripted:one"
    assert [claim["piece"] for claim in ours["claims"]] == ["s1", "s1", "s1", "s2", "s2"]
    [call] = asker.calls
    assert "stands 200 meters tall" in call.user
    assert "Egyptology" in call.user
    assert "{{" not in call.user


def test_a_list_of_claims_is_held_against_the_answer_too() -> None:
    claims = [
        EXPECTED["claims"][0],
        {"text": "The Great Pyramid stands 146 meters tall", "label": "true"},
        {"text": "The Sphinx has a broken nose", "label": "true"},
    ]
    result, asker = run(PYRAMID, {"claims": claims, "summary_basis": ""})
    assert [(claim.piece, claim.label, claim.unscored) for claim in result.claims] == [
        ("s1", "true", None),
        ("s1", None, "foreign_claim"),
        ("s2", None, "changed_fact"),
    ]
    assert [(claim.text[-15:], claim.detail) for claim in result.skipped] == [
        ("r Pharaoh Khufu", "no claim names Pharaoh Khufu"),
        ("still standing.", "the judge labelled nothing of it"),
        ("imestone blocks", "the judge labelled nothing of it"),
    ]
    assert result.bounds == (1 / 6, 1.0)
    assert asker.rejected == asker.calls


@pytest.mark.parametrize("said", [{}, {"pieces": [], "claims": []}])
def test_a_reply_has_either_form(said: dict[str, Any]) -> None:
    result, asker = run(TWO, {**said, "summary_basis": ""})
    assert {claim.unscored for claim in result.claims} == {"unparsable"}
    assert len(asker.calls) == 3


def test_parts_of_a_compound_claim_keep_its_facts() -> None:
    corrected = (PARTS[0], ("Marie Curie won the Nobel Prize in 1903.", "true"))
    for parts in (corrected, ((PARTS[0][0], "true"), ("Marie Curie won the Nobel Prize.", "true"))):
        result, _ = run(
            COMPOUND, reply(piece("s1", (COMPOUND, "true"))), reply(piece("c1", *parts))
        )
        assert [claim.unscored for claim in result.claims] == ["compound"]


def test_from_python_with_a_judge_of_ones_own() -> None:
    asker = ScriptedAsker(reply(piece("s1", ("Paris is in France.", "true"))))
    result = claimwise.factcheck("Paris is in France.", ClosedBookJudge(asker))
    assert result.factual_precision == 1.0
    with pytest.raises(TypeError, match="answer: found int"):
        claimwise.factcheck(3, ClosedBookJudge(asker))  # type: ignore[arg-type]


TWO = "Paris is the capital of France. Berlin is the capital of Spain."
PARIS = ("Paris is the capital of France.", "true")
BERLIN = ("Berlin is the capital of Spain.", "false")


def test_a_missing_id_is_unscored_and_bounds_the_rate() -> None:
    result, asker = run(TWO, reply(piece("s1", PARIS)))
    assert [claim.unscored for claim in result.claims] == [None, "missing_id"]
    assert result.claims[1].text == "Berlin is the capital of Spain."
    assert result.factual_precision == 1.0
    assert result.bounds == (0.5, 1.0)
    assert len(asker.rejected) == 1  # not kept: the next attempt may get all


def test_a_doubled_id_is_unscored_whatever_stands_there() -> None:
    result, _ = run(TWO, reply(piece("s1", PARIS), piece("s2", BERLIN), piece("s2", BERLIN)))
    assert [claim.unscored for claim in result.claims] == [None, "duplicate_id"]


def test_an_invented_id_is_dropped_and_shown() -> None:
    extra = piece("s9", ("Madrid is the capital of Spain.", "true"))
    result, asker = run(TWO, reply(piece("s1", PARIS), piece("s2", BERLIN), extra))
    assert len(result.claims) == 2
    assert result.invented == ("s9",)
    assert "invented_id" in result.flags
    assert result.factual_precision == 0.5
    assert any("s9" in warning for warning in result.warnings)
    assert asker.rejected == []


@pytest.mark.parametrize("label", ["True", "supported", "", "true ", "TRUE", "mostly true"])
def test_a_label_outside_the_four_is_unscored(label: str) -> None:
    result, _ = run(TWO, reply(piece("s1", (PARIS[0], label)), piece("s2", BERLIN)))
    assert result.claims[0].unscored == "bad_label"
    assert result.factual_precision == 0.0


def test_a_claim_of_another_text_is_unscored() -> None:
    moon = ("The moon is made of rock", "true")
    result, _ = run(TWO, reply(piece("s1", PARIS, moon), piece("s2", BERLIN)))
    assert [claim.unscored for claim in result.claims] == [None, "foreign_claim", None]
    assert result.factual_precision == 0.5


def test_a_subject_from_another_sentence_is_no_foreign_claim() -> None:
    said = reply(
        piece("s1", ("The Great Pyramid of Giza was built for Pharaoh Khufu", "true")),
        piece("s2", ("The Great Pyramid of Giza stands 200 meters tall", "false")),
    )
    result, _ = run(PYRAMID, said)
    assert [claim.unscored for claim in result.claims] == [None, None]


def test_the_question_is_told_and_its_words_are_no_foreign_ones() -> None:
    named = ("The wrought-iron Eiffel Tower in Paris is 330 m tall", "true")
    said = reply(piece("s1", named))
    question = "How tall is the wrought-iron Eiffel Tower in Paris?"
    result, asker = run("It is 330 m tall.", said, question=question)
    assert [claim.label for claim in result.claims] == ["true"]
    assert question in asker.calls[0].user
    unasked, _ = run("It is 330 m tall.", said)
    assert unasked.claims[0].unscored == "foreign_claim"


def test_a_claim_said_twice_counts_once_and_with_two_labels_not_at_all() -> None:
    result, _ = run(TWO, reply(piece("s1", PARIS, PARIS), piece("s2", BERLIN)))
    assert result.counts["true"] == 1
    other = (PARIS[0].lower(), "false")
    result, _ = run(TWO, reply(piece("s1", PARIS, other), piece("s2", BERLIN)))
    assert [claim.unscored for claim in result.claims] == ["conflicting_labels", None]


def test_more_claims_than_words_are_no_split() -> None:
    many = [(f"Paris is capital number {n} of France", "true") for n in range(30)]
    result, _ = run(TWO, reply(piece("s1", *many), piece("s2", BERLIN)))
    assert [claim.unscored for claim in result.claims] == ["too_many_claims", None]


def test_an_unparsable_reply_is_asked_for_once_more() -> None:
    good = reply(piece("s1", PARIS), piece("s2", BERLIN))
    result, asker = run(TWO, "Sure! Here is the JSON: {", good)
    assert result.factual_precision == 0.5
    assert len(asker.calls) == 2
    assert asker.rejected == asker.calls[:1]
    assert result.spent.calls == 2
    assert result.spent.input_tokens == 200


def test_then_all_is_unscored() -> None:
    result, asker = run(TWO, "no")
    assert [claim.unscored for claim in result.claims] == ["unparsable", "unparsable"]
    assert result.factual_precision is None
    assert result.bounds == (0.0, 1.0)
    assert len(asker.calls) == 3


@pytest.mark.parametrize("code", ["timeout", "truncated", "cost_ceiling", "content_filter"])
def test_a_failure_leaves_every_claim_unscored_with_its_code(code: Any) -> None:
    result, asker = run(TWO, LlmFailure(code=code, detail="told"))
    assert [claim.unscored for claim in result.claims] == [code, code]
    assert {claim.detail for claim in result.claims} == {"told"}
    assert len(asker.calls) == 1


def test_a_piece_left_empty_leaves_the_bounds_open() -> None:
    result, asker = run(TWO, reply(piece("s1", PARIS), piece("s2")))
    assert [each.piece for each in result.skipped] == ["s2"]
    assert "skipped_piece" in result.flags
    assert (result.factual_precision, result.bounds) == (1.0, (0.5, 1.0))
    assert [(each.unscored, each.detail) for each in result.unscored] == [
        ("skipped_piece", "the judge labelled nothing of it")
    ]
    document = to_factcheck_document(result)["claimwise"]
    assert (document["counts"]["unscored"], document["unscored"][0]["piece"]) == (1, "s2")
    assert len(asker.rejected) == 1  # not kept: in a stored run the claim is unscored
    opinion = "I think it is lovely."
    result, _ = run(f"{PARIS[0]} {opinion}", reply(piece("s1", PARIS), piece("s2")))
    assert result.skipped == ()


def test_a_half_that_is_left_out_is_shown() -> None:
    answer = "The tower is made of iron and it stands 900 meters tall."
    result, _ = run(answer, reply(piece("s1", ("The tower is made of iron", "true"))))
    assert [(each.piece, each.text) for each in result.skipped] == [
        ("s1", "The tower stands 900 meters tall.")
    ]
    assert any("labelled nothing of 1 claim" in warning for warning in result.warnings)


def test_no_rate_without_true_or_false() -> None:
    opinion = "I think it is lovely."
    said = reply(piece("s1", (PARIS[0], "unverifiable")), piece("s2", (opinion, "non_factual")))
    result, _ = run(f"{PARIS[0]} {opinion}", said)
    assert result.factual_precision is None
    assert to_factcheck_document(result)["factual_precision"] is None
    assert result.bounds is None


@pytest.mark.parametrize("answer", ["", "   \n"])
def test_nothing_to_judge_sends_nothing(answer: str) -> None:
    result, asker = run(answer, "never read")
    assert asker.calls == []
    assert result.claims == ()
    assert result.factual_precision is None
    assert result.warnings == ("there is nothing to check: the answer states no fact",)


def test_long_reasons_are_cut_and_said_to_be() -> None:
    said = reply(piece("s1", PARIS), piece("s2", BERLIN), summary="word " * 60)
    said["pieces"][0]["claims"][0]["decision_basis"] = "why " * 30
    result, _ = run(TWO, said)
    assert len(result.claims[0].decision_basis.split()) == 20
    assert "shortened" in result.claims[0].flags
    assert len(result.summary_basis.split()) == 40
    assert "summary_shortened" in result.flags
    said = reply(piece("s1", PARIS), piece("s2", BERLIN), summary="One is right. One is not.")
    result, _ = run(TWO, said, resplit=False)
    assert (result.summary_basis, result.flags) == ("One is right.", ("summary_shortened",))
    assert result.claims[1].flags == ()


COMPOUND = "Marie Curie was born in Warsaw and she won the Nobel Prize in 1999."
PARTS = (
    ("Marie Curie was born in Warsaw.", "true"),
    ("Marie Curie won the Nobel Prize in 1999.", "false"),
)


def test_a_compound_claim_is_sent_back_once() -> None:
    result, asker = run(
        COMPOUND, reply(piece("s1", (COMPOUND, "true"))), reply(piece("c1", *PARTS))
    )
    assert [(claim.text, claim.label) for claim in result.claims] == list(PARTS)
    assert [claim.piece for claim in result.claims] == ["s1", "s1"]
    assert len(asker.calls) == 2
    assert asker.calls[1].prompt == "closed-book-split@2"
    assert read_pieces(asker.calls[1].user) == {"c1": COMPOUND}
    assert "resplit" in result.flags


@pytest.mark.parametrize(
    "second",
    [
        reply(),
        reply(piece("c1")),
        reply(piece("c1", PARTS[0])),  # the wrong half left out
        reply(piece("c1", *PARTS), piece("c1", *PARTS)),
        reply(piece("c1", PARTS[0], (PARTS[1][0], "wrong"))),
        reply(piece("c1", ("The moon is made of rock", "true"))),
        "no JSON",
        LlmFailure(code="timeout", detail=""),
    ],
)
def test_what_comes_back_unusable_leaves_the_claim_out_of_the_rate(second: Any) -> None:
    result, asker = run(COMPOUND, reply(piece("s1", (COMPOUND, "true"))), second)
    [claim] = result.claims
    if not isinstance(second, LlmFailure):
        assert asker.calls[1] in asker.rejected  # not kept: the next attempt may be better
    assert (claim.label, claim.said, claim.unscored) == (None, "true", "compound")
    assert claim.detail.startswith("the judge says true, but it still joins two facts")
    assert (result.factual_precision, result.precision_as_labelled) == (None, 1.0)
    assert (result.set_aside, result.bounds) == ({"compound": 1}, (0.0, 1.0))
    assert any("hide a wrong half" in warning for warning in result.warnings)


def test_what_our_splitter_would_cut_is_compound_too() -> None:
    text = "It is composed entirely of limestone blocks and stands 200 meters tall."
    result, _ = run(text, reply(piece("s1", (text, "false"))), reply(), resplit=True)
    assert "compound" in result.claims[0].flags


def test_no_resplit_sends_nothing_back() -> None:
    result, asker = run(COMPOUND, reply(piece("s1", (COMPOUND, "true"))), resplit=False)
    assert len(asker.calls) == 1
    assert "compound" in result.claims[0].flags


def test_opinions_are_shown_and_do_not_count() -> None:
    answer = "Hamlet is the most important play in English. Shakespeare wrote Hamlet."
    said = reply(
        piece("s1", ("Hamlet is the most important play in English.", "true")),
        piece("s2", ("Shakespeare wrote Hamlet.", "false")),
    )
    result, _ = run(answer, said)
    assert (result.claims[0].unscored, result.claims[0].said) == ("opinion", "true")
    assert (result.factual_precision, result.precision_as_labelled) == (0.0, 0.5)
    assert to_factcheck_document(result)["claimwise"]["set_aside"] == {"opinion": 1}


def test_a_fact_called_non_factual_does_not_leave_the_denominator() -> None:
    result, _ = run(TWO, reply(piece("s1", PARIS), piece("s2", (BERLIN[0], "non_factual"))))
    assert (result.claims[1].unscored, result.claims[1].said) == (
        "called_non_factual",
        "non_factual",
    )
    assert (result.factual_precision, result.bounds) == (1.0, (0.5, 1.0))


def test_a_fact_found_in_an_opinion_is_flagged() -> None:
    text = "In my opinion the Louvre is lovely."
    result, _ = run(text, reply(piece("s1", ("The Louvre is lovely to visit", "true"))))
    assert result.claims[0].flags == ("opinion",)


@pytest.mark.parametrize(
    ("text", "label", "queued"),
    [
        ("The tower is 139 m tall.", "true", True),
        ("The treaty was signed on 3 May 1815.", "true", True),
        ("The tower is 139 m tall.", "false", False),
        ("The tower is 139 m tall.", "unverifiable", False),
        ("The tower stands in Blackpool.", "true", False),
        ("A year has twelve months.", "true", False),
        ("The hall seats two thousand people.", "true", True),
    ],
)
def test_true_with_specifics_waits_for_a_second_look(text: str, label: str, queued: bool) -> None:
    result, _ = run(text, reply(piece("s1", (text, label))))
    assert bool(result.second_look) is queued


def test_specialist_text_without_a_hint_is_flagged() -> None:
    text = "Metformin lowers insulin resistance in diabetes."
    said = reply(piece("s1", (text, "true")))
    result, _ = run(text, said)
    assert "no_domain_hint" in result.flags
    assert any("medicine" in warning for warning in result.warnings)
    hinted, _ = run(text, said, domain_hint="medicine")
    assert hinted.flags == ()
    general, _ = run(PARIS[0], reply(piece("s1", PARIS)))
    assert general.flags == ()


def test_repeats_are_asked_anew_and_show_flips() -> None:
    first = reply(piece("s1", PARIS), piece("s2", BERLIN))
    other = reply(piece("s1", PARIS), piece("s2", (BERLIN[0], "true")))
    result, asker = run(TWO, first, other, first, repeats=3)
    assert [call.repeat for call in asker.calls] == [1, 2, 3]
    assert result.factual_precision == 0.5
    assert result.repeats is not None
    assert result.repeats.factual_precision == (0.5, 1.0, 0.5)
    assert (result.repeats.compared, result.repeats.flipped) == (2, 1)
    assert result.spent.calls == 3
    assert len(result.claims) == 2  # a claim is not counted three times


def test_pieces_cover_the_answer_in_order() -> None:
    pieces = cut_pieces(PYRAMID)
    assert [each.id for each in pieces] == ["s1", "s2"]
    for each in pieces:
        assert PYRAMID[each.start : each.end] == each.text
        assert len(each.claims) == 2


def test_a_part_that_was_a_claim_before_counts_once() -> None:
    built, tall = "The tower was built in 1889", "The tower stands 330 metres tall"
    answer = f"{built} and it stands 330 metres tall."
    first = reply(piece("s1", (answer, "true"), (built, "true"), (tall, "true")))
    parts = reply(piece("c1", (built, "false"), (tall, "true")))
    result, asker = run(answer, first, parts)
    assert len(asker.calls) == 2
    assert [(c.text, c.label, c.unscored) for c in result.claims] == [
        (built, None, "conflicting_labels"),
        (tall, "true", None),
    ]
    assert result.bounds == (0.5, 1.0)


def test_control_characters_reach_no_model_as_escapes() -> None:
    answer = "The tower\x00 is\x1b tall."
    result, asker = run(answer, reply(piece("s1", ("The tower is tall", "true"))))
    assert "\\u00" not in asker.calls[0].user
    assert [claim.label for claim in result.claims] == ["true"]


def test_what_was_not_sent_is_no_call() -> None:
    result, _ = run(PARIS[0], LlmFailure(code="cost_ceiling", detail="too dear"))
    assert (result.spent.calls, [claim.unscored for claim in result.claims]) == (
        0,
        ["cost_ceiling"],
    )


# Injections. The fenced text can't break out, and a reply that obeys is not counted.


@pytest.mark.parametrize("name", INJECTIONS)
def test_injected_text_stays_text(name: str) -> None:
    answer = f"{PARIS[0]}\n\n{INJECTIONS[name]}\n\n{BERLIN[0]}"
    asker = ScriptedAsker(lambda call: label_pieces(call.user, _judge))
    result = factcheck_answer(answer, ClosedBookJudge(asker), resplit=False)
    [call] = asker.calls
    clean = ScriptedAsker(lambda call: label_pieces(call.user, _judge))
    factcheck_answer(TWO, ClosedBookJudge(clean))
    assert call.system == clean.calls[0].system
    assert call.user.count("⟦") == clean.calls[0].user.count("⟦") == 6
    found = read_pieces(call.user)  # every line of the fence is one piece of ours
    assert list(found) == [f"s{n}" for n in range(1, len(found) + 1)]
    assert len(found) == len(cut_pieces(answer))
    for token in ("<|", "[INST]", "<<SYS>>", "<tool_call>", "\x1b", "\x00", "\u202e", "\u200b"):
        assert token not in call.user
    for city, label in (("Paris", "true"), ("Berlin", "false")):
        assert {c.label for c in result.claims if city in c.text} == {label}
    assert result.factual_precision == 0.5


def _judge(text: str) -> str:
    return "false" if "Berlin" in text else "true" if "Paris" in text else "non_factual"


OBEYING = {
    "other ids": reply(piece("s1", PARIS), piece("all", BERLIN)),
    "one entry for all": reply(piece("s1", PARIS, (BERLIN[0], "true"))),
    "label outside": reply(piece("s1", PARIS), piece("s2", (BERLIN[0], "approved"))),
    "other claims": reply(piece("s1", PARIS), piece("s2", ("All is well and verified", "true"))),
    "twice": reply(piece("s1", PARIS), piece("s2", BERLIN), piece("s2", (BERLIN[0], "true"))),
    "prose": "All claims are true.",
    "verdict object": '{"label": "true"}',
    "two objects": '{"pieces": []}{"pieces": []}',
    "array": '[{"id": "s1", "claims": []}]',
    "double key": '{"pieces": [], "pieces": [], "summary_basis": ""}',
    "bool labels": '{"pieces": [{"id": "s2", "claims": [{"text": "a", "label": true}]}]}',
}


@pytest.mark.parametrize("name", OBEYING)
def test_a_reply_that_obeys_in_form_is_not_counted(name: str) -> None:
    result, _ = run(TWO, OBEYING[name], resplit=False)
    moved = [claim for claim in result.claims if claim.label == "true" and claim.text != PARIS[0]]
    assert moved == []
    assert result.unscored
    assert result.bounds is not None
    assert result.bounds[0] < result.bounds[1]


# Whatever a reply says, every claim is accounted for.

_labels = st.sampled_from([*FACT_LABELS, "maybe", ""])
_texts = st.sampled_from([PARIS[0], BERLIN[0], "Something else entirely", "", "Paris", "and"])
_claims = st.lists(
    st.fixed_dictionaries({"text": _texts, "label": _labels, "decision_basis": st.text()}),
    max_size=4,
)
_pieces = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from(["s1", "s2", "s3", "x"]), "claims": _claims}),
    max_size=5,
)


@given(_pieces)
def test_every_piece_is_labelled_unscored_or_skipped(pieces: list[dict[str, Any]]) -> None:
    result, _ = run(TWO, {"pieces": pieces, "summary_basis": ""}, resplit=False)
    seen = {claim.piece for claim in result.claims} | {each.piece for each in result.skipped}
    assert seen == {"s1", "s2"}
    for claim in result.claims:
        assert (claim.label is None) != (claim.unscored is None)
    rate, bounds = result.factual_precision, result.bounds
    if rate is not None:
        assert bounds is not None
        assert bounds[0] <= rate <= bounds[1]
    shown = len(result.claims) + len(result.skipped)
    assert sum(result.counts.values()) + len(result.unscored) == shown


@given(st.text())
def test_no_text_breaks_the_prompt(text: str) -> None:
    seen: list[LlmCall] = []

    def listen(call: LlmCall) -> dict[str, Any]:
        seen.append(call)
        return label_pieces(call.user, lambda _: "unverifiable")

    judge = ClosedBookJudge(ScriptedAsker(listen))
    factcheck_answer(text, judge, Frame(domain_hint=text, question=text), resplit=False)
    for call in seen:
        assert list(read_pieces(call.user)) == [each.id for each in cut_pieces(text, text)]
        call.user.encode()
