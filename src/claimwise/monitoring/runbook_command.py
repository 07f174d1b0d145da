"""``claimwise runbook``."""

from __future__ import annotations

import click
import msgspec

from claimwise.command.options import (
    current_project,
    find_login_name,
    format_option,
    open_project_store,
    print_json,
    store_option,
)
from claimwise.errors import make_printable
from claimwise.monitoring.alarms import require_alarm
from claimwise.monitoring.report import document_alarm
from claimwise.monitoring.runbook import Runbook, make_runbook, open_incidents
from claimwise.monitoring.settings import read_settings


@click.command("runbook", short_help="Explain an alarm and what to do.")
@click.argument("alarm_id", metavar="ALARM")
@click.option(
    "--claims", "limit", type=click.IntRange(0, 200), metavar="N", default=10, show_default=True,
    help="Number of claims to list, worst first.",
)  # fmt: skip
@click.option(
    "--open-incidents",
    "incidents",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Turn the N worst answers behind the alarm into incidents and test cases.",
)
@click.option(
    "--answerable/--unanswerable",
    default=True,
    show_default=True,
    help="With --open-incidents: whether the corpus can answer these questions.",
)
@click.option("--who", metavar="NAME", help="Who opens the incidents (default: your login name).")
@store_option
@format_option("text", "json")
def command(
    alarm_id: str,
    limit: int,
    incidents: int | None,
    answerable: bool,
    who: str | None,
    store: str | None,
    form: str,
) -> None:
    """Explain an alarm, list the claims behind it, and propose a gate for next time.

    ALARM is an id from `claimwise alarms list`, or the beginning of one. Incidents become
    items of the test set; the proposed gates are tried on them before you copy them into
    claimwise.toml.
    """
    project = current_project()
    with open_project_store(project, store) as opened:
        alarm = require_alarm(opened, alarm_id)
        promoted = []
        if incidents is not None:
            promoted = open_incidents(
                opened,
                alarm,
                who=who or find_login_name(),
                count=incidents,
                answerable=answerable,
                query_types=project.query_types,
            )
        anchors = read_settings(project).anchors
        found = make_runbook(
            opened, project, alarm, anchors=anchors, limit=limit, promoted=promoted
        )
    if form == "json":
        document = msgspec.to_builtins(found)
        print_json({**document, "alarm": document_alarm(alarm)})
    else:
        for line in _write(found):
            click.echo(make_printable(line))


def _write(found: Runbook) -> list[str]:
    lines = [f"{found.alarm.alarm_id}: {found.explanation[0]}", *found.explanation[1:]]
    lines += ["", "What to look at"]
    lines += [f"{number}. {step}" for number, step in enumerate(found.steps, start=1)]
    if found.claims:
        lines += ["", "Claims behind it, worst first"]
        lines += [
            f"- {claim.verdict or claim.unscored}: {claim.claim_text} "
            f"[{claim.run_id}/{claim.item_id}]"
            for claim in found.claims
        ]
    for one in found.promoted:
        word = "was an incident already" if one.repeated else "is now an incident"
        lines.append(f"{one.item.item_id} {word}")
    if found.proposals:
        lines += ["", "Gates for claimwise.toml"]
    for proposal in found.proposals:
        tried = len(proposal.caught) + len(proposal.missed)
        told = (
            f"would have marked down {len(proposal.caught)} of {tried} incidents of this alarm"
            if tried
            else "no incidents to try it on yet: --open-incidents 5"
        )
        lines += [f"# {told}", *proposal.toml.split("\n"), ""]
    return lines
