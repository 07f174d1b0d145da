"""Gathers everything that a report shows of one run, from one state of the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from claimwise.calibration.basis import RunBasis, estimate_on_basis, find_basis
from claimwise.calibration.correction import correct_run
from claimwise.calibration.probabilities import measure_probabilities
from claimwise.calibration.status import CalibrationStatuses, read_calibration_statuses
from claimwise.calibration.values import CorrectedRate, RunProbabilities
from claimwise.metrics import Metric, estimate_metric, find_metric, narrow_labels
from claimwise.metrics.catalogue import list_metrics
from claimwise.metrics.judge_agreement import find_agreements, list_judges
from claimwise.metrics.weights import read_weights
from claimwise.run_report.golden_changes import describe_golden_changes
from claimwise.run_report.values import Report, Worst
from claimwise.store import Store
from claimwise.types.label_rules import describe_stored_breaches
from claimwise.types.results import Estimate, JudgeNote, JudgeSummary, MetricTable, Settings
from claimwise.types.rows import Judgement, Run

DEFAULT_BY: Final = ("query_type", "stakes")


def build_report(
    store: Store,
    metrics: dict[str, Metric],
    run_id: str,
    *,
    by: Sequence[str] = DEFAULT_BY,
    settings: Settings | None = None,
    version: str,
) -> Report:
    """Measure one run with all metrics.

    Raises:
        MetricError: run, slice or settings are unknown, or a metric breaks its contract.
    """
    settings = settings or Settings()
    with store.snapshot():
        report = measure_run(store, metrics, run_id, by=by, settings=settings, version=version)
        return add_agreements(report, find_agreements(store, settings.confidence))


def measure_run(
    store: Store,
    metrics: dict[str, Metric],
    run_id: str,
    *,
    by: Sequence[str],
    settings: Settings,
    version: str,
) -> Report:
    """Measure what a report says of the run alone: how far its judges agree with people is unknown.

    That rests on the labels of all runs: who shows many reports finds it once (`add_agreements`).
    Needs a snapshot around it.

    Raises:
        MetricError: as `build_report`.
    """
    basis = find_basis(store, metrics, run_id, settings)
    tables = tuple(
        estimate_on_basis(store, metric, basis, by, settings, margins=True)
        for metric in list_metrics(metrics, "main", "detail")
    )
    standings = read_calibration_statuses(store)
    instruments = _find_instruments(store, basis, standings)
    probabilities = _measure_probabilities(store, run_id, instruments, standings)
    unscored = estimate_on_basis(
        store, find_metric(metrics, "unscored_reasons"), basis, (), settings
    ).overall
    corrected = _correct(store, run_id, settings)
    run = read_run(store, run_id)
    bare, failed = count_gaps(store, run_id)
    warnings = tuple(find_run_warnings(store, metrics, run_id, settings))
    judges = list_table_judges(store, tables, settings, agreements={})
    return Report(
        run=run,
        store=store.place,
        version=version,
        by=tuple(by),
        settings=settings,
        worst=tuple(worst for table in tables for worst in _find_worst(table)),
        tables=tables,
        instruments=instruments,
        unscored=tuple(row for row in unscored if row.numerator),
        answers_without_claims=bare,
        failed_answers=failed,
        headline=basis.headline,
        judges=judges,
        warnings=warnings,
        corrected=corrected,
        probabilities=probabilities,
    )


def add_agreements(report: Report, agreements: Mapping[str, Estimate]) -> Report:
    """Return a report that says how far its judges agree with people, over all runs."""
    instruments = tuple(
        replace(one, agreement=agreements.get(one.labeler)) if one.kind == "verifier" else one
        for one in report.instruments
    )
    return replace(
        report,
        instruments=instruments,
        judges=tuple(replace(one, agreement=agreements.get(one.labeler)) for one in report.judges),
        warnings=(*report.warnings, *_warn_of_unchecked(instruments)),
    )


def _measure_probabilities(
    store: Store, run_id: str, instruments: Sequence[JudgeSummary], standings: CalibrationStatuses
) -> tuple[RunProbabilities, ...]:
    """Return how sure the run's calibrated instruments are of its claims, raw and calibrated."""
    return tuple(
        found
        for one in instruments
        if standings.knows(one.labeler)
        for found in measure_probabilities(store, run_id, one.labeler, standings)
    )


def _correct(store: Store, run_id: str, settings: Settings) -> tuple[CorrectedRate, ...]:
    """Return the run's rates by rounds of people's labels."""
    kinds: tuple[Judgement, ...] = ("grounded", "closed_book")
    found = [
        correct_run(
            store, run_id, kind, confidence=settings.confidence, cluster=settings.cluster,
            weights=settings.weights,
        )
        for kind in kinds
    ]  # fmt: skip
    return tuple(one for one in found if one is not None)


def read_run(store: Store, run_id: str) -> dict[str, str | None]:
    """Return what the store knows of a run, as text."""
    columns = ", ".join(f"cast({name} as text)" for name in Run.__struct_fields__)
    row = store.query(f"select {columns} from runs where run_id = :run_id", {"run_id": run_id})[0]
    return dict(zip(Run.__struct_fields__, row, strict=True))


def count_gaps(store: Store, run_id: str) -> tuple[int, int]:
    """Count answers that nobody split into claims, and items the system failed on."""
    bare = store.query(
        "select count(*) from answers as a left join run_actions as r "
        "on r.run_id = a.run_id and r.item_id = a.item_id and r.sample = a.sample "
        "where a.run_id = :run_id and a.answer_text is not null "
        "and (r.action is null or r.action = 'answer') and not exists (select 1 from claims as c "
        "where c.run_id = a.run_id and c.item_id = a.item_id and c.sample = a.sample)",
        {"run_id": run_id},
    )
    failed = store.query(
        "select count(*) from answers where run_id = :run_id and answer_text is null",
        {"run_id": run_id},
    )
    return int(bare[0][0]), int(failed[0][0])


def list_table_judges(
    store: Store,
    tables: Sequence[MetricTable],
    settings: Settings,
    agreements: Mapping[str, Estimate] | None = None,
) -> tuple[JudgeNote, ...]:
    """Return the judges whose verdicts some tables count, most verdicts first."""
    counts: dict[str, int] = {}
    for table in tables:
        for judge, count in table.judges.items():
            counts[judge] = max(count, counts.get(judge, 0))
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return list_judges(store, dict(ordered), settings.confidence, agreements)


def _find_instruments(
    store: Store,
    basis: RunBasis,
    standings: CalibrationStatuses,
) -> tuple[JudgeSummary, ...]:
    """List who made the labels."""
    prefix, params = narrow_labels(basis.labels)
    rows = store.query(
        f"{prefix}select p.labeler, p.labeler_kind, p.model, p.prompt_ver, p.version, "
        "sum(l.labels), sum(l.deciding) from labelers as p join ("
        "select labeler, 1 as labels, 0 as deciding from standing_labels where run_id = :run_id "
        "union all select labeler, 1, 0 from standing_closed_book_labels where run_id = :run_id "
        "union all select labeler, 1, 0 from answer_labels where run_id = :run_id "
        "union all select labeler, 0, 1 from deciding_labels where run_id = :run_id "
        "union all select labeler, 0, 1 from deciding_closed_book_labels where run_id = :run_id "
        "union all select labeler, 0, 1 from deciding_answer_labels where run_id = :run_id"
        ") as l on l.labeler = p.labeler "
        "group by p.labeler, p.labeler_kind, p.model, p.prompt_ver, p.version "
        "order by p.labeler_kind, p.labeler",
        {"run_id": basis.run_id, **params},
    )
    return tuple(
        JudgeSummary(
            labeler=row[0],
            kind=row[1],
            model=row[2],
            prompt_ver=row[3],
            version=row[4],
            labels=int(row[5]),
            deciding_labels=int(row[6]),
            agreement=None,
            calibration=standings.describe(row[0]),
        )
        for row in rows
    )


def _find_worst(table: MetricTable) -> list[Worst]:
    """Return the slice that is most clearly bad, one for each member of a series.

    The lowest observed rate belongs to the smallest slice more often than to the worst one. So
    slices on the bad side of the whole are ranked by the better end of their simultaneous
    interval: the worst is the one that is bad even if luck was against it. Equal ends are ranked
    by the rate.
    """
    found = []
    for whole in table.overall:
        member = whole.slice.get(table.series or "")
        rows = [
            row
            for row in table.slices
            if row.micro is not None
            and row.slice.get(table.series or "") == member
            and row.items < whole.items  # a slice that holds everything is not a slice
        ]
        if whole.better is None or whole.micro is None or len(rows) < 2:
            continue
        overall = whole.micro
        worst = min(rows, key=lambda row: rank_slice(row, overall))
        found.append(Worst(estimate=worst, overall=overall, stands_out=_excludes(worst, overall)))
    return found


def rank_slice(row: Estimate, overall: float) -> tuple[bool, float, float]:
    """Return the key that sorts slices by how clearly they are bad, the clearest first."""
    return not _is_no_better(row, overall), *_kind_view(row)


def _is_no_better(row: Estimate, overall: float) -> bool:
    rate = row.micro or 0.0
    return rate <= overall if row.better == "higher" else rate >= overall


def _kind_view(row: Estimate) -> tuple[float, float]:
    """Return the better end of a slice's interval and its rate, the worst sorting first."""
    if row.better == "higher":
        return row.simultaneous_high or 0.0, row.micro or 0.0
    return -(row.simultaneous_low or 0.0), -(row.micro or 0.0)


def _excludes(row: Estimate, value: float) -> bool:
    low, high = row.simultaneous_low, row.simultaneous_high
    return low is not None and high is not None and not low <= value <= high


def _warn_of_unchecked(instruments: Sequence[JudgeSummary]) -> Iterator[str]:
    for one in instruments:
        measured = one.agreement or one.calibration
        if one.kind == "verifier" and not measured and one.deciding_labels:
            yield f"{one.labeler}: not yet checked against people."


def find_run_warnings(
    store: Store, metrics: dict[str, Metric], run_id: str, settings: Settings
) -> Iterator[str]:
    """Yield what to know of a run as a whole: changes in the golden set, broken rules, disputes."""
    yield from describe_golden_changes(store, run_id)
    weights = read_weights(store, run_id, settings.weights)
    if weights is not None:
        yield from weights.describe_missing(weights.asked)
    against_guide = store.count_labels_against_guide(run_id)
    if against_guide:
        yield f"{describe_stored_breaches(against_guide)}."
    # With one labeler or judges alone deciding, what people disagree on decides nothing.
    if settings.labels in ("default", "human"):
        metric = find_metric(metrics, "contested_share")
        contested = estimate_metric(store, metric, run_id, (), settings).overall[0]
        if contested.numerator:
            yield (
                f"{_count(round(contested.numerator), 'claim')} on which people disagree and "
                "nobody has adjudicated: the latest label decides."
            )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
