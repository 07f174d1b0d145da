"""Clauses of an English sentence, found without a parser.

A sentence is cut only where both sides stand alone: each has a finite verb of its own, and a
subject of its own or the first one's. Whatever is in doubt stays whole and is named by
``find_compounds``. Words are recognised from closed lists (``words.py``), so a sentence in another
language, or one built on verbs that are not listed, is never cut.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from claimwise.decompose import words as w

# Beyond this a “sentence” is a table, a dump or an attack; it is left whole.
_LONGEST = 1500
_LONGEST_SUBJECT = 12
_TOKEN = re.compile(r"[€$£¥#]?[^\W_]+(?:[-–.'’:,/_&@][^\W_]+)*%?|[;:,()\[\]“”\"«»–—]")
# Words that, after the first, show that another clause has begun: “a man you could talk to”.
_BREAKS = w.SUBORDINATORS - {"that"} | {",", ";", ":", "–", "—"}
_NEW_CLAUSE = {"i", "you", "he", "she", "it", "we", "they", "that"}
# In a subject they leave open where it ends: “the first since the Broncos won”.
_MUDDLING = {"and", "or", "but", "since", "after", "before", "until", "than", "as"}
_JOINS = frozenset({"and", "but", "while", "whereas", "yet", ";"})
_JOINING = (*_JOINS, ",", "well")
_ADVERBS = w.LINKING_ADVERBS | w.WORDS["frequency_adverbs"]
_BRACKETS = {**dict.fromkeys("([“«", 1), **dict.fromkeys(")]”»", -1)}
_SURE = w.AUXILIARIES | w.SURE_PAST | w.SURE_S
_SURE_BASES = w.BASES - {"use", "support", "design", "plan"}
_SCOPES = w.PREPOSITIONS | w.SUBORDINATORS - {"that"} | w.WORDS["scope_adverbs"]
_NO_SUBJECT = w.SUBORDINATORS | w.PREPOSITIONS | {"not", "to"}
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


class Clause(NamedTuple):
    """A stretch of a sentence that stands alone.

    ``core`` is where it begins without its conjunction; ``subject`` is the first clause's subject
    where it has none of its own.
    """

    start: int
    core: int
    end: int
    subject: str | None = None


def read_tokens(text: str) -> Tokens:
    """Return the top-level words and marks of a sentence: not what stands in brackets or quotes.

    An opening bracket or quote that is never closed hides the rest. Contractions of pronouns are
    two tokens. A text too long for a sentence gives none.
    """
    return _read_tokens(text) if len(text) <= _LONGEST else ()


@lru_cache(maxsize=128)  # each stage looks at the clauses of an answer in turn
def _read_tokens(text: str) -> Tokens:
    tokens: list[Token] = []
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
                tokens += _read_contraction(found, start, end)
            else:
                tokens.append(Token(found.lower(), start, end, found[0].isupper()))
    return tuple(tokens)


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
    start = _skip(tokens)
    if start < len(tokens) and tokens[start].low in w.WORDS["scope_adverbs"]:
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
            return Finite(start, comma, index + 1) if tokens[index + 1].low in _SURE else None
    return None


def _skip(tokens: Tokens, words: frozenset[str] = _ADVERBS) -> int:
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
    if low in _SURE:
        return tokens[start].low not in w.PREPOSITIONS
    if before in _BEFORE_NOUN:
        return False  # “their studies”, “of related”
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    subject = tokens[start]
    if subject.low in ("he", "she", "it") and index == start + 1 and low.endswith("s"):
        return True
    if low in w.NOUN_S:
        return before in w.LINKING_ADVERBS or _takes_object(after)
    if w.is_participle(low):
        return _is_past(subject, low, after)
    return low in w.BASES and subject.low in ("i", "you", "we", "they")


def _takes_object(after: Token | None) -> bool:
    if after is None:
        return False
    first = after.low[0]
    return after.low in w.OBJECT_STARTS or first.isdigit() or first in "€$£¥" or after.low == "at"


def _is_past(subject: Token, low: str, after: Token | None) -> bool:
    """Tell a past tense from a participle: “Globex joined it”, not “the firm founded in 1990”."""
    if subject.low in _PERSONAL:
        return True
    if low in w.MOVING:
        return after is None or after.low != "by"
    name = subject.capital and subject.low not in w.DETERMINERS
    return _takes_object(after) or (name and after is not None and after.capital)


def split_clauses(text: str) -> list[Clause]:
    """Cut a sentence into clauses that stand alone; one clause when in doubt.

    Not cut: what follows “that”, “if”, “who”…, reported speech, a sentence that opens with a
    qualifier (“In 1998, …”), and halves whose last one ends in a qualifier that may hold for both
    (“… and the tunnel was opened in 1998”).
    """
    tokens = read_tokens(text) if _may_join(text) else ()
    whole = [Clause(0, 0, len(text))]
    if not tokens or _opens_with_scope(tokens):
        return whole
    clauses: list[Clause] = []
    begin, start, core, subject = 0, 0, 0, None
    for index, token in enumerate(tokens):
        if token.low not in _JOINS or index <= begin:
            continue
        right = _after_conjunction(tokens, index)
        left = tokens[begin:index]
        carried = _join_subject(text, left, right, token.low, subject)
        if carried is None:
            continue
        cut = tokens[index].end if token.low == ";" else tokens[index].start
        clauses.append(Clause(start, core, cut, subject))
        core = right[0].start
        begin, start, subject = tokens.index(right[0]), cut, carried or None
    return [*clauses, Clause(start, core, len(text), subject)]


@lru_cache(maxsize=128)
def _may_join(text: str) -> bool:
    """Tell whether a text has what clauses and compounds are joined by; most sentences don't."""
    small = text.lower()
    return any(sign in small for sign in _JOINING)


def _opens_with_scope(tokens: Tokens) -> bool:
    first = _skip(tokens, w.LINKING_ADVERBS)
    if first >= len(tokens):
        return True
    low = tokens[first].low
    return low in _SCOPES


def _after_conjunction(tokens: Tokens, index: int) -> Tokens:
    index += 1
    while index < len(tokens) and tokens[index].low in (",", "and", "but"):
        index += 1
    return tokens[index:]


def _join_subject(
    text: str, left: Tokens, right: Tokens, conjunction: str, subject: str | None
) -> str | None:
    """Decide on a cut: None is no cut, "" a subject of the right half's own, else the left's."""
    verb = find_finite(left)
    if subject is not None and verb is None and _skip(left) < len(left):
        verb = Finite(0, 1, _skip(left))  # the left half lacks a subject itself
    if verb is None or not right or any(_blocks(token) for token in left[1:]):
        return None
    if _awaits_and([token.low for token in left]):
        return None
    if _scopes_over_both(text, left, right, verb):
        return None
    if _stands_alone(right):
        return None if _begins_list(left, verb) else ""
    if conjunction == ";" or not _is_second_verb(text, left, right, verb):
        return None
    return subject or subject_text(text, left, verb)


def _stands_alone(right: Tokens) -> bool:
    """Tell whether the right half has a subject of its own, plain enough to be sure of."""
    own = find_finite(right)
    if own is None or right[own.subject].low in _NO_SUBJECT:
        return False
    first, verb = right[own.subject], right[own.verb].low
    if first.low in w.BASES and right[own.subject + 1].low in w.DETERMINERS:
        return False  # “and create a game”
    sure = verb in _SURE
    plain = first.capital or first.low in w.DETERMINERS or first.low in w.SUBJECT_PRONOUNS
    inside = {token.low for token in right[own.subject : own.verb]}
    return (sure or plain) and not inside & _MUDDLING


def _awaits_and(lows: list[str]) -> bool:
    """Tell whether “between” or “both” still waits for its “and”."""
    open_at = max((i for i, low in enumerate(lows) if low in ("between", "both")), default=None)
    return open_at is not None and "and" not in lows[open_at:]


def _begins_list(left: Tokens, verb: Finite) -> bool:
    """Tell “X was built, artisans and craftsmen were sent away”: the left half's end is a noun."""
    ends = [i for i in range(verb.verb, len(left)) if left[i].low in ("and", ",", "or")]
    last = left[ends[-1] + 1 :] if ends else ()
    return bool(last) and last[0].low not in _SURE and find_finite(last) is None


def _blocks(token: Token) -> bool:
    return (
        token.low in (":", "–", "—", ";")
        or token.low in w.SUBORDINATORS
        or token.low in w.WORDS["reporting"]
    )


def _scopes_over_both(text: str, left: Tokens, right: Tokens, verb: Finite) -> bool:
    """Tell whether the right half ends in a qualifier that may hold for the left half too."""
    if any(token.low in w.WORDS["trailing_scope"] for token in right):
        return not any(token.low in w.WORDS["trailing_scope"] for token in left)
    right_text = text[right[0].start : right[-1].end]
    if not w.TIME.search(right_text) or w.TIME.search(text[left[0].start : left[-1].end]):
        return False
    # “is 139 m tall and opened in 1989”: the tenses differ, so the year is the second verb's.
    second = find_finite(right)
    place = second.verb if second else _skip(right)
    later = right[place].low if place < len(right) else ""
    earlier = left[verb.verb].low
    return (earlier in w.PRESENT or earlier in w.SURE_S) == (later in w.PRESENT)


def _is_second_verb(text: str, left: Tokens, right: Tokens, verb: Finite) -> bool:
    """Tell whether the right half begins with a finite verb of the left half's subject."""
    index = _skip(right)
    first = left[verb.subject].low
    if index >= len(right) or first in ("there", "this", "that", "what"):
        return False
    low, main = right[index].low, left[verb.verb].low
    if low in _SURE:
        return not (main in w.MODALS and low in ("have", "do"))
    after = right[index + 1] if index + 1 < len(right) else None
    if low in w.NOUN_S:
        return _takes_object(after)
    if not w.is_participle(low):
        return False
    return low in w.INTRANSITIVE or _is_second_past(text, left, right, verb)


def _is_second_past(text: str, left: Tokens, right: Tokens, verb: Finite) -> bool:
    """Tell “founded it and sold it” from “was designed and built”, “castles built and …”."""
    main = left[verb.verb].low
    rest = [token.low for token in left[verb.verb + 1 :]]
    if any(w.is_participle(low) for low in rest) or not _may_follow_verb(right[_skip(right) + 1 :]):
        return False
    if main in w.AUXILIARIES:
        # A year in the past cannot belong to “is”.
        years = w.TIME.search(text[right[0].start : right[-1].end])
        return main in w.BE & w.PRESENT and years is not None
    return main in w.SURE_PAST or w.is_participle(main)


def _may_follow_verb(rest: Tokens) -> bool:
    """Tell “sold it”, “moved to”, “won” from “related styles”."""
    if not rest or rest[0].capital or rest[0].low in w.PREPOSITIONS or rest[0].low == ",":
        return True
    return _takes_object(rest[0])


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
    tokens = read_tokens(text) if _may_join(text) else ()
    signs = [sign for index in range(1, len(tokens)) if (sign := _find_sign(tokens, index))]
    if found := _CJK_SIGNS.search(text):
        signs.append(found.group())
    return tuple(dict.fromkeys(signs))


def _find_sign(tokens: Tokens, index: int) -> str | None:
    low, before = tokens[index].low, tokens[index - 1].low
    if low == ";":
        return "; " if index + 1 < len(tokens) else None
    if low == "well":
        around = before, *(token.low for token in tokens[index + 1 : index + 2])
        return "as well as" if around == ("as", "as") else None
    if low in ("and", "but", "yet"):
        joins = _joins_statements(tokens[:index], _after_conjunction(tokens, index))
        return low if joins else None
    if before != ",":
        return None
    if low in w.WORDS["relatives"]:
        return low
    return "appositive" if _is_appositive(tokens, index) else None


def _joins_statements(left: Tokens, right: Tokens) -> bool:
    lows = [token.low for token in left[1:]]
    verbs = [low for low in lows if low in w.AUXILIARIES or may_be_verb(low)]
    if not right or _awaits_and(lows):
        return False
    if find_finite(right) or right[0].low in ("that", "if", "when", "because"):
        return bool(verbs) or find_finite(left) is not None
    low = right[_skip(right) % len(right)].low
    if low in _SURE:
        return find_finite(left) is not None or bool(verbs)
    if w.is_participle(low):
        return bool(verbs)
    return low in _SURE_BASES and bool(w.MODALS & set(verbs))


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
