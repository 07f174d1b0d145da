"""How well does agreement between answers tell right answers from wrong ones?

    python benchmarks/consistency.py ../shared/data/dev/evouna_qa_eval.jsonl.xz
    python benchmarks/consistency.py … --quick    # 60 questions, lexical: below 30 seconds

EVOUNA has up to five answers to one question, each by another system and judged right or wrong by
people. An answer's score is the mean agreement of its claims with the other answers; the rival is
agreement by counting words, on the same answers. Intervals resample whole questions. The last line
printed is one JSON object.

These are answers of several systems, not samples of one: systems that err differently agree on
less that is wrong than one system does with itself, so resamples may do worse than this.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from claimwise.consistency.compare import THRESHOLD, compare_given
from claimwise.consistency.values import GivenAnswer
from claimwise.judges.judge import Verifier, load_verifier
from claimwise.metrics.accuracy import Rating, Resampling, compare_sets, measure_set, rate_claims

Questions = dict[str, list[dict[str, Any]]]


def read_questions(path: Path, limit: int) -> Questions:
    """Return some questions, drawn at random and always the same, with their answers."""
    found: Questions = defaultdict(list)
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["claim"].strip():
                found[row["group"]].append(row)
    several = sorted(name for name, rows in found.items() if len(rows) > 1)
    order = np.random.Generator(np.random.PCG64(3)).permutation(len(several))[:limit]
    return {several[number]: found[several[number]] for number in order}


def rate_answers(questions: Questions, verifier: Verifier) -> Rating:
    """Return the mean agreement of every answer beside what people say of it."""
    scores, labels, groups = [], [], []
    for name, rows in questions.items():
        asked = rows[0]["document"].partition("\n")[0].removeprefix("Question: ")
        given = [GivenAnswer(name=row["id"], text=row["claim"]) for row in rows]
        result = compare_given(given, verifier, question=asked)
        for row, answer in zip(rows, result.answers, strict=True):
            scores.append(math.nan if answer.agreement is None else answer.agreement)
            labels.append(bool(row["label"]))
            groups.append(name)
    return rate_claims(scores, labels, groups, THRESHOLD)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="evouna_qa_eval.jsonl.xz, or its folder")
    parser.add_argument("--quick", action="store_true", help="60 questions, lexical")
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--verifier", default="auto")
    options = parser.parse_args()
    data = options.data / "evouna_qa_eval.jsonl.xz" if options.data.is_dir() else options.data
    questions = read_questions(data, 60 if options.quick else options.questions)
    verifier = load_verifier("lexical" if options.quick else options.verifier)
    begin = time.monotonic()
    how = Resampling()
    own = measure_set(rate_answers(questions, verifier), how)
    seconds = time.monotonic() - begin
    rival = measure_set(rate_answers(questions, load_verifier("overlap")), how)
    lead = compare_sets(own, rival, how).difference
    for name, measured in ((verifier.labeler, own), ("verifier:overlap-1", rival)):
        figures = measured.accuracy
        print(
            f"{name:<24} AUC {figures.auc:.3f} {figures.intervals['auc']} "
            f"balanced accuracy {figures.balanced_accuracy:.3f} "
            f"{figures.intervals['balanced_accuracy']} n {figures.n} unscored {figures.unscored}"
        )
    print(
        json.dumps(
            {
                "questions": len(questions),
                "seconds": round(seconds, 1),
                "verifier": verifier.labeler,
                "accuracy": msgspec.to_builtins(own.accuracy),
                "overlap": msgspec.to_builtins(rival.accuracy),
                "difference": msgspec.to_builtins(lead),
                "holds": lead.auc is not None and lead.auc > 0,
            }
        )
    )


if __name__ == "__main__":
    main()
