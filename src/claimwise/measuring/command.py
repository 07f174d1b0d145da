"""``claimwise measure``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from claimwise.command.grounded import describe_spent, make_judge
from claimwise.command.judge import (
    JudgeOptions,
    check_replied,
    find_batches,
    judge_options,
    open_judge_client,
)
from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    print_json,
    read_columns,
    store_option,
    write_file,
)
from claimwise.command.progress import show_progress
from claimwise.config import Project
from claimwise.errors import BatchesWaitingError, ClaimwiseError, make_printable
from claimwise.measuring.gather import ReadAnswers, read_measured_files
from claimwise.measuring.measure import (
    ask_model,
    describe_reading,
    keep_run,
    measure_runs,
    name_unnamed_run,
    plan_judgement,
    refuse_from_memory,
    refuse_without_contexts,
)
from claimwise.measuring.report import (
    describe_left_out,
    to_preview,
    write_preview,
    write_screen,
)
from claimwise.measuring.rows import SystemAnswers, make_runs
from claimwise.measuring.values import Measurement
from claimwise.store import Store
from claimwise.types.rows import Judgement

_PATIENCE = 2.0  # seconds before a progress display appears


@click.command("measure", short_help="Measure the answers in a file: one command, one screen.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option("--reader", metavar="NAME", help="How to read the files (default: by content).")
@click.option(
    "--map", "mapped", metavar="A=B,…", help="Your column names: question=ask,contexts=docs."
)
@click.option("--values", metavar="A=B,…", help="Your values, such as yes=true.")
@click.option("--run", "run_id", metavar="ID", help="Id of the run (default: made from content).")
@click.option("--system", metavar="NAME", help="Name of the system that answered.")
@click.option("--by", metavar="A,B", help="Columns to group by; '' for none.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N answers.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write the report as one HTML file.",
)
@click.option(
    "--dry-run", "preview", is_flag=True, help="Show what was understood; judge and store nothing."
)
@click.option(
    "--verifier",
    default="auto",
    metavar="NAME",
    help="Built-in judge: embedded, lexical, or auto (the best one installed).",
)
@judge_options(required=False, repeats=False, dry_run=False, batches=True)
@store_option
@format_option("text", "json")
def command(
    files: tuple[Path, ...],
    reader: str | None,
    mapped: str | None,
    values: str | None,
    run_id: str | None,
    system: str | None,
    by: str | None,
    limit: int | None,
    html: Path | None,
    preview: bool,
    verifier: str,
    judging: JudgeOptions,
    store: str | None,
    form: str,
) -> None:
    """Read questions, contexts and answers, judge every claim, and print one screen.

    \b
    claimwise measure results.jsonl
    claimwise measure traces/ --html report.html
    claimwise measure rows.csv --map question=ask,answer=reply,contexts=docs

    Files of ragas, deepeval, promptfoo, Langfuse, Phoenix and others are recognised by content.
    Judging is offline unless --judge names a language model; for answers without contexts it
    judges from memory. Everything is kept in the store, so the same file again costs nothing. What
    a file doesn't say stays unknown (see docs/measure.md).
    """
    options = {"map": mapped, "values": values}
    given = {name: value for name, value in options.items() if value}
    found = read_measured_files(files, reader=reader, options=given, limit=limit)
    if preview:
        _print_preview(found, form)
        return
    runs = make_runs(found.traces, name_unnamed_run(files), run_id=run_id, system=system)
    refuse_without_contexts(runs, str(files[0]), judging.judge)
    if html is not None and not html.parent.is_dir():
        raise click.BadParameter(f"no such folder: {html.parent}", param_hint="--html")
    project = current_project()
    columns = None if by is None else read_columns(by, ())
    with open_project_store(project, store, create=True) as opened:
        judge_open = _Judge(project, judging, verifier, store)
        if judging.batch_api:
            judge_open.submit_all(opened, runs)
        measured = measure_runs(
            opened, project, found, runs, judge_open, judge=judging.judge, by=columns
        )
        if html is not None:
            _write_html(opened, project, measured, html)
    _print_measured(measured, form)
    for line in judge_open.spent:
        click.echo(line, err=True)
    if all(run.claims and run.headline.rate is None for run in measured.runs):
        raise ClaimwiseError("nothing was scored: see the reasons above")


def _print_preview(found: ReadAnswers, form: str) -> None:
    reading = describe_reading(found)
    if form == "json":
        print_json(to_preview(found, reading))
    else:
        click.echo(make_printable_lines(write_preview(found, reading)))


def make_printable_lines(text: str) -> str:
    """Return lines that can't steer a terminal."""
    return "\n".join(make_printable(line) for line in text.splitlines())


def _print_measured(measured: Measurement, form: str) -> None:
    for line in describe_left_out(measured.reading):
        click.echo(make_printable(line), err=True)
    if form == "json":
        print_json(measured.to_document())
        return
    width = get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 80
    click.echo(make_printable_lines(write_screen(measured, min(width, 100))))
    click.echo(f"kept in {measured.store}", err=True)


class _Judge:
    """Judges what is open of a run: offline, or by the language model that the options name."""

    def __init__(
        self, project: Project, judging: JudgeOptions, verifier: str, store: str | None
    ) -> None:
        self.spent: list[str] = []
        self._project = project
        self._judging = judging
        self._verifier = verifier
        self._place = store

    def __call__(self, store: Store, run_id: str, judgement: Judgement) -> None:
        if self._judging.judge is None:
            self._judge_offline(store, run_id)
        else:
            self._ask_model(store, run_id, judgement)

    def submit_all(self, store: Store, runs: Sequence[SystemAnswers]) -> None:
        """Have the batches of all runs under way before any of them is waited for."""
        for run in runs if len(runs) > 1 else ():
            keep_run(store, run)
            judgement = plan_judgement(run, self._judging.judge)
            with suppress(BatchesWaitingError):
                self._ask_model(store, run.run_id, judgement, wait=False)

    def _judge_offline(self, store: Store, run_id: str) -> None:
        from claimwise.checking.run import verify_run

        with show_progress(after=_PATIENCE) as watch:
            verify_run(store, run_id, self._verifier, watch=watch)

    def _ask_model(
        self, store: Store, run_id: str, judgement: Judgement, *, wait: bool = True
    ) -> None:
        from claimwise.fact_check.options import check_trust, make_closed_judge

        refuse_from_memory(self._judging.served, judgement)
        options = replace(self._judging, no_wait=self._judging.no_wait or not wait)
        with open_judge_client(options, self._project, self._place) as client:
            judge: Any
            if judgement == "grounded":
                judge = make_judge(client, self._judging, {})
            else:
                judge = make_closed_judge(client, self._judging)
                check_trust(self._project, judge, untrusted_ok=False)
            with show_progress(client=client, after=_PATIENCE) as watch:
                batches = find_batches(client)
                ask_model(
                    store, run_id, judgement, client, judge=judge, watch=watch, batches=batches
                )
            self.spent.append(describe_spent(client))
            check_replied(client.tally)


def _write_html(store: Store, project: Project, measured: Measurement, path: Path) -> None:
    """Write the report on the run that the screen shows."""
    from claimwise.metrics import load_metrics
    from claimwise.run_report import build_report, render_html
    from claimwise.run_report.html import MOST_CLAIMS
    from claimwise.run_report.summary import summarize_project

    run = measured.lowest
    report = build_report(
        store,
        load_metrics(project.metrics_folder, project.citations),
        run.run_id,
        by=run.by,
        settings=project.settings,
        version=version("claimwise"),
    )
    summary = summarize_project(store, project, run.run_id, by=run.by, most_claims=MOST_CLAIMS)
    write_file(path, render_html(report, summary))
    click.echo(f"wrote {path}", err=True)
