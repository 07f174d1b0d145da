"""The progress bar of every command that judges."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from claimwise.command.judge import describe_cost
from claimwise.types.progress import JudgeProgress, Watch

if TYPE_CHECKING:
    from claimwise.llm.client import LlmClient


@contextmanager
def show_progress(
    what: str = "answers", client: LlmClient | None = None, *, after: float = 0.0
) -> Iterator[Watch]:
    """Show a bar on a terminal's standard error; elsewhere nothing.

    Beside it stand the rate, what the client has spent so far, and claims without a verdict. It
    appears when the work has taken ``after`` seconds.
    """
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[beside]}"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=None, beside="")
    begin = time.monotonic()

    def watch(progress: JudgeProgress) -> None:
        beside = describe_progress(progress, bar.tasks[task].elapsed or 0.0, client)
        bar.update(task, total=progress.total, completed=progress.done, beside=beside)
        if time.monotonic() - begin >= after:
            bar.start()

    if not after:
        bar.start()
    try:
        yield watch
    finally:
        bar.stop()


def describe_progress(
    progress: JudgeProgress, seconds: float, client: LlmClient | None = None
) -> str:
    """Return rate, cost so far and unscored claims as one line; or what is waited for."""
    cost = "" if client is None else describe_cost(client.tally.cost)
    if progress.note:
        return f"{cost} {progress.note}".strip()
    parts = [
        f"{progress.done / seconds:,.1f}/s" if seconds > 1 else "",
        cost,
        f"{progress.unscored:,} unscored",
    ]
    return " ".join(part for part in parts if part)
