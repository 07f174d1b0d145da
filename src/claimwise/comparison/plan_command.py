"""``claimwise plan``."""

from __future__ import annotations

import click

from claimwise.command.options import (
    change_settings,
    cluster_option,
    console,
    current_project,
    format_option,
    open_project_store,
    print_json,
    read_columns,
    store_option,
)
from claimwise.comparison.plan import Goal, plan_items
from claimwise.comparison.plan_report import print_plan, render_plan_markdown, to_plan_document
from claimwise.comparison.queries import find_pair
from claimwise.metrics import find_metric, load_metrics
from claimwise.store import Store
from claimwise.store.lookup import find_run
from claimwise.types.rows import Run


@click.command("plan", short_help="Plan how many items and labels it takes to detect a drop.")
@click.option("--metric", "name", metavar="NAME", default="faithfulness", show_default=True,
              help="The metric to watch.")  # fmt: skip
@click.option("--drop", type=float, metavar="SHARE", default=Goal().drop, show_default=True,
              help="Change to detect, in the bad direction.")  # fmt: skip
@click.option("--power", type=float, metavar="SHARE", default=Goal().power, show_default=True,
              help="Chance of detecting it.")  # fmt: skip
@click.option(
    "--confidence",
    type=float,
    metavar="LEVEL",
    help="Confidence level of the comparison, such as 0.95.",
)
@click.option("--by", metavar="A,B", help="Item columns to group by; '' for none.")
@click.option(
    "--labels", metavar="WHICH", help="Labels to count: default, human, verifier or labeler:NAME."
)
@click.option("--run", "run_id", metavar="RUN", help="Run to plan from (default: the latest).")
@click.option("--base", "base_id", metavar="RUN",
              help="Another run on the same items (default: the previous one).")  # fmt: skip
@cluster_option
@store_option
@format_option("text", "markdown", "json")
def command(
    name: str,
    drop: float,
    power: float,
    confidence: float | None,
    by: str | None,
    labels: str | None,
    run_id: str | None,
    base_id: str | None,
    cluster: str | None,
    store: str | None,
    form: str,
) -> None:
    """Plan how many items and labels it takes to detect a drop, by group.

    The rate, the claims per item and the ICC come from this project's runs, and so does the
    correlation between runs on the same items if there are two. The output says what had to be
    assumed.
    """
    project = current_project()
    metric = find_metric(load_metrics(project.metrics_folder, project.citations), name)
    settings = change_settings(project, labels, confidence, cluster)
    goal = Goal(drop=drop, power=power, confidence=settings.confidence)
    columns = read_columns(by, project.config.metrics.by)
    with open_project_store(project, store) as opened, opened.snapshot():
        runs = choose_runs(opened, run_id, base_id)
        plan = plan_items(opened, metric, runs, columns, settings, goal)
    if form == "json":
        print_json(to_plan_document(plan))
    elif form == "markdown":
        click.echo(render_plan_markdown(plan))
    else:
        print_plan(plan, console())


def choose_runs(store: Store, run_id: str | None, base_id: str | None) -> list[Run]:
    """Return the run to plan from, then another on the same items, as far as there are any."""
    known = [row[0] for row in store.query("select run_id from runs order by started_at, run_id")]
    if run_id is None:
        if not known:
            return []
        run_id = known[-1]
    if base_id is not None:
        pair = find_pair(store, base_id, run_id)
        return [pair.new, pair.base]
    run = find_run(store, run_id)
    earlier = known[: known.index(run_id)]
    return [run, find_run(store, earlier[-1])] if earlier else [run]
