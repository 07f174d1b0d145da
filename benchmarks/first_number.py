"""From a file of 50 answers to the first number: one command, from a cold start.

Rival: the path before there was ``claimwise measure``, by the same package on the same answers:
init, import of four files that somebody has written by hand, verify and report, each a process of
its own. Writing the files is not counted. Asked: under 60 s on 2 cores, and at most the rival's
processor time, which other programs on the machine don't change.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from claimwise.demo import list_demo_files

MOST_SECONDS = 60
STARTED_AT = "2026-11-15T09:00:00Z"


def read_demo(kind: str) -> list[dict[str, object]]:
    """Return the rows of the demo's files of one kind, as they stand."""
    [path] = [path for path in list_demo_files() if path.name.startswith(f"{kind}.")]
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def list_answers(count: int) -> Iterator[dict[str, object]]:
    """Yield answers of the demo with question and contexts, without what people said of them."""
    questions = {row["item_id"]: row["query"] for row in read_demo("items")}
    answers = [row for row in read_demo("answers") if row.get("answer_text")]
    for number in range(count):
        row = answers[number % len(answers)]
        contexts = row.get("contexts")
        assert isinstance(contexts, list)
        # Numbered, so that the same answer again is another one, and nothing is known already.
        yield {
            "question": f"{questions[row['item_id']]} (asked as number {number})",
            "answer": row["answer_text"],
            "contexts": [context["context_text"] for context in contexts] or ["Nothing was found."],
        }


def write_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def write_own_format(folder: Path, rows: list[dict[str, object]]) -> None:
    """Write the four files that an import takes."""
    sources, items, answers = [], [], []
    for number, row in enumerate(rows):
        item = {"item_id": f"q{number}", "query": row["question"], "query_type": "lookup"}
        items.append(item | {"answerable": True, "stakes": "low", "source_corpus_ver": "v"})
        own = {"run_id": "r", "item_id": f"q{number}", "answer_text": row["answer"]}
        contexts = []
        assert isinstance(row["contexts"], list)
        for place, text in enumerate(row["contexts"]):
            name = f"s{number}-{place}"
            sources.append({"source_id": name, "corpus_ver": "v", "source_text": text})
            contexts.append({"source_id": name, "context_text": text})
        answers.append(own | {"contexts": contexts})
    run = {"run_id": "r", "system": "s", "corpus_ver": "v", "started_at": STARTED_AT}
    for name, found in (
        ("sources", sources), ("items", items), ("runs", [run]), ("answers", answers),
    ):  # fmt: skip
        write_lines(folder / f"{name}.jsonl", found)


class Spent(NamedTuple):
    """Seconds on the clock, and of CPU time."""

    clock: float
    processor: float


def time_commands(folder: Path, *commands: list[str]) -> Spent:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for command in commands:
        subprocess.run(
            [sys.executable, "-c", "from claimwise.cli.main import main; main()", *command],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(time.perf_counter() - start, processor)


def measure(folder: Path, count: int) -> dict[str, Spent]:
    """Return what both ways take, the second time, and a start that measures nothing."""
    rows = list(list_answers(count))
    for name in ("ours", "rival"):
        (folder / name).mkdir()
    write_lines(folder / "ours/results.jsonl", rows)
    write_own_format(folder / "rival", rows)
    files = ["sources.jsonl", "items.jsonl", "runs.jsonl", "answers.jsonl"]
    start = time_commands(folder / "ours", ["measure", "results.jsonl", "--dry-run"])
    ours = time_commands(folder / "ours", ["measure", "results.jsonl"])
    again = time_commands(folder / "ours", ["measure", "results.jsonl"])
    rival = time_commands(folder / "rival", ["init"], ["import", *files], ["verify"], ["report"])
    return {"start": start, "ours": ours, "again": again, "rival": rival}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 answers, under 30 s")
    count = 20 if parser.parse_args().quick else 50
    with tempfile.TemporaryDirectory() as name:
        spent = measure(Path(name), count)
    ratio = spent["ours"].processor / spent["rival"].processor
    print("| what | s | CPU s |")
    print("| --- | ---: | ---: |")
    for name, told in (
        ("start", "reading alone (`--dry-run`)"), ("ours", f"`claimwise measure`, {count} answers"),
        ("again", "the same again"), ("rival", "four commands"),
    ):  # fmt: skip
        print(f"| {told} | {spent[name].clock:.1f} | {spent[name].processor:.1f} |")
    figures = {
        "answers": count,
        **{f"{name}_s": round(one.clock, 2) for name, one in spent.items()},
        **{f"{name}_processor_s": round(one.processor, 2) for name, one in spent.items()},
        "ratio": round(ratio, 3),
        "holds": spent["ours"].clock <= MOST_SECONDS and ratio <= 1,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
