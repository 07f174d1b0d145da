"""The worked examples of the documentation, run through the real command with the real verifier."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from claimwise.cli.main import run

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "docs/examples"
PAGE = (ROOT / "docs/worked-examples.md").read_text("utf-8")


class Claim(NamedTuple):
    """What must come out for one claim; a span of None means that there is none."""

    wording: str
    verdict: str
    span: str | None
    reason: str = ""


def right(wording: str, span: str) -> Claim:
    return Claim(wording, "supported", span)


NUMBER = [
    Claim(
        "The Nordvik A2 carries loads of up to 180 kg.",
        "contradicted",
        "The Nordvik A2 carries loads of up to 120 kg, the rider not included.",
        "the source says 120 kg, the claim 180 kg",
    ),
    right(
        "The Nordvik A2's battery lasts about 60 km on a full charge.",
        "The battery lasts about 60 km on a full charge in flat country.",
    ),
]
DATE = [
    Claim(
        "Support for version 4 ends on 30 June 2027.",
        "contradicted",
        "Support for version 4 ends on 31 January 2027.",
        "the source says 31 January 2027, the claim 30 June 2027",
    ),
    right("Version 5 was released in March 2025.", "Version 5 was released in March 2025."),
]
NAME = [
    Claim(
        "The bridge was designed by Ingrid Solberg.",
        "contradicted",
        "The bridge was designed by Marta Lindqvist, who\nhad built the harbour hall before.",
        "the source names Marta Lindqvist, the claim Ingrid Solberg",
    ),
    right("The bridge was opened by Mayor Tomas Berg.", "It was opened by Mayor Tomas Berg"),
]
STALE = [
    Claim(
        "A single ticket costs 2.40 euros.",
        "stale",
        "A single ticket costs 2.40 euros.",
        "fares-2026 has replaced it",
    ),
    right("Children under six travel free of charge.", "Children under six travel free of charge."),
]
ACTION = [
    Claim("I have refunded your order 5512.", "unlinked", None, "none of the 2 entries"),
    right(
        "I have opened ticket 80417 for the carrier.",
        "2026-11-14T10:02:40Z opened ticket 80417 for the carrier",
    ),
    right(
        "Refunds reach your account within five working days.",
        "Refunds reach your account within five working days.",
    ),
]
EXPECTED: dict[str, list[Claim]] = {
    "number": NUMBER,
    "date": DATE,
    "name": NAME,
    "negation": [
        Claim(
            "The warranty covers water damage.",
            "contradicted",
            "The warranty does not cover water damage.",
            "the source denies what the claim says",
        ),
        right("The warranty does not cover scratches.", "The warranty does not cover scratches."),
    ],
    "overreach": [
        right(
            "Members can borrow up to ten books for four weeks.",
            "Members can borrow up to ten books for four weeks.",
        ),
        Claim(
            "Members can borrow films for two weeks, with free return at any branch in Europe.",
            "overreach",
            "Members can borrow films for two weeks.",
            "not “free return at any branch in Europe”",
        ),
    ],
    "stale": STALE,
    "action": ACTION,
    "paraphrase": [
        right(
            "Employees may work from home on as many as three days each week.",
            "Staff are allowed to work remotely up to three days a week",
        ),
        right(
            "New staff have to be in the office during their first month.",
            "During the first month, new employees must come to the office every day.",
        ),
    ],
    "long-source": [
        Claim(
            "A laptop that is lost must be reported to the service desk within four hours.",
            "contradicted",
            "A lost or stolen laptop must be reported to the service desk within 24 hours, "
            "day or night.",
            "the source says 24 hours, the claim four hours",
        ),
        Claim(
            "Travel expenses have to be handed in within 90 days of the trip.",
            "contradicted",
            "Travel expenses have to be handed in within 30 days of the trip, with all receipts.",
            "the source says 30 days, the claim 90 days",
        ),
        right(
            "The canteen is open from half past eleven.",
            "The canteen at the main site is open from half past eleven to two.",
        ),
    ],
    "units": [
        right("The trail is 12 km long.", "The Storfjell trail is 12,000 metres long"),
        right(
            "The walk takes about 3 hours.", "The walk takes about 180 minutes at an\neasy pace."
        ),
        Claim(
            "The climb is 850 m.",
            "contradicted",
            "The climb is 450 metres, most of it in the last third.",
            "the source says 450 metres, the claim 850 m",
        ),
    ],
    "conflict": [
        right("The museum is closed on Mondays.", "The museum is closed on Mondays."),
        right("Entry costs 14 euros.", "Entry costs 14 euros."),
    ],
    "compound": [
        right("The library was founded in 1921", "The town library was founded in 1921"),
        Claim(
            "The library moved to Harbour Street in 1995.",
            "contradicted",
            "The library moved to Harbour Street in 1978, when the old building had become too "
            "small.",
            "the source says 1978, the claim 1995",
        ),
    ],
    "list": [
        right("Ana Lind, Harbour Larks: total points 1930", "Total points: 1930"),
        Claim(
            "Ana Lind, Harbour Larks: assists 301",
            "contradicted",
            "  - Total points: 1930\n  - Assists: 486",
            "the source says 486 here, the claim 301, which the source gives for “Bo Sund",
        ),
        right("Bo Sund, Valley Foxes: total points 2370", "Total points: 2370"),
        Claim(
            "Bo Sund, Valley Foxes: assists 486",
            "contradicted",
            "  - Total points: 2370\n  - Assists: 301",
            "the source says 301 here, the claim 486, which the source gives for “Ana Lind",
        ),
    ],
    "table": [
        right("Basic: price €5", "Basic | €5 | 10 GB"),
        right("Basic: storage 10 GB", "Basic | €5 | 10 GB"),
        Claim(
            "Team: price €5",
            "contradicted",
            "Team | €12 | 100 GB",
            "the source says €12 here, the claim €5, which the source gives for “Basic”",
        ),
        right("Team: storage 100 GB", "Team | €12 | 100 GB"),
    ],
    "refusal": [],
    "language": [
        Claim(
            "Der Turm ist 200 Meter hoch.",
            "contradicted",
            "Der Turm ist 139 Meter hoch und steht am Ufer des Sees.",
            "the source says 139 Meter, the claim 200 Meter",
        ),
        right("Der Turm wurde im Jahr 1999 eröffnet.", "Der Turm wurde im Jahr 1999 eröffnet."),
    ],
}
# What the page lists under “What it gets wrong”: the verdict that would be right, and what comes.
MISTAKES = {
    "swapped": ("contradicted", "supported"),
    "sum": ("supported", "contradicted"),
    "pronoun": ("contradicted", "unlinked"),
    "knowledge": ("supported", "unlinked"),
}


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run an example as the page shows it; return the JSON."""

    def call(name: str, verifier: str = "embedded") -> dict[str, Any]:
        monkeypatch.chdir(EXAMPLES / name)
        capsys.readouterr()
        typed = find_command(name)
        assert run([*typed, "--verifier", verifier, "--format", "json"]) == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    return call


def find_command(name: str) -> list[str]:
    """Return the arguments that the page's block for an example shows."""
    [block] = re.findall(
        rf'pages\.write_example\("{name}"\) .*?\$ claimwise (check [^\n]+)\n', PAGE, re.DOTALL
    )
    return str(block).split()


def compare(document: dict[str, Any], expected: list[Claim]) -> None:
    claims = [c for c in document["claims"] if c["claim_type"] != "non_factual"]
    assert [c["wording"] for c in claims] == [claim.wording for claim in expected]
    for found, claim in zip(claims, expected, strict=True):
        assert found["verdict"] == claim.verdict, (claim.wording, found["reason"])
        assert claim.reason in found["reason"]
        assert document["answer"][found["start"] : found["end"]] == found["text"]
        compare_span(found["span"], claim)


def compare_span(span: dict[str, Any] | None, claim: Claim) -> None:
    """A planted error shows just its sentence; a right claim may show a neighbour too."""
    if claim.span is None:
        assert span is None
        return
    assert span is not None
    if claim.verdict == "supported":
        assert claim.span in span["text"]
        assert len(span["text"]) < 200
    else:
        assert span["text"] == claim.span


@pytest.mark.parametrize("name", EXPECTED)
def test_planted_errors_are_found_and_right_claims_are_not_blamed(check: Any, name: str) -> None:
    document = check(name)
    assert document["verifier"].startswith("verifier:embedded-")
    compare(document, EXPECTED[name])


@pytest.mark.parametrize("name", ["number", "date", "stale", "action", "negation", "language"])
def test_the_lexical_tier_finds_them_too(check: Any, name: str) -> None:
    document = check(name, "lexical")
    assert document["verifier"].startswith("verifier:lexical-")
    compare(document, EXPECTED[name])


def test_a_wrong_name_is_unlinked_to_the_lexical_tier(check: Any) -> None:
    """Without the encoder another name is no contradiction; the reason names what is missing."""
    wrong, fine = NAME
    flagged = wrong._replace(verdict="unlinked", span=None, reason="but not “Ingrid”, “Solberg”")
    compare(check("name", "lexical"), [flagged, fine])


@pytest.mark.parametrize("name", EXPECTED)
def test_spans_stand_where_they_say(check: Any, name: str) -> None:
    for claim in check(name)["claims"]:
        span = claim["span"]
        if span is None:
            continue
        text = read_source(name, span["source_id"])
        assert text[span["start"] : span["end"]] == span["text"]


def read_source(name: str, source_id: str) -> str:
    folder = EXAMPLES / name
    if (folder / source_id).is_file():
        return (folder / source_id).read_text("utf-8")
    rows = folder / "sources.jsonl"
    if rows.is_file():
        found = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
        return next(str(row["source_text"]) for row in found if row["source_id"] == source_id)
    return (folder / "actions.txt").read_text("utf-8").splitlines()[int(source_id) - 1]


def test_disagreeing_sources_are_both_shown(check: Any) -> None:
    [_, entry] = check("conflict")["claims"]
    [other] = entry["conflicts"]
    assert (entry["span"]["source_id"], other["source_id"]) == ("website.md", "leaflet.md")
    assert other["text"] == "Entry costs 12 euros."
    [ticket, _] = check("stale")["claims"]
    assert [c["text"] for c in ticket["conflicts"]] == ["A single ticket costs 2.90 euros."]


def test_overreach_names_what_goes_beyond(check: Any) -> None:
    assert check("overreach")["claims"][1]["exceeds"] == "free return at any branch in Europe"


def test_a_refusal_has_no_rate(check: Any) -> None:
    document = check("refusal")
    assert (document["rate"], document["judged"]) == (None, 0)
    assert "it is a refusal" in document["warnings"][0]


def test_another_language_is_not_read_by_the_encoder(check: Any) -> None:
    document = check("language")
    assert {claim["instrument"] for claim in document["claims"]} == {"lexical"}
    assert "the encoder reads English only" in document["warnings"][0]


def test_the_long_source_is_long_and_its_sentences_stand_inside(check: Any) -> None:
    text = (EXAMPLES / "long-source/handbook.md").read_text("utf-8")
    assert len(text.split()) >= 2000
    places = [claim["span"]["start"] / len(text) for claim in check("long-source")["claims"]]
    assert all(0.25 < place < 0.8 for place in places)


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_still_made(check: Any, name: str) -> None:
    """One that is fixed belongs in the upper part of the page."""
    wanted, comes = MISTAKES[name]
    [claim] = check(name)["claims"]
    assert wanted != comes
    assert claim["verdict"] == comes, f"{name} comes out right now: move it up"


def test_page_folder_and_test_name_the_same_examples() -> None:
    upper, _, lower = PAGE.partition("## What it gets wrong")
    shown = re.compile(r'pages\.write_example\("([\w-]+)"\)')
    assert shown.findall(upper) == list(EXPECTED)
    assert shown.findall(lower) == list(MISTAKES)
    assert {path.name for path in EXAMPLES.iterdir()} - {"agreement", "ci", "drift", "traffic"} == {
        *EXPECTED,
        *MISTAKES,
    }
    assert len(EXPECTED) >= 12
    assert len(MISTAKES) >= 2


def test_readme_shows_what_is_printed() -> None:
    """The README's first block is the start of the first example's output."""
    readme = (ROOT / "README.md").read_text("utf-8")
    shown, *_ = re.findall(
        r"^\$ claimwise check [^\n]+\n(.+?)\n```", readme, re.MULTILINE | re.DOTALL
    )
    assert shown in PAGE
    assert find_command("number") == ["check", "--answer", "answer.txt", "--source", "manual.md"]
    assert "$ claimwise check --answer answer.txt --source manual.md\n" in readme
