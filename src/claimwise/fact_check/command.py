"""``claimwise factcheck``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from claimwise.checking.answer_counts import describe_judged, describe_skipped
from claimwise.checking.plan import plan_rounds
from claimwise.command.judge import (
    CallPlan,
    JudgeOptions,
    describe_cost,
    find_agreement,
    find_batches,
    judge_options,
    open_judge_client,
    plan_calls,
    print_call_plan,
)
from claimwise.command.options import (
    console,
    current_project,
    format_option,
    open_project_store,
    print_json,
    store_option,
)
from claimwise.command.progress import show_progress
from claimwise.errors import ClaimwiseError, make_printable
from claimwise.fact_check.answer import cut_pieces, factcheck_answer
from claimwise.fact_check.options import (
    check_queue,
    check_trust,
    make_closed_judge,
    write_answer_queue,
    write_queue,
)
from claimwise.fact_check.report import (
    describe_judged_run,
    print_factcheck,
    to_factcheck_document,
    to_factcheck_run_document,
)
from claimwise.fact_check.run import ClosedBookRun, factcheck_run
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.readers.documents import read_text
from claimwise.report.format import UNCHECKED, pluralize
from claimwise.store import Store
from claimwise.types.closed_book import FACT_LABELS, FactcheckRunResult, Frame, Spent

if TYPE_CHECKING:
    from claimwise.llm.client import LlmClient

_RESPLIT_NOTE = "compound claims are sent back once: at most one more small call per answer"
_FILE = click.Path(path_type=Path)


@click.command("factcheck", short_help="Check facts against what a language model knows.")
@click.option(
    "--answer", type=_FILE, metavar="FILE|-", help="File with the answer; - reads standard input."
)
@click.option(
    "--run", "run_id", metavar="RUN", help="Check all answers of this stored run instead."
)
@click.option(
    "--domain-hint", metavar="TEXT", help="Subject area, such as “cardiology, for clinicians”."
)
@click.option(
    "--question", metavar="TEXT", help="The question that was asked (a stored run has its own)."
)
@click.option(
    "--no-resplit", is_flag=True, help="Don't ask the judge to split compound claims again."
)
@click.option(
    "--queue",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write claims that need a second look to this file, for people to label.",
)
@click.option(
    "--again", is_flag=True, help="With --run: re-judge claims this judge has already judged."
)
@click.option(
    "--untrusted-ok", is_flag=True, help="Use a judge even if it failed `claimwise probe-judge`."
)
@judge_options(required=True, batches=True)
@store_option
@format_option("text", "json")
def command(
    judging: JudgeOptions,
    answer: Path | None,
    run_id: str | None,
    domain_hint: str | None,
    question: str | None,
    no_resplit: bool,
    queue: Path | None,
    again: bool,
    untrusted_ok: bool,
    store: str | None,
    form: str,
) -> None:
    """Label each claim of an answer as true, false, unverifiable or non_factual.

    \b
    claimwise factcheck --answer answer.txt --judge openai:gpt-4o --domain-hint "Egyptology"
    claimwise factcheck --run v2 --judge anthropic:claude-sonnet-4-5 --dry-run

    The judge sees no sources and goes by what it knows, so treat its labels as signals, not as
    truth; docs/factcheck.md explains the safeguards. If you have documents, `claimwise cascade`
    checks the suspicious claims against them. factual_precision is true / (true + false). Exits
    with 0 whatever the labels, or with 1 if nothing could be labelled.
    """
    if (answer is None) == (run_id is None):
        raise click.UsageError("Give either --answer or --run.")
    check_queue(queue)
    text = None if answer is None else read_text(answer)
    project = current_project()
    with open_judge_client(judging, project, store) as client:
        judge = make_closed_judge(client, judging)
        if not judging.dry_run:
            check_trust(project, judge, untrusted_ok=untrusted_ok)
        wanted = _Wanted(
            judging=judging,
            frame=Frame(domain_hint=domain_hint, question=question),
            resplit=not no_resplit,
            again=again,
            queue=queue,
            form=form,
        )
        if text is not None:
            known = find_agreement(project, store, judge.labeler)
            _judge_answer(text, judge, client, wanted, known)
        elif run_id is not None:
            with open_project_store(project, store) as opened:
                _judge_run(opened, run_id, judge, client, wanted)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """What the command line asks for."""

    judging: JudgeOptions
    frame: Frame
    resplit: bool
    again: bool
    queue: Path | None
    form: str

    def print_plan(self, plan: CallPlan) -> None:
        print_call_plan(plan, self.form, note=_RESPLIT_NOTE if self.resplit else "")


def _judge_answer(
    text: str,
    judge: ClosedBookJudge,
    client: LlmClient,
    wanted: _Wanted,
    agreement: str | None,
) -> None:
    if wanted.judging.dry_run:
        pieces = cut_pieces(text, wanted.frame.question)
        calls = [judge.make_call(pieces, wanted.frame)] if pieces else []
        wanted.print_plan(plan_calls(calls, client, repeats=wanted.judging.repeats))
        return
    ask = partial(
        factcheck_answer,
        text,
        judge,
        wanted.frame,
        resplit=wanted.resplit,
        repeats=wanted.judging.repeats,
    )
    batches = find_batches(client)
    result = ask() if batches is None else batches.ask_whole(ask)
    result = msgspec.structs.replace(result, agreement=agreement)
    cost = client.tally.cost
    if wanted.form == "json":
        print_json(to_factcheck_document(result, cost=cost))
    else:
        print_factcheck(result, console())
        click.echo(f"{_describe_spent(result.spent)}, {describe_cost(cost)}", err=True)
        for warning in result.warnings:
            click.echo(f"warning: {make_printable(warning)}", err=True)
    if wanted.queue is not None:
        texts = (claim.text for claim in result.second_look)
        write_answer_queue(texts, wanted.queue, text, wanted.frame)
    if result.unscored and not result.scored:
        lost = result.unscored[0]
        raise ClaimwiseError(f"nothing was scored: {lost.unscored}: {lost.detail or 'see above'}")


def _judge_run(
    store: Store, run_id: str, judge: ClosedBookJudge, client: LlmClient, wanted: _Wanted
) -> None:
    run = ClosedBookRun(judge, wanted.frame.domain_hint, wanted.resplit)
    repeats, again = wanted.judging.repeats, wanted.again
    if wanted.judging.dry_run:
        wanted.print_plan(plan_rounds(store, run_id, run, client, repeats, again=again))
        return
    with show_progress(client=client) as watch:
        result = factcheck_run(
            store,
            run_id,
            run,
            repeats=repeats,
            threads=client.concurrency,
            again=again,
            watch=watch,
            batches=find_batches(client),
        )
    cost = client.tally.cost
    if wanted.form == "json":
        print_json(to_factcheck_run_document(result, cost=cost))
    else:
        _print_run(result, cost)
    if wanted.queue is not None:
        write_queue(result.queue, wanted.queue)
    if result.unscored and not result.labels:
        codes = ", ".join(f"{code} {count:,}" for code, count in result.unscored.items())
        raise ClaimwiseError(f"nothing was scored: {codes}; the next call tries again")


def _print_run(result: FactcheckRunResult, cost: float | None) -> None:
    done = describe_judged(result, "labelled", result.judged, result.seconds)
    click.echo(f"{done}; {_describe_spent(result.spent)}, {describe_cost(cost)}")
    for line in describe_skipped(result):
        click.echo(line)
    if result.invented:
        ids = pluralize(result.invented, "id")
        click.echo(f"dropped {ids} in replies that nobody had asked for")
    click.echo(make_printable(f"the run {result.run_id} by {result.judge}, {UNCHECKED}:"))
    for label in FACT_LABELS:
        if count := result.labels.get(label):
            click.echo(f"  {label:<14}{count:>9,}")
    for reason, count in result.unscored.items():
        click.echo(f"  {'unscored':<14}{count:>9,}  {make_printable(reason)}")
    for line in describe_judged_run(result):
        click.echo(make_printable(line))
    for warning in result.warnings:
        click.echo(f"warning: {make_printable(warning)}", err=True)
    if result.without_hint:
        click.echo(
            f"warning: {result.without_hint:,} answers read like a specialist field and had no "
            "domain hint",
            err=True,
        )
    click.echo(
        f"next: claimwise metrics --run {result.run_id} --metric factual_precision", err=True
    )


def _describe_spent(spent: Spent) -> str:
    cached = f", {spent.cached:,} from the cache" if spent.cached else ""
    return f"{pluralize(spent.calls, 'call')}{cached}"
