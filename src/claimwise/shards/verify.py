"""Verifies files of answers: plans shards, has an engine do those that are open, merges all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import msgspec

from claimwise.checking.run import describe_verifier
from claimwise.disk.urls import is_url, show_url
from claimwise.errors import ClaimwiseError
from claimwise.judges.judge import Verifier
from claimwise.shards.engines import ShardEngine
from claimwise.shards.items import MOST_SHARDS
from claimwise.shards.judging import JudgeSpec
from claimwise.shards.merge import merge_shards, name_merge
from claimwise.shards.places import (
    RECORD,
    SHARDS,
    OutputPlace,
    hash_input,
    list_inputs,
    open_output,
)
from claimwise.shards.values import (
    InputFile,
    JobSettings,
    Shard,
    ShardCounts,
    ShardOutcome,
    ShardPlan,
    ShardRecord,
    sum_counts,
)
from claimwise.shards.work import ShardJob, find_splitter
from claimwise.types.llm import FailureCode
from claimwise.types.progress import JudgeProgress, Watch

JOB = "job.json"
_CALL_FAILURES = frozenset(get_args(FailureCode))


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardsResult:
    """What a command did, and how all shards of its output stand."""

    run_id: str
    labeler: str
    output: str
    shards: int  # in the output, by now
    done_before: int  # of this command's files
    counts: ShardCounts  # of all shards in the output
    own: ShardCounts  # of the shards that this command verified
    failed: dict[str, str] = field(default_factory=dict)  # files that could not be, and why
    same: tuple[str, ...] = ()  # files with the same content
    settings: str | None = None  # prompts and mode of a language model

    def list_files(self) -> dict[str, Any]:
        """Return what became of the files, as plain values for JSON."""
        return {
            "output": self.output,
            "files": self.shards,
            "files_done_before": self.done_before,
            "files_failed": self.failed,
            "cpu_seconds": self.own.cpu_seconds,
            "rows_unread": self.counts.unread,
            "dropped": self.counts.dropped,
        }


def verify_shards(
    patterns: Sequence[str],
    output: str,
    judge: JudgeSpec,
    verifier: Verifier,
    engine: ShardEngine,
    *,
    run_id: str,
    options: dict[str, str],
    again: bool = False,
    watch: Watch | None = None,
) -> ShardsResult:
    """Verify every file that has not been verified yet, and make one store of all verdicts.

    Args:
        patterns: paths, folders, patterns or URLs of files with answers.
        output: the folder or URL for the verdicts. What is finished there is not done again.
        judge: what every worker loads.
        verifier: the same judge, loaded here.
        engine: who runs the workers.
        run_id: the run's id.
        options: how files are read, and what else decides the verdicts.
        again: verify everything again, whatever is there.
        watch: called with the progress, in shards.

    Raises:
        ClaimwiseError: no file is there, the output belongs to another job, or no worker can run.
    """
    files, place = list_inputs(patterns), open_output(output)
    settings = JobSettings(
        run_id=run_id,
        started_at=datetime.now(UTC),
        judge=describe_verifier(verifier),
        splitter=find_splitter(),
        options=options,
    )
    with place.lock():
        job = _open_job(place, output, settings, files, again=again)
    planned = [Shard(file=file, number=job.numbers[file.name]) for file in files]
    records = _read_records(place, [shard.folder for shard in planned])
    left = [
        shard
        for shard, record in zip(planned, records, strict=True)
        if _is_open(record, output, job.settings, shard)
    ]
    shared = output if is_url(output) else str(Path(output).absolute())
    work = ShardJob(settings=job.settings, judge=judge, output=shared)
    own, failed = _gather(_watch(engine.run(work, left), planned, left, watch))
    with place.lock():  # another command may have added files, and be about to merge as well
        job = _decode_job(place.read(JOB) or b"", output)
        done = [one for one in _list_done(place, job) if one[1].file.name not in failed]
        _check_shared(output, own, done)
        _merge(place, output, job, done)
    return ShardsResult(
        run_id=run_id,
        labeler=job.settings.judge.labeler,
        output=output,
        shards=len(done),
        done_before=len(planned) - len(left),
        counts=sum_counts(record.counts for _, record in done),
        own=sum_counts(own.values()),
        failed=failed,
        same=tuple(_list_same(done)),
        settings=job.settings.judge.prompt_ver,
    )


def _open_job(
    place: OutputPlace,
    output: str,
    settings: JobSettings,
    files: Sequence[InputFile],
    *,
    again: bool,
) -> ShardPlan:
    """Return the job of an output: the one that began there, with numbers for its new files.

    Raises:
        ClaimwiseError: what is there was judged in another way.
    """
    data = place.read(JOB)
    known = ShardPlan(settings=settings, numbers={}) if data is None else _decode_job(data, output)
    if not again:
        changes = known.settings.list_changes(settings)
        if changes:
            raise ClaimwiseError(
                f"{output}: its shards were verified in another way: {'; '.join(changes)}. Verify "
                "all of them again with --again, or choose another --output"
            )
        settings = known.settings
    numbers = dict(known.numbers)
    for file in files:
        numbers.setdefault(file.name, len(numbers))
    if len(numbers) > MOST_SHARDS:
        raise ClaimwiseError(f"{output}: more than {MOST_SHARDS:,} files; use several outputs")
    job = ShardPlan(settings=settings, numbers=numbers, merged=known.merged)
    if data is None or job != known:
        place.write(JOB, msgspec.json.encode(job))
    return job


def _decode_job(data: bytes, output: str) -> ShardPlan:
    try:
        return msgspec.json.decode(data, type=ShardPlan)
    except msgspec.DecodeError as error:
        raise ClaimwiseError(
            f"{output}/{JOB}: damaged, or of another version of claimwise ({error}); choose "
            "another --output"
        ) from error


def _is_open(record: ShardRecord | None, output: str, settings: JobSettings, shard: Shard) -> bool:
    """Tell whether a file is still to be verified: it is new, it has changed, or the job has.

    A file that was only touched or moved is recognised by its content. One with claims that a
    language model was asked about without a reply is asked again; replies that came are kept.

    Raises:
        ClaimwiseError: another file of that name has been verified.
    """
    if record is None or record.job != settings.fingerprint:
        return True
    if not _CALL_FAILURES.isdisjoint(record.counts.unscored):
        return True
    if record.file == shard.file or record.sha256 == hash_input(shard.file):
        return False
    if record.file.url != shard.file.url:
        raise ClaimwiseError(
            f"{output}: {shard.file.name} was verified from {record.file.url}, and "
            f"{shard.file.url} is another file; choose another --output, or name a folder above "
            "both with **"
        )
    return True


def _read_records(place: OutputPlace, folders: Sequence[str]) -> list[ShardRecord | None]:
    """Return the records of shards; None for those that are not done."""
    found = place.read_all([f"{SHARDS}/{folder}/{RECORD}" for folder in folders])
    return [None if data is None else msgspec.json.decode(data, type=ShardRecord) for data in found]


def _gather(
    outcomes: Iterator[tuple[Shard, ShardOutcome]],
) -> tuple[dict[str, ShardCounts], dict[str, str]]:
    """Return what came of each file that could be verified, and why others could not.

    Raises:
        ClaimwiseError: no worker can run.
    """
    own: dict[str, ShardCounts] = {}
    failed: dict[str, str] = {}
    for shard, outcome in outcomes:
        if outcome.fatal:
            raise ClaimwiseError(outcome.fatal)
        if outcome.record is None:
            failed[shard.file.name] = outcome.problem
        else:
            own[shard.file.name] = outcome.record.counts
    return own, failed


def _watch(
    outcomes: Iterator[tuple[Shard, ShardOutcome]],
    planned: Sequence[Shard],
    left: Sequence[Shard],
    watch: Watch | None,
) -> Iterator[tuple[Shard, ShardOutcome]]:
    done, unscored = len(planned) - len(left), 0
    for shard, outcome in outcomes:
        done += 1
        if outcome.record is not None:
            unscored += sum(outcome.record.counts.unscored.values())
        if watch is not None:
            watch(JudgeProgress(total=len(planned), done=done, unscored=unscored))
        yield shard, outcome


def _list_done(place: OutputPlace, job: ShardPlan) -> Iterator[tuple[str, ShardRecord]]:
    """Yield the shards of the job that are done, whichever command did them."""
    folders = [
        Shard(file=InputFile(name=name, url="", stamp=""), number=number).folder
        for name, number in job.numbers.items()
    ]
    for folder, record in zip(folders, _read_records(place, folders), strict=True):
        if record is not None and record.job == job.settings.fingerprint:
            yield folder, record


def _merge(
    place: OutputPlace, output: str, job: ShardPlan, records: list[tuple[str, ShardRecord]]
) -> None:
    """Make the tables, unless they are made of these very shards.

    Raises:
        ClaimwiseError: a shard can't be read, or the disk is full.
    """
    name = name_merge(records)
    if name == job.merged and place.read("runs.parquet") is not None:
        return
    try:
        merge_shards(place, job.settings, records)
    except OSError as error:
        raise ClaimwiseError(
            f"{show_url(output)}: the tables could not be made: {error.strerror or error}. All "
            "shards are there; run the command again to make the tables"
        ) from error
    place.write(JOB, msgspec.json.encode(msgspec.structs.replace(job, merged=name)))


def _check_shared(
    output: str, own: Collection[str], records: Sequence[tuple[str, ShardRecord]]
) -> None:
    """See to it that workers wrote where this process reads.

    Raises:
        ClaimwiseError: they did not, as when each node has a disk of its own.
    """
    missing = set(own) - {record.file.name for _, record in records}
    if missing:
        raise ClaimwiseError(
            f"{output}: {len(missing):,} of the files that workers have finished are not there; "
            "choose an --output that all nodes share, such as s3://…"
        )


def _list_same(records: Sequence[tuple[str, ShardRecord]]) -> Iterator[str]:
    """Say which files have the same answers: these count twice."""
    seen: dict[str, str] = {}
    for _, record in records:
        first = seen.setdefault(record.sha256, record.file.name)
        if first != record.file.name and record.counts.answers:
            yield f"{first} and {record.file.name} have the same content, which counts twice"
