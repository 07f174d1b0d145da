"""Does every claim of an answer keep its subject, say one thing, and say something?

Answers that we wrote in the style of real ones, labelled by hand (`data/splitting.jsonl`). A label
is one fact: words of the answer (`says`) and whom or what they are about (`subject`, with other
names after `|`; empty for an instruction, which needs none; `?` where a reader can't tell, so that
the claim must be flagged as ambiguous).

One fact is one verb with what belongs to it, its time and place included; one value of a list item
or of a table's cell; one clause or aside between commas (“which opened in 2000”, “a former
chemist”); one of several complements that each have a value or a citation of their own (“in
Physics in 1903 and in Chemistry in 1911”). A plain enumeration (“flour, water and salt”), a
condition and whoever said so stay with their fact.

Scored, each beside what it is a share of:

- wrong subject: facts whose claim does not name the labelled subject; an open pronoun is wrong
  unless the label is `?`
- non-claims: claims that hold no labelled fact (framing, headings, offers, restated questions,
  scraps)
- merged: facts that share their claim with another fact
- missed: facts that no claim holds, or whose claim lost their words
- wrong type, wrong citations: of the facts that are labelled as actions, or with what they cite

The development answers were used to write the rules; the held-out ones were measured at the end.
Rival: sentences by nupunkt, each a claim. The script needs `split_answer` only, so that it also
runs with earlier releases.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nupunkt

from claimwise.decompose import split_answer

DATA = Path(__file__).parent / "data" / "splitting.jsonl"
BOUNDS = {"wrong_subject": 0.05, "non_claims": 0.03, "merged": 0.05}
HALVES = ("development", "held out")
_WORD = re.compile(r"\w+(?:[.,]\w+)*")


class Piece(NamedTuple):
    """A claim as a splitter gives it."""

    start: int
    end: int
    wording: str
    claim_type: str = "factual"
    ambiguous: bool = False
    cites: tuple[str, ...] = ()


class Fact(NamedTuple):
    """A labelled fact, and the claim that holds it."""

    label: dict[str, Any]
    claim: Piece | None


Splitter = Callable[[str, str | None], list[Piece]]


def split_by_claimwise(answer: str, question: str | None) -> list[Piece]:
    return [
        Piece(
            claim.start,
            claim.end,
            claim.wording,
            claim.claim_type,
            claim.ambiguous,
            tuple(mark.target for mark in claim.marks),
        )
        for claim in split_answer(answer, question=question)
        if claim.claim_type != "non_factual"
    ]


def split_by_nupunkt(answer: str, question: str | None) -> list[Piece]:
    """Return every sentence, line by line, that has a letter: what most tools judge."""
    pieces = []
    for line in re.finditer(r"[^\n]+", answer):
        for start, end in nupunkt.sent_spans(line.group()):
            text = line.group()[start:end]
            if any(char.isalpha() for char in text):
                pieces.append(Piece(line.start() + start, line.start() + end, text))
    return pieces


def find_facts(case: dict[str, Any], pieces: Sequence[Piece]) -> list[Fact]:
    """Find the claim that holds each labelled fact: its place, and all of its words."""
    facts, at = [], 0
    for label in case["claims"]:
        start = case["answer"].index(label["says"], at)
        at = start + len(label["says"])
        inner = start + len(label["says"]) // 2
        held = [piece for piece in pieces if piece.start <= inner < piece.end]
        claim = next((piece for piece in held if holds_words(piece.wording, label["says"])), None)
        facts.append(Fact(label, claim))
    return facts


def holds_words(wording: str, says: str) -> bool:
    """Tell whether a claim has the words of a fact; a citation marker is none."""
    words = list_words(re.sub(r"\[\d+\]", "", says))
    return not words - list_words(wording) or says.casefold() in wording.casefold()


def list_words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def names_subject(fact: Fact) -> bool:
    """Tell whether a claim names the subject of its fact, or is flagged where nobody can tell."""
    subject = fact.label["subject"]
    if not subject or fact.claim is None:
        return True
    if subject == "?":
        return fact.claim.ambiguous
    return any(name.casefold() in fact.claim.wording.casefold() for name in subject.split("|"))


def list_faults(case: dict[str, Any], pieces: Sequence[Piece]) -> list[tuple[str, str]]:
    """Return an answer's faults: what kind, and what shows it."""
    facts = find_facts(case, pieces)
    shared = Counter(fact.claim for fact in facts if fact.claim)
    faults = [("non_claims", piece.wording) for piece in pieces if piece not in shared]
    for fact in facts:
        says = fact.label["says"]
        if fact.claim is None:
            faults.append(("missed", says))
            continue
        shown = f"{fact.label['subject']} :: {says} ⟵ {fact.claim.wording}"
        if not names_subject(fact):
            faults.append(("wrong_subject", shown))
        if shared[fact.claim] > 1:
            faults.append(("merged", shown))
        if fact.label.get("type", "factual") != fact.claim.claim_type:
            faults.append(("wrong_type", shown))
        if "cites" in fact.label and set(fact.label["cites"]) != set(fact.claim.cites):
            faults.append(("wrong_citations", f"{shown} {fact.claim.cites}"))
    return faults


def score_cases(
    cases: Sequence[dict[str, Any]], split: Splitter, *, show: bool = False
) -> dict[str, float]:
    """Return the shares of every fault over some answers."""
    counts: Counter[str] = Counter()
    for case in cases:
        pieces = split(case["answer"], case.get("question"))
        counts["claims"] += len(pieces)
        counts["facts"] += len(case["claims"])
        counts["cited"] += sum("cites" in label for label in case["claims"])
        for fault, shown in list_faults(case, pieces):
            counts[fault] += 1
            if show:
                print(f"{case['id']} {fault}: {shown}")
    of = {"non_claims": "claims", "wrong_citations": "cited"}
    kinds = ("wrong_subject", "non_claims", "merged", "missed", "wrong_type", "wrong_citations")
    shares = {kind: counts[kind] / max(1, counts[of.get(kind, "facts")]) for kind in kinds}
    return {"facts": counts["facts"], "claims": counts["claims"], **shares}


def print_table(found: dict[str, dict[str, float]]) -> None:
    kinds = [kind for kind in next(iter(found.values())) if kind not in ("facts", "claims")]
    print(f"| % | facts | claims | {' | '.join(kind.replace('_', ' ') for kind in kinds)} |")
    print("| --- | ---: | ---: |" + " ---: |" * len(kinds))
    for name, scores in found.items():
        cells = " | ".join(f"{100 * scores[kind]:.1f}" for kind in kinds)
        print(f"| {name} | {scores['facts']:.0f} | {scores['claims']:.0f} | {cells} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same: it takes a second")
    parser.add_argument("--show", choices=HALVES, help="print every fault of one part")
    args = parser.parse_args()
    cases = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
    splitters: dict[str, Splitter] = {
        "claimwise": split_by_claimwise,
        "sentences (nupunkt)": split_by_nupunkt,
    }
    found = {}
    for name, split in splitters.items():
        for half in HALVES:
            chosen = [case for case in cases if case["half"] == half]
            show = name == "claimwise" and args.show == half
            found[f"{name}, {half}"] = score_cases(chosen, split, show=show)
        found[f"{name}, all"] = score_cases(cases, split)
    print_table(found)
    ours = [found["claimwise, held out"], found["claimwise, all"]]
    holds = all(scores[kind] <= most for scores in ours for kind, most in BOUNDS.items())
    rounded = {name: {k: round(v, 4) for k, v in some.items()} for name, some in found.items()}
    print(json.dumps({"answers": len(cases), **rounded, "holds": holds}))


if __name__ == "__main__":
    main()
