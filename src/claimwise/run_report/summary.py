"""Gathers what fits on one screen about a run: the rate, what moved, and the worst of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from claimwise.calibration.basis import RunBasis, find_basis
from claimwise.calibration.headline import METRIC_OF, Headline
from claimwise.calibration.headline_change import HeadlineChange, find_headline_change
from claimwise.claims.queries import count_claims, list_claims
from claimwise.claims.values import UNSUPPORTED, ClaimRow
from claimwise.config import Project
from claimwise.errors import ClaimwiseError
from claimwise.gates.run import run_gates
from claimwise.gates.settings import read_gates
from claimwise.gates.values import GateReport
from claimwise.metrics import Metric, estimate_metric, find_metric, load_metrics
from claimwise.metrics.judge_agreement import list_judges
from claimwise.run_report.build import (
    DEFAULT_BY,
    count_gaps,
    find_run_warnings,
    rank_slice,
    read_run,
)
from claimwise.run_report.sentences import is_clearly_worse
from claimwise.run_report.summary_text import LEAST_ITEMS, WORST_CLAIMS, format_summary
from claimwise.run_report.values import Group, Summary
from claimwise.store import Store
from claimwise.store.runs import find_latest_run, find_previous_run
from claimwise.types.results import Estimate, JudgeNote, Settings

__all__ = ["build_summary", "format_summary", "summarize_project"]

WORST_GROUPS: Final = 3
_TABLES: Final = {"grounded": "standing_labels", "closed_book": "standing_closed_book_labels"}


def summarize_project(
    store: Store,
    project: Project,
    run_id: str,
    *,
    by: Sequence[str] | None = None,
    settings: Settings | None = None,
    baseline: str | None = None,
    most_claims: int | None = None,
    agreements: Mapping[str, Estimate] | None = None,
) -> Summary:
    """Summarize a run as its project is set up, with the result of the project's gates.

    It is compared with ``baseline``, or with the system's previous run. Gates that can't be applied
    to the run are a line of the summary, never the end of it. ``agreements``: see `build_summary`.

    Raises:
        ClaimwiseError: there is no such run, column or kind of labels.
    """
    gates, problem = _apply_gates(store, project, run_id)
    summary = build_summary(
        store,
        run_id,
        metrics=load_metrics(project.metrics_folder, project.citations),
        by=project.config.metrics.by if by is None else by,
        settings=settings or project.settings,
        gates=gates,
        gate_problem=problem,
        baseline=baseline,
        most_claims=most_claims or WORST_CLAIMS,
        agreements=agreements,
    )
    # A URL may hold a password: its user has it at hand, or in the environment.
    other = "://" not in store.place and Path(store.place) != Path(project.store_place)
    return replace(summary, store=store.place if other else None, writable=store.writable)


def _apply_gates(
    store: Store, project: Project, run_id: str
) -> tuple[GateReport | None, str | None]:
    try:
        if not read_gates(project):
            return None, None
        return run_gates(store, project, run_id), None
    except ClaimwiseError as error:
        return None, str(error)


def build_summary(
    store: Store,
    run_id: str,
    *,
    metrics: dict[str, Metric] | None = None,
    by: Sequence[str] = DEFAULT_BY,
    settings: Settings | None = None,
    gates: GateReport | None = None,
    gate_problem: str | None = None,
    baseline: str | None = None,
    most_claims: int = WORST_CLAIMS,
    agreements: Mapping[str, Estimate] | None = None,
) -> Summary:
    """Gather one screen about a run, from one state of the store.

    Args:
        store: where the run is.
        run_id: the run.
        metrics: the metrics to measure with; those that come with claimwise when left out.
        by: columns of the groups, each by itself.
        settings: how rates are estimated.
        gates: what became of the project's gates on the run.
        gate_problem: why they could not be applied.
        baseline: the run to compare with; the system's previous one when left out.
        most_claims: how many of the worst claims to list.
        agreements: how far judges agree with people; found when left out, from the labels of all
            runs. Who doesn't show it gives none.

    Raises:
        ClaimwiseError: there is no such run, column or kind of labels.
    """
    metrics = metrics or load_metrics()
    settings = settings or Settings()
    with store.snapshot():
        basis = find_basis(store, metrics, run_id, settings)
        headline = basis.headline
        groups = _list_groups(store, metrics, run_id, by, headline, settings)
        counted = count_claims(store, run_id, labels=settings.labels)
        bare, failed = count_gaps(store, run_id)
        return Summary(
            run=read_run(store, run_id),
            latest=find_latest_run(store) == run_id,
            headline=headline,
            change=_find_change(store, metrics, basis, settings, baseline),
            gates=gates,
            gate_problem=gate_problem,
            groups=tuple(groups.worse[:WORST_GROUPS]),
            compared=groups.compared,
            claims=tuple(_list_worst(store, run_id, settings, most_claims)),
            errors=tuple((word, counted[word]) for word in UNSUPPORTED if counted.get(word)),
            unscored=tuple(_list_unscored(store, metrics, run_id, headline)),
            failed_answers=failed,
            answers_without_claims=bare,
            judges=_list_judges(store, run_id, headline, settings.confidence, agreements),
            warnings=tuple(find_run_warnings(store, metrics, run_id, settings)),
        )


def _list_worst(store: Store, run_id: str, settings: Settings, most: int) -> list[ClaimRow]:
    return list_claims(store, run_id, verdicts=UNSUPPORTED, labels=settings.labels, limit=most)


class _Groups(NamedTuple):
    worse: list[Group]  # than the whole run, the clearest first
    compared: int


def _list_groups(
    store: Store,
    metrics: dict[str, Metric],
    run_id: str,
    by: Sequence[str],
    headline: Headline,
    settings: Settings,
) -> _Groups:
    """Return the groups that are most clearly worse than the run, each by one column."""
    if headline.basis is None or not by:
        return _Groups([], 0)
    metric = find_metric(metrics, METRIC_OF[headline.judgement])
    policy = replace(settings, labels=headline.labels)
    table = estimate_metric(store, metric, run_id, by, policy, margins=True)
    whole = table.overall[0]
    overall = whole.micro
    if overall is None:
        return _Groups([], 0)
    large = [
        row
        for row in table.slices
        if len(row.slice) == 1 and row.micro is not None and LEAST_ITEMS <= row.items < whole.items
    ]
    worse = sorted(
        (row for row in large if row.micro is not None and row.micro < overall),
        key=lambda row: rank_slice(row, overall),
    )
    found = [
        Group(
            slice=row.slice,
            rate=row.micro or 0.0,
            overall=overall,
            low=row.simultaneous_low,
            high=row.simultaneous_high,
            items=row.items,
            claims=row.claims,
            clearly_worse=is_clearly_worse(row, overall),
            judged=headline.basis != "people",
        )
        for row in worse
    ]
    return _Groups(found, len(large))


def _find_change(
    store: Store,
    metrics: dict[str, Metric],
    basis: RunBasis,
    settings: Settings,
    baseline: str | None,
) -> HeadlineChange | None:
    """Return how the rate moved since an earlier run; None where there is none."""
    since = baseline or find_previous_run(store, basis.run_id)
    if since is None or basis.headline.rate is None:
        return None
    earlier = find_basis(store, metrics, since, settings)
    return find_headline_change(store, metrics, earlier, basis, settings)


def _list_unscored(
    store: Store, metrics: dict[str, Metric], run_id: str, headline: Headline
) -> list[tuple[str, int]]:
    """Return why claims have no verdict on the headline's basis, and how many each."""
    if headline.judgement == "closed_book" or not headline.unscored:
        return [("", headline.unscored)] if headline.unscored else []
    table = estimate_metric(
        store, find_metric(metrics, "unscored_reasons"), run_id, (),
        Settings(labels=headline.labels),
    )  # fmt: skip
    return [
        (row.slice.get("reason") or "", round(row.numerator))
        for row in table.overall
        if row.numerator
    ]


def _list_judges(
    store: Store,
    run_id: str,
    headline: Headline,
    confidence: float,
    agreements: Mapping[str, Estimate] | None,
) -> tuple[JudgeNote, ...]:
    """Return the judges of a run, whether or not they decide: the headline's own first."""
    rows = store.query(
        "select labeler, count(distinct item_id || ' ' || claim_id) "
        f"from {_TABLES[headline.judgement]} "
        "where run_id = :run_id and label_kind = 'verifier' "
        "group by labeler order by 2 desc, labeler",
        {"run_id": run_id},
    )
    rows.sort(key=lambda row: row[0] != headline.judge)
    counts = {labeler: int(claims) for labeler, claims in rows}
    return list_judges(store, counts, confidence, agreements)
