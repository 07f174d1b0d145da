"""Judges the claims of a stored run: resumable, and shared by as many processes as like.

Answers are taken a few neighbours at a time. Verdicts are written in small transactions, each
holding whole answers: claims, citations, labels and failures together or not at all. So a
process that is killed loses seconds of work, and the next one goes on where the store ends.
Nobody locks work for himself. Each process begins somewhere else and looks, before it judges,
what is still open; the transaction drops what another one was faster to say.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process

from claimwise.errors import ClaimwiseError, StoreError
from claimwise.pipeline.tasks import Basis, Job, Labels, Outcome, Task, TaskReader, run_job
from claimwise.store import Store
from claimwise.store.judging import (
    AnswerKey,
    Judging,
    State,
    begin_judging,
    count_unscored,
    count_verdicts,
    knows_labeler,
    list_answers,
    read_prompt_ver,
)
from claimwise.types.rows import Labeler, Placed, Row
from claimwise.verify.verifier import Verifier, load_verifier

_NEIGHBOURS = 16
_FLUSH_SECONDS = 1.0
_FLUSH_ROWS = 5_000
_AHEAD = 2  # units waiting for each worker, so that none waits for the store


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifyProgress:
    """How far a command has come."""

    answers: int  # to go through
    done: int
    judged: int  # claims, by this command
    unscored: int


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifyResult:
    """What a command did, and how the run stands under its labeler."""

    run_id: str
    labeler: str
    agreement: str | None
    settings: str | None  # prompts and mode of a judge
    answers: int
    failed: int  # answers that the system did not give
    abstained: int  # answers in which the system declined or asked back: they claim nothing
    done_before: int  # answers whose claims had all been judged
    without_claims: int  # answers of this command that claim nothing
    split: int  # claims that this command found and stored
    judged: int  # labels that this command added
    seconds: float
    bases: dict[Basis, int]  # what the answers of this command were judged by
    verdicts: dict[str, int]  # of the whole run
    unscored: dict[str, int]  # of the whole run, by reason
    warnings: dict[str, int]  # and how many answers they were given for


Watch = Callable[[VerifyProgress], None]


def verify_run(
    store: Store,
    run_id: str,
    verifier: str | Verifier = "auto",
    *,
    jobs: int = 1,
    threads: int = 1,
    again: bool = False,
    watch: Watch | None = None,
) -> VerifyResult:
    """Judge every claim of a run that the verifier has not judged yet, and store its labels.

    Answers without stored claims are split first. Claims that the verifier failed on are tried
    again; the same failure is stored once.

    Args:
        store: where the run is.
        run_id: the run.
        verifier: the instrument, or its name.
        jobs: processes that judge; this one reads and writes.
        threads: answers judged at once in this process, in place of ``jobs``: for a judge that
            waits for a server, which must be safe to use from many threads.
        again: judge claims anew that have a label of this verifier. The new label is added, dated
            after all earlier ones; of two the later one counts.
        watch: called with the progress after every few answers.

    Raises:
        StoreError: there is no such run, or it has no answers.
    """
    begin = time.monotonic()
    instrument = load_verifier(verifier) if isinstance(verifier, str) else verifier
    judging, states = open_judging(store, run_id, instrument, again=again)
    doubt = _register(store, instrument)
    reader = TaskReader(store, judging)
    writer = _Writer(store, judging, Labels(judging, instrument, reader))
    tally = _Tally(total=sum(state == "open" for _, state in states))
    units = ((keys, reader.read(keys)) for keys in cut_units(states))
    judged = (
        _judge_in_threads(units, instrument, threads)
        if threads > 1
        else _judge_units(units, instrument, verifier, jobs)
    )
    for keys, tasks, outcomes in judged:
        for task, outcome in zip(tasks, outcomes, strict=True):
            tally.add(task, outcome)
            writer.add(task, outcome)
        tally.done += len(keys)
        if watch is not None:
            watch(tally.look())
    writer.flush()
    counted = Counter(state for _, state in states)
    return VerifyResult(
        run_id=run_id,
        labeler=instrument.labeler,
        agreement=getattr(instrument, "agreement", None),
        settings=getattr(instrument, "prompt_ver", None),
        answers=len(states),
        failed=counted["failed"],
        abstained=counted["abstained"],
        done_before=counted["done"],
        without_claims=tally.without_claims,
        split=writer.added["claims"],
        judged=writer.added["labels"],
        seconds=time.monotonic() - begin,
        bases=dict(tally.bases),
        verdicts=count_verdicts(store, judging),
        unscored=count_unscored(store, judging),
        warnings={**doubt, **dict(tally.warnings.most_common())},
    )


def open_judging(
    store: Store, run_id: str, verifier: Verifier, *, again: bool
) -> tuple[Judging, list[tuple[AnswerKey, State]]]:
    """Return who judges what, and the run's answers with what is left to do.

    Raises:
        StoreError: there is no such run, or it has no answers.
    """
    judging = begin_judging(store, run_id, verifier.labeler, again=again)
    states = list_answers(store, judging)
    if not states:
        raise StoreError(f"{store.place}: found no answers of run {run_id!r}: import them first")
    return judging, states


def _register(store: Store, verifier: Verifier) -> dict[str, int]:
    """Describe the instrument, unless the store knows it: what it was called first stays.

    Returns a warning when it was called something else: its labels are then of two kinds.
    """
    settings: str | None = getattr(verifier, "prompt_ver", None)
    if knows_labeler(store, verifier.labeler):
        first = read_prompt_ver(store, verifier.labeler)
        if first == settings or None in (first, settings):
            return {}
        told = f"{verifier.labeler} has labels made with other settings: {first}"
        return {told: 1}
    row = Labeler(
        labeler=verifier.labeler,
        labeler_kind="verifier",
        version=getattr(verifier, "version", None),
        model=getattr(verifier, "model", None),
        prompt_ver=settings,
    )
    store.load([Placed(row, 0, 1)], [verifier.labeler])
    return {}


def cut_units(states: Sequence[tuple[AnswerKey, State]]) -> list[list[AnswerKey]]:
    """Return the open answers, a few neighbours at a time, beginning anywhere.

    Neighbours in the run, not among the open ones: a unit is read as a range of items, which must
    not grow with what is done already. Two processes that begin together would do the same work
    and throw half of it away.
    """
    groups = (states[n : n + _NEIGHBOURS] for n in range(0, len(states), _NEIGHBOURS))
    units = [[key for key, state in group if state == "open"] for group in groups]
    units = [unit for unit in units if unit]
    begin = secrets.randbelow(len(units)) if units else 0
    return units[begin:] + units[:begin]


@dataclass(slots=True)
class _Tally:
    """Counts what a command has done so far."""

    total: int
    done: int = 0
    judged: int = 0
    unscored: int = 0
    without_claims: int = 0
    bases: Counter[Basis] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)

    def add(self, task: Task, outcome: Outcome) -> None:
        judged = sum(verdict.verdict is not None for verdict in outcome.verdicts)
        unscored = sum(verdict.unscored is not None for verdict in outcome.verdicts)
        self.judged += judged
        self.unscored += unscored
        self.without_claims += not judged and not unscored
        self.bases[task.basis] += 1
        self.warnings.update(set(outcome.warnings))

    def look(self) -> VerifyProgress:
        return VerifyProgress(
            answers=self.total, done=self.done, judged=self.judged, unscored=self.unscored
        )


class _Writer:
    """Gathers the rows of whole answers and writes them every second or so."""

    def __init__(self, store: Store, judging: Judging, labels: Labels) -> None:
        self.added: Counter[str] = Counter()
        self._store = store
        self._judging = judging
        self._labels = labels
        self._rows: list[Row] = []
        self._flushed = time.monotonic()

    def add(self, task: Task, outcome: Outcome) -> None:
        self._rows += self._labels.make_rows(task, outcome, self._judging.stamp())
        late = time.monotonic() - self._flushed > _FLUSH_SECONDS
        if late or len(self._rows) >= _FLUSH_ROWS:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            placed = [Placed(row, 0, number) for number, row in enumerate(self._rows, start=1)]
            name = self._judging.labeler
            counts = self._store.load(placed, [name], judged_since=self._judging.since)
            self.added.update({count.kind: count.added for count in counts})
            self._rows = []
        self._flushed = time.monotonic()


Unit = tuple[list[AnswerKey], list[Task]]
JudgedUnit = tuple[list[AnswerKey], list[Task], list[Outcome]]


def _judge_units(
    units: Iterable[Unit], verifier: Verifier, given: str | Verifier, jobs: int
) -> Iterator[JudgedUnit]:
    """Judge here, or in processes, which load a verifier of that name or get the one given."""
    if jobs > 1:
        yield from _judge_in_processes(
            units, verifier.name if isinstance(given, str) else given, jobs
        )
        return
    for keys, tasks in units:
        yield keys, tasks, [run_job(task.job, verifier) for task in tasks]


def _judge_in_threads(
    units: Iterable[Unit], verifier: Verifier, threads: int
) -> Iterator[JudgedUnit]:
    """Judge many answers at once, each stored when it is there: none waits for a slow one.

    The store is read and written here, in one thread; only as much is read ahead as keeps the
    others busy. When this is left early, answers that nobody has begun with are given up.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="judge")
    waiting: dict[Future[Outcome], Task] = {}
    try:
        for keys, tasks in units:
            begun = {task.key for task in tasks}
            yield [key for key in keys if key not in begun], [], []
            waiting.update({pool.submit(run_job, t.job, verifier): t for t in tasks})
            while len(waiting) > _AHEAD * threads:
                yield from _take_done(waiting)
        while waiting:
            yield from _take_done(waiting)
    finally:
        pool.shutdown(cancel_futures=True)


def _take_done(waiting: dict[Future[Outcome], Task]) -> Iterator[JudgedUnit]:
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        task = waiting.pop(future)
        yield [task.key], [task], [future.result()]


def _judge_in_processes(
    units: Iterable[Unit], verifier: str | Verifier, jobs: int
) -> Iterator[JudgedUnit]:
    """Let workers judge, in order; only as much is read ahead as keeps them busy.

    Raises:
        ClaimwiseError: a worker died, as when memory runs out.
    """
    waiting: deque[tuple[list[AnswerKey], list[Task], Future[list[Outcome]]]] = deque()
    # A forked child would share this process's connection to the store.
    pool = ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(verifier,)
    )
    try:
        for keys, tasks in units:
            waiting.append((keys, tasks, pool.submit(_work, [task.job for task in tasks])))
            if len(waiting) > _AHEAD * jobs:
                yield _take(waiting)
        while waiting:
            yield _take(waiting)
    except BrokenProcessPool as error:
        raise ClaimwiseError(
            "a judging process died (out of memory?); what was written is safe: "
            "run it again, with fewer --jobs"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _take(
    waiting: deque[tuple[list[AnswerKey], list[Task], Future[list[Outcome]]]],
) -> JudgedUnit:
    keys, tasks, future = waiting.popleft()
    return keys, tasks, future.result()


_own: list[Verifier] = []  # a worker's verifier


def _start_worker(verifier: str | Verifier) -> None:
    """Take over the verifier; leave interrupts to the parent, and go when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _own[:] = [load_verifier(verifier) if isinstance(verifier, str) else verifier]
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(jobs: list[Job]) -> list[Outcome]:
    return [run_job(job, _own[0]) for job in jobs]
