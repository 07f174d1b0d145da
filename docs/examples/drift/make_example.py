"""Writes two runs of an invented help desk whose rate moved for four reasons at once.

    python make_example.py FOLDER

Between `march` and `june` the prompt changed (3 points worse on every question), a quarter of the
questions got other documents (20 points worse on those), 60 harder questions came in and 20 old
ones went, and a stricter judge took over (it rejects one supported claim in sixteen). That judge
also judged a random third of `march`.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHARED, DROPPED, ADDED, CHANGED, AGAIN = 240, 20, 60, 60, 80
GOOD, PROMPT, DOCUMENTS, HARDER, STRICT = 0.93, 0.03, 0.20, 0.25, 1 / 16
OLD_JUDGE, NEW_JUDGE = "judge:small@1", "judge:large@1"
Record = dict[str, Any]


def main(folder: Path) -> None:
    """Write one file per kind of record."""
    draw = random.Random(4)  # noqa: S311 - an example, the same every time
    files: dict[str, list[Record]] = {
        "sources": [],
        "items": [],
        "runs": [
            _run("march", "p1", "2026-03", "2026-03-30T08:00:00Z"),
            _run("june", "p2", "2026-06", "2026-06-30T08:00:00Z"),
        ],
        "labelers": [
            {"labeler": name, "labeler_kind": "verifier", "model": name.split(":")[1]}
            for name in (OLD_JUDGE, NEW_JUDGE)
        ],
        "answers": [],
        "labels": [],
    }
    again = set(draw.sample(range(SHARED + DROPPED), AGAIN))
    for number in range(SHARED + DROPPED + ADDED):
        _add_item(files, number)
        # Some questions are easier than others, in both runs alike.
        easy = draw.betavariate(GOOD * 4, (1 - GOOD) * 4)
        if number < SHARED + DROPPED:
            _answer(files, draw, "march", number, easy, again=number in again)
        if number < SHARED or number >= SHARED + DROPPED:
            worse = PROMPT + DOCUMENTS * (number < CHANGED) + HARDER * (number >= SHARED + DROPPED)
            _answer(files, draw, "june", number, easy * (GOOD - worse) / GOOD)
    folder.mkdir(parents=True, exist_ok=True)
    for kind, records in files.items():
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{kind}.jsonl").write_text(lines, encoding="utf-8")


def _run(run_id: str, prompt: str, corpus: str, day: str) -> Record:
    return {"run_id": run_id, "system": "help-desk", "model": "m-2", "prompt_ver": prompt,
            "retriever_ver": "bm25", "corpus_ver": corpus, "started_at": day}  # fmt: skip


def _add_item(files: dict[str, list[Record]], number: int) -> None:
    name = f"{number:03}"
    text = f"Rule {name} applies from Monday."
    changed = f"Rule {name} applies from Friday." if number < CHANGED else text
    for version, words in (("2026-03", text), ("2026-06", changed)):
        files["sources"].append(
            {"source_id": f"page-{name}", "corpus_ver": version, "source_text": words}
        )
    files["items"].append({
        "item_id": f"q-{name}",
        "query": f"When does rule {name} apply?",
        "query_type": _name_type(number),
        "answerable": True,
        "stakes": "low",
        "source_corpus_ver": "2026-03",
        "gold_spans": [{"source_id": f"page-{name}", "span_text": text, "required": True}],
    })  # fmt: skip


def _name_type(number: int) -> str:
    if number >= SHARED + DROPPED:
        return "multi_hop"
    return "lookup" if number % 3 else "aggregation"


def _answer(
    files: dict[str, list[Record]],
    draw: random.Random,
    run_id: str,
    number: int,
    chance: float,
    *,
    again: bool = False,
) -> None:
    name = f"q-{number:03}"
    claims = [f"{run_id}: statement {n} on {name}" for n in range(draw.randint(2, 7))]
    files["answers"].append({
        "run_id": run_id, "item_id": name, "action": "answer",
        "answer_text": ". ".join(claims), "claims": [{"claim_text": text} for text in claims],
    })  # fmt: skip
    for text in claims:
        supported = draw.random() < chance
        strict = supported and draw.random() >= STRICT
        for judge, verdict, day in _judge(run_id, supported, strict, again=again):
            files["labels"].append({
                "run_id": run_id, "item_id": name, "claim_text": text, "labeler": judge,
                "verdict": "supported" if verdict else "unlinked", "labeled_at": day,
                "source_id": f"page-{number:03}" if verdict else None,
                "supporting_span": f"Rule {number:03}" if verdict else None,
            })  # fmt: skip


def _judge(
    run_id: str, lenient: bool, strict: bool, *, again: bool
) -> Iterator[tuple[str, bool, str]]:
    if run_id == "june":
        yield NEW_JUDGE, strict, "2026-07-01T08:00:00Z"
        return
    yield OLD_JUDGE, lenient, "2026-04-01T08:00:00Z"
    if again:
        # Given an earlier date than the first, so that the first still decides.
        yield NEW_JUDGE, strict, "2026-03-31T08:00:00Z"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
