"""What probabilities of several windows make together, and the verdict they lead to."""

from __future__ import annotations

from datetime import date

import pytest

from claimwise.judges.open_models.scored_claims import combine_windows, decide_scored
from claimwise.judges.open_models.windows import SourceWindows, Window, count_words
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, ClaimVerdict, Scores

TODAY = date(2026, 11, 16)
CLAIM = "Adults pay 5 euros."
SOURCES = (
    Source(
        source_id="old",
        corpus_ver="v1",
        source_text="Adults pay 5 euros. Dogs are free.",
        valid_until=date(2020, 1, 1),
    ),
    Source(source_id="new", corpus_ver="v1", source_text="Cats are free. Adults pay 7 euros."),
)
OLD, NEW = Window(0, 0, 34), Window(1, 0, 34)


def score(supports: float, contradicts: float) -> Scores:
    return Scores(supports=supports, contradicts=contradicts, neither=1 - supports - contradicts)


def judge(*found: tuple[Window, Scores]) -> ClaimVerdict:
    windows = SourceWindows(SOURCES, count_words)
    scored = combine_windows(found, SOURCES, 0.5, TODAY)
    claim = AnswerClaim(text=CLAIM, start=0, end=len(CLAIM), wording=CLAIM)
    return decide_scored(claim, scored, 0.5, windows, TODAY)


def test_one_window_that_supports_is_enough() -> None:
    verdict = judge((OLD, score(0.1, 0.8)), (NEW, score(0.7, 0.1)))
    assert verdict.scores is not None
    assert (verdict.verdict, verdict.confidence) == ("supported", 0.7)
    parts = verdict.scores.supports, verdict.scores.contradicts, verdict.scores.neither
    assert parts == pytest.approx((0.7, 0.3, 0.0)), "the contradiction counts as far as it can"
    assert verdict.span is not None
    assert (verdict.span.source_id, verdict.span.text) == ("new", "Adults pay 7 euros.")


def test_a_source_that_holds_goes_before_one_that_does_not() -> None:
    assert judge((OLD, score(0.9, 0.0)), (NEW, score(0.6, 0.0))).verdict == "supported"
    stale = judge((OLD, score(0.9, 0.0)), (NEW, score(0.4, 0.0)))
    assert stale.verdict == "stale"
    assert "it held only until 2020-01-01" in stale.reason


def test_contradicted_names_the_window_that_says_otherwise() -> None:
    verdict = judge((OLD, score(0.3, 0.1)), (NEW, score(0.2, 0.6)))
    assert (verdict.verdict, verdict.confidence) == ("contradicted", 0.6)
    assert verdict.span is not None
    assert verdict.span.source_id == "new"


def test_else_it_is_unlinked_and_rests_on_nothing() -> None:
    verdict = judge((OLD, score(0.3, 0.1)), (NEW, score(0.2, 0.4)))
    assert (verdict.verdict, verdict.span) == ("unlinked", None)
    assert "highest probability of support is 30%" in verdict.reason
    assert judge().scores == Scores(supports=0.0, contradicts=0.0, neither=1.0)
