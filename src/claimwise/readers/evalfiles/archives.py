"""Reads the members of a ZIP file in bounds: a small file can't fill the memory.

Sizes in a ZIP file's directory may lie, so what is really unpacked is counted. Names of members are
only compared, never used as paths.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from lzma import LZMAError
from pathlib import Path
from typing import cast

from claimwise.disk.input import open_input, refuse, show_size
from claimwise.readers.files import MAX_LOADED_BYTES, MAX_UNPACKED_BYTES

MAX_MEMBERS = 200_000
MAX_RATIO = 300
_HARMLESS_BYTES = 64 * 1024 * 1024  # of any ratio: text that repeats itself packs well
_ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


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
            found = "Zstandard compression, which this Python can't unpack"
            advice = "JSON (inspect log convert --to json), or: pip install 'claimwise[zstd]'"
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
    try:
        with archive.open(member) as file:
            data = file.read(allowed + 1)
    except NotImplementedError:
        # Newer Inspect packs with Zstandard, which Python knows from 3.14 on.
        if member.compress_type != _ZSTANDARD or find_spec("zstandard") is None:
            raise
        data = _unpack_zstandard(_read_packed(archive, member), allowed + 1)
    if len(data) > allowed:
        limit = show_size(allowed)
        raise refuse(path, f"a member of over {limit} when unpacked", "a file of the usual size")
    return data


def _read_packed(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return a member as it is packed: zipfile hands out only what it can unpack."""
    file = archive.fp
    if file is None:
        raise zipfile.BadZipFile("it was closed")
    file.seek(member.header_offset)
    start = file.read(_LOCAL_HEADER.size)
    if len(start) < _LOCAL_HEADER.size or not start.startswith(b"PK\x03\x04"):
        raise zipfile.BadZipFile("a member is not where the directory says")
    *_, name_length, extra_length = _LOCAL_HEADER.unpack(start)
    file.seek(name_length + extra_length, io.SEEK_CUR)
    return file.read(min(member.compress_size, MAX_LOADED_BYTES))


def _unpack_zstandard(packed: bytes, most: int) -> bytes:
    zstandard = import_module("zstandard")
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed))
        return cast(bytes, reader.read(most))
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile(str(error)) from error
