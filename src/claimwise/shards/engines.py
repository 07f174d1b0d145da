"""Who runs the workers: this process, processes of this machine, or a Ray cluster.

Each engine takes shards and yields their outcomes as they come. None schedules anything itself:
that is done by Python's process pool and by Ray. A worker that is lost takes one shard with it,
which another one does again; a shard that takes its worker along every time is given up.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import get_context
from typing import Any, Protocol, Self

from claimwise.command.processes import follow_parent
from claimwise.errors import ClaimwiseError, MissingExtraError
from claimwise.shards.sharing import (
    ActorLink,
    Keeper,
    KeeperLink,
    SharedSettings,
    serve_keeper,
)
from claimwise.shards.values import Shard, ShardOutcome
from claimwise.shards.work import ShardJob, ShardWorker

ATTEMPTS = 4  # at a shard whose worker is lost every time
_RAY_RETRIES = 10  # nodes of a cluster may come and go
_KEEPER_THREADS = 64
_KNOCK_SECONDS = 10.0
_AHEAD = 2  # shards handed out for each worker, so that none waits for the next

Outcomes = Iterator[tuple[Shard, ShardOutcome]]


class ShardEngine(Protocol):
    """Runs workers. Use it as a context: it may have to join a cluster."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def run(self, job: ShardJob, shards: Sequence[Shard]) -> Outcomes:
        """Verify shards, and yield their outcomes as they come."""
        ...

    def share(self, settings: SharedSettings) -> AbstractContextManager[KeeperLink]:
        """Start what the workers of a language model share; yield how they reach it."""
        ...


_workers: dict[str, ShardWorker] = {}  # of this process, by the job's fingerprint


def verify_shard(job: ShardJob, shard: Shard) -> ShardOutcome:
    """Verify a shard in whichever process this is; its judge is loaded for the first one."""
    key = job.settings.fingerprint
    if key not in _workers:
        try:
            _close_workers()
            _workers[key] = ShardWorker(job)
        except ClaimwiseError as error:
            return ShardOutcome(fatal=str(error))
    return _workers[key].verify(shard)


def _close_workers() -> None:
    while _workers:
        _workers.popitem()[1].close()


def choose_engine(name: str, workers: int | None, address: str | None) -> ShardEngine:
    """Return the engine that the command line names; without a number, one worker per CPU.

    Raises:
        ClaimwiseError: it is not installed.
    """
    if name == "ray":
        return RayEngine(address or "auto", workers)
    most = workers or os.cpu_count() or 1
    return HereEngine() if most == 1 else ProcessEngine(most)


class HereEngine:
    """Verifies shards one after the other in this process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        _close_workers()

    def run(self, job: ShardJob, shards: Sequence[Shard]) -> Outcomes:
        """Verify shards."""
        return ((shard, verify_shard(job, shard)) for shard in shards)

    def share(self, settings: SharedSettings) -> AbstractContextManager[KeeperLink]:
        """Start a keeper in this process."""
        return serve_keeper(settings)


class ProcessEngine(HereEngine):
    """Verifies shards in processes of this machine."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run(self, job: ShardJob, shards: Sequence[Shard]) -> Outcomes:
        """Verify shards; those of a lost process are done again.

        A lost process ends the whole pool, and nobody knows whose fault it was. So a shard that was
        under way several times when that happened gets a pool of its own before it is given up.
        """
        left = {shard.file.name: shard for shard in shards}
        losses: Counter[str] = Counter()
        while left:
            suspect = next((name for name in left if losses[name] >= ATTEMPTS - 1), None)
            trial = list(left.values()) if suspect is None else [left[suspect]]
            under_way: dict[Future[ShardOutcome], Shard] = {}
            try:
                for shard, outcome in _run_pool(job, trial, self._workers, under_way):
                    del left[shard.file.name]
                    yield shard, outcome
            except BrokenProcessPool:
                losses.update(shard.file.name for shard in under_way.values())
                if suspect is not None:
                    lost = left.pop(suspect)
                    yield lost, ShardOutcome(problem=_describe_lost(lost))


def _run_pool(
    job: ShardJob,
    shards: Sequence[Shard],
    workers: int,
    under_way: dict[Future[ShardOutcome], Shard],
) -> Outcomes:
    """Verify shards in a pool of processes; a killed process ends all of it.

    Raises:
        BrokenProcessPool: a process was killed, as when memory runs out.
    """
    pool = ProcessPoolExecutor(
        min(workers, len(shards)), mp_context=get_context("spawn"), initializer=_start_process
    )
    ahead = iter(shards)
    try:
        while True:
            while len(under_way) < _AHEAD * workers and (shard := next(ahead, None)) is not None:
                under_way[pool.submit(verify_shard, job, shard)] = shard
            if not under_way:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                outcome = future.result()
                yield under_way.pop(future), outcome
    finally:
        pool.shutdown(cancel_futures=True)


def _start_process() -> None:
    """Go when the parent is gone, and at once on Ctrl-C: what was begun is done again."""
    follow_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _describe_lost(shard: Shard) -> str:
    return (
        f"{shard.file.url}: its worker was lost again and again (out of memory?); split the file, "
        "or use fewer --workers"
    )


class RayEngine:
    """Verifies shards as tasks of a Ray cluster that is there already.

    Ray places the tasks, and does those of lost workers and nodes again. Every process of the
    cluster that runs them keeps its judge.

    Args:
        address: the cluster's.
        workers: tasks under way at once; None: one per CPU of the cluster.

    Raises:
        ClaimwiseError: Ray is not installed.
    """

    def __init__(self, address: str, workers: int | None) -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError("--engine ray", "ray") from error
        self._ray: Any = ray
        self._address = address
        self._workers = workers
        self._joined = False

    def __enter__(self) -> Self:
        self._joined = _join_cluster(self._ray, self._address)
        return self

    def __exit__(self, *error: object) -> None:
        if self._joined:
            self._ray.shutdown()

    def run(self, job: ShardJob, shards: Sequence[Shard]) -> Outcomes:
        """Verify shards."""
        most = self._workers or int(self._ray.cluster_resources().get("CPU", 1)) or 1
        return _run_tasks(self._ray, job, shards, most)

    @contextmanager
    def share(self, settings: SharedSettings) -> Iterator[KeeperLink]:
        """Start a keeper as an actor on this node, whose disk may hold the store of replies."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = self._ray.get_runtime_context().get_node_id()
        kept = self._ray.remote(Keeper).options(
            num_cpus=0,
            max_concurrency=_KEEPER_THREADS,
            scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=False),
        )
        actor = kept.remote(settings)
        try:
            yield ActorLink(actor)
        finally:
            self._ray.kill(actor)


def _join_cluster(ray: Any, address: str) -> bool:
    """Connect to a cluster; False where this process is connected already.

    Raises:
        ClaimwiseError: there is none.
    """
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # the default-to-be
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        told = str(error).partition("\n")[0]
        raise ClaimwiseError(
            f"no Ray cluster at {address!r} ({told}); start one with `ray start --head`, or name "
            "another --address"
        ) from error
    return True


def _knock(address: str) -> None:
    """Look whether anybody is at HOST:PORT: Ray itself would go on trying for many minutes.

    Raises:
        OSError: nobody is.
    """
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "://" not in address:
        socket.create_connection((host, int(port)), timeout=_KNOCK_SECONDS).close()


def _run_tasks(ray: Any, job: ShardJob, shards: Sequence[Shard], most: int) -> Outcomes:
    task = ray.remote(verify_shard).options(num_cpus=1, max_retries=_RAY_RETRIES)
    waiting: dict[Any, Shard] = {}
    ahead = iter(shards)
    while True:
        while len(waiting) < most and (shard := next(ahead, None)) is not None:
            waiting[task.remote(job, shard)] = shard
        if not waiting:
            return
        done, _ = ray.wait(list(waiting), num_returns=1)
        for reference in done:
            shard = waiting.pop(reference)
            yield shard, _take(ray, reference, shard)


def _take(ray: Any, reference: Any, shard: Shard) -> ShardOutcome:
    try:
        outcome: ShardOutcome = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ImportError):
            told = f"a node of the cluster can't import what it needs ({error.cause})"
            return ShardOutcome(fatal=f"{told}; install the same claimwise on every node")
        raise  # a fault of the program: it would be the same for every shard
    except ray.exceptions.RayError:
        return ShardOutcome(problem=_describe_lost(shard))
    return outcome
