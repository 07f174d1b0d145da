"""Answers to verify, made of the demo's: their claims, each answer with a fresh 500-word source.

A source is the pages that were retrieved for the answer, filled up with others of the corpus. Every
sentence of it (98 %: not “No.”) gets a word that occurs nowhere else, so that nothing that was
remembered of an earlier source can help: what is timed is reading, indexing, linking and judging.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest

WORDS = 500
_CORPUS = "2026-09"
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_SLOT = re.compile(r"\b(?:the|an?|of|for|and|to|on|in|is|are) ")
_FIRST = re.compile(r"\S+ ")
_WORD = re.compile(r"\S+")
_SYLLABLES = [first + last for first in "bdfgklmnprstvz" for last in "aeiou"]


class Case(NamedTuple):
    """One answer: its claims, and the source that they are judged by."""

    claims: tuple[AnswerClaim, ...]
    request: CheckRequest

    @property
    def source(self) -> str:
        """The source's text."""
        return self.request.sources[0].source_text


def make_cases(edition: int) -> list[Case]:
    """Return the demo's answers that claim something; each edition has sources of its own."""
    pages, answers = _read_pages(), _read_answers()
    cases = []
    for number, answer in enumerate(answers):
        claims = tuple(_make_claim(answer["answer_text"], claim) for claim in _pick(answer))
        retrieved = [context["source_id"] for context in answer["contexts"]]
        text = _freshen(_gather(retrieved, pages, number), edition * len(answers) + number)
        source = Source(source_id="source", corpus_ver=_CORPUS, source_text=_cut(text))
        request = CheckRequest(answer=answer["answer_text"], sources=(source,))
        cases.append(Case(claims, request))
    return cases


def count_claims(cases: Sequence[Case]) -> int:
    """Return the number of claims."""
    return sum(len(case.claims) for case in cases)


def count_verdicts(cases: Sequence[Case]) -> dict[str, int]:
    """Return what people, or else the demo's verifier, said of the claims."""
    said: dict[str, str] = {}
    for label in sorted(_read("labels"), key=lambda label: ":" not in label["labeler"]):
        said[label["claim_text"]] = label["verdict"]
    found = Counter(said.get(claim.wording, "unlabelled") for c in cases for claim in c.claims)
    return dict(found.most_common())


def _read(kind: str) -> Iterator[dict[str, Any]]:
    text = (files("claimwise.demo") / "data" / f"{kind}.jsonl").read_text(encoding="utf-8")
    return map(json.loads, text.splitlines())


@cache
def _read_pages() -> dict[str, str]:
    rows = (row for row in _read("sources") if row["corpus_ver"] == _CORPUS)
    return {row["source_id"]: row["source_text"] for row in rows}


@cache
def _read_answers() -> list[dict[str, Any]]:
    return [answer for answer in _read("answers") if _pick(answer)]


def _pick(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the claims that rest on sources: no small talk, no actions."""
    kinds = ("factual", "citation_required")
    return [claim for claim in answer.get("claims", ()) if claim["claim_type"] in kinds]


def _make_claim(answer: str, claim: dict[str, Any]) -> AnswerClaim:
    start, end = claim["answer_start"], claim["answer_end"]
    return AnswerClaim(
        text=answer[start:end],
        start=start,
        end=end,
        wording=claim["claim_text"],
        claim_type=claim["claim_type"],
    )


def _gather(retrieved: Sequence[str], pages: dict[str, str], number: int) -> str:
    """Return more than 500 words: what was retrieved, then other pages, beginning anywhere."""
    names = list(pages)
    turn = number % len(names)
    order = dict.fromkeys(chain(retrieved, names[turn:], names[:turn]))
    return "\n\n".join(pages[name] for name in list(order)[:5] if name in pages)


def _cut(text: str) -> str:
    ends = [match.end() for match in _WORD.finditer(text)]
    return text[: ends[WORDS - 1]]


def _freshen(text: str, number: int) -> str:
    """Put a word that no other number has into every sentence."""
    size = len(_SYLLABLES)
    digits = (number // size // size, number // size, number)
    word = "".join(_SYLLABLES[digit % size] for digit in digits)

    def put(sentence: re.Match[str]) -> str:
        text = sentence.group()
        slot = _SLOT.search(text) or _FIRST.search(text)
        return text if slot is None else f"{text[: slot.end()]}{word} {text[slot.end() :]}"

    return _SENTENCE.sub(put, text)
