"""Writes files whole or not at all, with the permissions that the user's umask gives.

What is being written lies beside its final name under a hidden one, and is locked. A process that
is killed leaves it there without its lock, so the next one can tell it from what a live process
is working on, and removes it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: nothing is locked, and leftovers stay
    fcntl = None  # type: ignore[assignment]

_PREFIX = ".claimwise-part-"
_LEFTOVER = re.compile(re.escape(_PREFIX) + r"[0-9a-f]{8}")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file: its old content stands until the new one is complete.

    A file that was there keeps its permissions, and a link goes on pointing where it did. What is
    no file, such as /dev/null or a pipe, is written to as it stands.

    Raises:
        OSError: it can't be written; it is as it was.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    target = path.resolve()
    with _work_in(target.parent, folder=False) as work:
        with work.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        move_into_place(work, target)


def move_into_place(work: Path, target: Path) -> None:
    """Give a complete file its final name, and the permissions of the file that it replaces."""
    with suppress(FileNotFoundError):
        work.chmod(stat.S_IMODE(target.stat().st_mode))
    work.replace(target)


@contextmanager
def work_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder for files on their way to ``parent``; it is gone afterwards."""
    with _work_in(parent, folder=True) as work:
        yield work


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait until no other process is inside with the same file; a killed one is inside no more.

    The file and its folder are made, and may be removed by whoever is inside. Where a disk knows
    no locks, nobody waits.
    """
    while True:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue  # the folder was removed a moment ago
        try:
            if fcntl is not None:
                with suppress(OSError):
                    fcntl.flock(handle, fcntl.LOCK_EX)
            # Whoever was inside may have removed the file: then it is nobody's lock any more.
            if _is_same_file(handle, path):
                yield
                return
        finally:
            os.close(handle)


def _is_same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def _work_in(parent: Path, *, folder: bool) -> Iterator[Path]:
    _remove_leftovers(parent)
    work, handle = _make_locked(parent, folder=folder)
    try:
        yield work
    finally:
        _remove(work)
        os.close(handle)


def _make_locked(parent: Path, *, folder: bool) -> tuple[Path, int]:
    """Make a file or folder; return it with the handle that holds its lock."""
    while True:
        work = parent / f"{_PREFIX}{secrets.token_hex(4)}"
        if folder:
            work.mkdir(0o700)
        else:
            os.close(os.open(work, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        handle = _open_locked(work)
        if handle is not None:
            return work, handle


def _open_locked(work: Path) -> int | None:
    """Open and lock what was just made; None when another process took it for a leftover."""
    try:
        handle = os.open(work, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        _lock(handle)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:
        return handle  # not every disk knows locks; there, leftovers stay
    if work.exists():
        return handle
    os.close(handle)
    return None


def _lock(handle: int) -> None:
    """Lock a file or folder until its handle is closed.

    Raises:
        OSError: another process holds the lock, or there are no locks here.
    """
    if fcntl is None:  # pragma: no cover - Windows
        raise OSError("no locks")
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_leftovers(parent: Path) -> None:
    """Remove what killed processes left in a folder."""
    found: list[Path] = []
    with suppress(OSError):
        found += (path for path in parent.iterdir() if _LEFTOVER.fullmatch(path.name))
    for path in found:
        # What can't be opened, locked or removed is in use, or another user's: it stays.
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                _lock(handle)
                _remove(path)
            finally:
                os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
