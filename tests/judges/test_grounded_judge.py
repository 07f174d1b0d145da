"""The grounded judge against scripted replies: every claim is accounted for, by the texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.judges.grounded import GroundedJudge, GroundedSettings
from claimwise.judges.judge import Splitter
from claimwise.llm.prompts import load_prompt
from claimwise.types.llm import LlmCall, LlmFailure
from claimwise.types.rows import ActionEntry, Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Mark
from judges.judged import make_claim, make_source
from support.injections import INJECTIONS
from support.scripted import Script, ScriptedAsker, read_fences

TOWER = "The tower is 139 m tall. Entry costs 5 euros. Dogs may come in."
TODAY = date(2024, 6, 1)


def entry(number: int, verdict: str = "supported", quote: str = "", **more: str) -> dict[str, Any]:
    return {"id": f"c{number}", "verdict": verdict, "quote": quote, "source": "d1",
            "exceeds": "", "basis": "the source says so", **more}  # fmt: skip


def reply(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"claims": list(entries)}


def request(*sources: Source | str, **more: Any) -> CheckRequest:
    given = [make_source(s, f"doc-{n}") if isinstance(s, str) else s for n, s in enumerate(sources)]
    return CheckRequest(answer="An answer.", sources=tuple(given), as_of=TODAY, **more)


def judge(
    claims: Sequence[str | AnswerClaim],
    said: dict[str, Any] | str | LlmFailure | Script,
    *sources: Source | str,
    settings: GroundedSettings | None = None,
    **more: Any,
) -> tuple[list[ClaimVerdict], list[str], ScriptedAsker]:
    asker = ScriptedAsker(said if callable(said) else lambda _: said)
    instrument = GroundedJudge(asker, settings or GroundedSettings())
    made = [make_claim(c) if isinstance(c, str) else c for c in claims]
    asked = request(*(sources or (TOWER,)), **more)
    verdicts, warnings = instrument.judge_answer(made, asked)
    assert [v.claim for v in verdicts] == made
    assert all((v.verdict is None) == (v.unscored is not None) for v in verdicts)
    for verdict in verdicts:
        if verdict.span is not None and verdict.claim.claim_type != "action":
            [source] = [s for s in asked.sources if s.source_id == verdict.span.source_id]
            start, end = verdict.span.start, verdict.span.end
            assert source.source_text[start:end] == verdict.span.text
    return verdicts, warnings, asker


def cite(text: str, *targets: str) -> AnswerClaim:
    marks = tuple(Mark(text=f"[{t}]", start=0, end=0, target=t) for t in targets)
    return AnswerClaim(text=text, start=0, end=len(text), wording=text, marks=marks)


def test_five_verdicts_with_their_spans() -> None:
    old = make_source("The lift was built in 1990 by Otis.", "old", valid_until=date(2020, 1, 1))
    claims = ["It is 139 m tall.", "Entry costs 9 euros.", "Entry costs 5 euros for children.",
              "Cats may come in.", "The lift was built in 1990."]  # fmt: skip
    said = reply(
        entry(1, quote="The tower is 139 m tall"),
        entry(2, "contradicted", "Entry costs 5 euros"),
        entry(3, "overreach", "Entry costs 5 euros", exceeds="for children"),
        entry(4, "unlinked"),
        entry(5, quote="The lift was built in 1990", source="d2"),
    )
    verdicts, warnings, asker = judge(claims, said, TOWER, old)
    assert [v.verdict for v in verdicts] == [
        "supported", "contradicted", "overreach", "unlinked", "stale",
    ]  # fmt: skip
    spans = [v.span and (v.span.source_id, v.span.start, v.span.text) for v in verdicts]
    assert spans == [
        ("doc-0", 0, "The tower is 139 m tall"),
        ("doc-0", 25, "Entry costs 5 euros"),
        ("doc-0", 25, "Entry costs 5 euros"),
        None,
        ("old", 0, "The lift was built in 1990"),
    ]
    assert verdicts[2].exceeds == "for children"
    assert "it held only until 2020-01-01" in verdicts[4].reason
    assert (warnings, len(asker.calls), asker.rejected) == ([], 1, 0)
    assert all(v.confidence is None for v in verdicts)


def test_names_and_settings() -> None:
    asker = ScriptedAsker(lambda _: "", "openai:gpt-x")
    instrument = GroundedJudge(asker)
    assert (instrument.name, instrument.labeler) == (
        "openai:gpt-x",
        "judge:grounded@2:openai:gpt-x",
    )
    assert isinstance(instrument, Splitter)
    assert not instrument.splits
    single = GroundedJudge(asker, GroundedSettings(mode="single", batch=5), repeat=2)
    assert single.labeler == "judge:grounded-split@2:openai:gpt-x#2"
    assert single.prompt_ver.startswith("grounded-split@2; mode single, batch 5, ")
    two = GroundedJudge(asker, GroundedSettings(mode="two-pass"))
    assert two.prompt_ver.startswith("split@2+grounded@2; mode two-pass")


@pytest.mark.parametrize(
    ("entries", "codes"),
    [
        ([], ["missing_id", "missing_id"]),
        ([entry(1, "unlinked")], [None, "missing_id"]),
        ([entry(1, "unlinked"), entry(2, "unlinked"), entry(2)], [None, "duplicate_id"]),
        ([entry(1, "unlinked"), entry(2, "true")], [None, "bad_verdict"]),
        ([entry(1, "unlinked"), entry(2, "stale", "The tower")], [None, "bad_verdict"]),
        ([entry(1, "unlinked"), {"id": "c2", "basis": "?"}], [None, "bad_verdict"]),
        ([entry(1, "unlinked"), {**entry(2), "quote": 7}], [None, "bad_entry"]),
        ([entry(1, "unlinked"), "c2"], [None, "missing_id"]),
        ([entry(1, "unlinked"), entry(3, "unlinked")], [None, "missing_id"]),
        ([{**entry(1, "unlinked"), "id": 1}, entry(2, "unlinked")], ["missing_id", None]),
    ],
)
def test_every_id_is_accounted_for(entries: list[Any], codes: list[str | None]) -> None:
    verdicts, _, asker = judge(["Cats may come in.", "It opened in 1900."], reply(*entries))
    assert [v.unscored for v in verdicts] == codes
    assert asker.rejected == 1, "a reply with holes must not be kept"
    assert len(asker.calls) == 1


def test_invented_ids_are_dropped_and_counted() -> None:
    said = reply(entry(1, "unlinked"), entry(7), entry(8), {"verdict": "supported"})
    verdicts, warnings, _ = judge(["Cats may come in."], said)
    assert [v.verdict for v in verdicts] == ["unlinked"]
    assert warnings == ["the reply had 3 ids that nobody asked for: dropped"]


@pytest.mark.parametrize("text", ["", "yes", "[]", '{"claims": 1}', '{"claims": []} and', "{"])
def test_unparsable_is_asked_again(text: str) -> None:
    verdicts, _, asker = judge(["Cats may come in."], text)
    assert [v.unscored for v in verdicts] == ["unparsable"]
    assert (len(asker.calls), asker.rejected) == (3, 3)
    texts = iter([text, json.dumps(reply(entry(1, "unlinked")))])
    verdicts, _, asker = judge(["Cats may come in."], lambda _: next(texts))
    assert [v.verdict for v in verdicts] == ["unlinked"]


@pytest.mark.parametrize("code", ["timeout", "rate_limited", "truncated", "cost_ceiling"])
def test_failures_keep_their_code(code: Any) -> None:
    failure = LlmFailure(code=code, detail="what was seen")
    verdicts, _, _ = judge(["Cats may come in.", "It is 139 m tall."], failure)
    assert [(v.unscored, v.reason) for v in verdicts] == [(code, "what was seen")] * 2


@pytest.mark.parametrize("verdict", ["supported", "overreach", "contradicted"])
@pytest.mark.parametrize("quote", ["", "The tower is 200 m tall", "The tower is 13"])
def test_verdict_without_a_real_quote_is_no_verdict(verdict: str, quote: str) -> None:
    said = reply(entry(1, verdict, quote))
    [found], _, asker = judge(["It is 139 m tall."], said)
    assert (found.verdict, found.unscored, found.span) == (None, "quote_not_found", None)
    assert asker.rejected == 1, "nothing unscored is kept: the next command asks again"
    [found], _, _ = judge(
        ["It is 139 m tall."], said, settings=GroundedSettings(missing_quote="downgrade")
    )
    assert (found.verdict, found.unscored) == ("unlinked", None)
    assert found.reason.endswith("counted as unlinked")


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("The tower shuts before 18:00 on Sundays.", "The tower shuts after 18:00 on Sundays"),
        ("Visitors may leave dogs at the gate.", "Visitors must leave dogs at the gate"),
        ("All visitors of the tower pay for entry.", "Some visitors of the tower pay for entry"),
        ("A bus runs from Bonn to Trier daily.", "A bus runs to Bonn from Trier daily"),
        ("Visitors pay by card and cash at the gate.", "Visitors pay by card or cash at the gate"),
        ("Entry to the tower costs £5 for adults.", "Entry to the tower costs 5 for adults"),
        ("The old tower never lets dogs come in.", "The old tower … lets dogs come in"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("verdict", ["supported", "overreach", "contradicted"])
def test_a_quote_that_the_source_does_not_say_is_no_verdict(
    verdict: str, text: str, quote: str
) -> None:
    said = reply(entry(1, verdict, quote))
    [found], _, asker = judge([quote], said, text)
    assert (found.verdict, found.unscored) == (None, "approximate_quote")
    assert found.reason == (
        f"the judge says {verdict}, but its quote is only approximate: “{quote}”; doc-0 says "
        f"“{text[:-1]}”"
    )
    assert asker.rejected == 1, "nothing unscored is kept: the next command asks again"
    settings = GroundedSettings(missing_quote="downgrade")
    [found], _, _ = judge([quote], said, text, settings=settings)
    assert (found.verdict, found.unscored) == ("unlinked", None)


def test_what_an_ellipsis_leaves_out_is_shown() -> None:
    text = "The old tower of the council lets dogs come in."
    [found], _, _ = judge(
        ["Dogs may come in."], reply(entry(1, quote="The old tower … lets dogs come in")), text
    )
    assert (found.verdict, found.span and found.span.text) == ("supported", text[:-1])
    assert "the judge's quote leaves out “of the council”" in found.reason


def test_thin_quote_is_no_verdict() -> None:
    claim = "The tower in the old town is about 139 m tall."
    [found], _, _ = judge([claim], reply(entry(1, quote="139 m")))
    assert (found.verdict, found.unscored) == (None, "thin_quote")


def test_quote_from_another_source_than_the_named_one() -> None:
    [found], _, _ = judge(
        ["Entry costs 5 euros."], reply(entry(1, quote="Entry costs 5 euros")), "Nothing.", TOWER
    )
    assert found.span is not None
    assert found.span.source_id == "doc-1"
    assert "named another source; the quote is in doc-1" in found.reason


@pytest.mark.parametrize("number", ["", "d9", "doc-0", "9"])
def test_unknown_source_does_not_matter_where_the_quote_stands(number: str) -> None:
    said = reply(entry(1, quote="Entry costs 5 euros", source=number))
    [found], _, _ = judge(["Entry costs 5 euros."], said)
    assert found.verdict == "supported"


def test_stale_only_where_no_source_that_holds_has_the_quote() -> None:
    old = make_source(TOWER, "old", superseded_by="new")
    said = reply(entry(1, quote="Entry costs 5 euros", source="d2"))
    [found], _, _ = judge(["Entry costs 5 euros."], said, old, make_source(TOWER, "new"))
    assert found.span is not None
    assert (found.verdict, found.span.source_id) == ("supported", "new")
    [found], _, _ = judge(["Entry costs 5 euros."], said, old, "Cats may come in.")
    assert found.verdict == "stale"
    assert "new has replaced it" in found.reason
    against = reply(entry(1, "contradicted", "Entry costs 5 euros"))
    [found], _, _ = judge(["Entry costs 9 euros."], against, old)
    assert found.verdict == "contradicted"
    assert "new has replaced it" in found.reason


def test_sources_in_force_come_first_in_the_prompt() -> None:
    old = make_source("Old text.", "old", superseded_by="new", title="Old title")
    _, _, asker = judge(["Cats may come in."], reply(entry(1, "unlinked")), old, "New text.")
    user = asker.calls[0].user
    assert read_fences(user)["d1"] == "New text."
    assert "d2 is out of force:\n⟦title-of-d2" in user


def test_support_in_another_source_than_the_cited_one() -> None:
    said = reply(entry(1, quote="Entry costs 5 euros"))
    claim = cite("Entry costs 5 euros.", "doc-1")
    [found], warnings, asker = judge([claim], said, TOWER, "Opening hours are unknown.")
    assert found.verdict == "supported"
    assert "the claim cites doc-1, but doc-0 says so" in found.reason
    assert warnings == ["a claim is supported by another source than the one it cites"]
    assert "c1 cites d2:" in asker.calls[0].user
    [found], warnings, _ = judge([claim], said, TOWER, TOWER)
    assert found.span is not None
    assert (found.span.source_id, warnings) == ("doc-1", [])


def test_actions_are_judged_by_the_log_and_not_sent() -> None:
    log = [ActionEntry(run_id="r", item_id="i", entry_id="1", entry_text="refunded order 5512")]
    claims = [make_claim("I refunded order 5512.", "action"), make_claim("I refunded order 5512.")]
    verdicts, _, asker = judge(claims, reply(entry(1, "unlinked")), TOWER, actions=tuple(log))
    assert [v.verdict for v in verdicts] == ["supported", "unlinked"]
    assert list(read_fences(asker.calls[0].user)) == ["d1", "question", "answer", "c1"]
    verdicts, _, asker = judge(claims[:1], reply())
    assert (verdicts[0].verdict, asker.calls) == ("unlinked", [])


def test_claim_without_words_is_not_sent() -> None:
    verdicts, _, asker = judge(["!?"], reply())
    assert ([v.unscored for v in verdicts], asker.calls) == (["no_words"], [])


def test_batches() -> None:
    def say(call: LlmCall) -> dict[str, Any]:
        ids = [label for label in read_fences(call.user) if label.startswith("c")]
        return reply(*({**entry(1, "unlinked"), "id": name} for name in ids))

    claims = [f"Claim number {n} is here." for n in range(7)]
    for batch, calls in ((None, 1), (3, 3), (1, 7), (100, 1)):
        verdicts, _, asker = judge(claims, say, settings=GroundedSettings(batch=batch))
        assert [v.verdict for v in verdicts] == ["unlinked"] * 7
        assert len(asker.calls) == calls


def test_room_for_the_reply_grows_with_the_claims() -> None:
    sizes = []
    for count in (1, 40):
        claims = [f"Claim number {n} is here." for n in range(count)]
        _, _, asker = judge(claims, reply())
        sizes.append(asker.calls[0].max_tokens)
    assert sizes[1] - sizes[0] >= 39 * 150


def test_long_sources_are_cut_to_the_passages_that_matter() -> None:
    filler = " ".join(f"Paragraph {n} is about gardens and ponds." for n in range(2000))
    text = f"{filler} The tower is 139 m tall, measured in 1999. {filler}"
    said = reply(entry(1, quote="The tower is 139 m tall"))
    [found], warnings, asker = judge(
        ["The tower is 139 m tall."], said, text, settings=GroundedSettings(source_tokens=500)
    )
    assert (found.verdict, found.span and found.span.start) == ("supported", len(filler) + 1)
    assert len(asker.calls[0].user) < 4000
    [warning] = warnings
    assert "about 99% of their text" in warning
    whole, none, asker = judge(["The tower is 139 m tall."], said, text)
    assert whole[0].verdict == "supported"
    assert none == []
    assert len(asker.calls[0].user) > len(text)


def test_long_sources_without_a_common_word_are_shown_from_their_beginning() -> None:
    text = " ".join(f"Paragraph {n} is about gardens and ponds." for n in range(500))
    _, _, asker = judge(
        ["塔の高さは百メートルです。"], reply(entry(1, "unlinked")), text,
        settings=GroundedSettings(source_tokens=200),
    )  # fmt: skip
    shown = read_fences(asker.calls[0].user)["d1"]
    assert text.startswith(shown)
    assert 400 < len(shown) < 700


def test_empty_document_supports_nothing_and_costs_nothing() -> None:
    asker = ScriptedAsker(lambda _: reply())
    [score] = GroundedJudge(asker).score_claims(["It is 139 m tall."], " ")
    assert score is not None
    assert (score.neither, asker.calls) == (1.0, [])
    assert GroundedJudge(asker).plan_scores(["It is 139 m tall."], "") == []


@pytest.mark.parametrize("said", ["no JSON", reply(), reply(entry(1, "unlinked"), entry(5))])
def test_bad_reply_of_a_later_round_leaves_the_kept_one_alone(said: Any) -> None:
    replies = iter([reply(entry(1, "unlinked"))])
    asker = ScriptedAsker(lambda _: next(replies, said))
    first = GroundedJudge(asker)
    claims = [make_claim("Cats may come in.")]
    first.judge_answer(claims, request(TOWER))
    first.repeat_as(2).judge_answer(claims, request(TOWER))
    sent = len(asker.calls)
    [found], _ = first.judge_answer(claims, request(TOWER))
    assert (found.verdict, len(asker.calls)) == ("unlinked", sent)


def test_scores_for_measuring() -> None:
    said = reply(
        entry(1, quote="The tower is 139 m tall"),
        entry(2, "contradicted", "Entry costs 5 euros"),
        entry(3, "overreach", "Entry costs 5 euros"),
        entry(4, quote="nowhere to be found"),
    )
    asker = ScriptedAsker(lambda _: said)
    claims = ["It is 139 m tall.", "Entry costs 9 euros.", "Entry costs 5.", "Cats come in.", ""]
    scores = GroundedJudge(asker).score_claims(claims, TOWER)
    assert [s and (s.supports, s.contradicts, s.neither) for s in scores] == [
        (1, 0, 0), (0, 1, 0), (0, 0, 1), None, None,
    ]  # fmt: skip


# Modes in which the model splits


def piece(number: int, *claims: dict[str, Any] | str) -> dict[str, Any]:
    return {"id": f"s{number}", "claims": list(claims)}


def part(text: str, verdict: str = "unlinked", quote: str = "") -> dict[str, Any]:
    return {**entry(0, verdict, quote), "text": text}


PIECES = ("The tower is 139 m tall and dogs may come in.", "Entry costs 9 euros.")


def split(
    said: Script | dict[str, Any], mode: Any, pieces: Sequence[str] = PIECES, **more: Any
) -> tuple[list[ClaimVerdict], ScriptedAsker]:
    asker = ScriptedAsker(said if callable(said) else lambda _: said)
    instrument = GroundedJudge(asker, GroundedSettings(mode=mode, **more))
    verdicts, _ = instrument.judge_pieces([make_claim(p) for p in pieces], request(TOWER))
    assert all((v.verdict is None) == (v.unscored is not None) for v in verdicts)
    return verdicts, asker


def test_single_call_splits_and_judges() -> None:
    said = {
        "pieces": [
            piece(2, part("Entry costs 9 euros.", "contradicted", "Entry costs 5 euros")),
            piece(
                1,
                part("The tower is 139 m tall.", "supported", "The tower is 139 m tall"),
                part("Dogs may come in.", "supported", "Dogs may come in"),
                part("dogs may  come in", "supported", "Dogs may come in"),
            ),
        ]
    }
    verdicts, asker = split(said, "single")
    assert [(v.claim.wording, v.claim.text, v.verdict) for v in verdicts] == [
        ("The tower is 139 m tall.", PIECES[0], "supported"),
        ("Dogs may come in.", PIECES[0], "supported"),
        ("Entry costs 9 euros.", PIECES[1], "contradicted"),
    ]
    assert [call.prompt for call in asker.calls] == ["grounded-split@2"]


def test_a_claim_with_two_verdicts_has_none() -> None:
    said = {
        "pieces": [
            piece(1, part("The tower is 139 m tall.", "supported", "The tower is 139 m tall"),
                  part("Dogs may come in.", "supported", "Dogs may come in"),
                  part("dogs may  come in", "unlinked")),
            piece(2, part("Entry costs 9 euros.", "contradicted", "Entry costs 5 euros")),
        ]
    }  # fmt: skip
    verdicts, asker = split(said, "single")
    assert [(v.verdict, v.unscored) for v in verdicts] == [
        ("supported", None), (None, "conflicting_verdicts"), ("contradicted", None),
    ]  # fmt: skip
    assert asker.rejected == 1


def say_for_every_piece(mode: str, *texts: str) -> Script:
    """Split every piece into the same claims; all of them are supported by one quote."""
    quote = "The tower is 139 m tall"

    def say(call: LlmCall) -> dict[str, Any]:
        fences = read_fences(call.user)
        if call.prompt == "grounded@2":
            asked = [n for n in range(1, 100) if f"c{n}" in fences]
            return reply(*(entry(n, "supported", quote) for n in asked))
        single = mode == "single"
        made = [part(text, "supported", quote) if single else text for text in texts]
        return {"pieces": [piece(n, *made) for n in range(1, 100) if f"s{n}" in fences]}

    return say


@pytest.mark.parametrize("mode", ["single", "two-pass"])
def test_a_claim_of_another_piece_does_not_stand_for_this_one(mode: str) -> None:
    pieces = ["The tower is 139 m tall.", "The tower is green."]
    verdicts, _ = split(say_for_every_piece(mode, pieces[0]), mode, pieces)
    assert [(v.verdict, v.unscored) for v in verdicts] == [
        ("supported", None), (None, "foreign_claim"),
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["single", "two-pass"])
def test_a_piece_holds_no_more_claims_than_words(mode: str) -> None:
    texts = [f"The tower is 139 m tall, {number} times." for number in range(50)]
    verdicts, _ = split(say_for_every_piece(mode, *texts), mode, ["The tower is 139 m tall."])
    assert [v.unscored for v in verdicts] == ["too_many_claims"]


@pytest.mark.parametrize("mode", ["single", "two-pass"])
def test_most_of_a_piece_that_is_passed_over_is_unscored(mode: str) -> None:
    long = "The tower is tall, although green paint peels off rusty stairs every rainy winter."
    verdicts, asker = split(say_for_every_piece(mode, "The tower is tall."), mode, [long])
    assert [(v.verdict, v.unscored) for v in verdicts] == [
        ("supported", None), (None, "skipped_piece"),
    ]  # fmt: skip
    assert verdicts[1].claim.wording == long
    assert asker.rejected == 1


def test_two_calls_split_then_judge() -> None:
    def say(call: LlmCall) -> dict[str, Any]:
        if call.prompt == "split@2":
            return {"pieces": [piece(1, "The tower is 139 m tall.", "Dogs may come in."),
                               piece(2, "Entry costs 9 euros.")]}  # fmt: skip
        assert "c3" in read_fences(call.user)
        return reply(entry(1, quote="The tower is 139 m tall"), entry(2, "unlinked"),
                     entry(3, "contradicted", "Entry costs 5 euros"))  # fmt: skip

    verdicts, asker = split(say, "two-pass")
    assert [v.verdict for v in verdicts] == ["supported", "unlinked", "contradicted"]
    assert [call.prompt for call in asker.calls] == ["split@2", "grounded@2"]
    assert "d1" not in read_fences(asker.calls[0].user)


@pytest.mark.parametrize(
    ("pieces", "codes"),
    [
        ([], ["missing_id", "missing_id"]),
        ([piece(1), piece(2)], ["skipped_piece", "skipped_piece"]),
        ([piece(1), piece(1), piece(2)], ["duplicate_id", "skipped_piece"]),
        ([piece(1, part("All about elephants in Africa.")), piece(2)],
         ["foreign_claim", "skipped_piece"]),
        ([piece(1, part("")), piece(2, part("Entry costs 9 euros.", "maybe"))],
         ["bad_entry", "bad_verdict"]),
        ([piece(1, "not an object"), {"id": "s2", "claims": "none"}], ["bad_entry", "bad_entry"]),
    ],
)  # fmt: skip
def test_every_piece_is_accounted_for(pieces: list[Any], codes: list[str]) -> None:
    verdicts, _ = split({"pieces": pieces}, "single")
    assert [v.unscored for v in verdicts] == codes


@pytest.mark.parametrize(
    ("pieces", "codes"),
    [
        ([], ["missing_id", "missing_id"]),
        ([piece(1), piece(2, "Lions sleep all day.")], ["skipped_piece", "foreign_claim"]),
        ([piece(1, ""), piece(2, 7)], ["bad_entry", "bad_entry"]),  # type: ignore[arg-type]
    ],
)
def test_every_piece_is_accounted_for_in_two_passes(pieces: list[Any], codes: list[str]) -> None:
    verdicts, asker = split({"pieces": pieces}, "two-pass")
    assert [v.unscored for v in verdicts] == codes
    assert len(asker.calls) == 1


@pytest.mark.parametrize(("mode", "prompts"), [
    ("claims", ["grounded@2"]),
    ("single", ["grounded-split@2"]),
    ("two-pass", ["split@2", "grounded@2"]),
])  # fmt: skip
def test_plan_lists_the_calls(mode: Any, prompts: list[str]) -> None:
    asker = ScriptedAsker(lambda _: "")
    instrument = GroundedJudge(asker, GroundedSettings(mode=mode))
    claims = [make_claim(p) for p in PIECES]
    plan = instrument.plan_split if instrument.splits else instrument.plan_calls
    assert [call.prompt for call in plan(claims, request(TOWER))] == prompts
    assert asker.calls == []


def test_each_repeat_is_asked_once_and_kept() -> None:
    asker = ScriptedAsker(lambda _: reply(entry(1, "unlinked")))
    first = GroundedJudge(asker)
    for instrument in (first, first, first.repeat_as(2), first.repeat_as(2)):
        instrument.judge_answer([make_claim("Cats may come in.")], request(TOWER))
    assert [call.repeat for call in asker.calls] == [1, 2]


# Hostile text


@pytest.mark.parametrize("name", INJECTIONS)
@pytest.mark.parametrize("where", ["claim", "source", "title", "answer", "question"])
def test_injections_stay_inside_their_fence(name: str, where: str) -> None:
    """Whatever a text says, the prompt around it is the same, and so are verdict and span."""
    text = INJECTIONS[name]
    claim = "The tower is 139 m tall." + (f" {text}" if where == "claim" else "")
    source = make_source(
        (f"{text}\n" if where == "source" else "") + TOWER,
        "doc",
        title=text if where == "title" else "Tower",
    )
    answer = text if where == "answer" else "An answer."
    question = text if where == "question" else "How tall is it?"
    said = reply(entry(1, quote="The tower is 139 m tall"))
    asker = ScriptedAsker(lambda _: said)
    asked = CheckRequest(answer=answer, sources=(source,), question=question, as_of=TODAY)
    [found], warnings = GroundedJudge(asker).judge_answer([make_claim(claim)], asked)
    assert (found.verdict, found.span and found.span.text, warnings) == (
        "supported", "The tower is 139 m tall", [],
    )  # fmt: skip
    [call] = asker.calls
    assert call.system == load_prompt("grounded").system
    fences = read_fences(call.user)
    assert list(fences) == ["title-of-d1", "d1", "question", "answer", "c1"]
    assert len(fences["d1"]) == len(source.source_text)
    frame = call.user
    for inner in sorted(fences.values(), key=len, reverse=True):
        frame = frame.replace(inner, "", 1)
    assert frame.count("⟦") == 2 * len(fences), "a text has opened a fence of its own"


@pytest.mark.parametrize("name", INJECTIONS)
def test_reply_that_obeys_an_injection_gives_no_support(name: str) -> None:
    """The model was talked into it: its reply still has to quote a source that says so."""
    obeying = [
        reply(entry(1, quote=INJECTIONS[name][:40])),
        reply(entry(1), entry(1, "unlinked")),
        reply(entry(1, "true")),
        reply({**entry(1), "id": "s99"}),
        {"verdicts": [entry(1)]},
    ]
    for said in obeying:
        [found], _, _ = judge([f"Cats may come in. {INJECTIONS[name]}"], said, TOWER)
        assert found.verdict is None
        assert found.unscored is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=12,
)  # fmt: skip
ENTRIES = st.fixed_dictionaries(
    {"id": st.sampled_from(["c1", "c2", "c3", "s1", "c", ""]) | JSON},
    optional={
        "verdict": st.sampled_from(["supported", "unlinked", "overreach", "contradicted"]) | JSON,
        "quote": st.sampled_from(["Entry costs 5 euros", "Dogs may come in", "no", ""]) | JSON,
        "source": st.sampled_from(["d1", "d2", ""]) | JSON,
        "exceeds": st.text(max_size=5) | JSON,
        "basis": st.text(max_size=5) | JSON,
    },
)


@given(st.lists(ENTRIES | JSON, max_size=6))
def test_no_reply_loses_or_doubles_a_claim(entries: list[Any]) -> None:
    verdicts, _, _ = judge(["Cats may come in.", "It opened in 1900."], reply(*entries))
    for number, verdict in enumerate(verdicts, start=1):
        own = [e for e in entries if isinstance(e, dict) and e.get("id") == f"c{number}"]
        if verdict.verdict is not None:
            assert len(own) == 1
            assert own[0]["verdict"] == verdict.verdict


@given(JSON | st.text(max_size=60))
def test_no_reply_raises(said: Any) -> None:
    text = said if isinstance(said, str) else json.dumps(said)
    for mode in ("single", "two-pass"):
        verdicts, _ = split(lambda _: text, mode)
        assert [v.unscored for v in verdicts] == ["unparsable"] * 2
