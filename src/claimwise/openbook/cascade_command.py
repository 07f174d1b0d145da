"""``claimwise cascade``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from claimwise.checking.engine import Flips
from claimwise.checking.plan import plan_rounds
from claimwise.checking.verify_stored import print_rounds
from claimwise.command.grounded import describe_spent
from claimwise.command.judge import (
    JudgeOptions,
    check_replied,
    find_agreement,
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
from claimwise.errors import make_printable
from claimwise.fact_check.options import (
    check_queue,
    check_trust,
    make_closed_judge,
    write_answer_queue,
    write_queue,
)
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.judges.grounded import GroundedJudge
from claimwise.judges.judge import load_verifier
from claimwise.openbook.cascade import cascade_answer, plan_cascade
from claimwise.openbook.cascade_report import (
    describe_cascade_run,
    print_cascade,
    to_cascade_document,
    to_cascade_run_document,
)
from claimwise.openbook.cascade_run import CascadeRun, cascade_run
from claimwise.openbook.command import (
    check_target,
    corpus_options,
    open_corpus,
    open_run_corpus,
    run_options,
)
from claimwise.readers.documents import check_stdin, read_text
from claimwise.types.closed_book import Frame
from claimwise.types.corpus import CascadeResult, CascadeRunResult, Retrieval

if TYPE_CHECKING:
    from claimwise.llm.client import LlmClient

# The name under which the judge itself reads the passages.
JUDGE = "judge"
_PLAN_NOTE = (
    "compound claims are sent back once, in one more small call; a judge that reads passages is "
    "planned as if every claim were suspicious"
)


@click.command("cascade", short_help="Check facts in stages: judge, then corpus, then people.")
@click.option(
    "--answer",
    type=click.Path(path_type=Path),
    metavar="FILE|-",
    help="File with the answer; - reads standard input.",
)
@run_options
@corpus_options
@click.option(
    "--domain-hint", metavar="TEXT", help="Subject area, such as “cardiology, for clinicians”."
)
@click.option("--question", metavar="TEXT", help="The question that was asked.")
@click.option(
    "--verifier",
    default="auto",
    metavar="NAME",
    help="Judge that reads passages: embedded, lexical, auto, or judge (the language model).",
)
@click.option(
    "--no-resplit", is_flag=True, help="Don't ask the judge to split compound claims again."
)
@click.option(
    "--queue",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write claims left for people to this file, for them to label.",
)
@click.option(
    "--untrusted-ok", is_flag=True, help="Use a judge even if it failed `claimwise probe-judge`."
)
@judge_options(required=True)
@store_option
@format_option("text", "json")
def command(
    answer: Path | None,
    run_id: str | None,
    again: bool,
    places: tuple[str, ...],
    corpus_version: str | None,
    how: Retrieval,
    domain_hint: str | None,
    question: str | None,
    verifier: str,
    no_resplit: bool,
    queue: Path | None,
    untrusted_ok: bool,
    judging: JudgeOptions,
    store: str | None,
    form: str,
) -> None:
    """Check an answer's facts in stages, and show where each claim was settled and at what cost.

    \b
    claimwise cascade --answer answer.txt --judge openai:gpt-4o --corpus docs/ --queue people.jsonl
    claimwise cascade --run v2 --judge openai:gpt-4o --corpus store --queue people.jsonl

    1. The judge labels the claims from memory, in one call. 2. Claims it calls false or
    unverifiable, claims it calls true that contain a number or a date, and other doubtful ones
    are looked up in the corpus. 3. Claims that are still open, or on which the two disagree, go
    to people. With --run, judges the claims of a stored run and stores the labels.
    """
    check_queue(queue)
    check_target(answer, run_id, judging, again=again)
    wanted = _Wanted(
        places=places,
        corpus_version=corpus_version,
        how=how,
        frame=Frame(domain_hint=domain_hint, question=question),
        verifier=verifier,
        resplit=not no_resplit,
        queue=queue,
        again=again,
        untrusted_ok=untrusted_ok,
        form=form,
    )
    if run_id is not None:
        _judge_run(run_id, judging, wanted, store)
    if answer is not None:
        _judge_answer(answer, judging, wanted, store)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """What the command line asks for."""

    places: tuple[str, ...]
    corpus_version: str | None
    how: Retrieval
    frame: Frame
    verifier: str
    resplit: bool
    queue: Path | None
    again: bool
    untrusted_ok: bool
    form: str


def _judge_answer(answer: Path, judging: JudgeOptions, wanted: _Wanted, store: str | None) -> None:
    check_stdin([answer, *map(Path, wanted.places)])
    text = read_text(answer)
    corpus, warnings = open_corpus(wanted.places, wanted.corpus_version, store)
    project = current_project()
    with open_judge_client(judging, project, store) as client:
        judge, reader = _make_judges(client, judging, wanted.verifier)
        if judging.dry_run:
            calls = plan_cascade(text, judge, corpus, reader, wanted.frame, how=wanted.how)
            print_call_plan(plan_calls(calls, client), wanted.form, note=_PLAN_NOTE)
            return
        check_trust(project, judge, untrusted_ok=wanted.untrusted_ok)
        if reader is not None:
            reader.agreement = find_agreement(project, store, reader.labeler)
        result = cascade_answer(
            text,
            judge,
            corpus,
            reader or load_verifier(wanted.verifier),
            wanted.frame,
            how=wanted.how,
            resplit=wanted.resplit,
            agreement=find_agreement(project, store, judge.labeler),
            tally=lambda: client.tally,
        )
        spent = describe_spent(client)
    _show(replace(result, warnings=(*warnings, *result.warnings)), spent, wanted.form)
    if wanted.queue is not None:
        write_answer_queue((claim.text for claim in result.queue), wanted.queue, text, wanted.frame)


def _judge_run(run_id: str, judging: JudgeOptions, wanted: _Wanted, store: str | None) -> None:
    if wanted.frame.question is not None:
        raise click.UsageError("--question is for --answer: a stored run knows its questions")
    project = current_project()
    with (
        open_project_store(project, store) as opened,
        open_judge_client(judging, project, store) as client,
    ):
        corpus, warnings = open_run_corpus(
            opened, run_id, wanted.places, wanted.corpus_version, store
        )
        judge, reader = _make_judges(client, judging, wanted.verifier)
        run = CascadeRun(
            judge=judge,
            corpus=corpus,
            verifier=reader or load_verifier(wanted.verifier),
            how=wanted.how,
            domain_hint=wanted.frame.domain_hint,
            resplit=wanted.resplit,
        )
        if judging.dry_run:
            plan = plan_rounds(opened, run_id, run, client, judging.repeats, again=wanted.again)
            print_call_plan(plan, wanted.form, note=_PLAN_NOTE)
            return
        check_trust(project, judge, untrusted_ok=wanted.untrusted_ok)
        with show_progress(client=client) as watch:
            result, flips = cascade_run(
                opened,
                run_id,
                run,
                repeats=judging.repeats,
                threads=client.concurrency,
                again=wanted.again,
                watch=watch,
            )
        result = replace(result, warnings=(*warnings, *result.warnings))
        _show_run(result, flips, client, wanted.form)
        if wanted.queue is not None:
            write_queue(result.queue, wanted.queue)
        check_replied(client.tally)


def _show_run(result: CascadeRunResult, flips: Flips | None, client: LlmClient, form: str) -> None:
    if form == "json":
        document = to_cascade_run_document(result)
        document["flips"] = None if flips is None else flips.to_document()
        document["judge"] = msgspec.to_builtins(client.tally)
        print_json(document)
        return
    for line in describe_cascade_run(result):
        click.echo(make_printable(line))
    print_rounds(result.settings, flips)
    click.echo(describe_spent(client), err=True)
    for warning in result.warnings:
        click.echo(f"warning: {make_printable(warning)}", err=True)
    click.echo(
        f"next: claimwise metrics --run {result.run_id} --metric factual_precision", err=True
    )


def _make_judges(
    client: LlmClient, judging: JudgeOptions, verifier: str
) -> tuple[ClosedBookJudge, GroundedJudge | None]:
    """Return the first stage's judge, and the one that reads passages where it is the model.

    --prompt is for the first stage; the reader of passages has the built-in one.
    """
    reader = GroundedJudge(client) if verifier == JUDGE else None
    return make_closed_judge(client, judging), reader


def _show(result: CascadeResult, spent: str, form: str) -> None:
    if form == "json":
        print_json(to_cascade_document(result))
        return
    print_cascade(result, console())
    click.echo(spent, err=True)
    for warning in result.warnings:
        click.echo(f"warning: {make_printable(warning)}", err=True)
