"""What a job over shards is made of: its settings, its files, and what came of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec

from claimwise.types.rows import Labeler

_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 80
_SHOWN_PROBLEMS = 5


class InputFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of answers. ``name`` is its path below the folder that the pattern begins with."""

    name: str
    url: str
    stamp: str  # changes with the file: size and time, or what its store says


class JobSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What decides every verdict of a job, and when it began: the time of all its labels."""

    run_id: str
    started_at: datetime
    judge: Labeler
    splitter: str
    options: dict[str, str]

    @property
    def fingerprint(self) -> str:
        """What shards of this very job carry."""
        return sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:32]

    def list_changes(self, other: JobSettings) -> list[str]:
        """Say in words how another job's settings differ from these; times may."""
        pairs = [
            ("run", self.run_id, other.run_id),
            ("judge", _describe_judge(self.judge), _describe_judge(other.judge)),
            ("splitter", self.splitter, other.splitter),
            *(
                (name.replace("_", "-"), self.options.get(name, "—"), other.options.get(name, "—"))
                for name in sorted({*self.options, *other.options})
            ),
        ]
        return [f"{what} then “{old}”, now “{new}”" for what, old, new in pairs if old != new]


def _describe_judge(judge: Labeler) -> str:
    parts = (judge.labeler, judge.version, judge.model, judge.prompt_ver)
    return ", ".join(part for part in parts if part)


class ShardPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What ``job.json`` holds: the settings, and the number of every shard ever planned.

    Numbers are given once and never again: the samples of a shard's answers are counted from it.
    """

    settings: JobSettings
    numbers: dict[str, int]
    merged: str = ""  # which shards the tables were made of


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the job: the unit that is verified, stored and repeated as a whole."""

    file: InputFile
    number: int

    @property
    def folder(self) -> str:
        """The name of its folder: one that every disk takes, and no other shard has."""
        plain = _NOT_IN_NAMES.sub("_", self.file.name).strip("._")[-_LONGEST_NAME:]
        return f"{plain}-{sha256(self.file.name.encode()).hexdigest()[:8]}"


class RunFacts(msgspec.Struct, kw_only=True):
    """What a shard knows of a run: its system, and the models that answered, two at most."""

    system: str
    models: list[str | None]


class ShardCounts(msgspec.Struct, kw_only=True):
    """What came of the answers of a shard, or of several."""

    answers: int = 0
    failed: int = 0
    abstained: int = 0
    without_claims: int = 0
    split: int = 0
    judged: int = 0
    verdicts: dict[str, int] = {}
    unscored: dict[str, int] = {}
    bases: dict[str, int] = {}
    warnings: dict[str, int] = {}
    dropped: dict[str, int] = {}
    cpu_seconds: float = 0.0  # of the workers that did it
    unread: int = 0
    problems: list[str] = []  # the first rows that can't be read


def sum_counts(parts: Iterable[ShardCounts]) -> ShardCounts:
    """Add up what came of several shards."""
    total: dict[str, Any] = msgspec.structs.asdict(ShardCounts())
    for part in parts:
        for name, value in msgspec.structs.asdict(part).items():
            if isinstance(value, dict):
                total[name] = dict(Counter(total[name]) + Counter(value))
            else:
                total[name] = total[name] + value
    total["problems"] = total["problems"][:_SHOWN_PROBLEMS]
    return ShardCounts(**total)


class ShardRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What ``shard.json`` holds: a shard whose record is there is done, and whole."""

    file: InputFile
    sha256: str  # of the file's bytes
    job: str  # the fingerprint of the settings
    folders: list[str]  # of Parquet files, below the shard's own
    kinds: list[str]  # the tables in each of them
    runs: dict[str, RunFacts]
    counts: ShardCounts


class ShardOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How the work on a shard ended; texts, since errors don't travel well between processes."""

    record: ShardRecord | None = None
    problem: str = ""  # why this shard could not be verified
    fatal: str = ""  # why none can
