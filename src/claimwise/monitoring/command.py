"""``claimwise monitor``."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    print_json,
    print_table,
    store_option,
    write_file,
)
from claimwise.errors import ClaimwiseError, describe_unknown, make_printable
from claimwise.monitoring.explain import describe_alarm
from claimwise.monitoring.grafana import make_dashboard
from claimwise.monitoring.queries import list_alarms, list_traffic_systems, read_points
from claimwise.monitoring.report import (
    DAY_COLUMNS,
    WEEK_COLUMNS,
    list_days,
    list_weeks,
    to_watch_document,
)
from claimwise.monitoring.settings import MonitorSettings, read_settings
from claimwise.monitoring.values import Alarm, MonitorPoint
from claimwise.monitoring.watch import WatchResult, watch_all
from claimwise.monitoring.webhooks import deliver_due
from claimwise.report.format import pluralize
from claimwise.store import Store

ALARMED = 2
_FILE = click.Path(dir_okay=False, path_type=Path)


def read_moment(value: str | None) -> datetime:
    """Return a time that an option gives, in UTC without a zone; else the clock's.

    Raises:
        ClaimwiseError: it is no time.
    """
    if value is None:
        return datetime.now(UTC).replace(tzinfo=None)
    try:
        found = datetime.fromisoformat(value)
    except ValueError as error:
        raise ClaimwiseError(
            f"{value!r} is not a time; write it like 2026-11-16 or 2026-11-16T06:00:00Z"
        ) from error
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


@click.command("monitor", short_help="Watch live traffic and raise alarms you can believe.")
@click.option(
    "--window",
    type=click.Choice(["day", "week"]),
    default="day",
    show_default=True,
    help="What to show: days, or weeks with their ranges, by version.",
)
@click.option("--system", metavar="NAME", help="Only this system (default: all).")
@click.option("--now", metavar="TIME", help="Pretend that it is this time (UTC).")
@click.option(
    "--fail-if",
    type=click.Choice(["new", "open", "never"]),
    default="new",
    show_default=True,
    help="Exit with 2 if this call raised an alarm, if any alarm is open, or never.",
)
@click.option(
    "--otlp-out",
    metavar="URL|FILE",
    help="Also send the verdicts of the days read as OpenTelemetry gen_ai.evaluation.result "
    "events, to a collector or a file.",
)
@click.option(
    "--grafana", type=_FILE, help="Write a Grafana dashboard to this file and read nothing."
)
@store_option
@format_option("text", "json")
@click.pass_context
def command(
    ctx: click.Context,
    window: str,
    system: str | None,
    now: str | None,
    fail_if: str,
    otlp_out: str | None,
    grafana: Path | None,
    store: str | None,
    form: str,
) -> None:
    """Read every finished day of live traffic once, and raise alarms.

    Run it daily, after `claimwise traffic judge`. Each day is read once, a day after its end
    (wait_days), so running it more often changes nothing. Alarms cover supported claims, unscored
    claims, refusals, the mix of inputs, changes of the judge, and missing data. While nothing
    changes, each of them raises a false alarm about once in twenty years, however often you look.

    Exits with 0 if there is nothing new, 2 if an alarm was raised (see --fail-if), and 1 if it
    could not run. Webhooks, groups and anchors are set in [monitor] of claimwise.toml.
    """
    if grafana is not None:
        write_file(grafana, json.dumps(make_dashboard(), indent=2) + "\n")
        click.echo(f"wrote {grafana}; import it in Grafana: Dashboards, New, Import", err=True)
        return
    project = current_project()
    settings, moment = read_settings(project), read_moment(now)
    with open_project_store(project, store) as opened:
        if system is not None and system not in list_traffic_systems(opened):
            known = list_traffic_systems(opened)
            raise ClaimwiseError(describe_unknown("system", system, known, where="the traffic"))
        result = watch_all(opened, settings, moment, system)
        _deliver(opened, settings, moment)
        if otlp_out is not None:
            _send_events(opened, result, otlp_out)
        alarms = list_alarms(opened, open_only=True, system=system)
        points = read_points(opened, system)
    if form == "json":
        print_json(to_watch_document(result, points, alarms, window))
    else:
        _print(result, points, alarms, window, settings.wait_days)
    failing = {"new": result.raised, "open": alarms, "never": []}[fail_if]
    ctx.exit(ALARMED if failing else 0)


def _deliver(store: Store, settings: MonitorSettings, now: datetime) -> None:
    for problem in deliver_due(store, settings, now).problems:
        click.echo(f"warning: webhook {make_printable(problem)}", err=True)


def _send_events(store: Store, result: WatchResult, to: str) -> None:
    from claimwise.monitoring.otlp import send_events

    count = send_events(store, result.runs, to)
    click.echo(f"sent the verdicts of {count:,} answers", err=True)


def _print(
    result: WatchResult,
    points: list[MonitorPoint],
    alarms: list[Alarm],
    window: str,
    wait_days: int,
) -> None:
    lines = list_weeks(points) if window == "week" else list_days(points)
    if lines:
        print_table(
            WEEK_COLUMNS if window == "week" else DAY_COLUMNS,
            lines,
            right=("answers", "labels", "supported", "judge alone", "unscored", "refusals"),
        )
    else:
        click.echo(
            f"No {window} to show yet. A {window} is read {pluralize(wait_days, 'day')} after its "
            "end ([monitor] wait_days); `claimwise ingest-traces` takes traffic in."
        )
    new = {alarm.alarm_id for alarm in result.raised}
    for alarm in sorted(alarms, key=lambda one: one.alarm_id not in new):
        word = "NEW ALARM" if alarm.alarm_id in new else "open alarm"
        click.echo(f"\n{word} {alarm.alarm_id}: {make_printable(describe_alarm(alarm))}")
    if alarms:
        click.echo("\nWhat to do: claimwise runbook ALARM")
