"""``claimwise gate``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import msgspec

from claimwise.command.options import (
    cluster_option,
    console,
    current_project,
    format_option,
    open_project_store,
    print_json,
    print_table,
    resolve_run,
    store_option,
    warn_of_shared,
    write_output,
)
from claimwise.config import Project
from claimwise.errors import StoreError
from claimwise.gates.history import keep_results, list_results
from claimwise.gates.report import (
    HISTORY_COLUMNS,
    HISTORY_SCHEMA,
    list_history_cells,
    print_gates,
    render_annotations,
    render_gates_json,
    render_gates_markdown,
    render_junit,
)
from claimwise.gates.run import run_gates
from claimwise.gates.values import GateReport
from claimwise.metrics import load_metrics
from claimwise.store import Store

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("gate", short_help="Apply the gates of claimwise.toml to a run.")
@click.option("--run", "run_id", metavar="RUN", help="The run (default: the latest).")
@click.option(
    "--gate", "names", metavar="NAME", multiple=True, help="Only this gate; may be repeated."
)
@click.option(
    "--history",
    is_flag=True,
    help="List the results so far, latest first (of --run and --gate, if given); decide nothing.",
)
@click.option("--junit", type=_FILE, help="Also write JUnit XML to this file.")
@click.option("--markdown", type=_FILE, help="Also write Markdown to this file.")
@click.option("--json", "json_", type=_FILE, help="Also write JSON to this file.")
@cluster_option
@store_option
@format_option("text", "markdown", "json", "junit", "github")
@click.pass_context
def command(
    ctx: click.Context,
    run_id: str | None,
    names: tuple[str, ...],
    history: bool,
    junit: Path | None,
    markdown: Path | None,
    json_: Path | None,
    cluster: str | None,
    store: str | None,
    form: str,
) -> None:
    """Apply the gates of claimwise.toml to a run.

    Exits with 0 if all gates pass, 2 if one fails, 3 if none fails but one is inconclusive (unless
    it has on_inconclusive = "warn"), and 1 if they could not be applied. In GitHub Actions it also
    annotates the build and adds to the step summary. Every result is kept in the store.
    """
    project = current_project()
    if history:
        _show_history(project, store, run_id, names, form)
        return
    with open_project_store(project, store) as opened:
        chosen = resolve_run(opened, run_id)
        report = run_gates(opened, project, chosen, names, cluster=cluster)
        warn_of_shared(opened, chosen, cluster or project.settings.cluster)
        keep_or_warn(opened, project, report)
    if form == "text":
        print_gates(report, console())
    else:
        click.echo(_RENDERERS[form](report).rstrip("\n"))
    for path, render in ((junit, "junit"), (markdown, "markdown"), (json_, "json")):
        if path is not None:
            write_output(_RENDERERS[render](report), path)
    _annotate_github(report, annotated=form == "github")
    ctx.exit(report.exit_code)


def keep_or_warn(store: Store, project: Project, report: GateReport) -> None:
    """Keep the results; a store that can't be written to still gets its gates decided."""
    if not store.writable:
        click.echo(
            "warning: the results are not kept: Parquet files are never written to", err=True
        )
    try:
        keep_results(store, report, load_metrics(project.metrics_folder, project.citations))
    except StoreError as error:
        click.echo(f"warning: the results are not kept: {error}", err=True)


def _show_history(
    project: Project, store: str | None, run_id: str | None, names: Sequence[str], form: str
) -> None:
    if form not in ("text", "json"):
        raise click.UsageError("--history can be printed as text or json")
    with open_project_store(project, store) as opened:
        events = list_results(opened, run_id=run_id, names=names)
    if form == "json":
        print_json({"schema": HISTORY_SCHEMA, "events": msgspec.to_builtins(events)})
    elif events:
        print_table(HISTORY_COLUMNS, map(list_history_cells, events))
    else:
        click.echo("No gate was ever decided here. Run `claimwise gate`.")


_RENDERERS: dict[str, Callable[[GateReport], str]] = {
    "markdown": render_gates_markdown,
    "json": render_gates_json,
    "junit": render_junit,
    "github": render_annotations,
}


def _annotate_github(report: GateReport, *, annotated: bool) -> None:
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
