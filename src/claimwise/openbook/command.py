"""``claimwise openbook``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import click
from msgspec import to_builtins
from msgspec.structs import replace

from claimwise.checking.plan import plan_rounds
from claimwise.checking.verify_stored import print_rounds, print_run
from claimwise.command.grounded import describe_spent, make_judge, to_judge_document
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
    NumberRange,
    console,
    current_project,
    format_option,
    open_project_store,
    print_json,
    store_option,
)
from claimwise.command.progress import show_progress
from claimwise.decompose import split_answer
from claimwise.errors import ClaimwiseError, make_printable
from claimwise.judges.corpus import Corpus
from claimwise.judges.judge import load_verifier
from claimwise.metrics.judge_agreement import measure_agreement
from claimwise.openbook.answer import (
    check_by_corpus,
    plan_by_corpus,
    read_corpus,
    read_stored_corpus,
)
from claimwise.openbook.report import describe_corpus, print_openbook, to_openbook_document
from claimwise.openbook.run import OpenBookRun, OpenBookRunResult, openbook_run
from claimwise.readers.documents import check_stdin, read_text
from claimwise.report.format import pluralize
from claimwise.store import Store
from claimwise.store.lookup import find_run
from claimwise.types.corpus import OpenBookResult, Retrieval

if TYPE_CHECKING:
    from claimwise.judges.grounded import GroundedJudge
    from claimwise.llm.client import LlmClient

STORE = "store"
_FILE = click.Path(path_type=Path)
_USUAL = Retrieval()


def corpus_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name a corpus and say how to search it; these arrive as ``how``."""
    options = (
        click.option(
            "--corpus",
            "places",
            multiple=True,
            required=True,
            metavar="FOLDER|FILE|store",
            help="Documents as for `check`, or “store” for the project's sources; may be repeated.",
        ),
        click.option(
            "--corpus-version",
            metavar="NAME",
            help="With --corpus store: use this version (default: the newest).",
        ),
        click.option(
            "--passages",
            "k",
            type=click.IntRange(1, 100),
            default=_USUAL.k,
            show_default=True,
            metavar="N",
            help="Most passages per claim.",
        ),
        click.option(
            "--floor",
            type=NumberRange(0, 1),
            default=_USUAL.floor,
            show_default=True,
            metavar="SHARE",
            help="Ignore passages that contain less than this share of a claim's words, by weight.",
        ),
        click.option(
            "--sure",
            type=NumberRange(0, 1),
            default=_USUAL.sure,
            show_default=True,
            metavar="P",
            help="Count a claim as supported from this probability, if the judge gives one.",
        ),
    )

    @wraps(function)
    def gather(k: int, floor: float, sure: float, **arguments: Any) -> None:
        function(how=Retrieval(k=k, floor=floor, sure=sure), **arguments)

    for option in reversed(options):
        gather = option(gather)
    return gather


def open_corpus(
    places: tuple[str, ...], version: str | None, store: str | None
) -> tuple[Corpus, list[str]]:
    """Read and index the corpus that the options name; return it with warnings."""
    if places == (STORE,):
        with open_project_store(current_project(), store) as opened:
            return read_stored_corpus(opened, version), []
    if STORE in places:
        raise click.UsageError(
            "--corpus store can't be combined with other corpora (write ./store for a folder)"
        )
    if version is not None:
        raise click.UsageError("--corpus-version needs --corpus store")
    return read_corpus([Path(place) for place in places])


def open_run_corpus(
    store: Store, run_id: str, places: tuple[str, ...], version: str | None, place: str | None
) -> tuple[Corpus, list[str]]:
    """Open a corpus for a run: of the stored versions the one that the run's system read from."""
    run = find_run(store, run_id)
    if places == (STORE,) and version is None:
        version = run.corpus_ver
    return open_corpus(places, version, place)


def run_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that judge a stored run in place of one answer."""
    options = (
        click.option(
            "--run", "run_id", metavar="RUN", help="Judge a stored run instead of one answer."
        ),
        click.option("--again", is_flag=True, help="With --run: re-judge claims already judged."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def check_target(
    answer: Path | None, run_id: str | None, judging: JudgeOptions, *, again: bool
) -> None:
    """Refuse neither or both of an answer and a run, and what only a run has."""
    if (answer is None) == (run_id is None):
        raise click.UsageError("Give either --answer or --run.")
    if answer is not None and again:
        raise click.UsageError("--again is for --run")
    if answer is not None and judging.repeats > 1:
        raise click.UsageError("--repeats is for --run")


@click.command("openbook", short_help="Check an answer against a corpus of documents.")
@click.option(
    "--answer",
    type=_FILE,
    metavar="FILE|-",
    help="File with the answer; - reads standard input.",
)
@run_options
@corpus_options
@click.option("--question", metavar="TEXT", help="The question that was asked.")
@click.option(
    "--verifier",
    default="auto",
    metavar="NAME",
    help="Built-in judge: embedded, lexical, or auto (the best one installed).",
)
@judge_options(required=False)
@store_option
@format_option("text", "json")
def command(
    answer: Path | None,
    run_id: str | None,
    again: bool,
    places: tuple[str, ...],
    corpus_version: str | None,
    how: Retrieval,
    question: str | None,
    verifier: str,
    judging: JudgeOptions,
    store: str | None,
    form: str,
) -> None:
    """Look up each claim of an answer in a corpus and judge it by the best passages.

    \b
    claimwise openbook --answer answer.txt --corpus docs/
    claimwise openbook --answer answer.txt --corpus store --judge openai:gpt-4o --dry-run
    claimwise openbook --run v2 --corpus store

    Use it for answers that came without sources. Verdicts are those of `check`, with spans in the
    corpus's documents; “no passage” means that the corpus says nothing, not that the claim is
    false. With --run, judges the claims of a stored run and stores the labels, as `verify` does.
    Exits with 0 whatever the verdicts, or with 1 if nothing could be scored.
    """
    if judging.judge is not None and verifier != "auto":
        raise click.UsageError("--verifier and --judge exclude each other: choose one")
    check_target(answer, run_id, judging, again=again)
    if run_id is not None:
        wanted = _Wanted(places, corpus_version, how, verifier, question, again, form)
        _judge_run(run_id, judging, wanted, store)
    if answer is None:
        return
    check_stdin([answer, *map(Path, places)])
    text = read_text(answer)
    corpus, warnings = open_corpus(places, corpus_version, store)
    if judging.judge is None:
        result = check_by_corpus(text, corpus, load_verifier(verifier), question=question, how=how)
        _show(result, warnings, form, question)
        _refuse_unscored(result)
        return
    project = current_project()
    with open_judge_client(judging, project, store) as client:
        judge = make_judge(client, judging, {})
        if judging.dry_run:
            claims = split_answer(text, question=question)
            calls = plan_by_corpus(claims, corpus, judge, answer=text, question=question, how=how)
            print_call_plan(plan_calls(calls, client), form)
            return
        judge.agreement = find_agreement(project, store, judge.labeler)
        result = check_by_corpus(text, corpus, judge, question=question, how=how)
        _show(result, warnings, form, question, judge=to_judge_document(client, judge))
        if form == "text":
            click.echo(describe_spent(client), err=True)
        _refuse_unscored(result)


class _Wanted(NamedTuple):
    """What the command line asks for of a stored run."""

    places: tuple[str, ...]
    corpus_version: str | None
    how: Retrieval
    verifier: str
    question: str | None
    again: bool
    form: str


def _judge_run(run_id: str, judging: JudgeOptions, wanted: _Wanted, store: str | None) -> None:
    if wanted.question is not None:
        raise click.UsageError("--question is for --answer: a stored run knows its questions")
    project = current_project()
    with open_project_store(project, store) as opened, ExitStack() as stack:
        corpus, warnings = open_run_corpus(
            opened, run_id, wanted.places, wanted.corpus_version, store
        )
        for warning in warnings:
            click.echo(f"warning: {make_printable(warning)}", err=True)
        client = None
        if judging.judge is None:
            judge = OpenBookRun(load_verifier(wanted.verifier), corpus, wanted.how)
        else:
            client = stack.enter_context(open_judge_client(judging, project, store))
            judge = OpenBookRun(make_judge(client, judging, {}), corpus, wanted.how)
            if judging.dry_run:
                plan = plan_rounds(
                    opened, run_id, judge, client, judging.repeats, again=wanted.again
                )
                print_call_plan(plan, wanted.form)
                return
        with show_progress(client=client) as watch:
            judged = openbook_run(
                opened,
                run_id,
                judge,
                repeats=judging.repeats,
                threads=1 if client is None else client.concurrency,
                again=wanted.again,
                watch=watch,
            )
        _show_run(opened, judged, judge, client, wanted.form)


def _show_run(
    store: Store,
    judged: OpenBookRunResult,
    judge: OpenBookRun,
    client: LlmClient | None,
    form: str,
) -> None:
    known = measure_agreement(store, judged.result.labeler)
    result = dataclasses.replace(judged.result, agreement=known or judged.result.agreement)
    if form == "json":
        flips = None if judged.flips is None else judged.flips.to_document()
        document = {
            **dataclasses.asdict(result),
            "no_passage": judged.no_passage,
            "corpus": to_builtins(judge.corpus.info),
            "retrieval": to_builtins(judge.how),
            "flips": flips,
        }
        if client is not None:
            grounded = cast("GroundedJudge", judge.verifier)
            document["judge"] = to_judge_document(client, grounded)
        print_json(document)
    else:
        print_run(result)
        if judged.no_passage:
            claims = pluralize(judged.no_passage, "unlinked claim")
            click.echo(f"{claims} without a passage in the corpus")
        click.echo(make_printable(describe_corpus(judge.corpus.info)))
        print_rounds(result.settings, judged.flips)
    if client is not None:
        if form == "text":
            click.echo(describe_spent(client), err=True)
        check_replied(client.tally)


def _show(
    result: OpenBookResult,
    warnings: list[str],
    form: str,
    question: str | None,
    *,
    judge: dict[str, Any] | None = None,
) -> None:
    result = replace(result, warnings=(*warnings, *result.warnings))
    if form == "json":
        document = to_openbook_document(result, question=question)
        print_json(document if judge is None else {**document, "judge": judge})
    else:
        print_openbook(result, console())
        for warning in result.warnings:
            click.echo(f"warning: {make_printable(warning)}", err=True)


def _refuse_unscored(result: OpenBookResult) -> None:
    """Fail when everything that the corpus speaks of was left without a verdict."""
    if result.unscored and not any(c.passages and c.outcome for c in result.claims):
        raise ClaimwiseError("nothing was scored: see the reasons above")
