"""Judges of other packages: found by name, labelled by name and version, held to the contract."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from claimwise import check
from claimwise.cli.main import run
from claimwise.errors import PluginError, VerifierError
from claimwise.judges.judge import load_verifier
from claimwise.store import open_store
from support.copies import StoreCopies, add_demo
from support.packages import install_package

JUDGE = """
from claimwise.registry import Plugin
from claimwise.types.verdicts import ClaimVerdict, Scores

class Strict:
    version = "7"
    threshold = 0.5
    agreement = "100 % in our own opinion"

    def score_claims(self, claims, document):
        return [self.score(claim in document) for claim in claims]

    def score(self, found):
        return Scores(supports=float(found), contradicts=0.0, neither=1.0 - found)

    def judge_answer(self, claims, request):
        text = " ".join(source.source_text for source in request.sources)
        return [self.judge(claim, text) for claim in claims], []

    def judge(self, claim, text):
        found = claim.text in text
        return ClaimVerdict(claim=claim, verdict="supported" if found else "unlinked")

OWN = Plugin(description="looks for the very words", load=Strict)
"""
ANSWER = "Hello! The tower is 139 m tall. It is green."
SOURCE = "The tower is 139 m tall."

Install = Callable[[str], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    def add(code: str) -> None:
        install_package(monkeypatch, tmp_path, "acme", code, version="1.2", judges={"own": "OWN"})

    return add


def test_an_outside_judge_judges(install: Install) -> None:
    install(JUDGE)
    result = check(ANSWER, [SOURCE], verifier="own")
    assert result.verifier == "verifier:own-7"
    assert result.agreement is None, "whatever it says of itself, nobody here has measured it"
    assert [one.verdict for one in result.claims if one.claim.not_a_claim is None] == [
        "supported",
        "unlinked",
    ]
    assert {one.instrument for one in result.claims if one.verdict} == {"own"}
    assert load_verifier("own").score_claims(["x"], "y")[0] is not None


def test_an_outside_judge_runs_a_model_that_the_user_names(install: Install) -> None:
    install(
        JUDGE.replace("OWN = Plugin(", "def load_words(model):\n"
        "    judge = Strict()\n    judge.version = model.upper()\n    return judge\n\n"
        "OWN = Plugin(load_model=load_words, ")
    )  # fmt: skip
    result = check(ANSWER, [SOURCE], judge="own:words")
    assert result.verifier == "verifier:own:words-WORDS"
    assert load_verifier("own").labeler == "verifier:own-7"


@pytest.mark.parametrize("option", ["--verifier", "--judge"])
def test_check_finds_it_by_name(
    install: Install,
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(JUDGE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(ANSWER, encoding="utf-8")
    (tmp_path / "s.txt").write_text(SOURCE, encoding="utf-8")
    assert run(["check", "--answer", "a.txt", "--source", "s.txt", option, "own"]) == 0
    assert "judged by verifier:own-7" in capsys.readouterr().out
    both = ["--verifier", "lexical", "--judge", "own"]
    assert run(["check", "--answer", "a.txt", "--source", "s.txt", *both]) == 1
    assert "found --verifier and --judge" in capsys.readouterr().err
    assert run(["check", "--answer", "a.txt", "--source", "s.txt", "--judge", "gpt"]) == 1
    told = capsys.readouterr().err
    assert "nli, overlap, own" in told
    assert "--judge PROVIDER:MODEL" in told


def test_verify_stores_its_labels_under_its_name_and_version(
    install: Install, store_copies: StoreCopies, capsys: pytest.CaptureFixture[str]
) -> None:
    install(JUDGE)
    place = store_copies.copy("sqlite", add_demo)
    assert run(["verify", "--store", place, "--run", "baseline", "--judge", "own"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"the run baseline by verifier:own-7, agrees with people on \d[\d.]*% \(", out)
    with open_store(place) as opened:
        rows = opened.query(
            "select labeler_kind, version, model from labelers where labeler = 'verifier:own-7'"
        )
        [(labels,)] = opened.query("select count(*) from labels where labeler = 'verifier:own-7'")
    assert [tuple(row) for row in rows] == [("verifier", "7", "acme 1.2")]
    assert labels > 0


def test_verifiers_lists_it_without_figures(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(JUDGE)
    assert run(["verifiers", "own", "--format", "json"]) == 0
    [entry] = json.loads(capsys.readouterr().out)["verifiers"]
    assert entry["what"] == "looks for the very words (acme 1.2)"
    assert (entry["runs_here"], entry["figures"], entry["labeler"]) == (True, None, None)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('version = "7"', "version = 7", "found the judge's version 7, expected letters"),
        ('version = "7"', 'version = "7-b"', "found the judge's version '7-b'"),
        ("threshold = 0.5", "threshold = 2", "found the judge's threshold 2"),
        ("def score_claims", "def score", "the judge has no method score_claims"),
        ("in claims], []", "in claims[1:]], []", "one verdict per claim, in order"),
        ('"unlinked")', '"wrong")', "found the verdict 'wrong', expected one of supported"),
        ('"unlinked")', '"unlinked", confidence=7)', "found the confidence 7"),
        ('verdict="supported" if found else "unlinked"', "", "why it has none"),
        ('"unlinked")', '"unlinked", scores=Scores(supports=1, contradicts=1, neither=1))',
         "shares that add up to 1"),
        ('"unlinked")', '"unlinked", span=Span(source_id="x", start=0, end=1, text="a"))',
         "is not what the source has there"),
        ("found = claim.text in text", "found = 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_a_judge_that_breaks_the_contract_is_told_with_its_package(
    install: Install, old: str, new: str, told: str
) -> None:
    assert old in JUDGE
    install("from claimwise.types.verdicts import Span\n" + JUDGE.replace(old, new))
    with pytest.raises(
        PluginError, match=r"the judge “own” of acme 1\.2 does not work: "
    ) as caught:
        check(ANSWER, [SOURCE], verifier="own")
    assert told in str(caught.value)


def test_a_judge_that_lacks_something_says_what(install: Install) -> None:
    missing = "load=Strict, find_missing=lambda: 'pip install acme[model]'"
    install(JUDGE.replace("load=Strict", missing))
    with pytest.raises(VerifierError, match=r"can't run here: pip install acme\[model\]"):
        load_verifier("own")


def test_a_broken_judge_does_not_touch_the_others(install: Install) -> None:
    install("raise ImportError('no such luck')")
    assert check(ANSWER, [SOURCE], verifier="lexical").verifier == "verifier:lexical-7"
    assert run(["verifiers"]) == 0
