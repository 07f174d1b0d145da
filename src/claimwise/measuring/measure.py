"""Measures answers: keeps them in a store, judges what is open, and says how they stand.

Everything has an id made from its content, and judging goes on where the store ends: the same file
again adds nothing and asks nobody again, and a killed process has lost seconds.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as replace_row

from claimwise.checking.run import verify_rounds, verify_run
from claimwise.claims.queries import count_claims, list_claims
from claimwise.claims.values import UNSUPPORTED
from claimwise.config import Project
from claimwise.errors import ClaimwiseError, InputError
from claimwise.judges.judge import JudgeName, make_model_judge, read_judge_name
from claimwise.measuring.gather import ReadAnswers, read_measured_files
from claimwise.measuring.records import write_records
from claimwise.measuring.rows import SystemAnswers, list_rows, make_runs, read_attributes
from claimwise.measuring.values import InputSummary, Measurement, RunMeasure
from claimwise.readers.smells import find_smells
from claimwise.report.format import pluralize
from claimwise.run_report.summary import summarize_project
from claimwise.store import Store, open_store
from claimwise.store.lookup import select_rows
from claimwise.types.rows import Judgement, Placed, Run

if TYPE_CHECKING:
    from claimwise.judges.judge import Verifier

# Judges a stored run: what is open of it, by the evidence of its answers or without any.
JudgeRun = Callable[[Store, str, Judgement], object]

WORST_CLAIMS = 5
_SHOWN_UNREAD = 5
_MOST_GROUPS = 10  # values of a column that makes groups
_MOST_COLUMNS = 4


def measure(
    data: Any,
    *,
    judge: str | None = None,
    verifier: str | Verifier = "auto",
    store: str | Path | None = None,
    reader: str | None = None,
    map: Mapping[str, str] | str | None = None,
    values: Mapping[str, str] | str | None = None,
    run: str | None = None,
    system: str | None = None,
    by: Sequence[str] | None = None,
    limit: int | None = None,
) -> Measurement:
    """Measure how many claims of the answers are supported by what their system was given.

    >>> found = claimwise.measure("results.jsonl")
    >>> found.headline.rate, found.headline.low, found.headline.high
    >>> found.claims("contradicted")

    Args:
        data: a file, a folder, several of them, a list of dictionaries, a DataFrame of pandas or
            polars, an Arrow table, or a Hugging Face dataset.
        judge: a language model, as ``provider:model``, which judges from memory without contexts;
            or a judge that runs a model of yours, as ``nli:folder``.
        verifier: the judge without a model, or its name: "embedded", "lexical", "auto".
        store: where to keep everything, a path or URL; without one nothing is kept.
        reader: the reader's name; else the content decides.
        map: the data's own names: ``{"question": "ask", "contexts": "docs"}``.
        values: the data's own values.
        run: the run's id; else it is made from the content.
        system: the system's name.
        by: columns to group by.
        limit: measure the first so many answers.

    Returns:
        The rate with its range (``headline``), the claims, and what was read.

    Raises:
        InputError: nothing could be read.
        ClaimwiseError: there is nothing to judge by, or the judge can't be used.
    """
    options = {"map": _join_pairs(map), "values": _join_pairs(values)}
    given = {name: value for name, value in options.items() if value}
    with list_paths(data) as paths:
        found = read_measured_files(paths, reader=reader, options=given, limit=limit)
        runs = make_runs(found.traces, name_unnamed_run(paths), run_id=run, system=system)
    named = JudgeName() if judge is None else read_judge_name(judge)
    refuse_without_contexts(runs, str(data)[:80], named.model)
    with _open_place(store) as opened:
        project, ask = Project(Path()), _make_judge(named, verifier)
        measured = measure_runs(opened, project, found, runs, ask, judge=named.model, by=by)
        return replace(
            measured,
            store=None if store is None else opened.place,
            _claims={run.run_id: list_claims(opened, run.run_id) for run in runs},
        )


def _join_pairs(pairs: Mapping[str, str] | str | None) -> str:
    if pairs is None or isinstance(pairs, str):
        return pairs or ""
    return ",".join(f"{ours}={theirs}" for ours, theirs in pairs.items())


@contextmanager
def list_paths(data: Any) -> Iterator[list[Path]]:
    """Return data as files; what is in memory is written to one that goes away again."""
    if isinstance(data, str | Path):
        yield [Path(data)]
    elif isinstance(data, list | tuple) and data and isinstance(data[0], str | Path):
        yield [Path(one) for one in data]
    else:
        with tempfile.TemporaryDirectory(prefix="claimwise-") as folder:
            yield [write_records(data, Path(folder) / "answers.jsonl")]


def name_unnamed_run(paths: Sequence[Path]) -> str:
    """Return what a run is called whose file does not name the system: the first file's name."""
    name = paths[0].name if paths[0].name not in ("", "-") else "answers"
    return name.partition(".")[0] or name


@contextmanager
def _open_place(store: str | Path | None) -> Iterator[Store]:
    if store is not None:
        with open_store(store, create=True) as opened:
            yield opened
        return
    with (
        tempfile.TemporaryDirectory(prefix="claimwise-") as folder,
        open_store(Path(folder) / "store.db", create=True) as opened,
    ):
        yield opened


def _make_judge(named: JudgeName, verifier: str | Verifier) -> JudgeRun:
    """Return what judges a run: the verifier, or a language model that is asked as it is needed."""

    def judge_offline(store: Store, run_id: str, judgement: Judgement) -> object:
        return verify_run(store, run_id, named.offline or verifier)

    def judge_by_model(store: Store, run_id: str, judgement: Judgement) -> object:
        from claimwise.llm.client import open_client

        refuse_from_memory(named.served, judgement)
        with open_client(str(named.model)) as client:
            judge = make_model_judge(named, client) if judgement == "grounded" else None
            return ask_model(store, run_id, judgement, client, judge=judge)

    return judge_offline if named.model is None else judge_by_model


def refuse_from_memory(served: str | None, judgement: Judgement) -> None:
    """See to it that a judge that compares with a document gets one.

    Raises:
        ClaimwiseError: the answers have no contexts.
    """
    if served is not None and judgement != "grounded":
        raise ClaimwiseError(
            f"“{served}” compares claims with contexts, and these answers have none: name another "
            "language model to judge them from memory"
        )


def ask_model(store: Store, run_id: str, judgement: Judgement, client: Any, **rest: Any) -> object:
    """Judge a run by a language model: against its contexts, or closed-book."""
    if judgement == "grounded":
        judge = rest.pop("judge", None) or make_model_judge(JudgeName(), client)
        return verify_rounds(store, run_id, judge, threads=client.concurrency, **rest)
    from claimwise.fact_check.run import ClosedBookRun, factcheck_run
    from claimwise.judges.closed_book import ClosedBookJudge

    closed = rest.pop("judge", None) or ClosedBookJudge(client)
    return factcheck_run(store, run_id, ClosedBookRun(closed), threads=client.concurrency, **rest)


def plan_judgement(run: SystemAnswers, judge: str | None) -> Judgement:
    """Return how a run is judged: closed-book where no answer has contexts and a model is named."""
    return "grounded" if run.with_contexts or judge is None else "closed_book"


def refuse_without_contexts(runs: Sequence[SystemAnswers], place: str, judge: str | None) -> None:
    """Refuse answers that nobody could judge, before anything is stored.

    Raises:
        ClaimwiseError: no answer has a passage with a text, and no language model is named.
    """
    if judge is not None or any(run.with_contexts for run in runs):
        return
    count = sum(len(run.traces) for run in runs)
    raise ClaimwiseError(
        f"{place}: {pluralize(count, 'answer')}, none with contexts, so there is nothing to judge "
        "them by; name the contexts' column (--map contexts=NAME), or let a language model judge "
        "from memory (--judge PROVIDER:MODEL)"
    )


def measure_runs(
    store: Store,
    project: Project,
    found: ReadAnswers,
    runs: Sequence[SystemAnswers],
    judge_open: JudgeRun,
    *,
    judge: str | None = None,
    by: Sequence[str] | None = None,
) -> Measurement:
    """Store runs, judge what is open of each, and gather how they stand.

    Raises:
        InputError: a run of that id has other answers.
        ClaimwiseError: the judge can't be used, or a column is unknown.
    """
    measured = []
    for run in runs:
        keep_run(store, run)
        judge_open(store, run.run_id, plan_judgement(run, judge))
        measured.append(_sum_up(store, project, run, by))
    return Measurement(
        reading=describe_reading(found),
        runs=tuple(measured),
        store=store.place,
    )


def keep_run(store: Store, run: SystemAnswers) -> None:
    """Store a run with all that belongs to it, unless it is there.

    One transaction holds all of it, so a run that is there is whole. An id that somebody chose may
    be another run's: then the loader says which answer differs.
    """
    known = _find_kept(store, run)
    if known and not run.is_named:
        return
    rows = list_rows(store, run)
    if known:
        rows = [
            replace_row(row, started_at=known[0].started_at) if isinstance(row, Run) else row
            for row in rows
        ]
    try:
        store.load((Placed(row, 0, 0) for row in rows), [f"run {run.run_id}"])
    except InputError:
        # Another process may have been faster: its run has the same content, and began earlier.
        if run.is_named or not _find_kept(store, run):
            raise


def _find_kept(store: Store, run: SystemAnswers) -> list[Run]:
    return select_rows(store, Run, "where run_id = :run_id", run_id=run.run_id)


def _sum_up(
    store: Store, project: Project, run: SystemAnswers, by: Sequence[str] | None
) -> RunMeasure:
    columns = list_group_columns(run, project) if by is None else by
    summary = summarize_project(store, project, run.run_id, by=columns)
    labels = summary.headline.labels
    counted = count_claims(store, run.run_id, judgement=summary.headline.judgement)
    return RunMeasure(
        run_id=run.run_id,
        system=run.system,
        answers=len(run.traces),
        without_contexts=sum(not trace.failure for trace in run.traces) - run.with_contexts,
        claims=sum(counted.values()),
        by=tuple(columns),
        summary=summary,
        worst_claims=tuple(
            list_claims(store, run.run_id, verdicts=UNSUPPORTED, labels=labels, limit=WORST_CLAIMS)
        ),
    )


def list_group_columns(run: SystemAnswers, project: Project) -> list[str]:
    """Return the columns that make groups: the project's, and those of the file with few values."""
    seen: dict[str, Counter[str]] = {}
    for trace in run.traces:
        for name, value in read_attributes(trace).items():
            seen.setdefault(name, Counter())[value] += 1
    few = [name for name, values in seen.items() if 1 < len(values) <= _MOST_GROUPS]
    known = ["domain"] if any(trace.domain for trace in run.traces) else []
    return list(dict.fromkeys([*project.config.metrics.by, *known, *few[:_MOST_COLUMNS]]))


def describe_reading(found: ReadAnswers) -> InputSummary:
    """Return what was read, in words and numbers."""
    more = len(found.problems) - _SHOWN_UNREAD
    listed = [str(problem) for problem in found.problems[:_SHOWN_UNREAD]]
    if more > 0:
        listed.append(f"… and {more:,} more rows that can't be read")
    return InputSummary(
        reader=found.reader,
        recognised=tuple(found.recognised),
        answers=len(found.traces),
        dropped=dict(found.dropped),
        unread=tuple(listed),
        warnings=tuple(find_smells(found.traces)),
    )
