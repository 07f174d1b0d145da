"""Turns what a system was given into sources, and spans of those back into places in documents.

A system that retrieves is given passages. A verifier reads one source per document: the passages
of that document in its order, overlapping ones joined, so that what was retrieved twice is not
counted twice. A span of such a source is a span of the document, at another place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from claimwise.types.rows import Context, Source
from claimwise.types.verdicts import Span

_BETWEEN = "\n\n"


class SourcePiece(NamedTuple):
    """A stretch of a source as the verifier sees it, and where it stands in its document."""

    start: int
    end: int
    place: int | None  # None: reworded, it does not stand there


@dataclass(frozen=True, slots=True)
class DocumentEvidence:
    """One document: whole, as the verifier sees it, and how the two belong together."""

    document: Source
    shown: Source
    pieces: tuple[SourcePiece, ...]

    def locate(self, span: Span) -> int | None:
        """Return where a span of the shown source stands in the document, letter by letter.

        A span that does not lie in a piece with a place is looked for; None when it isn't there.
        """
        text = self.document.source_text
        for piece in self.pieces:
            if piece.place is not None and piece.start <= span.start and span.end <= piece.end:
                place = piece.place + span.start - piece.start
                if text.startswith(span.text, place):
                    return place
        found = text.find(span.text)
        return None if found < 0 else found


def show_whole(document: Source) -> DocumentEvidence:
    """Return a document as it stands."""
    return DocumentEvidence(document, document, (SourcePiece(0, len(document.source_text), 0),))


def gather_passages(
    contexts: Sequence[Context], documents: Mapping[str, Source]
) -> tuple[DocumentEvidence, ...]:
    """Return the passages that a system was given, by document, in the order of retrieval."""
    by_document: dict[str, list[Context]] = defaultdict(list)
    for context in contexts:
        by_document[context.source_id].append(context)
    return tuple(
        _join_passages(documents[source_id], passages)
        for source_id, passages in by_document.items()
        if source_id in documents
    )


def _join_passages(document: Source, passages: Sequence[Context]) -> DocumentEvidence:
    text = document.source_text
    placed: list[tuple[int, int]] = []
    reworded: dict[str, None] = {}
    for passage in passages:
        place = _find_place(text, passage)
        if place is None:
            reworded[passage.context_text] = None
        else:
            placed.append((place, place + len(passage.context_text)))
    parts: list[tuple[str, int | None]] = [(text[a:b], a) for a, b in _unite(placed)]
    parts += [(passage, None) for passage in reworded]
    pieces, length = [], 0
    for part, place in parts:
        pieces.append(SourcePiece(length, length + len(part), place))
        length += len(part) + len(_BETWEEN)
    shown = replace(document, source_text=_BETWEEN.join(part for part, _ in parts))
    return DocumentEvidence(document, shown, tuple(pieces))


def _find_place(text: str, passage: Context) -> int | None:
    """Return where a passage stands in its document; what it says of itself may be off."""
    if passage.span_start is not None and text.startswith(passage.context_text, passage.span_start):
        return passage.span_start
    found = text.find(passage.context_text)
    return None if found < 0 else found


def _unite(stretches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return stretches in order, those that overlap or touch as one."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        else:
            united.append((start, end))
    return united
