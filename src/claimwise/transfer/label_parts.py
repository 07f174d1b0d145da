"""Imports a large file of labels with several processes: each reads and checks a part of it."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from claimwise.command.processes import follow_parent
from claimwise.errors import ClaimwiseError
from claimwise.readers.blocks import Span, cut_file, find_plain_type, read_span
from claimwise.store import MOST_PARTS, LoadCount, Part, Store, prepare_part
from claimwise.types.rows import Label

SMALLEST_BYTES: Final = 16 << 20
"""Smaller files are imported before processes have started."""


def import_label_parts(
    store: Store, paths: Sequence[Path], kind: str | None, *, lenient: bool, processes: int
) -> LoadCount | None:
    """Add the labels of one large file of JSON Lines; None, and nothing, if that is not what it is.

    What is added, and whether, is what the usual import would add. Labels that it would refuse, or
    find in the store, are left to it: it says what is wrong, and where.
    """
    if processes < 2 or store.engine_name != "sqlite" or len(paths) != 1:
        return None
    [path] = paths
    if find_plain_type(path, kind) is not Label or path.stat().st_size < SMALLEST_BYTES:
        return None
    spans = cut_file(path, max(processes, MOST_PARTS))
    with (
        TemporaryDirectory(prefix="claimwise-", dir=os.environ.get("SQLITE_TMPDIR")) as folder,
        ProcessPoolExecutor(processes, get_context("spawn"), _start_process) as pool,
    ):
        prepare = partial(_prepare_all, pool, Path(folder), path, spans, lenient)
        try:
            return store.load_label_parts(len(spans), prepare)
        finally:
            pool.shutdown(cancel_futures=True)


def _prepare_all(
    pool: ProcessPoolExecutor,
    folder: Path,
    path: Path,
    spans: Sequence[Span],
    lenient: bool,
    place: Path,
) -> Iterator[Part | None]:
    under_way = [
        pool.submit(_prepare, place, folder / f"part-{number}.db", path, span, lenient)
        for number, span in enumerate(spans)
    ]
    for future in under_way:
        try:
            yield future.result()
        except BrokenProcessPool:  # one was killed, as when memory runs out
            yield None


def _start_process() -> None:
    """Go when the parent is gone, and at once on Ctrl-C: what was begun is undone."""
    follow_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # millions of rows hold no cycles, and the process ends soon


def _prepare(place: Path, part: Path, path: Path, span: Span, lenient: bool) -> Part | None:
    """Prepare one part in a process of its own; what goes wrong is for the usual import to say."""
    try:
        return prepare_part(place, part, read_span(path, Label, span), lenient=lenient)
    except (ClaimwiseError, OSError):
        return None
