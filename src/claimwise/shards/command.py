"""``claimwise verify``: a stored run, or files of answers in shards."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from msgspec import to_builtins

from claimwise.checking.run import VerifyResult
from claimwise.checking.verify_stored import print_run, verify_stored
from claimwise.command.grounded import grounding_options, make_judge
from claimwise.command.judge import (
    JudgeOptions,
    describe_cost,
    find_reply_place,
    open_judge_client,
)
from claimwise.command.options import current_project, format_option, print_json, store_option
from claimwise.command.progress import show_progress
from claimwise.disk.urls import is_url, show_url
from claimwise.errors import ClaimwiseError, make_printable
from claimwise.report.format import pluralize
from claimwise.shards.options import ShardOptions, shard_options

if TYPE_CHECKING:
    from claimwise.checking.tasks import Basis
    from claimwise.judges.judge import Verifier
    from claimwise.measuring.values import InputSummary
    from claimwise.shards.engines import ShardEngine
    from claimwise.shards.judging import JudgeSpec
    from claimwise.shards.values import ShardCounts
    from claimwise.shards.verify import ShardsResult


@click.command("verify", short_help="Judge every claim of a stored run, or of files.")
@click.option("--run", "run_id", metavar="RUN", help="The run (default: the latest).")
@click.option(
    "--verifier",
    default="auto",
    metavar="NAME",
    help="Built-in judge: embedded, lexical, or auto (the best one installed).",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    default=1,
    show_default=True,
    help="Number of processes.",
)
@click.option("--again", is_flag=True, help="Re-judge claims already judged.")
@grounding_options(batches=True)
@shard_options
@store_option
@format_option("text", "json")
def command(
    run_id: str | None,
    verifier: str,
    jobs: int,
    again: bool,
    judging: JudgeOptions,
    grounding: dict[str, Any],
    shards: ShardOptions | None,
    store: str | None,
    form: str,
) -> None:
    """Split a run's answers into claims, judge each one, and store the labels.

    \b
    claimwise verify --run v2
    claimwise verify --input 'answers/*.parquet' --output verdicts/
    claimwise verify --input s3://bucket/answers --output s3://bucket/verdicts --engine ray

    Claims that are already stored are used as they are. Claims that could not be judged are stored
    with the reason. You can stop at any time: the next call continues where this one ended, and
    several processes can work on one run. With --judge a language model judges; its replies are
    cached in the store, so you never pay twice, and the command exits with 1 if no call got a
    reply.

    With --input every file is a shard: read, judged and written as a whole, by one of many workers.
    Finished files are skipped, so killing it loses at most one file per worker. The output is a
    store of Parquet files: claimwise report --store verdicts/. See
    docs/from-one-laptop-to-a-cluster.md.
    """
    if shards is None:
        verify_stored(run_id, verifier, jobs, again, judging, grounding, store, form)
        return
    with choose_files_engine(shards) as engine:
        files = _Files(shards, engine, run_id or shards.run_id, again=again, form=form)
        if judging.judge is None:
            files.verify_offline(verifier)
        else:
            files.verify_by_model(judging, grounding, store)


def choose_files_engine(shards: ShardOptions) -> ShardEngine:
    """Return who works on files; loaded here, since a stored run needs none of it."""
    from claimwise.shards.engines import choose_engine

    return choose_engine(shards.engine, shards.workers, shards.address)


@dataclass(frozen=True, slots=True)
class _Files:
    """A command over files: what was asked for, and who works."""

    shards: ShardOptions
    engine: ShardEngine
    run_id: str
    again: bool
    form: str

    def verify_offline(self, name: str) -> None:
        from claimwise.judges.judge import load_verifier
        from claimwise.shards.judging import OfflineJudge

        verifier = load_verifier(name)
        self._verify(OfflineJudge(verifier.name), verifier)

    def verify_by_model(
        self, judging: JudgeOptions, grounding: dict[str, Any], store: str | None
    ) -> None:
        """Let a language model judge; all workers together keep to its limits and its budget."""
        from claimwise.shards.judging import ModelJudge
        from claimwise.shards.sharing import SharedSettings

        project = current_project()
        with open_judge_client(judging, project, store) as client:
            place = find_reply_place(project, store)
            limits = SharedSettings(client.concurrency, judging.max_cost, place, judging.fresh)
            with self.engine.share(limits) as link:
                prompt = judging.prompt_place  # a relative path means nothing to workers
                if isinstance(prompt, Path):
                    judging = replace(judging, prompt=str(prompt.absolute()))
                spec = ModelJudge(
                    options=judging,
                    grounding=grounding,
                    section=project.config.llm,
                    hosts=(client.destination.origin,),
                    link=link,
                )
                result = self._verify(spec, make_judge(client, judging, grounding))
                billed, unsure = link.call("read_spent")
            cost = describe_cost(None if client.price is None else billed)
            perhaps = f", and at most US$ {unsure:,.4f} for requests without a bill"
            click.echo(f"{cost}{perhaps if unsure else ''}", err=True)
        _check_replied(result)

    def _verify(self, spec: JudgeSpec, verifier: Verifier) -> ShardsResult:
        from claimwise.shards.verify import verify_shards

        begin = time.monotonic()
        with show_progress("shards") as watch:
            result = verify_shards(
                self.shards.inputs,
                str(self.shards.output),
                spec,
                verifier,
                self.engine,
                run_id=self.run_id,
                options=self.shards.list_settings(),
                again=self.again,
                watch=watch,
            )
        agreement = getattr(verifier, "agreement", None)
        print_shards(result, agreement, time.monotonic() - begin, self.form)
        return result


def _check_replied(result: ShardsResult) -> None:
    """Fail when a language model was asked and not a single call was answered."""
    if result.own.unscored and not result.own.judged:
        codes = ", ".join(f"{code} {count:,}" for code, count in result.own.unscored.items())
        raise ClaimwiseError(f"No claim got a verdict ({codes}). Run the command again to retry.")


def print_shards(result: ShardsResult, agreement: str | None, seconds: float, form: str) -> None:
    """Print what a command did with files, and how all verdicts of its output stand.

    Raises:
        ClaimwiseError: some files could not be verified.
    """
    # Loaded here: a stored run is verified without it.
    from claimwise.measuring.report import describe_left_out

    run = _describe_run(result, agreement, seconds)
    if form == "json":
        document = {**asdict(run), **to_builtins(result.list_files())}
        print_json(document)
    else:
        before = f", {result.done_before:,} of them done before" if result.done_before else ""
        shown = show_url(result.output)
        click.echo(f"{pluralize(result.shards, 'file')} in {shown}{before}")
        print_run(run, place=f"parquet:{shown}" if is_url(shown) else shown)
    same = (f"warning: {line}" for line in result.same)
    for line in (*same, *describe_left_out(_describe_reading(result.counts))):
        click.echo(make_printable(line), err=True)
    for problem in result.failed.values():
        click.echo(f"error: {make_printable(problem)}", err=True)
    if result.failed:
        raise ClaimwiseError(
            f"{pluralize(len(result.failed), 'file')} could not be verified: see above. Fix or "
            "remove them and run the command again; all others are done"
        )


def _describe_reading(counts: ShardCounts) -> InputSummary:
    """Return what of the files was read, in all."""
    from claimwise.measuring.values import InputSummary

    more = counts.unread - len(counts.problems)
    return InputSummary(
        reader="",
        recognised=(),
        answers=counts.answers,
        dropped=counts.dropped,
        unread=(*counts.problems, *([f"… and {pluralize(more, 'row')} more"] if more else ())),
    )


def _describe_run(result: ShardsResult, agreement: str | None, seconds: float) -> VerifyResult:
    """Return the result as that of a stored run: this command's work, and the whole output."""
    counts, own = result.counts, result.own
    return VerifyResult(
        run_id=result.run_id,
        labeler=result.labeler,
        agreement=agreement,
        settings=result.settings,
        answers=counts.answers,
        failed=own.failed,
        abstained=own.abstained,
        done_before=counts.answers - own.answers,
        without_claims=own.without_claims,
        split=own.split,
        judged=own.judged,
        seconds=seconds,
        bases=cast("dict[Basis, int]", own.bases),
        verdicts=counts.verdicts,
        unscored=counts.unscored,
        warnings=own.warnings,
    )
