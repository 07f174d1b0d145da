"""``claimwise consistency``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from claimwise.checking.run import describe_verifier
from claimwise.command.grounded import describe_spent, make_judge
from claimwise.command.judge import (
    JudgeOptions,
    judge_options,
    open_judge_client,
    plan_calls,
    print_call_plan,
)
from claimwise.command.options import (
    ask_store,
    console,
    current_project,
    format_option,
    open_project_store,
    print_json,
    store_option,
)
from claimwise.command.progress import show_progress
from claimwise.consistency.compare import (
    Watch,
    compare_given,
    compare_run,
    consistency_accuracy,
    group_answers,
    plan_comparisons,
)
from claimwise.consistency.report import (
    print_consistency,
    print_run_consistency,
    to_consistency_document,
    to_run_document,
)
from claimwise.consistency.values import ConsistencyResult, GivenAnswer
from claimwise.errors import ClaimwiseError, make_printable
from claimwise.judges.grounded import GroundedJudge
from claimwise.judges.judge import Verifier, load_verifier
from claimwise.metrics.accuracy import Resampling
from claimwise.metrics.judge_agreement import find_agreements, make_judge_note
from claimwise.readers.answers import read_answer_files
from claimwise.readers.documents import check_stdin
from claimwise.store import Store
from claimwise.types.llm import LlmCall
from claimwise.types.progress import JudgeProgress
from claimwise.types.results import JudgeNote

if TYPE_CHECKING:
    from claimwise.llm.client import LlmClient

_FILE = click.Path(path_type=Path)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Instrument:
    """What compares, how many comparisons at once, and whom to tell how far it is."""

    verifier: Verifier
    threads: int = 1
    watch: Watch | None = None
    client: LlmClient | None = None

    def print_plan(self, plan: Callable[[GroundedJudge], list[LlmCall]], form: str) -> None:
        assert isinstance(self.verifier, GroundedJudge)
        assert self.client is not None
        print_call_plan(plan_calls(plan(self.verifier), self.client), form)

    def print_spent(self) -> None:
        if self.client is not None:
            click.echo(describe_spent(self.client), err=True)


@click.command("consistency", short_help="Compare several answers to one question.")
@click.option(
    "--answers",
    "places",
    type=_FILE,
    multiple=True,
    metavar="FILE|FOLDER…",
    help="Text files, a folder of them, or a .jsonl file with answer_text.",
)
@click.argument("more", type=_FILE, nargs=-1, metavar="[ANSWER]…")
@click.option(
    "--run", "run_id", metavar="RUN", help="Compare the samples of this stored run's items instead."
)
@click.option(
    "--question", metavar="TEXT", help="The question that was asked (a stored run has its own)."
)
@click.option(
    "--verifier",
    default="auto",
    metavar="NAME",
    help="Built-in judge: embedded, lexical, or auto (the best one installed).",
)
@judge_options(required=False, repeats=False)
@store_option
@format_option("text", "json")
def command(
    places: tuple[Path, ...],
    more: tuple[Path, ...],
    run_id: str | None,
    question: str | None,
    verifier: str,
    judging: JudgeOptions,
    store: str | None,
    form: str,
) -> None:
    """Show for each claim how many of the other answers support it and how many contradict it.

    \b
    claimwise consistency --answers sample-*.txt --question "How tall is the tower?"
    claimwise consistency --run v2

    This gives no verdicts: an inconsistent claim is suspicious, but a consistent one need not be
    true. If people have labelled claims of the run, --run also measures how well consistency
    predicts their verdicts.
    """
    if bool(places or more) == (run_id is not None):
        raise click.UsageError("Give either --answers or --run.")
    if judging.judge is not None and verifier != "auto":
        raise click.UsageError("--verifier and --judge exclude each other: choose one")
    if run_id is not None:
        with open_project_store(current_project(), store) as opened:
            _compare_run(opened, run_id, verifier, judging, store, form)
        return
    _compare_files((*places, *more), question, verifier, judging, store, form)


def _compare_files(
    places: Sequence[Path],
    question: str | None,
    verifier: str,
    judging: JudgeOptions,
    store: str | None,
    form: str,
) -> None:
    check_stdin(places)
    given, warnings = read_answer_files(places)
    answers = [GivenAnswer(name=name, text=text) for name, text in given.items()]
    with _open_instrument(verifier, judging, store) as instrument:
        if judging.dry_run:
            instrument.print_plan(
                lambda judge: plan_comparisons(answers, judge, question=question), form
            )
            return
        result = compare_given(
            answers, instrument.verifier, question=question, threads=instrument.threads
        )
        instrument.print_spent()
        judge, _ = ask_store(partial(_note_judge, instrument.verifier, len(result.claims)), store)
    result = replace(
        result,
        warnings=(*warnings, *result.warnings),
        judge=judge or make_judge_note(describe_verifier(instrument.verifier), len(result.claims)),
    )
    if form == "json":
        print_json(to_consistency_document(result))
    else:
        print_consistency(result, console())
        for warning in result.warnings:
            click.echo(f"warning: {make_printable(warning)}", err=True)
    _refuse_unscored([result])


def _compare_run(
    opened: Store, run_id: str, verifier: str, judging: JudgeOptions, store: str | None, form: str
) -> None:
    with _open_instrument(verifier, judging, store) as instrument:
        if judging.dry_run:
            samples = group_answers(opened, run_id).values()
            instrument.print_plan(
                lambda judge: [
                    call
                    for answers in samples
                    if len(answers) > 1
                    for call in plan_comparisons(answers, judge)
                ],
                form,
            )
            return
        found = compare_run(
            opened,
            run_id,
            instrument.verifier,
            threads=instrument.threads,
            watch=instrument.watch,
        )
        instrument.print_spent()
    claims = sum(len(item.claims) for item in found.items.values())
    found = replace(
        found,
        accuracy=consistency_accuracy(opened, found, Resampling()),
        judge=_note_judge(instrument.verifier, claims, opened),
    )
    if form == "json":
        print_json(to_run_document(found))
    else:
        print_run_consistency(found, console())
    _refuse_unscored(found.items.values())


def _note_judge(verifier: Verifier, claims: int, store: Store) -> JudgeNote:
    """Return what compared claims, with its agreement with people in a store."""
    return make_judge_note(describe_verifier(verifier), claims, find_agreements(store))


def _refuse_unscored(results: Iterable[ConsistencyResult]) -> None:
    """Fail when every comparison did, with the first reason."""
    claims = [claim for result in results for claim in result.claims]
    lost = next((o for claim in claims for o in claim.others if o.unscored), None)
    if lost is not None and not any(claim.scored for claim in claims):
        raise ClaimwiseError(f"nothing was scored: {lost.unscored}: {lost.reason}")


@contextmanager
def _open_instrument(
    verifier: str, judging: JudgeOptions, store: str | None
) -> Iterator[_Instrument]:
    if judging.judge is None:
        yield _Instrument(verifier=load_verifier(verifier))
        return
    with (
        open_judge_client(judging, current_project(), store) as client,
        show_progress("items", client) as tell,
    ):
        yield _Instrument(
            verifier=make_judge(client, judging, {}),
            threads=client.concurrency,
            watch=lambda done, total: tell(JudgeProgress(total=total, done=done)),
            client=client,
        )
