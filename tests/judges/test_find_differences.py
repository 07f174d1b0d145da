"""What speaks against a claim, and, above all, what does not."""

from __future__ import annotations

import pytest

import claimwise.judges.compare as comparing
from claimwise.judges.amounts import Amount, agree
from claimwise.judges.compare import FactDifference, find_differences, find_gap, find_reckoned
from claimwise.judges.evidence import EvidenceIndex, weigh_part
from judges.judged import make_source


def differ(claim: str, *texts: str) -> list[FactDifference]:
    index = EvidenceIndex([make_source(text, f"s{n}") for n, text in enumerate(texts)])
    part = weigh_part(claim, index)
    return find_differences(part, index, part.ranked[:6])


DIFFERENT = [
    # numbers and units
    (
        "The tower is 139 m tall.",
        "The tower is 200 m tall.",
        "number",
        "the source says 139 m, the claim 200 m",
    ),
    (
        "The drug cut mortality by 12% in 340 patients.",
        "The drug cut mortality by 21% in 340 patients.",
        "number",
        "the source says 12%, the claim 21%",
    ),
    (
        "The plan costs 12 euros a month for up to 3 users.",
        "The plan costs 15 euros a month.",
        "number",
        "the source says 12 euros, the claim 15 euros",
    ),
    (
        "Take 500 mg twice daily.",
        "Take 50 mg twice daily.",
        "number",
        "the source says 500 mg, the claim 50 mg",
    ),
    (
        "Take two tablets a day.",
        "Take three tablets a day.",
        "number",
        "the source says two, the claim three",
    ),
    (
        "The hotel has 120 rooms on 14 floors.",
        "The hotel has 16 floors.",
        "number",
        "the source says 14, the claim 16",
    ),
    (
        "Refunds are paid within 14 days.",
        "Refunds are paid within 30 days.",
        "number",
        "the source says 14 days, the claim 30 days",
    ),
    (
        "Delivery takes 3 to 5 working days.",
        "Delivery takes 7 to 10 working days.",
        "number",
        "the source says 3 to 5, the claim 7 to 10",
    ),
    (
        "Orders above 50 euros ship free.",
        "Orders above 30 euros ship free.",
        "number",
        "the source says 50 euros, the claim 30 euros",
    ),
    (
        "The library closes at 18:00 on weekdays.",
        "The library closes at 8 pm on weekdays.",
        "number",
        "the source says 18:00, the claim 8 pm",
    ),
    (
        "He served as the 34th president.",
        "He served as the 35th president.",
        "number",
        "the source says 34th, the claim 35th",
    ),
    (
        "The treaty was signed in 1984.",
        "The treaty was signed in 1986.",
        "number",
        "the source says 1984, the claim 1986",
    ),
    # dates
    (
        "Curie was born on 7 November 1867.",
        "Curie was born in 1869.",
        "number",
        "the source says 7 November 1867, the claim 1869",
    ),
    (
        "Curie was born on 7 November 1867.",
        "Curie was born on 9 November 1867.",
        "date",
        "the source says 7 November 1867, the claim 9 November 1867",
    ),
    (
        "Version 3.2 was released in May 2021.",
        "Version 3.2 was released in June 2021.",
        "date",
        "the source says May 2021, the claim June 2021",
    ),
    (
        "The bridge opened in 1931.",
        "The bridge opened on 3 May 1933.",
        "date",
        "the source says 1931, the claim 3 May 1933",
    ),
    # denials
    (
        "The drug is not recommended during pregnancy.",
        "The drug is recommended during pregnancy.",
        "denial",
        "the source denies what the claim says",
    ),
    (
        "The drug is recommended during pregnancy.",
        "The drug is not recommended during pregnancy.",
        "denial",
        "the claim denies what the source says",
    ),
    (
        "Gift cards cannot be returned.",
        "Gift cards can be returned.",
        "denial",
        "the source denies what the claim says",
    ),
    (
        "She has never lived in Spain.",
        "She has lived in Spain.",
        "denial",
        "the source denies what the claim says",
    ),
    (
        "Aspirin is no longer sold in Norway.",
        "Aspirin is sold in Norway.",
        "denial",
        "the source denies what the claim says",
    ),
    (
        "The plan includes phone support.",
        "The plan doesn't include phone support.",
        "denial",
        "the claim denies what the source says",
    ),
    (
        "The shop is large and does not sell bread.",
        "The shop sells bread.",
        "denial",
        "the source denies what the claim says",
    ),
    # opposites and names
    (
        "Sales rose 5% in March.",
        "Sales fell 5% in March.",
        "opposite",
        "the source says “rose”, the claim “fell”",
    ),
    (
        "The bridge was designed by Carl Holm.",
        "The bridge was designed by Anna Berg.",
        "name",
        "the source names Carl Holm, the claim Anna Berg",
    ),
    (
        "The meeting is on Monday.",
        "The meeting is on Tuesday.",
        "name",
        "the source names Monday, the claim Tuesday",
    ),
    (
        "Curie was born on 7 November 1867 in Warsaw.",
        "Curie was born in Paris.",
        "name",
        "the source names Warsaw, the claim Paris",
    ),
]


@pytest.mark.parametrize(("told", "claim", "kind", "words"), DIFFERENT)
def test_a_difference_is_named(told: str, claim: str, kind: str, words: str) -> None:
    assert (kind, words) in {(d.kind, d.words) for d in differ(claim, told)}


ALIKE = [
    # the same in other figures
    ("The river is 1390 m wide.", "The river is 1.39 km wide."),
    ("The trail is 5 miles long.", "The trail is 8 km long."),
    ("The tower is 139 m tall.", "The tower is about 140 m tall."),
    ("Refunds are paid within 14 days.", "Refunds are paid within two weeks."),
    ("The library closes at 18:00.", "The library closes at 6 pm."),
    ("Take 500 mg twice daily.", "Take 0.5 g twice daily."),
    ("Mount Ora is 8,848.86 metres high.", "Mount Ora is 8,849 m high."),
    ("Iceland has 372,520 inhabitants.", "Iceland has nearly 373,000 inhabitants."),
    ("Revenue was $1,234,567 in 2021.", "Revenue was about $1.2 million in 2021."),
    ("Revenue was $2.1m in 2021.", "Revenue was $2.1 million in 2021."),
    ("The house has 25 rooms.", "The house has twenty-five rooms."),
    # bounds and ranges
    ("The company has 120 employees.", "The company has more than 100 employees."),
    ("The company has more than 100 employees.", "The company has 120 employees."),
    ("Virgin runs 136 clubs.", "Virgin runs over 130 clubs."),
    ("Delivery takes 3 to 5 days.", "Delivery takes 4 days."),
    ("Delivery takes 4 days.", "Delivery takes between 3 and 5 days."),
    ("The battery lasts at least 10 hours.", "The battery lasts 12 hours."),
    ("The battery lasts up to 10 hours.", "The battery lasts 8 hours."),
    ("The treaty was signed in the 1980s.", "The treaty was signed in 1984."),
    # numbers of different things
    ("The 52-year-old is wanted for 22 crimes.", "The man, 52, is wanted for 22 crimes."),
    (
        "The Gold Button is awarded at 1 million subscribers.",
        "The Silver Button comes at 100,000 subscribers, the Gold Button at 1 million subscribers.",
    ),
    ("The tower, 300 m from the station, is tall.", "The tower is 139 m tall."),
    ("COVID-19 vaccines were given to nurses.", "The vaccines were given to 40 nurses."),
    ("The flat has 3 bedrooms and 2 bathrooms.", "The flat has 2 bathrooms."),
    ("The fee is 5 euros for adults and 3 euros for children.", "The fee for children is 3 euros."),
    ("The plan costs 12 euros a month or 120 euros a year.", "The plan costs 120 euros a year."),
    ("He joined at 19 and scored 21 goals in 2003.", "He scored 21 goals."),
    ("Curie, 66, died in 1934.", "Curie died in 1934 at the age of 66."),
    ("He played for the under-21 team.", "He played for the under-19 and under-21 teams."),
    # dates
    ("Curie was born on 7 November 1867.", "Curie was born in 1867."),
    ("Curie was born on 7 November 1867.", "Curie was born on November 7, 1867."),
    ("Douglas (1898–1980) was a judge.", "Douglas, born on 16 October 1898, was a judge."),
    (
        "It launched worldwide on March 6, 2019.",
        "It aired on March 4, 2019 and launched worldwide on March 6, 2019.",
    ),
    (
        "Reagan nominated O'Connor on August 19, 1981, a promise from 1980.",
        "O'Connor was nominated by Reagan in 1981.",
    ),
    # denials of something else
    (
        "The drug is recommended for adults, but it should not be taken with alcohol.",
        "The drug is recommended for adults.",
    ),
    (
        "The warranty covers parts and labour, without extra charge.",
        "The warranty covers parts and labour.",
    ),
    ("Not only did revenue grow, it doubled in Europe.", "Revenue doubled in Europe."),
    (
        "Gold and platinum dissolve in aqua regia but silver does not.",
        "Gold dissolves in aqua regia.",
    ),
    ("It is not unusual for runners to have a slow heart rate.", "Runners have a slow heart rate."),
    (
        "The slayer rule stops a person inheriting (so that a murderer cannot inherit).",
        "The slayer rule stops a person inheriting.",
    ),
    (
        "Castro scored one of the goals of the season but it wasn't enough.",
        "Castro scored one of the goals of the season.",
    ),
    ("Employees are prohibited from smoking.", "Employees are not allowed to smoke."),
    ("There is no charge for returns.", "Returns are free of charge."),
    ("Gift cards can't be returned.", "Gift cards cannot be returned."),
    (
        "The museum sells tickets online and does not sell them at the desk.",
        "The museum sells tickets online.",
    ),
    ("The shop is large and does not sell bread.", "The shop is large."),
    # opposites that are none
    ("Sales increased in the north and decreased in the south.", "Sales decreased in the south."),
    ("The museum is open daily except Monday.", "The museum is closed on Monday."),
    ("The shop is not open on Sunday.", "The shop is closed on Sunday."),
    ("Millions pay more while millionaires pay less.", "Millionaires pay less."),
    # names
    (
        "The bridge was designed by Carl Holm, who worked with Anna Berg.",
        "The bridge was designed with Anna Berg.",
    ),
    ("The World Health Organization approved it.", "It was approved by WHO."),
    ("Water boils at 100 °C at sea level.", "Water boils at 212 °F at sea level."),
    ("He lives in a Chinese village.", "He lives in a village in China."),
    # other things altogether
    ("The council closed the bridge in 1990.", "The tower is 200 m tall."),
    ("", "The tower is 200 m tall."),
]


@pytest.mark.parametrize(("told", "claim"), ALIKE)
def test_no_difference_is_made_up(told: str, claim: str) -> None:
    assert differ(claim, told) == []


def test_another_sentence_of_the_source_may_give_the_number() -> None:
    text = "The tower is 120 m tall without its mast. The tower is 139 m tall with its mast."
    assert differ("The tower is 139 m tall.", text) == []


def test_every_source_is_compared_by_itself() -> None:
    found = differ(
        "The tower is 139 m tall.", "The tower is 139 m tall.", "The tower is 150 m tall."
    )
    assert [(d.position, d.words) for d in found] == [(1, "the source says 150 m, the claim 139 m")]


def test_reckoning_says_what_is_the_same() -> None:
    def reckon(claim: str, told: str) -> str | None:
        index = EvidenceIndex([make_source(told)])
        return find_reckoned(weigh_part(claim, index), index, 0)

    told = "The library closes at 18:00."
    assert reckon("The library closes at 6 pm.", told) == (
        "the span holds the claim's words, and 18:00 is 6 pm"
    )
    assert reckon("The mill has 1930 rooms.", "The mill has 1,930 rooms.") == (
        "the span holds the claim's words, and 1,930 is 1930"
    )
    assert reckon("The mill has 1930 rooms.", "The mill has 1,940 rooms.") is None
    assert reckon("The library closes at 18:00.", told) is None  # nothing to reckon
    assert reckon("The library closes at 7 pm.", told) is None
    assert reckon("The library never closes at 6 pm.", told) is None
    assert reckon("The old library closes at 6 pm.", told) is None  # "old" is not in the span


@pytest.mark.parametrize(
    ("claim", "covered", "uncovered"),
    [
        (
            "The tower is 139 m tall and was painted by Italian monks.",
            "The tower is 139 m tall",
            "painted by Italian monks",
        ),
        (
            "The tower, which Turner painted, is 139 m tall.",
            "The tower … is 139 m tall",
            "Turner painted",
        ),
        ("The tower is 139 m tall and films in 4K.", "The tower is 139 m tall", "films in 4K"),
        ("The tower is 139 m tall and in the U.S.", "The tower is 139 m tall", "U.S"),
        # “men” is no part of “women”, and “Ghent and Bruges” are two.
        ("The tower is tall for women and men.", "The tower is tall", "women and men"),
        ("Tower of Ghent and Bruges", "Tower", "Ghent and Bruges"),
    ],
)
def test_what_is_not_covered(claim: str, covered: str, uncovered: str) -> None:
    index = EvidenceIndex([make_source("The tower is 139 m tall.")])
    gap = find_gap(weigh_part(claim, index), index, [0])
    assert gap is not None
    assert (gap.covered, gap.uncovered) == (covered, uncovered)


def test_no_gap_where_every_word_is_covered() -> None:
    index = EvidenceIndex([make_source("The tower is 139 m tall.")])
    assert find_gap(weigh_part("The tower is tall.", index), index, [0]) is None


def test_a_gap_in_an_enumeration_of_names() -> None:
    index = EvidenceIndex([make_source("Trams run in Ghent. Women ride them.")])
    gap = find_gap(weigh_part("Trams run in Ghent and Bruges.", index), index, [0])
    assert gap is not None
    assert (gap.covered, gap.uncovered) == ("Trams run in Ghent", "Bruges")
    gap = find_gap(weigh_part("Women and men ride them.", index), index, [1])
    assert gap is not None
    assert (gap.before, gap.uncovered, gap.after) == ("Women and ", "men", " ride them.")


def test_a_source_is_asked_once_for_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons grow with the sentences that are alike, not with their square."""
    compared = 0

    def count(claimed: Amount, told: Amount) -> bool:
        nonlocal compared
        compared += 1
        return agree(claimed, told)

    def compare(sentences: int) -> int:
        nonlocal compared
        compared = 0
        text = " ".join(f"The hall of wing {n}A has {n + 100} rooms." for n in range(sentences))
        index = EvidenceIndex([make_source(text)])
        part = weigh_part("The hall has 900 rooms.", index)
        assert len(find_differences(part, index, range(sentences))) >= sentences
        return compared

    monkeypatch.setattr(comparing, "agree", count)
    few, many = compare(10), compare(40)
    assert few > 0
    assert many <= 5 * few
