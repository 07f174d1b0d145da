"""``claimwise drift``."""

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
    warn_of_shared,
    write_output,
)
from claimwise.comparison.drift import explain_drift
from claimwise.comparison.drift_report import (
    print_drifts,
    render_drifts_markdown,
    to_drift_document,
)
from claimwise.comparison.queries import find_pair
from claimwise.estimates.change_text import compare_named_windows, render_change
from claimwise.metrics import Metric, find_metric, load_metrics


@click.command("drift", short_help="Explain why a rate moved: system, evidence, mix or judge.")
@click.argument("base")
@click.argument("new")
@click.option("--metric", "name", metavar="NAME", default="faithfulness", show_default=True,
              help="The metric, or one of its rates, such as over_refusal.")  # fmt: skip
@click.option("--by", metavar="A,B", help="Show how the shares of these columns changed.")
@click.option(
    "--labels", metavar="WHICH", help="Labels to count: default, human, verifier or labeler:NAME."
)
@click.option(
    "--confidence",
    type=float,
    metavar="LEVEL",
    help="Confidence level of the ranges, such as 0.95.",
)
@click.option("--unpaired", is_flag=True,
              help="BASE and NEW are windows of live traffic, such as w46 and w47.")  # fmt: skip
@click.option("--system", metavar="NAME", help="With --unpaired: only answers of this system.")
@cluster_option
@store_option
@format_option("text", "markdown", "json")
def command(
    base: str,
    new: str,
    name: str,
    by: str | None,
    labels: str | None,
    confidence: float | None,
    unpaired: bool,
    system: str | None,
    cluster: str | None,
    store: str | None,
    form: str,
) -> None:
    """Explain why a rate moved from run BASE to run NEW, in parts that add up to the change.

    \b
    system      items with the same evidence in both corpora
    evidence    items with changed gold spans or passages, beyond the change in the others
    mix         items that only one of the runs was asked
    judge       a change of judge, measured on claims that both judges judged

    With --unpaired, BASE and NEW are windows of live traffic; the change is then split into the mix
    of answers by the first column of --by, and the change within those groups.
    """
    project = current_project()
    if unpaired:
        settings = change_settings(project, labels, confidence, cluster)
        columns = read_columns(by, project.config.metrics.by)
        with open_project_store(project, store) as opened, opened.snapshot():
            change = compare_named_windows(
                opened, (base, new), system, settings, by=columns[0] if columns else "domain"
            )
        write_output(render_change(change, form), None)
        return
    metric = find_metric(load_metrics(project.metrics_folder, project.citations), name)
    settings = change_settings(project, labels, confidence, cluster)
    columns = read_columns(by, project.config.metrics.by)
    with open_project_store(project, store) as opened, opened.snapshot():
        pair = find_pair(opened, base, new)
        drifts = explain_drift(
            opened,
            metric,
            pair,
            columns,
            settings,
            member=choose_member(metric, name),
        )
        warn_of_shared(opened, [run.run_id for run in pair], settings.cluster)
    if form == "json":
        print_json(to_drift_document(drifts))
    elif form == "markdown":
        click.echo(render_drifts_markdown(drifts))
    else:
        print_drifts(drifts, console())


def choose_member(metric: Metric, name: str) -> str | None:
    """Return the member of a metric's series that a name stands for; None for all of them."""
    return name if metric.series and name != metric.name else None
