"""``claimwise demo``."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import click

from claimwise.checking.run import verify_run
from claimwise.command.options import console, write_output
from claimwise.config import find_project
from claimwise.demo import write_demo
from claimwise.judges.judge import load_verifier
from claimwise.metrics import load_metrics
from claimwise.run_report import build_report, print_summary, render_html, summarize_project
from claimwise.run_report.html import MOST_CLAIMS
from claimwise.store import open_store

_RUN = "candidate"


@click.command("demo", short_help="Create an example project and report on it.")
@click.argument("folder", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Create an example project in FOLDER, judge its latest run, and report on it.

    The project is a fictional help desk: a test set with gold spans, two runs and human labels.
    The embedded judge checks every claim of the latest run, and the report shows how well it
    agrees with people. Works offline.
    """
    place = write_demo(folder)
    project = find_project(folder)
    verifier = load_verifier()
    with open_store(place) as store:
        judged = verify_run(store, _RUN, verifier)
        summary = summarize_project(store, project, _RUN, most_claims=MOST_CLAIMS)
        report = build_report(
            store,
            load_metrics(project.metrics_folder),
            _RUN,
            by=project.config.metrics.by,
            settings=project.settings,
            version=version("claimwise"),
        )
    print_summary(summary, console())
    write_output(render_html(report, summary), folder / "report.html")
    click.echo(
        f"{judged.judged} claims judged by {judged.labeler} in {judged.seconds:.1f} s", err=True
    )
    click.echo(
        f"try: cd {folder} && claimwise check --answer check/answer.txt --source check/delays.md\n"
        "     claimwise serve",
        err=True,
    )
