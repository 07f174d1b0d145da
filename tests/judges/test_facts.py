"""Numbers, dates, names and denials as they are read, and when two of them say the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.judges import facts
from claimwise.judges.facts import (
    Day,
    Name,
    Quantity,
    find_facts,
    load_opposites,
    read_spelled,
    same_day,
    same_quantity,
)
from claimwise.text.words import find_stem
from support.growth import grows_evenly


def one(text: str) -> Quantity:
    (found,) = find_facts(text).quantities
    assert text[found.start : found.end] == found.text
    return found


@pytest.mark.parametrize(
    ("text", "value", "what"),
    [
        ("It is 139 m tall.", 139, "length"),
        ("It is 139m tall.", 139, "length"),
        ("It is 1.39 km tall.", 1390, "length"),
        ("It is 1,390 metres tall.", 1390, "length"),
        ("It is 1390-metre tall.", 1390, "length"),
        ("It weighs 500 mg.", 0.0005, "mass"),
        ("It weighs 2 tonnes.", 2000, "mass"),
        ("It lasts 90 minutes.", 5400, "time"),
        ("It lasts 2 weeks.", 1_209_600, "time"),
        ("It lasts ten years.", 120, "month"),
        ("It lasts two decades.", 240, "month"),
        ("It costs $20.", 20, "dollar"),
        ("It costs 20 dollars.", 20, "dollar"),
        ("It costs €1,200.50 now.", 1200.5, "euro"),
        ("It costs £3 million.", 3_000_000, "sterling"),
        ("It costs 20 euros.", 20, "euro"),
        ("It fell by 12%.", 12, "share"),
        ("It fell by 12 percent.", 12, "share"),
        ("It fell by 12 per cent.", 12, "share"),
        ("It fell by twelve percent.", 12, "share"),
        ("It was 21 °C.", 21, "celsius"),
        ("It drives 90 km/h.", 90, "km/h"),
        ("It holds 5 GB.", 5e9, "bytes"),
        ("It holds five million grains.", 5e6, ""),
        ("It has 2.5 billion users.", 2.5e9, ""),
        ("It has 12 rooms.", 12, ""),
        ("It has twelve rooms.", 12, ""),
        ("The 34th president spoke.", 34, ""),
        ("It opened in 1931.", 1931, "year"),
        ("It has 1,931 rooms.", 1931, ""),
        ("It has 1931.5 of them.", 1931.5, ""),
        ("塔高139米。", 139, "length"),
    ],
)
def test_quantities(text: str, value: float, what: str) -> None:
    found = one(text)
    assert found.value == pytest.approx(value)
    assert found.what == what


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("It takes 3 to 5 days.", [3, 432_000]),
        ("It takes 3-5 days.", [3, 432_000]),
        ("From 1897 to 1917.", [1897, 1917]),
        ("Nobody counts one.", []),
        ("An A4 page of B2B copy.", []),
        ("", []),
    ],
)
def test_several_quantities_or_none(text: str, values: list[float]) -> None:
    found = find_facts(text).quantities
    assert [q.value for q in found] == values
    assert all(text[q.start : q.end] == q.text for q in found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("It cost $2.1m then.", id="attached m"),
        pytest.param("It cost $2.1 m then.", id="loose m"),
        pytest.param("It cost £2.1bn then.", id="attached bn"),
        pytest.param("It cost 450k euros then.", id="k"),
    ],
)
def test_scales_of_money(text: str) -> None:
    assert one(text).value > 100_000


def test_negative_numbers() -> None:
    assert one("It was -5 °C.").value == -5


def test_compound_spelled_numbers() -> None:
    assert one("It has twenty-five rooms.").value == 25


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("on 7 November 1867", (1867, 11, 7)),
        ("on November 7, 1867", (1867, 11, 7)),
        ("on 7th of November 1867", (1867, 11, 7)),
        ("on Nov. 7th, 1867", (1867, 11, 7)),
        ("on 1867-11-07", (1867, 11, 7)),
        ("in November 1867", (1867, 11, None)),
        ("on 7 November", (None, 11, 7)),
        ("on November 7", (None, 11, 7)),
        ("on 3 may 2020", (2020, 5, 3)),
    ],
)
def test_dates(text: str, parts: tuple[int | None, int | None, int | None]) -> None:
    facts = find_facts(f"It happened {text}.")
    (day,) = facts.days
    assert (day.year, day.month, day.day) == parts
    assert f"It happened {text}."[day.start : day.end] == day.text
    assert facts.quantities == ()  # a date's numbers are no quantities


def test_same_day_compares_what_the_claim_gives() -> None:
    def day(text: str):  # type: ignore[no-untyped-def]
        return find_facts(text).days[0]

    full = day("7 November 1867")
    assert same_day(day("1867-11-07"), full)
    assert same_day(day("November 1867"), full)
    assert same_day(day("7 November"), full)
    assert not same_day(full, day("November 1867"))  # the claim says more
    assert not same_day(day("8 November 1867"), full)
    assert not same_day(day("November 1868"), full)


@pytest.mark.parametrize(
    ("claimed", "found", "same"),
    [
        ("1.39 km", "1390 m", True),
        ("1390 m", "1.39 km", True),
        ("0.5 g", "500 mg", True),
        ("two weeks", "14 days", True),
        ("3 years", "36 months", True),
        ("12%", "12 percent", True),
        ("$20", "20 dollars", True),
        ("$20", "20 euros", False),
        ("139 m", "139 kg", False),
        ("139 m", "139", True),  # the unit may be left out
        ("200 m", "139 m", False),
        ("1.2 million", "1,234,567", True),  # rounding
        ("1.3 million", "1,234,567", False),
        ("8,849 m", "8,848.86 m", True),
        ("373,000", "372,520", True),
        ("370,000", "372,520", True),
        ("400,000", "372,520", False),  # one digit is too coarse to be taken for a rounding
        ("140 m", "139 m", False),  # only "about 140" is 139
        ("1931", "1932", False),  # years are not rounded
    ],
)
def test_same_quantity(claimed: str, found: str, same: bool) -> None:
    assert same_quantity(one(f"It is {claimed} now."), one(f"It is {found} now.")) is same


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The bridge was designed by Carl Holm.", ["Carl Holm"]),
        ("Later, Anna met Boris.", ["Anna", "Boris"]),
        ("The University of Port Ann is old.", ["The University of Port Ann"]),
        ("Towers are tall.", []),  # a capital that opens a sentence
        ("NASA launched it.", ["NASA"]),
        ("It rained. Towers fell.", []),
        ("nothing here", []),
        ("It is in March.", []),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    found = find_facts(text).names
    assert [name.text for name in found] == names
    assert all(text[n.start : n.end] == n.text and n.stems for n in found)


@pytest.mark.parametrize("text", ["We met Jean-Luc Berg there.", "It treats COVID-19 well."])
def test_names_have_stems_that_an_index_can_hold(text: str) -> None:
    from claimwise.text.words import read_stems

    assert {stem for name in find_facts(text).names for stem in name.stems} <= set(read_stems(text))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It is not open.", 1),
        ("It isn't open.", 1),
        ("It isn’t open.", 1),
        ("It is open.", 0),
        ("It never failed to open.", 2),
        ("It cannot open without a key.", 2),
        ("Nothing is open.", 1),
        ("A knotty notice.", 0),
        ("He was unable to open it.", 1),
    ],
)
def test_negations(text: str, count: int) -> None:
    assert find_facts(text).negations == count


def test_opposites_go_both_ways() -> None:
    for word, other in (("increased", "decreased"), ("rose", "fell"), ("open", "closed")):
        assert find_stem(other) in load_opposites()[find_stem(word)]
        assert find_stem(word) in load_opposites()[find_stem(other)]
    assert "tower" not in load_opposites()


HOSTILE = {
    "digits": "1",
    "commas": ",",
    "digits and commas": "1,",
    "groups": "123,",
    "points": "1.",
    "spaces": " ",
    "currencies": "$ ",
    "capitals": "Aa ",
    "names": "A of ",
    "denials": "not ",
    "numbers": "one ",
    "ranges": "1-",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_read_in_linear_time(unit: str) -> None:
    assert grows_evenly(partial(read_all, unit), 25_000)


def read_all(unit: str, size: int) -> Callable[[], object]:
    """Return what reads every fact of a text of a size."""
    text = f"1{unit * (size // len(unit))}x"

    def read() -> object:
        facts = find_facts(text)
        return facts.quantities, facts.days, facts.names, facts.negations

    return read


class Counted(str):
    """Text that counts the characters that were taken out of it."""

    taken = 0

    def __getitem__(self, place: Any) -> str:
        found = super().__getitem__(place)
        Counted.taken += len(found)
        return found


@pytest.mark.parametrize("text", ["The sky ", "( Sky\n", "Rome. "])
def test_names_are_found_in_one_pass(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counted, "taken", 0)
    whole = Counted(text * 2_000)
    facts._find_names(whole)
    assert 0 < Counted.taken < 10 * len(whole)


@given(st.text("Aa .!?:(«“\"'\n\r\t\u2028x", max_size=12))
def test_where_sentences_open(before: str) -> None:
    """As the words of the rule say it: nothing but openers before, or the end of a sentence."""
    opened = not before.rstrip(" \t\n\"'“«(").strip()
    ended = before.rstrip().endswith((".", "!", "?", ":"))
    assert facts._opens(f"{before}Word", len(before)) == (opened or ended)


def test_a_letter_with_a_long_small_form_moves_nothing() -> None:
    text = "İzmir got Twenty-five trams on 5 May 2020, NOT 30."
    facts = find_facts(text)
    assert [q.text for q in facts.quantities] == ["Twenty-five", "30"]
    assert [day.text for day in facts.days] == ["5 May 2020"]
    assert facts.negations == 1


@pytest.mark.parametrize(
    ("word", "value"), [("ten", 10.0), ("Half", 0.5), ("one", None), ("tower", None)]
)
def test_words_that_say_a_number(word: str, value: float | None) -> None:
    assert read_spelled(word) == value


def test_numbers_beyond_floats() -> None:
    huge = one("It has 1" + "0" * 400 + " rooms.")
    assert not same_quantity(huge, one("It has 5,000 rooms."))


@given(st.text(alphabet="0123456789.,-–$€% mkMay tonè‘'’\n", max_size=60))
def test_facts_never_fail(text: str) -> None:
    facts = find_facts(text)
    found: list[Quantity | Day | Name] = [*facts.quantities, *facts.days, *facts.names]
    for fact in found:
        assert text[fact.start : fact.end] == fact.text
