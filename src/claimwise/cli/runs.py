"""``claimwise runs``."""

from __future__ import annotations

from typing import Any

import click

from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    print_json,
    print_table,
    store_option,
)
from claimwise.store import Store
from claimwise.store.runs import NO_RUNS
from claimwise.types.rows import Run

_COUNTS = ("items", "claims", "labelled")


def list_runs(store: Store) -> list[dict[str, Any]]:
    """Return all runs, the latest first, with their numbers of items, claims and labels."""
    columns = ", ".join(f"cast(r.{name} as text)" for name in Run.__struct_fields__)
    rows = store.query(
        f"select {columns}, "
        "(select count(distinct a.item_id) from answers as a where a.run_id = r.run_id), "
        "(select count(*) from claims as c where c.run_id = r.run_id), "
        "(select count(*) from deciding_labels as d where d.run_id = r.run_id) "
        "from runs as r order by r.started_at desc, r.run_id"
    )
    names = (*Run.__struct_fields__, *_COUNTS)
    return [dict(zip(names, row, strict=True)) for row in rows]


@click.command("runs", short_help="List the runs, latest first.")
@store_option
@format_option("text", "json")
def command(store: str | None, form: str) -> None:
    """List the runs in the store, latest first."""
    with open_project_store(current_project(), store) as opened:
        runs = list_runs(opened)
        place = opened.place
    if form == "json":
        print_json({"runs": runs})
        return
    if not runs:
        click.echo(f"{place}: {NO_RUNS}")
        return
    columns = [name.removesuffix("_ver").removesuffix("_at") for name in runs[0]]
    print_table(columns, [list(run.values()) for run in runs], right=_COUNTS)
