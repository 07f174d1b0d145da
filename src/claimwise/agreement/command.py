"""``claimwise agreement``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from claimwise.agreement.people import measure_people
from claimwise.agreement.report import (
    print_agreement,
    render_agreement_markdown,
    to_agreement_document,
)
from claimwise.agreement.rules import make_rule_finder
from claimwise.command.options import (
    cluster_option,
    console,
    current_project,
    format_option,
    open_project_store,
    print_json,
    read_columns,
    resolve_run,
    store_option,
    warn_of_shared,
)
from claimwise.errors import MetricError
from claimwise.labelling.rounds import read_round
from claimwise.metrics.estimate import check_confidence
from claimwise.store import Store
from claimwise.types.rows import Judgement


@click.command("agreement", short_help="Measure labeler agreement; find the guideline to clarify.")
@click.option(
    "--run",
    "runs",
    metavar="RUN",
    multiple=True,
    help="The run (default: the latest); may be repeated to combine several.",
)
@click.option("--round", "round_id", metavar="ROUND", help="Only claims of this round.")
@click.option("--closed-book", is_flag=True, help="Use labels given without sources.")
@click.option("--by", metavar="A,B", help="Columns to group by, such as claim_type; '' for none.")
@click.option("--confidence", type=float, metavar="LEVEL", default=0.95, show_default=True,
              help="Confidence level of the ranges.")  # fmt: skip
@cluster_option
@store_option
@format_option("text", "markdown", "json")
def command(
    runs: tuple[str, ...],
    round_id: str | None,
    closed_book: bool,
    by: str | None,
    confidence: float,
    cluster: str | None,
    store: str | None,
    form: str,
) -> None:
    """Measure how well labelers agree, and list disagreements by the guideline they concern.

    \b
    raw, Fleiss, Krippendorff, Cohen, Gwet   with ranges over items
    by verdict, pair of labelers, group      lowest first
    disagreements                            by pair of verdicts, most frequent first

    If the range of a kappa reaches below 0.6, the guide is unclear; don't blame the labelers.
    """
    project = current_project()
    columns = read_columns(by, project.config.metrics.by)
    check_confidence(confidence)
    with open_project_store(project, store) as opened, opened.snapshot():
        chosen, judgement = choose_labels(opened, runs, round_id, closed_book=closed_book)
        agreement = measure_people(
            opened,
            chosen,
            judgement=judgement,
            round_id=round_id,
            by=columns,
            confidence=confidence,
            find_rules=make_rule_finder(opened, project.folder),
            cluster=cluster or project.settings.cluster,
        )
        warn_of_shared(opened, chosen, cluster or project.settings.cluster)
    if form == "json":
        print_json(to_agreement_document(agreement))
    elif form == "markdown":
        click.echo(render_agreement_markdown(agreement))
    else:
        print_agreement(agreement, console())


def choose_labels(
    store: Store, runs: Sequence[str], round_id: str | None, *, closed_book: bool
) -> tuple[tuple[str, ...], Judgement]:
    """Return the runs and the kind of labels: a round's own, where one is named."""
    if round_id is None:
        chosen = tuple(runs) or (resolve_run(store, None),)
        return chosen, "closed_book" if closed_book else "grounded"
    found = read_round(store, round_id)
    other = [run_id for run_id in runs if run_id != found.run_id]
    if other:
        raise MetricError(
            f"round {round_id} belongs to run {found.run_id!r}, not {other[0]!r}; leave out --run"
        )
    return (found.run_id,), found.judgement
