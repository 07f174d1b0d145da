"""Keeps the index of a corpus, so that it is built once for what the documents say.

An index lies in the user's cache folder under the hash of everything it was made from: documents,
the rules that cut them, and the version of claimwise. A changed document gives another name, so no
stale index is ever found. It is a plain archive of arrays: nothing in it is run, and what can't be
read, or does not fit together, is rebuilt and replaced. Where nothing can be written, nothing
is kept.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from claimwise.disk.output import replace_file
from claimwise.types.rows import Source

Arrays = dict[str, Any]  # of numpy arrays

_FORMAT = 1  # raised with every change of how passages are cut, read or weighed
_ENDING = ".npz"
# What was not used for longest goes first; the one in use stays, however large.
_KEPT = 20
_MOST_BYTES = 2 * 2**30


def name_index(documents: Iterable[Source]) -> str:
    """Return the file name of the index of some documents."""
    digest = sha256(f"index {_FORMAT} of claimwise {version('claimwise')}".encode())
    for document in documents:
        for text in (document.source_id, document.title or "", document.source_text):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(f"{len(data)}:".encode() + data)
    return f"{digest.hexdigest()}{_ENDING}"


def read_arrays(path: Path) -> Arrays | None:
    """Return what was kept; None where there is nothing, or nothing that can be read."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            found = {name: kept[name] for name in kept.files}
        os.utime(path)  # it was used
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error):
        return None
    return found


def keep_arrays(path: Path, arrays: Arrays) -> None:
    """Keep arrays, whole or not at all; a folder that can't be written to keeps nothing."""
    data = BytesIO()
    np.savez(data, **arrays)
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, data.getvalue())
        _drop_oldest(path.parent)


def _drop_oldest(folder: Path) -> None:
    """Remove what was not used for longest, until few enough indexes and bytes are left."""
    found = [(path, path.stat()) for path in folder.glob(f"*{_ENDING}")]
    room = _MOST_BYTES
    for number, (path, about) in enumerate(sorted(found, key=lambda one: -one[1].st_mtime_ns)):
        room -= about.st_size
        if number >= _KEPT or (number and room < 0):
            path.unlink(missing_ok=True)
