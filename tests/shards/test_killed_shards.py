"""Jobs whose workers, nodes and drivers are killed: every claim once, and the same verdicts."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest

import claimwise
from claimwise.cli.main import run
from claimwise.shards.engines import ProcessEngine, RayEngine, ShardEngine
from claimwise.store import open_store
from claimwise.transfer import export_store
from shards.shard_files import Verdicts, make_files, read_output, verify
from support.processes import find_descendants, is_running
from support.waiting import DEADLINE, wait_until

FILES, ANSWERS = 10, 10
_RAY_WARNS = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
)


def count_done(output: Path) -> int:
    return len(list(output.glob("shards/*/shard.json")))


def is_at_work(output: Path) -> bool:
    """Whether some worker has written a part of a shard."""
    return any(output.glob("shards/.claimwise-part-*/shard/*/*"))


@contextmanager
def start_driver(work: Callable[..., None], *arguments: Any) -> Iterator[BaseProcess]:
    driver = get_context("forkserver").Process(target=work, args=arguments)
    driver.start()
    try:
        yield driver
    finally:
        driver.kill()
        driver.join(DEADLINE)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def drive_processes(pattern: str, output: Path) -> None:
    verify(pattern, output, ProcessEngine(2))


def find_workers(driver: BaseProcess) -> list[int]:
    """Return the driver's judging processes; the one that tracks resources is none."""
    found = find_descendants(driver.pid or 0)
    return [pid for pid in found if "spawn_main" in read_command(pid)]


def read_command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def check_finished(
    pattern: str, output: Path, expected: Verdicts, engine: ShardEngine | None
) -> None:
    """Finish a job: what was done is not done again, and all is as if nobody had been killed."""
    before = count_done(output)
    assert 0 < before < FILES
    result = verify(pattern, output, engine)
    assert (result.shards, result.failed) == (FILES, {})
    assert result.done_before >= before
    found = read_output(output)  # every claim once, or it fails
    assert found == expected
    assert len(found) == 3 * FILES * ANSWERS
    assert len(os.listdir(output / "shards")) == FILES  # nothing is left of what was begun


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Verdicts]:
    """The files of the jobs, and what an undisturbed job makes of them."""
    folder = tmp_path_factory.mktemp("undisturbed")
    pattern = make_files(folder / "in", FILES, ANSWERS)
    verify(pattern, folder / "out")
    return pattern, read_output(folder / "out")


def test_processes(tmp_path: Path, files: tuple[str, Verdicts]) -> None:
    pattern, expected = files
    output = tmp_path / "out"
    with start_driver(drive_processes, pattern, output) as driver:
        wait_until(lambda: count_done(output) and is_at_work(output), "a shard is done, one begun")
        first = find_workers(driver)
        kill(first[0])
        wait_until(lambda: set(find_workers(driver)) - set(first), "another one takes its place")
        later = find_workers(driver)
        kill(driver.pid or 0)
        wait_until(lambda: not any(map(is_running, later)), "no worker outlives the driver")
    check_finished(pattern, output, expected, None)


def drive_ray(pattern: str, output: Path, address: str) -> None:
    verify(pattern, output, RayEngine(address, 2))


@pytest.fixture(scope="module")
def ray_output(
    tmp_path_factory: pytest.TempPathFactory, files: tuple[str, Verdicts]
) -> Iterator[Path]:
    """The output of a job on a cluster of three nodes that lost one, and then its driver.

    The next driver, on what is left of the cluster, finishes the job.
    """
    from ray.cluster_utils import Cluster

    pattern, expected = files
    output = tmp_path_factory.mktemp("ray") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        cluster: Any = Cluster()
        try:
            # A short path: sockets lie below it.
            cluster.add_node(num_cpus=0, include_dashboard=False, temp_dir=f"{gettempdir()}/ray")
            nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
            cluster.wait_for_nodes()
            with start_driver(drive_ray, pattern, output, cluster.address) as driver:
                wait_until(lambda: count_done(output), "a shard is done")
                before = count_done(output)
                cluster.remove_node(nodes[0], allow_graceful=False)
                wait_until(lambda: count_done(output) > before, "the other node goes on")
                kill(driver.pid or 0)
            check_finished(pattern, output, expected, RayEngine(cluster.address, 2))
            yield output
        finally:
            cluster.shutdown()


@_RAY_WARNS
def test_ray(ray_output: Path, files: tuple[str, Verdicts]) -> None:
    assert read_output(ray_output) == files[1]


@_RAY_WARNS
def test_same_report_on_every_store_and_after_a_ray_run(
    ray_output: Path,
    files: tuple[str, Verdicts],
    postgres_place: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same answers, measured in one file and in shards, on four kinds of stores."""
    parts = sorted(Path(files[0]).parent.glob("*.jsonl"))
    whole = tmp_path / "all.jsonl"
    whole.write_bytes(b"".join(part.read_bytes() for part in parts))
    for place in (str(tmp_path / "s.db"), postgres_place):
        claimwise.measure(whole, verifier="overlap", store=place, run="job", system="job")
    with open_store(tmp_path / "s.db") as store:
        export_store(store, tmp_path / "parquet", "parquet")

    def report(place: str) -> dict[str, Any]:
        assert run(["report", "--store", place, "--run", "job", "--format", "json"]) == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        # When and where it was measured, and the ids that a shard gives to what only it has.
        del document["store"], document["run"]["started_at"], document["run"]["corpus_ver"]
        for claim in document["worst_claims"]:
            for name in ("labeled_at", "sample", "claim_id", "source_id"):
                del claim[name]
        return document

    expected = report(str(tmp_path / "s.db"))
    assert expected["worst_claims"]
    assert expected["headline"]["claims"] == 3 * FILES * ANSWERS
    assert report(postgres_place) == expected
    assert report(str(tmp_path / "parquet")) == expected
    assert report(str(ray_output)) == expected
