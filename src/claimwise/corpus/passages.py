"""Finds a text in documents: word for word whatever the whitespace, or what comes closest."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from functools import cached_property
from typing import Final, NamedTuple

from claimwise.corpus.values import Place
from claimwise.text.sentences import find_sentences

_WORD = re.compile(r"\S+")
_EDGES = ".,;:!?()[]{}\"'“”‘’"
_CANDIDATES: Final = 8  # sentences that are compared word by word
# Words that stand in more sentences than this tell nothing about which one is meant.
_TOO_COMMON: Final = 2000


class _Sentence(NamedTuple):
    source_id: str
    number: int  # among the sentences of its document


class _Words(NamedTuple):
    """The words of a text in small letters without punctuation, and where they stand."""

    words: list[str]
    places: list[tuple[int, int]]


class DocumentSearch:
    """Searches the documents of a corpus version; what it needs of them is made when asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self._words: dict[str, _Words] = {}
        self._sentences: dict[str, list[tuple[int, int]]] = {}

    def find_words(self, text: str, source_id: str | None = None) -> list[Place]:
        """Return where the words of a text stand one after another, in one document or in all.

        Spaces and line breaks between the words don't matter; a word must be whole.
        """
        words = text.split()
        if not words:
            return []
        needle = " ".join(words)
        names: Iterable[str] = self._even_texts if source_id is None else [source_id]
        found: list[Place] = []
        for name in names:
            if needle in self._even_texts.get(name, ""):
                found += self._match(words, name)
        return found

    @cached_property
    def _even_texts(self) -> dict[str, str]:
        return {name: " ".join(text.split()) for name, text in self.texts.items()}

    def _match(self, words: list[str], source_id: str) -> Iterator[Place]:
        pattern = r"\s+".join(map(re.escape, words))
        before = r"(?<!\w)" if words[0][0].isalnum() else ""
        after = r"(?!\w)" if words[-1][-1].isalnum() else ""
        for match in re.finditer(f"{before}{pattern}{after}", self.texts[source_id]):
            yield Place(
                source_id=source_id, start=match.start(), end=match.end(), text=match.group()
            )

    def find_closest(self, text: str, source_id: str) -> tuple[Place, float] | None:
        """Return the passage that shares most words with a text, and the share of words that it is.

        It is looked for in the document named, and in all where there is no such document. None
        where no sentence shares a word that tells anything.
        """
        wanted = _read_words(text).words
        shared = (
            self._count_shared(set(wanted), source_id)
            if source_id in self.texts
            else self._count_shared_anywhere(set(wanted))
        )
        ranked = sorted(shared, key=lambda one: (-shared[one], one))[:_CANDIDATES]
        found = [self._align(wanted, one) for one in ranked]
        return max(found, key=lambda one: (one[1], -one[0].start), default=None)

    def _count_shared(self, wanted: set[str], source_id: str) -> Counter[_Sentence]:
        """Count the words that the sentences of one document share with a text."""
        return Counter(
            {
                _Sentence(source_id, number): len(wanted & words)
                for number, words in enumerate(self._list_word_sets(source_id))
                if wanted & words
            }
        )

    def _count_shared_anywhere(self, wanted: set[str]) -> Counter[_Sentence]:
        """Count the words that sentences of any document share with a text; common ones aside."""
        shared: Counter[_Sentence] = Counter()
        for word in wanted:
            places = self._postings.get(word, ())
            if len(places) <= _TOO_COMMON:
                shared.update(places)
        return shared

    def _find_sentences(self, source_id: str) -> list[tuple[int, int]]:
        if source_id not in self._sentences:
            self._sentences[source_id] = find_sentences(self.texts[source_id])
        return self._sentences[source_id]

    def _list_word_sets(self, source_id: str) -> Iterator[set[str]]:
        text = self.texts[source_id]
        for start, end in self._find_sentences(source_id):
            yield set(_read_words(text[start:end]).words)

    @cached_property
    def _postings(self) -> dict[str, list[_Sentence]]:
        """The sentences of all documents in which a word stands."""
        postings: defaultdict[str, list[_Sentence]] = defaultdict(list)
        for name in self.texts:
            for number, words in enumerate(self._list_word_sets(name)):
                for word in words:
                    postings[word].append(_Sentence(name, number))
        return postings

    def _align(self, wanted: list[str], at: _Sentence) -> tuple[Place, float]:
        """Lay a text over a document from a sentence on; return what it covers, and how well."""
        text = self.texts[at.source_id]
        if at.source_id not in self._words:
            self._words[at.source_id] = _read_words(text)
        known = self._words[at.source_id]
        start, end = self._find_sentences(at.source_id)[at.number]
        first = bisect_left(known.places, (start, 0))
        last = max(bisect_left(known.places, (end, 0)), first + len(wanted))
        region = known.words[first:last]
        blocks = [
            block
            for block in SequenceMatcher(None, wanted, region, autojunk=False).get_matching_blocks()
            if block.size
        ]
        # What stands before the first shared word and after the last belongs to it too.
        head, tail = blocks[0], blocks[-1]
        begin = max(0, head.b - head.a)
        close = min(len(region), tail.b + tail.size + len(wanted) - tail.a - tail.size)
        same = sum(block.size for block in blocks)
        similarity = same / max(len(wanted), close - begin)
        begin_at, close_at = known.places[first + begin][0], known.places[first + close - 1][1]
        place = Place(
            source_id=at.source_id, start=begin_at, end=close_at, text=text[begin_at:close_at]
        )
        return place, similarity


def _read_words(text: str) -> _Words:
    found = [(match[0].strip(_EDGES).lower() or match[0], match.span()) for match in
             _WORD.finditer(text)]  # fmt: skip
    return _Words([word for word, _ in found], [place for _, place in found])
