"""``claimwise metrics``."""

from __future__ import annotations

from textwrap import fill
from typing import Final

import click

from claimwise.calibration.basis import estimate_on_basis, find_basis
from claimwise.command.options import (
    MeasureOptions,
    console,
    current_project,
    format_option,
    measure_options,
    open_project_store,
    print_json,
    resolve_run,
    store_option,
    warn_of_shared,
)
from claimwise.metrics import Metric, find_metric, load_metrics
from claimwise.report.format import join_words
from claimwise.run_report import print_tables, render_tables_markdown, tables_to_document
from claimwise.run_report.build import list_table_judges
from claimwise.run_report.golden_changes import describe_golden_changes

_NAMES: Final = 21  # cells of the column of names


@click.command("metrics", short_help="Calculate rates with ranges, worst group first.")
@click.option(
    "--run",
    "runs",
    metavar="RUN",
    multiple=True,
    help="The run (default: the latest); may be repeated.",
)
@click.option(
    "--metric", "names", metavar="NAME", multiple=True, help="Only this metric; may be repeated."
)
@click.option("--list", "only_list", is_flag=True, help="List the metrics with their meaning.")
@measure_options
@store_option
@format_option("text", "json", "markdown")
def command(
    runs: tuple[str, ...],
    names: tuple[str, ...],
    only_list: bool,
    measure: MeasureOptions,
    store: str | None,
    form: str,
) -> None:
    """Calculate metrics of a run, overall and by group, worst group first.

    Ranges treat items, not claims, as independent. Claims without a verdict are counted beside
    the rate, never in it.
    """
    project = current_project()
    metrics = load_metrics(project.metrics_folder, project.citations)
    if only_list:
        _list_metrics(metrics, form)
        return
    settings = measure.read_settings(project)
    columns = measure.read_by(project)
    chosen = {find_metric(metrics, name).name for name in names} or set(metrics)
    with open_project_store(project, store) as opened, opened.snapshot():
        named = runs or (resolve_run(opened, None),)
        bases = [find_basis(opened, metrics, run, settings) for run in dict.fromkeys(named)]
        tables = [
            estimate_on_basis(opened, metric, basis, columns, settings)
            for basis in bases
            for metric in metrics.values()
            if metric.name in chosen
        ]
        judges = list_table_judges(opened, tables, settings)
        warn_of_shared(opened, named, settings.cluster)
        for run in named:
            for change in describe_golden_changes(opened, run):
                click.echo(f"note: {change}", err=True)
    headlines = {basis.run_id: basis.headline for basis in bases}
    if form == "json":
        print_json(tables_to_document(tables, headlines, judges))
    elif form == "markdown":
        click.echo(render_tables_markdown(tables, headlines, judges))
    else:
        print_tables(tables, console(), headlines, judges)


def _list_metrics(metrics: dict[str, Metric], form: str) -> None:
    if form == "json":
        print_json(
            {
                "metrics": [
                    {
                        "metric": m.name,
                        "title": m.title,
                        "meaning": m.meaning,
                        "grain": m.grain,
                        "unit": m.unit,
                        "series": m.series,
                        "path": m.path,
                        "package": m.package,
                    }
                    for m in metrics.values()
                ]
            }
        )
        return
    width = console().width
    for metric in metrics.values():
        needs = f" (needs {join_words(metric.needs)})" if metric.needs else ""
        package = f" ({metric.package})" if metric.package else ""
        click.echo(
            fill(
                f"{metric.name:<20} {metric.meaning}{needs}{package}",
                max(_NAMES + 20, width),
                subsequent_indent=" " * _NAMES,
                break_on_hyphens=False,
            )
        )
