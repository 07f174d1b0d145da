"""What commands share: options, the project, and output."""

from __future__ import annotations

import getpass
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from claimwise.command.encoding import fit_json
from claimwise.config import Project, find_project
from claimwise.disk.output import replace_file
from claimwise.errors import ClaimwiseError, NotAStoreError, make_printable
from claimwise.store import Store, open_store
from claimwise.store.runs import find_latest_run
from claimwise.types.results import Settings

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_WORKFLOW_COMMAND = re.compile(r"(^\s*:(?=:)|#(?=#\[))", re.MULTILINE)

store_option = click.option(
    "--store",
    metavar="PATH|URL",
    envvar="CLAIMWISE_STORE",
    help="SQLite file, postgresql://… or a folder of Parquet files (default: see claimwise.toml).",
)


class NumberRange(click.FloatRange):
    """A range of finite numbers: “nan”, which lies in every range, is refused."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number", param, ctx)
        return found


def format_option(*formats: str) -> Callable[[F], F]:
    """Return the option that chooses among output formats; the first is the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Output format.",
    )


def add_options(options: Iterable[Callable[[F], F]], *names: str) -> Callable[[F], F]:
    """Return a decorator that adds those of some options that have one of the names, in order."""

    def decorate(function: F) -> F:
        for option in reversed(tuple(options)):
            if _name_option(option) in names:
                function = option(function)
        return function

    return decorate


def _name_option(option: Callable[[F], F]) -> str | None:
    holder = cast(F, lambda: None)
    found: list[click.Parameter] = getattr(option(holder), "__click_params__")  # noqa: B009
    return found[0].name


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasureOptions:
    """What the command line says of how rates are estimated; the project says the rest."""

    by: str | None
    labels: str | None
    interval: str | None
    confidence: float | None
    resamples: int | None
    seed: int | None
    cluster: str | None

    def read_settings(self, project: Project) -> Settings:
        """Return the project's settings with what the options change."""
        base = project.settings
        return Settings(
            confidence=base.confidence if self.confidence is None else self.confidence,
            method=self.interval or base.method,
            resamples=base.resamples if self.resamples is None else self.resamples,
            seed=base.seed if self.seed is None else self.seed,
            labels=self.labels or base.labels,
            cluster=self.cluster or base.cluster,
            weights=base.weights,
        )

    def read_by(self, project: Project) -> tuple[str, ...]:
        """Return the slice columns of the option, or the project's."""
        if self.by is None:
            return project.config.metrics.by
        return tuple(name.strip() for name in self.by.split(",") if name.strip())


cluster_option = click.option(
    "--cluster",
    metavar="WHAT",
    help="Treat items that share this as dependent: document, conversation or a column of items; "
    "item for none.",
)


def measure_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how rates are estimated; they arrive as ``measure``."""
    options = (
        click.option("--by", metavar="A,B", help="Columns to group by; '' for none."),
        click.option(
            "--labels",
            metavar="WHICH",
            help="Labels to count: default, human, verifier or labeler:NAME.",
        ),
        click.option(
            "--interval",
            metavar="METHOD",
            help="Method for ranges: wilson, logit-t, korn-graubard, bootstrap-percentile or "
            "bootstrap-bca.",
        ),
        click.option(
            "--confidence",
            type=float,
            metavar="LEVEL",
            help="Confidence level of the ranges, such as 0.95.",
        ),
        click.option("--resamples", type=int, metavar="N", help="Number of bootstrap resamples."),
        click.option("--seed", type=int, metavar="N", help="Seed of the bootstrap."),
        cluster_option,
    )

    @wraps(function)
    def gather(**arguments: Any) -> None:
        names = [field.name for field in fields(MeasureOptions)]
        measure = MeasureOptions(**{name: arguments.pop(name) for name in names})
        function(measure=measure, **arguments)

    for option in reversed(options):
        gather = option(gather)
    return gather


def find_login_name() -> str:
    """Return who is at work, by the login name; a container's user may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def current_project() -> Project:
    """Return the project of the folder that the command was called in."""
    return find_project(Path())


def open_project_store(project: Project, store: str | None, *, create: bool = False) -> Store:
    """Open the store that an option names, or the project's."""
    given = store or click.get_current_context().find_root().obj
    memory = project.config.store.memory
    return open_store(given or project.store_place, create=create, memory=memory)


def ask_store(read: Callable[[Store], T], store: str | None) -> tuple[T | None, str | None]:
    """Return what the project's store says to a command that needs none, or why it says nothing.

    Neither where there is no store and nobody named one.
    """
    try:
        with open_project_store(current_project(), store) as opened:
            return read(opened), None
    except NotAStoreError as error:
        named = store or click.get_current_context().find_root().obj
        return None, str(error) if named else None
    except ClaimwiseError as error:
        return None, str(error)


def resolve_run(store: Store, run_id: str | None) -> str:
    """Return the run that was asked for, or the latest."""
    if run_id is not None:
        return run_id
    latest = find_latest_run(store)
    click.echo(f"Using latest run {make_printable(latest)} (change with --run)", err=True)
    return latest


def console() -> Console:
    """Return a console on standard output; wide enough for tables when it is not a terminal."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100
    watched = os.environ.get("GITHUB_ACTIONS") == "true"
    file = cast(IO[str], _Harmless(sys.stdout)) if watched else None
    return Console(file=file, width=width, highlight=False, soft_wrap=False)


class _Harmless:
    """A stream that GitHub reads: what others wrote must not become a command of the workflow.

    A command starts a line, where wrapping may put any word, or (in its old form) stands anywhere.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_WORKFLOW_COMMAND.sub(r"\1 ", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()
) -> None:
    """Print rows as a plain table. Values are foreign text: no markup, nothing unprintable."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            Text(make_printable(column)),
            justify="right" if column in right else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text("—" if v is None else make_printable(str(v))) for v in row))
    console().print(table)


def print_json(document: object) -> None:
    """Print a value as JSON. Characters that could steer a terminal are written as ``\\u…``."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    for character in {c for c in set(text) if not c.isprintable() and c != "\n"}:
        text = text.replace(character, json.dumps(character)[1:-1])
    click.echo(fit_json(text))


def write_output(text: str, output: Path | None) -> None:
    """Write text to a file, whole or not at all, or to standard output."""
    if output is None:
        click.echo(fit_json(text) if text.startswith(("{", "[")) else text)
        return
    write_file(output, text if text.endswith("\n") else text + "\n")
    click.echo(f"wrote {output}", err=True)


def write_file(path: Path, text: str) -> None:
    """Write text to a file, whole or not at all.

    Raises:
        ClaimwiseError: it can't be written; an older file is as it was.
    """
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise ClaimwiseError(f"{path}: {error.strerror}; nothing was written") from error


def change_settings(
    project: Project, labels: str | None, confidence: float | None, cluster: str | None = None
) -> Settings:
    """Return the project's settings with what options change; changes have one method."""
    base = project.settings
    return Settings(
        labels=labels or base.labels,
        confidence=base.confidence if confidence is None else confidence,
        seed=base.seed,
        cluster=cluster or base.cluster,
        weights=base.weights,
    )


def warn_of_shared(store: Store, runs: str | Sequence[str], cluster: str | None) -> None:
    """Point out items that are not independent, on standard error, where no cluster is set.

    They share documents, or ask nearly the same.
    """
    # Commands that measure nothing share this module, and start without what measuring needs.
    from claimwise.metrics.clusters import describe_shared
    from claimwise.metrics.near_questions import describe_near_questions

    named = [runs] if isinstance(runs, str) else runs
    near = dict.fromkeys(describe_near_questions(store, run, cluster) for run in named)
    for told in (describe_shared(store, runs, cluster), *near):
        if told:
            click.echo(f"hint: {told}", err=True)


def read_columns(by: str | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return the slice columns of an option."""
    if by is None:
        return default
    return tuple(name.strip() for name in by.split(",") if name.strip())
