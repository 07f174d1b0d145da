"""Arranges a run's unsupported claims for a page: by group, then by answer, each marked in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from claimwise.claims.report import mark_claim
from claimwise.claims.values import ClaimRow
from claimwise.report.format import clean, clean_lines, clean_value
from claimwise.report.marked import MarkedClaim, MarkedPiece, cut_answer

LONGEST_GAP: Final = 900
"""Characters between two marks that an answer shows whole; of more, the ends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerCard:
    """An answer with its unsupported claims."""

    item_id: str
    question: str
    pieces: tuple[MarkedPiece, ...]  # empty where nobody kept the answer
    claims: tuple[MarkedClaim, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimGroup:
    """The unsupported claims of one group, worst first."""

    name: str
    claims: int
    verdicts: dict[str, int]
    answers: tuple[AnswerCard, ...]


def arrange_claims(claims: Sequence[ClaimRow], by: Sequence[str]) -> list[ClaimGroup]:
    """Return claims by group and answer, in the order of the worst claim of each.

    Groups are those of the first column of ``by`` that tells claims apart; else of the verdict.
    """
    column = next((name for name in by if len({row.slice.get(name) for row in claims}) > 1), None)
    groups: dict[str, list[ClaimRow]] = {}
    for row in claims:
        value = clean_value(row.slice.get(column)) if column else row.word
        groups.setdefault(f"{clean(column)} = {value}" if column else value, []).append(row)
    return [_make_group(name, rows) for name, rows in groups.items()]


def _make_group(name: str, rows: Sequence[ClaimRow]) -> ClaimGroup:
    answers: dict[tuple[str, int], list[ClaimRow]] = {}
    for row in rows:
        answers.setdefault((row.item_id, row.sample), []).append(row)
    return ClaimGroup(
        name=name,
        claims=len(rows),
        verdicts=dict(Counter(row.word for row in rows)),
        answers=tuple(_make_card(of_answer) for of_answer in answers.values()),
    )


def _make_card(rows: Sequence[ClaimRow]) -> AnswerCard:
    marked = tuple(mark_claim(row, number) for number, row in enumerate(rows, start=1))
    first = rows[0]
    return AnswerCard(
        item_id=first.item_id,
        question=first.question,
        pieces=tuple(_shorten(cut_answer(first.answer_text or "", marked))),
        claims=marked,
    )


def _shorten(pieces: Iterable[MarkedPiece]) -> Iterable[MarkedPiece]:
    """Leave out the middle of long stretches without a mark; a page holds many answers."""
    for piece in pieces:
        text = clean_lines(piece.text)
        if piece.claim is None and len(text) > LONGEST_GAP:
            half = LONGEST_GAP // 2
            text = f"{text[:half].rstrip()} […] {text[-half:].lstrip()}"
        yield MarkedPiece(text, piece.claim)
