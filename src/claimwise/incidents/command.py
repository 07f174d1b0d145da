"""``claimwise incidents``."""

from __future__ import annotations

import click
import msgspec

from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    print_json,
    print_table,
    store_option,
)
from claimwise.errors import make_printable
from claimwise.incidents.gate_backtest import list_incidents
from claimwise.incidents.values import Catch, IncidentStatus

_MEANING = (
    "A gate would catch an incident if its metric counts the item, and would count the same answer "
    "as bad again. Whether the gate then fails depends on the other items too."
)


@click.command("incidents", short_help="List incidents and the gates that would catch them.")
@store_option
@format_option("text", "json")
def command(store: str | None, form: str) -> None:
    """List incidents that became items, latest first.

    For each: what is left to do, the latest run that answered its item, and the gates that would
    catch it now, because their metric includes the item and counts the incident's answer as bad.
    """
    project = current_project()
    with open_project_store(project, store) as opened:
        found, warnings = list_incidents(opened, project)
        place = opened.place
    for warning in warnings:
        click.echo(f"warning: {make_printable(warning)}", err=True)
    if form == "json":
        print_json({"incidents": [msgspec.to_builtins(status) for status in found]})
    elif not found:
        click.echo(f"{place}: no incidents yet; `claimwise promote` turns a wrong answer into one")
    else:
        print_table(
            ("item", "promoted", "state", "wrong", "asked in", "would be caught by"),
            [_show(status, any_gates=bool(project.config.gates)) for status in found],
        )
        click.echo(f"\n{_MEANING}")


def _show(status: IncidentStatus, *, any_gates: bool) -> tuple[str | None, ...]:
    incident = status.incident
    caught = ", ".join(map(_name_catch, status.caught_by))
    unscored = f" (+{status.unscored} not scored)" if status.unscored else ""
    return (
        incident.item_id,
        f"{incident.promoted_at:%Y-%m-%d}",
        status.state,
        f"{len(status.wrong)}{unscored}",
        status.asked_in or "no run yet",
        caught or ("no gate" if any_gates else "no gate: add one"),
    )


def _name_catch(catch: Catch) -> str:
    values = ", ".join(str(value) for value in catch.slice.values())
    return f"{catch.gate} [{values}]" if values else catch.gate
