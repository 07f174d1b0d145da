"""``claimwise label-next``."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from claimwise.accounts.queries import COMMAND_LINE, add_event
from claimwise.command.options import (
    cluster_option,
    current_project,
    format_option,
    open_project_store,
    print_json,
    store_option,
)
from claimwise.errors import make_printable
from claimwise.estimates.command import judge_option, system_option, window_option
from claimwise.estimates.label_next import draw_window_round
from claimwise.estimates.periods import parse_period
from claimwise.estimates.queries import read_window
from claimwise.labelling.guide import read_guide
from claimwise.labelling.rounds import add_guide, list_rounds, read_progress
from claimwise.report.format import pluralize


@click.command("label-next", short_help="Choose the claims whose labels narrow an estimate most.")
@click.argument("count", type=click.IntRange(1, 10_000), metavar="N")
@window_option
@system_option
@judge_option
@click.option("--guide", metavar="VERSION", help="Labelling guide (default: the newest).")
@click.option("--title", help="Title that labelers see (default: the system and the window).")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), metavar="N",
              help="Seed of the sample (default: a new one for each round).")  # fmt: skip
@cluster_option
@store_option
@format_option("text", "json")
def command(
    count: int,
    window: str,
    system: str | None,
    judge: str | None,
    guide: str | None,
    title: str | None,
    seed: int | None,
    cluster: str | None,
    store: str | None,
    form: str,
) -> None:
    """Choose N claims from a window of traffic for people to label, and create a round of them.

    Claims that the judge is unsure about are more likely to be chosen, at most one per answer.
    `claimwise estimate` weights each label by the probability with which its claim was chosen.
    """
    project, now = current_project(), datetime.now(UTC).replace(tzinfo=None)
    period = parse_period(window, now)
    text = read_guide("grounded", guide, folder=project.folder)
    with open_project_store(project, store) as opened:
        data = read_window(
            opened, system, period, judge=judge, cluster=cluster or project.settings.cluster
        )
        with opened.write():
            add_guide(opened, text.version, text.text, now)
            made = draw_window_round(
                opened, data, count, title=title, created_by=COMMAND_LINE, now=now,
                seed=len(list_rounds(opened)) if seed is None else seed,
                guide_version=text.version,
            )  # fmt: skip
            add_event(
                opened, "round made", account=None, subject=made.round_id, detail=COMMAND_LINE,
                now=now,
            )  # fmt: skip
        drawn = read_progress(opened, made.round_id, now).tasks
    if form == "json":
        print_json(
            {"round_id": made.round_id, "title": made.title, "claims": drawn,
             "runs": [run.run_id for run in data.runs], "seed": made.seed}
        )  # fmt: skip
        return
    click.echo(
        f"Round {made.round_id} “{make_printable(made.title)}”: {pluralize(drawn, 'claim')} of "
        f"{pluralize(data.answers, 'answer')}"
    )
    if drawn < count:
        click.echo(f"Only {drawn:,} answers have a claim to label, not {count:,}")
    click.echo("\nNext: `claimwise annotate` opens the app in which people label them.")
