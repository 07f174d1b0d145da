"""Verifies one shard: read, split, judge, write beside its place, rename.

This is all that a worker does, wherever it runs. It knows nothing of other shards, and nothing of a
shard is visible before all of it is, so a worker can be killed at any instant, and a shard that
was begun twice is there once.

A shard's answers go through a store of its own on this machine's disk, some at a time, and through
the same engine as any stored run. So their rows are those that a store would export, and memory
does not grow with the file.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import msgspec

from claimwise.checking.run import VerifyResult, describe_verifier, verify_run
from claimwise.errors import ClaimwiseError, InputError
from claimwise.measuring.gather import ReadAnswers, stream_answers
from claimwise.measuring.rows import SystemAnswers, make_run_rows
from claimwise.readers import write_files
from claimwise.shards.items import Samples, ShardItems, ShardRows, make_shard_runs
from claimwise.shards.judging import JudgeSpec, LoadedJudge
from claimwise.shards.places import fetch_input, hash_file, open_output
from claimwise.shards.values import (
    JobSettings,
    RunFacts,
    Shard,
    ShardCounts,
    ShardOutcome,
    ShardRecord,
    sum_counts,
)
from claimwise.store import Store, open_store
from claimwise.types.rows import (
    ActionEntry,
    Answer,
    Citation,
    Claim,
    Context,
    Item,
    ItemAttribute,
    Label,
    Placed,
    Row,
    RunAction,
    Source,
    Unscored,
)
from claimwise.types.traces import Trace

# What a shard writes. Runs and judges belong to the job: they are written once, at the end.
SHARD_ROWS: tuple[type[Row], ...] = (
    Source, Item, ItemAttribute, Answer, RunAction, Context, ActionEntry, Claim, Citation, Label,
    Unscored,
)  # fmt: skip
# Answers in memory at once. Whether a system keeps a log of its actions is asked of so many.
_TOGETHER = 5_000
_SHOWN_PROBLEMS = 5


class ShardJob(msgspec.Struct, frozen=True, kw_only=True):
    """What every worker of a job is given."""

    settings: JobSettings
    judge: JudgeSpec
    output: str


def find_splitter() -> str:
    """Return what splits answers into claims: a claimwise of some version."""
    return f"claimwise {version('claimwise')}"


class ShardWorker:
    """Verifies shards of a job, one after the other; the judge is loaded once.

    Raises:
        ClaimwiseError: the judge can't be loaded, or is not the one that the job began with.
    """

    def __init__(self, job: ShardJob) -> None:
        self._job = job
        self._output = open_output(job.output)
        self._judge = job.judge.load()
        self._check_same(job.settings)

    def close(self) -> None:
        """Close the judge's connections."""
        self._judge.close()

    def _check_same(self, settings: JobSettings) -> None:
        own = msgspec.structs.replace(
            settings, judge=describe_verifier(self._judge.verifier), splitter=find_splitter()
        )
        changes = settings.list_changes(own)
        if changes:
            raise ClaimwiseError(
                f"this worker differs from the command that started it: {'; '.join(changes)}; "
                "install the same claimwise everywhere"
            )

    def verify(self, shard: Shard) -> ShardOutcome:
        """Verify a shard and put its verdicts in place; what is wrong with it is in the outcome."""
        try:
            with fetch_input(shard.file) as path:
                return ShardOutcome(record=self._verify_file(path, shard))
        except InputError as error:
            first, *rest = str(error).splitlines()
            more = f" (and {len(rest):,} more lines like this)" if rest else ""
            return ShardOutcome(problem=f"{first}{more}")
        except ClaimwiseError as error:
            return ShardOutcome(problem=f"{shard.file.url}: {error}")
        except OSError as error:
            return ShardOutcome(problem=f"{shard.file.url}: {error.strerror or error}")

    def _verify_file(self, path: Path, shard: Shard) -> ShardRecord:
        begin = time.process_time()
        digest, found = hash_file(path), ReadAnswers()
        token = secrets.token_hex(4)  # a shard that is begun twice never mixes its files
        with self._output.work() as work:
            made = work / "shard"  # with the permissions of any folder: a work folder is private
            made.mkdir()
            slices: list[_Slice] = []
            samples: Samples = Counter()
            for number, traces in enumerate(_cut(self._stream(path, found))):
                one = _Slice(self._job.settings, shard, number, self._judge)
                one.verify(traces, samples, made / f"{token}-{number}")
                slices.append(one)
            if found.problems and not slices:
                raise InputError(found.problems[:20], more=len(found.problems) > 20)
            record = self._make_record(shard, digest, found, slices, token)
            record.counts.cpu_seconds = round(time.process_time() - begin, 3)
            self._output.add_shard(made, shard.folder, msgspec.json.encode(record))
        return record

    def _stream(self, path: Path, found: ReadAnswers) -> Iterator[Trace]:
        options = self._job.settings.options
        given = {name: value for name, value in options.items() if name in ("map", "values")}
        if not path.stat().st_size:
            return iter(())  # engines that write in parallel leave empty files
        return stream_answers(path, found, reader=options.get("reader"), options=given)

    def _make_record(
        self, shard: Shard, digest: str, found: ReadAnswers, slices: list[_Slice], token: str
    ) -> ShardRecord:
        read = ShardCounts(
            dropped=dict(found.dropped),
            unread=len(found.problems),
            problems=[str(problem) for problem in found.problems[:_SHOWN_PROBLEMS]],
        )
        runs: dict[str, RunFacts] = {}
        for one in slices:
            for run in one.runs:
                facts = runs.setdefault(run.run_id, RunFacts(system=run.system, models=[]))
                facts.models = list(
                    dict.fromkeys([*facts.models, *(trace.model for trace in run.traces)])
                )[:2]
        return ShardRecord(
            file=shard.file,
            sha256=digest,
            job=self._job.settings.fingerprint,
            folders=[f"{token}-{number}" for number in range(len(slices))],
            kinds=[row_type.kind for row_type in SHARD_ROWS],
            runs=runs,
            counts=sum_counts([read, *(one.counts for one in slices)]),
        )


def _cut(traces: Iterable[Trace]) -> Iterator[list[Trace]]:
    stream = iter(traces)
    while together := list(islice(stream, _TOGETHER)):
        yield together


class _Slice:
    """Some answers of a shard, verified together in a store of their own."""

    def __init__(
        self, settings: JobSettings, shard: Shard, number: int, judge: LoadedJudge
    ) -> None:
        self.runs: list[SystemAnswers] = []
        self.counts = ShardCounts()
        self._settings = settings
        self._shard = shard
        self._judge = judge
        self._tag = f"{shard.number}" if not number else f"{shard.number}.{number}"

    def verify(self, traces: list[Trace], samples: Samples, folder: Path) -> None:
        """Judge the answers and write their rows."""
        self.runs = make_shard_runs(self._settings, traces)
        with (
            tempfile.TemporaryDirectory(prefix="claimwise-") as place,
            open_store(Path(place) / "store.db", create=True) as store,
        ):
            parts = [self._verify_run(store, run, samples) for run in self.runs]
            self.counts = sum_counts(parts)
            rename = ShardRows(self._settings, self._tag).rename
            with store.snapshot():
                tables = [(one, rename(store.read_rows(one))) for one in SHARD_ROWS]
                write_files(folder, "parquet", tables)

    def _verify_run(self, store: Store, run: SystemAnswers, samples: Samples) -> ShardCounts:
        items = ShardItems(run.run_id, self._shard.number, samples)
        rows = make_run_rows(run, items)
        store.load((Placed(row, 0, 0) for row in rows), [self._shard.file.url])
        judge = self._judge
        return _count(verify_run(store, run.run_id, judge.verifier, threads=judge.threads))


def _count(result: VerifyResult) -> ShardCounts:
    return ShardCounts(
        answers=result.answers,
        failed=result.failed,
        abstained=result.abstained,
        without_claims=result.without_claims,
        split=result.split,
        judged=result.judged,
        verdicts=result.verdicts,
        unscored=result.unscored,
        bases={str(basis): count for basis, count in result.bases.items()},
        warnings=result.warnings,
    )
