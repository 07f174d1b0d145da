"""Ends what a test run has started and removes what it has written, however the run ends.

Each pytest process (of pytest-xdist: the controller and every worker) has a folder for all that is
temporary, and TMPDIR leads there. The folder's path is also the mark of the processes that belong
to it: they have it in their environment, or in their command line.

:func:`watch` starts this file as a process in a session of its own, out of reach of Ctrl-C. Its
input, the leash, ends when pytest has ended or was killed, by whatever signal: then it ends the
processes with that mark and removes the folder.

A watchdog can be killed too. So the folder of a run is locked as long as its watchdog lives, and
:func:`make_run_folder` first clears the folders that nobody has locked.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "cwtests-"  # short: paths of sockets have little room, and Chromium's are long
_GRACE_SECONDS = 10.0  # between SIGTERM and SIGKILL; PostgreSQL takes its shared memory with it
_LONGEST_SECONDS = 60.0


def make_run_folder(root: Path) -> tuple[Path, int]:
    """Clear what dead runs have left, and make a folder for this one.

    Returns:
        The folder, and the descriptor that locks it: close it when the watchdog has it.
    """
    with _lock(root):  # a folder that was made a moment ago is not locked yet
        for old in root.glob(f"{_PREFIX}*"):
            with suppress(OSError), _lock(old, fcntl.LOCK_NB):
                clear(old)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        folder.chmod(0o711)  # others, such as the user postgres, can walk through
        lock = os.open(folder, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def make_worker_folder(run_folder: Path, name: str) -> Path:
    """Make a folder for one of the processes of a run."""
    folder = run_folder / name
    folder.mkdir()
    folder.chmod(0o711)
    return folder


@contextmanager
def _lock(folder: Path, how: int = 0) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | how)
        yield
    finally:
        os.close(descriptor)


def watch(folder: Path, *locks: int) -> subprocess.Popen[str]:
    """Start a watchdog for a folder; keep what is returned: with it goes the leash."""
    watchdog = subprocess.Popen(
        # Neither its command line nor its environment names the folder: nobody takes it for prey.
        [sys.executable, "-I", "-S", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd="/",
        env={},
        pass_fds=locks,
        start_new_session=True,
    )
    assert watchdog.stdin is not None
    watchdog.stdin.write(f"{folder}\n")
    watchdog.stdin.flush()
    return watchdog


def clear(folder: Path) -> None:
    """End the processes that belong to a folder, and remove it with all that is in it."""
    end_processes(folder)
    for place in _find_mounts(folder):
        subprocess.run(["umount", "--lazy", place], check=False)
    shutil.rmtree(folder, ignore_errors=True)


def end_processes(folder: Path) -> None:
    """Ask the processes that belong to a folder to end; kill those that don't."""
    began = time.monotonic()
    asked: set[int] = set()
    while found := find_processes(folder):
        waited = time.monotonic() - began
        if waited > _LONGEST_SECONDS:
            return
        for pid in found:
            with suppress(ProcessLookupError):
                if waited > _GRACE_SECONDS:
                    os.kill(pid, signal.SIGKILL)
                elif pid not in asked:
                    os.kill(pid, signal.SIGTERM)
        asked |= set(found)
        time.sleep(0.05)


def find_processes(folder: Path) -> list[int]:
    """Return the processes that have a folder in their environment or command line."""
    if not Path("/proc/self/environ").exists():  # elsewhere than on Linux
        return []
    mark = os.fsencode(folder)
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if pid != os.getpid() and mark in _read_words(pid)]


def _read_words(pid: int) -> bytes:
    """Return a process's command line and environment; nothing of one that has ended."""
    try:
        process = Path(f"/proc/{pid}")
        return (process / "cmdline").read_bytes() + b"\0" + (process / "environ").read_bytes()
    except OSError:  # it is gone meanwhile, or someone else's
        return b""


def _find_mounts(folder: Path) -> list[str]:
    """Return what is mounted inside a folder, the latest first."""
    mounts = Path("/proc/self/mounts")
    lines = mounts.read_text("utf-8").splitlines() if mounts.exists() else []
    places = [line.split()[1] for line in lines]
    return [place for place in reversed(places) if place.startswith(f"{folder}/")]


def _main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folder = Path(sys.stdin.readline().rstrip("\n"))
    sys.stdin.read()
    if folder.is_absolute():  # else its pytest died before it had told
        clear(folder)


if __name__ == "__main__":
    _main()
