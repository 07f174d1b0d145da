"""``claimwise doctor``."""

from __future__ import annotations

import platform
import re
import stat
from dataclasses import asdict, dataclass
from importlib.metadata import distributions, requires, version
from pathlib import Path
from typing import Literal

import click

from claimwise.calibration.status import read_calibration_statuses
from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    print_json,
    store_option,
)
from claimwise.config import Project
from claimwise.corpus.advice import advise_golden_set, describe_golden_set
from claimwise.errors import ClaimwiseError
from claimwise.metrics import Metric, check_settings, load_metrics
from claimwise.metrics.near_questions import describe_near_questions
from claimwise.store import Store
from claimwise.store.checks import find_latest_time
from claimwise.types.label_rules import describe_stored_breaches

_EXTRA = re.compile(r"([\w.-]+).*\bextra == ['\"]([\w-]+)['\"]")

_ADVICE = {
    "labels that say supported by a source superseded, or expired when the run began": (
        "select count(*) from deciding_labels as d join runs as r on r.run_id = d.run_id "
        "join sources as s on s.source_id = d.source_id and s.corpus_ver = r.corpus_ver "
        "where d.verdict = 'supported' and (s.superseded_by is not null "
        "or cast(s.valid_until as text) < substr(cast(r.started_at as text), 1, 10))"
    ),
}


# Labels that count, and what each is of.
_LABELS = {
    "standing_labels": "'claim ' || claim_id",
    "standing_closed_book_labels": "'claim ' || claim_id",
    "answer_labels": "'answer ' || cast(sample as text)",
}
_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One thing that doctor looked at."""

    state: Literal["ok", "advice", "fault"]
    what: str


@click.command("doctor", short_help="Check the installation, the settings and the store.")
@store_option
@click.option(
    "--deep",
    is_flag=True,
    help="Also recompute which label decides each claim, and correct what is stored.",
)
@format_option("text", "json")
@click.pass_context
def command(ctx: click.Context, store: str | None, deep: bool, form: str) -> None:
    """Check the installation, the settings and every rule for the stored data.

    Exits with 1 if something is wrong; advice does not count.
    """
    findings = [_look_at_installation(), *_look_at_project(store, deep=deep)]
    if form == "json":
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        marks = {"ok": "ok     ", "advice": "advice ", "fault": "FAULT  "}
        for finding in findings:
            click.echo(marks[finding.state] + finding.what)
    if any(finding.state == "fault" for finding in findings):
        ctx.exit(1)


def _look_at_installation() -> DoctorFinding:
    usable = list_extras()
    extras = ", ".join(name for name, there in usable.items() if there)
    missing = ", ".join(name for name, there in usable.items() if not there)
    left_out = f" (not installed: {missing})" if missing else ""
    return DoctorFinding(
        "ok",
        f"claimwise {version('claimwise')}, Python {platform.python_version()}, "
        f"extras: {extras or 'none'}{left_out}",
    )


def list_extras() -> dict[str, bool]:
    """Return all extras of the package by name, and whether what they bring is installed."""
    installed = {_normalise(one.metadata["Name"] or "") for one in distributions()}
    found: dict[str, bool] = {}
    for requirement in requires("claimwise") or ():
        if needed := _EXTRA.match(requirement):
            package, extra = needed.groups()
            found[extra] = found.get(extra, True) and _normalise(package) in installed
    return dict(sorted(found.items()))


def _normalise(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _look_at_project(store: str | None, *, deep: bool) -> list[DoctorFinding]:
    findings = []
    try:
        project = current_project()
        check_settings(project.settings)
        findings.append(DoctorFinding("ok", f"settings of {project.folder.resolve()}"))
        metrics = load_metrics(project.metrics_folder, project.citations)
        findings.append(DoctorFinding("ok", f"{len(metrics)} metrics"))
        with open_project_store(project, store) as opened:
            findings += _look_at_store(opened)
            if deep:
                findings += _look_at_kept(opened)
            findings += _look_at_golden_set(opened, project, metrics)
    except ClaimwiseError as error:
        findings.append(DoctorFinding("fault", str(error)))
    return findings


def _look_at_store(store: Store) -> list[DoctorFinding]:
    rows = store.count_rows()
    filled = ", ".join(f"{count:,} {table}" for table, count in rows.items() if count)
    schema = "" if store.schema_version is None else f", schema {store.schema_version}"
    findings = [
        DoctorFinding("ok", f"store {store.place} ({store.engine_name}{schema})"),
        DoctorFinding("ok", f"rows: {filled or 'none yet'}"),
    ]
    missing = store.missing_views()
    if missing:
        return [
            *findings,
            *(DoctorFinding("fault", f"the view {name} is gone") for name in missing),
        ]
    broken = [
        DoctorFinding(
            "fault", f"{table}.{found.field}: found {found.found}, expected {found.expected}"
        )
        for table, found in store.audit()
    ]
    findings += broken or [DoctorFinding("ok", "every stored row keeps the rules")]
    against_guide = store.count_labels_against_guide()
    if against_guide:
        findings.append(DoctorFinding("advice", describe_stored_breaches(against_guide)))
    for what, sql in _ADVICE.items():
        count = store.query(sql)[0][0]
        if count:
            findings.append(DoctorFinding("advice", f"{count:,} {what}"))
    if store.engine_name == "sqlite" and Path(store.place).stat().st_mode & stat.S_IRWXO:
        shown = f"{store.place} can be read by every user of this machine"
        findings.append(DoctorFinding("advice", f"{shown}: chmod o-rwx {store.place}"))
    near = describe_near_questions(store)
    if near:
        findings.append(DoctorFinding("advice", near))
    findings += _look_at_label_times(store)
    for labeler in read_calibration_statuses(store).list_expired():
        findings.append(
            DoctorFinding(
                "advice", f"the calibration of {labeler} has expired: claimwise calibrate"
            )
        )
    return findings


def _look_at_kept(store: Store) -> list[DoctorFinding]:
    """Work out again which labels decide, and what the Claims page lists; correct what differs."""
    differing = {table: count for table, count in store.settle().items() if count}
    if not differing:
        return [DoctorFinding("ok", "each claim is decided by the label that the rule names")]
    shown = ", ".join(f"{count:,} rows of {table}" for table, count in differing.items())
    fix = "now corrected" if store.writable else "export the store again"
    what = f"{shown} did not say which label decides, as if written with triggers off: {fix}"
    return [DoctorFinding("fault", what)]


def _look_at_golden_set(
    store: Store, project: Project, metrics: dict[str, Metric]
) -> list[DoctorFinding]:
    shares = describe_golden_set(store)
    if shares is None:
        return []
    metric, by = metrics["faithfulness"], project.config.metrics.by
    advice = advise_golden_set(store, metric, by, project.settings)
    return [DoctorFinding("ok", shares), *(DoctorFinding("advice", what) for what in advice)]


def _look_at_label_times(store: Store) -> list[DoctorFinding]:
    """List labels that are dated ahead of now, which imports refuse and older versions took."""
    found = []
    for view, labelled in _LABELS.items():
        rows = store.query(
            f"select labeler, {labelled}, item_id, run_id, cast(labeled_at as text) from {view} "
            f"where labeled_at > :latest order by labeled_at desc limit {_MOST_LISTED}",
            {"latest": find_latest_time()},
        )
        for labeler, of, item_id, run_id, labeled_at in rows:
            told = f"{labeler}'s label of {of} (item {item_id}, run {run_id}) is dated {labeled_at}"
            found.append(
                DoctorFinding("advice", f"{told}, ahead of now: no later label outranks it")
            )
    if found:
        found.append(
            DoctorFinding("advice", "import label_retractions to retract labels of claims")
        )
    return found
