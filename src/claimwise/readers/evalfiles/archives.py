"""Reads the members of a ZIP file in bounds: a small file can't fill the memory.

Sizes in a ZIP file's directory may lie, so what is really unpacked is counted. Names of members are
only compared, never used as paths.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from lzma import LZMAError
from pathlib import Path

from claimwise.disk.input import open_input, refuse, show_size
from claimwise.readers.files import MAX_LOADED_BYTES, MAX_UNPACKED_BYTES

MAX_MEMBERS = 200_000
MAX_RATIO = 300
_HARMLESS_BYTES = 64 * 1024 * 1024  # of any ratio: text that repeats itself packs well
_CHUNK = 1 << 20


def read_members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Yield the names and bytes of the members whose names are wanted, in the file's order.

    Raises:
        InputError: it is damaged, encrypted or beyond the limits, or a member is packed in a way
            that this Python does not know, as Zstandard before 3.14.
    """
    with open_input(path) as file:
        if not path.is_file():
            raise refuse(path, "a pipe or a device", "a file: ZIP files are read from their end")
        size = path.stat().st_size
        allowed = min(MAX_UNPACKED_BYTES, max(_HARMLESS_BYTES, size * MAX_RATIO))
        try:
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
                if len(members) > MAX_MEMBERS:
                    raise refuse(path, f"{len(members):,} members", f"at most {MAX_MEMBERS:,}")
                for member in members:
                    if wanted(member.filename):
                        data = _read_member(path, archive, member, min(allowed, MAX_LOADED_BYTES))
                        allowed -= len(data)
                        yield member.filename, data
        except NotImplementedError as error:
            found = f"a packing that this Python can't unpack ({error})"
            advice = "a log written as JSON: inspect log convert --to json, or Python 3.14"
            raise refuse(path, found, advice) from error
        except (
            zipfile.BadZipFile,
            zlib.error,
            LZMAError,
            EOFError,
            OSError,
            RuntimeError,
        ) as error:
            raise refuse(path, f"a damaged ZIP file ({error})", "a complete file") from error


def _read_member(
    path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, allowed: int
) -> bytes:
    parts: list[bytes] = []
    taken = 0
    with archive.open(member) as file:
        while part := file.read(_CHUNK):
            taken += len(part)
            if taken > allowed:
                found = f"over {show_size(allowed)} when unpacked"
                raise refuse(path, found, "a log of the usual size: split it")
            parts.append(part)
    return b"".join(parts)
