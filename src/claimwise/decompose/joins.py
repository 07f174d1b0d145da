"""Where an English sentence is cut at its conjunctions.

A sentence is cut only where both sides stand alone: each has a finite verb of its own, and a
subject of its own or the first one's; or the second repeats the form of what the first says, with
a value of its own (“in Physics in 1903 and in Chemistry in 1911”), and takes over the verb too.
Whatever is in doubt stays whole.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from claimwise.decompose import words as w
from claimwise.decompose.clauses import (
    JOINS,
    SURE,
    Finite,
    Token,
    Tokens,
    after_conjunction,
    awaits_and,
    find_compounds,
    find_finite,
    guess_finite,
    is_both,
    is_number,
    is_plural,
    may_be_verb,
    may_join,
    read_tokens,
    skip_adverbs,
    subject_text,
    takes_object,
)

# In a subject they leave open where it ends: “the first since the Broncos won”.
_MUDDLING = {"and", "or", "but", "since", "after", "before", "until", "than", "as"}
_SCOPES = w.PREPOSITIONS | w.SUBORDINATORS - {"that"} | w.WORDS["scope_adverbs"]
_NO_SUBJECT = w.SUBORDINATORS | w.PREPOSITIONS | {"not", "to"}
_HAVE_OR_BE = w.BE | w.WORDS["have"]
_TURNS = ("but", "while", "whereas")
_CONCEDES = ("although", "though")
_ABOUT = ("about", "around", "over", "nearly", "almost", "approximately", "roughly")
_PRONOUNS = ("he", "she", "it", "they", "we", "you")
_NO_OBJECT = (
    w.PREPOSITIONS | w.SUBORDINATORS | w.AUXILIARIES | JOINS | w.LINKING_ADVERBS | w.PLAIN_BASES
    | w.WORDS["frequency_adverbs"] | w.SURE_S | {"or", "nor", "not", "plus", "such", "so", "too"}
)  # fmt: skip
_END = Token(".", 0, 0)
_ADJECTIVE = ("ular", "ful", "ous", "able", "ible", "ical", "ive")
_LONGEST_GAP = 4  # words of a subject whose verb is left out: “and French by about 23%”
# A time that comes again, at the end: “opens at 9 and closes at 5 on Sundays”.
_RECURRING = re.compile(
    r"\b(?:on|every|from) (?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|weekdays|weekends|"
    r"(?:public |bank )?holidays)\b[\w ]{0,30}$"
)


class Clause(NamedTuple):
    """A stretch of a sentence that stands alone.

    ``core`` is where its own words begin. Before them stand ``subject`` and ``shared``: the first
    clause's subject, and of its verb what the stretch has not itself; ``tail`` stands after them.
    """

    start: int
    core: int
    end: int
    subject: str | None = None
    shared: str = ""
    tail: str = ""


class _Join(NamedTuple):
    """How a second half goes on: whose words it takes over, and where its own begin."""

    core: int
    subject: str | None = None
    shared: str = ""


class _Half(NamedTuple):
    """The first half: its words, its verb, and what it took over itself."""

    tokens: Tokens
    verb: Finite
    subject: str | None
    shared: str
    # Its verb is certain; else it is one only if a verb of the same subject follows.
    is_sure: bool = True

    def name_subject(self, text: str) -> str:
        """Return its subject, which may be that of a clause before."""
        return self.subject or subject_text(text, self.tokens, self.verb)


def split_clauses(text: str) -> list[Clause]:
    """Cut a sentence into clauses that stand alone; one clause when in doubt.

    Not cut: what follows “that”, “if”, “who”…, reported speech, a sentence that opens with a
    qualifier (“In 1998, …”), and halves whose last one ends in a qualifier that may hold for both
    (“… and the tunnel was opened in 1998”).
    """
    tokens = read_tokens(text) if may_join(text) else ()
    return cut_clauses(text, tokens, Clause(0, 0, len(text)))


@lru_cache(maxsize=128)  # a claim is looked at before and after compound ones are sent back
def joins_facts(text: str) -> bool:
    """Tell whether a claim joins facts: it shows a sign of that, or would be cut."""
    return bool(find_compounds(text)) or len(split_clauses(text)) > 1


def cut_clauses(text: str, tokens: Tokens, whole: Clause) -> list[Clause]:
    """Cut a stretch of a text, of which the words are known, as `split_clauses` does."""
    if not tokens:
        return [whole]
    scoped = not whole.subject and _opens_with_scope(tokens)
    clauses: list[Clause] = []
    begin, open_ = 0, whole
    for index, token in enumerate(tokens):
        if index <= begin or not _may_cut(tokens, index):
            continue
        right = after_conjunction(tokens, index)
        if scoped:
            join = _leave_scope(text, tokens, index, right)
        else:
            half = _read_half(tokens[begin:index], open_)
            join = _find_join(text, half, right, tokens, index) if half and right else None
        if join is None:
            continue
        cut = token.end if token.low in (";", ",") else token.start
        clauses.append(open_._replace(end=cut))
        open_ = Clause(cut, join.core, whole.end, join.subject, join.shared)
        scoped = False
        begin = tokens.index(right[0])
    return _share_tail(text, [*clauses, open_])


def _leave_scope(text: str, tokens: Tokens, index: int, right: Tokens) -> _Join | None:
    """Join “In 2004 the site was closed, but classes can visit it”: the year is not the second's.

    The second half has a subject of its own, and the present or a time of its own.
    """
    turns = tokens[index].low in _TURNS and tokens[index - 1].low == ","
    own = find_finite(right) if right and turns else None
    opening = text[: tokens[index].start]
    if own is None or not w.TIME.search(opening) or tokens[0].low in w.SUBORDINATORS:
        return None
    if not any(token.low in SURE for token in tokens[:index]) or any(map(_blocks, tokens[1:index])):
        return None
    apart = right[own.verb].low in w.PRESENT or w.TIME.search(text[right[0].start :])
    return _Join(right[0].start) if apart and _stands_alone(right, after_comma=True) else None


def _may_cut(tokens: Tokens, index: int) -> bool:
    """Tell whether a word joins: a conjunction, or a comma in a series that an “and” closes."""
    if tokens[index].low != ",":
        return tokens[index].low in JOINS or tokens[index].low == ":"
    rest = [token.low for token in tokens[index + 1 :]]
    return bool(rest) and rest[0] not in JOINS and "and" in rest


def _read_half(tokens: Tokens, clause: Clause) -> _Half | None:
    verb, at = find_finite(tokens), skip_adverbs(tokens)
    lacks_subject = clause.subject is not None and at < len(tokens)
    if lacks_subject and (verb is None or tokens[at].low in SURE):
        verb = Finite(0, min(1, at), at)
    if verb is None and (verb := guess_finite(tokens)):
        return _Half(tokens, verb, clause.subject, clause.shared, is_sure=False)
    return _Half(tokens, verb, clause.subject, clause.shared) if verb else None


def _opens_with_scope(tokens: Tokens) -> bool:
    first = skip_adverbs(tokens, w.LINKING_ADVERBS)
    if first >= len(tokens) or is_both(tokens, first):
        return first >= len(tokens)
    return tokens[first].low in _SCOPES


def _find_join(text: str, half: _Half, right: Tokens, tokens: Tokens, index: int) -> _Join | None:
    """Decide on a cut before a second half; None is no cut."""
    if said := _join_reported(text, half, right):
        return said
    left = half.tokens
    after_comma = index > 0 and tokens[index - 1].low == ","
    if awaits_and([token.low for token in left]):
        return None
    if _is_blocked(left):
        return _leave_reported(half, right) if after_comma and tokens[index].low in _TURNS else None
    for share in (_share_auxiliary, _share_modal, _share_verb, _fill_gap):
        if shared := share(text, half, right):
            return shared
    return _join_clauses(text, half, right, tokens[index].low, after_comma=after_comma)


def _join_clauses(
    text: str, half: _Half, right: Tokens, conjunction: str, *, after_comma: bool
) -> _Join | None:
    """Decide on a cut before a half with a verb of its own."""
    left = half.tokens
    if conjunction == ":" and (left[-1].low in w.WORDS["reporting"] or not half.is_sure):
        return None
    after_comma = after_comma or conjunction in (";", ":")
    if conjunction in _CONCEDES and not after_comma:
        return None
    if _scopes_over_both(text, half, right):
        return None
    own = conjunction == ";" and right[0].low in _PRONOUNS
    sure = conjunction != "," and (half.is_sure or after_comma)
    if own or (sure and _stands_alone(right, after_comma=after_comma)):
        is_list = conjunction not in (";", ":") and _begins_list(left, half.verb)
        return None if is_list else _Join(right[0].start)
    if conjunction in (";", ":", *_CONCEDES) or not _is_second_verb(text, half, right):
        return None
    return _Join(right[0].start, half.name_subject(text))


# Two halves, each with its verb


def _stands_alone(right: Tokens, *, after_comma: bool) -> bool:
    """Tell whether the right half has a subject of its own, plain enough to be sure of."""
    if right[0].low in _ABOUT and len(right) > 1 and is_number(right[1].low):
        right = right[1:]  # “about 4,000 animals remain”
    own = find_finite(right)
    if own is None:
        return after_comma and _stands_after_comma(right)
    if right[own.subject].low in _NO_SUBJECT:
        return False
    first, verb = right[own.subject], right[own.verb].low
    if first.low in w.BASES and right[own.subject + 1].low in w.DETERMINERS:
        return False  # “and create a game”
    sure = verb in SURE
    plain = first.capital or first.low in w.DETERMINERS or first.low in w.SUBJECT_PRONOUNS
    inside = {token.low for token in right[own.subject : own.verb]}
    return (sure or plain or after_comma) and not inside & _MUDDLING


def _stands_after_comma(right: Tokens) -> bool:
    """Tell “, and many families left for Hull”: a subject and one word that may be its verb."""
    right = right[skip_adverbs(right) :]
    first = right[0] if right else None
    if first is None or first.low in _NO_SUBJECT or may_be_verb(first.low):
        return False
    if first.low in SURE or any(map(_blocks, right)):
        return False
    for index, token in enumerate(right[1:6], start=1):
        if token.low == "," or token.low in w.PREPOSITIONS:
            return False
        before = right[index - 1].low
        is_verb = may_be_verb(token.low) or (token.low in w.BASES and is_plural(before))
        if is_verb and before not in w.DETERMINERS:
            rest = right[index + 1 :]
            follows = not rest or rest[0].low in w.PREPOSITIONS or takes_object(rest[0])
            return (follows or token.low in w.BASES) and not any(
                other.low in SURE for other in rest
            )
    return False


def _begins_list(left: Tokens, verb: Finite) -> bool:
    """Tell “X was built, artisans and craftsmen were sent away”: the left half's end is a noun."""
    ends = [i for i in range(verb.verb, len(left)) if left[i].low in ("and", ",", "or")]
    last = left[ends[-1] + 1 :] if ends else ()
    return bool(last) and last[0].low not in SURE and find_finite(last) is None


def _blocks(token: Token) -> bool:
    return (
        token.low in (":", "–", "—", ";")
        or token.low in w.SUBORDINATORS
        or token.low in w.WORDS["reporting"]
    )


def _is_blocked(left: Tokens) -> bool:
    """Tell whether a first half has a clause or speech in it; “a state of emergency” is none."""
    for place, (before, token) in enumerate(pairwise(left), start=2):
        is_noun = token.low in w.WORDS["reporting"] and (
            before.low in w.DETERMINERS or find_finite(left[place:]) is None
        )
        if _blocks(token) and not is_noun:
            return True
    return False


def _scopes_over_both(text: str, half: _Half, right: Tokens) -> bool:
    """Tell whether the right half ends in a qualifier that may hold for the left half too."""
    left = half.tokens
    if any(token.low in w.WORDS["trailing_scope"] for token in right):
        return not any(token.low in w.WORDS["trailing_scope"] for token in left)
    right_text = text[right[0].start : right[-1].end]
    if left[half.verb.verb].low in w.WORDS["have"]:
        return False  # “have checked … and see two charges of 2 June”: a perfect has no date
    if not w.TIME.search(right_text) or w.TIME.search(text[left[0].start : left[-1].end]):
        return False
    if _RECURRING.search(right_text):  # both get it, where both have a value
        return not (any(is_number(t.low) for t in left) and any(is_number(t.low) for t in right))
    if find_finite(right) is None and len(left) - half.verb.verb > 3:
        return False  # “was designed by Ann Hill and opened in 1968”: each has something of its own
    # “is 139 m tall and opened in 1989”: the tenses differ, so the year is the second verb's.
    second = find_finite(right)
    place = second.verb if second else skip_adverbs(right)
    later = right[place].low if place < len(right) else ""
    earlier = left[half.verb.verb].low
    return (earlier in w.PRESENT or earlier in w.SURE_S) == (later in w.PRESENT)


def _share_tail(text: str, clauses: list[Clause]) -> list[Clause]:
    """Give “on Sundays” at the end of a sentence to the clause before it as well."""
    if len(clauses) < 2 or clauses[-1].subject is None:
        return clauses
    found = _RECURRING.search(text[clauses[-1].core : clauses[-1].end].rstrip(" .!"))
    if found is None or w.TIME.search(text[clauses[-2].start : clauses[-2].end]):
        return clauses
    return [*clauses[:-2], clauses[-2]._replace(tail=found[0]), clauses[-1]]


def _is_second_verb(text: str, half: _Half, right: Tokens) -> bool:
    """Tell whether the right half begins with a finite verb of the left half's subject."""
    left, verb = half.tokens, half.verb
    index = skip_adverbs(right)
    first = left[verb.subject].low
    if index >= len(right) or first in ("there", "this", "that", "what"):
        return False
    low, main = right[index].low, left[verb.verb].low
    if low in SURE:
        return not (main in w.MODALS and low in ("have", "do"))
    after = right[index + 1] if index + 1 < len(right) else None
    if low in w.NOUN_S:
        if takes_object(after):
            return True
        if main in w.WORDS["plural_verbs"] | w.BASES:
            return False  # “they have a pool and offers from farms”
        shares = verb.verb == len(left) - 1 or right[index].capital  # “negotiates and signs it”
        return _moves(half, after) or (not shares and _has_object(right[index + 1 :]))
    if low in w.BASES and _is_second_base(half, right[index:]):
        return True
    if not w.is_participle(low):
        return False
    return low in w.INTRANSITIVE or _is_second_past(text, half, right)


def _moves(half: _Half, after: Token | None) -> bool:
    """Tell “opens at 9 and closes at 5”, “he walks and runs” from “food and drinks”."""
    left, verb = half.tokens, half.verb
    main = left[verb.verb].low
    if main not in w.PRESENT | w.SURE_S | w.NOUN_S | w.BE or is_plural(left[-1].low):
        return False
    return verb.verb == len(left) - 1 if after is None else after.low in w.PREPOSITIONS


def _has_object(rest: Tokens) -> bool:
    """Tell “offers free parking” from “offers for families”, “offers open to all”.

    No noun stands before another noun phrase, so what stands there is a verb.
    """
    first, second = (token.low for token in (*rest, _END, _END)[:2])
    if not first.isalpha() or first in _NO_OBJECT or first.endswith(("ing", "ly")):
        return False
    if w.is_participle(first) or first in w.WORDS["behind_nouns"] or first.endswith(_ADJECTIVE):
        return second.isalpha() and second not in _NO_OBJECT
    return True


def _is_second_base(half: _Half, right: Tokens) -> bool:
    """Tell “whales breathe air and give birth”, “they hunt at night and feed on fish”."""
    left, verb = half.tokens, half.verb
    main = left[verb.verb].low
    plural = main in w.WORDS["plural_verbs"] or main in w.BASES
    if not plural or main in w.MODALS or len(right) < 2:
        return False
    if right[0].low in w.PLAIN_BASES:
        return True
    after = right[1]
    return takes_object(after) or after.low in w.PREPOSITIONS or is_plural(after.low)


def _is_second_past(text: str, half: _Half, right: Tokens) -> bool:
    """Tell “founded it and sold it” from “was designed and built”, “castles built and …”."""
    left, verb = half.tokens, half.verb
    main = left[verb.verb].low
    rest = [token.low for token in left[verb.verb + 1 :]]
    if main in w.BE and right[skip_adverbs(right)].low in w.MOVING and len(rest) > 2:
        return True  # “was founded in 1894, moved to Leeds”
    index = skip_adverbs(right)
    follows = _may_follow_verb(right[index + 1 :]) or _is_plain_past(right[index].low)
    if any(map(w.is_participle, rest)) or not follows:
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
    return takes_object(rest[0])


def _is_plain_past(low: str) -> bool:
    """Tell “found mould”: a past form that hardly ever stands before a noun as an adjective."""
    return low in w.WORDS["plain_past"]


# Two halves that share a verb


def _join_reported(text: str, half: _Half, right: Tokens) -> _Join | None:
    """Join “The page says that A and that B”: both are what the page says."""
    if right[0].low != "that":
        return None
    lows = [token.low for token in half.tokens]
    if half.shared and lows[0] == "that":
        return _Join(right[0].start, half.subject, half.shared)
    verb = half.verb
    if "that" not in lows or lows.index("that") <= verb.verb:
        return None
    shared = text[half.tokens[verb.end].start : half.tokens[lows.index("that")].start]
    return _Join(right[0].start, half.name_subject(text), shared.strip())


def _leave_reported(half: _Half, right: Tokens) -> _Join | None:
    """Join “They say that 30,000 came, but the police counted 18,000”: what they don't say."""
    blocking = [token.low for token in half.tokens[1:] if _blocks(token)]
    said = all(low == "that" or low in w.WORDS["reporting"] for low in blocking)
    return _Join(right[0].start) if said and _stands_alone(right, after_comma=True) else None


def _share_auxiliary(text: str, half: _Half, right: Tokens) -> _Join | None:
    """Join “was designed by Ann and completed in 1871”, “have opened a case and sent it”.

    Each participle must have something of its own after it.
    """
    index = skip_adverbs(right)
    if index + 1 >= len(right) or not w.is_participle(right[index].low):
        return None
    if right[index].low in ("come", "become", "run"):
        return None  # “are made in Austria and come with a warranty”
    left, verb = half.tokens, half.verb
    shared = half.shared
    after = left[verb.verb + 1 :]
    if left[verb.verb].low in _HAVE_OR_BE:
        first = next((i for i, token in enumerate(after) if w.is_participle(token.low)), None)
        if first is None or first > 3:
            return None
        shared = text[left[verb.end].start : after[first].start].strip()
        after = after[first + 1 :]
    elif not shared or not w.is_participle(left[verb.verb].low):
        return None
    own = right[index + 1]
    alone = not after or any(w.is_participle(token.low) for token in after)
    speaker = left[verb.subject].low in ("i", "we")  # of what was done: “and opened ticket 5”
    if alone or not (speaker or _may_follow_verb((own,))) or not _may_follow_verb(after[:1]):
        return None
    if shared.split()[0].lower() in w.BE and right[index].low in w.MOVING | w.INTRANSITIVE:
        return None  # “was founded in 1894 and moved to Leeds”
    return _Join(right[0].start, half.name_subject(text), shared)


def _share_modal(text: str, half: _Half, right: Tokens) -> _Join | None:
    """Join “can export their data and delete their account”."""
    left, verb = half.tokens, half.verb
    index = skip_adverbs(right)
    modal = half.shared or left[verb.verb].low
    if modal.split()[0].lower() not in w.MODALS or index + 1 >= len(right):
        return None
    low, after = right[index].low, right[index + 1]
    if low not in w.BASES or low in ("have", "do") or w.is_participle(low):
        return None
    if low not in w.PLAIN_BASES and not takes_object(after):
        return None
    own = len(left) - verb.verb > 2 and (low in w.PLAIN_BASES or takes_object(after))
    shared = half.shared or text[left[verb.end].start : left[verb.verb].end]
    return _Join(right[0].start, half.name_subject(text), shared) if own else None


def _share_verb(text: str, half: _Half, right: Tokens) -> _Join | None:
    """Join “in Physics in 1903 and in Chemistry in 1911”, “£6 for adults and £3 for children”.

    What follows the conjunction has the form of what the first half ends in: the same
    prepositions in the same order, and a number.
    """
    form = _read_form(right)
    if form is None or not (is_number(right[0].low) or right[0].low in w.PREPOSITIONS):
        return None
    left, verb = half.tokens, half.verb
    if half.shared and _read_form(left) == form:
        return _Join(right[0].start, half.subject, half.shared)
    for place in range(verb.verb + 1, len(left)):
        alike = left[place].low == right[0].low or (
            is_number(left[place].low) and is_number(right[0].low)
        )
        if alike and left[place - 1].low not in w.DETERMINERS and _read_form(left[place:]) == form:
            shared = text[left[verb.end].start : left[place].start].strip()
            return _Join(right[0].start, half.name_subject(text), shared) if shared else None
    return None


def _read_form(tokens: Tokens) -> tuple[str, ...] | None:
    """Return the prepositions of some words, in order; None without one, a number, or plainness."""
    lows = [token.low for token in tokens]
    odd = any(low == "," or low in SURE or low in w.SUBORDINATORS for low in lows)
    found = tuple(low for low in lows if low in w.PREPOSITIONS and low != "about")
    return found if found and not odd and any(map(is_number, lows)) else None


def _fill_gap(text: str, half: _Half, right: Tokens) -> _Join | None:
    """Join “German is spoken by 62% and French by 23%”, “sold houses in 1990 and land in 1995”.

    The second half has a noun and the first half's preposition, each with a number. Where the
    first verb has an object of its own the noun is another object, else another subject.
    """
    form = _read_form(right)
    if form is None or half.shared or right[0].low in w.PREPOSITIONS:
        return None
    gap = next(i for i, token in enumerate(right) if token.low == form[0])
    left, verb = half.tokens, half.verb
    places = [i for i in range(verb.verb + 1, len(left)) if left[i].low == form[0]]
    if not 0 < gap <= _LONGEST_GAP or not places or _read_form(left[places[0] :]) is None:
        return None
    if any(may_be_verb(token.low) for token in right[:gap]):
        return None
    between = [t.low for t in left[verb.verb + 1 : places[0]] if t.low not in w.LINKING_ADVERBS]
    group = text[left[verb.end].start : left[places[0]].start].strip()
    if all(map(w.is_participle, between)):
        plain = right[0].capital or right[0].low in w.DETERMINERS
        noun = text[right[0].start : right[gap].start].strip()
        return _Join(right[gap].start, noun, group) if plain else None
    if w.is_participle(between[0]) and left[verb.verb].low in w.BE:
        return None
    shared = text[left[verb.end].start : left[verb.verb].end]
    return _Join(right[0].start, half.name_subject(text), shared)
