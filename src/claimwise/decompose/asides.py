"""Statements set off by commas: “The tower, which opened in 1889, is 330 m tall”.

A relative clause, an apposition or a participle between commas is a statement of its own about the
noun before it. It is cut off where that noun is certain: the sentence's subject, a name, or the
one object of its verb. Pieces stay in the order of the text: the aside comes with the words before
it, and what follows it takes over the subject.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from claimwise.decompose import words as w
from claimwise.decompose.clauses import (
    SURE,
    Token,
    Tokens,
    find_finite,
    is_number,
    is_plural,
    may_be_verb,
    may_join,
    read_tokens,
    skip_adverbs,
)
from claimwise.decompose.joins import Clause, cut_clauses

_LONGEST_SUBJECT = 8
_LONGEST_NOUN = 5
_INDEFINITE = ("a", "an")
_RELATIVE = ("which", "who")
_ARTICLE = re.compile(r"^an?\b", re.IGNORECASE)


class _Aside(NamedTuple):
    """An aside: what it is about, the words put before its own, and where those begin."""

    subject: str
    shared: str
    core: int
    last: int  # the comma that ends it, or the number of tokens


def split_statements(text: str) -> list[Clause]:
    """Cut a sentence into statements: asides first, then clauses at conjunctions."""
    whole = Clause(0, 0, len(text))
    tokens = read_tokens(text) if may_join(text) else ()
    if not tokens:
        return [whole]
    aside = _find_subject_aside(text, tokens)
    if opening := _cut_opening(text, tokens):
        clauses = opening
    elif aside is None:
        clauses = cut_clauses(text, tokens, whole)
    else:
        comma = tokens[aside.last]
        start = skip_adverbs(tokens)
        about = next(i for i in range(start, len(tokens)) if tokens[i].low == ",")
        subject = text[tokens[start].start : tokens[about - 1].end]
        rest = tokens[aside.last + 1 :]
        main = Clause(comma.end, rest[0].start, len(text), subject)
        first = Clause(0, aside.core, comma.end, aside.subject, aside.shared)
        clauses = [first, *cut_clauses(text, rest, main)]
    return [piece for clause in clauses for piece in _cut_trailing(text, tokens, clause)]


def _cut_opening(text: str, tokens: Tokens) -> list[Clause]:
    """Cut “Founded in 1887, the club has won four times”; empty where nothing opens so."""
    if len(tokens) < 4 or tokens[0].low not in w.WORDS["opening_participles"]:
        return []
    comma = _find_comma(tokens, 1)
    verb = find_finite(tokens[comma + 1 :]) if comma and comma > 1 else None
    if comma is None or verb is None:
        return []
    rest = tokens[comma + 1 :]
    subject = text[rest[verb.subject].start : rest[verb.end - 1].end]
    is_many = rest[verb.verb].low in w.WORDS["plural_verbs"]
    be = "were" if is_many else "was"
    first = Clause(0, tokens[1].start, tokens[comma].end, subject, f"{be} {tokens[0].low}")
    main = Clause(tokens[comma].end, rest[0].start, len(text))
    return [first, *cut_clauses(text, rest, main)]


def _find_subject_aside(text: str, tokens: Tokens) -> _Aside | None:
    """Return the aside between a sentence's subject and its verb."""
    start = skip_adverbs(tokens)
    comma = _find_comma(tokens, start)
    if comma is None or not start < comma <= start + _LONGEST_SUBJECT or comma + 2 >= len(tokens):
        return None
    inside = tokens[start:comma]
    first = inside[0]
    named = first.capital if start == 0 else True
    scoped = first.low in w.PREPOSITIONS | w.SUBORDINATORS | w.WORDS["scope_adverbs"]
    if not named or scoped or any(t.low in SURE or w.is_participle(t.low) for t in inside[1:]):
        return None
    last = _find_end(tokens, comma)
    if last is None:
        return None
    subject = text[first.start : inside[-1].end]
    past = not _is_present(tokens[last + 1].low)
    return _read_aside(text, tokens, comma, last, subject, past=past)


def _find_comma(tokens: Tokens, start: int) -> int | None:
    return next((i for i in range(start, len(tokens)) if tokens[i].low == ","), None)


def _find_end(tokens: Tokens, comma: int) -> int | None:
    """Return the comma that a verb follows: the aside ends there. An “and” before it is a list."""
    for index in range(comma + 1, len(tokens) - 1):
        if tokens[index].low in (";", ":", "and", "or") and tokens[index - 1].low == ",":
            return None
        if tokens[index].low == "," and _begins_verb(tokens[index + 1 :]):
            return index
    return None


def _begins_verb(tokens: Tokens) -> bool:
    index = skip_adverbs(tokens)
    while index < len(tokens) and tokens[index].low.endswith("ly"):
        index += 1
    return index < len(tokens) and (tokens[index].low in SURE or may_be_verb(tokens[index].low))


def _is_present(low: str) -> bool:
    return low in w.PRESENT or low in w.SURE_S or low in w.NOUN_S


def _read_aside(
    text: str, tokens: Tokens, comma: int, last: int, subject: str, *, past: bool
) -> _Aside | None:
    """Return what an aside says of a subject; None where its kind is not known.

    An aside in quotes has no words here: “Her debut album, "Blue", was released …”.
    """
    if last == comma + 1:
        return None
    opener, follower = tokens[comma + 1], tokens[comma + 2 : last]
    lows = [token.low for token in tokens[comma + 1 : last]]
    is_many = is_plural(subject.split()[-1].lower()) and not subject.split()[-1][0].isupper()
    be = ("were" if is_many else "was") if past else ("are" if is_many else "is")
    if opener.low in _RELATIVE and follower and _begins_verb(follower):
        return _Aside(subject, "", follower[0].start, last)
    if opener.low == "whose" and find_finite(follower) is not None:
        return _Aside(
            subject + ("'" if subject.endswith("s") else "'s"), "", follower[0].start, last
        )
    if opener.low == "where" and find_finite(follower) is not None:
        return _Aside(subject, be, opener.start, last)
    if _is_apposition(lows) or w.is_participle(opener.low):
        return _Aside(subject, be, opener.start, last) if "," not in lows else None
    return None


def _is_apposition(lows: list[str]) -> bool:
    """Tell “a former chemist”, “the daughter of a fisherman”: a noun phrase without a verb."""
    begins = lows[0] in _INDEFINITE or (lows[0] == "the" and "of" in lows)
    return begins and len(lows) > 1 and not any(low in SURE or is_number(low) for low in lows)


def _cut_trailing(text: str, tokens: Tokens, clause: Clause) -> list[Clause]:
    """Cut the asides off a clause's end: “…, which rose by 22%”, “…, a former chemist”."""
    inside = tuple(t for t in tokens if clause.core <= t.start and t.end <= clause.end)
    while inside and inside[-1].low == ",":
        inside = inside[:-1]
    commas = [i for i, token in enumerate(inside) if token.low == "," and i + 2 < len(inside)]
    for number, comma in enumerate(commas):
        opener = inside[comma + 1].low
        if opener not in (*_RELATIVE, "whose", "where", "a", "an", "the"):
            continue
        noun = _find_noun(text, inside, comma, opener)
        if noun is None:
            continue
        last = commas[number + 1] if number + 1 < len(commas) else len(inside)
        rest = inside[last + 1 :]
        if _is_doubtful(inside[comma + 1 : last], rest, is_name=noun[0].isupper()):
            continue
        past = not any(_is_present(token.low) for token in inside[:comma])
        aside = _read_aside(text, inside, comma, last, _make_definite(noun), past=past)
        if aside is not None:
            return _place_trailing(text, inside, comma, aside, clause)
    return [clause]


def _place_trailing(
    text: str, inside: Tokens, comma: int, aside: _Aside, clause: Clause
) -> list[Clause]:
    """Return the clause without its aside, and the aside; what follows it goes back before it."""
    cut = inside[comma].end
    rest = inside[aside.last + 1 :]
    if not rest:
        return [
            clause._replace(end=cut),
            Clause(cut, aside.core, clause.end, aside.subject, aside.shared, clause.tail),
        ]
    between = Clause(cut, aside.core, inside[aside.last].end, aside.subject, aside.shared)
    if rest[0].low == "where":
        place = Clause(between.end, rest[0].start, clause.end, aside.subject, aside.shared)
        return [clause._replace(end=cut), between, place]
    tail = text[rest[0].start : rest[-1].end]
    closing = Clause(cut, aside.core, clause.end, aside.subject, aside.shared)
    own = text[aside.core : inside[aside.last].start].strip()
    return [
        clause._replace(end=cut, tail=tail),
        closing._replace(core=clause.end, shared=f"{aside.shared} {own}".strip()),
    ]


def _is_doubtful(aside: Tokens, rest: Tokens, *, is_name: bool) -> bool:
    """Tell asides that may be about something else: “…, which was unusual”, or one of a list."""
    if rest and rest[0].low != "where" and rest[0].low not in w.PREPOSITIONS:
        return True
    lows = [token.low for token in aside]
    if rest and lows[0] not in (*_INDEFINITE, "the"):
        return True
    judged = lows[0] == "which" and lows[1] in w.BE and len(lows) > 2
    return judged and not is_name and not (w.is_participle(lows[2]) or is_number(lows[2]))


def _find_noun(text: str, tokens: Tokens, comma: int, opener: str) -> str | None:
    """Return the noun before a comma where it is certain: a name, or its verb's one object."""
    first = comma
    while first > 0 and (tokens[first - 1].capital or is_number(tokens[first - 1].low)):
        first -= 1
    if first < comma and tokens[first].capital and first > 0 and not _is_time(tokens[first]):
        return text[tokens[first].start : tokens[comma - 1].end]
    if opener in ("a", "an", "the", "where"):
        return None
    for start in range(comma - 1, max(0, comma - 1 - _LONGEST_NOUN), -1):
        before = tokens[start - 1]
        begins = tokens[start].low in w.DETERMINERS or (
            start == comma - 1 and is_plural(tokens[start].low)
        )
        if tokens[start].low in w.PREPOSITIONS or tokens[start].low in SURE:
            return None
        if begins:
            is_object = before.low == "by" or may_be_verb(before.low)
            return text[tokens[start].start : tokens[comma - 1].end] if is_object else None
    return None


def _is_time(token: Token) -> bool:
    return w.TIME.match(token.low.title()) is not None


def _make_definite(noun: str) -> str:
    """Return “the broken light” for “a broken light”, which was met before."""
    return _ARTICLE.sub("the", noun)
