"""Work on hostile text whose cost must grow with the text's length, and not with its square."""

from __future__ import annotations

import io
import math
import re
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from claimwise.checking.report import print_checked
from claimwise.decompose.answers import split_answer
from claimwise.judges.judge import load_verifier
from claimwise.judges.lazy import lazy
from claimwise.judges.quotes import LONGEST_QUOTE, QuoteFinder
from claimwise.judges.reading import TextFacts
from claimwise.readers.files import read_csv
from claimwise.text.sentences import find_sentences
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, CheckResult, ClaimVerdict

MOST_EXCESS = 0.3  # of an exponent: times are never exact, and a square would be 1
_LEAST_SECONDS = 0.01  # of the processor; shorter times say nothing
_TRIES = 3
_PATIENCE = 0.3  # seconds of the processor after which no further try is made

Work = Callable[[], object]


class Case(NamedTuple):
    """Something to do with a text, and how the text is made."""

    what: str
    unit: str  # the text is this, again and again
    prepare: Callable[[str], Work]  # what is not measured
    share: float = 1.0  # of the usual length: some work is slow, though even


class Growth(NamedTuple):
    """What a case took at two lengths, and one pass of a plain pattern over the same texts."""

    what: str
    unit: str
    length: int  # the larger
    seconds: float  # at the larger one
    ratio: float  # to the rival
    exponent: float  # 1: twice the text takes twice the time; 2: four times
    rival_exponent: float

    @property
    def excess(self) -> float:
        """How much faster it grows than the rival, or than in proportion if that grows slower."""
        return self.exponent - max(1.0, self.rival_exponent)


def list_cases(folder: Path) -> list[Case]:
    """Return everything that is measured; files lie in a folder."""
    return [
        *(Case("split an answer", unit, split) for unit in ("?", ".)", "x", "!")),
        *(Case("find sentences", unit, find) for unit in ("e.g. The ", "!?")),
        *(Case("read the facts of a claim", unit, read_facts) for unit in ("not ", "Aa ", "1,")),
        Case("find a quote, nearly there", _PHRASE, find_near_quote),
        Case("find a quote with ellipses", _PHRASE, find_broken_quote),
        Case("judge one claim, lexical", _PHRASE, judge_with("lexical"), 0.25),
        Case("judge one claim, embedded", _PHRASE, judge_with("embedded"), 0.25),
        Case("print one word", "x", show_word),
        Case("check a CSV header", "c{},", check_header_in(folder)),
    ]


def make_text(case: Case, length: int) -> str:
    """Return a text of about a length; ``{}`` in the unit is the number of its repetition."""
    count = int(length * case.share) // len(case.unit)
    if "{}" not in case.unit:
        return case.unit * count
    return "".join(case.unit.format(n) for n in range(count))


def measure_growth(case: Case, length: int, times: int) -> Growth:
    """Return the most even growth of three tries; the first that is even enough will do.

    On a busy machine a time is sometimes half as long again; a square is never even.
    """
    found = []
    for _ in range(_TRIES):
        found.append(_measure_once(case, length, times))
        if found[-1].excess <= MOST_EXCESS:
            break
    return min(found, key=lambda growth: growth.excess)


def _measure_once(case: Case, length: int, times: int) -> Growth:
    """Measure a case at a length and at ``times`` that length."""
    small, large = make_text(case, length), make_text(case, length * times)
    ours = [measure_cpu(case.prepare(text)) for text in (small, large)]
    rival = [measure_cpu(pass_once(text)) for text in (small, large)]
    step = math.log(len(large) / len(small))
    return Growth(
        what=case.what,
        unit=case.unit,
        length=len(large),
        seconds=ours[1],
        ratio=ours[1] / rival[1],
        exponent=math.log(ours[1] / ours[0]) / step,
        rival_exponent=math.log(rival[1] / rival[0]) / step,
    )


def measure_cpu(work: Work) -> float:
    """Return the processor's seconds for it: the best of some tries, each long enough to tell."""
    work()  # what is loaded when first used is loaded now
    least, begun = math.inf, time.process_time()
    for _ in range(_TRIES):
        start, count = time.process_time(), 0
        while (spent := time.process_time() - start) < _LEAST_SECONDS:
            work()
            count += 1
        least = min(least, spent / count)
        if time.process_time() - begun > _PATIENCE:
            break
    return least


# The rival, and what shows that growth is noticed


def pass_once(text: str) -> Work:
    """Read a text's words by one plain pattern."""
    return lambda: re.findall(r"\w+", text)


def search_badly(text: str) -> Work:
    """Search by a pattern that starts over at every letter: its work grows with the square."""
    return lambda: re.search(r"\w[\w ]*!", text)


CONTROL = Case("control: a pattern that is quadratic", "word ", search_badly, 0.02)


# What is measured


_PHRASE = "the tower of the old town is not open before 9 on 5 May, "


def split(text: str) -> Work:
    return lambda: split_answer(text)


def find(text: str) -> Work:
    return lambda: find_sentences(text)


_FACTS = [
    name for cls in TextFacts.__mro__ for name, it in vars(cls).items() if isinstance(it, lazy)
]


def read_facts(text: str) -> Work:
    def work() -> None:
        reading = TextFacts(text)
        for name in _FACTS:
            getattr(reading, name)

    return work


def find_near_quote(text: str) -> Work:
    """Look for a long quote, all of whose words are in the source, with a last one that is not."""
    quote = f"{text[: LONGEST_QUOTE // 2]} the bridge is closed"
    return lambda: QuoteFinder(make_sources(text)).locate(quote)


def find_broken_quote(text: str) -> Work:
    """Look for parts of which each is everywhere, and that never follow each other as quoted."""
    quote = " … ".join(["the old town is not", "tower of the old", "5 May", "town of the tower"])
    return lambda: QuoteFinder(make_sources(text)).locate(quote)


def judge_with(name: str) -> Callable[[str], Work]:
    """Return what judges a whole text as one claim, by a short source."""

    def prepare(text: str) -> Work:
        verifier = load_once(name)
        claim = AnswerClaim(text=text, start=0, end=len(text), wording=text)

        def work() -> object:
            request = CheckRequest(answer=text, sources=make_sources(_PHRASE * 20))
            return verifier.judge_answer([claim], request)

        return work

    return prepare


def show_word(text: str) -> Work:
    """Print a check result whose claim is one word."""
    claim = AnswerClaim(text=text, start=0, end=len(text), wording=text)
    judged: Sequence[ClaimVerdict] = [ClaimVerdict(claim=claim, verdict="unlinked")]
    result = CheckResult(answer=text, claims=tuple(judged), verifier="verifier:x-1")
    return lambda: print_checked(result, Console(file=io.StringIO(), width=100))


load_once = cache(load_verifier)


def check_header_in(folder: Path) -> Callable[[str], Work]:
    """Return what reads a file whose first line has very many columns."""

    def prepare(text: str) -> Work:
        path = folder / f"columns-{len(text)}.csv"
        path.write_text(text.rstrip(",") + "\n", encoding="utf-8")
        return lambda: list(read_csv(path))

    return prepare


def make_sources(text: str) -> tuple[Source, ...]:
    """Return one source."""
    return (Source(source_id="source", corpus_ver="-", source_text=text),)
