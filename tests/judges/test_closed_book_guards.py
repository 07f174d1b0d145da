"""What is doubted in closed-book labels, and what a judge is tried on."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.fact_check.probe_facts import make_probe, read_controls
from claimwise.judges.closed_book import PROMPT, SPLIT_PROMPT, write_pieces
from claimwise.judges.doubts import find_field, has_specifics, has_value_words
from claimwise.judges.facts import find_facts
from claimwise.llm.fencing import neutralise_text
from claimwise.llm.prompts import load_prompt
from claimwise.text.word_limits import COUNTED, cut_words
from claimwise.types.closed_book import combine_labels
from support.closed_book import read_pieces


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("The patient received a dose of 5 mg warfarin.", "medicine"),
        ("The plaintiff filed an injunction against the defendant.", "law"),
        ("EBITDA rose while liquidity and solvency fell.", "finance"),
        ("The oxidation of the aldehyde needs a catalyst.", "chemistry"),
        ("Paris is the capital of France.", None),
        ("The doctor wrote a novel about a court jester.", None),
        ("", None),
    ],
)
def test_specialist_text_is_known_by_its_words(text: str, field: str | None) -> None:
    assert find_field(text) == field


def test_of_fields_with_as_many_words_the_first_is_taken() -> None:
    assert find_field("A vaccine, a genome, a virus, an enzyme.") == "medicine"
    assert find_field("A genome, a vaccine, an enzyme, a virus.") == "biology"


def test_two_words_in_a_long_general_text_are_no_field() -> None:
    assert find_field("The vaccine came. " + "We walked along the river and talked. " * 60) is None


@pytest.mark.parametrize(
    ("text", "specific"),
    [
        ("It was built in 1889.", True),
        ("It weighs 3.5 kg.", True),
        ("About forty people came.", True),
        ("It has three sides.", False),
        ("Water is wet.", False),
    ],
)
def test_specifics_are_figures_dates_and_large_numbers(text: str, specific: bool) -> None:
    assert has_specifics(text) is specific


@given(
    st.lists(
        st.sampled_from(
            ["1889", "3.5", "7", "12", "B2", "x", " ", " ", "\t", "-", ".", ",", "$", "٣"]
        )
        | st.sampled_from([" kg", " May ", "2024-01-02", "forty ", "three ", "th", "%", "½", "²"])
        | st.characters(),
        max_size=12,
    ).map("".join)
)
def test_a_figure_that_stands_alone_is_a_quantity_or_a_date(text: str) -> None:
    facts = find_facts(text)
    numbers = [q for q in facts.quantities if q.value > 12 or any(map(str.isdigit, q.text))]
    assert has_specifics(text) is bool(facts.days or numbers)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("She is the most important poet of her age.", True),
        ("It is the best film of all.", True),
        ("He is best known for his maps.", False),
        ("Everest is the highest mountain.", False),
        ("It is the most populous city.", False),
    ],
)
def test_value_words_rank_by_worth(text: str, value: bool) -> None:
    assert has_value_words(text) is value


@given(st.text(), st.integers(1, 30))
def test_cut_words_keeps_to_its_limit(text: str, limit: int) -> None:
    short, cut = cut_words(text, limit)
    assert len(short.split()) <= limit
    if not re.search(f"[{COUNTED}]", text):
        assert cut == (len(text.split()) > limit)
    assert "\n" not in short


def test_word_limits_hold_in_scripts_without_spaces() -> None:
    assert cut_words("大金字塔" * 80, 20) == ("大金字塔" * 10 + "…", True)
    assert cut_words("建于公元前2560年", 5) == ("建于公元前2560年", False)


@pytest.mark.parametrize("letter", ["ข", "ລ", "မ", "ក", "ང", "ｱ", "\U00020000", "한 "])
def test_word_limits_count_letters_where_no_space_ends_a_word(letter: str) -> None:
    assert cut_words(letter * 400, 20)[1]
    assert cut_words(letter * 20, 20) == ((letter * 20).strip(), False)


@given(st.dictionaries(st.from_regex(r"\As[1-9]\d?\Z"), st.text(), min_size=1))
def test_written_pieces_read_back_under_their_ids(texts: dict[str, str]) -> None:
    found = read_pieces(write_pieces(texts))
    assert found == {name: " ".join(neutralise_text(text).split()) for name, text in texts.items()}


def test_a_part_that_is_false_makes_the_whole_false() -> None:
    assert combine_labels(["true", "false", "unverifiable"]) == "false"
    assert combine_labels(["true", "unverifiable"]) == "unverifiable"
    assert combine_labels(["true", "non_factual"]) == "true"
    assert combine_labels(["non_factual"]) == "non_factual"
    assert combine_labels([]) is None


@pytest.mark.parametrize("name", [PROMPT, SPLIT_PROMPT])
def test_the_prompts_ask_for_what_is_read(name: str) -> None:
    prompt = load_prompt(name)
    assert {"pieces", "domain_hint"} <= set(prompt.inputs) <= {"pieces", "domain_hint", "question"}
    for word in ("true", "false", "unverifiable", "non_factual", "20 words", "decision_basis"):
        assert word in prompt.system
    assert prompt.schema is not None
    assert prompt.schema["required"] == ["pieces", "summary_basis"]


def test_probes_are_the_same_for_a_seed_and_no_name_comes_twice() -> None:
    probe = make_probe(200, seed=3)
    assert probe == make_probe(200, seed=3)
    assert probe != make_probe(200, seed=4)
    made_up = [claim.text for claim in probe if claim.kind == "made_up"]
    assert len(set(made_up)) == 200
    for kind in (" was a ", "The town of ", " is a drug for ", " Act of ", " took place in "):
        assert sum(kind in text for text in made_up) == 40
    coined = [re.findall(r"\b[A-Z][a-z]{6,}\b", text) for text in made_up]
    assert all(coined)


def test_controls_are_true_and_false_in_equal_number() -> None:
    kinds = [claim.kind for claim in read_controls()]
    assert kinds.count("known_true") == kinds.count("known_false") == 30
    assert len({claim.text for claim in read_controls()}) == 60
