"""Writes rows: all of them or none.

Rows arrive in any order, are put into temporary tables, and only when the last file was read
does a transaction begin. Inside it the tables are taken parents first: check the incoming rows,
complete them (ids, offsets, texts that the file left out), add those that are new. The first
table with a problem ends it and nothing is kept. Rows that are in the store already, equal in
every column, are skipped, so an import can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from claimwise.errors import InputError, Problem, StoreError
from claimwise.store.breaches import count_breaches, list_breaches
from claimwise.store.bulk import LARGE, add_at_once
from claimwise.store.checks import Violation, audit_store, find_latest_time, find_violations
from claimwise.store.engine import NO_PARAMS, Engine
from claimwise.store.files import SqlFolder
from claimwise.store.proposals import propose_row_action
from claimwise.store.staging import Stage, add_to_stage, describe_overflow, flush_stage, open_stage
from claimwise.store.tables import REFERENCES
from claimwise.types.label_rules import describe_breaches
from claimwise.types.rows import (
    ROW_TYPES,
    Answer,
    AnswerLabel,
    ClosedBookLabel,
    Item,
    ItemAttribute,
    ItemRetirement,
    Label,
    Labeler,
    Placed,
    QueueEntry,
    Row,
    Run,
    Source,
    Unscored,
)

_ONCE = SqlFolder("claimwise.store", "sql/once")
_READY = SqlFolder("claimwise.store", "sql/ready")

_SHOWN_PROBLEMS = 20
_SHOWN_TEXT = 80

# What a person curates may be corrected with --update. What a system or a labeler said may not:
# a changed answer is another run, a changed mind is a later label.
_UPDATABLE: tuple[type[Row], ...] = (
    Source, Item, ItemAttribute, ItemRetirement, QueueEntry, Labeler, Run,
)  # fmt: skip
_LABELS: tuple[type[Row], ...] = (Label, ClosedBookLabel, AnswerLabel)
_LABELLED: tuple[type[Row], ...] = (*_LABELS, Unscored)

# Completing these joins them with all they refer to, so a row without its parent shows in the
# count of what was added, and need not be looked for beforehand.
_JOINED: tuple[type[Row], ...] = (Label, ClosedBookLabel, Unscored)


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadCount:
    """What became of the rows of one kind."""

    kind: str
    read: int
    added: int
    updated: int
    unchanged: int
    against_guide: int = 0  # labels that break the guide, taken all the same


def load_rows(
    engine: Engine,
    rows: Iterable[Placed],
    paths: Sequence[str],
    *,
    update: bool = False,
    dry_run: bool = False,
    judged_since: datetime | None = None,
    before: Callable[[], object] | None = None,
    then: Callable[[], object] | None = None,
    lenient: bool = False,
) -> list[LoadCount]:
    """Add rows to the store, or raise and leave it as it was.

    Args:
        engine: the database.
        rows: the rows with their places; reading them may raise, which also changes nothing.
        paths: the files that ``Placed.file_no`` counts.
        update: change curated rows (sources, items, runs…) that differ from the stored ones.
        dry_run: check everything, then undo it.
        judged_since: leave out what has been done meanwhile: claims of an answer that has some,
            labels and failures of claims that their labeler has judged since then (UTC). Looked
            up inside the transaction, so that processes sharing the work double nothing.
        before: what else belongs to the same transaction, done first: all rows have been read.
        then: what else belongs to it, done last; when either raises, no row stays.
        lenient: take labels that break the guide (``types/label_rules.py``), and count them.

    Raises:
        InputError: a row breaks a rule; the error lists the first problems.
    """
    try:
        stages = _stage_rows(engine, rows, paths)
        return _merge_stages(
            engine,
            stages,
            paths,
            update=update,
            dry_run=dry_run,
            judged_since=judged_since,
            before=before,
            then=then,
            lenient=lenient,
        )
    finally:
        engine.drop_stages()


class _DryRunError(Exception):
    """Ends a transaction that was only a rehearsal."""


def _merge_stages(
    engine: Engine,
    stages: dict[type[Row], Stage],
    paths: Sequence[str],
    *,
    update: bool,
    dry_run: bool,
    judged_since: datetime | None,
    before: Callable[[], object] | None,
    then: Callable[[], object] | None,
    lenient: bool,
) -> list[LoadCount]:
    counts: list[LoadCount] = []
    try:
        with engine.write():
            if before is not None:
                before()
            for row_type in ROW_TYPES:
                if row_type in stages:
                    if judged_since is not None:
                        _drop_done(engine, stages[row_type], judged_since)
                    stage = stages[row_type]
                    counts.append(_merge(engine, stage, paths, update=update, lenient=lenient))
            if update and any(count.updated for count in counts):
                _refuse(_stored_violations(engine), [engine.place])
            if then is not None:
                then()
            if dry_run:
                raise _DryRunError
    except _DryRunError:
        pass
    return counts


def _drop_done(engine: Engine, stage: Stage, since: datetime) -> None:
    """Take out incoming rows that say again what another process has said already."""
    done = _ONCE.get(stage.row_type.table)
    if done is not None:
        params = {"since": since} if ":since" in done else NO_PARAMS
        stage.read -= engine.execute(f"delete from {stage.name} as s where {done}", params)


def _stage_rows(
    engine: Engine, rows: Iterable[Placed], paths: Sequence[str]
) -> dict[type[Row], Stage]:
    stages: dict[type[Row], Stage] = {}
    for row, file_no, line_no in rows:
        stage = stages.get(type(row))
        if stage is None:
            stage = stages[type(row)] = open_stage(engine, type(row))
        if isinstance(row, Answer):
            propose_row_action(row)
        try:
            add_to_stage(engine, stage, row, file_no, line_no)
        except OverflowError:
            _refuse([describe_overflow(stage, row, file_no, line_no)], paths)
    for stage in stages.values():
        flush_stage(engine, stage)
        if stage.read >= LARGE:
            engine.analyze_stage(stage.name)
    return stages


def _merge(
    engine: Engine, stage: Stage, paths: Sequence[str], *, update: bool, lenient: bool
) -> LoadCount:
    """Check one type's rows and add them. Assumes that its parents are in the store."""
    table = stage.row_type.table
    staged = f"select * from {stage.name}"
    if stage.row_type in _LABELLED:
        register_labelers(engine, stage.name)
    ready = _READY.get(table) or staged
    if stage.row_type not in _JOINED:
        _refuse(_missing(engine, stage), paths)
    if stage.row_type in _LABELS:
        _refuse(list_ahead(engine, stage), paths)
    _refuse(find_violations(engine, table, staged, limit=_SHOWN_PROBLEMS + 1), paths)
    against_guide = 0
    if stage.row_type is Label:
        against_guide = _check_guide(engine, staged, paths, lenient=lenient)
    stored = _count_stored(engine, stage, ready)
    updated = 0
    if stored:
        if update and stage.row_type in _UPDATABLE:
            updated = _update_changed(engine, stage, ready)
        else:
            _refuse(_conflicts(engine, stage, ready), paths)
    columns = ", ".join(stage.columns)
    insert = (
        f"insert into {table} ({columns}) select {columns} from ({ready}) as s where true "
        "on conflict do nothing"
    )
    added = add_at_once(engine, stage.row_type, stage.read, lambda: engine.execute(insert))
    # A row that is neither new nor stored has no parent or comes twice; a stored one may too.
    if stored or added != stage.read:
        _refuse(_missing(engine, stage), paths)
        _refuse(_duplicates(engine, stage, ready, paths), paths)
    if added + stored != stage.read:
        lost = stage.read - added - stored
        raise StoreError(f"{engine.place}: {lost} {stage.row_type.kind} would have been lost")
    return LoadCount(
        kind=stage.row_type.kind,
        read=stage.read,
        added=added,
        updated=updated,
        unchanged=stored - updated,
        against_guide=against_guide,
    )


def _check_guide(engine: Engine, staged: str, paths: Sequence[str], *, lenient: bool) -> int:
    """Count incoming labels that break the guide; refuse them unless they are to be taken."""
    found = count_breaches(engine, staged)
    if found.total and not lenient:
        hint = f"{describe_breaches(found.total)}: correct the file, or import it with --lenient"
        _refuse(list_breaches(engine, staged, found, limit=_SHOWN_PROBLEMS + 1), paths, hint)
    return found.total


def register_labelers(engine: Engine, stage: str) -> None:
    """Make a labeler known on first use; instruments are named ``verifier:…`` or ``judge:…``."""
    engine.execute(
        "insert into labelers (labeler, labeler_kind) "
        "select s.labeler, case when substr(s.labeler, 1, 9) = 'verifier:' "
        "or substr(s.labeler, 1, 6) = 'judge:' then 'verifier' else 'human' end "
        f"from (select distinct labeler from {stage}) as s where true on conflict do nothing"
    )


def list_ahead(engine: Engine, stage: Stage) -> list[Violation]:
    """Find labels that are dated ahead of now. Those stored before this rule are for `doctor`."""
    rows = engine.query(
        f"select file_no, line_no, cast(labeled_at as text) from {stage.name} "
        "where labeled_at > :latest order by file_no, line_no limit :limit",
        {"latest": engine.encode_time(find_latest_time()), "limit": _SHOWN_PROBLEMS + 1},
    )
    expected = "a time no more than a day ahead of now; correct it: no later label would outrank it"
    return [Violation(row[0], row[1], "labeled_at", row[2], expected) for row in rows]


def _missing(engine: Engine, stage: Stage) -> list[Violation]:
    """Find rows that refer to something that is not there."""
    found: list[Violation] = []
    for reference in REFERENCES.get(stage.row_type, ()):
        joined = " and ".join(f"p.{column} = s.{column}" for column in reference.columns)
        shown = " || ' / ' || ".join(f"cast(s.{column} as text)" for column in reference.columns)
        last = reference.columns[-1]
        named = f"'{last}'"
        if last == "claim_id" and "claim_text" in stage.columns:
            # Who names a claim by its text has never seen the id.
            named = "case when s.claim_text is null then 'claim_id' else 'claim_text' end"
            shown = "coalesce(s.claim_text, s.claim_id)"
        rows = engine.query(
            f"select s.file_no, s.line_no, {named}, {shown} from {stage.name} as s "
            f"left join {reference.table} as p on {joined} "
            f"where p.{last} is null and s.{last} is not null "
            f"order by s.file_no, s.line_no limit {_SHOWN_PROBLEMS + 1}"
        )
        expected = (
            f"{reference.what} that is in the store or in this import ({reference.brought_by})"
        )
        found += [Violation(row[0], row[1], row[2], row[3], expected) for row in rows]
    return found


def _duplicates(engine: Engine, stage: Stage, ready: str, paths: Sequence[str]) -> list[Violation]:
    """Find keys that come twice in the incoming rows: the later place, naming the first."""
    key = stage.row_type.key
    shown = " || ' / ' || ".join(f"cast({column} as text)" for column in key)
    order = f"partition by {', '.join(key)} order by file_no, line_no"
    rows = engine.query(
        "select file_no, line_no, shown, first_file, first_line from ("
        f"select file_no, line_no, {shown} as shown, "
        f"first_value(file_no) over ({order}) as first_file, "
        f"first_value(line_no) over ({order}) as first_line, "
        f"row_number() over ({order}) as occurrence from ({ready}) as s) as numbered "
        f"where occurrence > 1 order by file_no, line_no limit {_SHOWN_PROBLEMS + 1}"
    )
    return [
        Violation(
            row[0],
            row[1],
            key[-1],
            f"{row[2]} again",
            f"it once (first at {paths[row[3]]}:{row[4]})",
        )
        for row in rows
    ]


def _differs(columns: Iterable[str], table: str) -> str:
    """SQL for “some column of s differs from the stored one”, nulls being equal."""
    same = (
        f"coalesce(s.{c} = {table}.{c}, s.{c} is null and {table}.{c} is null)" for c in columns
    )
    return f"not ({' and '.join(same)})"


def _same_key(stage: Stage) -> str:
    table = stage.row_type.table
    return " and ".join(f"{table}.{column} = s.{column}" for column in stage.row_type.key)


def _rest(stage: Stage) -> list[str]:
    """Return the columns in which a stored row may differ from an incoming one."""
    known = (*stage.row_type.key, *stage.row_type.made)
    return [column for column in stage.columns if column not in known]


def _count_stored(engine: Engine, stage: Stage, ready: str) -> int:
    """Count incoming rows whose key is in the store."""
    rows = engine.query(
        f"select count(*) from ({ready}) as s join {stage.row_type.table} on {_same_key(stage)}"
    )
    return int(rows[0][0])


def _conflicts(engine: Engine, stage: Stage, ready: str) -> list[Violation]:
    """Find rows whose key is in the store with other content."""
    rest = _rest(stage)
    if not rest:
        return []
    shown = " || ' / ' || ".join(f"cast(s.{column} as text)" for column in stage.row_type.key)
    table = stage.row_type.table
    which = " ".join(f"when {_differs([c], table)} then '{c}'" for c in rest)
    rows = engine.query(
        f"select s.file_no, s.line_no, {shown}, case {which} end from ({ready}) as s "
        f"join {table} on {_same_key(stage)} where {_differs(rest, table)} "
        f"order by s.file_no, s.line_no limit {_SHOWN_PROBLEMS + 1}"
    )
    expected = (
        "the stored content, a new id, or --update"
        if stage.row_type in _UPDATABLE
        else "the stored content or a new record: what was said is never overwritten"
    )
    return [Violation(r[0], r[1], r[3], f"another value for {r[2]}", expected) for r in rows]


def _update_changed(engine: Engine, stage: Stage, ready: str) -> int:
    """Give stored rows the incoming content where it differs."""
    rest = _rest(stage)
    assignments = ", ".join(f"{column} = s.{column}" for column in rest)
    table = stage.row_type.table
    return engine.execute(
        f"update {table} set {assignments} from ({ready}) as s "
        f"where {_same_key(stage)} and {_differs(rest, table)}"
    )


def _stored_violations(engine: Engine) -> list[Violation]:
    """After an update: is everything that was in the store still right?"""
    return [
        found._replace(file_no=0, field=f"{table}.{found.field}")
        for table, found in audit_store(engine)
    ]


def _refuse(violations: Sequence[Violation], paths: Sequence[str], hint: str = "") -> None:
    """Raise when there are violations."""
    if not violations:
        return
    problems = [
        Problem(
            path=paths[found.file_no or 0],
            line=found.line_no,
            field=found.field,
            found=_shorten(found.found),
            expected=found.expected,
        )
        for found in violations[:_SHOWN_PROBLEMS]
    ]
    raise InputError(problems, more=len(violations) > _SHOWN_PROBLEMS, hint=hint)


def _shorten(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN_TEXT else text[: _SHOWN_TEXT - 1] + "…"
