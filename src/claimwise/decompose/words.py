"""Words and phrases that rules go by, read from ``words.txt`` and ``phrases.txt``."""

from __future__ import annotations

import re

from claimwise.text.word_lists import read_sections

_PHRASES = read_sections(__package__, "phrases.txt")


def expand_phrases(name: str) -> str:
    """Return a section of the phrases as one alternation, with the sections it names put in."""
    lines = "|".join(_PHRASES[name])
    return f"(?:{re.sub(r'<([a-z]+)>', lambda found: expand_phrases(found[1]), lines)})"


WORDS = {
    name: frozenset(" ".join(lines).split())
    for name, lines in read_sections(__package__, "words.txt").items()
}
SUBJECT_PRONOUNS = WORDS["subject_pronouns"]
DETERMINERS = WORDS["determiners"]
OBJECT_STARTS = (
    DETERMINERS - {"that"}
    | {"it", "them", "him", "us", "me", "you", "about", "around"}
    | {f"{word}self" for word in ("him", "her", "it")}
    | {"themselves", "approximately", "either", "more", "fewer", "less", "over", "nearly", "almost"}
    | {"little", "much", "only", "almost", "roughly"}
)
PREPOSITIONS = WORDS["prepositions"]
SUBORDINATORS = WORDS["subordinators"]
LINKING_ADVERBS = WORDS["linking_adverbs"]
BE = WORDS["be"]
MODALS = WORDS["modals"]
AUXILIARIES = BE | MODALS | WORDS["have"]
PRESENT = WORDS["present"]
INTRANSITIVE = WORDS["intransitive"]
MOVING = INTRANSITIVE | WORDS["moving"]
BASES = WORDS["regular"] | WORDS["regular_noun"] | {v.split("-")[0] for v in WORDS["irregular"]}
# “Advantages of Kite” is about Kite.
ASPECT = re.compile(
    r"(?:the |some )?(?:main |key |important |basic )?(?:(?:advantages|disadvantages|pros|cons|"
    r"benefits|drawbacks|strengths|weaknesses|features|facts|details|history|overview|summary|timeline|"
    r"milestones|characteristics|properties|specifications)(?: (?:and|&) )?)+ (?:of|about|for) "
    r"(?:using )?",
    re.IGNORECASE,
)
TIME = re.compile(
    r"\b(?:1\d{3}|20\d\d)\b|\b(?:BCE?|AD|CE|yesterday|today|tomorrow|ago|centur(?:y|ies)|decades?|"
    r"January|February|March|April|June|July|August|September|October|November|December|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|last (?:year|month|week)|during|daily)\b"
)


def _third_person(base: str) -> str:
    if base.endswith("y") and base[-2] not in "aeou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")


def _regular_past(base: str) -> str:
    if base.endswith("y") and base[-2] not in "aeou":
        return base[:-1] + "ied"
    doubled = base[-1] if base in WORDS["doubling"] else ""
    return base + doubled + ("d" if base.endswith("e") else "ed")


_IRREGULAR = [verb.split("-") for verb in WORDS["irregular"]]
# Third persons that may be plural nouns, and those that may not.
NOUN_S = frozenset(map(_third_person, WORDS["regular_noun"])) | WORDS["irregular_noun"]
SURE_S = frozenset(map(_third_person, BASES)) - NOUN_S
# Base forms that are no nouns as well.
PLAIN_BASES = (
    BASES
    - WORDS["regular_noun"]
    - {verb for verb, _, _ in _IRREGULAR if _third_person(verb) in WORDS["irregular_noun"]}
)
# Past forms that are no participles (“wrote”), and those that may be (“built”).
SURE_PAST = frozenset(past for _, past, participle in _IRREGULAR if past != participle) | {"said"}
_PARTICIPLES = frozenset(map(_regular_past, WORDS["regular"] | WORDS["regular_noun"])) | {
    participle for _, _, participle in _IRREGULAR
}


def is_participle(low: str) -> bool:
    """Tell whether a word may be a past tense or a participle: a known one, or any in “-ed”."""
    ends = len(low) > 4 and low.endswith("ed") and low not in WORDS["not_past"]
    return ends or (low in _PARTICIPLES and low not in SURE_PAST)
