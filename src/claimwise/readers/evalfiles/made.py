"""Makes traces of what a tool's own reader found, under our names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from claimwise.disk.input import refuse
from claimwise.errors import Problem
from claimwise.readers.evalfiles.columns import (
    Columns,
    apply_column_map,
    list_columns,
    recognise_columns,
)
from claimwise.readers.outside import Records
from claimwise.readers.problems import Complaint, holds_nul, make_problem
from claimwise.types.traces import Dropped, Trace


def choose_columns(
    path: Path, rows: Sequence[Mapping[str, Any]], options: Mapping[str, str]
) -> Columns:
    """Return which columns of a tool's free fields, as promptfoo's vars, are what.

    Raises:
        ClaimwiseError: the user names what is not there.
    """
    names = list_columns(rows)
    columns = recognise_columns(names)
    return apply_column_map(columns, names, path, options["map"]) if options.get("map") else columns


def yield_traces(
    path: Path,
    found: Iterable[tuple[int, Trace | Problem | None]],
    dropped: Counter[str],
    what: str,
) -> Records:
    """Yield traces; None stands for a record without an answer. In the end, what was left out.

    Args:
        path: the file.
        found: traces with their numbers.
        dropped: what is left out meanwhile.
        what: the records, in the plural.

    Raises:
        InputError: no record has an answer.
    """
    records = answers = 0
    for number, trace in found:
        records += 1
        if trace is None:
            dropped[f"{what} without an answer"] += 1
            continue
        answers += 1
        if isinstance(trace, Trace) and holds_nul(msgspec.to_builtins(trace)):
            complaint = Complaint(None, "a NUL character", "text without one")
            yield number, make_problem(path, number, complaint)
        else:
            yield number, trace
    if not answers:
        counted = f"1 {what.removesuffix('s')} without an answer"
        counted = counted if records == 1 else f"{records:,} {what} without answers"
        raise refuse(path, counted, "answers to measure: run your system on the questions first")
    for name, count in dropped.items():
        if count:
            yield 1, Dropped(what=name, count=count)
