"""How long does `claimwise estimate` take over a year of traffic, as Parquet files?

    python benchmarks/estimate_year.py            # 10,000 answers a day, 8 claims each: 29 million
    python benchmarks/estimate_year.py --quick    # two weeks of it, below 30 seconds

The files are written by DuckDB with the columns of an export: one run per day, a judge's verdict on
every claim, and people's labels on 5,000 random ones. Timed is the command itself, from start to
end. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from multiprocessing import get_context
from pathlib import Path

import duckdb

from claimwise.store import open_store
from claimwise.types.rows import ROW_TYPES, column_types

PER_DAY, CLAIMS, LABELS = 10_000, 8, 5_000
FIRST = date(2025, 11, 10)
LONGEST = 60.0
JUDGE = "verifier:simulated-1"
RATE = 0.9

# One line per day, answer and claim; a claim is right with a chance of its answer's own, and the
# judge's confidence follows it. Numbers come from hashes, so that every table tells the same story.
_DAYS = "select d, '{first}'::date + d::int as day from range({days}) as r(d)"
_ANSWERS = f"""
select
    'traffic-bot-' || strftime(day, '%Y-%m-%d') as run_id,
    printf('%03d-%05d', d, a) as item_id, day + to_seconds(a * 8) as answered_at,
    (hash(d * 1000003 + a) % 1000) / 1000.0 as luck
from ({_DAYS}), range({PER_DAY}) as n(a)
"""
_CLAIMS = f"""
select
    run_id, item_id, item_id || '-' || c as claim_id, c::int as position, answered_at,
    (hash(item_id, c) % 1000) / 1000.0 < least(1.0, {RATE} + 0.18 * (luck - 0.5)) as correct,
    (hash(c, item_id) % 1000) / 1000.0 as noise
from ({_ANSWERS}), range({CLAIMS}) as m(c)
"""
_JUDGED = (
    f"select *, correct = (noise > 0.08) as said, 0.5 + 0.5 * noise as confidence from ({_CLAIMS})"
)


def write_year(folder: Path, days: int) -> int:
    """Write the files, and return how many claims they hold."""
    database = duckdb.connect()
    for row_type in ROW_TYPES:
        write_table(database, folder, row_type.kind, "select 1 where false", {})
    share = min(1.0, LABELS / (days * PER_DAY * CLAIMS))
    texts = {"claim_text": "'It is so.'", "claim_type": "'factual'"}
    label = {"verdict": "case when said then 'supported' else 'unlinked' end",
             "labeled_at": "answered_at + interval 1 hour", "labeler": f"'{JUDGE}'",
             "label_kind": "'verifier'", "confidence": "confidence"}  # fmt: skip
    person = {"verdict": "case when correct then 'supported' else 'unlinked' end",
              "labeled_at": "answered_at + interval 2 day", "labeler": "'ann'",
              "label_kind": "'human'", "inclusion_probability": f"{share}"}  # fmt: skip
    tables = {
        "labelers": ("select * from (values ('ann', 'human'), ('" + JUDGE + "', 'verifier')) "
                     "as v(labeler, labeler_kind)", {}),
        "runs": (f"select 'traffic-bot-' || strftime(day, '%Y-%m-%d') as run_id, day as started_at "
                 f"from ({_DAYS})", {"system": "'bot'", "corpus_ver": "'v1'"}),
        "items": (_ANSWERS, {"query": "'Why?'", "source_corpus_ver": "'v1'"}),
        "answers": (_ANSWERS, {"answer_text": "'Because.'", "sample": "0"}),
        "traffic_answers": (_ANSWERS, {"sample": "0", "trace_id": "item_id", "system": "'bot'",
                                       "received_at": "answered_at", "rule": "'all'",
                                       "inclusion_probability": "1.0"}),
        "claims": (_CLAIMS, {**texts, "sample": "0", "unit": "'sentence'"}),
    }  # fmt: skip
    place = {"first": FIRST.isoformat(), "days": days}
    for kind, (rows, values) in tables.items():
        write_table(database, folder, kind, rows.format(**place), values)
    judged = _JUDGED.format(**place)
    chosen = f"select * from ({judged}) where hash(claim_id, 7) % 1000000 < {share * 1e6}"
    by_judge = list_columns("labels", judged, {**texts, **label}, database)
    by_person = list_columns("labels", judged, {**texts, **person}, database)
    database.execute(
        f"copy (select {by_judge} from ({judged}) union all select {by_person} from ({chosen}) "
        f"order by run_id) to '{folder}/labels.parquet' (format parquet)"
    )
    return days * PER_DAY * CLAIMS


def write_apart(folder: Path, days: int) -> int:
    """Write the files in another process: a child's peak starts with its parent's memory."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(write_year, (folder, days))


def list_columns(
    kind: str, rows: str, values: dict[str, str], database: duckdb.DuckDBPyConnection
) -> str:
    """Return the columns of a table: those given, those that the rows have, and nulls."""
    has = {row[0] for row in database.execute(f"describe {rows}").fetchall()}
    row_type = next(one for one in ROW_TYPES if one.kind == kind)
    types = {str: "varchar", bool: "boolean", int: "bigint", float: "double", date: "date"}
    return ", ".join(
        f"cast({values.get(name) or (name if name in has else 'null')} as "
        f"{types.get(kind_of, 'timestamp')}) as {name}"
        for name, kind_of in column_types(row_type).items()
    )


def write_table(
    database: duckdb.DuckDBPyConnection, folder: Path, kind: str, rows: str, values: dict[str, str]
) -> None:
    columns = list_columns(kind, rows, values, database)
    database.execute(
        f"copy (select {columns} from ({rows})) to '{folder}/{kind}.parquet' (format parquet)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two weeks instead of a year")
    days = 14 if parser.parse_args().quick else 365
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        claims = write_apart(folder, days)
        with open_store(folder) as store:
            assert store.query("select count(*) from claims")[0][0] == claims
        size = sum(path.stat().st_size for path in folder.iterdir())
        window = f"{FIRST}..{FIRST + timedelta(days=days)}"
        begun = time.perf_counter()
        command = [sys.executable, "-c", "from claimwise.cli.main import main; main()", "estimate",
                   "--store", name, "--window", window, "--json"]  # fmt: skip
        printed = folder / "estimate.json"
        with printed.open("w", encoding="utf-8") as file:
            child = subprocess.Popen(command, stdout=file)
            _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begun
        if child.returncode:
            sys.exit(child.returncode)
        headline = json.loads(printed.read_text(encoding="utf-8"))["headline"]
    cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6
    print(f"{claims:,} claims, {size / 1e6:,.0f} MB of Parquet: {seconds:.1f} s, "
          f"{cpu:.1f} s of CPU, {memory:.1f} GB")  # fmt: skip
    print(f"{headline['rate']:.4f} [{headline['low']:.4f}, {headline['high']:.4f}], "
          f"{headline['basis']}, {headline['people_labels']:,} labels; truth {RATE}")  # fmt: skip
    holds = seconds <= LONGEST and headline["low"] <= RATE <= headline["high"]
    print(json.dumps({
        "claims": claims, "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1), "gigabytes": round(memory, 2), "basis": headline["basis"],
        "rate": headline["rate"], "holds": holds,
    }))  # fmt: skip
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
