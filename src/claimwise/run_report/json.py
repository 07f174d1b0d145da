"""Turns reports and metrics into plain values for JSON.

The keys are a contract: docs/report-json.md describes them, and `report_schema` checks them.
Figures are never rounded here, and text is never cleaned: both are for readers to decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from msgspec import to_builtins

from claimwise.calibration.headline import Headline
from claimwise.calibration.values import CorrectedRate
from claimwise.report.format import agreement_text
from claimwise.report.judges import judge_to_document
from claimwise.run_report.summary_text import WORST_CLAIMS, describe_next
from claimwise.run_report.values import Report, Summary, Worst
from claimwise.types.results import Estimate, JudgeNote, JudgeSummary, MetricTable, Settings

REPORT_SCHEMA: Final = "claimwise.report/1"
METRICS_SCHEMA: Final = "claimwise.metrics/1"

Document = dict[str, Any]


def to_document(report: Report, summary: Summary) -> Document:
    """Return a report and its first screen as plain values, ready for JSON."""
    tables = {table.metric: table for table in report.tables}
    return {
        "schema": REPORT_SCHEMA,
        "run": dict(report.run),
        "store": report.store,
        "version": report.version,
        "by": list(report.by),
        "settings": _settings(report.settings),
        "worst": [_worst(worst, tables[worst.estimate.metric]) for worst in report.worst],
        "metrics": [_metric(table) for table in report.tables],
        "instruments": [_instrument(instrument) for instrument in report.instruments],
        "unscored": [
            {
                "reason": next(iter(row.slice.values()), None),
                "claims": row.numerator,
                "asked": row.asked,
                "share": row.micro,
            }
            for row in report.unscored
        ],
        "answers_without_claims": report.answers_without_claims,
        "failed_answers": report.failed_answers,
        "warnings": list(report.warnings),
        "corrected": [_corrected(one) for one in report.corrected],
        "probabilities": [to_builtins(one) for one in report.probabilities],
        "judges": [judge_to_document(one) for one in report.judges],
        **summary_to_document(summary),
    }


def summary_to_document(summary: Summary) -> Document:
    """Return what the first screen says as plain values: headline, change, groups and claims."""
    return {
        "headline": headline_to_document(summary.headline),
        "change": None if summary.change is None else to_builtins(summary.change),
        "gates": None if summary.gates is None else summary.gates.outcome,
        "worst_groups": [asdict(group) for group in summary.groups],
        "worst_claims": [claim.to_dict() for claim in summary.claims[:WORST_CLAIMS]],
        "unsupported_claims": summary.unsupported,
        "next": describe_next(summary.headline, summary.run.get("run_id")),
    }


def headline_to_document(headline: Headline) -> Document:
    """Return a run's headline as plain values."""
    document: Document = to_builtins(headline)
    return document


def tables_to_document(
    tables: Sequence[MetricTable],
    headlines: Mapping[str, Headline] | None = None,
    judges: Sequence[JudgeNote] = (),
) -> Document:
    """Return metrics as plain values, ready for JSON.

    ``rows`` are the slices, worst first, where a table was sliced, else the overall rows;
    ``overall`` are always the overall rows. ``headline`` is the first run's, ``headlines`` those
    of all runs.
    """
    found = [
        {
            "run_id": run_id,
            **headline_to_document(one),
            "next": describe_next(one, run_id),
        }
        for run_id, one in (headlines or {}).items()
    ]
    return {
        "schema": METRICS_SCHEMA,
        "settings": _settings(tables[0].settings if tables else Settings()),
        "headline": found[0] if found else None,
        "headlines": found,
        "judges": [judge_to_document(one) for one in judges],
        "rows": [
            _row(row, table)
            for table in tables
            for row in (table.slices if table.by else table.overall)
        ],
        "overall": [_row(row, table) for table in tables for row in table.overall],
    }


def _settings(settings: Settings) -> Document:
    return asdict(settings)


def _worst(worst: Worst, table: MetricTable) -> Document:
    return {
        "metric": worst.estimate.metric,
        "row": _row(worst.estimate, table),
        "overall": worst.overall,
        "stands_out": worst.stands_out,
    }


def _metric(table: MetricTable) -> Document:
    return {
        "metric": table.metric,
        "title": table.title,
        "meaning": table.meaning,
        "unit": table.unit,
        "series": table.series,
        "notes": dict(table.notes),
        "by": list(table.by),
        "overall": [_row(row, table) for row in table.overall],
        "slices": [_row(row, table) for row in table.slices],
    }


def _instrument(instrument: JudgeSummary) -> Document:
    agreement = instrument.agreement
    return {
        "labeler": instrument.labeler,
        "kind": instrument.kind,
        "model": instrument.model,
        "prompt_ver": instrument.prompt_ver,
        "version": instrument.version,
        "labels": instrument.labels,
        "deciding_labels": instrument.deciding_labels,
        "agreement": _figures(agreement, "claim") if agreement else None,
        "agreement_text": agreement_text(instrument),
        "calibration": instrument.calibration,
    }


def _corrected(one: CorrectedRate) -> Document:
    return {
        **to_builtins(one),
        "instrument": one.instrument.value,
        "labels_only": one.labels_only.value,
    }


def _row(row: Estimate, table: MetricTable) -> Document:
    """Return one rate, and whose labels it rests on."""
    return {**_figures(row, table.unit), "basis": table.basis, "judges": list(table.judges)}


def _figures(row: Estimate, unit: str) -> Document:
    return {
        "metric": row.metric,
        "run_id": row.run_id,
        "slice": dict(row.slice),
        "micro": row.micro,
        "macro": row.macro,
        "low": row.low,
        "high": row.high,
        "macro_low": row.macro_low,
        "macro_high": row.macro_high,
        "simultaneous": {"low": row.simultaneous_low, "high": row.simultaneous_high},
        "bounds": {"low": row.bound_low, "high": row.bound_high},
        "decision": {"low": row.decision_low, "high": row.decision_high},
        "items": row.items,
        "claims": row.claims,
        "asked": row.asked,
        "scored": row.scored,
        "unscored": row.unscored,
        "numerator": row.numerator,
        "unit": unit,
        "better": row.better,
        "method": row.method,
        "confidence": row.confidence,
        "design_effect": row.design_effect,
        "icc": row.icc,
        "detectable_difference": row.detectable_difference,
        "warnings": list(row.warnings),
        "unweighted": None
        if row.unweighted is None
        else dict(zip(("micro", "low", "high"), row.unweighted, strict=True)),
        "weighting": to_builtins(row.weighting),
    }


_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_NUMBER: Final = {"type": "number"}
_NUMBER_OR_NULL: Final = {"type": ["number", "null"]}
_RATE: Final = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_COUNT: Final = {"type": "integer", "minimum": 0}
_FLAG: Final = {"type": "boolean"}
_BASIS: Final = {"enum": ["people", "corrected", "judge_only", None]}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_ROW: Final = {"$ref": "#/$defs/row"}
_ROWS: Final = {"type": "array", "items": _ROW}


def _object(**properties: Document) -> Document:
    """Return the schema of an object that has exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _values(value: Document) -> Document:
    """Return the schema of an object with any keys."""
    return {"type": "object", "additionalProperties": value}


def report_schema() -> Document:
    """Return the JSON Schema (draft 2020-12) of what `to_document` returns."""
    return _schema(
        "A report of one run",
        schema={"const": REPORT_SCHEMA}, run=_values(_TEXT_OR_NULL), store=_TEXT, version=_TEXT,
        by=_TEXTS, settings=_settings_schema(),
        worst=_list_of(metric=_TEXT, row=_ROW, overall=_RATE, stands_out=_FLAG),
        metrics=_list_of(
            metric=_TEXT, title=_TEXT, meaning=_TEXT, unit=_TEXT, series=_TEXT_OR_NULL,
            notes=_values(_TEXT), by=_TEXTS, overall=_ROWS, slices=_ROWS,
        ),
        unscored=_list_of(reason=_TEXT_OR_NULL, claims=_NUMBER, asked=_COUNT, share=_RATE),
        answers_without_claims=_COUNT, failed_answers=_COUNT, warnings=_TEXTS,
        **_label_schemas(), **_summary_schemas(),
    )  # fmt: skip


def _label_schemas() -> Document:
    """Return the schemas of what a report says of labels and of those who gave them."""
    return {
        "instruments": _list_of(
            labeler=_TEXT, kind=_TEXT, model=_TEXT_OR_NULL, prompt_ver=_TEXT_OR_NULL,
            version=_TEXT_OR_NULL, labels=_COUNT, deciding_labels=_COUNT,
            agreement=_or_null(_object(**_figure_schemas())), agreement_text=_TEXT,
            calibration=_TEXT_OR_NULL,
        ),
        "judges": _judges_schema(),
        "corrected": _list_of(
            run_id=_TEXT, round_id=_TEXT, labeler=_TEXT_OR_NULL, judgement=_TEXT, value=_RATE,
            low=_RATE, high=_RATE, confidence=_NUMBER, labels=_COUNT, claims=_COUNT,
            instrument=_RATE, labels_only=_RATE, missing=_COUNT, earlier=_COUNT, notes=_TEXTS,
            range_from={"enum": ["verdicts", "labels"]}, other_width=_RATE,
            weighting=_weighting_schema(),
        ),
        "probabilities": _list_of(
            basis=_object(
                labeler=_TEXT, domain=_TEXT_OR_NULL, calibration_id=_TEXT_OR_NULL,
                slice=_values(_TEXT_OR_NULL), claims=_COUNT, runs=_TEXTS, made_at=_TEXT_OR_NULL,
                kind=_TEXT_OR_NULL, ece_before=_RATE, ece_after=_RATE, why=_TEXT_OR_NULL,
            ),
            verdicts=_COUNT, without_confidence=_COUNT, score=_RATE, calibrated=_RATE,
        ),
    }  # fmt: skip


def _summary_schemas() -> Document:
    """Return the schemas of what `summary_to_document` returns."""
    return {
        "headline": _object(**_headline_schemas()),
        "change": _or_null(_object(
            since=_TEXT, change=_NUMBER_OR_NULL, low=_NUMBER_OR_NULL, high=_NUMBER_OR_NULL,
            why=_TEXT_OR_NULL, basis=_BASIS, judge=_TEXT_OR_NULL, switched=_FLAG,
        )),
        "gates": {"enum": ["pass", "fail", "inconclusive", None]},
        "worst_groups": _list_of(
            slice=_values(_TEXT_OR_NULL), rate=_RATE, overall=_RATE, low=_RATE, high=_RATE,
            items=_COUNT, claims=_COUNT, clearly_worse=_FLAG, judged=_FLAG,
        ),
        "worst_claims": _claims_schema(),
        "unsupported_claims": _COUNT,
        "next": _TEXT_OR_NULL,
    }  # fmt: skip


def _headline_schemas() -> Document:
    return {
        "judgement": _TEXT, "basis": _BASIS, "rate": _RATE, "low": _RATE, "high": _RATE,
        "confidence": _NUMBER, "items": _COUNT, "claims": _COUNT, "asked": _COUNT,
        "unscored": _COUNT, "labels": _TEXT, "judge": _TEXT_OR_NULL, "people_labels": _COUNT,
        "sampling_low": _RATE, "sampling_high": _RATE, "why": _TEXT_OR_NULL,
        "weighting": _weighting_schema(),
    }  # fmt: skip


def _judges_schema() -> Document:
    return _list_of(
        labeler=_TEXT, model=_TEXT_OR_NULL, prompt_ver=_TEXT_OR_NULL, claims=_COUNT,
        agreement=_or_null(_object(rate=_RATE, low=_RATE, high=_RATE, claims=_COUNT)),
        agreement_text=_TEXT,
    )  # fmt: skip


def _claims_schema() -> Document:
    """Return the schema of claims, as `claimwise claims --format json` lists them too."""
    place = {"type": ["integer", "null"], "minimum": 0}
    texts = dict.fromkeys((
        "judgement", "answer_text", "verdict", "label_kind", "labeler", "labeled_at", "evidence",
        "source_id", "source_title", "source_url", "covered_text", "reason", "unscored",
    ), _TEXT_OR_NULL)  # fmt: skip
    return _list_of(
        run_id=_TEXT, item_id=_TEXT, sample=_COUNT, claim_id=_TEXT, position=_COUNT,
        claim_text=_TEXT, claim_type=_TEXT, question=_TEXT, answer_start=place, answer_end=place,
        evidence_start=place, confidence=_RATE, disputed={"type": "boolean"},
        slice=_values(_TEXT_OR_NULL), **texts,
    )  # fmt: skip


def _weighting_schema() -> Document:
    return _or_null(_object(column=_TEXT, design_effect=_NUMBER))


def _or_null(schema: Document) -> Document:
    return {"anyOf": [schema, {"type": "null"}]}


def metrics_schema() -> Document:
    """Return the JSON Schema (draft 2020-12) of what `tables_to_document` returns."""
    headline = _object(run_id=_TEXT, **_headline_schemas(), next=_TEXT_OR_NULL)
    return _schema(
        "Metrics of one run or several",
        schema={"const": METRICS_SCHEMA},
        settings=_settings_schema(),
        headline=_or_null(headline),
        headlines={"type": "array", "items": headline},
        judges=_judges_schema(),
        rows=_ROWS,
        overall=_ROWS,
    )


def _schema(title: str, **properties: Document) -> Document:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **_object(**properties),
        "$defs": {"row": _row_schema()},
    }


def _list_of(**properties: Document) -> Document:
    return {"type": "array", "items": _object(**properties)}


def _settings_schema() -> Document:
    return _object(
        confidence=_NUMBER, method=_TEXT, resamples=_COUNT, seed=_COUNT, labels=_TEXT,
        cluster=_TEXT_OR_NULL, weights={"type": ["object", "null"]},
    )  # fmt: skip


def _row_schema() -> Document:
    return _object(**_figure_schemas(), basis=_BASIS, judges=_TEXTS)


def _figure_schemas() -> Document:
    ends = _object(low=_RATE, high=_RATE)
    return {
        "metric": _TEXT, "run_id": _TEXT, "slice": _values(_TEXT_OR_NULL), "micro": _RATE,
        "macro": _RATE, "low": _RATE, "high": _RATE, "macro_low": _RATE, "macro_high": _RATE,
        "simultaneous": ends, "bounds": ends, "decision": ends, "items": _COUNT, "claims": _COUNT,
        "asked": _COUNT, "scored": _COUNT, "unscored": _COUNT, "numerator": _NUMBER, "unit": _TEXT,
        "better": {"enum": ["higher", "lower", None]}, "method": _TEXT_OR_NULL,
        "confidence": _NUMBER, "design_effect": _NUMBER_OR_NULL, "icc": _NUMBER_OR_NULL,
        "detectable_difference": _RATE, "warnings": _TEXTS,
        "unweighted": _or_null(_object(micro=_RATE, low=_RATE, high=_RATE)),
        "weighting": _weighting_schema(),
    }  # fmt: skip
