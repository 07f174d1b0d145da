"""A sentence in pieces: what announces or labels it, its clauses, the items that it cites for."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from claimwise.decompose import words as w
from claimwise.decompose.asides import split_statements
from claimwise.decompose.clauses import SURE, find_finite, read_tokens
from claimwise.decompose.joins import Clause
from claimwise.decompose.kinds import ACTION, FACT, Kind, classify
from claimwise.decompose.markup import Scan, strip_markup
from claimwise.types.verdicts import Ancestor

FRAMING = Kind("non_factual", "framing")
_REFUSAL = Kind("non_factual", "refusal")
# What announces a statement in the same sentence: “Here is the answer: the tower is …”.
_ANNOUNCED = re.compile(
    r"\s*+(?:(?:sure|certainly|okay|ok|of course|great|yes|so)[,!.] )?"
    r"(?:here(?:'s|’s| is| are)\b[^:.?!]{0,80}|(?:in short|to summari[sz]e|to sum up|in summary|"
    r"to answer (?:your|the|this) question|(?:the |my )?(?:short |final |direct )?answer(?: is)?|"
    r"(?:based on|according to|from) (?:the|your|these) (?:\w+ ){0,2}"
    r"(?:documents?|context|sources?|information|passages?)))"
    r"\s*:\s+(?=\S+\s+\S)",
    re.IGNORECASE,
)
# Labels that say what kind of sentence follows; they are no part of what is claimed.
_LABEL = re.compile(
    r"\s*+(?:definition|examples?|explanation|result|conclusion|summary|overview|description|details?|"
    r"background|note|tip|warning|important|fact|key (?:point|fact|takeaway)s?)\s*:\s+(?=\S)",
    re.IGNORECASE,
)
# A statement as the label of another: “**Failure is normal:** She failed her first exam.”
_HEADLINE = re.compile(r"(?P<label>[^:]{5,80}):\s+(?=[A-Z])")
_ITEM_START = re.compile(r"[\s,;]*+(?:(?:and|or|as well as)\b\s*+)?", re.IGNORECASE)
_ITEM_END = re.compile(r"(?>(?:[\s,;]|(?<!\w)(?:and|or|as well as)(?!\w))*)$", re.IGNORECASE)
_RELATIVE = frozenset({"which", "who", "whom", "whose", "where", "that"})
_STRONG_CUE = re.compile(
    r":\s|\b(?:including|such as|namely|include[sd]?|contains?|comprises?|are|is|were|was)\b\s"
)


class Piece(NamedTuple):
    """A stretch of a sentence: its place, its words, what it is, and what it took over."""

    start: int
    end: int
    wording: str
    kind: Kind
    subject: str | None = None
    ancestors: tuple[Ancestor, ...] = ()


def split_pieces(scan: Scan, whole: Piece) -> list[Piece]:
    """Split a sentence without what announces or labels it.

    What announces it is a piece of its own, without a claim; a label stays in the piece's place.
    """
    plain = scan.plain
    if scan.numbers and (items := _split_numbered(scan)):
        return items
    if ":" not in plain:  # neither announced nor labelled
        return _split_cited(scan, whole) or _split_clauses(scan, whole)
    if announced := _ANNOUNCED.match(plain, scan.start):
        end = len(announced[0].rstrip()) + scan.start
        lead = Piece(scan.start, end, strip_markup(scan.masked[scan.start : end]), FRAMING)
        return [lead, *_split_rest(scan, whole, announced.end())]
    if label := _LABEL.match(plain, scan.start):
        first, *others = _split_rest(scan, whole, label.end())
        return [first._replace(start=whole.start), *others]
    if headline := _match_headline(scan):
        lead = Piece(scan.start, headline.end(1) + 1, headline[1].strip(), FACT)
        return [lead, *_split_rest(scan, whole, headline.end())]
    return _split_cited(scan, whole) or _split_clauses(scan, whole)


def is_labelled(wording: str) -> bool:
    """Tell whether a label that is no part of the claim opens a sentence: “Note: …”."""
    return _LABEL.match(wording) is not None


def _match_headline(scan: Scan) -> re.Match[str] | None:
    """Match a statement in bold, with a colon, before the statement that explains it."""
    if not scan.is_marked_up(scan.start):
        return None
    match = _HEADLINE.match(scan.plain, scan.start)
    if match is None or find_finite(read_tokens(match[1].strip())) is None:
        return None
    return match if find_finite(read_tokens(scan.plain[match.end() :])) else None


def _split_rest(scan: Scan, whole: Piece, start: int) -> list[Piece]:
    """Split what follows a label; it begins with a capital letter."""
    rest = whole._replace(start=start, wording=strip_markup(scan.masked[start:]))
    moved = scan._replace(start=start)
    first, *others = _split_cited(moved, rest) or _split_clauses(moved, rest)
    capital = first.wording[:1].upper() + first.wording[1:]
    return [first._replace(wording=capital), *others]


# Enumerations with numbers or citations


def _split_numbered(scan: Scan) -> list[Piece]:
    """Split “The winners are 1) Ana Lind and 2) Mia Sund” item by item; empty if an item is empty.

    What stands before the first completes them all, but no sentence after a colon.
    """
    before = strip_markup(scan.masked[scan.start : scan.numbers[0][0]]).rstrip(" (")
    lead = before.rstrip(":： ")
    joint = ": " if before != lead else " "
    nexts = [*(start for start, _ in scan.numbers[1:]), len(scan.plain)]
    pieces: list[Piece] = []
    place = scan.start
    for (_, start), following in zip(scan.numbers, nexts, strict=True):
        tail = _ITEM_END.search(scan.masked, start, following)
        end = tail.start() if tail and following < len(scan.plain) else following
        item = strip_markup(scan.masked[start:end])
        if not item:
            return []
        alone = not lead or (joint == ": " and _has_verb(item))
        wording = item if alone else f"{lead}{joint}{item}"
        piece = _make_item(scan, place, end, wording[0].upper() + wording[1:])
        pieces.append(piece._replace(subject=None))
        place = end
    return pieces


def _split_cited(scan: Scan, whole: Piece) -> list[Piece]:
    """Split “…, including A [1], B [1] and C [2]” item by item; empty where it is none.

    Every item but the last ends in a marker, and none after the first has a verb of its own. The
    items begin after a colon, “including”, “are” and the like, else after the last preposition,
    else after the verb.
    """
    ends = _find_item_ends(scan) if scan.marks else []
    if len(ends) < 2:
        return []
    plain = scan.plain
    first = _find_first_item(plain, scan.start, ends[0])
    if first is None:
        return []
    starts = [first, *(_match_item(plain, end) for end in ends[:-1])]
    items = [strip_markup(scan.masked[s:e]).strip(" ,;") for s, e in zip(starts, ends, strict=True)]
    if any(not item or _has_verb(item) or _is_subordinate(item) for item in items[1:]):
        return []
    lead = strip_markup(scan.masked[scan.start : first]).rstrip()
    places = [scan.start, *ends[:-1]]
    return [
        _make_item(scan, place, end, f"{lead} {item}")
        for place, end, item in zip(places, ends, items, strict=True)
    ]


def _has_verb(item: str) -> bool:
    """Tell whether an item is more than a name: “has 12 rooms” has a verb and lacks its subject."""
    tokens = read_tokens(item)
    return find_finite(tokens) is not None or (bool(tokens) and tokens[0].low in SURE)


def _is_subordinate(item: str) -> bool:
    """Tell “which includes breakfast” and “while costs fell” from an item."""
    tokens = read_tokens(item)
    return bool(tokens) and (tokens[0].low in w.SUBORDINATORS or tokens[0].low in _RELATIVE)


def _make_item(scan: Scan, start: int, end: int, wording: str) -> Piece:
    """Return an item's piece, with the comma or “and” before it: nothing lies outside of pieces."""
    place = start + len(scan.plain[start:]) - len(scan.plain[start:].lstrip())
    return Piece(place, end, wording, classify(wording), wording if start > scan.start else None)


def _find_item_ends(scan: Scan) -> list[int]:
    """Return where items with a marker end: after the marker, before “,” or “and”; and the end."""
    plain = scan.plain
    ends: list[int] = []
    for mark, next_mark in zip_longest(scan.marks, scan.marks[1:]):
        end = mark.end - scan.offset
        if next_mark and not plain[end : next_mark.start - scan.offset].strip():
            continue  # “[2][3]” closes one item
        following = _ITEM_START.match(plain, end)
        joined = following is not None and following[0].strip()
        if end <= scan.start or not joined or (ends and ends[-1] == end):
            continue
        ends.append(end)
    stretch = plain[ends[-1] :] if ends else ""
    return [*ends, len(plain)] if any(char.isalnum() for char in stretch) else ends


def _match_item(plain: str, end: int) -> int:
    match = _ITEM_START.match(plain, end)
    return match.end() if match else end


def _find_first_item(plain: str, start: int, end: int) -> int | None:
    """Return where the first of some items begins, or None."""
    cues = [match.end() for match in _STRONG_CUE.finditer(plain, start, end)]
    if cues:
        return cues[-1]
    tokens = read_tokens(plain[start:end])
    prepositions = [token for token in tokens if token.low in w.PREPOSITIONS]
    if prepositions:
        return start + prepositions[-1].end + 1
    verb = find_finite(tokens)
    return start + tokens[verb.verb].end + 1 if verb else None


# Clauses


def _split_clauses(scan: Scan, whole: Piece) -> list[Piece]:
    """Cut a sentence into clauses; keep it whole when none of them claims anything."""
    plain = _join_cited(scan) if scan.marks else scan.plain[scan.start :]
    clauses = [clause for clause in split_statements(plain) if clause.end > clause.start]
    if len(clauses) == 1:
        return [whole._replace(kind=classify(whole.wording))]
    pieces = [_read_clause(scan, clause) for clause in clauses]
    if any(piece.kind in (FACT, ACTION) for piece in pieces):
        return pieces
    return [whole._replace(kind=_choose_reason([piece.kind for piece in pieces]))]


def _join_cited(scan: Scan) -> str:
    """Return the plain text, with an “and” where a marker and a comma part two statements.

    “A lease is a contract [1], a licence is a permission [2]”. The “and” stands in the marker's
    place, so that no letter moves.
    """
    plain, letters = scan.plain, list(scan.plain)
    ends = [end for end in _find_item_ends(scan) if plain.startswith(",", end)]
    for end, following in zip_longest(ends, ends[1:], fillvalue=len(plain)):
        joined = _ITEM_START.match(plain, end)
        right = read_tokens(plain[end + 1 : following])
        if (joined is None or joined[0].strip(" ,") == "") and find_finite(right) is not None:
            letters[end - 3 : end + 1] = ",and"
    return "".join(letters[scan.start :])


def _leave_marker(scan: Scan, place: int) -> int:
    """Return a place; if it lies in a marker, the one behind it and its comma."""
    before = bisect_right(scan.marks, place + scan.offset, key=lambda mark: mark.start)
    end = scan.marks[before - 1].end - scan.offset if before else 0
    return end + scan.plain.startswith(",", end) if place < end else place


def _choose_reason(kinds: Sequence[Kind]) -> Kind:
    return _REFUSAL if _REFUSAL in kinds else kinds[0]


def _read_clause(scan: Scan, clause: Clause) -> Piece:
    places = (clause.start, clause.core, clause.end)
    start, core, end = (_leave_marker(scan, scan.start + place) for place in places)
    slice_ = scan.masked[start:end]
    start += len(slice_) - len(slice_.lstrip())
    end -= len(slice_) - len(slice_.rstrip())
    own = strip_markup(scan.masked[core:end]).rstrip(",; ") if end > core else ""
    subject = " ".join(clause.subject.split()) if clause.subject else None
    parts = (subject, " ".join(clause.shared.split()), own, clause.tail)
    wording = " ".join(part for part in parts if part)
    if subject or (clause.start and wording.split(maxsplit=1)[0].islower()):
        wording = wording[0].upper() + wording[1:]
    return Piece(start, end, wording, classify(wording), subject)
