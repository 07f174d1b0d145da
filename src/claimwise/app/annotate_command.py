"""``claimwise annotate``."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from claimwise.accounts.queries import COMMAND_LINE, add_event
from claimwise.app.serve_command import locate_store, say, serve_options
from claimwise.app.server import ServeOptions, serve_app
from claimwise.command.options import current_project, store_option
from claimwise.config import Project
from claimwise.labelling.draw import draw_round
from claimwise.labelling.guide import read_guide
from claimwise.labelling.rounds import add_guide, list_rounds
from claimwise.store import open_store
from claimwise.types.rows import Judgement


@click.command("annotate", short_help="Open the app for labelling.")
@click.option(
    "--run", "run_id", metavar="RUN", help="Create a round of this run unless one is open."
)
@click.option(
    "--closed-book",
    is_flag=True,
    help="Labelers judge truth without sources, instead of support by sources.",
)
@click.option(
    "--size",
    type=click.IntRange(1),
    metavar="N",
    help="Number of claims in the round (default: all).",
)
@serve_options
@store_option
def command(
    run_id: str | None,
    closed_book: bool,
    size: int | None,
    options: ServeOptions,
    store: str | None,
) -> None:
    """Start the app, as `claimwise serve` does, and print the link to the labelling page.

    --run first creates a round of that run unless one is open; `claimwise rounds create` has more
    options.
    """
    project = current_project()
    place = locate_store(project, store)
    judgement: Judgement = "closed_book" if closed_book else "grounded"
    page = "/label"
    if run_id is not None:
        page = f"/label/{_find_or_draw(project, place, run_id, judgement, size)}"
    serve_app(project, place, options, say, first_page=page)


def _find_or_draw(
    project: Project, place: str, run_id: str, judgement: Judgement, size: int | None
) -> str:
    """Return the open round of a run, made now when there is none."""
    now = datetime.now(UTC).replace(tzinfo=None)
    guide = read_guide(judgement, folder=project.folder)
    with open_store(place) as opened, opened.write():
        for one in list_rounds(opened, open_only=True):
            if (one.run_id, one.judgement) == (run_id, judgement):
                return one.round_id
        add_guide(opened, guide.version, guide.text, now)
        made = draw_round(
            opened,
            run_id,
            judgement,
            title=None,
            size=size,
            created_by=COMMAND_LINE,
            guide_version=guide.version,
            now=now,
        )
        add_event(
            opened, "round made", account=None, subject=made.round_id, detail=COMMAND_LINE, now=now
        )
    say(f"created the round “{made.title}” ({made.round_id})")
    return made.round_id
