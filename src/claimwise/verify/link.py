"""Finds the sentences of the sources that a claim would have to rest on.

Sources are cut into sentences with offsets; a sentence that is too long (a table, JSON, code, a
line without a full stop) is cut further. Sentences are ranked by BM25 over the claim's words.
A claim is always compared with the same number of sentences: taking the best of more and more
windows makes every claim look supported.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from claimwise.text.sentences import find_sentences
from claimwise.types.rows import Source
from claimwise.verify.words import Word, is_common, read_stems, read_words

DIGEST_SENTENCES = 4
DIGEST_WORDS = 120
LONGEST_SENTENCE = 60
_SATURATION = 1.2
_LENGTH_WEIGHT = 0.75
_GAP = " … "


class Sentence:
    """A sentence of a source, or a piece of one that was too long.

    ``words`` have their places within the sentence; they, and the pairs of neighbouring stems,
    are read when asked for, since most sentences are never looked at.
    """

    __slots__ = (
        "_pairs", "_stem_set", "_titled", "_words", "end", "source", "start", "stems", "text",
    )  # fmt: skip

    def __init__(
        self, source: int, start: int, text: str, stems: list[str], titled: frozenset[str]
    ) -> None:
        self.source = source
        self.start = start
        self.end = start + len(text)
        self.text = text
        self.stems = stems
        self._titled = titled
        self._words: list[Word] | None = None
        self._pairs: frozenset[tuple[str, str]] | None = None
        self._stem_set: frozenset[str] | None = None

    @property
    def words(self) -> list[Word]:
        """The words with their places in the sentence."""
        if self._words is None:
            self._words = read_words(self.text)
        return self._words

    @property
    def stem_set(self) -> frozenset[str]:
        """The different stems, with those of the source's title: it says what "it" is about."""
        if self._stem_set is None:
            self._stem_set = self._titled.union(self.stems)
        return self._stem_set

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The different pairs of neighbouring stems."""
        if self._pairs is None:
            self._pairs = frozenset(pairwise(self.stems))
        return self._pairs


class SourceIndex:
    """The sentences of all sources of an answer, ready to be searched."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = tuple(sources)
        self.sentences: list[Sentence] = []
        self._postings: dict[str, dict[int, int]] = defaultdict(dict)
        self._titles = frozenset().union(*(read_stems(s.title or "") for s in self.sources))
        for number, source in enumerate(self.sources):
            self._add_source(number, source.source_text, frozenset(read_stems(source.title or "")))
        words = sum(len(sentence.stems) for sentence in self.sentences)
        self._average = words / max(len(self.sentences), 1)

    def _add_source(self, number: int, text: str, titled: frozenset[str]) -> None:
        for start, end in find_sentences(text):
            sentence = text[start:end]
            stems = read_stems(sentence)
            if len(stems) <= LONGEST_SENTENCE:
                self._add_sentence(Sentence(number, start, sentence, stems, titled))
                continue
            for offset, piece in _cut_sentence(sentence):
                stems = read_stems(piece)
                self._add_sentence(Sentence(number, start + offset, piece, stems, titled))

    def _add_sentence(self, sentence: Sentence) -> None:
        position = len(self.sentences)
        self.sentences.append(sentence)
        for stem, count in Counter(sentence.stems).items():
            self._postings[stem][position] = count

    def holds(self, stem: str) -> bool:
        """Tell whether a word occurs anywhere in the sources or their titles."""
        return stem in self._postings or stem in self._titles

    def weigh(self, stem: str) -> float:
        """Return how telling a word is: its inverse sentence frequency, as in BM25."""
        found = len(self._postings.get(stem, ()))
        return math.log(1 + (len(self.sentences) - found + 0.5) / (found + 0.5))

    def rank(self, stems: Sequence[str]) -> list[int]:
        """Return the sentences that share a word with the claim, best BM25 score first."""
        scores: dict[int, float] = defaultdict(float)
        for stem in dict.fromkeys(stems):
            posting = self._postings.get(stem)
            if posting is None or is_common(stem):
                continue
            weight = self.weigh(stem)
            for position, count in posting.items():
                length = len(self.sentences[position].stems) / self._average
                norm = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * length)
                scores[position] += weight * count * (_SATURATION + 1) / (count + norm)
        return sorted(scores, key=lambda position: (-scores[position], position))

    def text_of(self, position: int) -> str:
        """Return a sentence's text."""
        return self.sentences[position].text

    def choose(self, ranked: Sequence[int]) -> list[int]:
        """Return the digest: the best few sentences, in the sources' order.

        At least one, at most ``DIGEST_SENTENCES``, and no more than about ``DIGEST_WORDS`` words.
        """
        chosen: list[int] = []
        room = DIGEST_WORDS
        for position in ranked[:DIGEST_SENTENCES]:
            size = len(self.sentences[position].stems)
            if chosen and size > room:
                continue
            chosen.append(position)
            room -= size
        return sorted(chosen)

    def surround(self, position: int) -> list[int]:
        """Return a sentence with its neighbours in the same source."""
        source = self.sentences[position].source
        near = range(max(position - 1, 0), min(position + 2, len(self.sentences)))
        return [other for other in near if self.sentences[other].source == source]

    def join(self, positions: Sequence[int]) -> str:
        """Return the sentences as one text.

        A gap shows as an ellipsis; a source's title, where it has one, stands before its first
        sentence.
        """
        parts: list[str] = []
        before: int | None = None
        for position in positions:
            sentence = self.sentences[position]
            if before is not None:
                parts.append(" " if self._adjacent(before, position) else _GAP)
            title = self.sources[sentence.source].title
            if title and (before is None or self.sentences[before].source != sentence.source):
                parts.append(f"{title}: ")
            parts.append(" ".join(sentence.text.split()))
            before = position
        return "".join(parts)

    def _adjacent(self, before: int, position: int) -> bool:
        return (
            position == before + 1
            and self.sentences[before].source == self.sentences[position].source
        )


def _cut_sentence(text: str) -> list[tuple[int, str]]:
    """Cut a sentence into pieces of at most ``LONGEST_SENTENCE`` words, with their offsets."""
    words = read_words(text)
    starts = [0, *(word.start for word in words[LONGEST_SENTENCE::LONGEST_SENTENCE])]
    ends = [*starts[1:], len(text)]
    return [(start, text[start:end].rstrip()) for start, end in zip(starts, ends, strict=True)]
