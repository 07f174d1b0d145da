"""A corpus, cut into passages and indexed, so that claims without given sources can be checked.

Documents are cut at sentences into passages of about ``PASSAGE_WORDS`` words. An inverted index
holds, for every content word, the passages that have it and what it adds to their BM25 scores;
a search adds up a few arrays. A document's title counts as part of each of its passages.

Reference: Robertson & Zaragoza (2009), The Probabilistic Relevance Framework: BM25 and Beyond.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from claimwise.judges.decide import OTHERWISE
from claimwise.judges.kept_index import Arrays, keep_arrays, name_index, read_arrays
from claimwise.text.sentences import find_sentences
from claimwise.text.words import is_common, read_stems
from claimwise.types.corpus import CorpusInfo, CorpusPassage, Retrieval
from claimwise.types.rows import Source
from claimwise.types.verdicts import ClaimVerdict, Span

PASSAGE_WORDS = 100
_LONGEST_PASSAGE = 2_000  # characters; text without spaces has few “words”
_SATURATION = 1.2
_LENGTH_WEIGHT = 0.75
_RUN = re.compile(r"\S+")
_USUAL = Retrieval()
_WHOLE, _REAL = ("starts", "passages"), ("weights", "scores")


class _Place(NamedTuple):
    """Where a passage stands: the number of its document, and offsets into its text."""

    document: int
    start: int
    end: int


class Corpus:
    """Documents, ready to be searched. Nothing in it changes: many threads may use it.

    With a ``folder`` the index is kept there, and found again as long as no document changes.
    """

    def __init__(
        self,
        documents: Sequence[Source],
        *,
        name: str = "",
        version: str | None = None,
        folder: Path | None = None,
    ) -> None:
        self.documents = tuple(documents)
        self._numbers = {d.source_id: number for number, d in enumerate(self.documents)}
        if len(self._numbers) < len(self.documents):
            raise ValueError("documents: found two with one id, expected each once")
        self._places, self._postings = self._open_index(folder)
        self.info = CorpusInfo(
            name=name,
            version=version,
            documents=len(self.documents),
            passages=len(self._places),
            characters=sum(len(document.source_text) for document in self.documents),
        )

    def _open_index(self, folder: Path | None) -> tuple[list[_Place], _Postings]:
        """Return the index as it was kept, or build and keep it."""
        path = None if folder is None else folder / name_index(self.documents)
        kept = None if path is None else read_arrays(path)
        found = None if kept is None else self._read_index(kept)
        if found is not None:
            return found
        places = [
            _Place(number, start, end)
            for number, document in enumerate(self.documents)
            for start, end in cut_passages(document.source_text)
        ]
        postings = _Postings.build([self._read(place) for place in places])
        if path is not None:
            keep_arrays(path, {**postings.to_arrays(), "places": np.array(places, np.int64)})
        return places, postings

    def _read_index(self, kept: Arrays) -> tuple[list[_Place], _Postings] | None:
        """Return a kept index, unless what is in it does not fit these documents."""
        try:
            places = [_Place(*place) for place in kept["places"].reshape(-1, 3).tolist()]
            postings = _Postings.from_arrays(kept, len(places))
            fits = all(
                0 <= start < end <= len(self.documents[number].source_text)
                for number, start, end in places
            )
        except (KeyError, ValueError, TypeError, IndexError):
            return None
        return (places, postings) if fits else None

    def _read(self, place: _Place) -> list[str]:
        document = self.documents[place.document]
        text = document.source_text[place.start : place.end]
        return list_content_words(f"{document.title}\n{text}" if document.title else text)

    def number_of(self, source_id: str) -> int:
        """Return the place of a document among all."""
        return self._numbers[source_id]

    def find_passages(self, claim: str, how: Retrieval = _USUAL) -> list[CorpusPassage]:
        """Return the best passages for a claim, best first; none where all are below the floor.

        A claim without a content word (“It is so.”) finds nothing: every passage would do.
        """
        found = self._postings.search(list_content_words(claim), how)
        return [self._make_passage(hit) for hit in found]

    def _make_passage(self, hit: _Hit) -> CorpusPassage:
        place = self._places[hit.passage]
        return CorpusPassage(
            source_id=self.documents[place.document].source_id,
            start=place.start,
            end=place.end,
            score=round(hit.score, 4),
            found=hit.found,
            weight=hit.weight,
        )


class Excerpts:
    """Passages as sources of their own, and the way back into their documents.

    Passages that touch become one, so that a sentence's neighbours stay beside it.
    """

    def __init__(self, corpus: Corpus, passages: Sequence[CorpusPassage]) -> None:
        wanted = sorted({(corpus.number_of(p.source_id), p.start, p.end) for p in passages})
        self._homes: dict[str, tuple[Source, int]] = {}
        sources: list[Source] = []
        for number, start, end in _merge(wanted, corpus.documents):
            document = corpus.documents[number]
            name = f"{document.source_id}:{start}"
            self._homes[name] = document, start
            text = document.source_text[start:end]
            sources.append(replace(document, source_id=name, source_text=text))
        self.sources = tuple(sources)

    def move_back(self, judged: ClaimVerdict) -> ClaimVerdict:
        """Return a verdict on excerpts with its spans counted in the documents.

        Passages come from all over a corpus, and most with another figure are about something
        else: of spans that say otherwise only those are kept that speak of the same thing.
        """
        span = None if judged.span is None else self._move(judged.span)
        conflicts = tuple(self._move(s) for s in judged.conflicts if _is_alike(judged, s))
        reason = judged.reason
        if judged.conflicts and not conflicts:
            reason = reason.partition(OTHERWISE)[0]
        return replace(judged, span=span, conflicts=conflicts, reason=reason)

    def _move(self, span: Span) -> Span:
        if span.source_id not in self._homes:
            return span
        document, offset = self._homes[span.source_id]
        return replace(
            span,
            source_id=document.source_id,
            start=span.start + offset,
            end=span.end + offset,
        )


def _is_alike(judged: ClaimVerdict, other: Span) -> bool:
    """Tell whether a span has all words of the claim that its own span has, figures aside."""
    if judged.span is None:
        return True
    shared = {
        stem
        for stem in list_content_words(judged.claim.wording)
        if not any(character.isdigit() for character in stem)
    } & set(list_content_words(judged.span.text))
    return shared <= set(list_content_words(other.text))


def _merge(
    wanted: Sequence[tuple[int, int, int]], documents: Sequence[Source]
) -> list[tuple[int, int, int]]:
    """Return stretches in order, those with nothing but space between them as one."""
    merged: list[tuple[int, int, int]] = []
    for number, start, end in wanted:
        near, begin, stop = merged[-1] if merged else (-1, 0, 0)
        if near == number and not documents[number].source_text[stop:start].strip():
            merged[-1] = number, begin, end
        else:
            merged.append((number, start, end))
    return merged


def list_content_words(text: str) -> list[str]:
    """Return the stems of a text that carry meaning, as often as they come."""
    return [stem for stem in read_stems(text) if not is_common(stem)]


def cut_passages(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of a text's passages: whole sentences, about ``PASSAGE_WORDS`` words.

    A sentence that is longer by itself (a table, JSON, a line without a full stop) is cut at
    spaces; a run of characters without any, after ``_LONGEST_PASSAGE`` of them.
    """
    begin: int | None = None
    last = words = 0
    for start, end in chain.from_iterable(
        _cut_sentence(text, start, end) for start, end in find_sentences(text)
    ):
        size = len(text[start:end].split())
        full = words + size > PASSAGE_WORDS
        if begin is not None and (full or end - begin > _LONGEST_PASSAGE):
            yield begin, last
            begin, words = None, 0
        begin = start if begin is None else begin
        last, words = end, words + size
    if begin is not None:
        yield begin, last


def _cut_sentence(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    sentence = text[start:end]
    if len(sentence) <= _LONGEST_PASSAGE and len(sentence.split()) <= PASSAGE_WORDS:
        yield start, end
        return
    runs = [
        (at, min(at + _LONGEST_PASSAGE, run.end()))
        for run in _RUN.finditer(sentence)
        for at in range(run.start(), run.end(), _LONGEST_PASSAGE)
    ]
    first, count = 0, 0
    for number, (_, stop) in enumerate(runs):
        count += 1
        following = runs[number + 1] if number + 1 < len(runs) else None
        if (
            following is None
            or count >= PASSAGE_WORDS
            or following[1] - runs[first][0] > _LONGEST_PASSAGE
        ):
            yield start + runs[first][0], start + stop
            first, count = number + 1, 0


class _Hit(NamedTuple):
    """A passage that was found, by its number."""

    passage: int
    score: float
    found: float
    weight: float


class _Postings(NamedTuple):
    """The inverted index: for each word a slice of ``passages`` and ``scores``."""

    size: int  # how many passages there are
    words: dict[str, int]  # and where in ``starts`` and ``weights`` they are
    starts: NDArray[np.int64]
    weights: NDArray[np.float64]
    passages: NDArray[np.int64]
    scores: NDArray[np.float64]

    @classmethod
    def build(cls, texts: Sequence[Sequence[str]]) -> _Postings:
        """Index passages by their content words."""
        words: dict[str, int] = {}
        count = len(texts)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=count)
        codes = np.fromiter(
            (words.setdefault(stem, len(words)) for stems in texts for stem in stems),
            dtype=np.int64,
            count=int(lengths.sum()),
        )
        # One number for a word in a passage: sorted, they are the postings, word by word.
        keys, times = np.unique(
            codes * max(count, 1) + np.repeat(np.arange(count), lengths), return_counts=True
        )
        found = keys // max(count, 1)
        passages = keys % max(count, 1)
        held = np.bincount(found, minlength=len(words))
        weights = np.log(1 + (count - held + 0.5) / (held + 0.5))
        average = max(float(lengths.mean()), 1.0) if count else 1.0
        norms = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * lengths / average)
        gains = times * (_SATURATION + 1) / (times + norms[passages])
        starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(held)))
        return cls(count, words, starts, weights, passages, weights[found] * gains)

    def to_arrays(self) -> Arrays:
        """Return the index as arrays; words as their bytes, one on a line."""
        return {
            "words": np.frombuffer(
                "\n".join(self.words).encode("utf-8", "surrogatepass"), np.uint8
            ),
            "starts": self.starts,
            "weights": self.weights,
            "passages": self.passages,
            "scores": self.scores,
        }

    @classmethod
    def from_arrays(cls, kept: Arrays, count: int) -> _Postings:
        """Return the index of so many passages that arrays hold.

        Raises:
            KeyError, TypeError, ValueError: they do not belong together.
        """
        text = (
            kept["words"]
            .astype(np.uint8, casting="safe")
            .tobytes()
            .decode("utf-8", "surrogatepass")
        )
        words = {word: number for number, word in enumerate(text.split("\n") if text else ())}
        starts, passages = (kept[name].astype(np.int64, casting="safe") for name in _WHOLE)
        weights, scores = (kept[name].astype(np.float64, casting="safe") for name in _REAL)
        sizes = (len(starts), len(weights), len(scores))
        if sizes != (len(words) + 1, len(words), len(passages)):
            raise ValueError("arrays of other lengths")
        whole = starts[0] == 0 and starts[-1] == len(passages) and (np.diff(starts) >= 0).all()
        if not whole or ((passages < 0) | (passages >= count)).any():
            raise ValueError("places that are not there")
        return cls(count, words, starts, weights, passages, scores)

    @property
    def unseen(self) -> float:
        """What a word weighs that no passage has: it is as rare as can be."""
        return float(np.log(1 + (self.size + 0.5) / 0.5))

    def search(self, stems: Sequence[str], how: Retrieval) -> list[_Hit]:
        """Return the ``k`` best passages of those that reach the floor; equal ones in order."""
        telling = dict.fromkeys(stems)
        if not telling or not self.size:
            return []
        scores, held, weights = np.zeros((3, self.size))
        total = 0.0
        for stem in telling:
            code = self.words.get(stem)
            if code is None:
                total += self.unseen
                continue
            total += self.weights[code]
            some = slice(self.starts[code], self.starts[code + 1])
            places = self.passages[some]
            scores[places] += self.scores[some]
            held[places] += 1
            weights[places] += self.weights[code]
        near = np.flatnonzero((weights >= how.floor * total) & (held > 0))
        if len(near) > how.k:
            # Everything as good as the k-th: which of several equal ones comes in is then sorted.
            least = np.partition(scores[near], -how.k)[-how.k]
            near = near[scores[near] >= least]
        best = near[np.lexsort((near, -scores[near]))][: how.k]
        return [
            _Hit(
                int(n),
                float(scores[n]),
                float(held[n] / len(telling)),
                float(min(weights[n] / total, 1.0)),
            )
            for n in best
        ]
