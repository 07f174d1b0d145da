"""``claimwise traffic``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import click

from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    print_json,
    print_table,
    store_option,
)
from claimwise.errors import make_printable
from claimwise.report.format import pluralize
from claimwise.traffic.funnel import NOT_JUDGED, SystemFunnel, read_funnel
from claimwise.traffic.judging import judge_traffic
from claimwise.traffic.retention import delete_texts
from claimwise.traffic.values import REASONS

_STAGES: tuple[tuple[str, Callable[[SystemFunnel], int]], ...] = (
    ("received", lambda one: one.received),
    ("left out", lambda one: one.outcomes.get("left_out", 0)),
    ("unreadable", lambda one: one.outcomes.get("unreadable", 0)),
    ("stored", lambda one: one.sampled),
    ("not judged", lambda one: one.states.get("open", 0) + one.states.get("expired", 0)),
    ("no claims", lambda one: one.states.get("no_claims", 0) + one.states.get("failed", 0)),
    ("scored", lambda one: one.states.get("scored", 0)),
    ("in part", lambda one: one.states.get("partly_scored", 0)),
    ("unscored", lambda one: one.states.get("unscored", 0)),
)


@click.group(
    "traffic",
    invoke_without_command=True,
    short_help="Show what happened to live traffic; judge it; delete old texts.",
)
@click.option(
    "--days",
    type=click.IntRange(1, 3660),
    metavar="N",
    help="Answers of the last N days, today included (default: all).",
)
@store_option
@format_option("text", "json")
@click.pass_context
def command(context: click.Context, days: int | None, store: str | None, form: str) -> None:
    """Show how many answers of live traffic came in, and what happened to them.

    Received = left out by sampling + unreadable + stored. Stored = not judged yet + without claims
    + scored + scored in part + unscored.
    """
    if context.invoked_subcommand is not None:
        return
    today = datetime.now(UTC).date()
    first = None if days is None else today - timedelta(days=days - 1)
    with open_project_store(current_project(), store) as opened:
        found = read_funnel(opened, first=first)
    if form == "json":
        print_json({"systems": [one.to_document() for one in found]})
    elif not found:
        click.echo("no traffic yet; take some in with `claimwise ingest-traces FILE…`")
    else:
        _print_funnel(found)


def _print_funnel(found: Sequence[SystemFunnel]) -> None:
    names = [name for name, _ in _STAGES]
    print_table(
        ("system", *names),
        [(one.system, *(f"{count(one):,}" for _, count in _STAGES)) for one in found],
        right=names,
    )
    for one in found:
        _print_reasons(one)


def _print_reasons(one: SystemFunnel) -> None:
    """Print what the numbers of a system hide: reasons, duplicates, and a sum that is wrong."""
    lines = [f"{number:,} unreadable: {REASONS.get(reason, reason)}"
             for reason, number in one.unreadable.items()]  # fmt: skip
    lines += [f"{number:,} stored: {REASONS.get(reason, reason)}"
              for reason, number in one.notes.items()]  # fmt: skip
    lines += [f"{number:,} rejected: {REASONS.get(reason, reason)}"
              for reason, number in one.rejected.items()]  # fmt: skip
    if one.outcomes.get("duplicate"):
        lines.append(f"{one.outcomes['duplicate']:,} came again: not stored twice")
    unscored = {name: n for name, n in one.claims.items() if name not in ("", NOT_JUDGED)}
    lines += [f"{pluralize(n, 'claim')} unscored: {name}" for name, n in unscored.items()]
    if not one.adds_up:
        stored = sum(one.states.values())
        lines.append(
            f"{one.sampled:,} answers were counted as stored and {stored:,} are there: were rows "
            "deleted by hand, or runs imported from elsewhere?"
        )
    for line in lines:
        click.echo(make_printable(f"{one.system}: {line}"))


@command.command("judge")
@click.option(
    "--verifier",
    default="auto",
    metavar="NAME",
    help="Built-in judge: embedded, lexical, or auto (the best one installed).",
)
@store_option
@format_option("text", "json")
def judge_command(verifier: str, store: str | None, form: str) -> None:
    """Judge every stored answer of live traffic that the judge has not judged yet.

    A language model judges one run at a time: `claimwise verify --run RUN --judge PROVIDER:MODEL`.
    """
    with open_project_store(current_project(), store) as opened:
        done = judge_traffic(opened, verifier)
    if form == "json":
        print_json({"runs": done.runs, "labeler": done.labeler, "judged": done.judged})
    else:
        click.echo(
            f"{pluralize(done.judged, 'claim')} judged in {pluralize(len(done.runs), 'run')}"
        )


@command.command("retain")
@click.option(
    "--days",
    type=click.IntRange(1, 36_600),
    metavar="N",
    required=True,
    help="Delete the texts of answers that are older than N days.",
)
@click.option("--dry-run", is_flag=True, help="Count what would be deleted, and delete nothing.")
@store_option
@format_option("text", "json")
def retain_command(days: int, dry_run: bool, store: str | None, form: str) -> None:
    """Delete the texts of old answers; keep counts, verdicts and figures.

    Questions, answers, contexts, action logs, claims, spans and reasons are overwritten, and kept
    replies of language models deleted. Ids, times, verdicts and confidences stay, so every rate
    stays what it was. Documents of a corpus that you imported, and incidents that you promoted,
    are kept.
    """
    before = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=days)
    with open_project_store(current_project(), store) as opened:
        done = delete_texts(opened, before, dry_run=dry_run)
    if form == "json":
        print_json({"before": before.isoformat(), "dry_run": dry_run, **done._asdict()})
        return
    verb = "would delete" if dry_run else "deleted"
    click.echo(
        f"{verb} the texts of {pluralize(done.answers, 'answer')} given before "
        f"{before:%Y-%m-%d %H:%M} UTC, and of {pluralize(done.sources, 'passage')} that no other "
        "answer rests on"
    )
