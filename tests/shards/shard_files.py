"""Files of answers for jobs over shards, and what a job made of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from claimwise.judges.judge import load_verifier
from claimwise.shards.engines import HereEngine, ShardEngine
from claimwise.shards.judging import OfflineJudge
from claimwise.shards.verify import ShardsResult, verify_shards
from claimwise.store import Store, open_store

PLACES = ("tower", "bridge", "museum", "garden")
Verdicts = dict[tuple[str, int, str], str | None]


def make_row(number: int) -> dict[str, Any]:
    """One answer of three claims: supported, contradicted, and without any support."""
    place, height = PLACES[number % len(PLACES)], 100 + number
    return {
        "question": f"How tall is {place} number {number}?",
        "answer": (
            f"The {place} number {number} is {height} m tall. Entry costs {number} euros [1]. "
            "Wolves live on Mars."
        ),
        "contexts": [
            f"The {place} number {number} is {height} m tall. Entry costs {number + 1} euros.",
            "The opening hours are not known.",
        ],
    }


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows in the format of the path's ending."""
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif path.suffix == ".parquet":
        import polars

        polars.DataFrame([json.loads(line) for line in text.splitlines()]).write_parquet(path)
    else:
        path.write_text(text, encoding="utf-8")


def make_files(folder: Path, files: int, answers: int) -> str:
    """Write files of answers, numbered through; return the pattern that names them."""
    folder.mkdir(parents=True)
    for file in range(files):
        rows = map(make_row, range(file * answers, (file + 1) * answers))
        write_rows(folder / f"part-{file:03}.jsonl", rows)
    return f"{folder}/*.jsonl"


def verify(
    pattern: str, output: Path | str, engine: ShardEngine | None = None, **options: Any
) -> ShardsResult:
    """Verify files by counting words, the quickest judge."""
    name = options.pop("judge", "overlap")
    with engine or HereEngine() as opened:
        return verify_shards(
            [pattern],
            str(output),
            OfflineJudge(name),
            load_verifier(name),
            opened,
            **{"run_id": "job", "options": {}, **options},
        )


def read_verdicts(store: Store) -> Verdicts:
    """Return the verdict, or the reason for none, of every claim; each must be there once."""
    rows = store.query(
        "select c.item_id, c.sample, c.claim_text, coalesce(l.verdict, u.reason) from claims as c "
        "left join labels as l on l.run_id = c.run_id and l.item_id = c.item_id "
        "and l.claim_id = c.claim_id left join unscored_claims as u on u.run_id = c.run_id "
        "and u.item_id = c.item_id and u.claim_id = c.claim_id"
    )
    found = {(row[0], row[1], row[2]): row[3] for row in rows}
    assert len(found) == len(rows)
    return found


def read_output(output: Path) -> Verdicts:
    """Return the verdicts of a job's output."""
    with open_store(output) as store:
        return read_verdicts(store)
