"""``claimwise check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from msgspec.structs import replace

from claimwise.checking.check import calibrate_result, check_answer, check_repeatedly, split_request
from claimwise.checking.report import RateCheck, check_rate, print_checked, to_checked_document
from claimwise.command.grounded import (
    describe_spent,
    grounding_options,
    make_judge,
    to_judge_document,
)
from claimwise.command.judge import (
    JudgeOptions,
    find_agreement,
    open_judge_client,
    plan_calls,
    print_call_plan,
)
from claimwise.command.options import (
    NumberRange,
    ask_store,
    console,
    current_project,
    format_option,
    print_json,
    store_option,
)
from claimwise.errors import make_printable
from claimwise.judges.judge import load_verifier
from claimwise.readers.documents import check_stdin, read_action_log, read_sources, read_text
from claimwise.report.format import show_exact_percent
from claimwise.store import Store
from claimwise.types.verdicts import CheckRequest, CheckResult

if TYPE_CHECKING:
    from claimwise.calibration.status import CalibrationStatuses

COULD_NOT_RUN = 1
FAILED = 2
INCONCLUSIVE = 3

_FILE = click.Path(path_type=Path)


@click.command("check", short_help="Check one answer against its sources, claim by claim.")
@click.option(
    "--answer",
    type=_FILE,
    required=True,
    metavar="FILE|-",
    help="File with the answer; - reads standard input.",
)
@click.option(
    "--source",
    "sources",
    type=_FILE,
    multiple=True,
    metavar="FILE…",
    help="Text file, folder of text files, or .jsonl file of sources.",
)
@click.argument("more", type=_FILE, nargs=-1, metavar="[SOURCE]…")
@click.option("--question", metavar="TEXT", help="The question that was asked.")
@click.option(
    "--actions", type=_FILE, metavar="FILE", help="Log of what the system did, one entry per line."
)
@click.option(
    "--verifier",
    default="auto",
    metavar="NAME",
    help="Built-in judge: embedded, lexical, or auto (the best one installed).",
)
@click.option(
    "--fail-under",
    type=NumberRange(0, 1),
    metavar="RATE",
    help="Exit with 2 if a smaller share of claims is supported, 3 if inconclusive.",
)
@click.option(
    "--domain", metavar="NAME", help="Subject area, named as in the items of the calibration."
)
@grounding_options()
@store_option
@format_option("text", "json")
@click.pass_context
def command(
    ctx: click.Context,
    answer: Path,
    sources: tuple[Path, ...],
    more: tuple[Path, ...],
    question: str | None,
    actions: Path | None,
    verifier: str,
    fail_under: float | None,
    domain: str | None,
    judging: JudgeOptions,
    grounding: dict[str, Any],
    store: str | None,
    form: str,
) -> None:
    """Split an answer into claims and check each one against the sources.

    \b
    claimwise check --answer answer.txt --source policy.md
    claimwise check --answer answer.txt --source docs/*.md --question "How tall is it?"
    my-bot "How tall is it?" | claimwise check --answer - --source docs/
    claimwise check --answer answer.txt --source policy.md --judge openai:gpt-4o --dry-run

    Works offline; --judge asks a language model instead. Further files are sources too, so
    docs/*.md works. Shows the answer with its claims marked, and for each claim the verdict, the
    confidence, the reason and the source text behind it. Exits with 0 whatever the verdicts
    (unless --fail-under is given), or with 1 if no claim could be scored.
    """
    places = (*sources, *more)
    if not places and actions is None:
        raise click.UsageError(
            "Missing option '--source': name the files to check the answer against."
        )
    check_stdin([answer, *places, *([actions] if actions else [])])
    text = read_text(answer)
    documents, warnings = read_sources(places)
    request = CheckRequest(
        answer=text,
        sources=tuple(documents),
        question=question,
        actions=None if actions is None else tuple(read_action_log(actions)),
    )
    if judging.judge is None:
        checked = _Checked(_check_offline(request, verifier, store))
    else:
        found = _check_with_judge(request, judging, grounding, store, form)
        if found is None:
            return
        checked = found
    result, doubts = _calibrate(checked, domain, store)
    result = replace(result, warnings=(*warnings, *doubts, *result.warnings))
    gate = None if fail_under is None else check_rate(result, fail_under)
    if form == "json":
        shown = to_checked_document(result, documents, question=question, gate=gate)
        print_json(shown if checked.judge is None else {**shown, "judge": checked.judge})
    else:
        print_checked(result, console())
        for warning in result.warnings:
            click.echo(f"warning: {make_printable(warning)}", err=True)
        if checked.spent:
            click.echo(checked.spent, err=True)
    ctx.exit(_exit_code(result, gate))


class _Checked(NamedTuple):
    """A checked answer, and what a judge took for it."""

    result: CheckResult
    spent: str = ""
    judge: dict[str, Any] | None = None
    prompt_ver: str | None = None


def _check_offline(request: CheckRequest, verifier: str, store: str | None) -> CheckResult:
    """Check an answer without a model. Where no card says how good a judge is, the store may."""
    result = check_answer(request, load_verifier(verifier))
    if result.agreement is not None:
        return result
    # Loaded when needed: a judge with a card should not wait for it.
    from claimwise.metrics.judge_agreement import measure_agreement

    agreement, _ = ask_store(lambda opened: measure_agreement(opened, result.verifier), store)
    return replace(result, agreement=agreement)


def _calibrate(
    checked: _Checked, domain: str | None, store: str | None
) -> tuple[CheckResult, list[str]]:
    """Apply the project's calibration of the instrument, if there is a store that holds one.

    A check needs no store: one that can't be read is a warning.
    """
    standings, why = ask_store(_read_standings, store)
    if standings is None:
        return checked.result, [f"probabilities are not calibrated: {why}"] if why else []
    return calibrate_result(checked.result, standings, domain, checked.prompt_ver), []


def _read_standings(store: Store) -> CalibrationStatuses:
    # Loaded when needed: a check without a store should not wait for it.
    from claimwise.calibration.status import read_calibration_statuses

    return read_calibration_statuses(store)


def _check_with_judge(
    request: CheckRequest,
    judging: JudgeOptions,
    grounding: dict[str, Any],
    store: str | None,
    form: str,
) -> _Checked | None:
    """Check an answer with a language model; None when it was only to be planned."""
    from claimwise.checking.calls import plan_answer

    project = current_project()
    with open_judge_client(judging, project, store) as client:
        judge = make_judge(client, judging, grounding)
        if judging.dry_run:
            calls = plan_answer(split_request(request), request, judge, known=False)
            print_call_plan(plan_calls(calls, client, repeats=judging.repeats), form)
            return None
        rounds = [judge.repeat_as(number) for number in range(2, judging.repeats + 1)]
        judge.agreement = find_agreement(project, store, judge.labeler)
        if rounds:
            result = check_repeatedly(request, judge, rounds)
        else:
            result = check_answer(request, judge)
        document = to_judge_document(client, judge)
        return _Checked(result, describe_spent(client), document, judge.prompt_ver)


def _exit_code(result: CheckResult, gate: RateCheck | None) -> int:
    if gate is None:
        if result.unscored and not result.judged:
            click.echo("error: nothing was scored: see the reasons above", err=True)
            return COULD_NOT_RUN
        return 0
    if gate.passed:
        return 0
    if gate.passed is False:
        click.echo(f"failed: the rate is under {show_exact_percent(gate.fail_under)}", err=True)
        return FAILED
    why = "claims were not scored" if result.judged else "nothing was judged"
    click.echo(f"inconclusive: {why}", err=True)
    return INCONCLUSIVE
