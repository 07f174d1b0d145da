"""``claimwise ingest-traces``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    print_json,
    store_option,
)
from claimwise.disk.input import refuse
from claimwise.errors import InputError, make_printable
from claimwise.measuring.gather import ReadAnswers, gather_answers
from claimwise.readers.choose import leave_out_history
from claimwise.readers.documents import STDIN
from claimwise.report.format import pluralize
from claimwise.traffic.ingest import ingest, read_traffic_settings
from claimwise.traffic.values import REASONS, IngestResult

_SHOWN_PROBLEMS = 5


@click.command("ingest-traces", short_help="Store answers of live traffic from files of traces.")
@click.argument("paths", metavar="FILE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--system",
    metavar="NAME",
    help="Name of the system that answered (default: the traces' service, or [traffic] system).",
)
@click.option(
    "--corpus",
    metavar="VERSION",
    help="Corpus version in which to look up documents that are given only by id.",
)
@click.option(
    "--sample-rate",
    "rate",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Share of answers to keep, in place of the rules of claimwise.toml.",
)
@click.option(
    "--reader", metavar="NAME", help="Reader for the files (default: recognised by their content)."
)
@store_option
@format_option("text", "json")
def command(
    paths: tuple[Path, ...],
    system: str | None,
    corpus: str | None,
    rate: float | None,
    reader: str | None,
    store: str | None,
    form: str,
) -> None:
    """Store the answers of live traffic, sampled and redacted, for a weekly number.

    Reads every trace format that `claimwise measure` reads; `-` is standard input. Answers are
    stored in one run per system, its versions and UTC day; what they should have said is unknown.
    Personal data and secrets are removed before anything is stored.

    Which answers are kept depends on a hash of the trace id, so the same file always gives the same
    choice, and a higher rate adds to a lower one: run it over older files with a higher rate to
    backfill. A trace that is already stored is counted but not stored again.

    \b
    claimwise ingest-traces traces/*.jsonl
    claimwise ingest-traces week-46.json --sample-rate 0.5
    claimwise traffic
    """
    missing = next((path for path in paths if path != STDIN and not path.exists()), None)
    if missing is not None:
        raise refuse(missing, "no such file")
    settings = read_traffic_settings(current_project(), system=system, corpus=corpus, rate=rate)
    with open_project_store(current_project(), store) as opened:
        found = gather_answers(paths, reader=reader)
        strange = [problem for problem in found.problems if problem.line is None]
        if strange and not found.traces:
            raise InputError(strange)
        unread = [problem for problem in found.problems if problem.line is not None]
        result = ingest(opened, settings, [*leave_out_history(found.traces), *unread])
    if form == "json":
        print_json(to_document(result, found))
    else:
        _print_result(result, found)


def to_document(result: IngestResult, found: ReadAnswers) -> dict[str, Any]:
    """Return what was taken in as plain values for JSON."""
    return {
        "received": result.count("sampled", "left_out", "unreadable"),
        "sampled": result.stored,
        "left_out": result.left_out,
        "unreadable": {
            "answers": result.count("unreadable"),
            "reasons": result.list_reasons("unreadable"),
        },
        "backfilled": result.backfilled,
        "duplicates": result.count("duplicate"),
        "notes": result.list_reasons("note"),
        "runs": list(result.runs),
        "dropped": dict(found.dropped),
        "problems": [str(problem) for problem in found.problems],
    }


def _print_result(result: IngestResult, found: ReadAnswers) -> None:
    received = result.count("sampled", "left_out", "unreadable")
    told = [f"{result.stored:,} stored"] if result.stored else []
    told += [f"{result.left_out:,} left out by sampling"] if result.left_out else []
    unreadable = result.count("unreadable")
    told += [f"{unreadable:,} unreadable"] if unreadable else []
    counts = f": {', '.join(told)}" if told else ""
    click.echo(
        f"{pluralize(received, 'new answer') if received else 'no new answers'} received{counts}"
    )
    if result.backfilled:
        click.echo(f"{result.backfilled:,} that had been left out before are stored now")
    if duplicates := result.count("duplicate"):
        click.echo(f"{duplicates:,} came before: not stored twice")
    for reason, number in (
        *result.list_reasons("unreadable").items(), *result.list_reasons("note").items()
    ):  # fmt: skip
        click.echo(f"  {number:,} × {REASONS.get(reason, reason)}")
    for problem in found.problems[:_SHOWN_PROBLEMS]:
        click.echo(f"warning: {make_printable(str(problem))}", err=True)
    if len(found.problems) > _SHOWN_PROBLEMS:
        more = len(found.problems) - _SHOWN_PROBLEMS
        click.echo(f"warning: … and {more:,} more traces that can't be read", err=True)
    for run in result.runs:
        click.echo(f"run {make_printable(run)}")
    if result.runs:
        click.echo(
            "judge them with `claimwise traffic judge`; `claimwise traffic` shows the funnel"
        )
