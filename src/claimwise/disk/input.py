"""Opens what a user names for reading: a file, a pipe or a device.

A regular file is read as it is. A pipe is read to its end, as ``<(program)`` in a shell needs it,
but nobody waits for it forever: a named pipe must be opened for writing within seconds, and a
writer may not be silent for longer than a slow language model would be. A device such as
/dev/zero never ends, so whoever reads a file whole says how much is too much.
"""

from __future__ import annotations

import errno
import io
import os
import select
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from claimwise.errors import InputError, Problem

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

WRITER_SECONDS = 10.0
SILENT_SECONDS = 600.0


def refuse(path: Path, found: str, expected: str = "", *, line: int | None = None) -> InputError:
    """Return the error for a file that can't be read at all."""
    problem = Problem(path=str(path), line=line, field=None, found=found, expected=expected)
    return InputError([problem])


def describe_failure(error: OSError) -> str:
    """Return in words why a file can't be read."""
    return f"can't be read: {error.strerror or error}"


def open_input(path: Path) -> BinaryIO:
    """Open a file, a pipe or a device for reading.

    Raises:
        InputError: nothing is there, it may not be read, or it is a folder or a socket.
    """
    try:
        if path.is_fifo():
            return cast(BinaryIO, io.BufferedReader(_Pipe(path)))
        return path.open("rb")
    except FileNotFoundError as error:
        raise refuse(path, "no such file") from error
    except IsADirectoryError as error:
        raise refuse(path, "a folder", "a file") from error
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise refuse(path, "a socket", "a file") from error
        raise refuse(path, describe_failure(error)) from error


def read_whole(path: Path, most: int, advice: str = "split the file") -> bytes:
    """Return the bytes of a file that is kept in memory as a whole.

    Raises:
        InputError: it can't be read, or is longer than ``most`` bytes.
    """
    with open_input(path) as file:
        try:
            data = file.read(most + 1)
        except OSError as error:
            raise refuse(path, describe_failure(error)) from error
    return check_length(path, data, most, advice)


def check_length(path: Path, data: bytes, most: int, advice: str = "split the file") -> bytes:
    """Return data of at most ``most`` bytes.

    Raises:
        InputError: there are more.
    """
    if len(data) > most:
        limit = show_size(most)
        raise refuse(path, f"over {limit}", f"at most {limit}: {advice}")
    return data


def show_size(count: int) -> str:
    """Return a number of bytes in the unit that people would use for it."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= size:
            return f"{count / size:g} {unit}"
    return f"{count} bytes"


class _Pipe(io.RawIOBase):
    """A pipe that is given up when nobody writes to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Otherwise opening alone would wait until somebody writes.
        self._handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        # A pipe without a name, as <(program) makes one, had its writer before it came to us.
        self._had_writer = not path.resolve().is_fifo()

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            os.close(self._handle)
        super().close()

    def readinto(self, buffer: WriteableBuffer) -> int:
        while True:
            try:
                count = os.readv(self._handle, [buffer])
            except BlockingIOError:
                self._wait(SILENT_SECONDS, "a pipe through which nothing came")
                continue
            if count or self._had_writer:
                return count
            # Before the first writer came, reading looks like the end.
            self._wait(WRITER_SECONDS, "a pipe that nobody wrote to")
            self._had_writer = True

    def _wait(self, seconds: float, found: str) -> None:
        ready = select.poll()
        ready.register(self._handle, select.POLLIN)
        if not ready.poll(seconds * 1000):
            raise refuse(
                self._path, f"{found} for {seconds:g} s", "a file, or a pipe that is written to"
            )
