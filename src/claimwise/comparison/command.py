"""``claimwise compare``."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import click

from claimwise.command.options import (
    change_settings,
    cluster_option,
    console,
    current_project,
    format_option,
    open_project_store,
    read_columns,
    store_option,
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
from claimwise.comparison.values import Comparison
from claimwise.metrics import Metric, find_metric, load_metrics
from claimwise.metrics.catalogue import list_metrics


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
@click.option("--confidence", type=float, help="Confidence level of the intervals, such as 0.95.")
@click.option("--items", "most", type=click.IntRange(0, 1000), default=10, show_default=True,
              help="Show this many of the items that changed most.")  # fmt: skip
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
    output: Path | None,
    cluster: str | None,
    store: str | None,
    form: str,
) -> None:
    """Compare run NEW with run BASE: the change of each rate, overall and by group, worst first.

    Runs are paired by item; their claims need not match. The items that changed the first metric
    most are shown with the claims of both runs side by side.
    """
    project = current_project()
    metrics = load_metrics(project.metrics_folder)
    chosen = choose_metrics(metrics, names)
    settings = change_settings(project, labels, confidence, cluster)
    columns = read_columns(by, project.config.metrics.by)
    with open_project_store(project, store) as opened, opened.snapshot():
        comparison = compare_runs(
            opened,
            chosen,
            find_pair(opened, base, new),
            columns,
            settings,
            most_moved=most,
            version=version("claimwise"),
        )
    if form == "text" and output is None:
        print_comparison(comparison, console())
    else:
        write_output(_RENDERERS[form](comparison), output)


def choose_metrics(metrics: dict[str, Metric], names: tuple[str, ...]) -> list[Metric]:
    """Return the metrics of some names, in their order and each once; the main ones by default."""
    found = [find_metric(metrics, name) for name in names] or list_metrics(metrics, "main")
    return list({metric.name: metric for metric in found}.values())


def _render_text(comparison: Comparison) -> str:
    recorder = console()
    with recorder.capture() as captured:
        print_comparison(comparison, recorder)
    return captured.get()


def _render_json(comparison: Comparison) -> str:
    return json.dumps(to_comparison_document(comparison), ensure_ascii=False, indent=2)


_RENDERERS: dict[str, Callable[[Comparison], str]] = {
    "text": _render_text,
    "markdown": render_comparison_markdown,
    "html": render_comparison_html,
    "json": _render_json,
}
