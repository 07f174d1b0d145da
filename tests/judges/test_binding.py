"""Whose value is whose: swapped values are contradicted, their true twins stay supported."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from claimwise.judges.binding import find_misbinding
from claimwise.judges.embedded import EmbeddedVerifier
from claimwise.judges.evidence import EvidenceIndex, weigh_part
from claimwise.judges.reading import Term
from judges.judged import judge, make_source
from support.growth import grows_evenly

FARES = "Tickets cost 12 euros for adults and 5 euros for children."
TOWERS = "The Kestrel Tower is 139 m tall. The Heron Tower is 87 m tall and opened in 1940."
DESIGNERS = "The bridge was designed by Anna Berg and the tunnel by Carl Holm."
OPENINGS = "Alpha Hall opened on 3 May 1931 and Beta Hall on 7 June 1940."
SCORES = "Lindqvist scored 1,930 points and Sundgren 2,370."
TABLE = """| Player | Team | Points | Assists |
|---|---|---|---|
| Ana Lindqvist | Harbour Larks | 1,930 | 486 |
| Bo Sundgren | Valley Foxes | 2,370 | 700 |
"""
JSON = (
    '[{"name": "Ana Lindqvist", "team": "Harbour Larks", "points": 1930, "assists": 486},'
    ' {"name": "Bo Sundgren", "team": "Valley Foxes", "points": 2370, "assists": 700}]'
)
CSV = (
    "name,team,points,assists\nAna Lindqvist,Harbour Larks,1930,486\n"
    "Bo Sundgren,Valley Foxes,2370,700\n"
)
ITEMS = "- Ana Lindqvist: 1930 points, 486 assists\n- Bo Sundgren: 2370 points, 700 assists\n"
NESTED = (
    "- Ana Lindqvist\n  - Points: 1930\n  - Assists: 486\n"
    "- Bo Sundgren\n  - Points: 2370\n  - Assists: 700\n"
)
PRONOUN = "The Kestrel Tower opened in 1931. It is 139 m tall. The Heron Tower is 87 m tall."
REGIONS = "Sales in the coastal region grew by 11%, while those in the western region by 2%."
FERRY = "At 118 m, Plover Tower can be seen from the ferry. At 61 m, Heron Tower can be seen too."
WEIR = (
    "Miller Bridge crosses the river. It was inaugurated on 21 March 1968. "
    "Station Bridge crosses the canal. It was inaugurated on 3 May 1931."
)
SEASON = (
    "Ana Lind scored 1,930 points and gave 486 assists this season. "
    "Mia Sund scored 2,370 points but gave only 311 assists."
)
CLUBS = (
    "Ana Lind joined the Larks in 2015. She scored 1930 points this season. "
    "Mia Sund came from the Gulls. She scored 2370 points."
)
BOTH = pytest.mark.parametrize("tier", ["lexical", "embedded"])

SWAPPED = [
    (FARES, "Adults pay 5 euros and children pay 12 euros."),
    (FARES, "Adults pay 5 euros."),
    (FARES, "Adults: 5"),
    (FARES, "A ticket costs 12 euros for children."),
    (TOWERS, "The Heron Tower is 139 m tall."),
    (TOWERS, "The Kestrel Tower has a height of 87 m."),
    (PRONOUN, "The Heron Tower is 139 m tall."),
    (DESIGNERS, "The tunnel was designed by Anna Berg."),
    (DESIGNERS, "Carl Holm designed the bridge."),
    (OPENINGS, "Beta Hall opened on 3 May 1931."),
    (OPENINGS, "Beta Hall opened in 1931."),
    (SCORES, "Sundgren scored 1,930 points."),
    (REGIONS, "In the western region, sales grew 11%."),
    (FERRY, "The height of the Heron Tower is 118 m."),
    (TOWERS, "How tall is the Heron Tower? It is 139 m tall."),
    (WEIR, "On 21 March 1968, Station Bridge was inaugurated."),
    # A second clause leaves out its subject.
    (SEASON, "Mia Sund gave 486 assists."),
    (SEASON, "Ana Lind gave 311 assists."),
    # “She” is who opens the sentence before, and no club.
    (CLUBS, "Ana Lind scored 2370 points."),
    (CLUBS, "Mia Sund scored 1930 points."),
]
RECORDS = {"table": TABLE, "JSON": JSON, "CSV": CSV, "items": ITEMS, "nested list": NESTED}
SWAPPED_RECORDS = [
    "Ana Lindqvist scored 2370 points.",
    "Bo Sundgren: total points 1930",
    "Lindqvist had 700 assists.",
    "Lindqvist had 486 points.",
]


@BOTH
@pytest.mark.parametrize(("told", "claim"), SWAPPED)
def test_swapped_values_are_contradicted(told: str, claim: str, tier: str) -> None:
    found = judge(claim, "The weather was fine. " + told, tier=tier)
    assert found.verdict == "contradicted"
    assert found.scores is not None
    assert found.scores.supports < 0.2


@pytest.mark.parametrize("claim", SWAPPED_RECORDS)
@pytest.mark.parametrize("told", RECORDS.values(), ids=RECORDS)
def test_swapped_values_of_records_are_contradicted(told: str, claim: str) -> None:
    assert judge(claim, told).verdict == "contradicted"


def test_the_reason_names_both_values_and_whose_the_claimed_one_is() -> None:
    found = judge("Adults pay 5 euros.", FARES)
    assert found.reason == (
        "the source says 12 euros here, the claim 5 euros, which the source gives for “children”"
    )
    row = judge("Bo Sundgren plays for the Harbour Larks.", TABLE)
    assert row.reason == (
        "the source says Valley Foxes here, the claim Harbour Larks, "
        "which the source gives for “Ana Lindqvist”"
    )
    assert row.span is not None
    assert row.span.text == "Bo Sundgren | Valley Foxes | 2,370 | 700"


TRUE = [
    (FARES, "Adults pay 12 euros and children pay 5 euros."),
    (FARES, "For children, the ticket costs 5 euros."),
    (FARES, "12 € for adults"),
    (FARES, "Adults: 12"),
    (TOWERS, "The Heron Tower is 87 m tall."),
    (TOWERS, "The Kestrel Tower has a height of 139 m."),
    (DESIGNERS, "Carl Holm designed the tunnel."),
    (DESIGNERS, "The bridge was designed by Anna Berg."),
    (OPENINGS, "Beta Hall opened in 1940."),
    (SCORES, "Sundgren scored 2,370 points."),
    (SCORES, "Lindqvist scored 1,930 points, fewer than Sundgren."),
    (REGIONS, "In the western region, sales grew 2%."),
    (TOWERS, "How tall is the Heron Tower? It is 87 m tall."),
    (WEIR, "On 3 May 1931, Station Bridge was inaugurated."),
    (
        "Bo Sundgren ended with 2,370 points. Mira Castell scored 856 points.",
        "Bo Sundgren scored 2,370 points.",
    ),
    (SEASON, "Mia Sund gave 311 assists."),
    (SEASON, "Ana Lind gave 486 assists."),
    (CLUBS, "Ana Lind scored 1930 points."),
    (CLUBS, "Mia Sund scored 2370 points."),
]
TRUE_RECORDS = [
    "Ana Lindqvist scored 1930 points.",
    "Bo Sundgren: total points 2,370, assists 700",
    "Lindqvist had 486 assists.",
]


@BOTH
@pytest.mark.parametrize(("told", "claim"), TRUE)
def test_true_twins_stay_supported(told: str, claim: str, tier: str) -> None:
    assert judge(claim, told, tier=tier).verdict == "supported"


@pytest.mark.parametrize("claim", TRUE_RECORDS)
@pytest.mark.parametrize("told", RECORDS.values(), ids=RECORDS)
def test_true_twins_of_records_stay_supported(told: str, claim: str) -> None:
    assert judge(claim, told).verdict == "supported"


UNSURE = [
    # The attribute is said in another word: nothing of it is another value's.
    ("The tower is 139 m tall and 40 m wide.", "The tower's width is 40 m."),
    # What is counted differs.
    ("Police shot a man who killed seven after losing two games.", "He killed seven over games."),
    # “Respectively” ties words and values in another way.
    (
        "Adults and children pay 12 and 5 euros respectively.",
        "Adults pay 12 euros.",
    ),
    ("Employees get 25 days of leave, managers get 30 days.", "Employees get 25 days."),
    # Either may be “she”.
    (
        "Ana Lind met Mia Sund in 2015. She scored 1930 points. Eva Holm scored 900 points.",
        "Mia Sund scored 1930 points.",
    ),
    # A clause with a subject of its own.
    (
        "Ana Lind scored 1,930 points and the team won 12 titles. The Gulls won 9 titles.",
        "The team won 12 titles.",
    ),
]


@pytest.mark.parametrize(("told", "claim"), UNSURE)
def test_where_it_is_not_sure_the_verdict_is_as_without_the_rule(told: str, claim: str) -> None:
    free = EmbeddedVerifier(None, binds_values=False)
    bound, plain = judge(claim, told), judge(claim, told, tier=free)
    assert (bound.verdict, bound.reason) == (plain.verdict, plain.reason)
    assert bound.scores == plain.scores


def test_without_the_rule_a_swap_is_supported() -> None:
    free = EmbeddedVerifier(None, binds_values=False)
    assert judge("Adults pay 5 euros.", FARES, tier=free).verdict == "supported"


@BOTH
@pytest.mark.parametrize("title", ["collection", "The depot is open daily", "Daily"])
def test_a_title_never_turns_a_verdict(title: str, tier: str) -> None:
    text = "Parcels can be collected at the depot in Mill Lane. It is closed on Sundays."
    claim = "The depot is open daily."
    plain = judge(claim, make_source(text), tier=tier)
    titled = judge(claim, make_source(text, title=title), tier=tier)
    assert (titled.verdict, titled.scores) == (plain.verdict, plain.scores)


def test_a_claim_of_many_dates_takes_time_in_proportion() -> None:
    """A claim of 1,600 dates once took 45 seconds."""
    index = EvidenceIndex([make_source(OPENINGS)])

    def work(size: int) -> Callable[[], object]:
        claim = weigh_part("Beta Hall opened on 7 June 1940 and " * size, index)
        return partial(find_misbinding, claim, index)

    assert grows_evenly(work, 60)


def test_words_are_read_only_beside_values_of_one_kind() -> None:
    told = "Adults pay 12 euros. The adults' tour is 7 km long. A visit takes adults 3 hours."
    index = EvidenceIndex([make_source(told)])
    assert find_misbinding(weigh_part("Adults pay 12 euros.", index), index) is None
    assert not any("words" in vars(sentence) for sentence in index.sentences)


def test_names_of_columns_and_owners_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def keep(text: str) -> tuple[Term, ...]:
        read.append(text)
        return ()

    monkeypatch.setattr("claimwise.judges.holders._read_terms", keep)
    index = EvidenceIndex([make_source(TABLE)])
    for position in range(len(index.sentences)):
        index.hold_values(position)
    assert len(read) == len(set(read)) > 4
