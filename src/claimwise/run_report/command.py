"""``claimwise report``."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import click

from claimwise.command.options import (
    MeasureOptions,
    choose_run,
    console,
    current_project,
    format_option,
    measure_options,
    open_project_store,
    store_option,
    write_output,
)
from claimwise.metrics import load_metrics
from claimwise.run_report import (
    build_report,
    print_report,
    render_html,
    render_markdown,
    to_document,
)
from claimwise.run_report.values import Report


@click.command("report", short_help="Report on one run as text, Markdown, HTML or JSON.")
@click.option("--run", "run_id", metavar="RUN", help="The run (default: the latest).")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of the terminal.",
)
@measure_options
@store_option
@format_option("text", "markdown", "html", "json")
def command(
    run_id: str | None,
    output: Path | None,
    measure: MeasureOptions,
    store: str | None,
    form: str,
) -> None:
    """Report on one run: the worst group first, then unscored claims, judges and every metric.

    The HTML report is one self-contained file.
    """
    project = current_project()
    settings = measure.read_settings(project)
    with open_project_store(project, store) as opened:
        report = build_report(
            opened,
            load_metrics(project.metrics_folder),
            choose_run(opened, run_id),
            by=measure.read_by(project),
            settings=settings,
            version=version("claimwise"),
        )
    if form == "text" and output is None:
        print_report(report, console())
    else:
        write_output(_RENDERERS[form](report), output)


def _render_text(report: Report) -> str:
    recorder = console()
    with recorder.capture() as captured:
        print_report(report, recorder)
    return captured.get()


def _render_json(report: Report) -> str:
    return json.dumps(to_document(report), ensure_ascii=False, indent=2)


_RENDERERS: dict[str, Callable[[Report], str]] = {
    "text": _render_text,
    "markdown": render_markdown,
    "html": render_html,
    "json": _render_json,
}
