"""Finds the sentences of the sources that a claim would have to rest on.

Sources are cut into sentences with offsets; a row of a table, a JSON object or a labelled block is
one, worded with its header (``records.py``). A sentence that is too long (code, a line without a
full stop) is cut further. A source's title is no evidence. Sentences are ranked by BM25 over the
claim's words. A claim is always compared with the same number of sentences: taking the best of
more and more windows makes every claim look supported.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import itemgetter

from claimwise.judges.reading import TextFacts
from claimwise.judges.records import DataRecord, find_records
from claimwise.text.sentences import find_sentences
from claimwise.text.words import is_common, read_stems, read_words
from claimwise.types.rows import Source

DIGEST_SENTENCES = 4
DIGEST_WORDS = 120
PASSAGE_WORDS = 160
LONGEST_SENTENCE = 60
_SATURATION = 1.2
_LENGTH_WEIGHT = 0.75
_GAP = " … "


class SourceSentence(TextFacts):
    """A sentence of a source, a piece of one that was too long, or a record in words."""

    def __init__(
        self, source: int, start: int, text: str, stems: list[str], record: DataRecord | None = None
    ) -> None:
        super().__init__(text)
        self.source = source
        self.start = start
        self.end = record.end if record else start + len(text)
        self.stems = stems
        self.record = record


class SourceIndex:
    """The sentences of all sources of an answer, ready to be searched."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = tuple(sources)
        self.sentences: list[SourceSentence] = []
        # Where every stem stands: a sentence that has it twice comes twice.
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._scores: dict[str, list[tuple[int, float]]] = {}
        for number, source in enumerate(self.sources):
            self._add_source(number, source.source_text)
        self._words = sum(len(sentence.stems) for sentence in self.sentences)
        average = max(self._words, 1) / max(len(self.sentences), 1)
        self._norms = [
            _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * (len(sentence.stems) / average))
            for sentence in self.sentences
        ]

    def _add_source(self, number: int, text: str) -> None:
        records = find_records(text)
        if not records:
            self._add_prose(number, text, 0, find_sentences(text))
            return
        units: list[tuple[int, int, DataRecord | None]] = [(r.start, r.end, r) for r in records]
        units += ((*place, None) for place in _list_outside(text, records))
        for start, end, record in sorted(units, key=itemgetter(0, 1)):
            if record is None:
                self._add_prose(number, text, 0, [(start, end)])
                continue
            self._add_record(number, text, record)

    def _add_record(self, number: int, text: str, record: DataRecord) -> None:
        for piece in record.cut(LONGEST_SENTENCE):
            stems = read_stems(piece.wording)
            self._add_sentence(SourceSentence(number, piece.start, piece.wording, stems, piece))
        for cell in record.cells:
            if cell.is_prose:
                self._add_prose(number, text, cell.start, find_sentences(cell.text))

    def _add_prose(
        self, number: int, text: str, offset: int, places: Iterable[tuple[int, int]]
    ) -> None:
        for start, end in places:
            begin = offset + start
            sentence = text[begin : offset + end]
            stems = read_stems(sentence)
            if len(stems) <= LONGEST_SENTENCE:
                self._add_sentence(SourceSentence(number, begin, sentence, stems))
                continue
            for place, piece in _cut_sentence(sentence):
                self._add_sentence(SourceSentence(number, begin + place, piece, read_stems(piece)))

    def _add_sentence(self, sentence: SourceSentence) -> None:
        position = len(self.sentences)
        if position and self.sentences[-1].source == sentence.source:
            sentence.before = self.sentences[-1]
        self.sentences.append(sentence)
        postings = self._postings
        for stem in sentence.stems:
            postings[stem].append(position)

    def holds(self, stem: str) -> bool:
        """Tell whether a word occurs anywhere in the sources."""
        return stem in self._postings

    def find(self, stem: str) -> list[int]:
        """Return the sentences that have a word, in order; one that has it twice comes twice."""
        return self._postings.get(stem, [])

    def weigh(self, stem: str) -> float:
        """Return how telling a word is: its inverse sentence frequency, as in BM25."""
        return self._weigh(len(set(self._postings.get(stem, ()))))

    def _weigh(self, found: int) -> float:
        return math.log(1 + (len(self.sentences) - found + 0.5) / (found + 0.5))

    def rank(self, stems: Sequence[str]) -> list[int]:
        """Return the sentences that share a word with the claim, best BM25 score first."""
        scores: dict[int, float] = defaultdict(float)
        for stem in dict.fromkeys(stems):
            if stem in self._postings and not is_common(stem):
                for position, score in self._score(stem):
                    scores[position] += score
        return sorted(sorted(scores), key=scores.__getitem__, reverse=True)

    def _score(self, stem: str) -> list[tuple[int, float]]:
        """Return what a word adds to the sentences that have it; claims share their words."""
        found = self._scores.get(stem)
        if found is None:
            counts: dict[int, int] = {}
            for position in self._postings[stem]:
                counts[position] = counts.get(position, 0) + 1
            weight = self._weigh(len(counts))
            found = self._scores[stem] = [
                (position, weight * count * (_SATURATION + 1) / (count + self._norms[position]))
                for position, count in counts.items()
            ]
        return found

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

    @property
    def is_short(self) -> bool:
        """Whether the sources have so few words that the encoder reads them whole."""
        return self._words <= DIGEST_WORDS

    def read_passage(self, ranked: Sequence[int], digest: Sequence[int]) -> Sequence[int]:
        """Return what the encoder reads: short sources whole, else the digest and around it.

        A paraphrase may share no word with its evidence, and a sentence may need the one before it.
        The best sentence's neighbours come first, as far as ``PASSAGE_WORDS`` go.
        """
        if self.is_short:
            return range(len(self.sentences))
        chosen = set(digest)
        room = PASSAGE_WORDS - sum(len(self.sentences[p].stems) for p in chosen)
        for position in ranked[:DIGEST_SENTENCES]:
            if position not in chosen:
                continue
            for other in self.surround(position):
                size = len(self.sentences[other].stems)
                if other not in chosen and size <= room:
                    chosen.add(other)
                    room -= size
        return sorted(chosen)

    def surround(self, position: int) -> list[int]:
        """Return a sentence with its neighbours in the same source."""
        source = self.sentences[position].source
        near = range(max(position - 1, 0), min(position + 2, len(self.sentences)))
        return [other for other in near if self.sentences[other].source == source]

    def join(self, positions: Sequence[int]) -> str:
        """Return the sentences as one text.

        A gap shows as an ellipsis.
        """
        parts: list[str] = []
        before: int | None = None
        for position in positions:
            sentence = self.sentences[position]
            if before is not None:
                parts.append(" " if self._adjacent(before, position) else _GAP)
            parts.append(" ".join(sentence.text.split()))
            before = position
        return "".join(parts)

    def _adjacent(self, before: int, position: int) -> bool:
        return (
            position == before + 1
            and self.sentences[before].source == self.sentences[position].source
        )


def _list_outside(text: str, records: Sequence[DataRecord]) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a text that touch no record."""
    ends = list(accumulate((record.end for record in records), max))
    starts = [record.start for record in records]
    for start, end in find_sentences(text):
        before = bisect_left(starts, end)  # the records that begin before the sentence ends
        if not before or ends[before - 1] <= start:
            yield start, end


def _cut_sentence(text: str) -> list[tuple[int, str]]:
    """Cut a sentence into pieces of at most ``LONGEST_SENTENCE`` words, with their offsets."""
    words = read_words(text)
    starts = [0, *(word.start for word in words[LONGEST_SENTENCE::LONGEST_SENTENCE])]
    ends = [*starts[1:], len(text)]
    return [(start, text[start:end].rstrip()) for start, end in zip(starts, ends, strict=True)]
