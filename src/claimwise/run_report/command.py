"""``claimwise report``."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import click
from rich.console import Console

from claimwise.command.options import (
    MeasureOptions,
    console,
    current_project,
    format_option,
    measure_options,
    open_project_store,
    resolve_run,
    store_option,
    warn_of_shared,
    write_output,
)
from claimwise.metrics import load_metrics
from claimwise.run_report import (
    build_report,
    print_report,
    print_summary,
    render_html,
    render_markdown,
    render_summary_markdown,
    summarize_project,
    to_document,
)
from claimwise.run_report.html import MOST_CLAIMS
from claimwise.run_report.values import Report, Summary


@click.command("report", short_help="Report on one run as text, Markdown, HTML or JSON.")
@click.option("--run", "run_id", metavar="RUN", help="The run (default: the latest).")
@click.option("--full", is_flag=True, help="All tables, not one screen (text and Markdown).")
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
    full: bool,
    output: Path | None,
    measure: MeasureOptions,
    store: str | None,
    form: str,
) -> None:
    """Report on one run: the rate, what changed, the worst groups and claims, on one screen.

    --full shows every metric by group instead. HTML (one self-contained file with every unsupported
    claim) and JSON always hold everything.
    """
    project = current_project()
    settings, by = measure.read_settings(project), measure.read_by(project)
    report = summary = None
    with open_project_store(project, store) as opened:
        run_id = resolve_run(opened, run_id)
        if full or form in ("html", "json"):
            report = build_report(
                opened,
                load_metrics(project.metrics_folder, project.citations),
                run_id,
                by=by,
                settings=settings,
                version=version("claimwise"),
            )
        if not full or form in ("html", "json"):
            most = MOST_CLAIMS if form == "html" else None
            summary = summarize_project(
                opened, project, run_id, by=by, settings=settings, most_claims=most
            )
        warn_of_shared(opened, run_id, settings.cluster)
    if form == "text" and output is None:
        _print(console(), report, summary)
    else:
        write_output(_render(form, report, summary), output)


def _print(console: Console, report: Report | None, summary: Summary | None) -> None:
    if summary is not None:
        print_summary(summary, console)
    elif report is not None:
        print_report(report, console)


def _render(form: str, report: Report | None, summary: Summary | None) -> str:
    """Write what was gathered: both for HTML and JSON, one of them for the others."""
    if report is not None and summary is not None:
        if form == "html":
            return render_html(report, summary)
        return json.dumps(to_document(report, summary), ensure_ascii=False, indent=2)
    if form == "text":
        recorder = console()
        with recorder.capture() as captured:
            _print(recorder, report, summary)
        return captured.get()
    if report is not None:
        return render_markdown(report)
    return "" if summary is None else render_summary_markdown(summary)
