"""Gathers what fits on one screen about a run: the rate, what moved, and the worst of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import hypot
from typing import Final, NamedTuple

from claimwise.calibration.headline import METRIC_OF, Headline, find_headline
from claimwise.claims.queries import count_claims, list_claims
from claimwise.claims.values import UNSUPPORTED, ClaimRow
from claimwise.config import Project
from claimwise.errors import ClaimwiseError
from claimwise.gates.run import run_gates
from claimwise.gates.settings import read_gates
from claimwise.gates.values import GateReport
from claimwise.metrics import Metric, estimate_metric, find_metric, load_metrics
from claimwise.metrics.counting import list_items
from claimwise.metrics.judge_agreement import find_agreement
from claimwise.metrics.paired import compare_items
from claimwise.run_report.build import (
    DEFAULT_BY,
    count_gaps,
    find_label_warnings,
    rank_slice,
    read_run,
)
from claimwise.run_report.sentences import is_clearly_worse
from claimwise.run_report.summary_text import LEAST_ITEMS, WORST_CLAIMS, format_summary
from claimwise.run_report.values import Change, Group, JudgeNote, Summary
from claimwise.store import Store
from claimwise.store.runs import find_latest_run, find_previous_run
from claimwise.types.results import Settings

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
    most_claims: int | None = None,
) -> Summary:
    """Summarize a run as its project is set up, with the result of the project's gates.

    Gates that can't be applied to the run are a line of the summary, never the end of it.

    Raises:
        ClaimwiseError: there is no such run, column or kind of labels.
    """
    gates, problem = _apply_gates(store, project, run_id)
    return build_summary(
        store,
        run_id,
        metrics=load_metrics(project.metrics_folder, project.citations),
        by=project.config.metrics.by if by is None else by,
        settings=settings or project.settings,
        gates=gates,
        gate_problem=problem,
        most_claims=most_claims or WORST_CLAIMS,
    )


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

    Raises:
        ClaimwiseError: there is no such run, column or kind of labels.
    """
    metrics = metrics or load_metrics()
    settings = settings or Settings()
    with store.snapshot():
        headline = find_headline(store, metrics, run_id, settings)
        groups = _list_groups(store, metrics, run_id, by, headline, settings)
        counted = count_claims(store, run_id, labels=settings.labels)
        bare, failed = count_gaps(store, run_id)
        return Summary(
            run=read_run(store, run_id),
            latest=find_latest_run(store) == run_id,
            headline=headline,
            change=_find_change(store, metrics, run_id, headline, settings, baseline),
            gates=gates,
            gate_problem=gate_problem,
            groups=tuple(groups.worse[:WORST_GROUPS]),
            compared=groups.compared,
            claims=tuple(_list_worst(store, run_id, settings, most_claims)),
            errors=tuple((word, counted[word]) for word in UNSUPPORTED if counted.get(word)),
            unscored=tuple(_list_unscored(store, metrics, run_id, headline)),
            failed_answers=failed,
            answers_without_claims=bare,
            judges=tuple(_list_judges(store, run_id, headline)),
            warnings=tuple(find_label_warnings(store, metrics, run_id, settings)),
        )


def _list_worst(store: Store, run_id: str, settings: Settings, most: int) -> list[ClaimRow]:
    return list_claims(store, run_id, verdicts=UNSUPPORTED, labels=settings.labels, limit=most)


class _Groups(NamedTuple):
    worse: list[Group]  # than the whole run, the surest first
    compared: int


def _list_groups(
    store: Store,
    metrics: dict[str, Metric],
    run_id: str,
    by: Sequence[str],
    headline: Headline,
    settings: Settings,
) -> _Groups:
    """Return the groups that are surest to be worse than the run, each by one column."""
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
    run_id: str,
    headline: Headline,
    settings: Settings,
    baseline: str | None,
) -> Change | None:
    """Return how the rate moved since an earlier run, where both rest on the same basis."""
    since = baseline or find_previous_run(store, run_id)
    if since is None or headline.rate is None:
        return None
    earlier = find_headline(store, metrics, since, settings)
    why = _find_difference(headline, earlier)
    if why is not None:
        return Change(since=since, why=why)
    if "corrected" in (headline.basis, earlier.basis):
        return _subtract(since, headline, earlier)
    return _compare_shared(store, metrics, run_id, since, headline, earlier, settings)


def _find_difference(new: Headline, base: Headline) -> str | None:
    """Say why two headlines can't be compared; None where they can."""
    if base.basis is None:
        return "which has no labels"
    if (base.judgement, base.basis) != (new.judgement, new.basis):
        return "whose rate rests on other labels"
    if base.judge != new.judge:
        return f"judged by {base.judge or 'several judges'}"
    return None


def _compare_shared(
    store: Store,
    metrics: dict[str, Metric],
    run_id: str,
    since: str,
    headline: Headline,
    earlier: Headline,
    settings: Settings,
) -> Change:
    """Compare two runs over the items that both answered; whole against whole where none is."""
    metric = find_metric(metrics, METRIC_OF[headline.judgement])
    base, new = (
        {one.item_id: one for one in list_items(store, metric, name, (), headline.labels)}
        for name in (since, run_id)
    )
    shared = [item for item in new if item in base]
    found = compare_items(
        [base[item].numerator for item in shared],
        [base[item].denominator for item in shared],
        [new[item].numerator for item in shared],
        [new[item].denominator for item in shared],
    )
    if found is None or found.items < 2:
        return _subtract(since, headline, earlier)
    low, high = found.interval(settings.confidence)
    return Change(since=since, change=found.change, low=low, high=high)


def _subtract(since: str, new: Headline, base: Headline) -> Change:
    """Return the change between two separate samples.

    Method: Newcombe's hybrid of the two intervals (method 10 in Statistics in Medicine 17, 1998,
    873-890), from what sampling explains: one judge errs alike in both runs.
    """
    if new.rate is None or base.rate is None:
        return Change(since=since, why="as one of the two has no rate")
    ends = [_sampling(one) for one in (new, base)]
    if None in ends:
        return Change(since=since, why="as one of the two has no range")
    (low, high), (base_low, base_high) = ends[0] or (0, 1), ends[1] or (0, 1)
    change = new.rate - base.rate
    return Change(
        since=since,
        change=change,
        low=max(-1.0, change - hypot(new.rate - low, base_high - base.rate)),
        high=min(1.0, change + hypot(high - new.rate, base.rate - base_low)),
    )


def _sampling(one: Headline) -> tuple[float, float] | None:
    low = one.low if one.sampling_low is None else one.sampling_low
    high = one.high if one.sampling_high is None else one.sampling_high
    return None if low is None or high is None else (low, high)


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


def _list_judges(store: Store, run_id: str, headline: Headline) -> list[JudgeNote]:
    rows = store.query(
        "select p.labeler, p.model, p.prompt_ver, count(distinct l.item_id || ' ' || l.claim_id) "
        f"from labelers as p join {_TABLES[headline.judgement]} as l on l.labeler = p.labeler "
        "where l.run_id = :run_id and p.labeler_kind = 'verifier' "
        "group by p.labeler, p.model, p.prompt_ver order by 4 desc, p.labeler",
        {"run_id": run_id},
    )
    rows.sort(key=lambda row: row[0] != headline.judge)  # the headline's own judge first
    return [
        JudgeNote(
            labeler=labeler,
            model=model,
            prompt_ver=prompt_ver,
            claims=int(claims),
            agreement=find_agreement(store, labeler, run_id),
        )
        for labeler, model, prompt_ver, claims in rows
    ]
