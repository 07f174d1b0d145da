"""Reads the answers of files and folders with whichever reader knows their format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from claimwise.disk.input import refuse
from claimwise.errors import InputError, Problem
from claimwise.readers.choose import ChosenReader, choose_reader
from claimwise.readers.documents import STDIN
from claimwise.types.traces import Dropped, Recognised, Trace

_UNKNOWN = (
    "not in a format that claimwise can read; name the columns of a table (--map "
    "question=ask,answer=reply,contexts=docs), or choose a reader (--reader NAME; `claimwise "
    "plugins` lists them)"
)
_NO_ANSWER = "no answer in the file"
NO_QUESTION = "(unknown)"


@dataclass(slots=True)
class ReadAnswers:
    """What files held: answers, what they were read as, and what was left out or can't be read."""

    traces: list[Trace] = field(default_factory=list)
    readers: dict[str, None] = field(default_factory=dict)
    recognised: dict[str, Recognised] = field(default_factory=dict)  # by what it says
    dropped: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)

    @property
    def reader(self) -> str:
        """The names of the readers, as one."""
        return ", ".join(self.readers)


def read_measured_files(
    paths: Sequence[Path],
    *,
    reader: str | None = None,
    options: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> ReadAnswers:
    """Read the answers of files; a folder that no reader takes as a whole stands for its files.

    Args:
        paths: files and folders.
        reader: the reader's name; else each file's content decides.
        options: what readers are told: "map" and "values".
        limit: stop after so many answers.

    Raises:
        InputError: nothing could be read; what could not is otherwise in ``problems``.
        ClaimwiseError: there is no such reader.
    """
    found = gather_answers(paths, reader=reader, options=options, limit=limit)
    if not found.traces:
        raise (
            InputError(found.problems[:20], more=len(found.problems) > 20)
            if (found.problems)
            else refuse(paths[0], "no answers", "at least one question with its answer")
        )
    return found


def gather_answers(
    paths: Sequence[Path],
    *,
    reader: str | None = None,
    options: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> ReadAnswers:
    """Read as `read_measured_files` does; files without an answer are in ``problems`` as well.

    ``-`` is standard input.
    """
    found = ReadAnswers()
    for path, chosen in _choose_readers(paths, reader, found):
        try:
            _read_file(path, chosen, options or {}, limit, found)
        except InputError as error:
            found.problems += error.problems
        if limit is not None and len(found.traces) >= limit:
            break
    return found


def _choose_readers(
    paths: Sequence[Path], name: str | None, found: ReadAnswers
) -> Iterator[tuple[Path, ChosenReader]]:
    for path in paths:
        any_format = "trace" if path == STDIN else None  # a pipe can't be read twice
        chosen = choose_reader(path, "traces", name or any_format)
        if chosen is not None:
            yield path, chosen
        elif path.is_dir():
            yield from _choose_in_folder(path, found)
        elif not path.exists():
            found.problems.append(_tell(path, "no such file"))
        else:
            found.problems.append(_tell(path, _UNKNOWN))


def _choose_in_folder(folder: Path, found: ReadAnswers) -> Iterator[tuple[Path, ChosenReader]]:
    """Yield the files of a folder that a reader knows, by name; the others are counted."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or any(part.startswith(".") for part in path.parts):
            continue
        chosen = choose_reader(path, "traces")
        if chosen is None:
            found.dropped["files in a format that claimwise can't read"] += 1
        else:
            yield path, chosen


def _tell(path: Path, wrong: str, expected: str = "") -> Problem:
    return Problem(path=str(path), line=None, field=None, found=wrong, expected=expected)


def _read_file(
    path: Path,
    chosen: ChosenReader,
    options: Mapping[str, str],
    limit: int | None,
    found: ReadAnswers,
) -> None:
    for trace in _stream_file(path, chosen, options, found):
        found.traces.append(trace)
        if limit is not None and len(found.traces) >= limit:
            return


def stream_answers(
    path: Path, found: ReadAnswers, *, reader: str | None = None, options: Mapping[str, str]
) -> Iterator[Trace]:
    """Yield the answers of one file, however many; what else is in it goes to ``found``.

    Raises:
        InputError: no reader knows the file, or it can't be read to its end.
        ClaimwiseError: there is no such reader.
    """
    chosen = choose_reader(path, "traces", reader)
    if chosen is None:
        raise refuse(path, _UNKNOWN)
    return _stream_file(path, chosen, options, found)


def _stream_file(
    path: Path, chosen: ChosenReader, options: Mapping[str, str], found: ReadAnswers
) -> Iterator[Trace]:
    found.readers[chosen.entry.name] = None
    for _, record in chosen.reader.read(path, options):
        if isinstance(record, Recognised):
            found.recognised.setdefault(record.describe(), record)
        elif isinstance(record, Dropped):
            found.dropped[record.what] += record.count
        elif isinstance(record, Trace):
            yield _complete(record)
        elif isinstance(record, Problem):
            found.problems.append(record)


def _complete(trace: Trace) -> Trace:
    """Return an answer as the store takes it: an empty one is a failure, a question has words."""
    if not trace.answer.strip() and not trace.failure:
        trace = replace(trace, failure="the answer is empty")
    return trace if trace.question.strip() else replace(trace, question=NO_QUESTION)
