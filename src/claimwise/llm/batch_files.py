"""Remembers on disk which batches were sent, so that a killed command pays for none twice.

A batch is one file, ``NAME.json``, which is replaced as a whole at every step:

1. *written*: nothing was sent. After a kill its requests are collected again.
2. *sent at*: from now on the provider may have taken it. After a kill it is looked for there.
3. *batch id*: it is under way. After a kill it is waited for.

When all results are kept, the file is removed. One process at a time looks and sends; any number
of them waits.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import msgspec

from claimwise.disk.output import hold_lock, replace_file
from claimwise.errors import LlmError
from claimwise.llm.wire import Features

_LOCK, _IGNORE = "lock", ".gitignore"
_IGNORED = b"# Batches that claimwise waits for; removed when their results are kept.\n*\n"


class BatchRecord(msgspec.Struct, kw_only=True):
    """How far a batch is."""

    name: str
    model: str  # "openai:gpt-4o"
    origin: str  # the host that it is sent to
    requests: list[tuple[str, str]]  # the cache's key and the prompt of each, in order
    features: Features
    # Its tokens, at most.
    input_tokens: int = 0
    output_tokens: int = 0
    upload: str = ""  # the provider's id of the uploaded file
    sent_at: datetime | None = None
    batch_id: str = ""
    certain: bool = True  # False: found by its time and size; its results will tell
    not_ours: list[str] = []  # ids of batches that turned out to be somebody else's

    @property
    def size(self) -> int:
        """The number of requests."""
        return len(self.requests)

    def make_id(self, number: int) -> str:
        """Return the id under which a request is sent: at most 64 characters."""
        return f"{self.name}-{number}"

    def find_number(self, custom_id: str) -> int | None:
        """Return which request an id stands for; None where it is not one of ours."""
        name, _, number = custom_id.rpartition("-")
        if name != self.name or not (number.isascii() and number.isdecimal()):
            return None
        return int(number) if int(number) < self.size else None


class BatchFolder:
    """The batches of one store that were sent and whose results are not all kept yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Let one process at a time look what is under way, and send what is not."""
        with hold_lock(self.path / _LOCK):
            if not (self.path / _IGNORE).exists():
                replace_file(self.path / _IGNORE, _IGNORED)
            yield

    def list(self, model: str, origin: str) -> list[BatchRecord]:
        """Return the batches for one model at one host.

        Raises:
            LlmError: a file can't be read.
        """
        found = [_read(path) for path in sorted(self.path.glob("*.json"))]
        return [one for one in found if one and (one.model, one.origin) == (model, origin)]

    def write(self, record: BatchRecord) -> None:
        """Write how far a batch is: the old state stands until the new one is on disk."""
        replace_file(self.find(record), msgspec.json.encode(record))

    def find(self, record: BatchRecord) -> Path:
        """Return the file of a batch."""
        return self.path / f"{record.name}.json"

    def remove(self, record: BatchRecord) -> None:
        """Forget a batch: its results are kept, or it was never taken."""
        self.find(record).unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the folder if nothing is under way."""
        if not self.path.exists():
            return
        with hold_lock(self.path / _LOCK), suppress(OSError):
            if not any(self.path.glob("*.json")):
                for name in (_IGNORE, _LOCK):
                    (self.path / name).unlink(missing_ok=True)
                self.path.rmdir()


def _read(path: Path) -> BatchRecord | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=BatchRecord)
    except FileNotFoundError:
        return None  # another process has just kept its results
    except (OSError, msgspec.DecodeError) as error:
        raise LlmError(
            f"{path}: this record of a batch can't be read ({error}); restore it, or delete it to "
            "ask again and pay again; nothing was sent"
        ) from error


def make_name() -> str:
    """Return a name that no other batch has."""
    return secrets.token_hex(8)
