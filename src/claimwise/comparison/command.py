"""``claimwise compare``."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import click
from rich.console import Console

from claimwise.command.options import (
    change_settings,
    cluster_option,
    console,
    current_project,
    format_option,
    open_project_store,
    read_columns,
    store_option,
    warn_of_shared,
    write_output,
)
from claimwise.comparison.compare import compare_runs
from claimwise.comparison.queries import find_pair
from claimwise.comparison.report import (
    print_comparison,
    render_comparison_html,
    render_comparison_markdown,
    to_comparison_document,
)
from claimwise.comparison.screen import format_comparison, render_screen_markdown
from claimwise.comparison.values import Comparison
from claimwise.estimates.change_text import compare_named_windows, render_change
from claimwise.metrics import Metric, find_metric, load_metrics
from claimwise.metrics.catalogue import list_metrics
from claimwise.report.columns import print_screen


@click.command("compare", short_help="Compare two runs item by item.")
@click.argument("base")
@click.argument("new")
@click.option(
    "--metric",
    "names",
    metavar="NAME",
    multiple=True,
    help="Only this metric (default: the main ones); may be repeated.",
)
@click.option("--by", metavar="A,B", help="Item columns to group by; '' for none.")
@click.option(
    "--labels", metavar="WHICH", help="Labels to count: default, human, verifier or labeler:NAME."
)
@click.option(
    "--confidence",
    type=float,
    metavar="LEVEL",
    help="Confidence level of the ranges, such as 0.95.",
)
@click.option("--items", "most", type=click.IntRange(0, 1000), metavar="N", default=10,
              show_default=True, help="Show this many of the items that changed most.")  # fmt: skip
@click.option("--unpaired", is_flag=True,
              help="BASE and NEW are windows of live traffic, such as w46 and w47.")  # fmt: skip
@click.option("--system", metavar="NAME", help="With --unpaired: only answers of this system.")
@click.option("--full", is_flag=True, help="All tables, not one screen (text and Markdown).")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of the terminal.",
)
@cluster_option
@store_option
@format_option("text", "markdown", "html", "json")
def command(
    base: str,
    new: str,
    names: tuple[str, ...],
    by: str | None,
    labels: str | None,
    confidence: float | None,
    most: int,
    unpaired: bool,
    system: str | None,
    full: bool,
    output: Path | None,
    cluster: str | None,
    store: str | None,
    form: str,
) -> None:
    """Compare run NEW with run BASE: the change of each rate, worst groups, flipped verdicts.

    Runs are paired by item; their claims need not match. --full shows every rate by group, and the
    items that changed the first metric most with the claims of both runs side by side; so do HTML
    and JSON. For windows of live traffic, which hold different answers, use --unpaired.
    """
    project = current_project()
    if unpaired:
        settings = change_settings(project, labels, confidence, cluster)
        with open_project_store(project, store) as opened, opened.snapshot():
            change = compare_named_windows(opened, (base, new), system, settings)
        write_output(render_change(change, form), output)
        return
    metrics = load_metrics(project.metrics_folder, project.citations)
    chosen = choose_metrics(metrics, names)
    settings = change_settings(project, labels, confidence, cluster)
    columns = read_columns(by, project.config.metrics.by)
    with open_project_store(project, store) as opened, opened.snapshot():
        pair = find_pair(opened, base, new)
        comparison = compare_runs(
            opened,
            chosen,
            pair,
            columns,
            settings,
            most_moved=most,
            version=version("claimwise"),
        )
        warn_of_shared(opened, [run.run_id for run in pair], settings.cluster)
    if form == "text" and output is None:
        _print(comparison, console(), full=full)
    elif form == "markdown" and not full:
        write_output(render_screen_markdown(comparison), output)
    elif form == "text":
        write_output(_render_text(comparison, full=full), output)
    else:
        write_output(_RENDERERS[form](comparison), output)


def _print(comparison: Comparison, console: Console, *, full: bool) -> None:
    if full:
        print_comparison(comparison, console)
    else:
        print_screen(format_comparison(comparison, min(console.width, 100)), console)


def choose_metrics(metrics: dict[str, Metric], names: tuple[str, ...]) -> list[Metric]:
    """Return the metrics of some names, in their order and each once; the main ones by default."""
    found = [find_metric(metrics, name) for name in names] or list_metrics(metrics, "main")
    return list({metric.name: metric for metric in found}.values())


def _render_text(comparison: Comparison, *, full: bool) -> str:
    recorder = console()
    with recorder.capture() as captured:
        _print(comparison, recorder, full=full)
    return captured.get()


def _render_json(comparison: Comparison) -> str:
    return json.dumps(to_comparison_document(comparison), ensure_ascii=False, indent=2)


_RENDERERS: dict[str, Callable[[Comparison], str]] = {
    "markdown": render_comparison_markdown,
    "html": render_comparison_html,
    "json": _render_json,
}
