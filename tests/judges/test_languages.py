"""Eleven languages by the lexical tier: sentences, what is true, other numbers, denials."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from claimwise.checking.check import check_answer
from claimwise.decompose import split_answer
from claimwise.judges.card import describe_card_agreement
from claimwise.text import find_sentences
from claimwise.types.verdicts import CheckRequest
from judges.judged import judge_all, load_tier, make_source
from judges.language_cases import CASES, LanguageCase

BY_LANGUAGE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.language)


@BY_LANGUAGE
def test_a_true_claim_is_supported_and_a_changed_one_is_not(case: LanguageCase) -> None:
    claims = [case.true, case.other_number, case.denied]
    verdicts, _ = judge_all(claims, case.source, tier="lexical")
    assert [verdict.verdict for verdict in verdicts] == [
        "supported",
        "contradicted",
        "contradicted",
    ]


SENTENCES = {
    "German": "Am 3. Mai kam Dr. Weber, d. h. der Arzt.|Er blieb z. B. bis zum 5. Juni.",
    "French": "M. Eiffel a payé, p. ex. 5 francs.|Mme Curie aussi.",
    "Spanish": "La Sra. Vega ganó en EE. UU. dos medallas.|¿Es cierto?|Sí.",
    "Italian": "L'ing. Rossi paga, ad es. 5 euro.|Il Sig. Verdi no.",
    "Portuguese": "O Sr. Lobo pagou, p. ex. 5 euros.|A Sra. Dias não.",
    "Dutch": "Dhr. Jansen betaalt bijv. 6 euro.|Mevr. Smit niet.",
    "Polish": "Most zbudowano w 1901 r.|Bilet kosztuje np. 20 złotych.",
    "Russian": "Мост построен в 1903 г.|Он длинный, см. рис. 5.",
    "Chinese": "塔高139米。|它很高！|真的吗？",
    "Japanese": "「はい。」と言った。|本当ですか？",
    "Arabic": "هل المتحف مفتوح؟|نعم.",
    "English": "Dr. Smith et al. (2020) found a 5% drop.|He said no.|The art.",
}


@pytest.mark.parametrize("text", SENTENCES.values(), ids=SENTENCES)
def test_sentences_end_where_they_end(text: str) -> None:
    parts = text.split("|")
    gap = "" if any(ord(char) > 0x2FFF for char in text) else " "
    whole = gap.join(parts)
    assert [whole[start:end] for start, end in find_sentences(whole)] == parts


@BY_LANGUAGE
def test_sentences_of_other_languages_are_claims(case: LanguageCase) -> None:
    (claim,) = split_answer(case.true)
    assert (claim.claim_type, claim.wording) == ("factual", case.true)


def test_the_warning_has_the_same_words_however_many_claims_there_are() -> None:
    """A run counts answers by their warning: words that differ would be many warnings."""
    german = CASES[0]
    _, one = judge_all([german.true], german.source, tier="embedded")
    claims = [german.true, german.denied, german.other_number]
    _, three = judge_all(claims, german.source, tier="embedded")
    assert len(one) == 1
    assert one == three


def test_the_accuracy_is_that_of_the_tier_that_judged() -> None:
    french = next(case for case in CASES if case.language == "French")
    lexical, embedded = (
        describe_card_agreement("lexical") or "",
        describe_card_agreement("embedded") or "",
    )
    judge = load_tier("embedded")
    request = CheckRequest(answer=french.true, sources=(make_source(french.source),))
    checked = check_answer(request, judge)
    assert lexical in (checked.agreement or "")
    assert embedded not in (checked.agreement or "")
    english = replace(checked.claims[0], instrument="embedded")
    both = judge.describe_agreement([checked.claims[0], english]) or ""
    assert both.startswith(embedded)
    assert f"1 of 2 claims by the lexical judge: {lexical}" in both
    assert judge.describe_agreement([english]) == embedded
