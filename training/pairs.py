"""Human-labelled training pairs, and the passages from which more are made.

Everything is read from ``shared/data/train``. A pair is a stretch of evidence, a claim, and a
target: the probabilities of (supports, contradicts, neither), or ``None`` where the label says
only "not supported".
"""

from __future__ import annotations

import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from claimwise.text.sentences import find_sentences

SUPPORTS, CONTRADICTS, NEITHER = 0, 1, 2
NOT_SUPPORTED = 3  # contradicts or neither: the label does not say which
_NLI = {"entailment": SUPPORTS, "contradiction": CONTRADICTS, "neutral": NEITHER}
NLI_SETS = ("snli", "mnli", "cad_nli")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
# Words whose exchange changes what is said.
_OTHER_WORD = {
    "some": "all", "most": "all", "many": "all", "may": "will", "might": "will", "often": "always",
    "usually": "never", "about": "exactly", "first": "second", "last": "first", "before": "after",
    "after": "before", "more": "less", "less": "more", "increased": "decreased", "north": "south",
    "decreased": "increased", "larger": "smaller", "smaller": "larger", "south": "north",
    "east": "west", "west": "east", "only": "also", "both": "neither", "all": "some",
    "always": "sometimes", "never": "often", "won": "lost", "lost": "won", "began": "ended",
    "oldest": "youngest", "largest": "smallest", "higher": "lower", "lower": "higher",
    "because": "although", "between": "outside", "during": "before", "until": "since",
}  # fmt: skip
_COMMON = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "did", "do", "does", "for",
    "from", "had", "has", "have", "he", "her", "his", "how", "in", "is", "it", "its", "of", "on",
    "or", "she", "that", "the", "their", "they", "this", "to", "was", "were", "what", "when",
    "where", "which", "who", "why", "will", "with",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """One training example; ``origin`` names the set or the recipe that it came from."""

    evidence: str
    claim: str
    label: int
    origin: str


@dataclass(slots=True)
class Passage:
    """A passage with its sentences and the questions that people asked about it."""

    text: str
    title: str
    sentences: list[str]
    questions: list[tuple[str, str]] = field(default_factory=list)


def read_rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    """Read one set of the folder."""
    with lzma.open(folder / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def detokenize(text: str) -> str:
    """Undo the spacing of Penn-treebank tokenisation, so that models see ordinary text."""
    text = text.replace("-LRB-", "(").replace("-RRB-", ")").replace("``", '"').replace("''", '"')
    text = re.sub(r" ([,.;:!?%)\]])", r"\1", text)
    text = re.sub(r"([(\[$]) ", r"\1", text)
    text = re.sub(r" (n't|'s|'re|'ve|'ll|'d|'m)\b", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()


def read_pairs(folder: Path) -> list[Pair]:
    """Return all human-labelled pairs."""
    pairs: list[Pair] = []
    for name in NLI_SETS:
        for row in read_rows(folder, name):
            pairs.append(Pair(row["premise"], row["hypothesis"], _NLI[row["label"]], name))
    for name, other in (
        ("fever", CONTRADICTS),
        ("fool_me_twice", CONTRADICTS),
        ("faithdial", NOT_SUPPORTED),
    ):
        for row in read_rows(folder, name):
            if "claim" not in row:  # a few rows lost theirs
                continue
            label = SUPPORTS if int(row["label"]) == 1 else other
            pairs.append(Pair(detokenize(row["document"]), detokenize(row["claim"]), label, name))
    pairs += list(_read_boolq(folder))
    return [p for p in pairs if p.evidence.strip() and p.claim.strip()]


def thin_pairs(pairs: list[Pair], rng: random.Random) -> list[Pair]:
    """Return the pairs with fewer captions: SNLI and its counterfactuals are all of one kind."""
    share = {"snli": 0.35, "cad_nli": 0.5}
    return [pair for pair in pairs if rng.random() < share.get(pair.origin, 1.0)]


def _read_boolq(folder: Path) -> Iterator[Pair]:
    for row in read_rows(folder, "boolq"):
        question, passage = row["sentence"].split("\npassage: ", 1)
        question = question.removeprefix("question: ").strip().capitalize()
        passage = passage.split(" -- ", 1)[-1]
        right, wrong = ("Yes", "No") if row["label"] == "True" else ("No", "Yes")
        yield Pair(passage, f"{question}? {right}.", SUPPORTS, "boolq")
        yield Pair(passage, f"{question}? {wrong}.", CONTRADICTS, "boolq")


def read_passages(folder: Path) -> list[Passage]:
    """Return the distinct passages of three or more sentences, with their questions."""
    found: dict[str, Passage] = {}
    for name in ("squad_passages", "new_wiki_passages"):
        for row in read_rows(folder, name):
            passage = found.get(row["document"])
            if passage is None:
                passage = make_passage(row["document"], row["title"].replace("_", " "))
                found[row["document"]] = passage
            passage.questions.append((row["question"], row["answer"]))
    for row in read_rows(folder, "boolq"):
        title, _, text = row["sentence"].split("\npassage: ", 1)[1].partition(" -- ")
        if text and text not in found:
            found[text] = make_passage(text, title)
    return [passage for passage in found.values() if len(passage.sentences) >= 2]


def make_passage(text: str, title: str) -> Passage:
    """Cut a text into sentences."""
    return Passage(text, title, [text[a:b] for a, b in find_sentences(text)])


def content_words(text: str) -> set[str]:
    """Return the lower-cased words that carry meaning, cut to six letters as a crude stem."""
    return {w[:6] for w in _WORD.findall(text.lower())} - _COMMON


def rank_sentences(sentences: list[str], claim: str) -> list[int]:
    """Return sentence numbers, best overlap with the claim first; ties keep their order."""
    wanted = content_words(claim)
    scores = [len(wanted & content_words(s)) / (3 + len(s.split()) ** 0.5) for s in sentences]
    return sorted(range(len(sentences)), key=lambda i: -scores[i])


def join_sentences(sentences: list[str], chosen: list[int]) -> str:
    """Join chosen sentences in document order; a gap shows as an ellipsis, as in the product."""
    parts: list[str] = []
    last = None
    for i in sorted(chosen):
        if last is not None and i != last + 1:
            parts.append("…")
        parts.append(sentences[i])
        last = i
    return " ".join(parts)


def make_windows(
    passage: Passage, claim: str, rng: random.Random, siblings: list[Passage]
) -> list[str]:
    """Return stretches of evidence of several kinds for one claim about a passage.

    The best part of the passage; the best one or two sentences; the passage without its best
    sentence, so that a claim is also seen with its evidence gone; a stretch from anywhere; and
    now and then the best part of another passage on the same subject.
    """
    sentences = passage.sentences
    order = rank_sentences(sentences, claim)
    windows = [join_sentences(sentences, order[: rng.choice((3, 4, 5))])]
    if rng.random() < 0.6:
        windows.append(join_sentences(sentences, order[: rng.choice((1, 2))]))
    if len(sentences) > 2 and rng.random() < 0.8:
        windows.append(join_sentences(sentences, order[1 : rng.choice((3, 4, 5))]))
    if len(sentences) > 5 and rng.random() < 0.25:
        at = rng.randrange(len(sentences) - 3)
        windows.append(join_sentences(sentences, list(range(at, at + 4))))
    if siblings and rng.random() < 0.3:
        other = rng.choice(siblings)
        best = rank_sentences(other.sentences, claim)[:3]
        windows.append(join_sentences(other.sentences, best))
    return list(dict.fromkeys(windows))


def edit_claim(claim: str, passage: str, rng: random.Random) -> str | None:
    """Return the claim with one thing changed: a number, a name, a small word, or a "not" more.

    Other numbers and names are taken from the passage, so that they are no sign by themselves.
    """
    ways = [_edit_number, _edit_name, _edit_word, negate]
    rng.shuffle(ways)
    for way in ways:
        edited = way(claim, passage, rng)
        if edited is not None and edited != claim:
            return edited
    return None


def _edit_number(claim: str, passage: str, rng: random.Random) -> str | None:
    found = list(_NUMBER.finditer(claim))
    if not found:
        return None
    chosen = rng.choice(found)
    others = [n for n in _NUMBER.findall(passage) if n not in claim]
    alike = [n for n in others if len(n) == len(chosen[0])]
    digit = str(rng.randrange(1, 10))
    other = rng.choice(alike) if alike else chosen[0][:-1] + digit
    return claim[: chosen.start()] + other + claim[chosen.end() :]


def _edit_name(claim: str, passage: str, rng: random.Random) -> str | None:
    found = list(_NAME.finditer(claim))
    others = sorted({n for n in _NAME.findall(passage) if n not in claim})
    if not found or not others:
        return None
    chosen, other = rng.choice(found), str(rng.choice(others))
    return claim[: chosen.start()] + other + claim[chosen.end() :]


def _edit_word(claim: str, passage: str, rng: random.Random) -> str | None:
    words = claim.split()
    places = [i for i, word in enumerate(words) if word in _OTHER_WORD]
    if not places:
        return None
    at = rng.choice(places)
    words[at] = _OTHER_WORD[words[at]]
    return " ".join(words)


def negate(claim: str, passage: str, rng: random.Random) -> str | None:
    """Put a "not" behind the first form of "to be" or a modal verb, or take it away."""
    words = claim.split()
    for i, word in enumerate(words[1:], 1):
        if word in ("is", "was", "are", "were", "can", "could", "has", "had", "will"):
            following = words[i + 1] if i + 1 < len(words) else ""
            if following in ("not", "never"):
                return " ".join([*words[: i + 1], *words[i + 2 :]])
            return " ".join([*words[: i + 1], "not", *words[i + 1 :]])
    return None


def cross_pairs(pairs: list[Pair], rng: random.Random) -> list[tuple[str, str]]:
    """Return each claim with the evidence of another claim that shares its rarest words."""
    words = [content_words(pair.claim) for pair in pairs]
    holders: dict[str, list[int]] = defaultdict(list)
    for number, own in enumerate(words):
        for word in own:
            holders[word].append(number)
    crossed = []
    for number, pair in enumerate(pairs):
        shared = [w for w in words[number] if 1 < len(holders[w]) <= 200]
        rare = sorted(shared, key=lambda w: (len(holders[w]), w))[:2]
        near = [n for w in rare for n in holders[w] if pairs[n].evidence != pair.evidence]
        if near:
            crossed.append((pairs[rng.choice(near)].evidence, pair.claim))
    return crossed


def mix_pairs(human: list[Pair], seed: int) -> list[tuple[str, str, str]]:
    """Return pairs from the labelled ones: evidence and claim swapped, crossed, edited."""
    rng = random.Random(seed)
    short = [p for p in human if p.origin in NLI_SETS]
    long = [p for p in human if p.origin not in (*NLI_SETS, "boolq")]
    pool = [(p.claim, p.evidence, "turned") for p in short if rng.random() < 0.4]
    pool += [(e, c, "crossed") for e, c in cross_pairs(long, rng)]
    for pair in long:
        edited = edit_claim(pair.claim, pair.evidence, rng) if pair.label == SUPPORTS else None
        if edited:
            pool.append((pair.evidence, edited, "edited"))
    return pool


def group_siblings(passages: list[Passage]) -> dict[str, list[Passage]]:
    """Return the passages by the article that they come from."""
    by_title: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        by_title[passage.title].append(passage)
    return by_title
