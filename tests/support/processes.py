"""Looks at processes through /proc."""

from __future__ import annotations

from pathlib import Path


def find_children(pid: int) -> list[int]:
    """Return the processes that a process has started and that have not been reaped."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, thread.read_text("ascii").split())
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
    return found


def find_descendants(pid: int) -> list[int]:
    """Return a process's children, their children, and so on."""
    children = find_children(pid)
    return [*children, *(one for child in children for one in find_descendants(child))]


def is_running(pid: int) -> bool:
    """Return whether a process is there and has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def has_pending_signal(pid: int) -> bool:
    """Return whether a process has been sent a signal that it has not handled yet."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    pending = [line.split()[1] for line in status if line.startswith(("SigPnd", "ShdPnd"))]
    return any(int(mask, 16) for mask in pending)
