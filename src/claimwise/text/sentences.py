"""Where sentences begin and end.

Three steps, each linear in the text:

1. Lines are gathered into blocks that no sentence crosses: a paragraph, a list item, a heading, a
   table row, a fenced piece of code. Line ends inside hard-wrapped prose are no borders.
2. Inside a block, nupunkt proposes borders for full stops, question and exclamation marks, where
   one of them may be no border: it knows abbreviations, initials, decimals and closing quotes.
   Its work grows with the square of a run of characters without a space, so long runs are shown
   to it with their last stops only.
3. Our own rules add what it does not look for (full stops of other scripts, footnote numbers) and
   take back what it gets wrong (borders in inline code, after a quoted question, after “2.”).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from claimwise.text.languages import compile_abbreviations, load_last_words

# Possessive quantifiers (*+) keep hostile input from making these patterns backtrack.
_LINE = re.compile(r"[^\n\r\v\f\x85\u2028\u2029]++")
_LINE_KIND = re.compile(
    r"""[ \t>]*+(?:
      (?P<fence>```|~~~)
    | (?P<alone>\#{1,6}[ \t]            # heading
        | \|                            # table row
        | (?:[-*_=][ \t]*+){3,}$       # ruler, underlined heading
        | \|?[ \t:]*+-{2,}+[-:|\ \t]*+$ # border between a table's head and body
      )
    | (?P<label>(?:\*\*|__)[^*_\n]{1,40}(?::(?:\*\*|__)|(?:\*\*|__):)[ \t])
    | (?P<item>(?:[-*+•‣◦▪–—]|\(?\d{1,3}[.)]|\(?[a-z]\))[ \t]++(?=\S)|[•‣◦▪](?=\S))
    )""",
    re.VERBOSE,
)
_WORD = re.compile(r"\S++")

# Hard-wrapped prose is this many characters wide; longer lines are one paragraph each.
_NARROWEST, _WIDEST = 50, 120
# A line this long that is followed by a small letter goes on.
_HALF_LINE = 25

_CLOSERS = r"\"'”’»)\]）」』】》〉"
# Full stops that need no space after them.
_OTHER_STOP = re.compile(
    rf"[。！？｡؟۔।॥።។။։][。！？｡…!?]*+[{_CLOSERS}]*+"
    r"|(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])[!?]++(?=[\u3040-\u30ff\u3400-\u9fff])"
)
# One of these is in every stop of that kind, and found faster.
_OTHER_STOP_SIGN = re.compile("[。！？｡؟۔।॥።។။։!?]")
# Japanese quotes with a full stop inside go on when a particle follows: 「はい。」と言った。
_GOES_ON = re.compile(r"[とってはがをにのもで]")
# Citation markers; after a full stop they belong to the sentence that it ends.
_MARKS = re.compile(
    r"[ \t\u00a0]*+(?:"
    r"\[(?:\^\w{1,30}|[a-zA-Z_]{0,20}\d{1,6}(?:[ ]?[-–,;][ ]?\d{1,4}){0,20})\](?![(:])"
    r"|\[(?:\d{1,4}|[Ss]ources?|[Rr]ef|[Ll]ink)\]\([^()\s]{1,300}\)"
    r"|\((?:[Ss]ources?:[^()\n]{1,120}|[A-Z][^()\n]{0,80}(?:,|al\.)[ ](?:19|20)\d\d[a-z]?)\)"
    r"|【\d[^【】\n]{0,60}】|[⁰¹²³⁴-⁹]{1,6}(?!\w)"
    r")(?=[\s\[【(.]|$)"
)
_INLINE_CODE = re.compile(r"`[^`\n]++`")
_ENUMERATOR = re.compile(r"[\s(*_\-+>#]{0,8}+(?:\d{1,3}|[a-zA-Z])[.)]\s*+")
_QUOTED_END = re.compile(rf"(?:…|\.\.\.|!|[.!?…][{_CLOSERS}]+)\s*+$")
_SMALL_START = re.compile(r"\s*+[({\[\"'“‘«]*+[a-zß-öø-ÿ]")

# A full stop that nupunkt takes for part of an abbreviation (“vitamin B.”, “5 kg.”, “No.”) ends
# the sentence after all when one of these words follows.
_STARTERS = (
    "The|It|This|That|These|Those|He|She|They|We|You|There|However|In|If|When|A|An|For|Its|His|Her|"
    "Their|Our|Your|I|No|Yes|As|At|On|Also|After|Before|While|Although|Please|Then|But|And|Or|Both|All|"
    "Most|Many|Some|Each|Every|Such|Here|Today|Since|During|From|With|By|To|Of|One|Another|Several|What|"
    "Who|Where|Why|How|Which"
)
_CERTAIN = re.compile(
    r"(?<=\w)[.!?][\"”’)]?[ \t\n]+(?=(?:" + _STARTERS + r")[ \t\n,'’])"
    r"|(?<=\w{3})[.!?][ \t\n]+(?=[\"“«‘][A-Z])"
    # A small-letter word of three letters or more is rarely an abbreviation before a capital.
    r"|(?P<small>(?<=[a-z]{3}))[.!?][ \t\n]+(?=[A-Z])"
    # “weighs 0.5 kg. Ravens are”: after a unit, a word and a small one.
    r"|(?<=\d[ \u00a0](?:kg|km|cm|mm|mg|ml|ft|GB|MB|TB|kW|MW))\.[ \t\n]+(?=[A-Z][a-z]+ [a-z])"
    r"|(?<=\d[ \u00a0][gmlhVW])\.[ \t\n]+(?=[A-Z][a-z]+ [a-z])"
    r"|[.!?](?:[⁰¹²³⁴-⁹]{1,6}|\[\^?\d{1,4}\]|【\d[^【】\n]{0,60}】)\s"
)
_ANSWER_NO = re.compile(r"(?:^|(?<=[.!?]\s))No\.\s(?=[A-Z])")
# A stop that may end a sentence before the block's end: no word goes on behind it.
_INNER_STOP = re.compile(r"[.!?…](?=[\W⁰¹²³⁴-⁹])(?!\s*+\Z)")
# A run of characters without a space that no word or address of ordinary text is as long as.
_LONG_RUN = re.compile(r"(?<!\S)\S{501,}+")
_STOP = re.compile(r"[.!?…]")
_KEPT_STOPS = 50  # of such a run: nupunkt looks at the rest of the run from each
# Abbreviations that always go on, whatever follows them.
# German: “am 3. Mai”, “der 2. Weltkrieg”.
_ORDINAL = re.compile(
    r"\b(?:am|vom|zum|bis|der|den|dem|des|die|das|seit|ab|im) \d{1,2}\.\s*+$", re.IGNORECASE
)
# Russian and Polish: “в 1903 г. Он …”, “w 1901 r. Bilet …”.
_YEAR_END = re.compile(r"(?<=\d[ \u00a0][гr])\.[ \t\n]+(?=[А-ЯЁA-ZŁŚŻĆ])")
_ABBREVIATIONS = (
    "e.g", "i.e", "cf", "vs", "v", "viz", "Mr", "Mrs", "Ms", "Dr", "Prof", "Gen", "Sen", "Rep",
    "Gov", "Capt", "Col", "Sgt", "Rev", "Hon", "Fig", "Figs", "fig", "figs", "Eq", "Sec", "sec",
    "approx", "ca", "esp", "incl", "excl", "dept", "govt", "art", "vol", "min", "max", "etc", "est",
    "ref", "cap", "resp",
)  # fmt: skip
_NEVER_LAST = re.compile(rf"(?:^|[\s(\[«“\"])(?:{'|'.join(map(re.escape, _ABBREVIATIONS))})\.\s*+$")
# What follows most sentences, whose last word then has small letters only.
_PLAIN_STOP = re.compile(r"[.!?][ \t\n]+(?=[A-Z])")
_SMALL = re.compile(r"\b[a-z]{3,}[.!?]\s*+$")
_TAIL = 16  # long enough for any of them


def find_sentences(text: str) -> list[tuple[int, int]]:
    """Return the offsets (start, end) of every sentence, in order.

    Sentences do not overlap, carry no outer whitespace, and together hold every character that is
    not whitespace. A list item, heading or table row begins a new one; a fenced block of code is
    one piece, to the end of the text when the fence is never closed. A citation marker after the
    full stop belongs to the sentence that it follows. Never raises, whatever the text holds; an
    empty text has no sentences.
    """
    sentences: list[tuple[int, int]] = []
    for start, end, prose in _find_blocks(text):
        block = text[start:end]
        borders = _find_borders(block) if prose else []
        for left, right in pairwise((0, *borders, len(block))):
            piece = block[left:right].lstrip()
            begin = start + right - len(piece)
            if piece:
                sentences.append((begin, begin + len(piece.rstrip())))
    return sentences


def _find_blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, is_prose) for the stretches that no sentence crosses."""
    paragraph: list[tuple[int, int]] = []
    fence, fence_start, last_end = "", 0, -1
    for match in _LINE.finditer(text):
        start, end = match.span()
        line = match.group()
        if fence:
            if line.strip(" \t>").startswith(fence):
                yield fence_start, end, False
                fence = ""
            last_end = end
            continue
        kind = _LINE_KIND.match(line)
        # A line that is empty, or whitespace alone, ends the paragraph.
        gap = text[last_end:start] if paragraph else ""
        if paragraph and (kind or line.isspace() or _is_blank(gap)):
            yield from _split_lines(text, paragraph)
            paragraph = []
        last_end = end
        if kind and kind.lastgroup == "fence":
            fence, fence_start = kind.group("fence"), start
        elif kind and kind.lastgroup == "alone":
            yield start, end, not line.lstrip(" \t>").startswith("|")
        elif not line.isspace():
            paragraph.append((start, end))
    if fence:
        yield fence_start, len(text), False
    yield from _split_lines(text, paragraph)


def _is_blank(gap: str) -> bool:
    """Tell whether the line ends between two lines enclose an empty one."""
    return len(gap.replace("\r\n", "\n")) > 1


def _split_lines(text: str, lines: list[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    """Yield the stretches of a paragraph that hold together over its line ends.

    Prose counts as wrapped when most lines are about as long as the longest. Then a line goes on
    when the first word of the next one would not have fitted. Elsewhere it goes on when a small
    letter follows and it is long enough or the next one is indented.
    """
    if len(lines) < 2:
        yield from ((start, end, True) for start, end in lines)
        return
    lengths = [end - start for start, end in lines]
    width = max(lengths)
    filled = sum(length >= 0.7 * width for length in lengths[:-1])
    wrapped = _NARROWEST <= width <= _WIDEST and 3 * filled >= 2 * (len(lines) - 1)
    first = lines[0][0]
    for (start, end), (next_start, next_end) in pairwise(lines):
        word = _WORD.search(text, next_start, next_end)
        follower = word.group() if word else ""
        length = 1 if follower[:1] > "\u2e80" else len(follower)
        full = wrapped and end - start + 1 + length > width
        indented = text[next_start] in " \t"
        small = follower[:1].islower() and (indented or end - start >= _HALF_LINE)
        if not (full or small):
            yield first, end, True
            first = next_start
    yield first, lines[-1][1], True


def _find_borders(block: str) -> list[int]:
    """Return where sentences after the first begin in a block, in order."""
    borders: set[int] = set()
    if not block.isascii() and _OTHER_STOP_SIGN.search(block):
        stops = _OTHER_STOP.finditer(block)
        borders = {match.end() for match in stops if not _goes_on(match, block)}
    unsure = False
    for stop in _INNER_STOP.finditer(block):
        border = _find_border(block, stop.start())
        if border is not None:
            borders.add(border)
        unsure = unsure or border is None or not block[stop.end()].isspace()
    if unsure:
        # Imported here: reading its model takes longer than most commands that need no sentences.
        import nupunkt

        shown = _LONG_RUN.sub(_hide_stops, block)
        borders.update(start for start, _ in nupunkt.sent_spans(shown))
    if not block.isascii() or " r. " in block:
        borders.update(match.end() for match in _YEAR_END.finditer(block))
    if "No." in block:
        borders.update(match.end() for match in _ANSWER_NO.finditer(block))
    borders -= {0, len(block)}
    return _drop_false_borders(block, sorted(borders)) if borders else []


def _hide_stops(run: re.Match[str]) -> str:
    """Return a long run with a letter for every stop but the last few: every place stays."""
    text = run.group()
    stops = [stop.start() for stop in _STOP.finditer(text)]
    first = stops[-_KEPT_STOPS] if len(stops) > _KEPT_STOPS else 0
    return _STOP.sub("x", text[:first]) + text[first:]


def _find_border(block: str, stop: int) -> int | None:
    """Return the border after a stop that ends a sentence whatever nupunkt thinks, or None."""
    plain = _PLAIN_STOP.match(block, stop)
    if plain and _is_small_word(block[block.rfind(" ", max(0, stop - _TAIL), stop) + 1 : stop]):
        return plain.end()
    match = _CERTAIN.match(block, stop)
    if match is None:
        return None
    head = block[max(0, stop - _TAIL) : match.end()]
    if _NEVER_LAST.search(head) or (match["small"] is not None and not _SMALL.search(head)):
        return None
    return match.end()


def _is_small_word(word: str) -> bool:
    """Tell whether a text is one word of small plain letters, and no abbreviation."""
    plain = len(word) > 2 and word.isascii() and word.isalpha() and word.islower()
    return plain and word not in _ABBREVIATIONS


def _goes_on(stop: re.Match[str], block: str) -> bool:
    return stop.group()[-1] in "」』" and _GOES_ON.match(block, stop.end()) is not None


def _drop_false_borders(block: str, borders: list[int]) -> list[int]:
    """Move borders behind citation markers; drop those in inline code or where the text goes on."""
    codes = [match.span() for match in _INLINE_CODE.finditer(block)] if "`" in block else []
    code_starts = [start for start, _ in codes]
    kept: list[int] = []
    begin, text_start = 0, _skip_enumerator(block, 0)
    for border in borders:
        if not block[border].isalpha():  # a marker, or a quotation mark, begins with none
            border = _skip_marks(block, border)
        nearest = bisect_right(code_starts, border) - 1
        in_code = nearest >= 0 and codes[nearest][0] < border < codes[nearest][1]
        goes_on = in_code or _goes_on_small(block, begin, border)
        if border > text_start and not goes_on and not _ends_short(block, begin, border):
            kept.append(border)
            begin, text_start = border, _skip_enumerator(block, border)
    return kept


def _ends_short(block: str, begin: int, border: int) -> bool:
    """Tell whether what ends at a border is an abbreviation, or an ordinal, of some language."""
    tail = block[max(begin, border - _TAIL) : border]
    words = tail.split()
    word = words[-1][:-1] if words else ""
    if word.isalpha() and word not in load_last_words():  # as most sentences end
        return False
    if not (_ORDINAL if word[-1:].isdigit() else compile_abbreviations()).search(tail):
        return False
    return not _YEAR_END.search(block, max(0, border - _TAIL), border + 1)


def _skip_marks(block: str, border: int) -> int:
    while match := _MARKS.match(block, border):
        border = match.end()
    return border


def _skip_enumerator(block: str, begin: int) -> int:
    """Return where the text of a sentence starts: “2.” at its beginning is no sentence."""
    match = _ENUMERATOR.match(block, begin)
    return match.end() if match else begin


def _goes_on_small(block: str, begin: int, border: int) -> bool:
    """Tell whether the text goes on in small letters: “Why?” he asked, “Yahoo! is”."""
    if not _SMALL_START.match(block, border):
        return False
    return _QUOTED_END.search(block[max(begin, border - _TAIL) : border]) is not None
