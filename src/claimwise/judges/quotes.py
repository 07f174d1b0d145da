"""Finds where a quote stands: a model's word that a source says something is no evidence.

A source says what a quote says when it has the same tokens side by side (``quote_tokens.py``). The
quote may leave out footnote markers, numbers of list items, tags and the addresses of links, but
not a question mark: a question says nothing. An ellipsis may stand for words of one sentence, or
up to the next one, if none of them could turn the meaning: a denial, a condition, a number.
Everything else that resembles a source is approximate: parts between which such words are left
out, or the same content words with others between them. What is returned is always the source's
own text with its offsets.

The work is bounded: every source is read a fixed number of times and searched by ``str.find``,
which is linear, and no more than ``MOST_PLACES`` places of a quote are looked at.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from claimwise.judges.language import is_english
from claimwise.judges.quote_tokens import blank_details, blank_markup, cuts_token, read_quote_tokens
from claimwise.judges.reading import TextFacts
from claimwise.text.sentences import find_sentences
from claimwise.text.words import COMMON_STEMS, Word, is_common, read_stems, read_words
from claimwise.types.rows import Source
from claimwise.types.verdicts import Span

LONGEST_GAP = 600  # characters that an ellipsis may stand for
LONGEST_QUOTE = 10_000  # characters; nobody quotes so much
MOST_PLACES = 50  # places of a quote, or of its beginning, that are looked at
_MOST_PARTS = 8  # between ellipses
_FEWEST_TELLING = 3  # words of a quote that may be found approximately

_STOPS = frozenset(".,;:")
_ELLIPSIS = re.compile(r"(?:\[\s{0,3})?(?:…|(?<!\.)\.{3,}+)(?:\s{0,3}\])?")
_OUTER_ELLIPSIS = re.compile(rf"\A{_ELLIPSIS.pattern}|{_ELLIPSIS.pattern}\Z")
_EDGES = " \t\r\n\"'“”„«»‘’…"

# Words that turn what is said around them, beside denials and numbers; in small letters.
_TURN = re.compile(
    r"\b(?:if|unless|until|till|whether|provided|but|yet|however|although|though|despite|than|or|"
    r"may|might|could|would|should|must|perhaps|maybe|possibly|probably|allegedly|reportedly|"
    r"supposedly|formerly|nearly|almost|less|least|little|seldom|scarcely|barely|unlikely|"
    r"impossible|false|untrue|wrong|incorrect|save|apart|other|some|any|all|every|each|before|"
    r"after)\b"
)
_SIGN_OF_NUMBER = re.compile(r"[\d%$€£¥]")


class Located(NamedTuple):
    """Where a quote stands, and what its ellipses leave out.

    ``approximate``: the source resembles the quote, and does not say the same.
    """

    span: Span
    left_out: tuple[str, ...] = ()
    approximate: bool = False


def is_thin(quote: str, claim: str) -> bool:
    """Tell whether a quote is too short to carry a claim.

    It has no content word (“it is”), or less than three words for a claim of more than six.
    """
    stems = read_stems(quote)
    if COMMON_STEMS.issuperset(stems):
        return True
    return len(stems) < 3 and len(read_stems(claim)) > 6


class QuoteFinder:
    """Looks for quotes in the sources of one answer.

    ``shown`` are the texts as the model saw them, where that differs: of the same length, since
    what could do harm was replaced character by character.
    """

    def __init__(self, sources: Sequence[Source], shown: Sequence[str] | None = None) -> None:
        texts = [source.source_text for source in sources] if shown is None else shown
        self._pages = [
            _Page(source, text) for source, text in zip(sources, texts, strict=True)
        ]  # fmt: skip

    def locate(
        self, quote: str, *, first: str | None = None, among: Sequence[str] | None = None
    ) -> Located | None:
        """Return where a quote stands, or None when no source has it.

        A place that says the same comes before one that resembles it; among equals the source
        named ``first``, then the sources' order. ``among`` narrows the sources.
        """
        if len(quote) > LONGEST_QUOTE:
            return None
        wanted = _Quote(_OUTER_ELLIPSIS.sub("", quote.strip(_EDGES)).strip(_EDGES))
        if not wanted.text:
            return None
        pages = [p for p in self._pages if among is None or p.source.source_id in among]
        pages.sort(key=lambda page: page.source.source_id != first)
        for page in pages:
            place = page.find(wanted)
            if place is not None:
                return Located(page.make_span(place), place.left_out)
        for page in pages:
            place = page.find_similar(wanted)
            if place is not None:
                return Located(page.make_span(place), place.left_out, approximate=True)
        return None


class _Place(NamedTuple):
    start: int
    end: int
    left_out: tuple[str, ...] = ()
    harmless: bool = True  # whether what is left out turns nothing


class _Quote:
    """A quote with what is needed to look for it, made when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def tokens(self) -> list[str]:
        return _list_tokens(self.text)

    @cached_property
    def parts(self) -> list[list[str]]:
        """The tokens between ellipses; none without one, and when a part is a single word."""
        texts = _ELLIPSIS.split(self.text)
        if not 1 < len(texts) <= _MOST_PARTS or any(len(read_words(text)) < 2 for text in texts):
            return []
        return [_list_tokens(text) for text in texts]

    @cached_property
    def words(self) -> list[str]:
        return read_stems(self.text)

    @cached_property
    def telling(self) -> list[int]:
        return [at for at, stem in enumerate(self.words) if not is_common(stem)]


class _Page:
    """A source with what is needed to search it, made when it is first needed."""

    def __init__(self, source: Source, shown: str) -> None:
        self.source = source
        self._texts = [source.source_text, *([shown] if shown != source.source_text else [])]

    @cached_property
    def _rows(self) -> list[_Row]:
        """The tokens of the texts: as they are, and without what a quote may leave out."""
        plain = [blank_markup(text) for text in self._texts]
        bare = [blank_details(text) for text in self._texts]
        return [_Row(read_quote_tokens(text)) for text in dict.fromkeys([*plain, *bare])]

    @cached_property
    def _words(self) -> list[Word]:
        return read_words(self._texts[-1])

    @cached_property
    def _telling(self) -> list[int]:
        return [at for at, word in enumerate(self._words) if not is_common(word.stem)]

    @cached_property
    def _telling_row(self) -> _Row:
        return _Row([self._words[at] for at in self._telling])

    @cached_property
    def _sentence_starts(self) -> list[int]:
        return [start for start, _ in find_sentences(self.source.source_text)]

    @cached_property
    def _is_english(self) -> bool:
        return is_english(read_stems(self.source.source_text), self.source.source_text)

    def make_span(self, place: _Place) -> Span:
        text = self.source.source_text[place.start : place.end]
        return Span(source_id=self.source.source_id, start=place.start, end=place.end, text=text)

    def find(self, wanted: _Quote) -> _Place | None:
        """Return a place that says what the quote says."""
        for text in self._texts:
            start = _find_literally(text, wanted.text)
            if start is not None:
                return _Place(start, start + len(wanted.text))
        for row in self._rows:
            for first, last in row.find_all(wanted.tokens):
                if not row.asks(last):
                    return _Place(row.words[first].start, row.words[last].end)
        return self._find_parts(wanted, harmless=True)

    def find_similar(self, wanted: _Quote) -> _Place | None:
        """Return a place with the quote's parts in order, or with its content words in a row.

        Common words before the first and after the last content word are shown with them.
        """
        joined = self._find_parts(wanted, harmless=False)
        if joined is not None or len(wanted.telling) < _FEWEST_TELLING:
            return joined
        before, after = wanted.telling[0], len(wanted.words) - wanted.telling[-1]
        for first, last in self._telling_row.find_all([wanted.words[at] for at in wanted.telling]):
            start, end = max(0, self._telling[first] - before), self._telling[last] + after
            stretch = self._words[start:end]
            return _Place(stretch[0].start, stretch[-1].end)
        return None

    def _find_parts(self, wanted: _Quote, *, harmless: bool) -> _Place | None:
        """Return the shortest place that begins with the first part and has the rest in order."""
        if not wanted.parts:
            return None
        found = (
            self._follow(row, start, wanted.parts)
            for row in self._rows
            for start in row.find_all(wanted.parts[0])
        )
        fitting = [p for p in found if p is not None and (p.harmless or not harmless)]
        return min(fitting, key=lambda place: place.end - place.start, default=None)

    def _follow(
        self, row: _Row, start: tuple[int, int], parts: Sequence[Sequence[str]]
    ) -> _Place | None:
        """Return the place of some parts of which the first is found, each soon after another."""
        begin = row.words[start[0]].start
        end = row.words[start[1]].end
        last, left_out, harmless = start[1], [], True
        for part in parts[1:]:
            following = next(row.find_all(part, after=last), None)
            if following is None or row.words[following[0]].start - end > LONGEST_GAP:
                return None
            # With the character before it, behind which a footnote marker is one.
            gap = self.source.source_text[end - 1 : row.words[following[0]].start]
            gap = blank_details(gap)[1:]
            if read_stems(gap):
                left_out.append(" ".join(gap.split()))
                harmless = harmless and self._is_harmless(gap, end)
            last, end = following[1], row.words[following[1]].end
        return _Place(begin, end, tuple(left_out), harmless and not row.asks(last))

    def _is_harmless(self, gap: str, start: int) -> bool:
        """Tell whether words may be left out: at most one sentence ends there, none is a turn.

        Turns are known in English alone.
        """
        ends = bisect_right(self._sentence_starts, start + len(gap))
        ends -= bisect_right(self._sentence_starts, start - 1)
        read = TextFacts(gap)
        turns = _TURN.search(read.small) or _SIGN_OF_NUMBER.search(gap)
        turned = turns or read.negations or read.is_negative or read.quantities
        return ends <= 1 and not turned and self._is_english


class _Row:
    """Words or tokens in a row, to be searched for some of them side by side."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self._text = f" {' '.join(word.stem for word in words)} "
        # Where each of them begins in the text.
        self._starts = list(accumulate((len(word.stem) + 1 for word in words), initial=1))

    def asks(self, last: int) -> bool:
        """Tell whether a question mark follows a word: a question says nothing."""
        return last + 1 < len(self.words) and self.words[last + 1].stem == "?"

    def find_all(
        self, wanted: Sequence[str], after: int | None = None
    ) -> Iterator[tuple[int, int]]:
        """Yield the first and the last of the words that are those wanted, a few times at most.

        ``after`` begins behind a word and reaches as far as an ellipsis may.
        """
        if not wanted:
            return
        sought = f" {' '.join(wanted)} "
        start = 0 if after is None else self._starts[after + 1] - 1
        end = len(self._text) if after is None else start + 2 * LONGEST_GAP + len(sought)
        for _ in range(MOST_PLACES):
            start = self._text.find(sought, start, end)
            if start < 0:
                return
            first = bisect_left(self._starts, start + 1)
            yield first, first + len(wanted) - 1
            start += 1


def _find_literally(text: str, wanted: str) -> int | None:
    """Return where some text stands that begins and ends with tokens, and is no question."""
    start = -1
    for _ in range(MOST_PLACES):
        start = text.find(wanted, start + 1)
        if start < 0:
            return None
        end = start + len(wanted)
        asks = text[end : end + 1] in ("?", "？")
        if not asks and not cuts_token(text, start) and not cuts_token(text, end):
            return start
    return None


def _list_tokens(quote: str) -> list[str]:
    """Return the tokens of a quote, without stops where it ends and the source may go on."""
    tokens = [word.stem for word in read_quote_tokens(blank_markup(quote))]
    while tokens and tokens[-1] in _STOPS:
        tokens.pop()
    return tokens
