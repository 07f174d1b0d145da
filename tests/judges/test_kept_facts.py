"""A model that judges may not change what it judges: replies by hand, hostile and harmless."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.judges.kept_facts import KeptFacts
from judges.reply_cases import find_refused, judge_case, read_cases
from support.growth import grows_evenly

HOSTILE = read_cases("hostile")
HARMLESS = read_cases("harmless")
ASKED_KINDS = {
    "figure corrected", "negation dropped", "negation added", "name exchanged", "unit changed",
    "piece empty", "claim missing", "claim merged", "opinion called true",
    "fact called non_factual", "quote reversed",
}  # fmt: skip


def test_the_cases_cover_every_kind_in_every_mode() -> None:
    assert len(HOSTILE) >= 60
    assert {case["kind"] for case in HOSTILE} >= ASKED_KINDS
    modes = Counter(case["mode"] for case in HOSTILE)
    assert min(modes[mode] for mode in ("closed-book", "single", "two-pass", "batch")) >= 10
    assert len(HARMLESS) >= 100
    assert len({case["kind"] for case in HARMLESS}) >= 10


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: f"{case['mode']}: {case['kind']}")
def test_a_hostile_reply_counts_in_no_headline(case: dict[str, Any]) -> None:
    found = judge_case(case)
    assert set(found.counted) <= set(case["honest"])
    assert sorted({code for _, code, _ in found.unscored}) == case["codes"]
    assert all(reason for _, _, reason in found.unscored)
    assert found.bounds is not None
    assert found.bounds[0] < found.bounds[1]


@pytest.mark.parametrize("mode", ["closed-book", "single", "two-pass"])
def test_harmless_rephrasings_are_accepted(mode: str) -> None:
    refused = [why for case in HARMLESS for why in find_refused(case, mode)]
    assert len(refused) <= 0.1 * len(HARMLESS), "\n".join(refused)


def test_the_reason_names_what_differs() -> None:
    facts = KeptFacts()
    told = facts.find_change("It stands 146 m tall.", "It stands 200 m tall.")
    assert told == "the judge's claim says 146 m, the answer 200 m"
    told = facts.find_change("Khufu built it.", "Khafre built it.")
    assert told == "the judge's claim names Khufu, the answer Khafre"
    told = facts.find_change("It is not open.", "It is open.")
    assert told == "the judge's claim denies what the answer says"


def test_a_name_may_come_from_the_answer_unless_it_replaces_one() -> None:
    facts = KeptFacts("Apollo 11 and Apollo 12 flew to the Moon. It carried three men for NASA.")
    piece = "It carried three men for NASA."
    assert facts.find_change("Apollo 11 carried three men for NASA.", piece) is None
    assert facts.find_change("Apollo 13 carried three men for NASA.", piece) is not None
    assert facts.find_change("It carried three men for Apollo.", piece) is not None


def test_months_without_a_day_are_dates_too() -> None:
    for piece, claim in (("June", "July"), ("July", "June"), ("April", "May"), ("May", "March")):
        told = KeptFacts().find_change(f"It ends in {claim}.", f"It ends in {piece}.")
        assert told is not None
    assert KeptFacts().find_change("It ends in May here.", "It will end in May here.") is None


SOME_WORDS = """Ann Lee Oslo not never no isn't 5 five 1,000 20/07/1969 May 2020 km % $ unsafe safe
open
closed by from to than all some lacks only free BC II A380 the is was hired Bob . , 米 高 ½"""
WORDS = st.lists(
    st.sampled_from([*SOME_WORDS.split(), "\n"]) | st.text(max_size=5), max_size=14
).map(" ".join)


@given(WORDS, WORDS, WORDS)
def test_any_texts_can_be_compared(piece: str, claim: str, other: str) -> None:
    facts = KeptFacts(f"{piece} {other}")
    assert facts.find_change(piece, piece) is None
    assert facts.find_change(claim, piece, [piece, other], [claim]) != ""
    assert facts.find_lost(piece, [claim, piece]) is None
    assert facts.find_lost(piece, [claim, other]) != ""


def test_what_no_claim_says_is_lost() -> None:
    facts = KeptFacts()
    whole = "Ann Lee moved to Oslo on 3 May 2020 with 2 cats."
    assert (
        facts.find_lost(whole, ["Ann Lee moved to Oslo with two cats.", "It was 2020-05-03."])
        is None
    )
    assert facts.find_lost(whole, ["Ann moved to Oslo on 3 May 2020."]) == "no claim says 2"
    assert facts.find_lost(whole, ["Ann moved with 2 cats on 3 May 2020."]) == "no claim names Oslo"
    assert facts.find_lost(whole, ["Ann moved to Oslo with 2 cats."]) == "no claim says 3 May 2020"


@pytest.mark.parametrize("unit", ["a", "Adams, ", "1 000 ", "not one hundred and ", "Venus 5 m "])
def test_time_grows_with_the_text(unit: str) -> None:
    def work(size: int) -> Callable[[], object]:
        piece = f"Berg paid 5 euros. {unit * (size // len(unit))}"
        claim = f"Berg spent 5 euros. {unit * (size // len(unit))}"  # nothing to refuse early
        return lambda: KeptFacts(piece).find_change(claim, piece)

    assert grows_evenly(work, 4_000)
