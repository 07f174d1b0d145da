"""Finds where a quote stands: a model's word that a source says something is no evidence.

A quote is looked for letter by letter; then with spaces, case, accents, quotation marks and
dashes set aside, and with an ellipsis standing for what was left out; then nearly: all telling
words in their order, no figure and no denial changed. What is returned is always the source's own
text with its offsets.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from claimwise.types.checking import Span
from claimwise.types.rows import Source
from claimwise.verify.words import COMMON_STEMS, Word, is_common, read_stems, read_words

NEAR = 0.9  # likeness from which a near match is taken
LONGEST_GAP = 600  # characters that an ellipsis may stand for
_LONGEST = 10_000  # characters of a quote; nobody quotes so much, and looking for it takes long
_FEWEST_NEAR = 3  # telling words of a quote that may be found nearly
_LONGEST_NEAR = 2_000  # characters of it
_MOST_TRIED = 50  # places of a quote's first part that are tried

_ALIKE = {
    **dict.fromkeys("‘’‚‛′`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
}
_ELLIPSIS = re.compile(r"\s*+(?:\[\s*+)?(?:…|\.{3,})(?:\s*+\])?\s*+")
_EDGES = " \t\r\n\"'“”„«»‘’…"
_STOPS = " .,;:"
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|except|unless|only|hardly|barely)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_ACCENTS = range(0x0300, 0x0370)
# Scripts without spaces: a quote may begin and end between any two of their letters.
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


class Located(NamedTuple):
    """Where a quote stands; ``near``: in other words than the quote's, though hardly."""

    span: Span
    near: bool = False


def is_thin(quote: str, claim: str) -> bool:
    """Tell whether a quote is too short to carry a claim.

    It has no telling word («it is»), or less than three words for a claim of more than six.
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

        A place that has the quote itself comes before one that nearly has it; among equals the
        source named ``first``, then the sources' order. ``among`` narrows the sources.
        """
        wanted = quote.strip(_EDGES)
        if not wanted or len(wanted) > _LONGEST:
            return None
        pages = [p for p in self._pages if among is None or p.source.source_id in among]
        pages.sort(key=lambda page: page.source.source_id != first)
        for page in pages:
            place = page.find(wanted)
            if place is not None:
                return Located(page.make_span(*place))
        for page in pages:
            place = page.find_nearly(wanted)
            if place is not None:
                return Located(page.make_span(*place), near=True)
        return None


class _Page:
    """A source with what is needed to search it, made when it is first needed."""

    def __init__(self, source: Source, shown: str) -> None:
        self.source = source
        self._texts = [source.source_text, *([shown] if shown != source.source_text else [])]

    @cached_property
    def _folded(self) -> list[tuple[str, list[int]]]:
        return [_fold(text) for text in self._texts]

    @cached_property
    def _words(self) -> list[Word]:
        return read_words(self._texts[-1])

    @cached_property
    def _telling(self) -> list[int]:
        return [at for at, word in enumerate(self._words) if not is_common(word.stem)]

    def make_span(self, start: int, end: int) -> Span:
        text = self.source.source_text[start:end]
        return Span(source_id=self.source.source_id, start=start, end=end, text=text)

    def find(self, wanted: str) -> tuple[int, int] | None:
        for text in self._texts:
            for start in _find_all(text, wanted):
                return start, start + len(wanted)
        # A quote that ends a sentence where the source goes on is still the source's wording.
        whole = _fold(wanted.rstrip(_STOPS))[0]
        parts = [_fold(part)[0] for part in _ELLIPSIS.split(wanted) if part.strip()]
        for text, places in self._folded:
            found = _find_parts(text, [whole])
            if found is None and len(parts) > 1 and all(" " in part for part in parts):
                found = _find_parts(text, parts)
            if found is not None:
                return places[found[0]], places[found[1] - 1] + 1
        return None

    def find_nearly(self, wanted: str) -> tuple[int, int] | None:
        """Return a place with the quote's telling words in a row and as good as its wording.

        Common words before the first and after the last are compared too: one may be a «not».
        """
        words = read_words(wanted)
        telling = [at for at, word in enumerate(words) if not is_common(word.stem)]
        if len(telling) < _FEWEST_NEAR or len(wanted) > _LONGEST_NEAR:
            return None
        stems = [words[at].stem for at in telling]
        before, after = telling[0], len(words) - telling[-1]
        for number, at in enumerate(self._telling):
            row = self._telling[number : number + len(stems)]
            if self._words[at].stem != stems[0] or [self._words[p].stem for p in row] != stems:
                continue
            stretch = self._words[max(at - before, 0) : row[-1] + after]
            start, end = stretch[0].start, stretch[-1].end
            if _is_alike(self._texts[-1][start:end], wanted[words[0].start : words[-1].end]):
                return start, end
        return None


def _is_alike(found: str, wanted: str) -> bool:
    if _list_denials(found) != _list_denials(wanted):
        return False
    first, second = _fold(found)[0], _fold(wanted)[0]
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= NEAR


def _list_denials(text: str) -> list[str]:
    found = (match.group().lower() for match in _DENIAL.finditer(text))
    return ["not" if word.endswith("t") and len(word) == 3 else word for word in found]


def _find_all(text: str, wanted: str) -> Iterator[int]:
    """Yield the places of some text that begin and end where words do: «5» is not in «15»."""
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not _cuts_word(text, start) and not _cuts_word(text, end):
            yield start
        start = text.find(wanted, start + 1)


def _cuts_word(text: str, at: int) -> bool:
    """Tell whether a border lies inside a word, or inside a number with its separators."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before.isalnum() and after.isalnum():
        return not (_UNSPACED.match(before) or _UNSPACED.match(after))
    if after in ".," and before.isdigit():
        return text[at + 1 : at + 2].isdigit()
    return before in ".," and after.isdigit() and text[at - 2 : at - 1].isdigit()


def _find_parts(text: str, parts: Sequence[str]) -> tuple[int, int] | None:
    """Return the shortest stretch that begins with the first part and has the rest in order."""
    if not all(parts):
        return None
    best: tuple[int, int] | None = None
    for tried, start in enumerate(_find_all(text, parts[0])):
        end = _follow(text, start + len(parts[0]), parts[1:])
        if end is not None and (best is None or end - start < best[1] - best[0]):
            best = start, end
        if tried >= _MOST_TRIED or len(parts) == 1:
            break
    return best


def _follow(text: str, end: int, parts: Sequence[str]) -> int | None:
    """Return where the last of some parts ends that follow one another, each soon."""
    for part in parts:
        reach = text[end : end + LONGEST_GAP + len(part)]
        start = next(_find_all(reach, part), None)
        if start is None:
            return None
        end += start + len(part)
    return end


def _fold(text: str) -> tuple[str, list[int]]:
    """Return text without what copies of it differ in, and the place of every character left.

    Runs of white space are one space; quotation marks and dashes are the plain ones; case,
    accents and characters without a shape are gone.
    """
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character.isspace():
            plain = " " if letters and letters[-1] != " " else ""
        elif character.isascii():
            plain = _ALIKE.get(character) or character.lower()
        else:
            plain = _ALIKE.get(character) or _fold_foreign(character)
        letters += plain
        places += [place] * len(plain)
    if letters and letters[-1] == " ":
        del letters[-1], places[-1]
    return "".join(letters), places


def _fold_foreign(character: str) -> str:
    if unicodedata.category(character) == "Cf":
        return ""
    plain = unicodedata.normalize("NFD", character).casefold()
    return "".join(c for c in plain if ord(c) not in _ACCENTS)
