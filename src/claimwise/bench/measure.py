"""Measures a verifier beside a baseline on a folder of labelled claims."""

from __future__ import annotations

import math
import multiprocessing
import signal
import zlib
from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Collection,
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace

from claimwise.bench.labelled import find_sets, read_set
from claimwise.disk.input import refuse
from claimwise.errors import ClaimwiseError
from claimwise.judges.judge import Verifier, load_verifier
from claimwise.metrics.accuracy import (
    Compared,
    MeasuredAccuracy,
    Resampling,
    average_sets,
    compare_sets,
    measure_set,
    rate_claims,
)
from claimwise.types.accuracy import BenchClaim, BenchResult, ScoredClaim, VerifierAccuracy
from claimwise.types.llm import Batches, LlmCall
from claimwise.types.progress import JudgeProgress, Watch
from claimwise.types.verdicts import Scores

if TYPE_CHECKING:
    from claimwise.judges.grounded import GroundedJudge

T = TypeVar("T")
R = TypeVar("R")

BASELINE = "overlap"
# Fixed: --seed changes intervals, and never which claims are looked at.
_SAMPLE_SEED = 3
_TASKS_AT_ONCE = 8
_MOST_NAMED = 3  # files that are no set, with the reason


class DocumentTask(NamedTuple):
    """The claims of a set about one document, so that it is read and indexed once."""

    set: str
    rows: tuple[int, ...]
    document: str
    claims: tuple[str, ...]


Pair = tuple[Scores | None, Scores | None]
"""What the verifier and the baseline make of one claim."""


def bench_verifier(
    folder: Path,
    verifier: str | Verifier,
    baseline: str = BASELINE,
    *,
    sets: Collection[str] = (),
    limit: int | None = None,
    jobs: int = 1,
    threads: int = 1,
    resamples: int = 2000,
    seed: int = 0,
    watch: Watch | None = None,
    batches: Batches | None = None,
) -> BenchResult:
    """Score every labelled claim of a folder with a verifier and a baseline, and measure both.

    The result is the same whatever the number of jobs: all claims about a document are always
    scored in one call.

    Args:
        folder: Holds one file for each set (`claimwise.bench.labelled`).
        verifier: A verifier's name, which every process loads for itself; or a verifier, which
            works in this process alone.
        baseline: The name of the verifier to compare it with.
        sets: Names of sets to use; none chooses all.
        limit: Use about so many claims of each set: whole groups in a random order that is always
            the same, until there are enough.
        jobs: Number of processes.
        threads: Documents at once in this process: for a judge that waits for a server.
        resamples: Resamples of the groups behind every interval.
        seed: Seed of the resamples.
        watch: Called with the progress in claims, after every document.
        batches: The judge's client, where it asks in batches; in place of ``threads``.

    Raises:
        InputError: the folder can't be used, or a row is broken.
        ClaimwiseError: a process died.
        BatchesWaitingError: replies are in batches under way.
    """
    # Here first, and not in a worker alone: a name that nobody knows is then one clear error.
    measured = load_verifier(verifier) if isinstance(verifier, str) else verifier
    instruments = measured, load_verifier(baseline)
    labelled, skipped = read_labelled_sets(folder, sets, limit)
    pool = _Pool(jobs if isinstance(verifier, str) else 1, threads, batches)
    pairs = _score_sets(labelled, instruments, pool, watch or _ignore)
    judged, reference = _measure(labelled, pairs, instruments, resamples, seed)
    return BenchResult(
        verifier=judged,
        baseline=reference,
        skipped=skipped,
        resamples=resamples,
        seed=seed,
        limit=limit,
        claims=tuple(_list_claims(labelled, pairs)),
    )


def plan_bench(
    folder: Path, judge: GroundedJudge, *, sets: Collection[str] = (), limit: int | None = None
) -> Iterator[LlmCall]:
    """Yield the calls that measuring a judge would make.

    Raises:
        InputError: the folder can't be used, or a row is broken.
    """
    labelled, _ = read_labelled_sets(folder, sets, limit)
    for name, claims in labelled.items():
        for task in group_by_document(name, claims):
            yield from judge.plan_scores(task.claims, task.document)


def _ignore(progress: JudgeProgress) -> None:
    """Tell nobody."""


# Sets

Labelled = Mapping[str, Sequence[BenchClaim]]


def read_labelled_sets(
    folder: Path, chosen: Collection[str], limit: int | None
) -> tuple[Labelled, dict[str, str]]:
    """Return the claims of every set by name, and by file what was left out, and why."""
    labelled: dict[str, Sequence[BenchClaim]] = {}
    skipped: dict[str, str] = {}
    for name, path in find_sets(folder, chosen).items():
        claims, left_out = read_set(path)
        if left_out is not None:
            skipped[path.name] = left_out
        if claims:
            labelled[name] = _sample(name, claims, limit)
    if not labelled:
        told = [f"{name}: {reason}" for name, reason in skipped.items()]
        more = len(told) - _MOST_NAMED
        reasons = "; ".join(told[:_MOST_NAMED]) + (f"; and {more:,} more files" if more > 0 else "")
        raise refuse(folder, f"no labelled set ({reasons})", "rows of document, claim and label")
    return labelled, skipped


def _sample(name: str, claims: Sequence[BenchClaim], limit: int | None) -> Sequence[BenchClaim]:
    """Return whole groups, drawn at random, that hold at least ``limit`` claims together."""
    taken = draw_groups(name, [claim.group for claim in claims], limit)
    return [claim for claim in claims if claim.group in taken]


def draw_groups(name: str, groups: Sequence[str], limit: int | None) -> set[str]:
    """Return whole groups, drawn at random, that hold at least ``limit`` claims together.

    Args:
        name: whose groups these are: the same name and groups draw the same.
        groups: the group of every claim.
        limit: claims wanted; None for all.
    """
    sizes = Counter(groups)
    if limit is None or limit >= len(groups):
        return set(sizes)
    names = list(sizes)
    order = np.random.Generator(np.random.PCG64(_seed_of(_SAMPLE_SEED, name))).permutation(
        len(names)
    )
    taken: set[str] = set()
    found = 0
    for position in order:
        if found >= limit:
            break
        taken.add(names[position])
        found += sizes[names[position]]
    return taken


def _seed_of(seed: int, name: str) -> tuple[int, int]:
    """Return a seed of a set's own, so that its figures don't depend on which others are there."""
    return seed, zlib.crc32(name.encode())


# Scores


class _Pool(NamedTuple):
    """How many work at once."""

    jobs: int
    threads: int
    batches: Batches | None = None


def _score_sets(
    labelled: Labelled, instruments: tuple[Verifier, Verifier], pool: _Pool, watch: Watch
) -> dict[str, list[Pair]]:
    """Return the scores of every claim of every set, in the sets' order."""
    tasks = [task for name, claims in labelled.items() for task in group_by_document(name, claims)]
    scores: dict[str, list[Pair]] = {
        name: [(None, None)] * len(claims) for name, claims in labelled.items()
    }
    if pool.batches is not None:
        _fetch_replies(tasks, instruments[0], pool.batches, watch)
    total = sum(map(len, labelled.values()))
    done = unscored = 0
    watch(JudgeProgress(total=total, done=done))
    for task, pairs in zip(tasks, _run(tasks, instruments, pool), strict=True):
        for row, pair in zip(task.rows, pairs, strict=True):
            scores[task.set][row] = pair
        done += len(pairs)
        unscored += sum(verifier is None for verifier, _ in pairs)
        watch(JudgeProgress(total=total, done=done, unscored=unscored))
    return scores


def _fetch_replies(
    tasks: Sequence[DocumentTask], judge: Verifier, batches: Batches, watch: Watch
) -> None:
    """Fetch the replies about all documents in batches.

    Raises:
        BatchesWaitingError: they are under way, and nobody waits for them.
    """

    def list_asks(done: Container[Hashable]) -> Iterator[tuple[Hashable, Callable[[], object]]]:
        for number, task in enumerate(tasks):
            if number not in done:
                yield number, partial(judge.score_claims, task.claims, task.document)

    batches.fetch(list_asks, len(tasks), watch)
    batches.check_complete()


def group_by_document(name: str, claims: Sequence[BenchClaim]) -> list[DocumentTask]:
    """Return the claims of a set by the document that they are about."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, claim in enumerate(claims):
        rows[claim.document].append(row)
    return [
        DocumentTask(name, tuple(found), document, tuple(claims[row].claim for row in found))
        for document, found in rows.items()
    ]


def _run(
    tasks: Sequence[DocumentTask], instruments: tuple[Verifier, Verifier], pool: _Pool
) -> Iterator[list[Pair]]:
    """Yield the scores of every task, in order."""
    if pool.batches is not None:
        for task in tasks:
            found = pool.batches.replay(partial(_score, task, instruments))
            yield found or [(None, None)] * len(task.claims)
    elif pool.threads > 1:
        yield from map_in_threads(partial(_score, instruments=instruments), tasks, pool.threads)
    elif pool.jobs > 1:
        yield from _run_in_processes(tasks, instruments, pool.jobs)
    else:
        yield from (_score(task, instruments) for task in tasks)


def map_in_threads(work: Callable[[T], R], tasks: Iterable[T], threads: int) -> Iterator[R]:
    """Yield what comes of every task, in order; those not begun are given up when this is left."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="judge")
    try:
        yield from pool.map(work, tasks)
    finally:
        pool.shutdown(cancel_futures=True)


def _run_in_processes(
    tasks: Sequence[DocumentTask], instruments: tuple[Verifier, Verifier], jobs: int
) -> Iterator[list[Pair]]:
    # Spawned, not forked: a fork would copy a model's threads and locks half alive.
    with ProcessPoolExecutor(
        min(jobs, len(tasks)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_load_in_worker,
        initargs=(instruments[0].name, instruments[1].name),
    ) as pool:
        try:
            yield from pool.map(_score_in_worker, tasks, chunksize=_TASKS_AT_ONCE)
        except BrokenProcessPool as error:
            raise ClaimwiseError(
                f"one of {jobs} processes died, perhaps out of memory; try again with fewer --jobs"
            ) from error


_in_worker: dict[str, tuple[Verifier, Verifier]] = {}


def _load_in_worker(verifier: str, baseline: str) -> None:
    # Ctrl-C reaches every process; the first one ends the others, without a traceback from each.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _in_worker["instruments"] = load_verifier(verifier), load_verifier(baseline)


def _score_in_worker(task: DocumentTask) -> list[Pair]:
    return _score(task, _in_worker["instruments"])


def _score(task: DocumentTask, instruments: tuple[Verifier, Verifier]) -> list[Pair]:
    verifier, baseline = (
        instrument.score_claims(task.claims, task.document) for instrument in instruments
    )
    return list(zip(verifier, baseline, strict=True))


# Figures


def _measure(
    labelled: Labelled,
    pairs: Mapping[str, Sequence[Pair]],
    instruments: tuple[Verifier, Verifier],
    resamples: int,
    seed: int,
) -> tuple[VerifierAccuracy, VerifierAccuracy]:
    """Measure both instruments on every set and on average, and the lead of the first."""
    measured: tuple[dict[str, MeasuredAccuracy], dict[str, MeasuredAccuracy]] = {}, {}
    compared: dict[str, Compared] = {}
    for name, claims in labelled.items():
        how = Resampling(resamples=resamples, seed=_seed_of(seed, name))
        for index, instrument in enumerate(instruments):
            rating = rate_claims(
                [_support(pair[index]) for pair in pairs[name]],
                [claim.supported for claim in claims],
                [claim.group for claim in claims],
                instrument.threshold,
            )
            measured[index][name] = measure_set(rating, how)
        compared[name] = compare_sets(measured[0][name], measured[1][name], how)
    return (
        _summarize(instruments[0], measured[0], compared),
        _summarize(instruments[1], measured[1], {}),
    )


def _summarize(
    instrument: Verifier, measured: Mapping[str, MeasuredAccuracy], compared: Mapping[str, Compared]
) -> VerifierAccuracy:
    return VerifierAccuracy(
        verifier=instrument.name,
        labeler=instrument.labeler,
        threshold=instrument.threshold,
        sets={
            name: replace(
                found.accuracy,
                difference=compared[name].difference if name in compared else None,
            )
            for name, found in measured.items()
        },
        macro=average_sets(list(measured.values()), list(compared.values())),
    )


def _support(scores: Scores | None) -> float:
    return math.nan if scores is None else scores.supports


def _list_claims(labelled: Labelled, pairs: Mapping[str, Sequence[Pair]]) -> Iterator[ScoredClaim]:
    for name, claims in labelled.items():
        for claim, (scores, baseline) in zip(claims, pairs[name], strict=True):
            yield ScoredClaim(
                set=name,
                group=claim.group,
                label=int(claim.supported),
                supports=scores.supports if scores else None,
                contradicts=scores.contradicts if scores else None,
                neither=scores.neither if scores else None,
                baseline=baseline.supports if baseline else None,
            )
