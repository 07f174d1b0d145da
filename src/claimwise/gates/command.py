"""``claimwise gate``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

from claimwise.command.options import (
    choose_run,
    console,
    current_project,
    format_option,
    open_project_store,
    store_option,
    write_output,
)
from claimwise.gates.report import (
    print_gates,
    render_annotations,
    render_gates_json,
    render_gates_markdown,
    render_junit,
)
from claimwise.gates.run import run_gates
from claimwise.gates.values import GateReport

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("gate", short_help="Apply the gates of claimwise.toml to a run.")
@click.option("--run", "run_id", metavar="RUN", help="The run (default: the latest).")
@click.option(
    "--gate", "names", metavar="NAME", multiple=True, help="Only this gate; may be repeated."
)
@click.option("--junit", type=_FILE, help="Also write JUnit XML to this file.")
@click.option("--markdown", type=_FILE, help="Also write Markdown to this file.")
@click.option("--json", "json_", type=_FILE, help="Also write JSON to this file.")
@store_option
@format_option("text", "markdown", "json", "junit", "github")
@click.pass_context
def command(
    ctx: click.Context,
    run_id: str | None,
    names: tuple[str, ...],
    junit: Path | None,
    markdown: Path | None,
    json_: Path | None,
    store: str | None,
    form: str,
) -> None:
    """Apply the gates of claimwise.toml to a run.

    Exits with 0 if all gates pass, 2 if one fails, 3 if none fails but one is inconclusive (unless
    it has on_inconclusive = "warn"), and 1 if they could not be applied. In GitHub Actions it also
    annotates the build and adds to the step summary.
    """
    project = current_project()
    with open_project_store(project, store) as opened:
        report = run_gates(opened, project, choose_run(opened, run_id), names)
    if form == "text":
        print_gates(report, console())
    else:
        click.echo(_RENDERERS[form](report).rstrip("\n"))
    for path, render in ((junit, "junit"), (markdown, "markdown"), (json_, "json")):
        if path is not None:
            write_output(_RENDERERS[render](report), path)
    _tell_github(report, annotated=form == "github")
    ctx.exit(report.exit_code)


_RENDERERS: dict[str, Callable[[GateReport], str]] = {
    "markdown": render_gates_markdown,
    "json": render_gates_json,
    "junit": render_junit,
    "github": render_annotations,
}


def _tell_github(report: GateReport, *, annotated: bool) -> None:
    """Annotate the build and add to its summary, where GitHub runs it."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    if not annotated:
        # On standard error, so that --format json stays JSON; GitHub reads both.
        click.echo(render_annotations(report), err=True, nl=False)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(render_gates_markdown(report))
