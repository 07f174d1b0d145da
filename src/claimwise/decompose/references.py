"""Who “she”, “it” and “the company” are.

A pronoun that opens a claim is replaced only when one antecedent alone is plausible: the subject
of the claim before, agreeing in number and, as far as can be told, in gender, with no rival in
sight. Everything else is flagged as ambiguous and left as it stands.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from claimwise.decompose import words as w
from claimwise.decompose.clauses import (
    Finite,
    Token,
    Tokens,
    find_finite,
    guess_finite,
    is_plural,
    may_be_verb,
    read_second_token,
    read_tokens,
    subject_text,
)

Number = Literal["one", "many", "unknown"]
Nature = Literal["man", "woman", "person", "thing", "named", "unknown"]

_MALE_NOUNS = w.WORDS["male_nouns"]
_FEMALE_NOUNS = w.WORDS["female_nouns"]
_PERSON_NOUNS = w.WORDS["person_nouns"]
_THINGS = w.WORDS["things"]
_FIRMS = w.WORDS["firms"]
_REFERRING = _FIRMS | w.WORDS["referring"]

# What may stand before a pronoun and names nobody: “However,”, “In 1843,”, “I think”, “Source:”.
_PRONOUN = re.compile(
    r"(?P<opener>(?:(?:yes|no|however|also|additionally|furthermore|moreover|in addition|then)"
    r", |(?P<phrase>(?:in|on|by|at|since|during|after|before|until|around|between) "
    r"[^,.:;]{1,40}?,? )|(?:i|we) (?:think|believe) (?:that )?|[^:.,;]{1,40}: )?)"
    r"(?P<word>he|she|it|they|his|her|its|their|this|these|that|those|the)\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LABEL = re.compile(r"^[^:.,;]{1,40}: (?=[A-Z])")  # “Length: The Velm is …”
_POSSESSIVE = {"his": "he", "her": "she", "its": "it", "their": "they"}
_EXPLETIVE = re.compile(w.expand_phrases("expletive"))
_NO_NOUNS = w.AUXILIARIES | w.BASES | w.SURE_PAST | w.PREPOSITIONS | w.DETERMINERS | {"and", "or"}
_CAPITALS = re.compile(r"(?<![\w.])[A-Z][\w'’-]*(?: [A-Z][\w.'’-]*)*")
_NOT_PEOPLE_AFTER = w.PREPOSITIONS - {"with", "by", "for", "like", "as", "to"} | {"the", "a", "an"}


class ClaimSubject(NamedTuple):
    """What a claim is about, as far as its form tells."""

    text: str
    number: Number
    nature: Nature
    # Lower-case words that it is known by: its head, and what “is a …” calls it.
    nouns: frozenset[str] = frozenset()
    # A heading or an item names it.
    is_introduced: bool = False


class Resolved(NamedTuple):
    """A claim's wording after its opening pronoun was looked at."""

    wording: str
    antecedent: str | None = None
    ambiguous: bool = False


class Memory:
    """The subjects met so far, in the order of the answer.

    Claims are read when a pronoun makes it necessary: most answers have none that refers.
    """

    def __init__(self, question: str | None = None) -> None:
        self._question = question
        # Claims that are still to be read; None where everything before is forgotten.
        self._unread: list[str | ClaimSubject | None] = []
        self._subject: ClaimSubject | None = None
        self._people: set[str] = set()
        # Other things in the last claim that a pronoun might mean.
        self._rivals: set[Number] = set()
        # What the question asks about: the subject wherever nothing else is.
        self._topic: ClaimSubject | None = None
        self._is_introduced = False

    def forget(self) -> None:
        """Start over: after a heading or a question, or in a new item, nothing is certain."""
        self._unread.append(None)

    def introduce(self, name: str) -> None:
        """Take the name of a heading or an item for what the sentences below it are about."""
        self._unread.append(_read_name(name))
        self._is_introduced = True

    def note_rivals(self) -> None:
        """Remember that the sentence was about two things: what follows may be about either."""
        self._unread.append("")

    def resolve(self, wording: str) -> Resolved:
        """Replace the pronoun that opens a claim, or flag it; then remember the claim's subject."""
        match = _PRONOUN.match(wording)
        word = _referring_word(match) if match else None
        if match and word is None and self._names_parent(match):
            word = "the"
        if not match or not word:
            self._unread.append(wording)
            return Resolved(wording)
        self._catch_up()
        found = self._find(word, match.group("rest"))
        if not found or _is_circular(match, found):
            if word == "the":
                self._unread.append(wording)
            else:  # someone or something new may have entered: what follows is uncertain as well
                self._subject = None
            return Resolved(wording, ambiguous=True)
        whole = _put_in(match, found.text)
        if match.group("word").lower() in ("its", "their"):
            self._subject = None  # “Its lift is slow. It …”: the tower or the lift?
        tokens = read_tokens(whole)
        self._note_rivals(whole, tokens, find_finite(tokens))
        return Resolved(whole, antecedent=found.text)

    def _names_parent(self, match: re.Match[str]) -> bool:
        """Tell whether “the site” is the site that the sentence stands under."""
        if not self._is_introduced or match.group("word").lower() != "the":
            return False
        self._catch_up()
        noun = _first_word(match.group("rest")).lower()
        named = self._subject is not None and self._subject.is_introduced
        return named and self._subject is not None and noun in self._subject.nouns

    def _find(self, word: str, rest: str) -> ClaimSubject | None:
        subject = self._subject
        if subject is None:
            return None
        if word in ("he", "she"):
            fits = self._fits_person(subject, word)
        elif word == "it":
            fits = subject.number == "one" and subject.nature in ("thing", "named", "unknown")
            fits = fits and "one" not in self._rivals
        elif word == "they":
            fits = subject.number == "many" and "many" not in self._rivals
        else:
            noun = _first_word(rest).lower()
            fits = noun in subject.nouns and not self._rivals and word in ("the", "this")
            fits = fits and _is_bare(rest)
        return subject if fits else None

    def _fits_person(self, subject: ClaimSubject, word: str) -> bool:
        gender = "man" if word == "he" else "woman"
        if subject.nature not in (gender, "person", "named"):
            return False
        others = {
            name
            for name in self._people
            if name not in subject.text and _tell_gender(name) in (gender, None)
        }
        is_topic = self._topic is not None and self._topic.text in subject.text
        return subject.number == "one" and (is_topic or not others)

    def _catch_up(self) -> None:
        if self._question:
            self._topic, self._question = _read_question(self._question), None
            self._subject = self._topic
        for unread in self._unread:
            if unread == "":
                self._rivals = {"one", "many"}
            elif isinstance(unread, str):
                self._observe(unread)
            else:
                self._subject = unread or self._topic
                self._rivals = set()
                if unread:
                    self._people.clear()
        self._unread.clear()

    def _observe(self, wording: str) -> None:
        wording = _LABEL.sub("", wording)
        tokens = read_tokens(wording)
        verb = find_finite(tokens) or guess_finite(tokens)
        self._subject = _read_subject(wording, tokens, verb)
        self._note_rivals(wording, tokens, verb)

    def _note_rivals(self, wording: str, tokens: Tokens, verb: Finite | None) -> None:
        subject = self._subject.text if self._subject else ""
        self._rivals = _find_rivals(tokens, verb)
        self._people |= {name for name in _find_people(wording) if name not in subject}
        if self._subject and self._subject.nature in ("man", "woman", "person"):
            self._people.add(subject)


def find_pronoun(wording: str) -> str | None:
    """Return the pronoun, or the “the” of “the company”, that opens a claim; None without one."""
    match = _PRONOUN.match(wording)
    return _referring_word(match) if match else None


def replace_pronoun(wording: str, antecedent: str) -> str:
    """Put an antecedent in the place of the pronoun that opens a claim, if one does."""
    match = _PRONOUN.match(wording)
    return _put_in(match, antecedent) if match and _referring_word(match) else wording


def _put_in(match: re.Match[str], antecedent: str) -> str:
    opener = match.group("opener")
    if opener and not opener.endswith(": "):
        antecedent = re.sub(r"^(?:The|Your) ", lambda found: found[0].lower(), antecedent)
    whole = opener + _replace(match, antecedent)
    return whole[0].upper() + whole[1:]


def _referring_word(match: re.Match[str]) -> str | None:
    """Return the pronoun, lower-case and without possessive; None where nothing is referred to."""
    word, rest = match.group("word").lower(), match.group("rest")
    if match.group("phrase") and not _names_nobody(match.group("phrase"), word):
        return None
    following = _first_word(rest).lower().strip(".,;:")
    if word == "it" and _EXPLETIVE.match(rest.replace("’", "'")):
        return None
    if word == "the":
        return word if following in _REFERRING and _is_bare(rest) else None
    if word in ("this", "that", "these", "those"):
        return None if following in ("year", "time", "month", "week", "morning", "said") else word
    return _POSSESSIVE.get(word, word)


def _names_nobody(phrase: str, word: str) -> bool:
    """Tell whether an opening phrase has nothing that the pronoun after it may mean."""
    if word not in ("he", "she", "it", "they"):
        return False
    tokens = read_tokens(phrase)[1:]
    named = any(token.capital and not w.TIME.match(token.low.title()) for token in tokens)
    return not named and not any(token.low in w.DETERMINERS for token in tokens)


def _tell_gender(name: str) -> Nature | None:
    first = name.split()[0].lower().rstrip(".")
    return "man" if first in w.WORDS["men"] else "woman" if first in w.WORDS["women"] else None


def _read_name(name: str) -> ClaimSubject:
    """Return what a heading or item names; a name may be anybody's or anything's."""
    last = name.split()[-1]
    lows = [word.lower().strip(".,") for word in name.split()]
    nature: Nature = _tell_gender(name) or ("thing" if set(lows) & _THINGS else "named")
    number: Number = "many" if is_plural(last.lower()) or "and" in lows else "one"
    return ClaimSubject(name, number, nature, frozenset(lows[-1:]), is_introduced=True)


def _first_word(text: str) -> str:
    return next(iter(text.split(maxsplit=1)), "")


def _is_bare(rest: str) -> bool:
    """Tell “the company sells”, “the company, …” from “the company Acme”, “the company law”."""
    second = read_second_token(rest)
    if second is None:
        return False
    low = second.low
    return low == "," or low in w.AUXILIARIES or low in w.LINKING_ADVERBS or may_be_verb(low)


def _is_circular(match: re.Match[str], found: ClaimSubject) -> bool:
    """Tell “The name … . Its name …”: nothing has itself."""
    following = match.group("rest").split()[:1]
    possessive = match.group("word").lower() in _POSSESSIVE
    return possessive and bool(following) and following[0].lower() in found.nouns


def _replace(match: re.Match[str], antecedent: str) -> str:
    """Put the antecedent in the pronoun's place; “a ticket”, met before, is now “the ticket”."""
    word, rest = match.group("word").lower(), match.group("rest")
    name = re.sub(r"^an? ", "the ", antecedent, flags=re.IGNORECASE)
    if word in ("the", "this"):
        return name + rest[len(rest) - len(rest.lstrip()) :].removeprefix(rest.split()[0])
    if word in _POSSESSIVE:
        return (
            f"{name}{'’' if '’' in rest else chr(39)}" + ("" if name.endswith("s") else "s") + rest
        )
    return name + rest


def _read_subject(wording: str, tokens: Tokens, verb: Finite | None) -> ClaimSubject | None:
    """Return a claim's subject with its number and nature, when its verb can be told."""
    if verb is None:
        return None
    inside = tokens[verb.subject : verb.end]
    return _describe(subject_text(wording, tokens, verb), inside, tokens[verb.verb :])


def _describe(text: str, inside: Tokens, after: Tokens) -> ClaimSubject | None:
    lows = [token.low for token in inside]
    if (
        w.is_participle(lows[0])
        or lows[0] in w.SUBJECT_PRONOUNS
        or lows[:2] in (["one", "of"], ["some", "of"])
    ):
        return None
    head = next((i for i, low in enumerate(lows) if i and low in w.PREPOSITIONS), len(lows)) - 1
    predicate = _predicate_nouns(after)
    nouns = frozenset({lows[head]} | predicate)
    if predicate & {"founded", "incorporated", "established"} or lows[-1] in _THINGS:
        nouns |= _FIRMS
    return ClaimSubject(
        text, _number(lows, head, after), _nature(inside, lows[head], predicate), nouns
    )


def _predicate_nouns(after: Tokens) -> frozenset[str]:
    """Return what “is a …” calls the subject, up to the first preposition or comma."""
    if after[0].low not in w.BE:
        return frozenset()
    nouns = []
    for token in after[1:10]:
        if token.low in w.PREPOSITIONS or token.low in (",", "and", "that", "who", "which"):
            break
        nouns.append(token.low)
    return frozenset(nouns)


def _number(lows: list[str], head: int, after: Tokens) -> Number:
    verb = after[0].low
    if "and" in lows[: head + 1] and verb not in w.WORDS["singular_verbs"]:
        return "many"
    if verb in w.WORDS["singular_verbs"] or verb in w.SURE_S or verb in w.NOUN_S:
        return "one"
    if verb in w.WORDS["plural_verbs"]:
        return "many"
    noun = lows[head]
    if verb in w.BASES and is_plural(noun):
        return "many"
    if lows[0] in ("a", "an", "each", "every", "one"):
        return "one"
    if noun.endswith("s") and not noun.endswith(("ss", "us", "is")):
        return "many" if lows[0] in w.DETERMINERS else "unknown"
    return "one"


def _nature(inside: Tokens, head: str, predicate: frozenset[str]) -> Nature:
    lows = {token.low.rstrip(".") for token in inside}
    first = inside[0].low.rstrip(".")
    if lows & _THINGS:
        return "thing"
    if first in w.WORDS["men"] or head in _MALE_NOUNS:
        return "man"
    if first in w.WORDS["women"] or head in _FEMALE_NOUNS:
        return "woman"
    if (predicate & _PERSON_NOUNS) or head in _PERSON_NOUNS or "born" in predicate or first == "dr":
        return "person"
    return "thing" if first in w.DETERMINERS or not inside[0].capital else "unknown"


def _find_rivals(tokens: Tokens, verb: Finite | None) -> set[Number]:
    """Return the numbers of what else a claim names: objects, not the objects of prepositions."""
    if verb is None:
        return {"one", "many"}
    rest = tokens[verb.verb + 1 :]
    before = tokens[verb.verb].low
    active = before not in w.BE
    passive = not active and any(w.is_participle(token.low) for token in rest[:2])
    rivals: set[Number] = set()
    for token in rest:
        named = token.low in ("a", "an", "the", "another", "one") or _is_name(token, before)
        if token.low == "it" or (active and named and before not in w.PREPOSITIONS):
            rivals.add("one")
        if token.low == "them" or ((active or passive) and is_plural(token.low)):
            rivals.add("many")
        before = token.low
    return rivals


def _is_name(token: Token, before: str) -> bool:
    return (
        token.capital and before not in ("a", "an", "the") and not w.TIME.match(token.low.title())
    )


def _find_people(wording: str) -> set[str]:
    """Return the capitalised names in a claim, after its first word, that may be people."""
    people = set()
    for match in _CAPITALS.finditer(wording, 1):
        before = wording[max(0, match.start() - 30) : match.start()].split()[-1:]
        name = match.group()
        lows = {word.lower().rstrip(".") for word in name.split()}
        place = before and before[0].lower().strip('(“"') in _NOT_PEOPLE_AFTER
        if place or lows & _THINGS or w.TIME.search(name) or name.isupper() or "-" in name:
            continue
        people.add(name.removesuffix("'s").removesuffix("’s"))
    return people


def _read_question(question: str) -> ClaimSubject | None:
    """Return what a question asks about, when it names one thing only."""
    if aspect := w.ASPECT.search(question):  # “What are the pros and cons of heat pumps?”
        name = question[aspect.end() :].strip(" ?.")
        return _read_name(name) if name and len(name.split()) < 5 else None
    tokens = read_tokens(question)[1:]
    found: list[list[Token]] = []
    current: list[Token] = []
    for token in [*tokens, Token(",", len(question), len(question))]:
        named = len(current) == 1 and not current[0].capital and token.low[0].isalpha()
        if current and (named or token.capital or _is_noun_like(token.low)):
            current.append(token)
            continue
        if len(current) > 1 or (current and current[0].capital):
            found.append(current)
        current = [token] if token.capital or token.low in ("the", "my", "our", "this") else []
    if len(found) != 1 or len(found[0]) > 5:
        return None
    inside = tuple(found[0])
    text = question[inside[0].start : inside[-1].end]
    text = re.sub(r"^(?:my|our) ", "your ", text)
    return _describe(text, inside, (Token("will", 0, 0),))


def _is_noun_like(low: str) -> bool:
    return low[0].isalpha() and low not in _NO_NOUNS and not w.is_participle(low)
