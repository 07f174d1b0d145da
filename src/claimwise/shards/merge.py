"""Makes the tables of a store out of the shards' files.

DuckDB streams each table into one file, in bounded memory. An item that several shards hold is
written once; everything else is another one's in every shard. The tables stand beside ``shards/``
and are an ordinary store of Parquet files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict

from claimwise.disk.duckdb_files import connect_duckdb, writing_errors
from claimwise.readers import write_files
from claimwise.shards.items import name_corpus
from claimwise.shards.places import SHARDS, OutputPlace
from claimwise.shards.values import JobSettings, ShardRecord
from claimwise.shards.work import SHARD_ROWS
from claimwise.types.rows import ROW_TYPES, Item, ItemAttribute, Labeler, Row, Run

_MEMORY = "1GB"
_SHARED: tuple[type[Row], ...] = (Item, ItemAttribute)
Records = Sequence[tuple[str, ShardRecord]]  # by the folder of the shard


def name_merge(records: Records) -> str:
    """Return which shards tables are made of; the same shards have the same name."""
    made = sorted((folder, record.folders) for folder, record in records)
    return sha256(msgspec.json.encode(made)).hexdigest()[:32]


def merge_shards(output: OutputPlace, settings: JobSettings, records: Records) -> None:
    """Write one file per table out of all shards, and the runs and the judge of the job.

    Files are complete when they get their names; the runs' comes last, and is what makes the
    folder a store. Killed in between, the next call writes all of them again.
    """
    with output.work() as work:
        output.remove(f"{Run.kind}.parquet")
        names = _write_tables(output, work, records)
        own = _write_job_tables(work / "own", settings, records)
        for path in (*names, *own):
            output.add_file(path, path.name)


def _write_tables(output: OutputPlace, work: Path, records: Records) -> list[Path]:
    made = []
    config = {"memory_limit": _MEMORY, "temp_directory": str(work), "threads": "2"}
    with closing(connect_duckdb("a Parquet file", **config)) as db:
        name = output.open_for(db)
        for row_type in SHARD_ROWS:
            files = [
                f"{SHARDS}/{folder}/{part}/{row_type.kind}.parquet"
                for folder, record in records
                for part in record.folders
                if row_type.kind in record.kinds
            ]
            if files:
                path = work / f"{row_type.kind}.parquet"
                parts = {name(file): file for file in files}
                with writing_errors(parts):
                    db.execute(_write_copy(row_type, path), {"parts": list(parts)})
                made.append(path)
    return made


def _write_copy(row_type: type[Row], path: Path) -> str:
    key = ", ".join(row_type.key)
    once = f"distinct on ({key})" if row_type in _SHARED else ""
    target = str(path).replace("'", "''")
    return (
        f"copy (select {once} {', '.join(row_type.__struct_fields__)} "
        "from read_parquet($parts, hive_partitioning = false, union_by_name = false)) "
        f"to '{target}' (format parquet, compression zstd, use_tmp_file false)"
    )


def _write_job_tables(folder: Path, settings: JobSettings, records: Records) -> list[Path]:
    """Write what belongs to the job as a whole, and empty tables for what it has none of."""
    runs = _list_runs(settings, records)
    own: dict[type[Row], Iterable[dict[str, Any]]] = {Labeler: [asdict(settings.judge)]}
    rest = [one for one in ROW_TYPES if one not in (*SHARD_ROWS, Run)]
    if not any(record.folders for _, record in records):
        rest += SHARD_ROWS
    tables = [(one, own.get(one, ())) for one in rest]
    return [path for path, _ in write_files(folder, "parquet", [*tables, (Run, runs)])]


def _list_runs(settings: JobSettings, records: Records) -> list[dict[str, Any]]:
    """Return the runs; a model is named where one alone answered."""
    systems: dict[str, str] = {}
    models: dict[str, set[str | None]] = {}
    for _, record in records:
        for run_id, facts in record.runs.items():
            systems.setdefault(run_id, facts.system)
            models.setdefault(run_id, set()).update(facts.models)
    started: datetime = settings.started_at
    return [
        asdict(
            Run(
                run_id=run_id,
                system=systems[run_id],
                model=next(iter(models[run_id])) if len(models[run_id]) == 1 else None,
                corpus_ver=name_corpus(settings),
                started_at=started,
            )
        )
        for run_id in sorted(systems)
    ]
