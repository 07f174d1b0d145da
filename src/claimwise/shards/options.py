"""The options of ``claimwise verify --input``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import wraps
from typing import Any

import click

from claimwise.command.judge import JudgeOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardOptions:
    """What the command line says of files, and of who works on them."""

    inputs: tuple[str, ...]
    output: str | None
    workers: int | None
    engine: str
    address: str | None
    reader: str | None
    mapped: str | None
    values: str | None
    system: str | None

    @property
    def run_id(self) -> str:
        """The name of the output, for a run that the user does not name."""
        return str(self.output).rstrip("/").rpartition("/")[2] or "verdicts"

    def list_settings(self) -> dict[str, str]:
        """Return what decides how files are read."""
        given = {
            "reader": self.reader, "map": self.mapped, "values": self.values,
            "system": self.system,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value}


_NOTHING = ShardOptions(
    inputs=(), output=None, workers=None, engine="processes", address=None, reader=None,
    mapped=None, values=None, system=None,
)  # fmt: skip
_NAMES = {"inputs": "input", "mapped": "map"}
_OPTIONS = (
    click.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="PATTERN",
        help="Files of answers instead of a stored run: 'answers/*.parquet', a folder or a URL.",
    ),
    click.option(
        "--output",
        metavar="FOLDER|URL",
        help="With --input: where the verdicts go; finished files are skipped.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        metavar="N",
        help="With --input: files worked on at once (default: one per CPU).",
    ),
    click.option(
        "--engine",
        type=click.Choice(["processes", "ray"]),
        default="processes",
        show_default=True,
        help="With --input: run in processes on this machine, or on a Ray cluster.",
    ),
    click.option(
        "--address", metavar="ADDRESS", help="The Ray cluster (default: the one on this machine)."
    ),
    click.option(
        "--reader",
        metavar="NAME",
        help="With --input: how to read the files (default: by content).",
    ),
    click.option(
        "--map", "mapped", metavar="A=B,…", help="With --input: your column names, as for measure."
    ),
    click.option("--values", metavar="A=B,…", help="With --input: your values, such as yes=true."),
    click.option(
        "--system", metavar="NAME", help="With --input: name of the system that answered."
    ),
)


def shard_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that verify files; they arrive as ``shards``, which is None without any."""

    @wraps(function)
    def gather(**arguments: Any) -> None:
        names = [field.name for field in fields(ShardOptions)]
        given = ShardOptions(**{name: arguments.pop(name) for name in names})
        function(shards=_check(given, arguments), **arguments)

    for option in reversed(_OPTIONS):
        gather = option(gather)
    return gather


def _check(given: ShardOptions, rest: dict[str, Any]) -> ShardOptions | None:
    if not given.inputs:
        for name, value in asdict(given).items():
            if value != getattr(_NOTHING, name):
                raise click.UsageError(f"--{_NAMES.get(name, name)} needs --input: name the files")
        return None
    if given.output is None:
        raise click.UsageError("--input needs --output: the folder or URL for the verdicts")
    if given.address is not None and given.engine != "ray":
        raise click.UsageError("--address needs --engine ray")
    places = (given.output, *given.inputs)
    if any(place.startswith("memory://") for place in places) and given.workers != 1:
        raise click.UsageError("memory:// is one process's own: use --workers 1")
    _refuse_for_runs(rest, rest["judging"])
    return given


def _refuse_for_runs(rest: dict[str, Any], judging: JudgeOptions) -> None:
    """Refuse options that only a stored run has."""
    found = {
        "--jobs": rest["jobs"] != 1,
        "--repeats": judging.repeats != 1,
        "--dry-run": judging.dry_run,
        "--batch-api": judging.batch_api,
    }
    for option, given in found.items():
        if given:
            instead = ": use --workers" if option == "--jobs" else ""
            raise click.UsageError(f"{option} does not go with --input{instead}")
