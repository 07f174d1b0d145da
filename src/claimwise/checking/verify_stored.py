"""``claimwise verify`` of a stored run, and how results are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from shlex import quote
from typing import Any

import click
from msgspec import to_builtins

from claimwise.calibration.probability_text import describe_probabilities
from claimwise.calibration.values import RunProbabilities
from claimwise.checking.answer_counts import describe_judged, describe_skipped
from claimwise.checking.engine import Flips
from claimwise.checking.plan import plan_rounds
from claimwise.checking.run import GroundedRun, VerifyResult, verify_rounds, verify_run
from claimwise.checking.tasks import NO_CONTEXTS, Basis
from claimwise.command.grounded import (
    describe_spent,
    make_judge,
    to_judge_document,
)
from claimwise.command.judge import (
    JudgeOptions,
    check_replied,
    find_batches,
    open_judge_client,
    print_call_plan,
)
from claimwise.command.options import (
    current_project,
    open_project_store,
    print_json,
    resolve_run,
)
from claimwise.command.progress import show_progress
from claimwise.errors import StoreError, make_printable
from claimwise.metrics.judge_agreement import measure_agreement
from claimwise.report.format import UNCHECKED, describe_bounds, pluralize, show_percent
from claimwise.store import Store
from claimwise.types.verdicts import VERDICTS

_SHOWN_WARNINGS = 5
_BASES: dict[Basis, str] = {
    "corpus": "had no recorded contexts: judged against the whole corpus",
    "cited": "had no recorded contexts: judged against the documents they cite",
    "none": f"had nothing to be judged by: unscored as {NO_CONTEXTS}",
}


def verify_stored(
    run_id: str | None,
    verifier: str,
    jobs: int,
    again: bool,
    judging: JudgeOptions,
    grounding: dict[str, Any],
    store: str | None,
    form: str,
) -> None:
    """Judge the claims of a stored run that are open, and print how the run stands."""
    if judging.judge is not None:
        _verify_with_judge(run_id, judging, grounding, again=again, store=store, form=form)
        return
    with open_project_store(current_project(), store) as opened:
        chosen = resolve_run(opened, run_id)
        with show_progress() as watch:
            result = verify_run(opened, chosen, verifier, jobs=jobs, again=again, watch=watch)
        if result.agreement is None:
            result = replace(result, agreement=measure_agreement(opened, result.labeler))
        probabilities = _measure(opened, result)
    if form == "json":
        print_json({**asdict(result), "probabilities": to_builtins(probabilities)})
    else:
        print_run(result, probabilities)


def _verify_with_judge(
    run_id: str | None,
    judging: JudgeOptions,
    grounding: dict[str, Any],
    *,
    again: bool,
    store: str | None,
    form: str,
) -> None:
    project = current_project()
    with (
        open_project_store(project, store) as opened,
        open_judge_client(judging, project, store) as client,
    ):
        chosen = resolve_run(opened, run_id)
        judge = make_judge(client, judging, grounding)
        if judging.dry_run:
            run = GroundedRun(judge)
            plan = plan_rounds(opened, chosen, run, client, judging.repeats, again=again)
            print_call_plan(plan, form)
            return
        with show_progress(client=client) as watch:
            result, flips = verify_rounds(
                opened,
                chosen,
                judge,
                repeats=judging.repeats,
                threads=client.concurrency,
                again=again,
                watch=watch,
                batches=find_batches(client),
            )
        result = replace(result, agreement=measure_agreement(opened, judge.labeler))
        probabilities = _measure(opened, result)
        spent = describe_spent(client)
        document = to_judge_document(client, judge)
    if form == "json":
        told = {
            "probabilities": to_builtins(probabilities),
            "judge": document,
            "flips": None if flips is None else flips.to_document(),
        }
        print_json({**asdict(result), **told})
    else:
        print_run(result, probabilities)
        print_rounds(result.settings, flips)
        click.echo(spent, err=True)
    check_replied(client.tally)


def _measure(store: Store, result: VerifyResult) -> tuple[RunProbabilities, ...]:
    """Return how sure the verifier is of the run's claims, and what its calibration makes of it.

    The verdicts are stored by now: a calibration that can't be read is a warning.
    """
    from claimwise.calibration.probabilities import measure_probabilities
    from claimwise.calibration.status import read_calibration_statuses

    try:
        standings = read_calibration_statuses(store)
    except StoreError as error:
        click.echo(f"warning: probabilities are not calibrated: {error}", err=True)
        return ()
    return measure_probabilities(store, result.run_id, result.labeler, standings, result.settings)


def print_rounds(settings: str | None, flips: Flips | None) -> None:
    """Say how steady a judge is, and what it was asked with."""
    if flips is not None:
        changed = f"{flips.flipped:,}" if flips.flipped else "none"
        click.echo(
            f"the verdict changed in {changed} of {pluralize(flips.compared, 'claim')} that at "
            f"least two of {flips.rounds} rounds scored"
        )
    click.echo(f"{settings}", err=True)


def print_run(
    result: VerifyResult, probabilities: Sequence[RunProbabilities] = (), *, place: str = ""
) -> None:
    """Print what a command did, and how the run stands under its judge.

    Args:
        result: what it did.
        probabilities: how sure the judge is.
        place: the store, unless it is the project's.
    """
    click.echo(describe_judged(result, "judged", result.judged, result.seconds))
    for line in describe_skipped(result):
        click.echo(line)
    judge = f"{result.labeler}, {result.agreement or UNCHECKED}"
    click.echo(make_printable(f"the run {result.run_id} by {judge}:"))
    click.echo(f"  {_describe_rate(result)}")
    for verdict in VERDICTS:
        if count := result.verdicts.get(verdict):
            click.echo(f"  {verdict:<14}{count:>9,}")
    for reason, count in result.unscored.items():
        click.echo(f"  {'unscored':<14}{count:>9,}  {make_printable(reason)}")
    for line in describe_probabilities(probabilities):
        click.echo(line)
    _print_warnings(result)
    named = f" --store {quote(place)}" if place else ""
    click.echo(f"next: claimwise report{named} --run {result.run_id}", err=True)


def _describe_rate(result: VerifyResult) -> str:
    """Say the rate, and what the unscored claims could make of it."""
    supported, scored = result.verdicts.get("supported", 0), sum(result.verdicts.values())
    unscored = sum(result.unscored.values())
    claims = pluralize(scored, "claim")
    rate = f"{show_percent(supported / scored)} of {claims} supported" if scored else "no rate"
    if not unscored:
        return rate
    low, high = supported / (scored + unscored), (supported + unscored) / (scored + unscored)
    missing = pluralize(unscored, "claim")
    return f"{rate}; {missing} unscored ({describe_bounds(low, high, unscored)})"


def _print_warnings(result: VerifyResult) -> None:
    for basis, what in _BASES.items():
        if result.bases.get(basis):
            answers = pluralize(result.bases[basis], "answer")
            click.echo(f"warning: {answers} {what}", err=True)
    for warning, count in list(result.warnings.items())[:_SHOWN_WARNINGS]:
        answers = pluralize(count, "answer")
        click.echo(f"warning: {answers}: {make_printable(warning)}", err=True)
    left = len(result.warnings) - _SHOWN_WARNINGS
    if left > 0:
        click.echo(f"warning: … and {left:,} more of the kind", err=True)
