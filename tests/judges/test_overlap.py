"""The baseline: counting words."""

from __future__ import annotations

from claimwise.judges.overlap import OverlapVerifier
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, Scores

TOWERS = "The tower is 139 metres tall. Masons built it in 1874 from red sandstone."


def test_overlap_is_the_share_of_content_words_found() -> None:
    claims = [
        "Masons built the towers.",  # the plural is the same word
        "Masons built the tower in 1999.",
        "Pirates burned the castle.",
        "It is.",  # common words alone are counted like others
        "They were.",
        "…",
        "",
    ]
    scores = OverlapVerifier().score_claims(claims, TOWERS)
    assert [found and found.supports for found in scores] == [1, 0.75, 0, 1, 0, 0, 0]
    for found in scores:
        assert found is not None
        assert found.supports + found.contradicts + found.neither == 1
    assert OverlapVerifier().score_claims(["Masons built it."], "") == [
        Scores(supports=0, contradicts=0, neither=1)
    ]


def test_overlap_judges_answers() -> None:
    wordings = ("Masons built the tower.", "Pirates burned it.", "Is it?")
    claims = [
        AnswerClaim(
            text=text, start=0, end=len(text), wording=text,
            not_a_claim="question" if text.endswith("?") else None,
        )
        for text in wordings
    ]  # fmt: skip
    source = Source(source_id="s", corpus_ver="1", source_text=TOWERS)
    request = CheckRequest(answer=" ".join(wordings), sources=(source,))
    verdicts, warnings = OverlapVerifier().judge_answer(claims, request)
    assert [verdict.verdict for verdict in verdicts] == ["supported", "unlinked", None]
    assert warnings == []
    span = verdicts[0].span
    assert span is not None
    assert (span.text, span.source_id) == ("Masons built it in 1874 from red sandstone.", "s")
    assert TOWERS[span.start : span.end] == span.text


def test_overlap_looks_for_actions_in_the_log() -> None:
    text = "I have cancelled the tower."
    claim = AnswerClaim(text=text, start=0, end=len(text), wording=text, claim_type="action")
    source = Source(source_id="s", corpus_ver="1", source_text=text)
    request = CheckRequest(answer=text, sources=(source,), actions=())
    (verdict,), _ = OverlapVerifier().judge_answer([claim], request)
    assert (verdict.verdict, verdict.span) == ("unlinked", None)
