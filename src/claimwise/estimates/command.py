"""``claimwise estimate``."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from claimwise.command.options import (
    NumberRange,
    cluster_option,
    current_project,
    format_option,
    open_project_store,
    print_json,
    store_option,
)
from claimwise.estimates.periods import parse_period
from claimwise.estimates.queries import read_window
from claimwise.estimates.report import format_report, report_window, to_document

window_option = click.option(
    "--window",
    "window",
    metavar="WHEN",
    default="7d",
    show_default=True,
    help="Window: 7d, 24h, 2026-W46, w46, a day or FROM..UNTIL (UTC, UNTIL not included).",
)
system_option = click.option("--system", metavar="NAME", help="Only answers of this system.")
judge_option = click.option(
    "--verifier",
    "judge",
    metavar="NAME",
    help="The judge, or an unambiguous part of its name (default: the one with most verdicts).",
)


@click.command("estimate", short_help="Estimate the rate of a window of live traffic.")
@window_option
@system_option
@judge_option
@click.option("--confidence", type=NumberRange(0.5, 0.999), metavar="LEVEL", default=0.95,
              show_default=True, help="Confidence level of the ranges.")  # fmt: skip
@cluster_option
@store_option
@format_option("text", "json")
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
def command(
    window: str,
    system: str | None,
    judge: str | None,
    confidence: float,
    cluster: str | None,
    store: str | None,
    form: str,
) -> None:
    """Estimate the share of supported claims of a window of live traffic.

    A judge scores every claim and people label some of them; the labels correct the judge. Answers
    of one conversation count as one. If the labels are not enough for that, the rate comes from the
    labels alone, or there is no rate; the output then says why, and what to label next.
    """
    project = current_project()
    period = parse_period(window, datetime.now(UTC).replace(tzinfo=None))
    with open_project_store(project, store) as opened, opened.snapshot():
        data = read_window(
            opened, system, period, judge=judge, cluster=cluster or project.settings.cluster
        )
    report = report_window(data, confidence=confidence)
    if form == "json":
        print_json(to_document(report))
    else:
        click.echo("\n".join(format_report(report)))
