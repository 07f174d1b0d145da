"""Writes the example of docs/agreement.md: the same two people, on two runs.

Both slip on about one claim in twelve. In the run `even` every second claim is unsupported, in
`mostly` one in twenty is.

    python make_example.py FOLDER
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ITEMS = 100
CLAIMS = ("The office opens at nine.", "It closes at five.", "It has a lift.")
PAGE = " ".join(CLAIMS)
SLIP = 0.08
SHARES = {"even": 0.5, "mostly": 0.05}

Record = dict[str, Any]


def make_labels(chance: random.Random, run_id: str, share: float) -> Iterator[Record]:
    """Yield what both people say of every claim of a run."""
    for number in range(ITEMS):
        for text in CLAIMS:
            bad = chance.random() < share
            for labeler in ("ida", "max"):
                told_bad = bad != (chance.random() < SLIP)
                yield {
                    "run_id": run_id,
                    "item_id": f"q-{number:03}",
                    "claim_text": text,
                    "verdict": "unlinked" if told_bad else "supported",
                    "supporting_span": None if told_bad else text,
                    "source_id": None if told_bad else "page",
                    "labeler": labeler,
                    "labeled_at": "2026-06-01T09:00:00Z",
                }


def make_files() -> dict[str, list[Record]]:
    """Return the records of every file."""
    chance = random.Random(12)  # noqa: S311 - an example, the same every time
    items = [f"q-{number:03}" for number in range(ITEMS)]
    return {
        "sources": [{"source_id": "page", "corpus_ver": "1", "source_text": PAGE}],
        "items": [
            {"item_id": item, "query": "What do you know of the office?", "query_type": "lookup",
             "answerable": True, "stakes": "low", "gold_answer": PAGE, "source_corpus_ver": "1"}
            for item in items
        ],
        "labelers": [{"labeler": name, "labeler_kind": "human"} for name in ("ida", "max")],
        "runs": [
            {"run_id": run_id, "system": "desk", "corpus_ver": "1",
             "started_at": "2026-05-01T09:00:00Z"}
            for run_id in SHARES
        ],
        "answers": [
            {"run_id": run_id, "item_id": item, "action": "answer", "answer_text": PAGE,
             "claims": [{"claim_text": text} for text in CLAIMS]}
            for run_id in SHARES for item in items
        ],
        "labels": [
            label
            for run_id, share in SHARES.items()
            for label in make_labels(chance, run_id, share)
        ],
    }  # fmt: skip


def main() -> None:
    """Write one file per kind of record."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    for name, records in make_files().items():
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
