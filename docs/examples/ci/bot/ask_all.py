"""Asks the bot every question of the golden set and writes the run for claimwise.

python bot/ask_all.py RUN FOLDER
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from answer import answer

ROOT = Path(__file__).parent.parent


def read(name: str) -> list[dict]:
    """Return the records of a file of the golden set."""
    lines = (ROOT / "eval" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def main(run_id: str, folder: Path) -> None:
    """Write runs.jsonl and answers.jsonl."""
    [source] = read("sources.jsonl")
    now = datetime.now(UTC).isoformat()
    run = {"run_id": run_id, "system": "toolshed-bot", "corpus_ver": source["corpus_ver"]}
    write(folder / "runs.jsonl", [{**run, "started_at": now}])
    answers = []
    for item in read("items.jsonl"):
        reply = answer(item["query"], source["source_text"])
        found = {"source_id": source["source_id"], "context_text": reply.passage}
        answers.append(
            {
                "run_id": run_id,
                "item_id": item["item_id"],
                "answer_text": reply.text,
                "action": reply.action,
                "contexts": [found] if reply.passage else [],
            }
        )
    write(folder / "answers.jsonl", answers)


def write(path: Path, rows: list[dict]) -> None:
    """Write records, one a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
