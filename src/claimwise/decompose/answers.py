"""From an answer to its claims: the order in which the parts of this package are applied."""

from __future__ import annotations

import re
from itertools import chain, repeat
from typing import NamedTuple

from msgspec.structs import replace

from claimwise.decompose.clauses import find_compounds, find_finite, read_tokens
from claimwise.decompose.kinds import ACTION, FACT, Kind, classify
from claimwise.decompose.markup import Scan, begins_item, scan_markup, strip_markup
from claimwise.decompose.outline import (
    BOLD_LEVEL,
    Outline,
    complete_lead,
    completes,
    is_open,
    name_bare,
    name_value,
)
from claimwise.decompose.pieces import FRAMING, Piece, is_labelled, split_pieces
from claimwise.decompose.references import Memory, Resolved, find_pronoun, replace_pronoun
from claimwise.decompose.tables import Header, is_border, name_cells, read_header, split_cells
from claimwise.text import find_sentences
from claimwise.types.verdicts import Ancestor, AnswerClaim, Mark

_FENCE = re.compile(r"[ \t>]*+(?:```|~~~)")
_BOLD_LINE = re.compile(r"\s*+(?:\*\*|__)[^*\n]{1,80}(?:\*\*|__):?\s*+")
_HASHES = re.compile(r"[ \t>]*+(#{1,6})")
_SOURCES = re.compile(r"(?:sources?|references?|citations?|bibliography|further reading):?", re.I)
_REFERENCE = re.compile(r"\[\^?\w{1,20}\]:")
_DEEPEST = 40  # characters before an item that are looked at for its indent
_LONGEST_LABEL = 2  # words of a label in bold
# Who speaks, in an answer that repeats a dialogue; what the user says is no claim of the answer.
_SPEAKER = re.compile(
    r"\W*+(?:(?P<user>user|customer|human|visitor|caller|client|"
    r"(?:question|q)(?=\W{0,2}:[^\n]*[?？]))|"
    r"(?P<system>assistant|agent|bot|ai|chatbot|support|operator|answer|a))\W{0,2}:\W{0,3}\s",
    re.IGNORECASE,
)
_TURNS = tuple(
    re.compile(rf"^\W{{0,4}}(?:{who})\W{{0,2}}:", re.IGNORECASE | re.MULTILINE)
    for who in (
        r"user|customer|human|visitor|caller|client|(?:question|q)(?=\W{0,2}:[^\n]*[?？])",
        "assistant|agent|bot|ai|chatbot|support|operator|answer|a",
    )
)


class _Follower(NamedTuple):
    """The sentence after one, and how far it is indented."""

    text: str
    indent: int


class _Line(NamedTuple):
    """How a sentence stands on its line: how far it is indented, and whether it begins it."""

    indent: int
    begins: bool


class AnswerSentence(NamedTuple):
    """A sentence of an answer: its place, and what it claims."""

    start: int
    end: int
    claims: list[AnswerClaim]


class _Context:
    """What earlier sentences say about later ones."""

    def __init__(self, answer: str, question: str | None) -> None:
        self.memory = Memory(question)
        self.outline = Outline()
        self.header: Header | None = None
        self.among_sources = False
        self.is_dialogue = ":" in answer and all(turn.search(answer) for turn in _TURNS)
        self.user_speaks = False

    def introduce(self, name: str | None) -> None:
        """Forget whom earlier sentences were about; below a name it is that."""
        self.memory.forget()
        if name:
            self.memory.introduce(name)


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
    context = _Context(answer, question)
    sentences = find_sentences(answer)
    lines = [_read_line(answer, start) for start, _ in sentences]
    following = [
        _Follower(answer[start:end], line.indent)
        for (start, end), line in zip(sentences[1:], lines[1:], strict=True)
    ]
    followers = chain(following, repeat(_Follower("", 0)))
    for (start, end), line, follower in zip(sentences, lines, followers, strict=False):
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
        pieces = _read_sentence(text, scan, line, follower, context)
        claims = _make_claims(text, start, pieces, context)
        found.append(AnswerSentence(start, end, _bind_marks(claims, scan.marks, text)))
    return found


def _read_line(answer: str, start: int) -> _Line:
    """Return how a sentence stands on its line; many characters before it count as no indent."""
    line = answer.rfind("\n", max(0, start - _DEEPEST), start) + 1
    if not line and start >= _DEEPEST:
        return _Line(0, begins=False)
    begins = not answer[line:start].strip(" \t>")
    return _Line(start - line if begins else 0, begins)


def _code_claim(text: str, start: int) -> AnswerClaim:
    lines = text.splitlines()[1:]
    if lines and _FENCE.match(lines[-1]):
        lines.pop()
    wording = "\n".join(lines).strip() or text
    kind = Kind("non_factual", "code")
    return _claim(text, start, Piece(0, len(text), wording, kind))


def _claim(text: str, offset: int, piece: Piece, resolved: Resolved | None = None) -> AnswerClaim:
    """Build a piece's claim; ``resolved`` is its wording where it states something."""
    found = resolved or Resolved(piece.wording)
    return AnswerClaim(
        text=text[piece.start : piece.end],
        start=offset + piece.start,
        end=offset + piece.end,
        wording=found.wording,
        claim_type=piece.kind.claim_type,
        not_a_claim=piece.kind.reason,
        antecedent=found.antecedent,
        ambiguous=found.ambiguous,
        compound=find_compounds(found.wording) if resolved else (),
        ancestors=piece.ancestors,
    )


def _read_sentence(
    text: str, scan: Scan, line: _Line, follower: _Follower, context: _Context
) -> list[Piece]:
    """Return the pieces of a sentence, with what headings, lists and tables around it add."""
    wording = strip_markup(scan.masked)
    whole = Piece(scan.start, len(text), wording, FACT)
    if text.startswith("|"):
        return _read_row(scan, whole, follower.text, context)
    context.header = None
    if level := _find_level(text, scan, wording):
        context.outline.enter_heading(level, wording, _locate(scan, whole))
        heading = context.outline.heading
        context.introduce(heading.short if heading else None)
        context.among_sources = _SOURCES.fullmatch(wording) is not None
        return [whole._replace(kind=FRAMING)]
    if context.is_dialogue and (turn := _read_turn(scan, whole, context)):
        return turn
    if scan.is_item:
        return _read_item(text, scan, whole, line.indent, follower, context)
    if wording.endswith((":", "：")):
        return [_read_lead(scan, whole, follower.text, context)]
    if line.begins and _SOURCES.fullmatch(wording):
        context.among_sources = True  # “References” on a line of its own
    if _REFERENCE.match(text) or context.among_sources:
        return [whole._replace(kind=FRAMING)]
    if line.begins and not line.indent:
        context.outline.leave_list()
    return _read_plain(scan, whole, context, line.indent)


def _locate(scan: Scan, piece: Piece) -> Ancestor:
    return Ancestor(
        text=piece.wording, start=scan.offset + piece.start, end=scan.offset + piece.end
    )


def _find_level(text: str, scan: Scan, wording: str) -> int:
    """Return a heading's level, 1 for the outermost; 0 where a sentence is none."""
    if scan.is_heading:
        hashes = _HASHES.match(text)
        return len(hashes[1]) if hashes else 1
    if scan.is_item or not _BOLD_LINE.fullmatch(text):
        return 0
    is_statement = wording.endswith(".") and find_finite(read_tokens(wording)) is not None
    return 0 if is_statement else BOLD_LEVEL


def _read_turn(scan: Scan, whole: Piece, context: _Context) -> list[Piece]:
    """Return a turn of a dialogue: of the user's, framing; else what is said, without its name."""
    speaker = _SPEAKER.match(scan.plain, scan.start)
    if speaker:
        context.user_speaks = speaker["user"] is not None
    if context.user_speaks:
        is_question = classify(whole.wording).reason == "question"
        if is_question and speaker:
            context.memory = Memory(strip_markup(scan.masked[speaker.end() :]))
        return [whole._replace(kind=Kind("non_factual", "question") if is_question else FRAMING)]
    if speaker is None:
        return []
    moved = scan._replace(start=speaker.end())
    said = whole._replace(wording=strip_markup(scan.masked[speaker.end() :]))
    first, *others = split_pieces(moved, said) if said.wording else [said._replace(kind=FRAMING)]
    return [first._replace(start=whole.start, wording=first.wording or whole.wording), *others]


def _read_item(
    text: str, scan: Scan, whole: Piece, indent: int, follower: _Follower, context: _Context
) -> list[Piece]:
    """Return the pieces of a list item: a parent, a source, what completes a line, a sentence."""
    outline = context.outline
    parent = outline.find_parent(indent)
    context.introduce(parent.short if parent else None)
    if _has_children(whole.wording, indent, follower):
        outline.enter_item(indent, whole.wording, _locate(scan, whole))
        return [whole._replace(kind=FRAMING)]
    if whole.wording.endswith((":", "：")):
        return [_read_lead(scan, whole, follower.text, context)]
    if _REFERENCE.match(text) or context.among_sources or _is_bold_label(text, scan, whole.wording):
        return [whole._replace(kind=FRAMING)]
    # “Assists: 486” below an item is that item's, and does not complete the line before the list.
    owned = outline.item and name_value(outline.item.full, whole.wording)
    lead = None if owned else outline.lead
    if lead and (completed := complete_lead(lead, whole.wording)):
        return [whole._replace(wording=completed, ancestors=lead.ancestors)]
    return _read_plain(scan, whole, context, indent)


def _is_bold_label(text: str, scan: Scan, wording: str) -> bool:
    """Tell “**Outlook.**” before the sentences of an item: a label, and no statement."""
    bold = _BOLD_LINE.fullmatch(text[scan.start :]) is not None
    few = len(wording.split()) <= _LONGEST_LABEL
    return bold and few and wording.endswith(".") and find_finite(read_tokens(wording)) is None


def _read_plain(scan: Scan, whole: Piece, context: _Context, indent: int) -> list[Piece]:
    """Return a sentence's pieces; a named or bare value is told of what it stands under."""
    outline = context.outline
    parent = outline.find_parent(indent) if scan.is_item else outline.heading
    if parent and not is_labelled(whole.wording):
        named = name_value(parent.full, whole.wording)
        if named is None and scan.is_item:
            named = name_bare(parent.full, whole.wording)
        if named:
            return [whole._replace(wording=named, ancestors=parent.ancestors)]
    return split_pieces(scan, whole)


def _has_children(wording: str, indent: int, follower: _Follower) -> bool:
    """Tell whether an item only names what the items below it are about."""
    deeper = follower.indent > indent and begins_item(follower.text)
    return deeper and find_finite(read_tokens(wording.rstrip(":： "))) is None


def _read_row(scan: Scan, row: Piece, follower: str, context: _Context) -> list[Piece]:
    """Return a table row cell by cell; the row above the border is the header."""
    cells = split_cells(scan.masked)
    plain = row._replace(wording=" | ".join(cell.text for cell in cells) or row.wording)
    if is_border(follower):
        context.header = read_header(scan.masked, scan.offset)
        return [plain._replace(kind=FRAMING)]
    header = context.header
    if header is None or len(header.cells) != len(cells):
        return [plain]
    heading = context.outline.heading
    named = name_cells(cells, header, heading.full if heading else None, scan.offset)
    if not named:
        return [plain._replace(kind=FRAMING)] if len(cells) > 1 else [plain]
    return [
        Piece(c.start, c.end, c.wording, FACT if c.is_value else FRAMING, None, c.ancestors)
        for c in named
    ]


def _read_lead(scan: Scan, lead: Piece, follower: str, context: _Context) -> Piece:
    """Tell what a line before a list is: framing, or a fact of its own (“There are two plans:”)."""
    context.among_sources = _SOURCES.fullmatch(lead.wording) is not None
    if not scan.is_item:
        context.outline.leave_list()
    words = lead.wording.rstrip(":： ")
    if not context.among_sources and (begins_item(follower) or follower.startswith("|")):
        context.outline.enter_lead(lead.wording, _locate(scan, lead))
    if completes(words) or is_open(words) or find_finite(read_tokens(words)) is None:
        return lead._replace(kind=FRAMING)
    return lead._replace(wording=words, kind=classify(words))


def _make_claims(
    text: str, offset: int, pieces: list[Piece], context: _Context
) -> list[AnswerClaim]:
    """Build a sentence's claims: pronouns are looked up, and what is still compound is named."""
    claims = []
    carried: Resolved | None = None
    for piece in pieces:
        resolved = None
        if piece.kind in (FACT, ACTION):
            if piece.ancestors:
                resolved = carried = Resolved(piece.wording)  # it names its subject
            elif piece.subject and carried:
                resolved = _carry_subject(piece.wording, piece.subject, carried)
            else:
                resolved = carried = context.memory.resolve(piece.wording)
        elif piece.kind.reason == "question":
            context.memory.forget()
        claims.append(_claim(text, offset, piece, resolved))
    own = [p for p in pieces if p.kind is FACT and not p.subject and not p.ancestors]
    if len(own) > 1 and sum(find_pronoun(piece.wording) is None for piece in own) > 1:
        context.memory.note_rivals()
    return claims


def _carry_subject(wording: str, subject: str, first: Resolved) -> Resolved:
    """Give a later piece the subject of the first: with its antecedent where that is known."""
    opens = find_pronoun(wording) is not None
    if first.antecedent and opens:
        return Resolved(replace_pronoun(wording, first.antecedent), first.antecedent)
    return Resolved(wording, subject, first.ambiguous and opens)


def _bind_marks(claims: list[AnswerClaim], marks: list[Mark], text: str) -> list[AnswerClaim]:
    """Give each marker to the claim that it closes, and to those before it without a marker.

    Only claims of the same sentence are reached; a marker in the middle of a claim is its own, and
    so is one in a table's cell.
    """
    if not marks:
        return claims
    in_row = text.startswith("|")
    bound: list[AnswerClaim] = []
    waiting = 0
    for claim in claims:
        own = tuple(mark for mark in marks if claim.start <= mark.start < claim.end)
        bound.append(replace(claim, marks=own))
        waiting += 1
        if not own:
            continue
        tail = claim.text[own[-1].end - claim.start :]
        if not in_row and not any(char.isalnum() for char in tail):
            for index in range(len(bound) - waiting, len(bound) - 1):
                bound[index] = replace(bound[index], marks=own)
        waiting = 0
    return bound
