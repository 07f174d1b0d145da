"""The words and the finite verb of an English clause, found without a parser.

Words are recognised from closed lists (``words.py``), so a sentence in another language, or one
built on verbs that are not listed, has no verb and is never cut. What is left whole although it
seems to hold more than one statement is named by ``find_compounds``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, TypeAlias

from claimwise.decompose import words as w

# Beyond this a “sentence” is a table, a dump or an attack; it is left whole.
_LONGEST = 1500
_LONGEST_SUBJECT = 12
_TOKEN = re.compile(r"[€$£¥#]?[^\W_]+(?:[-–.'’:,/_&@][^\W_]+)*%?|[;:,()\[\]“”\"«»–—]")
# Words that, after the first, show that another clause has begun: “a man you could talk to”.
_BREAKS = w.SUBORDINATORS - {"that"} | {",", ";", ":", "–", "—"}
_NEW_CLAUSE = {"i", "you", "he", "she", "it", "we", "they", "that"}
JOINS = frozenset({"and", "but", "while", "whereas", "although", "though", "yet", ";"})
_JOINING = (*JOINS, ",", ":", "well")
# As words of their own: no “and” of “island”.
_JOINING_TOKEN = re.compile(
    rf"[;,:]|(?<![^\W_])(?:{'|'.join(sorted(filter(str.isalpha, _JOINING)))})(?![^\W_])"
)
_ADVERBS = w.LINKING_ADVERBS | w.WORDS["frequency_adverbs"]
_BRACKETS = {**dict.fromkeys("([“«", 1), **dict.fromkeys(")]”»", -1)}
SURE = w.AUXILIARIES | w.SURE_PAST | w.SURE_S
SURE_BASES = w.BASES - {"use", "support", "design", "plan"}
_BEFORE_NOUN = (w.DETERMINERS - w.SUBJECT_PRONOUNS) | w.PREPOSITIONS
_PERSONAL = w.SUBJECT_PRONOUNS - {"this", "that", "these", "those", "there"}
_CONTRACTION = re.compile(r"(i|you|he|she|it|we|they|that|there|who)(['’](?:s|re|ve|ll|d|m))$")


class Token(NamedTuple):
    """A word or a punctuation mark, with its place; ``low`` is what is looked up."""

    low: str
    start: int
    end: int
    capital: bool = False


Tokens: TypeAlias = tuple[Token, ...]


class Finite(NamedTuple):
    """A clause's finite verb: where its subject begins and ends, and where the verb stands."""

    subject: int
    end: int
    verb: int


def read_tokens(text: str) -> Tokens:
    """Return the top-level words and marks of a sentence: not what stands in brackets or quotes.

    An opening bracket or quote that is never closed hides the rest. Contractions of pronouns are
    two tokens. A text too long for a sentence gives none.
    """
    return _read_tokens(text) if len(text) <= _LONGEST else ()


def read_second_token(text: str) -> Token | None:
    """Return the second of the tokens of `read_tokens`, without reading the others."""
    return next(islice(_iterate_tokens(text), 1, 2), None) if len(text) <= _LONGEST else None


@lru_cache(maxsize=128)  # each stage looks at the clauses of an answer in turn
def _read_tokens(text: str) -> Tokens:
    return tuple(_iterate_tokens(text))


def _iterate_tokens(text: str) -> Iterator[Token]:
    depth, quoted = 0, False
    for match in _TOKEN.finditer(text):
        found = match.group()
        if found == '"':
            quoted = not quoted
        elif found in _BRACKETS:
            depth = max(0, depth + _BRACKETS[found])
        elif not depth and not quoted:
            start, end = match.span()
            if "'" in found or "’" in found:
                yield from _read_contraction(found, start, end)
            else:
                yield Token(found.lower(), start, end, found[0].isupper())


def _read_contraction(found: str, start: int, end: int) -> list[Token]:
    low, capital = found.lower().replace("’", "'"), found[0].isupper()
    contraction = _CONTRACTION.match(low)
    if contraction is None:
        return [Token(low, start, end, capital)]
    cut = start + contraction.end(1)
    return [Token(contraction[1], start, cut, capital), Token(contraction[2], cut, end)]


def find_finite(tokens: Tokens) -> Finite | None:
    """Return the first finite verb with a subject before it, if there is one for certain.

    Forms that may also be a participle (“founded”) or a noun (“costs”) count only before what
    can follow a verb but not the other reading.
    """
    start = skip_adverbs(tokens)
    scoped = start < len(tokens) and tokens[start].low in w.WORDS["scope_adverbs"]
    if scoped and not is_both(tokens, start):
        return None
    for index in range(start, min(len(tokens), start + _LONGEST_SUBJECT + 1)):
        low = tokens[index].low
        if low == "," and index > start:
            return _skip_aside(tokens, start, index)
        if low in _BREAKS or (index > start and low in _NEW_CLAUSE):
            return None
        if index > start and _is_finite(tokens, start, index):
            end = index
            while end - 1 > start and tokens[end - 1].low in w.LINKING_ADVERBS:
                end -= 1
            return Finite(start, end, index)
    return None


def _skip_aside(tokens: Tokens, start: int, comma: int) -> Finite | None:
    """Return the verb of “The tower, built in Paris, is …”: it follows the second comma."""
    for index in range(comma + 1, min(len(tokens) - 1, comma + _LONGEST_SUBJECT)):
        if tokens[index].low == ",":
            return Finite(start, comma, index + 1) if tokens[index + 1].low in SURE else None
    return None


def is_both(tokens: Tokens, start: int) -> bool:
    """Tell “Both models are …” from “Both Ann and Ben”, “Both are …”."""
    following = tokens[start + 1 : start + 2]
    return tokens[start].low == "both" and any(is_plural(token.low) for token in following)


def guess_finite(tokens: Tokens) -> Finite | None:
    """Return the word that must be the verb of a clause that surely has one, and no other.

    For “Ann studied in Lagos” before “and opened an office”: no other word can be the verb.
    """
    start = skip_adverbs(tokens)
    if any(token.low in SURE for token in tokens) or start >= len(tokens):
        return None
    if tokens[start].low in w.PREPOSITIONS | w.SUBORDINATORS:
        return None
    for index in range(start + 1, min(len(tokens), start + _LONGEST_SUBJECT)):
        low, before = tokens[index].low, tokens[index - 1].low
        if low in _BREAKS:
            return None
        plural = low in w.BASES and is_plural(before)
        if (may_be_verb(low) or plural) and before not in _BEFORE_NOUN:
            return Finite(start, index, index)
    return None


def skip_adverbs(tokens: Tokens, words: frozenset[str] = _ADVERBS) -> int:
    """Step over “However,”, “also”, “Yes,”, “often”."""
    index = 0
    while index < len(tokens) and tokens[index].low in words:
        follows = tokens[index + 1].low if index + 1 < len(tokens) else ""
        if tokens[index].low in ("no", "first") and follows != ",":
            break
        index += 2 if follows == "," else 1
    return index


def _is_finite(tokens: Tokens, start: int, index: int) -> bool:
    low, before = tokens[index].low, tokens[index - 1].low
    if before == "to":
        return False
    if low in SURE:
        return tokens[start].low not in w.PREPOSITIONS
    is_letter = before == "a" and tokens[index - 1].capital and index - 1 > start  # “drug A”
    if before in _BEFORE_NOUN and not is_letter and not _stands_for_noun(tokens, start, index):
        return False  # “their studies”, “of related”
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    subject = tokens[start]
    if subject.low in ("he", "she", "it") and index == start + 1 and low.endswith("s"):
        return True
    if low in w.NOUN_S:
        object_follows = before in w.LINKING_ADVERBS or takes_object(after)
        return object_follows or _is_reporting(low, after) or _follows_name(tokens, start, index)
    if w.is_participle(low):
        return _is_past(subject, low, after) or _acts(tokens, start, index)
    return low in w.BASES and _is_plural_verb(tokens, start, index)


def _is_plural_verb(tokens: Tokens, start: int, index: int) -> bool:
    """Tell whether a base form is the verb of “they” or of a plural."""
    if tokens[start].low in ("i", "you", "we", "they"):
        return True
    low, after = tokens[index].low, tokens[index + 1] if index + 1 < len(tokens) else None
    # “Naps improve alertness”, “Heat pumps use less”: a plural before it, an object after a noun.
    place = index - 1
    while place > start and tokens[place].low in _ADVERBS:
        place -= 1
    sure = low in w.PLAIN_BASES or takes_object(after) or place < index - 1
    return is_plural(tokens[place].low) and (sure or _is_reporting(low, after))


def _stands_for_noun(tokens: Tokens, start: int, index: int) -> bool:
    """Tell “many found the ending confusing”: the determiner is the subject itself."""
    alone = index - 1 == start and tokens[start].low in w.WORDS["pronouns_of_number"]
    return alone and takes_object(tokens[index + 1] if index + 1 < len(tokens) else None)


def _acts(tokens: Tokens, start: int, index: int) -> bool:
    """Tell “the ferry Solveig left Bergen”, “Lina Voss scored twice”: a name did something."""
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    if not tokens[index - 1].capital or after is None:
        return False
    passive = tokens[index].low in w.WORDS["passive_participles"] or after.low == "by"
    return after.capital or (index - 1 > start and not passive)


def _is_reporting(low: str, after: Token | None) -> bool:
    return low in w.WORDS["reporting"] and after is not None and after.low == "that"


def _follows_name(tokens: Tokens, start: int, index: int) -> bool:
    """Tell “Process A holds lock 1” from “Apple shares rose”: no verb follows."""
    named = tokens[index - 1].capital and index - 1 > start
    return named and not any(token.low in SURE for token in tokens[index + 1 :])


def is_plural(low: str) -> bool:
    """Tell whether a noun looks like a plural."""
    return len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is", "'s"))


def takes_object(after: Token | None) -> bool:
    """Tell whether a word may begin what a verb has: an article, a number."""
    if after is None:
        return False
    first = after.low[0]
    return after.low in w.OBJECT_STARTS or first.isdigit() or first in "€$£¥" or after.low == "at"


def is_number(low: str) -> bool:
    """Tell whether a word is a number, with its currency or percent sign."""
    return low[0].isdigit() or (low[0] in "€$£¥" and low[1:2].isdigit())


def _is_past(subject: Token, low: str, after: Token | None) -> bool:
    """Tell a past tense from a participle: “Globex joined it”, not “the firm founded in 1990”."""
    if subject.low in _PERSONAL:
        return True
    if low in w.MOVING:
        return after is None or after.low != "by"
    name = subject.capital and subject.low not in w.DETERMINERS
    return takes_object(after) or (name and after is not None and after.capital)


@lru_cache(maxsize=128)
def may_join(text: str) -> bool:
    """Tell whether a text has what clauses and compounds are joined by; most sentences don't."""
    small = text.lower()
    # To look for each is faster than the pattern, which most sentences need not be shown.
    return any(sign in small for sign in _JOINING) and _JOINING_TOKEN.search(small) is not None


def after_conjunction(tokens: Tokens, index: int) -> Tokens:
    """Return what follows a conjunction: “, and then”."""
    index += 1
    while index < len(tokens) and tokens[index].low in (",", "and", "but"):
        index += 1
    return tokens[index:]


def awaits_and(lows: list[str]) -> bool:
    """Tell whether “between” or “both” still waits for its “and”."""
    waiting = (
        i
        for i, low in enumerate(lows)
        if low == "between" or (low == "both" and not is_plural("".join(lows[i + 1 : i + 2])))
    )
    open_at = max(waiting, default=None)
    return open_at is not None and "and" not in lows[open_at:]


def subject_text(text: str, tokens: Tokens, verb: Finite) -> str:
    """Return a subject as it stands, with quotes that end it (“the song "Help"”), not brackets."""
    start, end = tokens[verb.subject].start, tokens[verb.end - 1].end
    following = text[end : tokens[verb.end].start].strip(" -")
    if not following or following[0] in "(,[":
        return text[start:end]
    return text[start : tokens[verb.end].start].rstrip(" -")


_CJK_SIGNS = re.compile(r"；|，(?:而且|并且|但是?|同时)")
_ARTICLES = ("a", "an", "the", "his", "her", "its", "their", "one")


def find_compounds(text: str) -> tuple[str, ...]:
    """Name the signs, at top level, that a claim holds more than one statement.

    Conjunctions count where a clause or a second verb follows, not between nouns (“bread and
    butter”, “between 3 and 5”); relative clauses and appositives count where commas set them off.
    Signs come in the order of the text, each once.
    """
    if text.isascii() and not may_join(text):
        return ()
    tokens = read_tokens(text) if may_join(text) else ()
    signs = [sign for index in range(1, len(tokens)) if (sign := _find_sign(tokens, index))]
    if not text.isascii() and (found := _CJK_SIGNS.search(text)):
        signs.append(found.group())
    return tuple(dict.fromkeys(signs))


def _find_sign(tokens: Tokens, index: int) -> str | None:
    low, before = tokens[index].low, tokens[index - 1].low
    if low == ";":
        return "; " if index + 1 < len(tokens) else None
    if low == "respectively":
        return low
    if low == "well":
        around = before, *(token.low for token in tokens[index + 1 : index + 2])
        return "as well as" if around == ("as", "as") else None
    if low in ("and", "but", "yet"):
        joins = _joins_statements(tokens[:index], after_conjunction(tokens, index))
        return low if joins else None
    if before != ",":
        return None
    if low in w.WORDS["relatives"]:
        return low
    return "appositive" if _is_appositive(tokens, index) else None


def _joins_statements(left: Tokens, right: Tokens) -> bool:
    lows = [token.low for token in left[1:]]
    verbs = [low for low in lows if low in w.AUXILIARIES or may_be_verb(low)]
    if not right or awaits_and(lows):
        return False
    if find_finite(right) or right[0].low in ("that", "if", "when", "because"):
        return bool(verbs) or find_finite(left) is not None
    low = right[skip_adverbs(right) % len(right)].low
    if low in SURE:
        return find_finite(left) is not None or bool(verbs)
    if w.is_participle(low):
        return bool(verbs)
    return low in SURE_BASES and bool(w.MODALS & set(verbs))


def may_be_verb(low: str) -> bool:
    """Tell whether a word may be a main verb: it may be a participle or a noun as well."""
    return low in w.SURE_PAST or w.is_participle(low) or low in w.SURE_S or low in w.NOUN_S


def _is_appositive(tokens: Tokens, index: int) -> bool:
    """Tell “…, a British mathematician, wrote” from a list or an opening qualifier."""
    if tokens[index].low not in _ARTICLES:
        return False
    if any(token.low == "," for token in tokens[: index - 1]) or tokens[0].low in w.PREPOSITIONS:
        return False
    for place in range(index + 1, min(len(tokens) - 1, index + 9)):
        if tokens[place].low == ",":
            return may_be_verb(tokens[place + 1].low) or tokens[place + 1].low in w.AUXILIARIES
    return False
