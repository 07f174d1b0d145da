"""``claimwise alarms``."""

from __future__ import annotations

from datetime import datetime

import click

from claimwise.command.options import (
    current_project,
    find_login_name,
    format_option,
    open_project_store,
    print_json,
    print_table,
    store_option,
)
from claimwise.monitoring.alarms import close_alarm, require_alarm
from claimwise.monitoring.command import read_moment
from claimwise.monitoring.explain import describe_alarm
from claimwise.monitoring.queries import list_alarms
from claimwise.monitoring.report import document_alarm


@click.group("alarms", short_help="List alarms, and close them with what you found.")
def command() -> None:
    """List alarms of the monitor, and close them with what you found."""


@command.command("list", short_help="List alarms, latest first.")
@click.option("--all", "all_", is_flag=True, help="Also list closed alarms.")
@store_option
@format_option("text", "json")
def list_command(all_: bool, store: str | None, form: str) -> None:
    """List open alarms, latest first."""
    with open_project_store(current_project(), store) as opened:
        found = list_alarms(opened, open_only=not all_)
    if form == "json":
        print_json({"alarms": [document_alarm(alarm) for alarm in found]})
    elif not found:
        click.echo("No alarms." if all_ else "No open alarms.")
    else:
        print_table(
            ("alarm", "raised", "what", "closed"),
            [
                (
                    alarm.alarm_id,
                    f"{alarm.raised_at:%Y-%m-%d %H:%M}",
                    describe_alarm(alarm),
                    alarm.resolution or "open",
                )
                for alarm in found
            ],
        )


@command.command("close", short_help="Close an alarm.")
@click.argument("alarm_id", metavar="ALARM")
@click.option("--because", required=True, metavar="TEXT", help="What you found and did.")
@click.option(
    "--new-baseline",
    is_flag=True,
    help="Accept the change: later days are compared with the days since then.",
)
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DAY",
    help="First day of the new baseline (default: the day after the alarm's).",
)
@click.option("--who", metavar="NAME", help="Who closes it (default: your login name).")
@click.option("--now", metavar="TIME", help="Time of closing (default: now).")
@store_option
def close_command(
    alarm_id: str,
    because: str,
    new_baseline: bool,
    since: datetime | None,
    who: str | None,
    now: str | None,
    store: str | None,
) -> None:
    """Close an alarm and record what you found; evidence starts again from zero.

    Without --new-baseline, later days are still compared with the days before the change, which is
    right if you fixed the problem. ALARM is an id from `claimwise alarms list`, or the beginning of
    one.
    """
    with open_project_store(current_project(), store) as opened:
        alarm = require_alarm(opened, alarm_id)
        close_alarm(
            opened,
            alarm,
            who=who or find_login_name(),
            because=because,
            now=read_moment(now),
            new_baseline=new_baseline,
            since=since.date() if since else None,
        )
    click.echo(f"{alarm.alarm_id}: closed")
