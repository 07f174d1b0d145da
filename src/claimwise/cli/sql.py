"""``claimwise sql``."""

from __future__ import annotations

import csv
import sys

import click

from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    print_json,
    print_table,
    store_option,
)
from claimwise.metrics import find_metric, load_metrics, refuse_unknown_run
from claimwise.metrics.counting import write_counted
from claimwise.store import list_views
from claimwise.text.formulas import guard_cell


@click.command("sql", short_help="Print or run the SQL of a metric.")
@click.argument("name", metavar="METRIC|VIEW")
@click.option(
    "--run", "run_id", metavar="RUN", help="Execute the SQL for this run and print the rows."
)
@store_option
@format_option("text", "csv", "json")
def command(name: str, run_id: str | None, store: str | None, form: str) -> None:
    """Print the SQL of a metric or view, or with --run its rows for that run.

    A metric's SQL counts what `claimwise metrics` counts: retired items are left out.

    \b
    To choose the run in the sqlite3 shell: .parameter set :run_id "'RUN'"
    To choose the run in psql:              \\set run_id '''RUN'''
    """
    project = current_project()
    metrics = load_metrics(project.metrics_folder, project.citations)
    views = dict(list_views())
    shown = f"create view {name} as\n{views[name]}" if name in views else None
    of_run = f"select * from {name} where run_id = :run_id"
    sql = of_run if shown else write_counted(find_metric(metrics, name))
    if run_id is None:
        click.echo(f"{shown or sql};")
        return
    params = {"run_id": run_id}
    with open_project_store(project, store) as opened:
        refuse_unknown_run(opened, run_id)
        columns, rows = opened.describe(sql, params), opened.query(sql, params)
    _print_rows(columns, [list(row) for row in rows], form)


def _print_rows(columns: list[str], rows: list[list[object]], form: str) -> None:
    if form == "json":
        print_json({"rows": [dict(zip(columns, row, strict=True)) for row in rows]})
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([guard_cell(name) for name in columns])
        writer.writerows([guard_cell(value) for value in row] for row in rows)
    else:
        print_table(columns, rows)
