"""``claimwise demo``."""

from __future__ import annotations

import shlex
import textwrap
from importlib.metadata import version
from pathlib import Path
from typing import Final

import click

from claimwise.app.serve_command import say
from claimwise.app.server import ServeOptions, serve_app
from claimwise.checking.run import verify_run
from claimwise.command.options import write_output
from claimwise.config import Project, find_project
from claimwise.demo import write_demo
from claimwise.judges.judge import load_verifier
from claimwise.metrics import load_metrics
from claimwise.report.format import clean, show_percent
from claimwise.report.judges import describe_agreement
from claimwise.run_report import build_report, render_html, summarize_project
from claimwise.run_report.html import MOST_CLAIMS
from claimwise.run_report.summary_text import (
    describe_evidence,
    describe_rate,
    name_group,
)
from claimwise.run_report.values import Summary
from claimwise.store import Store, open_store

_RUN: Final = "candidate"
_SHOWN_CLAIMS: Final = 2
_ROOM: Final = 62  # characters, so that lines stay within 80


@click.command("demo", short_help="Create an example project and report on it.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--serve", is_flag=True, help="Then open the app on it; Ctrl-C stops it.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    default=8700,
    show_default=True,
    help="Port of the app; 0 picks a free one.",
)
def command(folder: Path, serve: bool, port: int) -> None:
    """Create an example project in FOLDER, judge its latest run, and report on it.

    The project is a fictional help desk: a test set with gold spans, two runs and human labels.
    The embedded judge checks every claim of the latest run, which takes seconds, and works
    offline.
    """
    place = write_demo(folder)
    project = find_project(folder)
    with open_store(place) as store:
        judged = verify_run(store, _RUN, load_verifier())
        summary = _report(store, project, folder)
    click.echo("\n".join(describe_demo(summary, judged.labeler, folder)))
    if serve:
        serve_app(project, str(place), ServeOptions(port=port), say)


def _report(store: Store, project: Project, folder: Path) -> Summary:
    """Write the report as a page, and return its first screen."""
    summary = summarize_project(store, project, _RUN, most_claims=MOST_CLAIMS)
    report = build_report(
        store,
        load_metrics(project.metrics_folder, project.citations),
        _RUN,
        by=project.config.metrics.by,
        settings=project.settings,
        version=version("claimwise"),
    )
    write_output(render_html(report, summary), folder / "report.html")
    return summary


def describe_demo(summary: Summary, judged_by: str, folder: Path) -> list[str]:
    """Say in ten lines what was found, and three commands that show more."""
    worst = summary.groups[0]
    lines = [
        f"Supported: {describe_rate(summary.headline)}.",
        f"Worst group: {name_group(worst)}, {show_percent(worst.rate)} supported.",
    ]
    for claim in summary.claims[:_SHOWN_CLAIMS]:
        lines.append(f"  {claim.verdict}: “{_shorten(claim.claim_text)}”")
        lines.append(f"    {_shorten(describe_evidence(claim))}")
    judge = next(judge for judge in summary.judges if judge.labeler == judged_by)
    return [
        *lines,
        f"The built-in judge {describe_agreement(judge)}.",
        f"Try: cd {shlex.quote(str(folder))} && claimwise claims   # each one, with evidence",
        "     claimwise report --full   # all rates and groups, as in report.html",
        "     claimwise serve           # the app, to label and to compare",
    ]


def _shorten(text: str) -> str:
    return textwrap.shorten(clean(text), _ROOM, placeholder=" …")
