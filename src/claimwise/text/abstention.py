"""Proposes what an answer does, from its words alone: answers, declines, or asks back.

For answers of which nobody said it. The text is cut into clauses; each is a refusal (“I couldn't
find any information”), a request for clarification, filler that may stand beside either (manners,
advice where to look), or content. An answer that declines one thing and states another is an
answer: what it states can be checked. So one clause of content is enough, and the rule errs
towards “answer”. Phrases are in ``data/abstention.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

ProposedAction = Literal["answer", "abstain", "clarify"]

RULE = "abstention-1"
"""The rule's name and version; a change of phrases raises it."""

_SOURCE = (
    r"(?:(?:the |this |these |those |any |your |our |my |its )?(?:provided |given |available "
    r"|retrieved |supplied |above |following |current |other |cited )*(?:contexts?|documents?"
    r"|sources?|passages?|texts?|articles?|information|knowledge base|search results?|results"
    r"|excerpts?|materials?|documentation|polic(?:y|ies)|manuals?|records?|data|pages?|snippets?"
    r"|files?|question))"
)
_NOT = (
    r"(?:does not|doesn't|do not|don't|did not|didn't|makes? no|gives? no|provides? no|has no"
    r"|have no)"
)
# Longer answers decline at their beginning, if at all.
_MOST_CHARACTERS = 4_000
# A clause without any of these declines nothing: the phrases need not be looked for.
_HINT = re.compile(
    r"n't\b|\bno(?:t|n)?\b|cannot|\bun\w|sorry|afraid|insufficient|lack|silent|beyond|outside"
    r"|without|impossible|difficult|hard to|idk|dunno|n/a|clarif|specif|rephrase|you mean"
    r"|depends on|help to know|(?:are|could|can|would|will) you|need (?:more|additional|further)"
    r"|more (?:information|context|detail)|kein|nicht|leider|genauer|\bpas\b|aucune|inconnu"
    r"|préciser|aclarar|desco|não|ni idea|chiarire|[没沒未无無不请請]|ません|ない|教えて"
)
_QUOTED = re.compile(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|‘[^’\n]{3,200}’")
_MARKUP = re.compile(r"[*_`#>]+|\[\^?\d+\^?\]|\((?:source|citation)[^)]*\)|https?://\S+")
_CLAUSE = re.compile(
    r"(?<=[.!?])(?<![\s.]\w\.)(?<!\b(?:dr|mr|ms|st|vs|jr|sr|no)\.)(?<!\bmrs\.)[\"')\]]*\s+|[。！？]|\n+|\s*[;:]\s+|\s+[-–—]\s+"
    r"|,?\s+(?=(?:but|however|although|though|nevertheless|nonetheless|yet)\b)"
    r"|,\s+(?=(?:so|as|since|because|and i|i'm|i am|i do|i can|i could|i have)\b)"
)
_LEAD = re.compile(
    r"^(?:but|however|although|though|nevertheless|nonetheless|yet|and|so|well|unfortunately|sadly"
    r"|currently|also|additionally|therefore|that said|at this time|at the moment"
    r"|(?:based on|according to|from the|as of) [^,]{0,60}|in the [^,]{0,40})[,:]?(?:\s+|$)"
)
_WORD = re.compile(r"\w")
# “Account number: I can't provide it”: what is repeated before a colon states nothing.
_HEADING = re.compile(r"\s*[^.:!?\n]{3,80}:\s+")


class _Phrases(NamedTuple):
    refusal: re.Pattern[str]
    clarify: re.Pattern[str]
    filler: re.Pattern[str]
    whole: re.Pattern[str]


def propose_action(answer: str) -> ProposedAction:
    """Return what an answer seems to do with its question.

    ``abstain`` when it declines and states nothing, ``clarify`` when it asks what was meant and
    states nothing, else ``answer``. An empty text declines.
    """
    text = answer[:_MOST_CHARACTERS].replace("’", "'").lower()
    if not _WORD.search(text):
        return "abstain"
    if not _HINT.search(text):
        return "answer"
    # Words that are quoted are somebody else's: “I Can't Help Falling in Love” declines nothing.
    text = re.sub(r"[^\S\n]+", " ", _MARKUP.sub(" ", _QUOTED.sub(_hide_quote, text)))
    text = _HEADING.sub("", text, count=1) if _HEADING.match(text) else text
    phrases = _load_phrases()
    if phrases.whole.fullmatch(text.strip(" .!\"'\n")):
        return "abstain"
    kinds = set()
    for clause in _cut_clauses(text):
        kind = _classify(clause, phrases)
        if kind == "content":
            return "answer"
        kinds.add(kind)
    if "refusal" in kinds:
        return "abstain"
    return "clarify" if "clarify" in kinds else "answer"


def _hide_quote(quote: re.Match[str]) -> str:
    """Return a stand-in for a quote that still ends the sentence, if the quote did."""
    end = quote[0][-2:-1]
    return f"x{end} " if end in ".!?" else "x"


def _find_borders(text: str) -> Iterator[tuple[int, int]]:
    """Yield where clauses end and the next ones begin, as far as anybody asks."""
    yield from (border.span() for border in _CLAUSE.finditer(text))
    yield len(text), len(text)


def _cut_clauses(text: str) -> Iterator[str]:
    """Yield the clauses that hold a word, without what leads into them."""
    start = 0
    for end, following in _find_borders(text):
        bare = text[start:end].strip(" ,.\"'()")
        start = following
        while (shorter := _LEAD.sub("", bare)) != bare:
            bare = shorter
        if _WORD.search(bare):
            yield bare


def _classify(clause: str, phrases: _Phrases) -> str:
    if _HINT.search(clause):
        if phrases.clarify.search(clause):
            return "clarify"
        if phrases.refusal.search(clause):
            return "refusal"
    return "filler" if phrases.filler.search(clause) else "content"


@cache
def _load_phrases() -> _Phrases:
    sections: dict[str, list[str]] = {}
    text = (files("claimwise.text") / "data" / "abstention.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("[") and line.endswith("]"):
            lines = sections.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            lines.append(line.replace("{source}", _SOURCE).replace("{not}", _NOT))
    return _Phrases(**{name: re.compile("|".join(lines)) for name, lines in sections.items()})
