"""How right is the rule that compares answers with gold answers?

    python benchmarks/correctness.py ../shared/data/dev            # a minute
    python benchmarks/correctness.py ../shared/data/dev --quick    # 3,000 answers

EVOUNA: what five systems said to questions of Natural Questions and TriviaQA, each labelled by
people as right or wrong by reference answers. The rule was written by looking at half of the
questions; the other half is printed. An answer with several references is right by the best of
them, and open if one leaves it open. Rivals in the same run: exact match after SQuAD's
normalisation, and whether the normalised reference stands in the answer; both call everything else
wrong. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import re
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from claimwise.judges.gold_match import RULE, match_gold

Compare = Callable[[str, str], bool | None]
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


class Labelled(NamedTuple):
    """An answer, its references, and whether people call it right."""

    answer: str
    references: list[str]
    right: bool


def read_answers(folder: Path, limit: int | None) -> list[Labelled]:
    """Return the answers to the questions that the rule was not written by."""
    found = []
    with lzma.open(folder / "evouna_qa_eval.jsonl.xz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            held_out = hashlib.sha256(row["group"].encode()).digest()[0] % 2
            if held_out and row.get("claim"):
                listed = row["document"].partition("\nReference answer: ")[2].split("/")
                references = [one for one in listed if one.strip()]
                found.append(Labelled(row["claim"], references, bool(row["label"])))
    return found[:limit]


def normalise(text: str) -> str:
    """Return a text as SQuAD's evaluation compares it."""
    bare = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def compare_all(one: Labelled, compare: Compare) -> bool | None:
    """Return what the best reference makes of an answer."""
    said = [compare(one.answer, reference) for reference in one.references]
    return True if True in said else None if None in said else False


def measure(answers: list[Labelled], compare: Compare) -> dict[str, Any]:
    said = [(compare_all(one, compare), one.right) for one in answers]
    right, wrong = [r for s, r in said if s is True], [r for s, r in said if s is False]
    decided = len(right) + len(wrong)
    return {
        "decided": decided / len(said),
        "right_when_right": sum(right) / len(right),
        "right_when_wrong": 1 - sum(wrong) / len(wrong),
        "accuracy": (sum(right) + len(wrong) - sum(wrong)) / decided,
        "rate": len(right) / decided,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="3,000 answers")
    options = parser.parse_args()
    answers = read_answers(options.folder, 3_000 if options.quick else None)
    people = sum(one.right for one in answers) / len(answers)
    print(f"{len(answers):,} answers; people call {people:.1%} of them right")
    ways: dict[str, Compare] = {
        f"the rule ({RULE})": lambda answer, gold: match_gold(answer, gold).correct,
        "exact match (SQuAD)": lambda answer, gold: normalise(answer) == normalise(gold),
        "reference in the answer": lambda answer, gold: normalise(gold) in normalise(answer),
    }
    figures = {name: measure(answers, compare) for name, compare in ways.items()}
    for name, found in figures.items():
        print(
            f"{name}: decides {found['decided']:.1%}; right about "
            f"{found['right_when_right']:.1%} of those it calls right, "
            f"{found['right_when_wrong']:.1%} of those it calls wrong; "
            f"accuracy {found['accuracy']:.1%}; rate {found['rate']:.1%}"
        )
    rule, *rivals = figures.values()
    holds = (
        rule["right_when_right"] >= 0.97
        and rule["right_when_wrong"] >= 0.8
        and all(rule["accuracy"] > rival["accuracy"] for rival in rivals)
        and all(abs(rule["rate"] - people) < abs(rival["rate"] - people) for rival in rivals)
    )
    print(json.dumps({"people": people, "figures": figures, "holds": holds}))


if __name__ == "__main__":
    main()
