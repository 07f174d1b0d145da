"""The two tiers as instruments: languages, odd claims, odd sources, the same answer every time."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claimwise.errors import VerifierError
from claimwise.judges.card import describe_card_agreement, load_card
from claimwise.judges.decide import NO_WORDS
from claimwise.judges.judge import load_verifier
from claimwise.judges.language import is_english
from claimwise.text.words import read_stems
from claimwise.types.verdicts import VERDICTS, CheckRequest
from judges.judged import TODAY, judge, judge_all, load_tier, make_claim, make_source

BUILT_IN = ("embedded", "lexical", "overlap")
BOTH = pytest.mark.parametrize("tier", ["lexical", "embedded"])
TOWER = "The Kestrel Tower is 139 m tall and stands in the harbour district."

FOREIGN = {
    "german": "Der Turm ist 139 Meter hoch und steht im Hafen der Stadt, wo er nachts leuchtet.",
    "dutch": "Hij was in het huis en had een boek over de toren in zijn hand.",
    "french": "La tour mesure 139 mètres et se dresse dans le quartier du port.",
    "spanish": "La torre mide 139 metros y se encuentra en el distrito del puerto.",
    "italian": "La torre è alta 139 metri e si trova nel quartiere del porto.",
    "swedish": "Tornet är 139 meter högt och står i hamnen, där det syns från havet.",
    "polish": "Wieża ma 139 metrów wysokości i stoi w dzielnicy portowej, nie w centrum.",
    "russian": "Башня высотой 139 метров стоит в портовом районе.",
    "chinese": "红隼塔高139米，位于港区。",
    "arabic": "يبلغ ارتفاع البرج 139 مترا ويقع في حي الميناء.",
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_other_languages_fall_back_and_say_so(text: str) -> None:
    assert not is_english(read_stems(text), text)
    (found,), warnings = judge_all([text], text, tier="embedded")
    assert found.instrument == "lexical"
    assert found.verdict == "supported"
    assert len(warnings) == 1
    assert "not English" in warnings[0]
    # The tier that never pretended to read warns of nothing.
    assert judge_all([text], text, tier="lexical")[1] == []


@pytest.mark.parametrize(
    "text",
    [
        TOWER,
        "Kestrel Tower: 139 m.",
        "Refunds are paid within 14 days.",
        "Sales rose 5% in March.",
        "He was in a car accident in Die, France, in 1990.",
        "naïve café owners in the old town",
        "",
        "139",
        "Dallas Mavericks, total points 2,370. Luka Dončić plays in Dallas.",
    ],
)
def test_english_is_english(text: str) -> None:
    assert is_english(read_stems(text), text)
    if text and read_stems(text):
        assert judge_all([text], text, tier="embedded")[1] == []


@BOTH
@pytest.mark.parametrize("claim", ["!!!", "…", "—", "***"])
def test_a_claim_without_words_is_unscored(claim: str, tier: str) -> None:
    found = judge(claim, TOWER, tier=tier)
    assert (found.verdict, found.unscored, found.scores) == (None, NO_WORDS, None)
    assert load_tier(tier).score_claims([claim, "A tower."], TOWER)[0] is None


@BOTH
@pytest.mark.parametrize("claim", ["It is what it is.", "She did.", "139", "tower"])
def test_claims_of_few_words_are_judged(claim: str, tier: str) -> None:
    assert judge(claim, TOWER, tier=tier).verdict in VERDICTS


@BOTH
def test_what_makes_no_claim_gets_no_verdict(tier: str) -> None:
    claims = [make_claim("Is it tall?", "non_factual"), make_claim(TOWER)]
    request = CheckRequest(answer="", sources=(make_source(TOWER),), as_of=TODAY)
    first, second = load_tier(tier).judge_answer(claims, request)[0]
    assert (first.verdict, first.unscored) == (None, None)
    assert second.verdict == "supported"
    assert load_tier(tier).judge_answer([], request) == ([], [])


@BOTH
@pytest.mark.parametrize("text", ["", "   ", "\x00", "…"])
def test_empty_sources(text: str, tier: str) -> None:
    found = judge("The tower is tall.", text, tier=tier)
    assert (found.verdict, found.span) == ("unlinked", None)
    assert judge("The tower is tall.", tier=tier).verdict == "unlinked"


@BOTH
def test_null_bytes(tier: str) -> None:
    found = judge("The Kestrel\x00 Tower is 139 m tall.", "\x00" + TOWER + "\x00", tier=tier)
    assert found.verdict == "supported"


@BOTH
def test_long_claims_and_odd_letters(tier: str) -> None:
    for claim in ("tower " * 5000, "塔" * 10_000, "a" * 50_000, "tower \ud800 tall"):
        assert judge(claim, TOWER, tier=tier).verdict in VERDICTS


@BOTH
def test_a_claim_of_several_sentences_needs_all_of_them(tier: str) -> None:
    both = "The Kestrel Tower is 139 m tall. Penguins swim faster than seals."
    one, two = load_tier(tier).score_claims(["The Kestrel Tower is 139 m tall.", both], TOWER)
    assert one is not None
    assert two is not None
    assert two.supports < one.supports
    assert judge(both, TOWER, tier=tier).verdict != "supported"


@BOTH
def test_claims_are_judged_alike_alone_and_together(tier: str) -> None:
    claims = [
        TOWER,
        "The Kestrel Tower is 200 m tall.",
        "Penguins swim.",
        "The tower is in a harbour.",
    ]
    together, _ = judge_all(claims, TOWER, tier=tier)
    assert together == [judge(claim, TOWER, tier=tier) for claim in claims]
    again = load_tier(tier).score_claims(claims, TOWER)
    assert again == [found.scores for found in together]


def test_sources_that_change_are_read_again() -> None:
    verifier = load_tier("lexical")
    for text, verdict in ((TOWER, "supported"), ("Penguins swim.", "unlinked")):
        assert judge(TOWER, text, tier=verdict and verifier).verdict == verdict


def test_paraphrases_are_the_encoders_work() -> None:
    told = "Refunds are paid within ten working days after the parcel has reached the warehouse."
    claim = "You get your money back at most ten working days once the parcel arrives."
    lexical, embedded = (
        load_tier(t).score_claims([claim], told)[0] for t in ("lexical", "embedded")
    )
    assert lexical is not None
    assert embedded is not None
    assert embedded.supports > lexical.supports


def test_verifiers_by_name() -> None:
    assert load_verifier("auto").name == "embedded"
    for name in BUILT_IN:
        found = load_verifier(name)
        assert found.name == name
        assert found.labeler.startswith(f"verifier:{name}-")
        assert 0 < found.threshold < 1
    with pytest.raises(VerifierError, match="Known judges: auto, bespoke-minicheck, embedded"):
        load_verifier("oracle\n")


def test_the_card_says_how_far_the_tiers_agree_with_people() -> None:
    card = load_card()
    assert set(card.verifiers) <= set(BUILT_IN)
    for name in card.verifiers:
        told = describe_card_agreement(name) or ""
        assert re.match(r"balanced accuracy \d\d% \(\d\d–\d\d%\) against people, mean of", told)
    assert describe_card_agreement("oracle") is None


WORDS = [
    "tower",
    "bridge",
    "139 m",
    "200 m",
    "is",
    "not",
    "in 1931",
    "on 3 May 1990",
    "Kestrel",
    "Anna Berg",
    "rose",
    "fell",
    "12%",
    "about",
    "more than",
    "the",
    "塔",
    "\x00",
    "3 to 5 days",
    "6 pm",
    "18:00",
    "$2.1m",
    "twenty-five",
    "-",
    "\u2028",
    "I've",
]
sentences = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
texts = st.lists(sentences, max_size=4).map(". ".join) | st.text(max_size=60)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(claim=texts, sources=st.lists(texts, max_size=3))
def test_any_claim_gets_one_sound_verdict(claim: str, sources: list[str]) -> None:
    check_sound(claim, sources, "lexical")


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(claim=texts, sources=st.lists(texts, max_size=2))
def test_any_claim_gets_one_sound_verdict_from_the_encoder(claim: str, sources: list[str]) -> None:
    check_sound(claim, sources, "embedded")


def check_sound(claim: str, sources: list[str], tier: str) -> None:
    found = judge(claim, *sources, tier=tier)  # spans are checked there
    assert found == judge(claim, *sources, tier=tier)
    if found.verdict is None:
        assert found.unscored == NO_WORDS
        return
    assert found.verdict in VERDICTS
    assert found.reason
    assert found.scores is not None
    scores = (found.scores.supports, found.scores.contradicts, found.scores.neither)
    assert sum(scores) == pytest.approx(1)
    assert all(0 <= p <= 1 for p in scores)
    assert found.confidence is None or 0 <= found.confidence <= 1
    assert (found.span is None) == (found.verdict == "unlinked")
    assert (found.exceeds is not None) == (found.verdict == "overreach")
