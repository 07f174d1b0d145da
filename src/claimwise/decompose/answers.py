"""From an answer to its claims: the order in which the parts of this package are applied."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec.structs import replace

from claimwise.decompose import words as w
from claimwise.decompose.clauses import (
    Clause,
    find_compounds,
    find_finite,
    read_tokens,
    split_clauses,
)
from claimwise.decompose.kinds import ACTION, FACT, Kind, classify
from claimwise.decompose.markup import Scan, scan_markup, strip_markup
from claimwise.decompose.references import Memory
from claimwise.text import find_sentences
from claimwise.types.verdicts import AnswerClaim, Mark

_FRAMING = Kind("non_factual", "framing")
_FENCE = re.compile(r"[ \t>]*+(?:```|~~~)")
_BOLD_LINE = re.compile(r"\s*+(?:\*\*|__)[^*\n]{1,80}(?:\*\*|__):?\s*+")
_SOURCES = re.compile(r"(?:sources?|references?|citations?|bibliography|further reading):?", re.I)
_REFERENCE = re.compile(r"\[\^?\w{1,20}\]:")
_OPEN_LEAD = re.compile(r"\b(?:here|below|following|as follows|these (?:are|steps))\b", re.I)
_TABLE_BORDER = re.compile(r"[\s|:-]*-[\s|:-]*")
_COMPLETABLE = w.PREPOSITIONS - {"as", "than", "like", "below", "above"} | w.WORDS["completable"]


class _Piece(NamedTuple):
    """A stretch of a sentence: its place, its words, what it is."""

    start: int
    end: int
    wording: str
    kind: Kind
    subject: str | None = None


class AnswerSentence(NamedTuple):
    """A sentence of an answer: its place, and what it claims."""

    start: int
    end: int
    claims: list[AnswerClaim]


class _Context:
    """What earlier sentences say about later ones."""

    def __init__(self, question: str | None) -> None:
        self.memory = Memory(question)
        self.lead: str | None = None
        self.header: list[str] | None = None
        self.among_sources = False


def split_answer(answer: str, *, question: str | None = None) -> list[AnswerClaim]:
    """Split an answer into atomic claims, in order.

    Every character that is neither space nor markup lies in one claim; stretches that claim
    nothing are kept as ``non_factual`` with the reason. ``question`` helps to tell what an opening
    “It” means. An empty answer has no claims. No text raises.
    """
    return [claim for sentence in split_sentences(answer, question) for claim in sentence.claims]


def split_sentences(answer: str, question: str | None = None) -> list[AnswerSentence]:
    """Return the claims of `split_answer` sentence by sentence; none is without a claim."""
    found: list[AnswerSentence] = []
    context = _Context(question)
    sentences = find_sentences(answer)
    following = [*sentences[1:], (0, 0)]
    for (start, end), (next_start, next_end) in zip(sentences, following, strict=False):
        text = answer[start:end]
        if _FENCE.match(text):
            found.append(AnswerSentence(start, end, [_code_claim(text, start)]))
            continue
        scan = scan_markup(text, start)
        if scan.is_empty:
            # Markers on a line of their own belong to the claim before.
            for last in found[-1:]:
                marks = (*last.claims[-1].marks, *scan.marks)
                last.claims[-1] = replace(last.claims[-1], marks=marks)
            continue
        pieces = _read_sentence(text, scan, answer[next_start:next_end], context)
        claims = _bind_marks(_make_claims(text, start, pieces, context), scan.marks)
        found.append(AnswerSentence(start, end, claims))
    return found


def _code_claim(text: str, start: int) -> AnswerClaim:
    lines = text.splitlines()[1:]
    if lines and _FENCE.match(lines[-1]):
        lines.pop()
    wording = "\n".join(lines).strip() or text
    kind = Kind("non_factual", "code")
    return _claim(text, start, _Piece(0, len(text), wording, kind))


def _claim(text: str, offset: int, piece: _Piece) -> AnswerClaim:
    return AnswerClaim(
        text=text[piece.start : piece.end],
        start=offset + piece.start,
        end=offset + piece.end,
        wording=piece.wording,
        claim_type=piece.kind.claim_type,
        not_a_claim=piece.kind.reason,
    )


def _read_sentence(text: str, scan: Scan, follower: str, context: _Context) -> list[_Piece]:
    """Return the pieces of a sentence, with what headings, lists and tables around it add."""
    wording = strip_markup(scan.masked)
    whole = _Piece(scan.start, len(text), wording, FACT)
    if text.startswith("|"):
        return [_read_row(whole, follower, context)]
    context.header = None
    if scan.is_heading or _BOLD_LINE.fullmatch(text):
        context.memory.forget()
        context.among_sources = _SOURCES.fullmatch(wording) is not None
        return [whole._replace(kind=_FRAMING)]
    if wording.endswith((":", "：")):
        context.among_sources = _SOURCES.fullmatch(wording) is not None
        return [_read_lead(whole, follower, context)]
    if _REFERENCE.match(text) or context.among_sources:
        return [whole._replace(kind=_FRAMING)]
    if not scan.is_item:
        context.lead = None
    else:
        context.memory.forget()
    if context.lead and (completed := _complete(context.lead, wording)):
        return [whole._replace(wording=completed)]
    return _split(scan, whole)


def _read_row(row: _Piece, follower: str, context: _Context) -> _Piece:
    """Name the cells of a table row by the header; the row above the border is the header."""
    cells = [cell.strip() for cell in row.wording.strip("| ").split("|")]
    if _TABLE_BORDER.fullmatch(follower):
        context.header = cells
        return row._replace(wording=" | ".join(cells), kind=_FRAMING)
    if context.header and len(context.header) == len(cells):
        named = zip(context.header, cells, strict=True)
        cells = [f"{name}: {cell}" if name else cell for name, cell in named if cell]
        return row._replace(wording=", ".join(cells))
    return row._replace(wording=" | ".join(cells))


def _read_lead(lead: _Piece, follower: str, context: _Context) -> _Piece:
    """Tell what a line before a list is: framing, or a fact of its own (“There are two plans:”)."""
    context.lead = None
    words = lead.wording.rstrip(":： ")
    tokens = read_tokens(words)
    is_open = _OPEN_LEAD.search(words) is not None
    if tokens and tokens[-1].low in _COMPLETABLE and not is_open:
        if scan_markup(follower, 0).is_item:
            context.lead = words
        return lead._replace(kind=_FRAMING)
    if is_open or find_finite(tokens) is None:
        return lead._replace(kind=_FRAMING)
    return lead._replace(wording=words, kind=classify(words))


def _complete(lead: str, item: str) -> str | None:
    """Return a lead-in with one item; None when the item is a sentence or an instruction itself."""
    tokens = read_tokens(item)
    if not tokens or find_finite(tokens):
        return None
    instruction = tokens[0].low in w.BASES and lead.split()[-1].lower() in w.BE
    return None if instruction else f"{lead} {item}"


def _split(scan: Scan, whole: _Piece) -> list[_Piece]:
    """Cut a sentence into clauses; keep it whole when none of them claims anything."""
    clauses = [
        clause for clause in split_clauses(scan.plain[scan.start :]) if clause.end > clause.start
    ]
    if len(clauses) == 1:
        return [whole._replace(kind=classify(whole.wording))]
    pieces = [_read_clause(scan, clause) for clause in clauses]
    if any(piece.kind in (FACT, ACTION) for piece in pieces):
        return pieces
    reasons = [piece.kind for piece in pieces]
    refusal = Kind("non_factual", "refusal")
    return [whole._replace(kind=refusal if refusal in reasons else reasons[0])]


def _read_clause(scan: Scan, clause: Clause) -> _Piece:
    start, core, end = (scan.start + place for place in (clause.start, clause.core, clause.end))
    slice_ = scan.masked[start:end]
    start += len(slice_) - len(slice_.lstrip())
    end -= len(slice_) - len(slice_.rstrip())
    wording = strip_markup(scan.masked[core:end]).rstrip(",; ") if clause.end else ""
    subject = " ".join(clause.subject.split()) if clause.subject else None
    if subject:
        wording = f"{subject[0].upper()}{subject[1:]} {wording}"
    elif clause.start and wording.split(maxsplit=1)[0].islower():
        wording = wording[0].upper() + wording[1:]
    return _Piece(start, end, wording, classify(wording), subject)


def _make_claims(
    text: str, offset: int, pieces: list[_Piece], context: _Context
) -> list[AnswerClaim]:
    """Build a sentence's claims: pronouns are looked up, and what is still compound is named."""
    claims = []
    carried: AnswerClaim | None = None
    for piece in pieces:
        claim = _claim(text, offset, piece)
        if piece.kind in (FACT, ACTION):
            if piece.subject and carried:
                claim = _carry_subject(claim, piece.subject, carried)
            else:
                found = context.memory.resolve(piece.wording)
                claim = replace(
                    claim,
                    wording=found.wording,
                    antecedent=found.antecedent,
                    ambiguous=found.ambiguous,
                )
                carried = claim
            claim = replace(claim, compound=find_compounds(claim.wording))
        elif piece.kind.reason == "question":
            context.memory.forget()
        claims.append(claim)
    return claims


def _carry_subject(claim: AnswerClaim, subject: str, first: AnswerClaim) -> AnswerClaim:
    """Give a second half the subject of the first: with its antecedent where that is known."""
    rest = claim.wording[len(subject) :]
    if first.antecedent and first.wording != claim.wording:
        named = re.sub(r"^an? ", "the ", first.antecedent, flags=re.IGNORECASE)
        return replace(
            claim, wording=named[0].upper() + named[1:] + rest, antecedent=first.antecedent
        )
    return replace(claim, antecedent=subject, ambiguous=first.ambiguous)


def _bind_marks(claims: list[AnswerClaim], marks: list[Mark]) -> list[AnswerClaim]:
    """Give each marker to the claim that it closes, and to those before it without a marker.

    Only claims of the same sentence are reached; a marker in the middle of a claim is its own.
    """
    if not marks:
        return claims
    bound: list[AnswerClaim] = []
    waiting = 0
    for claim in claims:
        own = tuple(mark for mark in marks if claim.start <= mark.start < claim.end)
        bound.append(replace(claim, marks=own))
        waiting += 1
        if not own:
            continue
        tail = claim.text[own[-1].end - claim.start :]
        if not any(char.isalnum() for char in tail):
            for index in range(len(bound) - waiting, len(bound) - 1):
                bound[index] = replace(bound[index], marks=own)
        waiting = 0
    return bound
