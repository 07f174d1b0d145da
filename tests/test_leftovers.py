"""Nothing outlives a test run: no process, no folder, however the run ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from browser.conftest import CHROMIUM
from support.processes import find_descendants, is_running
from support.waiting import DEADLINE, wait_until
from support.watchdog import find_processes, make_run_folder, watch

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")

ROOT = Path(__file__).parent.parent
LINGERING = "tests/support/lingering.py"
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]


class LingeringRun:
    """A run of pytest with servers of every kind, and all the processes that belong to it."""

    def __init__(self, root: Path, command: list[str], *options: str) -> None:
        self.root = root
        ready, log = root.with_suffix(".json"), root.with_suffix(".log")
        ready.unlink(missing_ok=True)
        mark = f"LINGERING_RUN={uuid4()}"
        environment = {
            **{name: value for name, value in os.environ.items() if "PYTEST" not in name},
            **dict([mark.split("=")]),
            "LINGERING_READY": str(ready),
            "PYTEST_ADDOPTS": " ".join([LINGERING, *options]),
            "PYTEST_DEBUG_TEMPROOT": str(root),
        }
        self.others_memory = set(list_memory())
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                # A shell's background jobs, and all that they start, ignore Ctrl-C.
                ["env", "--default-signal=INT", *command], cwd=ROOT, env=environment,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        wait_until(
            lambda: ready.exists() or self.process.poll() is not None, "servers have started"
        )
        assert self.process.poll() is None, log.read_text("utf-8")
        found: dict[str, Any] = json.loads(ready.read_text("utf-8"))
        self.worker: int = found["worker"]
        self.folder = Path(found["folder"])
        lock_file = next(self.folder.glob("postgres-*/data/postmaster.pid"))
        postmaster = int(lock_file.read_text("utf-8").splitlines()[0])
        known = {self.process.pid, postmaster, *find_processes(Path(mark))}
        self.pids = known.union(*map(find_descendants, known))

    def list_remains(self) -> list[str]:
        """Return what is left of the run: processes, shared memory, folders."""
        running = [f"process {pid}" for pid in self.pids if is_running(pid)]
        new = [pid for one, pid in list_memory().items() if one not in self.others_memory]
        segments = [f"memory of {pid}" for pid in self.pids.intersection(new)]
        return running + segments + [str(path) for path in self.root.iterdir()]


def list_memory() -> dict[int, int]:
    """Return the system's segments of shared memory, each with the process that made it.

    A process may have the number of one that left a segment behind long ago.
    """
    head, *lines = Path("/proc/sysvipc/shm").read_text("ascii").splitlines()
    columns = head.split()
    segment, maker = columns.index("shmid"), columns.index("cpid")
    return {int(line.split()[segment]): int(line.split()[maker]) for line in lines}


Start = Callable[..., LingeringRun]


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder for a run of its own: its path is short, and the user postgres can enter it."""
    folder = Path(tempfile.gettempdir()) / "root"
    folder.mkdir()
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    started: list[LingeringRun] = []

    def start_run(command: list[str], *options: str) -> LingeringRun:
        started.append(LingeringRun(root, command, *options))
        return started[-1]

    yield start_run
    for run in started:  # where the test has failed
        for pid in filter(is_running, run.pids):
            os.kill(pid, signal.SIGKILL)
        run.process.wait(DEADLINE)


def press_ctrl_c(run: LingeringRun) -> None:
    for _ in range(2):  # who is impatient; a terminal sends it to the whole group
        os.killpg(run.process.pid, signal.SIGINT)


def send_sigterm(run: LingeringRun) -> None:
    run.process.terminate()


def kill_pytest(run: LingeringRun) -> None:
    run.process.kill()


def kill_worker(run: LingeringRun) -> None:
    assert run.worker != run.process.pid
    os.kill(run.worker, signal.SIGKILL)


MAKE = [
    "make",
    "unit",
    "COVERAGE=",
    f"BIN={Path(sys.executable).parent}",
    "--assume-old=.venv/.dev",
]
# Without workers, and with one: pytest itself has the servers, or a process of its own.
ENDS = {
    "Ctrl-C": ([*PYTEST, "-n1"], press_ctrl_c),
    "SIGKILL": ([*PYTEST, "-n1"], kill_pytest),
    "SIGTERM to make": ([*MAKE, "WORKERS=0"], send_sigterm),
}


@pytest.mark.parametrize(("command", "end"), ENDS.values(), ids=ENDS.keys())
def test_nothing_outlives_a_run(
    start: Start, command: list[str], end: Callable[[LingeringRun], None]
) -> None:
    run = start(command)
    programs = {Path(f"/proc/{pid}/exe").readlink().name for pid in run.pids if is_running(pid)}
    assert programs >= {"postgres", CHROMIUM.name, "node", Path(sys.executable).resolve().name}
    end(run)
    run.process.wait(DEADLINE)
    wait_until(lambda: not run.list_remains(), f"these are gone: {run.list_remains()}")


def test_a_dead_worker_leaves_nothing_while_the_run_goes_on(start: Start) -> None:
    """The controller replaces the worker; what the dead one had is gone all the same."""
    run = start([*PYTEST, "-n1"])
    theirs = find_processes(run.folder)
    assert len(theirs) > 3
    kill_worker(run)
    wait_until(lambda: not run.folder.exists(), "the worker's folder is gone")
    wait_until(lambda: not any(map(is_running, theirs)), "the worker's processes are gone")
    assert is_running(run.process.pid)
    kill_pytest(run)
    run.process.wait(DEADLINE)
    wait_until(lambda: not run.list_remains(), "the run's folder is gone")


# Where the watchdog is killed as well.


def start_sleeper(folder: Path, *, stubborn: bool = False) -> subprocess.Popen[bytes]:
    """Start a process that belongs to a folder, and never ends by itself."""
    refuse = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if stubborn else ""
    code = f"import signal\n{refuse}\nprint(flush=True)\nwhile True: signal.pause()"
    sleeper = subprocess.Popen(
        [sys.executable, "-c", code], env={"TMPDIR": str(folder)}, stdout=subprocess.PIPE
    )
    assert sleeper.stdout is not None
    sleeper.stdout.readline()
    return sleeper


def end_sleeper(sleeper: subprocess.Popen[bytes]) -> int:
    with sleeper:
        return sleeper.wait()


def test_next_run_clears_what_a_killed_watchdog_left(root: Path) -> None:
    folder, lock = make_run_folder(root)
    watchdog = watch(folder, lock)
    os.close(lock)
    sleeper = start_sleeper(folder)
    (folder / "deep").mkdir()
    (folder / "deep/file").write_text("left", "utf-8")

    another, lock = make_run_folder(root)
    assert folder.exists(), "its watchdog is alive"
    watchdog.kill()
    with watchdog:
        watchdog.wait()
    third, other_lock = make_run_folder(root)
    assert sorted(root.iterdir()) == sorted([another, third])
    assert end_sleeper(sleeper) == -signal.SIGTERM
    for descriptor in (lock, other_lock):
        os.close(descriptor)


def test_processes_that_refuse_to_go_are_killed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("support.watchdog._GRACE_SECONDS", 0.0)
    folder, lock = make_run_folder(root)
    stubborn = start_sleeper(folder, stubborn=True)
    bystander = start_sleeper(folder.with_name("elsewhere"))
    os.close(lock)
    _, lock = make_run_folder(root)
    os.close(lock)
    assert end_sleeper(stubborn) == -signal.SIGKILL
    assert bystander.poll() is None
    bystander.terminate()
    end_sleeper(bystander)
