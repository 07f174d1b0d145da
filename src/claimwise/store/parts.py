"""Labels of a large file: prepared part by part in several processes, written by one. For SQLite.

Nearly every file is right, and then no label depends on another. So each process stages a part of
the file, runs the checks of any import over it and completes the rows, while the one that writes
holds the lock: what they are checked against can't change. Whatever is not plain, such as a wrong
row or one that is stored already, undoes all of it, and the usual import finds the words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from claimwise.store.breaches import count_breaches
from claimwise.store.bulk import compare_parts, index_part, rebuild_indexes
from claimwise.store.checks import find_violations
from claimwise.store.files import SqlFolder
from claimwise.store.load import LoadCount, list_ahead, register_labelers
from claimwise.store.sqlite import SQLiteEngine
from claimwise.store.staging import add_to_stage, flush_stage, open_stage
from claimwise.types.rows import Label, Row, written_columns

_SQL = SqlFolder("claimwise.store", "sql/parts")
_READY = SqlFolder("claimwise.store", "sql/ready")["labels"]
_COLUMNS = ", ".join(written_columns(Label))
_AS_GIVEN = {
    "claim_text": "coalesce(other_text, claim_text) as claim_text",
    "claim_type": "coalesce(other_type, claim_type) as claim_type",
}
_GIVEN = ", ".join(_AS_GIVEN.get(column, column) for column in written_columns(Label))
# What completing has shown to be right need not be looked up again, which costs most.
_SUSPECTS = {
    "label_claim": "other_text is not null or other_type is not null "
    "or ready_labels.claim_type = 'non_factual'",
    "label_span": "given_start is not null or span_start is null",
}

MOST_PARTS = 8
"""SQLite opens ten files at once unless it was built for more."""


class Part(NamedTuple):
    """Labels that were checked and completed, in a file of their own."""

    path: Path
    rows: int
    against_guide: int


class _NotPlainError(Exception):
    """Ends an import that the usual one must do."""


def prepare_part(
    place: Path, path: Path, blocks: Iterable[Sequence[Row] | None], *, lenient: bool
) -> Part | None:
    """Check and complete labels against a store that nobody changes; None if they aren't plain.

    Args:
        place: the store, which is only read.
        path: the file to make.
        blocks: the labels; None for those that could not be read.
        lenient: whether labels may break the guide.
    """
    with closing(SQLiteEngine(place, create=False, staging=path)) as engine:
        stage = open_stage(engine, Label)
        for rows in blocks:
            if rows is None:
                return None
            try:
                for row in rows:
                    add_to_stage(engine, stage, row, None, None)
            except OverflowError:
                return None
        flush_stage(engine, stage)
        engine.run_script(_SQL["own_labelers"])
        register_labelers(engine, stage.name)
        engine.create_stage("ready_labels", _READY)
        against_guide = _check(engine, stage.read, lenient=lenient)
        if against_guide is None or list_ahead(engine, stage):
            return None
        return Part(path, stage.read, against_guide)


def _check(engine: SQLiteEngine, rows: int, *, lenient: bool) -> int | None:
    """Return how many labels break the guide; None if there is anything else to say."""
    if engine.query("select count(*) from ready_labels") != [(rows,)]:
        return None  # some have no claim
    given = f"select {_GIVEN}, file_no, line_no from ready_labels"
    if find_violations(engine, Label.table, given, limit=1, suspects=_SUSPECTS):
        return None
    against_guide = count_breaches(engine, "select * from ready_labels").total
    return against_guide if lenient or not against_guide else None


def add_parts(
    engine: SQLiteEngine, number: int, prepare: Callable[[Path], Iterator[Part | None]]
) -> LoadCount | None:
    """Add labels part by part, all or none; None if the usual import must do it.

    Args:
        engine: the store.
        number: how many parts there will be.
        prepare: yields them; it is given the store's path, and called when nobody can change it.
    """
    parts: list[Part] = []
    try:
        with engine.write_known():
            engine.create_stage(
                "stage_many_labels", "select run_id, item_id, claim_id from labels where false"
            )
            found = prepare(Path(engine.place))
            first = _expect_plain(next(found))
            with rebuild_indexes(engine, first.rows * number):
                _add(engine, first, parts)
                for part in found:
                    _add(engine, _expect_plain(part), parts)
            compare_parts(engine)
    except _NotPlainError:
        return None
    finally:
        engine.drop_stages()
        for done in range(len(parts)):
            engine.detach_part(f"part_{done}")
    rows = sum(part.rows for part in parts)
    return LoadCount(
        kind=Label.kind,
        read=rows,
        added=rows,
        updated=0,
        unchanged=0,
        against_guide=sum(part.against_guide for part in parts),
    )


def _expect_plain(part: Part | None) -> Part:
    if part is None:
        raise _NotPlainError
    return part


def _add(engine: SQLiteEngine, part: Part, parts: list[Part]) -> None:
    """Write the labels of one part, which SQL knows as what was staged."""
    name = f"part_{len(parts)}"
    engine.attach_part(name, part.path)
    parts.append(part)
    part.path.unlink()  # it stays until it is closed, and is gone when this process is
    engine.execute(f"create temporary view stage_labels as select * from {name}.ready_labels")
    register_labelers(engine, "stage_labels")
    added = engine.execute(
        f"insert into labels ({_COLUMNS}) select {_COLUMNS} from stage_labels where true "
        "on conflict do nothing"
    )
    if added != part.rows:
        raise _NotPlainError  # some are stored already, or come twice
    index_part(engine, part.rows)
    engine.execute("drop view stage_labels")
