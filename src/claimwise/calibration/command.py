"""``claimwise calibrate``."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from claimwise.calibration.calibrate import calibrate_verifier
from claimwise.calibration.report import (
    print_calibrated,
    render_calibrated_markdown,
    to_calibration_document,
)
from claimwise.calibration.values import TrustRule
from claimwise.command.options import (
    NumberRange,
    cluster_option,
    console,
    current_project,
    format_option,
    open_project_store,
    print_json,
    read_columns,
    store_option,
    warn_of_shared,
)

_RULE = TrustRule()


@click.command("calibrate", short_help="Check a judge against human labels.")
@click.option("--verifier", "name", metavar="NAME", required=True,
              help="The judge, or an unambiguous part of its name.")  # fmt: skip
@click.option("--run", "runs", metavar="RUN", multiple=True,
              help="Use labels of this run (default: all runs); may be repeated.")  # fmt: skip
@click.option("--by", metavar="A,B", default="domain", show_default=True,
              help="Item columns to group by; '' for none.")  # fmt: skip
@click.option("--closed-book", is_flag=True, help="Check its closed-book verdicts.")
@click.option("--days", type=click.IntRange(1, 3650), metavar="N", default=_RULE.days,
              show_default=True, help="Days until the calibration expires.")  # fmt: skip
@click.option("--min-claims", type=click.IntRange(2), metavar="N", default=_RULE.min_claims,
              show_default=True, help="Claims a group needs for a result.")  # fmt: skip
@click.option("--level", type=NumberRange(0.5, 1), metavar="SHARE", default=_RULE.level,
              show_default=True, help="Balanced accuracy needed for trust.")  # fmt: skip
@click.option("--margin", type=NumberRange(0, 1), metavar="KAPPA", default=_RULE.margin,
              show_default=True, help="How far kappa may fall below labelers' own.")  # fmt: skip
@click.option("--precision", type=NumberRange(0.5, 1), metavar="SHARE", default=_RULE.precision,
              show_default=True,
              help="Also find the threshold that reaches this precision.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the result without storing it.")
@cluster_option
@store_option
@format_option("text", "markdown", "json")
def command(
    name: str,
    runs: tuple[str, ...],
    by: str,
    closed_book: bool,
    days: int,
    min_claims: int,
    level: float,
    margin: float,
    precision: float,
    dry_run: bool,
    cluster: str | None,
    store: str | None,
    form: str,
) -> None:
    """Check a judge on claims that people labelled, and show where it can be trusted.

    The result is stored. Until it expires, gates use the error rates of a trusted judge, and
    reports mention it. Runs that people labelled in a round also get a corrected rate.
    """
    project = current_project()
    rule = TrustRule(
        days=days, min_claims=min_claims, level=level, margin=margin, precision=precision
    )
    with open_project_store(project, store) as opened:
        found = calibrate_verifier(
            opened,
            name,
            now=datetime.now(UTC).replace(tzinfo=None),
            judgement="closed_book" if closed_book else "grounded",
            runs=runs,
            by=read_columns(by, ()),
            rule=rule,
            keep=not dry_run,
            cluster=cluster or project.settings.cluster,
            weights=project.settings.weights,
        )
        warn_of_shared(opened, found.overall.runs, cluster or project.settings.cluster)
    if form == "json":
        print_json(to_calibration_document(found))
    elif form == "markdown":
        click.echo(render_calibrated_markdown(found))
    else:
        print_calibrated(found, console())
