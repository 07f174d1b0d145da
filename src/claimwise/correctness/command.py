"""``claimwise correctness``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from claimwise.command.judge import (
    JudgeOptions,
    check_replied,
    describe_cost,
    judge_options,
    open_judge_client,
    plan_calls,
    print_call_plan,
)
from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    print_json,
    resolve_run,
    store_option,
    write_output,
)
from claimwise.command.progress import show_progress
from claimwise.correctness.run import (
    CorrectnessResult,
    judge_correctness,
    list_open,
    read_gold_answers,
)
from claimwise.errors import make_printable
from claimwise.judges.correctness import CorrectnessJudge, GoldRule
from claimwise.llm.prompts import load_prompt
from claimwise.report.format import UNCHECKED, pluralize, show_percent
from claimwise.store import Store
from claimwise.types.progress import JudgeProgress
from claimwise.types.rows import AnswerLabel

_SHOWN = 10  # answers that were left open


@click.command("correctness", short_help="Compare a run's answers with their gold answers.")
@click.option("--run", "run_id", metavar="RUN", help="The run (default: the latest).")
@click.option("--again", is_flag=True, help="Also compare answers that are already labelled.")
@click.option(
    "--queue",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write answers that were left open to this file, for people to label.",
)
@judge_options(required=False, repeats=False)
@store_option
@format_option("text", "json")
def command(
    run_id: str | None,
    again: bool,
    queue: Path | None,
    judging: JudgeOptions,
    store: str | None,
    form: str,
) -> None:
    """Label a run's answers as correct or not, by the gold answers of their items.

    \b
    claimwise correctness --run v2
    claimwise correctness --run v2 --judge openai:gpt-4o --dry-run

    A rule compares texts, numbers with their units, dates and yes or no, and leaves the rest open.
    With --judge a language model compares the meaning. People's labels take priority; import them
    as answer_labels. Together with the verdicts on claims, `claimwise report`
    then shows which answers are right without evidence, and which follow a wrong document.
    """
    project = current_project()
    with open_project_store(project, store) as opened:
        chosen = resolve_run(opened, run_id)
        if judging.judge is None:
            result = judge_correctness(opened, chosen, GoldRule(), again=again)
        else:
            found = _judge_with_model(opened, chosen, judging, store, again=again, form=form)
            if found is None:
                return
            result = found
    if form == "json":
        print_json(_to_document(result))
    else:
        _print_result(result)
    if queue is not None:
        write_output("\n".join(_list_rows(result)), queue)


def _judge_with_model(
    store: Store,
    run_id: str,
    judging: JudgeOptions,
    place: str | None,
    *,
    again: bool,
    form: str,
) -> CorrectnessResult | None:
    """Let a model compare; None after --dry-run."""
    with open_judge_client(judging, current_project(), place) as client:
        prompt = judging.prompt_place
        judge = CorrectnessJudge(client, load_prompt(prompt) if prompt else None)
        if judging.dry_run:
            asked = list_open(read_gold_answers(store, run_id, judge.labeler), again=again)
            calls = (judge.make_call(one.question, one.gold, one.text) for one in asked)
            print_call_plan(plan_calls(calls, client), form)
            return None
        with show_progress(client=client) as tell:
            result = judge_correctness(
                store,
                run_id,
                judge,
                threads=client.concurrency,
                again=again,
                watch=lambda done, total: tell(JudgeProgress(total=total, done=done)),
            )
        check_replied(client.tally)
        click.echo(describe_cost(client.tally.cost), err=True)
    return result


def describe_run_agreement(result: CorrectnessResult) -> str:
    """Say how far the labeler agrees with people on this run's answers."""
    if not result.compared:
        return UNCHECKED
    share = show_percent(result.agreed / result.compared)
    return f"agrees with people on {share} of {pluralize(result.compared, 'answer')}"


def _print_result(result: CorrectnessResult) -> None:
    if not result.answers:
        click.echo(make_printable(f"no answer of run {result.run_id} has a gold answer to match"))
        click.echo("next: add gold_answer to its items (claimwise import --update)", err=True)
        return
    judge = make_printable(f"by {result.labeler}, {describe_run_agreement(result)}")
    rate = "no answer is labelled"
    if result.rate is not None:
        labelled = pluralize(result.correct + result.incorrect, "labelled answer")
        rate = f"{show_percent(result.rate)} of {labelled} correct"
    click.echo(f"{rate} ({judge})")
    if result.labelled:
        click.echo(f"labelled {result.labelled:,} of {result.answers:,} answers with a gold answer")
    for count, what in (
        (result.done_before, "labelled before"),
        (result.declined, "declined: abstention counts them instead"),
        (len(result.open), "left open"),
    ):
        if count:
            click.echo(f"{pluralize(count, 'answer')} {what}")
    for left in result.open[:_SHOWN]:
        click.echo(make_printable(f"open: {left.answer.item_id}: {left.reason}"))
    if len(result.open) > _SHOWN:
        click.echo(f"… and {len(result.open) - _SHOWN:,} more left open: --queue FILE writes them")
    click.echo(
        f"next: claimwise metrics --run {result.run_id} --metric answer_correctness", err=True
    )


def _to_document(result: CorrectnessResult) -> dict[str, Any]:
    return {
        **asdict(result),
        "rate": result.rate,
        "agreement": describe_run_agreement(result),
        "open": [
            {"item_id": one.answer.item_id, "sample": one.answer.sample, "reason": one.reason}
            for one in result.open
        ],
    }


def _list_rows(result: CorrectnessResult) -> list[str]:
    """Return lines of ``answer_labels`` for people: they fill in what is null."""
    rows = []
    for one in result.open:
        known = {
            "run_id": result.run_id,
            "item_id": one.answer.item_id,
            "sample": one.answer.sample,
        }
        row = {name: known.get(name) for name in AnswerLabel.__struct_fields__}
        rows.append(json.dumps({"type": AnswerLabel.kind, **row}, ensure_ascii=False))
    return rows
