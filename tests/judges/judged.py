"""Claims, sources and verdicts in one line each, for the tests of the verifier."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache

from claimwise.judges.embedded import EmbeddedVerifier, load_embedded
from claimwise.types.rows import ActionEntry, ClaimType, Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict

TODAY = date(2024, 1, 1)
load_tier = cache(load_embedded)


def make_claim(text: str, claim_type: ClaimType = "factual") -> AnswerClaim:
    return AnswerClaim(text=text, start=0, end=len(text), wording=text, claim_type=claim_type)


def make_source(text: str, source_id: str = "s", **fields: object) -> Source:
    return Source(source_id=source_id, corpus_ver="1", source_text=text, **fields)  # type: ignore[arg-type]


def judge(
    claim: str,
    *sources: Source | str,
    tier: str | EmbeddedVerifier = "lexical",
    as_of: date = TODAY,
) -> ClaimVerdict:
    """Judge one claim; spans are checked against their sources on the way."""
    found, _ = judge_all([claim], *sources, tier=tier, as_of=as_of)
    return found[0]


def judge_all(
    claims: Sequence[str],
    *sources: Source | str,
    tier: str | EmbeddedVerifier = "lexical",
    as_of: date = TODAY,
) -> tuple[list[ClaimVerdict], list[str]]:
    documents = tuple(
        make_source(text, f"s{number}") if isinstance(text, str) else text
        for number, text in enumerate(sources)
    )
    verifier = load_tier(tier) if isinstance(tier, str) else tier
    request = CheckRequest(answer=" ".join(claims), sources=documents, as_of=as_of)
    verdicts, warnings = verifier.judge_answer([make_claim(c) for c in claims], request)
    texts = {source.source_id: source.source_text for source in documents}
    for verdict in verdicts:
        for span in (verdict.span, *verdict.conflicts):
            if span is not None:
                assert texts[span.source_id][span.start : span.end] == span.text
                assert span.text
    return verdicts, warnings


def make_log(*entries: str) -> tuple[ActionEntry, ...]:
    return tuple(
        ActionEntry(run_id="r", item_id="i", entry_id=str(number), entry_text=text)
        for number, text in enumerate(entries)
    )
