"""What a grounded judge shows its model: sources, claims and pieces, fenced, under ids of our own.

Ids are d1, d2… for sources, c1, c2… for claims, s1, s2… for pieces. A source's own id and title
are foreign text like the rest and never stand outside a fence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from claimwise.judges.link import SourceIndex
from claimwise.judges.quotes import QuoteFinder
from claimwise.llm.fencing import Fenced, fence_text, neutralise_text
from claimwise.text.words import read_stems
from claimwise.types.rows import Source
from claimwise.types.validity import is_stale
from claimwise.types.verdicts import AnswerClaim

# On the low side for English, where a token has about four: a budget should not be exceeded.
CHARACTERS_PER_TOKEN = 3
_GAP = "\n[…]\n"


class SourceMaterial:
    """The sources of one answer as the model sees them, and the way back to the originals.

    Sources that hold come before those that don't: of two that say the same, a model quotes the
    first. Sources longer than the budget are cut down to the passages closest to the claims.
    """

    def __init__(
        self, sources: Sequence[Source], wordings: Sequence[str], as_of: date, tokens: int
    ) -> None:
        filled = [source for source in sources if source.source_text.strip()]
        self.as_of = as_of
        self.sources = sorted(filled, key=lambda source: is_stale(source, as_of))
        self.holding = {s.source_id for s in self.sources if not is_stale(s, as_of)}
        self._texts = [neutralise_text(source.source_text) for source in self.sources]
        self.finder = QuoteFinder(self.sources, self._texts)
        room = tokens * CHARACTERS_PER_TOKEN
        length = sum(map(len, self._texts))
        self._excerpts = self._texts
        if length > room:
            self._excerpts = choose_passages(self.sources, wordings, room)
        self.left_out = 1 - sum(map(len, self._excerpts)) / length if length else 0.0

    def find_source(self, number: str) -> Source | None:
        """Return the source that the model names by its number."""
        return next((s for n, s in self._number() if n == number), None)

    def show_sources(self) -> Fenced:
        """Return all sources, fenced one by one."""
        shown: list[str] = []
        for (number, source), text in zip(self._number(), self._excerpts, strict=True):
            if not text:
                continue
            if is_stale(source, self.as_of):
                shown.append(f"{number} is out of force:")
            if source.title:
                shown.append(fence_text(source.title, f"title-of-{number}"))
            shown.append(fence_text(text, number))
        return Fenced("\n".join(shown))

    def show_claims(self, claims: Sequence[AnswerClaim], letter: str) -> Fenced:
        """Return claims or pieces, fenced one by one, with the sources that they cite."""
        numbers = {source.source_id: number for number, source in self._number()}
        shown: list[str] = []
        for n, claim in enumerate(claims, start=1):
            cited = dict.fromkeys(
                numbers[m.target] for m in claim.marks if m.target in numbers
            )  # fmt: skip
            if cited:
                shown.append(f"{letter}{n} cites {', '.join(cited)}:")
            shown.append(fence_text(claim.wording, f"{letter}{n}"))
        return Fenced("\n".join(shown))

    def _number(self) -> Iterator[tuple[str, Source]]:
        return ((f"d{n}", source) for n, source in enumerate(self.sources, start=1))


def choose_passages(sources: Sequence[Source], wordings: Sequence[str], room: int) -> list[str]:
    """Return the passages of every source that the claims share most words with.

    Claims take turns, so that none gets all the room: each adds its best sentence with the
    neighbours, then its second best… At least one sentence is taken. Claims in another language
    may share no word with the sources: then what comes first is taken.
    """
    index = SourceIndex(sources)
    rankings = [index.rank(read_stems(wording)) for wording in wordings]
    if not any(rankings):
        rankings = [list(range(len(index.sentences)))]
    taken: set[int] = set()
    for turn in range(max(map(len, rankings), default=0)):
        for ranked in rankings:
            if turn >= len(ranked):
                continue
            new = [p for p in index.surround(ranked[turn]) if p not in taken]
            size = sum(len(index.text_of(p)) for p in new)
            if size <= room or not taken:
                taken.update(new)
                room -= size
    return [_join_passages(index, number, taken) for number in range(len(sources))]


def _join_passages(index: SourceIndex, number: int, taken: set[int]) -> str:
    parts: list[str] = []
    before: int | None = None
    text = index.sources[number].source_text
    for position in sorted(taken):
        sentence = index.sentences[position]
        if sentence.source != number:
            continue
        if before is not None and before == position - 1:
            # Neighbours keep what stands between them, so that a quote may run over both.
            parts.append(text[index.sentences[before].end : sentence.end])
        else:
            parts += [_GAP] if parts else []
            parts.append(sentence.text)
        before = position
    return "".join(parts)
