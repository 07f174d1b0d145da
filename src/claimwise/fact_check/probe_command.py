"""``claimwise probe-judge``."""

from __future__ import annotations

from pathlib import Path

import click

from claimwise.command.judge import (
    JudgeOptions,
    describe_cost,
    judge_options,
    open_judge_client,
    plan_calls,
    print_call_plan,
)
from claimwise.command.options import (
    NumberRange,
    console,
    current_project,
    format_option,
    print_json,
    store_option,
)
from claimwise.command.progress import show_progress
from claimwise.config import FILE_NAME, Project
from claimwise.errors import make_printable
from claimwise.fact_check.options import make_closed_judge
from claimwise.fact_check.probe import LIMIT, MADE_UP, plan_probe, probe_judge, store_probe
from claimwise.fact_check.report import (
    print_probe,
    print_truthfulqa,
    to_probe_document,
    to_truthfulqa_document,
)
from claimwise.fact_check.truthfulqa import plan_truthfulqa, probe_truthfulqa, read_truthfulqa
from claimwise.types.closed_book import ProbeResult, TruthfulQaResult
from claimwise.types.progress import JudgeProgress

EXIT_CODES = {"trusted": 0, "not_trusted": 2, "inconclusive": 3}


@click.command("probe-judge", short_help="Test a judge on made-up facts before you trust it.")
@click.option(
    "--n",
    type=click.IntRange(1, 10_000),
    default=MADE_UP,
    show_default=True,
    metavar="N",
    help="Number of made-up claims (60 well-known ones are added), or of TruthfulQA's questions.",
)
@click.option(
    "--limit",
    type=NumberRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Share of made-up claims or false answers it may call true; the upper end of the range "
    f"counts.  [default: {LIMIT:g}; none for TruthfulQA]",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Seed for the made-up names, or for the choice of questions.",
)
@click.option(
    "--truthfulqa",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Probe with questions of TruthfulQA instead: its CSV file, or JSON Lines or Parquet.",
)
@judge_options(required=True, repeats=False)
@store_option
@format_option("text", "json")
@click.pass_context
def command(
    ctx: click.Context,
    judging: JudgeOptions,
    n: int,
    limit: float | None,
    seed: int,
    truthfulqa: Path | None,
    store: str | None,
    form: str,
) -> None:
    """Measure how often a closed-book judge calls invented people, places and laws true.

    \b
    claimwise probe-judge --judge openai:gpt-4o
    claimwise probe-judge --judge openai:gpt-4o --truthfulqa TruthfulQA.csv

    Well-known truths and falsehoods are mixed in, so a judge that knows nothing fails as well.
    Exits with 0 if the judge can be trusted, 2 if not, and 3 if there were too few claims to tell.
    In a project the result is stored, and `claimwise factcheck` refuses a judge that failed.

    With --truthfulqa, measures how often the judge believes false answers that people often give.
    Without --limit this only measures the judge: it exits with 0, and nothing is stored.
    """
    questions = None if truthfulqa is None else read_truthfulqa(truthfulqa)
    project = current_project()
    with open_judge_client(judging, project, store) as client:
        judge = make_closed_judge(client, judging)
        if judging.dry_run:
            calls = (
                plan_probe(judge, n=n, seed=seed)
                if questions is None
                else plan_truthfulqa(judge, questions, n=n, seed=seed)
            )
            print_call_plan(plan_calls(calls, client), form)
            return
        with show_progress("claims", client) as tell:

            def watch(done: int, total: int) -> None:
                tell(JudgeProgress(total=total, done=done))

            threads = client.concurrency
            if questions is not None:
                found = probe_truthfulqa(
                    judge, questions, n=n, limit=limit, seed=seed, concurrency=threads, watch=watch
                )
                _show_truthfulqa(found, client.tally.cost, form)
                ctx.exit(EXIT_CODES[found.verdict or "trusted"])
            most = LIMIT if limit is None else limit
            result = probe_judge(
                judge, n=n, limit=most, seed=seed, concurrency=threads, watch=watch
            )
        cost = client.tally.cost
    _show(result, cost, form)
    _keep(project, result)
    ctx.exit(EXIT_CODES[result.verdict])


def _show(result: ProbeResult, cost: float | None, form: str) -> None:
    if form == "json":
        print_json(to_probe_document(result, cost=cost))
    else:
        print_probe(result, console())
        click.echo(describe_cost(cost), err=True)
    for warning in result.warnings:
        click.echo(f"warning: {make_printable(warning)}", err=True)


def _show_truthfulqa(result: TruthfulQaResult, cost: float | None, form: str) -> None:
    if form == "json":
        print_json(to_truthfulqa_document(result, cost=cost))
        return
    print_truthfulqa(result, console())
    click.echo(describe_cost(cost), err=True)


def _keep(project: Project, result: ProbeResult) -> None:
    """Keep the result in a project, unless nothing was scored: that says nothing of the judge."""
    if not result.made_up_true.scored:
        codes = ", ".join(f"{code} {count}" for code, count in result.unscored.items())
        click.echo(f"nothing was scored ({make_printable(codes)}): not kept", err=True)
    elif (project.folder / FILE_NAME).is_file():
        click.echo(f"kept in {store_probe(project.folder, result)}", err=True)
