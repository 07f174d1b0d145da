"""The tokens by which a quote is compared with a source.

A token is a word, a number with its sign, currency, separators and percent sign, or a punctuation
mark. Two texts have the same tokens when they say the same in the same words. Set aside is what
copies of a text differ in without meaning something else: white space, the kinds of quotation
marks and dashes, case (but not of a unit: “5 mW” is not “5 MW”), ligatures and wide letters,
invisible characters, Markdown's emphasis and bullets, line ends inside a word. Accents, raised
digits, signs and every other character count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from claimwise.text.word_limits import UNSPACED
from claimwise.text.words import Word, is_common

_REACH = 64  # characters on both sides of a place in which its token is looked for

_SINGLE, _DOUBLE = "'‘’‚‛`´", '"“”„‟«»'
_PUNCTUATION = (
    rf".,;:!?()\[\]{{}}*_|•‣◦▪·®™©{_SINGLE}{_DOUBLE}‹›…。，、；：！？（）「」『』【】《》〈〉"
)
# Tags that change how text looks, not what it says; <del> is none of them, nor is “a <b and c> d”.
_TAG = (
    r"</?(?i:abbr|[abipqu]|blockquote|br|code|div|em|font|h[1-6r]|img|li|mark|[ou]l|pre|small|span|"
    r"strong|su[bp]|table|t(?:body|head|[dhr]))"
    r"(?:\s++[\w:-]{1,40}+=(?:\"[^\"<>]{0,300}+\"|'[^'<>]{0,300}+')){0,9}\s{0,3}+/?>"
)
# In scripts without spaces a quote may begin and end between any two letters.
_RUN = rf"[^\s<—―{_PUNCTUATION}{UNSPACED}]++"
# What stands inside a token: separators and spaces of a number (“5 000”, “5 %”, “£ 5”), and the
# apostrophe of a word.
_SPACES = " \u00a0\u2009\u202f"
_INSIDE = (
    r"(?:(?<=\d)[.,:](?=\d)"
    rf"|(?<=\d)(?<!\d\d\d\d)[{_SPACES}](?=\d\d\d(?!\d))"
    rf"|(?<=\d)[{_SPACES}](?=[%‰€£$](?!\d))|(?<=[€£$¥])[{_SPACES}](?=\d)"
    rf"|(?<=[^\W_])[{_SINGLE}_*](?=[^\W_]))"
)
_TOKEN = re.compile(
    rf"{_TAG}|\.{{3,}}+|…|[—―]++|[{UNSPACED}]"
    rf"|<?(?:(?<!\w)[.,](?=\d))?{_RUN}(?:{_INSIDE}{_RUN}){{0,50}}"
    rf"|[<{_PUNCTUATION}]"
)
# A place that no token but a tag can enclose: white space beside it that is not a number's, a stop
# behind a letter, or an end of the text.
_BORDER = re.compile(
    r"\A|\Z"
    r"|(?<![\d€£$¥\s])(?=\s)|(?<=\s)(?<![\d€£$¥]\s)(?=\S)|(?<=[^\W\d_])(?=[.,;:!?](?![.\w]))"
)
_MEASURE = re.compile(r"\d[^\W\d_]+$")

# Markdown that shows nothing: pairs of marks around whole words, and what begins a line. A bullet
# before a number could be a minus, and a single star the sign of an exception.
_EMPHASIS = re.compile(
    r"(?<![^\s(\[{\"'“‘„«—])"
    r"(?:(\*{1,3})(?=\S)[^*\n]++(?<=\S)\1|(_{1,3})(?=\S)[^_\n]++(?<=\S)\2|(`)[^`\n]++`)"
    r"(?![^\s.,;:!?)\]}\"'”’»…—])"
)
_LINE_START = re.compile(
    r"^[ \t]*+(?:>[ \t]*+)*(?:(?:#{1,6}|[-*•‣◦▪])[ \t]++(?!\d))?", re.MULTILINE
)
_TYPED_DASH = re.compile(r"--++")
_HYPHENATION = re.compile(r"(?<=[^\W\d_])(?:-[ \t]*+\r?\n[ \t]*+|\u00ad\s*+)(?=[^\W\d_])")
_JOINT = "\u00ad"  # a soft hyphen in the middle of a word: nothing
# What a quote may leave out: footnote markers behind a word or a stop, signs of ownership, tags,
# numbers of list items, and the addresses of links.
_DETAIL = re.compile(
    rf"(?:(?<=[\w.,;:!?)\]{_SINGLE}{_DOUBLE}])|(?<=[.!?] ))"
    r"\[(?:\^\w{1,30}|\d{1,4}(?:[ ]?[-–,;][ ]?\d{1,4}){0,20})\](?![(\w])"
    rf"|(?<=[.,;:!?){_SINGLE}{_DOUBLE}])[⁰¹²³⁴-⁹]{{1,4}}(?!\w)"
    rf"|【\d[^【】\n]{{0,60}}】|[®™©]|{_TAG}"
    r"|(?:(?<=[.:;!?]\n)|(?<=\n\n))\d{1,3}[.)][ \t]++"
)
_LINK = re.compile(r"\[([^\[\]\n]{1,200}+)\]\([^()\s]{1,500}+\)")


def read_quote_tokens(text: str) -> list[Word]:
    """Return the tokens of a text in the form in which they are compared, with their places."""
    found: list[Word] = []
    for match in _TOKEN.finditer(text):
        form = match.group().translate(_FOLDED)
        if not form.isascii():
            form = unicodedata.normalize("NFC", form)
        small = form.lower()
        if small != form and not _is_unit(form, found):
            form = small
        if form == '"' and not text[match.start() - 1 : match.start()].isdigit():
            form = "'"  # but 6" is not 6'
        elif form.startswith(("--", "...")):
            form = form[: 3 if form[0] == "." else 1]  # however long
        if form:
            found.append(Word(form, match.start(), match.end()))
    return found


def cuts_token(text: str, at: int) -> bool:
    """Tell whether a place lies inside a token: the 5 of “15”, “-5” and “5.50” is not one."""
    low = max(0, at - _REACH)
    if _BORDER.match(text, at) and "<" not in text[low:at]:
        return False  # as nearly always, and found in a fraction of the time
    around = _TOKEN.finditer(text[low : at + _REACH])
    return any(match.start() < at - low < match.end() for match in around)


def _is_unit(form: str, before: Sequence[Word]) -> bool:
    """Tell whether a token may be a unit, whose case counts: “MW” in “5 MW” and in “5MW”."""
    if _MEASURE.search(form):
        return True
    counted = bool(before) and before[-1].stem[-1].isdigit()
    return counted and len(form) <= 3 and form.isalpha() and not is_common(form.lower())


def blank_markup(text: str, hyphen: str = "-") -> str:
    """Return a text of the same length without Markdown's marks and without line ends in words."""
    text = _TYPED_DASH.sub(lambda dash: "—" * len(dash.group()), text)
    text = _HYPHENATION.sub(lambda found: _join_word(found.group(), hyphen), text)
    text = _EMPHASIS.sub(_blank_emphasis, text)
    return _LINE_START.sub(_blank, text)


def blank_details(text: str) -> str:
    """Return a text of the same length without what a quote may leave out, either."""
    text = _LINK.sub(lambda link: f" {link[1]}".ljust(len(link[0])), text)
    return blank_markup(_DETAIL.sub(_blank, text), hyphen=_JOINT)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


def _join_word(joint: str, hyphen: str) -> str:
    return (hyphen if joint[0] == "-" else _JOINT).ljust(len(joint), _JOINT)


def _blank_emphasis(found: re.Match[str]) -> str:
    mark = len(found[1] or found[2] or found[3])
    return " " * mark + found.group()[mark:-mark] + " " * mark


class _Folding(dict[int, str]):
    """What every character is compared as, looked up once.

    Quotation marks and dashes are the plain ones; invisible characters are nothing; ligatures,
    wide and presentation forms are the letters that they show. Raised and lowered digits,
    fractions and circled numbers stay: 10² is not 102.
    """

    _SHOW_THE_SAME = frozenset(
        ("compat", "wide", "narrow", "font", "noBreak", "initial", "medial", "final", "isolated")
    )

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind, _, letters = unicodedata.decomposition(character).partition("> ")
        if unicodedata.category(character) == "Cf":
            character = ""
        elif kind[1:] in self._SHOW_THE_SAME and not letters.startswith("0020"):
            character = unicodedata.normalize("NFKC", character)
        self[code] = character
        return character


_FOLDED = _Folding(
    {
        **dict.fromkeys(map(ord, _SINGLE), "'"),
        **dict.fromkeys(map(ord, _DOUBLE), '"'),
        **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
        **dict.fromkeys(map(ord, _SPACES), ""),
        ord("ς"): "σ",
        ord("Σ"): "σ",
    }
)
