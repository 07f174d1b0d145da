"""Judges the claims of a stored run: resumable, and shared by as many processes as like.

One engine for every way of judging. It reads the answers with open claims, a few neighbours at a
time, asks a judge about each, and stores what came back. What differs between the ways is in a
``RunJudge``: what it reads, what it asks, and how its verdicts become rows.

Rows are written in small transactions, each holding whole answers: claims, citations, labels and
failures together or not at all. So a process that is killed loses seconds of work, and the next
one goes on where the store ends; replies of a language model are kept as they come, so nothing is
paid for twice. No process locks work for itself. Each begins somewhere else and looks, before it
judges, what is still open; the transaction drops what another one was faster to say.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from multiprocessing import get_context
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from claimwise.checking.queries import (
    AnswerKey,
    JudgingScope,
    RepeatedClaim,
    State,
    begin_judging,
    count_unscored,
    count_verdicts,
    find_labeler,
    has_labels,
    is_overtaken,
    list_answers,
    list_compared,
    list_older,
    update_labeler,
)
from claimwise.command.processes import follow_parent
from claimwise.errors import ClaimwiseError, PromptError, StoreError
from claimwise.store import Store
from claimwise.types.llm import Batches, LlmCall
from claimwise.types.progress import JudgeProgress, Watch
from claimwise.types.rows import ClosedBookLabel, Judgement, Label, Labeler, Placed, Row, Unscored

_NEIGHBOURS = 16
_FLUSH_SECONDS = 1.0
_FLUSH_ROWS = 5_000
_AHEAD = 2  # answers or units waiting for each worker, so that none waits for the store
# The columns of a labeler that say how it judges, and what they are for people. Its version is in
# its name; what the column says of it may be somebody's own words.
_SETTINGS = {"model": "model", "prompt_ver": "prompt and settings"}


class Work(Protocol):
    """An answer with something open, as a judge needs it."""

    @property
    def key(self) -> AnswerKey:
        """Which answer."""
        ...


W = TypeVar("W", bound=Work)
O = TypeVar("O")  # noqa: E741 - what came of asking


class JudgingSession(Protocol[W, O]):
    """One round of a judge over a run."""

    def read(self, keys: Sequence[AnswerKey]) -> Sequence[W]:
        """Return what is still open among some neighbouring answers."""
        ...

    def plan(self, work: W) -> list[LlmCall]:
        """Return the calls that asking about it would make."""
        ...

    def ask(self, work: W) -> O:
        """Judge one answer; called in any thread, and never touches the store."""
        ...

    def make_rows(self, work: W, outcome: O, at: datetime) -> Iterable[Row]:
        """Return what is stored of it, parents first: a label or a failure for every claim."""
        ...


S_co = TypeVar("S_co", bound=JudgingSession[Any, Any], covariant=True)


class RunJudge(Protocol[S_co]):
    """A way of judging stored runs. ``row`` is how it is registered, settings included."""

    @property
    def judgement(self) -> Judgement:
        """Whether its labels are grounded or closed-book ones."""
        ...

    @property
    def row(self) -> Labeler:
        """The judge as a labeler."""
        ...

    def open_session(self, store: Store, judging: JudgingScope) -> S_co:
        """Begin a round."""
        ...

    def repeat_as(self, number: int) -> RunJudge[S_co]:
        """Return the judge for a further round, under a name of its own: ``judge:…#2``."""
        ...


class ProcessSession(JudgingSession[W, O], Protocol):
    """A session whose work other processes can do."""

    def pack(self, work: W) -> Any:
        """Return what is sent to the other process."""
        ...

    def make_worker(self) -> Callable[[Any], O]:
        """Return what judges there: it is sent once to each process."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Flips:
    """How steady a judge is: claims that several rounds scored, and those they disagree on."""

    rounds: int
    compared: int
    flipped: int
    claims: tuple[RepeatedClaim, ...] = ()  # those they disagree on

    def to_document(self) -> dict[str, int]:
        """Return the counts as plain values for JSON."""
        return {"rounds": self.rounds, "compared": self.compared, "flipped": self.flipped}


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """What a command did, and how the run stands under its judge."""

    run_id: str
    labeler: str
    answers: int
    failed: int  # answers that the system did not give
    abstained: (
        int  # answers in which the system declined or asked for clarification: they claim nothing
    )
    done_before: int  # answers whose claims had all been judged
    without_claims: int  # answers that claim nothing
    split: int  # claims that this command found and stored
    judged: int  # labels that this command added, of the first round
    seconds: float
    verdicts: dict[str, int]  # of the whole run
    unscored: dict[str, int]  # of the whole run, by reason
    warnings: tuple[str, ...]
    flips: Flips | None  # with several rounds


class JudgedRun(NamedTuple, Generic[S_co]):
    """The result, and the session of every round: the first round's, which decides, comes last."""

    result: RunResult
    judging: JudgingScope  # of the first round
    sessions: list[S_co]

    @property
    def deciding(self) -> S_co:
        """The session whose labels decide."""
        return self.sessions[-1]


def judge_run(
    store: Store,
    run_id: str,
    judge: RunJudge[S_co],
    *,
    repeats: int = 1,
    threads: int = 1,
    jobs: int = 1,
    again: bool = False,
    watch: Watch | None = None,
    batches: Batches | None = None,
) -> JudgedRun[S_co]:
    """Judge every claim of a run that the judge has not judged yet, and store its labels.

    Answers without stored claims are split first. Claims that the judge failed on are tried again;
    the same failure is stored once.

    Every round of ``repeats`` is a labeler of its own (``judge:…#2``), so its labels stay apart,
    and can be resumed by itself. Of all labels of a claim one decides: rates count it once,
    whatever the number of rounds. That is the first round's, which comes last so that its label is
    the latest; where it was given before the others, it is given again.

    Args:
        store: where the run is.
        run_id: the run.
        judge: the judge.
        repeats: how many rounds.
        threads: answers judged at once: for a judge that waits for a server.
        jobs: processes that judge, in place of ``threads``; for a ``ProcessSession``.
        again: re-judge claims that have a label of this judge. The new label is added, dated
            after all earlier ones; of two the later one counts.
        watch: called with the progress after every answer, or every few.
        batches: the judge's client, where it asks in batches: all replies are fetched first, those
            of all rounds together. In place of ``threads`` and ``jobs``.

    Raises:
        StoreError: there is no such run, or it has no answers.
        PromptError: the judge's labels were made with other settings, and ``again`` is not given.
        BatchesWaitingError: replies are in batches under way; what is there has been stored.
    """
    begin = time.monotonic()
    judges = [judge.repeat_as(number) for number in range(repeats, 1, -1)] + [judge]
    rounds = [open_round(store, run_id, each, again=again) for each in judges]
    for each in rounds:
        each.register(store, again=again)
    tally = _Tally(total=sum(each.open_answers for each in rounds), watch=watch)
    pool = _Pool(threads=threads, jobs=jobs, batches=batches)
    pool.prepare(rounds, watch)
    *others, first = rounds
    for each in others:
        each.run(store, tally, pool)
    if others and not again and is_overtaken(store, first.judging):
        tally.total -= first.open_answers
        first = open_round(store, run_id, judge, again=True)
        tally.total += first.open_answers
        pool.prepare([first], watch)
    first.run(store, tally, pool)
    warnings = [line for each in (*others, first) for line in each.finish(store)]
    result = first.sum_up(store, time.monotonic() - begin)
    split = sum(each.added["claims"] for each in (*others, first))
    flips = _count_flips(store, first.judging, repeats) if others else None
    if batches is not None:
        batches.check_complete()
    result = replace(result, split=split, flips=flips, warnings=tuple(dict.fromkeys(warnings)))
    return JudgedRun(result, first.judging, [each.session for each in (*others, first)])


def plan_run(
    store: Store, run_id: str, judge: RunJudge[S_co], *, again: bool = False
) -> Iterator[LlmCall]:
    """Yield the calls that judging the rest of a run would make in one round.

    Raises:
        StoreError: there is no such run, or it has no answers.
        PromptError: the judge's labels were made with other settings, and ``again`` is not given.
    """
    opened = open_round(store, run_id, judge, again=again)
    opened.find_changes(store, again=again)
    for keys in _cut_units(opened.states):
        for work in opened.session.read(keys):
            yield from opened.session.plan(work)


class RunRound(Generic[S_co]):
    """One round of a judge: what is open, and what has been stored."""

    def __init__(
        self,
        judge: RunJudge[S_co],
        judging: JudgingScope,
        session: S_co,
        states: list[tuple[AnswerKey, State]],
    ) -> None:
        self.judging = judging
        self.session = session
        self.states = states
        self.added: Counter[str] = Counter()
        self._row = judge.row
        self._changed = False
        self._without_claims = 0

    @property
    def open_answers(self) -> int:
        """The number of answers to go through."""
        return sum(state == "open" for _, state in self.states)

    def register(self, store: Store, *, again: bool) -> None:
        """Register the judge, unless the store knows it; see :meth:`find_changes`."""
        self._changed = bool(self.find_changes(store, again=again))
        if find_labeler(store, self._row.labeler) is None:
            store.load([Placed(self._row, 0, 1)], [self._row.labeler])

    def find_changes(self, store: Store, *, again: bool) -> list[str]:
        """Say how the judge differs from the one of that name that the store knows.

        Raises:
            PromptError: it differs, has labels, and these are not to be made ``again``.
        """
        known = find_labeler(store, self._row.labeler)
        changes = [] if known is None else _list_changes(known, self._row)
        if changes and not again and has_labels(store, self.judging):
            raise PromptError(
                f"{store.place}: {self._row.labeler} has changed since its labels were made: "
                f"{'; '.join(changes)}. Re-judge with --again, or go back to the old settings "
                "(a changed prompt can also get a new version); nothing was sent"
            )
        return changes

    def run(self, store: Store, tally: _Tally, pool: _Pool) -> None:
        """Judge what is open and store what comes back; see :meth:`_Pool.fetch_missing`."""
        writer = _Writer(store, self.judging)
        begin = tally.done, tally.unscored
        while not self._judge(writer, tally, pool) and pool.fetch_missing(self, tally.watch):
            tally.done, tally.unscored = begin
        self.added = writer.added

    def _judge(self, writer: _Writer, tally: _Tally, pool: _Pool) -> bool:
        """Judge what is open; return whether no reply was missing."""
        complete = True
        for work, outcome in pool.ask(self._read_units(tally), self.session):
            if outcome is None:
                complete = False
                continue
            rows = list(self.session.make_rows(work, outcome, self.judging.stamp()))
            scored = sum(isinstance(row, Label | ClosedBookLabel) for row in rows)
            unscored = sum(isinstance(row, Unscored) for row in rows)
            self._without_claims += not scored and not unscored
            writer.add(rows)
            tally.count(1, unscored)
        writer.flush()
        return complete

    def _read_units(self, tally: _Tally) -> Iterator[Sequence[Any]]:
        """Yield the work in some neighbouring answers; what others did meanwhile is done."""
        for keys in _cut_units(self.states):
            unit = self.session.read(keys)
            if len(unit) < len(keys):
                tally.count(len(keys) - len(unit))
            yield unit

    def finish(self, store: Store) -> list[str]:
        """Register changed settings, now that the run was judged by them; warn of older labels."""
        if not self._changed:
            return []
        update_labeler(store, self._row)
        older = list_older(store, self.judging)
        if not older:
            return []
        runs = ", ".join(run_id for run_id, _ in older)
        count = sum(claims for _, claims in older)
        return [
            f"{count:,} labels of {self._row.labeler} were made with its earlier settings, in "
            f"{runs}: re-judge there with --again"
        ]

    def sum_up(self, store: Store, seconds: float) -> RunResult:
        """Return what was done and how the run stands."""
        counted = Counter(state for _, state in self.states)
        return RunResult(
            run_id=self.judging.run.run_id,
            labeler=self._row.labeler,
            answers=len(self.states),
            failed=counted["failed"],
            abstained=counted["abstained"],
            done_before=counted["done"],
            without_claims=self._without_claims + counted["empty"],
            split=self.added["claims"],
            judged=self.added[Label.kind] + self.added[ClosedBookLabel.kind],
            seconds=seconds,
            verdicts=count_verdicts(store, self.judging),
            unscored=count_unscored(store, self.judging),
            warnings=(),
            flips=None,
        )


def open_round(store: Store, run_id: str, judge: RunJudge[S_co], *, again: bool) -> RunRound[S_co]:
    """Look what a judge has left to do in a run.

    Raises:
        StoreError: there is no such run, or it has no answers.
    """
    judging = begin_judging(store, run_id, judge.row.labeler, judge.judgement, again=again)
    states = list_answers(store, judging)
    if not states:
        raise StoreError(f"{store.place}: run {run_id!r} has no answers; import them first")
    return RunRound(judge, judging, judge.open_session(store, judging), states)


def _list_changes(known: Labeler, row: Labeler) -> list[str]:
    """Say what of a labeler's settings differs; what nobody recorded does not."""
    pairs = ((what, getattr(known, name), getattr(row, name)) for name, what in _SETTINGS.items())
    return [
        f"{what} then “{old}”, now “{new}”"
        for what, old, new in pairs
        if None not in (old, new) and old != new
    ]


def _count_flips(store: Store, judging: JudgingScope, rounds: int) -> Flips:
    compared = list_compared(store, judging)
    flipped = tuple(claim for claim in compared if claim.verdicts > 1)
    return Flips(rounds=rounds, compared=len(compared), flipped=len(flipped), claims=flipped)


def _cut_units(states: Sequence[tuple[AnswerKey, State]]) -> list[list[AnswerKey]]:
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
    """Counts how far a command has come, and tells who watches."""

    total: int
    watch: Watch | None
    done: int = 0
    unscored: int = 0

    def count(self, answers: int, unscored: int = 0) -> None:
        self.done += answers
        self.unscored += unscored
        if self.watch is not None:
            self.watch(JudgeProgress(total=self.total, done=self.done, unscored=self.unscored))


class _Writer:
    """Gathers the rows of whole answers and writes them every second or so."""

    def __init__(self, store: Store, judging: JudgingScope) -> None:
        self.added: Counter[str] = Counter()
        self._store = store
        self._judging = judging
        self._rows: list[Row] = []
        self._flushed = time.monotonic()

    def add(self, rows: Iterable[Row]) -> None:
        self._rows += rows
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pool:
    """Who asks: this thread, several threads, or other processes.

    The store is read and written here, in one thread; only as much is read ahead as keeps the
    others busy.
    """

    threads: int
    jobs: int
    batches: Batches | None = None

    def prepare(self, rounds: Sequence[RunRound[Any]], watch: Watch | None) -> None:
        """Fetch the replies that rounds need, where they come in batches."""
        if self.batches is not None:
            total = sum(each.open_answers for each in rounds)
            self.batches.fetch(partial(_list_asks, rounds), total, watch)

    def fetch_missing(self, each: RunRound[Any], watch: Watch | None) -> bool:
        """Fetch replies that a round lacks after all; False: they are under way.

        Claims that another round has just stored may be asked about in other words.
        """
        if self.batches is None or self.batches.waiting:
            return False
        self.prepare([each], watch)
        return True

    def ask(
        self, units: Iterable[Sequence[W]], session: JudgingSession[W, O]
    ) -> Iterator[tuple[W, O | None]]:
        """Yield each work with what came of asking; None where a reply is missing so far."""
        if self.batches is not None:
            return _ask_in_replays(units, session, self.batches)
        if self.jobs > 1:
            return _ask_in_processes(units, session, self.jobs)  # type: ignore[arg-type]
        if self.threads > 1:
            return _ask_in_threads(units, session, self.threads)
        return ((work, session.ask(work)) for unit in units for work in unit)


def _list_asks(
    rounds: Sequence[RunRound[Any]], done: Container[Hashable]
) -> Iterator[tuple[Hashable, Callable[[], object]]]:
    """Yield what every round asks about but what is done, read a few answers at a time."""
    for number, each in enumerate(rounds):
        for unit in _cut_units(each.states):
            keys = [key for key in unit if (number, key) not in done]
            for work in each.session.read(keys) if keys else ():
                yield (number, work.key), partial(each.session.ask, work)


def _ask_in_replays(
    units: Iterable[Sequence[W]], session: JudgingSession[W, O], batches: Batches
) -> Iterator[tuple[W, O | None]]:
    """Judge by the replies that are there; an answer that lacks one stays open."""
    for unit in units:
        for work in unit:
            yield work, batches.replay(partial(session.ask, work))


def _ask_in_threads(
    units: Iterable[Sequence[W]], session: JudgingSession[W, O], threads: int
) -> Iterator[tuple[W, O]]:
    """Judge many answers at once, each stored when it is there: none waits for a slow one.

    When this is left early, answers that nobody has begun with are given up.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="judge")
    waiting: dict[Future[O], W] = {}
    try:
        for unit in units:
            waiting.update({pool.submit(session.ask, work): work for work in unit})
            while len(waiting) > _AHEAD * threads:
                yield from _take_done(waiting)
        while waiting:
            yield from _take_done(waiting)
    finally:
        pool.shutdown(cancel_futures=True)


def _take_done(waiting: dict[Future[O], W]) -> Iterator[tuple[W, O]]:
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        yield waiting.pop(future), future.result()


def _ask_in_processes(
    units: Iterable[Sequence[W]], session: ProcessSession[W, O], jobs: int
) -> Iterator[tuple[W, O]]:
    """Let workers judge, in order.

    Raises:
        ClaimwiseError: a worker died, as when memory runs out.
    """
    waiting: deque[tuple[Sequence[W], Future[list[O]]]] = deque()
    # A forked child would share this process's connection to the store.
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=get_context("spawn"),
        initializer=_start_worker,
        initargs=(session.make_worker(),),
    )
    try:
        for unit in units:
            waiting.append((unit, pool.submit(_work, [session.pack(work) for work in unit])))
            if len(waiting) > _AHEAD * jobs:
                yield from _take_first(waiting)
        while waiting:
            yield from _take_first(waiting)
    except BrokenProcessPool as error:
        raise ClaimwiseError(
            "a judging process died (out of memory?); what was written is safe: "
            "run it again, with fewer --jobs"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _take_first(waiting: deque[tuple[Sequence[W], Future[list[O]]]]) -> Iterator[tuple[W, O]]:
    unit, future = waiting.popleft()
    return zip(unit, future.result(), strict=True)


_own: list[Callable[[Any], Any]] = []  # what judges in a worker


def _start_worker(worker: Callable[[Any], Any]) -> None:
    """Take over what judges; see :func:`follow_parent`."""
    _own[:] = [worker]
    follow_parent()


def _work(packed: list[Any]) -> list[Any]:
    return [_own[0](one) for one in packed]
