"""Where answers are read from and verdicts go: folders of this machine, or any fsspec URL.

A shard becomes visible at one instant. In a folder that is the renaming of a complete folder; at a
URL, where nothing can be renamed, its record is written after everything that it names.
"""

from __future__ import annotations

import glob
import hashlib
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from claimwise.disk.duckdb_files import add_url_files
from claimwise.disk.input import describe_failure, refuse
from claimwise.disk.output import hold_lock, replace_file, work_folder
from claimwise.disk.urls import is_url, open_url, url_errors
from claimwise.errors import ClaimwiseError
from claimwise.shards.values import InputFile

SHARDS = "shards"
RECORD = "shard.json"
_CHUNK = 1 << 20
_BUCKETS = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oci", "oss"})
_REQUESTS = 16  # under way at once: far away, each takes longer to come back than to be answered


def list_inputs(patterns: Sequence[str]) -> list[InputFile]:
    """Return the files that paths, folders, patterns and URLs name, in the order of their names.

    Raises:
        ClaimwiseError: one names nothing, or two files have the same name below their folders.
    """
    found: dict[str, InputFile] = {}
    for pattern in patterns:
        files = _list_remote(pattern) if is_url(pattern) else _list_local(pattern)
        if not files:
            raise ClaimwiseError(
                f"{pattern}: no such file; quote the pattern, as 'answers/*.jsonl'"
            )
        for file in files:
            known = found.setdefault(file.name, file)
            if known.url != file.url:
                raise ClaimwiseError(
                    f"{known.url} and {file.url} are both called {file.name}; verify them into "
                    "different outputs, or name a folder above both with **"
                )
    return [found[name] for name in sorted(found)]


def _list_local(pattern: str) -> list[InputFile]:
    path = Path(pattern)
    if path.is_file():
        root, paths = path.parent, [path]
    elif path.is_dir():
        root, paths = path, [one for one in path.rglob("*") if one.is_file()]
    else:
        root = _find_root(path)
        paths = [one for one in map(Path, glob.glob(pattern, recursive=True)) if one.is_file()]
    names = {path.relative_to(root).as_posix(): path.resolve() for path in paths}
    return [
        InputFile(name=name, url=str(path), stamp=_stamp(path))
        for name, path in names.items()
        if not any(part.startswith(".") for part in PurePosixPath(name).parts)
    ]


def _find_root(pattern: Path) -> Path:
    """Return the folder that a pattern begins with: what stands before the first wildcard."""
    parts = pattern.parts[:-1]
    fixed = next((n for n, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return Path(*parts[:fixed])


def _stamp(path: Path) -> str:
    found = path.stat()
    return f"{found.st_size}-{found.st_mtime_ns}"


def _list_remote(pattern: str) -> list[InputFile]:
    with url_errors(pattern):
        fs, path = open_url(pattern)
        if glob.has_magic(path):
            root, paths = str(_find_root(Path(path))), fs.glob(path)
        elif fs.isdir(path):
            root, paths = path, fs.find(path)
        else:
            root, paths = str(PurePosixPath(path).parent), [path] if fs.exists(path) else []
        return [
            InputFile(
                name=str(PurePosixPath(one).relative_to(root)),
                url=fs.unstrip_protocol(one),
                stamp=str(fs.ukey(one)),
            )
            for one in paths
            if fs.isfile(one)
        ]


@contextmanager
def fetch_input(file: InputFile) -> Iterator[Path]:
    """Yield a file on this machine's disk; one at a URL is fetched, and gone afterwards.

    Raises:
        ClaimwiseError: it can't be read.
    """
    if not is_url(file.url):
        yield Path(file.url)
        return
    with tempfile.TemporaryDirectory(prefix="claimwise-") as folder:
        path = Path(folder) / PurePosixPath(file.name).name
        with url_errors(file.url):
            fs, remote = open_url(file.url)
            fs.get_file(remote, str(path))
        yield path


def hash_input(file: InputFile) -> str:
    """Return the SHA-256 of a file's bytes.

    Raises:
        ClaimwiseError: it can't be read.
    """
    with fetch_input(file) as path:
        return hash_file(path)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes.

    Raises:
        InputError: it can't be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while part := file.read(_CHUNK):
                digest.update(part)
    except OSError as error:
        raise refuse(path, describe_failure(error)) from error
    return digest.hexdigest()


class OutputPlace(Protocol):
    """Where verdicts go."""

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a small file; None where there is none."""
        ...

    def read_all(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of many small files; None where there is none."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Write a small file, whole or not at all."""
        ...

    def lock(self) -> AbstractContextManager[None]:
        """Wait until no other command plans or merges; at a URL, nobody waits."""
        ...

    def work(self) -> AbstractContextManager[Path]:
        """Open a folder of this machine's disk for what is being made; it is gone afterwards."""
        ...

    def add_shard(self, folder: Path, name: str, record: bytes) -> None:
        """Put a complete shard in place of whatever is there under its name."""
        ...

    def add_file(self, path: Path, name: str) -> None:
        """Put a complete file in its place."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        ...

    def open_for(self, database: Any) -> Callable[[str], str]:
        """Let DuckDB read files; return what gives the name by which it finds one."""
        ...


def open_output(place: str) -> OutputPlace:
    """Return where verdicts go; a folder is made when missing.

    Raises:
        ClaimwiseError: it can't be used.
    """
    if is_url(place):
        return _RemotePlace(place, *open_url(place))
    try:
        return _LocalPlace(Path(place))
    except OSError as error:
        raise ClaimwiseError(f"{place}: {error.strerror}; name another --output") from error


class _LocalPlace:
    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        (self._root / SHARDS).mkdir(parents=True, exist_ok=True)

    def read(self, name: str) -> bytes | None:
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None

    def read_all(self, names: Sequence[str]) -> list[bytes | None]:
        return [self.read(name) for name in names]

    def write(self, name: str, data: bytes) -> None:
        replace_file(self._root / name, data)

    def lock(self) -> AbstractContextManager[None]:
        return hold_lock(self._root / "job.lock")

    @contextmanager
    def work(self) -> Iterator[Path]:
        """Beside the shards: a rename from elsewhere would be a copy."""
        with work_folder(self._root / SHARDS) as work:
            yield work

    def add_shard(self, folder: Path, name: str, record: bytes) -> None:
        (folder / RECORD).write_bytes(record)
        _sync(folder)
        target = self._root / SHARDS / name
        while True:
            try:
                folder.rename(target)
                break
            except OSError:
                # Another worker was faster, or the file has changed since: the later one stays.
                # Killed here, the shard is not there, and is verified again.
                if not target.is_dir():
                    raise
                with suppress(FileNotFoundError):
                    target.rename(folder.with_name(f"old-{secrets.token_hex(4)}"))

    def add_file(self, path: Path, name: str) -> None:
        path.replace(self._root / name)

    def remove(self, name: str) -> None:
        (self._root / name).unlink(missing_ok=True)

    def open_for(self, database: Any) -> Callable[[str], str]:
        return lambda name: glob.escape(str(self._root / name))


def _sync(folder: Path) -> None:
    """See to it that what a record names is on disk before the record can be seen."""
    for path in (*folder.rglob("*"), folder):
        if os.name == "nt" and path.is_dir():
            continue  # there, a folder can't be opened
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class _RemotePlace:
    def __init__(self, place: str, filesystem: Any, root: str) -> None:
        self._filesystem = filesystem
        self._place = place
        self._root = root.rstrip("/")

    def _join(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _make_folder(self, folder: str) -> None:
        """Make a folder where there are any: in a bucket, asking for one would make the bucket."""
        protocol = self._filesystem.protocol
        if _BUCKETS.isdisjoint([protocol] if isinstance(protocol, str) else protocol):
            self._filesystem.makedirs(folder, exist_ok=True)

    def read(self, name: str) -> bytes | None:
        with url_errors(self._place):
            try:
                return bytes(self._filesystem.cat_file(self._join(name)))
            except FileNotFoundError:
                return None

    def read_all(self, names: Sequence[str]) -> list[bytes | None]:
        with ThreadPoolExecutor(_REQUESTS) as pool:
            return list(pool.map(self.read, names))

    def write(self, name: str, data: bytes) -> None:
        with url_errors(self._place):
            self._make_folder(self._root)
            self._filesystem.pipe_file(self._join(name), data)

    def lock(self) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def work(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="claimwise-") as folder:
            yield Path(folder)

    def add_shard(self, folder: Path, name: str, record: bytes) -> None:
        """Upload the files first: a shard without its record is not there."""
        target = f"{SHARDS}/{name}"
        files = [path for path in folder.rglob("*") if path.is_file()]
        names = [f"{target}/{path.relative_to(folder).as_posix()}" for path in files]
        with ThreadPoolExecutor(_REQUESTS) as pool:
            list(pool.map(self.add_file, files, names))
        self.write(f"{target}/{RECORD}", record)

    def add_file(self, path: Path, name: str) -> None:
        with url_errors(self._place):
            remote = self._join(name)
            self._make_folder(str(PurePosixPath(remote).parent))
            self._filesystem.put_file(str(path), remote)

    def remove(self, name: str) -> None:
        with url_errors(self._place), suppress(FileNotFoundError):
            self._filesystem.rm_file(self._join(name))

    def open_for(self, database: Any) -> Callable[[str], str]:
        add = add_url_files(database, self._filesystem)
        return lambda name: add(self._join(name))
