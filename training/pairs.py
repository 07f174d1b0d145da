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
_WORD = re.compile(r"\w+")
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


def read_pairs(folder: Path, seed: int = 0) -> list[Pair]:
    """Return the human-labelled pairs; SNLI and its counterfactuals are thinned out."""
    rng = random.Random(seed)
    pairs: list[Pair] = []
    for name, share in (("snli", 0.35), ("mnli", 1.0), ("cad_nli", 0.5)):
        for row in read_rows(folder, name):
            if rng.random() < share:
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
                passage = _make_passage(row["document"], row["title"].replace("_", " "))
                found[row["document"]] = passage
            passage.questions.append((row["question"], row["answer"]))
    for row in read_rows(folder, "boolq"):
        title, _, text = row["sentence"].split("\npassage: ", 1)[1].partition(" -- ")
        if text and text not in found:
            found[text] = _make_passage(text, title)
    return [passage for passage in found.values() if len(passage.sentences) >= 2]


def _make_passage(text: str, title: str) -> Passage:
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

    The whole passage or its best part; the best two sentences; the passage without its best
    sentence, so that a claim is also seen with its evidence gone; and now and then the best part
    of another passage on the same subject.
    """
    sentences = passage.sentences
    order = rank_sentences(sentences, claim)
    windows = [join_sentences(sentences, order[: rng.choice((3, 4, 5))])]
    if rng.random() < 0.5:
        windows.append(join_sentences(sentences, order[: rng.choice((1, 2))]))
    if len(sentences) > 2 and rng.random() < 0.7:
        windows.append(join_sentences(sentences, order[1:4]))
    if siblings and rng.random() < 0.2:
        other = rng.choice(siblings)
        best = rank_sentences(other.sentences, claim)[:3]
        windows.append(join_sentences(other.sentences, best))
    return list(dict.fromkeys(windows))


def group_siblings(passages: list[Passage]) -> dict[str, list[Passage]]:
    """Return the passages by the article that they come from."""
    by_title: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        by_title[passage.title].append(passage)
    return by_title
