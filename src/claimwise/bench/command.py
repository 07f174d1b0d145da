"""``claimwise bench-verifier``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
from rich.text import Text

from claimwise.bench.measure import BASELINE, bench_verifier, plan_bench
from claimwise.command.grounded import (
    describe_spent,
    grounding_options,
    make_judge,
    to_judge_document,
)
from claimwise.command.judge import (
    JudgeOptions,
    find_batches,
    open_judge_client,
    plan_calls,
    print_call_plan,
)
from claimwise.command.options import (
    console,
    current_project,
    format_option,
    print_json,
    print_table,
    store_option,
    write_output,
)
from claimwise.command.progress import show_progress
from claimwise.errors import make_printable
from claimwise.judges.judge import Verifier
from claimwise.report.changes import show_ranged_change
from claimwise.report.format import (
    MISSING,
    pluralize,
    show_number,
    show_percent,
    show_percent_range,
    show_ranged_number,
    show_rate,
)
from claimwise.types.accuracy import Accuracy, AccuracyGain, BenchResult, VerifierAccuracy
from claimwise.types.llm import Batches
from claimwise.types.progress import Watch

FEW_GROUPS = 30
_NO_RANGE = (None, None)


def count_workers() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@click.command("bench-verifier", short_help="Measure a judge on labelled data sets.")
@click.argument("folder", metavar="DATA_FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--verifier",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="Built-in judge to measure.",
)
@click.option(
    "--set", "sets", metavar="NAME", multiple=True, help="Only this data set; may be repeated."
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    help="Use about N claims per set: whole groups, drawn at random with a fixed seed.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Number of processes (default: one per core).",
)
@click.option(
    "--resamples",
    metavar="N",
    type=click.IntRange(min=2),
    default=2000,
    show_default=True,
    help="Number of resamples for the ranges.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the resampling.",
)
@click.option(
    "--scores",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the scores to this file, one JSON object per claim and line.",
)
@grounding_options(repeats=False, batches=True)
@store_option
@format_option("text", "json")
def command(
    folder: Path,
    verifier: str,
    sets: tuple[str, ...],
    limit: int | None,
    jobs: int | None,
    resamples: int,
    seed: int,
    scores: Path | None,
    judging: JudgeOptions,
    grounding: dict[str, Any],
    store: str | None,
    form: str,
) -> None:
    """Measure how well a judge agrees with people, next to a word-overlap baseline.

    DATA_FOLDER contains one .jsonl file per data set (.jsonl.xz and .jsonl.gz work too), with
    document, claim, label (1 supported, 0 not) and group in each row. docs/bench-verifier.md
    explains the figures. --judge measures a language model; try --dry-run and --limit first to see
    what it would cost.
    """
    if scores is not None and not scores.parent.is_dir():
        raise click.BadParameter(f"no such folder: {scores.parent}", param_hint="--scores")
    wanted = _Wanted(
        folder=folder,
        sets=sets,
        limit=limit,
        jobs=jobs or count_workers(),
        resamples=resamples,
        seed=seed,
    )
    if judging.judge is not None:
        measured = _measure_judge(wanted, judging, grounding, store=store, form=form)
        if measured is None:
            return
    else:
        with show_progress("claims") as watch:
            measured = _Measured(wanted.measure(verifier, watch=watch))
    if scores is not None:
        lines = (msgspec.json.encode(claim).decode() for claim in measured.result.claims)
        write_output("\n".join(lines), scores)
    if form == "json":
        more = {} if measured.judge is None else {"judge": measured.judge}
        print_json({**to_document(measured.result), **more})
        return
    _print_text(measured.result)
    if measured.judge is not None:
        told = f"{measured.judge['settings']}; probabilities are 1 or 0: verdicts, not degrees"
        click.echo(make_printable(told))
        click.echo(measured.spent, err=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """What is to be measured, and how."""

    folder: Path
    sets: tuple[str, ...]
    limit: int | None
    jobs: int
    resamples: int
    seed: int

    def measure(
        self,
        verifier: str | Verifier,
        *,
        threads: int = 1,
        watch: Watch,
        batches: Batches | None = None,
    ) -> BenchResult:
        return bench_verifier(
            self.folder,
            verifier,
            BASELINE,
            sets=self.sets,
            limit=self.limit,
            jobs=self.jobs,
            threads=threads,
            resamples=self.resamples,
            seed=self.seed,
            watch=watch,
            batches=batches,
        )


class _Measured(NamedTuple):
    """A measurement, and what a judge took for it."""

    result: BenchResult
    spent: str = ""
    judge: dict[str, Any] | None = None


def _measure_judge(
    wanted: _Wanted,
    judging: JudgeOptions,
    grounding: dict[str, Any],
    *,
    store: str | None,
    form: str,
) -> _Measured | None:
    """Measure a language model; None when it was only to be planned."""
    with open_judge_client(judging, current_project(), store) as client:
        judge = make_judge(client, judging, grounding)
        if judging.dry_run:
            calls = plan_bench(wanted.folder, judge, sets=wanted.sets, limit=wanted.limit)
            print_call_plan(plan_calls(calls, client), form)
            return None
        with show_progress("claims", client) as watch:
            result = wanted.measure(
                judge, threads=client.concurrency, watch=watch, batches=find_batches(client)
            )
        return _Measured(result, describe_spent(client), to_judge_document(client, judge))


def to_document(result: BenchResult) -> dict[str, Any]:
    """Return a measurement as plain values, ready for JSON; single claims are left out."""
    return {
        **msgspec.to_builtins(result.verifier),
        "baseline": msgspec.to_builtins(result.baseline),
        "skipped": dict(result.skipped),
        "settings": {
            "resamples": result.resamples,
            "seed": result.seed,
            "limit": result.limit,
        },
    }


def _print_text(result: BenchResult) -> None:
    judged, baseline = result.verifier, result.baseline
    rows = [(name, judged.sets[name], baseline.sets[name]) for name in _worst_first(judged)]
    rows.append(("macro", judged.macro, baseline.macro))
    right = ("claims", "balanced accuracy", baseline.verifier, "difference")
    print_table(("set", *right), [_row(*row) for row in rows], right=right)
    click.echo()
    more = ("AUC", "sensitivity", "specificity", "ECE")
    print_table(("set", *more), [[name, *_rest(one)] for name, one, _ in rows], right=more)
    page = console()
    page.print()
    for sentence in _say(result):
        page.print(Text(make_printable(sentence)))


def _worst_first(judged: VerifierAccuracy) -> list[str]:
    """Return the names of sets by rising balanced accuracy; those without one come last."""

    def place(name: str) -> tuple[bool, float, str]:
        figure = judged.sets[name].balanced_accuracy
        return figure is None, figure or 0.0, name

    return sorted(judged.sets, key=place)


def _row(name: str, judged: Accuracy, baseline: Accuracy) -> list[str]:
    return [
        name,
        f"{judged.n:,}",
        show_rate(judged.balanced_accuracy, *(judged.intervals["balanced_accuracy"] or _NO_RANGE)),
        show_percent(baseline.balanced_accuracy),
        _show_difference(judged.difference),
    ]


def _rest(judged: Accuracy) -> list[str]:
    return [
        show_number(judged.auc),
        show_percent(judged.sensitivity),
        show_percent(judged.specificity),
        show_ranged_number(judged.ece, *(judged.intervals["ece"] or _NO_RANGE)),
    ]


def _show_difference(difference: AccuracyGain | None) -> str:
    """Write a difference in points: ``+4.2 (+1.1 to +7.3)``."""
    if difference is None:
        return MISSING
    return show_ranged_change(difference.balanced_accuracy, difference.interval)


def _points(share: float) -> float:
    """Return a share in points of 100, and never -0.0."""
    return round(100 * share, 1) + 0.0


def _say(result: BenchResult) -> Iterator[str]:
    """Say what the figures are, what they come to, and what is missing from them."""
    judged, baseline = result.verifier, result.baseline
    yield _describe_lead(judged, baseline)
    yield (
        f"balanced accuracy: the mean of sensitivity (supported claims that {judged.labeler} "
        "finds) and specificity (unsupported ones that it rejects) at its threshold of "
        f"{judged.threshold:g}; "
        "guessing gives 50%"
    )
    yield (
        f"difference: balanced accuracy minus that of {baseline.labeler}, in points, on claims "
        "that both scored"
    )
    yield "ECE: how far probabilities of support lie from the share that is supported; 0 is best"
    yield (f"ranges: 95%, from {result.resamples:,} resamples of whole groups, seed {result.seed}")
    yield f"macro: the plain mean over {pluralize(judged.macro.sets, 'set')}; all weigh the same"
    if result.limit is not None:
        yield f"a random sample: about {result.limit:,} claims of each set"
    for name, accuracy in judged.sets.items():
        yield from _warn(name, accuracy)
    for file, reason in result.skipped.items():
        yield f"{file}: {reason}"


def _describe_lead(judged: VerifierAccuracy, baseline: VerifierAccuracy) -> str:
    difference = judged.macro.difference
    if judged.labeler == baseline.labeler:
        return f"{judged.verifier} is the baseline itself."
    if difference is None or difference.balanced_accuracy is None:
        return f"{judged.verifier} and {baseline.verifier} can't be compared on these sets."
    points = _points(difference.balanced_accuracy)
    lead = (
        f"On average over sets, {judged.verifier} lies {abs(points):.1f} points "
        f"{'above' if points >= 0 else 'below'} {baseline.verifier}"
    )
    if difference.interval is None:
        return f"{lead}."
    low, high = difference.interval
    shown = "excludes" if low > 0 or high < 0 else "includes"
    return f"{lead}; the range {shown} 0."


def _warn(name: str, accuracy: Accuracy) -> Iterator[str]:
    if accuracy.unscored:
        worst = show_percent_range(*(accuracy.balanced_accuracy_bounds or _NO_RANGE))
        yield (
            f"{name}: {pluralize(accuracy.unscored, 'claim')} unscored; its balanced accuracy is "
            f"{worst} if they all count as wrong, or as right"
        )
    if accuracy.balanced_accuracy is None:
        yield f"{name}: no balanced accuracy, as scored claims have labels of one kind only"
    if accuracy.groups < FEW_GROUPS:
        yield f"{name}: fewer than {FEW_GROUPS} groups ({accuracy.groups}): ranges are rough"
