"""``claimwise rounds``."""

from __future__ import annotations

from datetime import UTC, datetime

import click
import msgspec

from claimwise.accounts.queries import COMMAND_LINE, add_event
from claimwise.command.options import (
    NumberRange,
    current_project,
    format_option,
    open_project_store,
    print_json,
    print_table,
    resolve_run,
    store_option,
)
from claimwise.errors import make_printable
from claimwise.labelling.draw import DEFAULT_FLOOR, draw_round
from claimwise.labelling.guide import read_guide
from claimwise.labelling.rounds import (
    Stratum,
    add_guide,
    close_round,
    find_round,
    list_rounds,
    list_strata,
    read_progress,
)
from claimwise.labelling.values import Progress, Round
from claimwise.report.format import pluralize, show_percent
from claimwise.store import Store
from claimwise.types.rows import Judgement


@click.group("rounds", short_help="Manage rounds: claims sampled for people to label.")
def command() -> None:
    """Manage rounds: claims sampled from a run for people to label."""


@command.command("create")
@click.option("--run", "run_id", metavar="RUN", help="The run (default: the latest).")
@click.option(
    "--verifier",
    metavar="NAME",
    help="Judge whose verdicts define the strata (default: the one with most verdicts).",
)
@click.option(
    "--size", type=click.IntRange(1), metavar="N", help="Number of claims (default: all)."
)
@click.option(
    "--overlap",
    type=NumberRange(0, 1),
    metavar="SHARE",
    default=0.1,
    show_default=True,
    help="Share of claims that several people label.",
)
@click.option(
    "--overlap-labels",
    type=click.IntRange(2, 20),
    metavar="N",
    default=2,
    show_default=True,
    help="Number of people who label those.",
)
@click.option(
    "--floor",
    type=click.IntRange(1),
    metavar="N",
    default=DEFAULT_FLOOR,
    show_default=True,
    help="Fewest claims per stratum.",
)
@click.option(
    "--closed-book",
    is_flag=True,
    help="Labelers judge truth without sources, instead of support by sources.",
)
@click.option("--again", is_flag=True, help="Include claims already labelled or in open rounds.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Seed of the sample; the same seed draws the same claims.",
)
@click.option("--guide", metavar="VERSION", help="Labelling guide (default: the newest).")
@click.option("--title", help="Title that labelers see (default: the run's id).")
@store_option
def create_command(
    run_id: str | None,
    verifier: str | None,
    size: int | None,
    overlap: float,
    overlap_labels: int,
    floor: int,
    closed_book: bool,
    again: bool,
    seed: int,
    guide: str | None,
    title: str | None,
    store: str | None,
) -> None:
    """Sample claims of a run for people to label.

    Claims that a person has already labelled, or that an open round asks for, are left out unless
    you give --again.
    """
    project, now = current_project(), _now()
    judgement: Judgement = "closed_book" if closed_book else "grounded"
    text = read_guide(judgement, guide, folder=project.folder)
    with open_project_store(project, store) as opened:
        chosen = resolve_run(opened, run_id)
        with opened.write():
            add_guide(opened, text.version, text.text, now)
            made = draw_round(
                opened, chosen, judgement, title=title, verifier=verifier, size=size,
                overlap=overlap, overlap_labels=overlap_labels, floor=floor, seed=seed,
                created_by=COMMAND_LINE, guide_version=text.version, now=now, again=again,
            )  # fmt: skip
            _record(opened, "round made", made.round_id, now)
        progress = read_progress(opened, made.round_id, now)
        strata = list_strata(opened, made.round_id)
    _print_round(made, progress, strata)
    if made.shortfall:
        click.echo(make_printable(f"\n{made.shortfall}"))
    click.echo("\nNext: `claimwise annotate` opens the app in which people label them.")


@command.command("list")
@store_option
@format_option("text", "json")
def list_command(store: str | None, form: str) -> None:
    """List the rounds, latest first."""
    now = _now()
    with open_project_store(current_project(), store) as opened:
        found = [(one, read_progress(opened, one.round_id, now)) for one in list_rounds(opened)]
        place = opened.place
    if form == "json":
        print_json({"rounds": [_to_json(one, progress) for one, progress in found]})
    elif not found:
        click.echo(f"{place}: no rounds yet; `claimwise rounds create` draws one")
    else:
        print_table(
            ("round", "title", "run", "judgement", "claims", "labels", "state"),
            [
                (one.round_id, one.title, one.run_id, one.judgement, progress.tasks,
                 f"{progress.done} of {progress.slots}", "closed" if one.closed_at else "open")
                for one, progress in found
            ],
            right=("claims", "labels"),
        )  # fmt: skip


@command.command("show")
@click.argument("round_id", metavar="ROUND")
@store_option
@format_option("text", "json")
def show_command(round_id: str, store: str | None, form: str) -> None:
    """Show a round's progress and how its claims were sampled.

    ROUND is its id, or the first characters of it.
    """
    with open_project_store(current_project(), store) as opened:
        one = find_round(opened, round_id)
        progress = read_progress(opened, one.round_id, _now())
        strata = list_strata(opened, one.round_id)
    if form == "json":
        drawn = [stratum._asdict() for stratum in strata]
        print_json({**_to_json(one, progress), "strata": drawn})
    else:
        _print_round(one, progress, strata)


@command.command("close")
@click.argument("round_id", metavar="ROUND")
@store_option
def close_command(round_id: str, store: str | None) -> None:
    """Close a round. Labelers get no more of its claims; its labels stay."""
    now = _now()
    with open_project_store(current_project(), store) as opened, opened.write():
        one = find_round(opened, round_id)
        close_round(opened, one.round_id, now)
        _record(opened, "round closed", one.round_id, now)
    click.echo(f"{one.round_id} is closed")


def _print_round(one: Round, progress: Progress, strata: list[Stratum]) -> None:
    state = f"closed {one.closed_at:%Y-%m-%d}" if one.closed_at else "open"
    click.echo(make_printable(f"{one.round_id} “{one.title}”, {state}"))
    click.echo(
        make_printable(
            f"run {one.run_id}, {one.judgement}, guide {one.guide_version}, seed {one.seed}, "
            f"{f'strata by {one.strata_by}' if one.strata_by else 'no strata: no judge yet'}"
        )
    )
    counts = {
        "done": progress.done,
        "in hand": progress.leased,
        "skipped by everyone": progress.skipped,
    }
    told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    click.echo(
        f"{pluralize(progress.slots, 'label')} wanted on {pluralize(progress.tasks, 'claim')}: "
        f"{told or 'none done yet'}"
    )
    for labeler, count in progress.by_labeler.items():
        click.echo(make_printable(f"  {labeler}: {count:,}"))
    click.echo()
    print_table(
        ("stratum", "claims", "drawn", "chance"),
        [(*stratum, show_percent(stratum.chosen / stratum.claims)) for stratum in strata],
        right=("claims", "drawn", "chance"),
    )


def _to_json(one: Round, progress: Progress) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(one)
    return {**fields, "progress": msgspec.to_builtins(progress)}


def _record(store: Store, event: str, subject: str, now: datetime) -> None:
    add_event(store, event, account=None, subject=subject, detail=COMMAND_LINE, now=now)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
