"""Cuts sources into windows that a model can read at once, at the borders of sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from claimwise.judges.link import SourceIndex
from claimwise.judges.overlap import share_found
from claimwise.text.sentences import find_sentences
from claimwise.text.words import read_stems
from claimwise.types.rows import Source
from claimwise.types.verdicts import Span

Measure = Callable[[Sequence[str]], list[int]]
"""Says how long texts are, in whatever a model counts: tokens or words."""


class Window(NamedTuple):
    """A stretch of a source, by the source's number."""

    source: int
    start: int
    end: int


class SourceWindows:
    """The windows of some sources. Sentences are measured once, and only if windows are cut."""

    def __init__(self, sources: Sequence[Source], measure: Measure) -> None:
        self.sources = tuple(sources)
        self._measure = measure
        self._sentences = [
            Window(number, start, end)
            for number, source in enumerate(sources)
            for start, end in find_sentences(source.source_text)
        ]
        self._cut: dict[int, list[Window]] = {}

    @cached_property
    def _sizes(self) -> list[int]:
        return self._measure([self.read(one) for one in self._sentences])

    @cached_property
    def _stems(self) -> dict[Window, frozenset[str]]:
        return {one: frozenset(read_stems(self.read(one))) for one in self._sentences}

    @cached_property
    def _index(self) -> SourceIndex:
        return SourceIndex(self.sources)

    def read(self, window: Window) -> str:
        """Return a window's text."""
        return self.sources[window.source].source_text[window.start : window.end]

    def cut(self, size: int) -> list[Window]:
        """Return windows of at most ``size``, in order; none is shared by two sources.

        As many whole sentences as fit; a sentence that is longer by itself is cut at white space.
        """
        if size not in self._cut:
            self._cut[size] = list(self._gather(size))
        return self._cut[size]

    def _gather(self, size: int) -> Iterator[Window]:
        current: Window | None = None
        held = 0
        for sentence, length in self._split_long(size):
            fits = current is not None and current.source == sentence.source
            if current is not None and fits and held + length <= size:
                current = current._replace(end=sentence.end)
                held += length
                continue
            if current is not None:
                yield current
            current, held = sentence, length
        if current is not None:
            yield current

    def _split_long(self, size: int) -> Iterator[tuple[Window, int]]:
        open_ = [*zip(self._sentences, self._sizes, strict=True)][::-1]
        while open_:
            sentence, length = open_.pop()
            if length <= size or sentence.end - sentence.start < 2:
                yield sentence, length
                continue
            text = self.read(sentence)
            middle = _find_middle(text) + sentence.start
            halves = [sentence._replace(start=middle), sentence._replace(end=middle)]
            open_ += zip(halves, self._measure([self.read(h) for h in halves]), strict=True)

    @property
    def is_empty(self) -> bool:
        """Whether the sources say nothing."""
        return not self._sentences

    def find_span(self, claim: str, window: Window) -> Span:
        """Return the sentence of a window that a claim most likely rests on, by its words."""
        inside = [
            one
            for one in self._sentences
            if one.source == window.source and one.start < window.end and one.end > window.start
        ]
        found = self._find_likeliest(claim, inside)
        source = self.sources[found.source].source_id
        return Span(source_id=source, start=found.start, end=found.end, text=self.read(found))

    def find_closest(self, claim: str) -> Window | None:
        """Return the sentence of all sources that shares most words with a claim."""
        return self._find_likeliest(claim, self._sentences) if self._sentences else None

    def _find_likeliest(self, claim: str, sentences: Sequence[Window]) -> Window:
        return max(sentences, key=lambda one: share_found(claim, self._stems[one]))

    def choose(self, windows: Sequence[Window], claim: str, most: int) -> Sequence[Window]:
        """Return at most ``most`` windows: those with the sentences closest to a claim (BM25)."""
        if len(windows) <= most:
            return windows
        chosen: dict[int, None] = {}
        for position in self._index.rank(read_stems(claim)):
            sentence = self._index.sentences[position]
            chosen.setdefault(_find_window(windows, sentence.source, sentence.start))
            if len(chosen) == most:
                break
        for place in range(len(windows)):  # a claim in another language may share no word
            if len(chosen) == most:
                break
            chosen.setdefault(place)
        return [windows[place] for place in sorted(chosen)]


def _find_middle(text: str) -> int:
    """Return where to cut a text in two: at the white space closest before its middle."""
    half = len(text) // 2
    space = max(text.rfind(" ", 1, half), text.rfind("\n", 1, half))
    return space + 1 if space > 0 else half


def _find_window(windows: Sequence[Window], source: int, start: int) -> int:
    """Return the window that a place of a source lies in, or the next one."""
    for place, window in enumerate(windows):
        if window.source == source and start < window.end:
            return place
    return len(windows) - 1


def count_words(texts: Sequence[str]) -> list[int]:
    """Return how many words texts have, by white space."""
    return [len(text.split()) for text in texts]
