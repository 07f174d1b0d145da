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
# What announces a statement in the same sentence: “Here is the answer: the tower is …”.
_ANNOUNCED = re.compile(
    r"\s*+(?:(?:sure|certainly|okay|ok|of course|great|yes)[,!.] )?"
    r"(?:here(?:'s|’s| is| are)\b[^:.?!]{0,80}|(?:in short|to summari[sz]e|to sum up|in summary|"
    r"(?:the |my )?(?:short |final |direct )?answer(?: is)?|(?:based on|according to|from) "
    r"(?:the|your|these) (?:\w+ ){0,2}(?:documents?|context|sources?|information|passages?)))"
    r"\s*:\s+(?=\S+\s+\S)",
    re.IGNORECASE,
)
# Labels that say what kind of sentence follows; they are no part of what is claimed.
_LABEL = re.compile(
    r"\s*+(?:definition|examples?|explanation|result|conclusion|summary|overview|description|details?|"
    r"background|note|tip|warning|important|fact|key (?:point|fact|takeaway)s?)\s*:\s+(?=\S)",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"(?:summary|overview|introduction|conclusion|answer|details?|background|notes?|results?|"
    r"(?:key|main|important) \w+|examples?|definition|explanation|steps?)",
    re.IGNORECASE,
)
_NAMED_VALUE = re.compile(r"(?P<label>[^:：\n]{1,60}?)\s*[:：]\s+(?P<value>\S.{0,120})", re.DOTALL)
_ASIDE = re.compile(r"\s+\(([^()]{1,60})\)$")
_DEEPEST = 40  # characters before an item that are looked at for its indent
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


class _Follower(NamedTuple):
    """The sentence after one, and how far it is indented."""

    text: str
    indent: int


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
        self.heading: str | None = None
        # The items that the next one may stand under: how far they are indented, what they name.
        self.parents: list[tuple[int, str]] = []

    def find_parent(self, indent: int) -> str | None:
        """Return what an item of that indent stands under: an item further out, or the heading."""
        while self.parents and self.parents[-1][0] >= indent:
            self.parents.pop()
        return self.parents[-1][1] if self.parents else self.heading

    def leave_list(self) -> None:
        """Forget the items: a paragraph stands under the heading alone."""
        self.parents.clear()


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
        follower = _Follower(answer[next_start:next_end], _find_indent(answer, next_start))
        indent = _find_indent(answer, start)
        pieces = _read_sentence(text, scan, indent, follower, context)
        claims = _bind_marks(_make_claims(text, start, pieces, context), scan.marks)
        found.append(AnswerSentence(start, end, claims))
    return found


def _find_indent(answer: str, start: int) -> int:
    """Return how many characters stand before a sentence on its line; many count as none."""
    line = answer.rfind("\n", max(0, start - _DEEPEST), start) + 1
    indent = start - line
    return indent if indent < _DEEPEST and not answer[line:start].strip(" \t>") else 0


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


def _read_sentence(
    text: str, scan: Scan, indent: int, follower: _Follower, context: _Context
) -> list[_Piece]:
    """Return the pieces of a sentence, with what headings, lists and tables around it add."""
    wording = strip_markup(scan.masked)
    whole = _Piece(scan.start, len(text), wording, FACT)
    if text.startswith("|"):
        return [_read_row(whole, follower.text, context)]
    context.header = None
    if scan.is_heading or (_BOLD_LINE.fullmatch(text) and not scan.is_item):
        context.memory.forget()
        context.leave_list()
        context.heading = _name_parent(wording)
        context.among_sources = _SOURCES.fullmatch(wording) is not None
        return [whole._replace(kind=_FRAMING)]
    parent = context.find_parent(indent) if scan.is_item else None
    if scan.is_item and _has_children(wording, indent, follower):
        context.parents.append((indent, _join_parents(parent, wording, context)))
    if wording.endswith((":", "：")):
        context.among_sources = _SOURCES.fullmatch(wording) is not None
        return [_read_lead(whole, follower.text, context)]
    if _REFERENCE.match(text) or context.among_sources:
        return [whole._replace(kind=_FRAMING)]
    if not scan.is_item:
        context.lead = None
        context.leave_list()
        return _read_plain(scan, whole, context.heading)
    context.memory.forget()
    if context.parents and context.parents[-1][0] == indent:
        return [whole._replace(kind=_FRAMING)]
    if context.lead and (completed := _complete(context.lead, wording)):
        return [whole._replace(wording=completed)]
    return _read_plain(scan, whole, parent)


def _read_plain(scan: Scan, whole: _Piece, parent: str | None) -> list[_Piece]:
    """Return a sentence's pieces; a named value is told of what it stands under."""
    if parent and (told := _tell_of(parent, whole.wording)):
        return [whole._replace(wording=told)]
    return _split_announced(scan, whole)


def _has_children(wording: str, indent: int, follower: _Follower) -> bool:
    """Tell whether an item only names what the items below it are about."""
    deeper = follower.indent > indent and scan_markup(follower.text, 0).is_item
    return deeper and find_finite(read_tokens(wording.rstrip(":： "))) is None


def _join_parents(parent: str | None, wording: str, context: _Context) -> str:
    """Return what an item names, below another item with the name of that; headings add none."""
    name = _name_parent(wording) or wording
    return f"{parent}, {name}" if parent and parent != context.heading else name


def _name_parent(wording: str) -> str | None:
    """Return a heading or item as a name (“Ana Lind, Harbour Larks”); None if it is general."""
    name = _ASIDE.sub(r", \1", wording.strip(" :：.*"))
    return None if not name or _GENERAL.fullmatch(name) or name.endswith("?") else name


def _tell_of(parent: str, item: str) -> str | None:
    """Return a value without a verb with what it belongs to, or None.

    “Total Points: 1930” below “Ana Lind” is “Ana Lind: total points 1930”.
    """
    match = _NAMED_VALUE.fullmatch(item)
    if match is None or _LABEL.match(item) or find_finite(read_tokens(item)) is not None:
        return None
    label = match["label"]
    if len(label.split()) > 6 or find_finite(read_tokens(match["value"])) is not None:
        return None
    known = label[1:2].islower() and not any(word[:1].isupper() for word in label.split()[1:])
    plain = label[0].lower() + label[1:] if known else label.lower() if label.istitle() else label
    return f"{parent}: {plain} {match['value']}"


def _split_announced(scan: Scan, whole: _Piece) -> list[_Piece]:
    """Split a sentence without what announces or labels it.

    What announces it is a piece of its own, without a claim; a label stays in the piece's place.
    """
    plain = scan.plain
    if announced := _ANNOUNCED.match(plain, scan.start):
        end = len(announced[0].rstrip()) + scan.start
        lead = _Piece(scan.start, end, strip_markup(scan.masked[scan.start : end]), _FRAMING)
        return [lead, *_split_rest(scan, whole, announced.end())]
    if label := _LABEL.match(plain, scan.start):
        first, *others = _split_rest(scan, whole, label.end())
        return [first._replace(start=whole.start), *others]
    return _split(scan, whole)


def _split_rest(scan: Scan, whole: _Piece, start: int) -> list[_Piece]:
    """Split what follows a label; it begins with a capital letter."""
    rest = whole._replace(start=start, wording=strip_markup(scan.masked[start:]))
    first, *others = _split(scan._replace(start=start), rest)
    capital = first.wording[:1].upper() + first.wording[1:]
    return [first._replace(wording=capital), *others]


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
