from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from claimwise.run_report import metrics_schema, report_schema, tables_to_document, to_document
from claimwise.run_report.values import Report, Summary

TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str, "object": dict, "array": list, "boolean": bool, "null": type(None),
    "integer": int, "number": (int, float),
}  # fmt: skip


KNOWN = {
    "$ref", "$schema", "$defs", "title", "anyOf", "const", "enum", "type", "minimum", "maximum",
    "properties", "required", "additionalProperties", "items",
}  # fmt: skip


def check(value: Any, schema: dict[str, Any], root: dict[str, Any], path: str = "$") -> None:
    """Check a value against the part of JSON Schema that our schemas use."""
    assert set(schema) <= KNOWN
    if "anyOf" in schema:
        schema = schema["anyOf"][1 if value is None else 0]
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    check_value(value, schema, path)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        assert set(schema.get("required", ())) <= set(value), path
        for key, inner in value.items():
            found = properties.get(key, schema["additionalProperties"])
            assert found is not False, f"{path}.{key}"
            check(inner, found, root, f"{path}.{key}")
    if isinstance(value, list):
        for number, inner in enumerate(value):
            check(inner, schema["items"], root, f"{path}[{number}]")


def check_value(value: Any, schema: dict[str, Any], path: str) -> None:
    assert value == schema.get("const", value), path
    assert value in schema.get("enum", [value]), path
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        assert isinstance(value, tuple(TYPES[name] for name in names)), f"{path}: {value!r}"
        assert not isinstance(value, bool) or "boolean" in names, path
    if value is not None and "minimum" in schema:
        assert schema["minimum"] <= value <= schema.get("maximum", value), path


@pytest.mark.parametrize("name", ["report", "one_sided", "bare"])
def test_documents_follow_their_schemas(
    name: str, request: pytest.FixtureRequest, summary_of: Callable[[Report], Summary]
) -> None:
    report: Report = request.getfixturevalue(name)
    check(to_document(report, summary_of(report)), report_schema(), report_schema())
    check(tables_to_document(report.tables), metrics_schema(), metrics_schema())


def test_schemas_refuse_what_is_wrong(report: Report, summary: Summary) -> None:
    document = to_document(report, summary)
    document["metrics"][0]["overall"][0]["micro"] = 1.2
    with pytest.raises(AssertionError, match=r"metrics\[0\]\.overall\[0\]\.micro"):
        check(document, report_schema(), report_schema())


@pytest.mark.parametrize("name", ["report", "bare"])
def test_survives_json(
    name: str, request: pytest.FixtureRequest, summary_of: Callable[[Report], Summary]
) -> None:
    report: Report = request.getfixturevalue(name)
    document = to_document(report, summary_of(report))
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    json.dumps([report_schema(), metrics_schema()], allow_nan=False)


def test_row_shape(report: Report) -> None:
    row = tables_to_document(report.tables)["rows"][0]
    assert list(row) == [
        "metric", "run_id", "slice", "micro", "macro", "low", "high", "macro_low", "macro_high",
        "simultaneous", "bounds", "decision", "items", "claims", "asked", "scored", "unscored",
        "numerator", "unit", "better", "method", "confidence", "design_effect", "icc",
        "detectable_difference", "warnings", "unweighted", "weighting", "basis",
        "judges",
    ]  # fmt: skip
    assert row["slice"] == {"query_type": "aggregation", "stakes": "high"}
    assert row["simultaneous"] == {"low": 0.31, "high": 0.66}
    assert row["bounds"] == {"low": 0.85, "high": 0.87}


def test_rows_are_slices_where_sliced_else_overall(report: Report, bare: Report) -> None:
    sliced = tables_to_document(report.tables)
    assert len(sliced["rows"]) == sum(len(table.slices) for table in report.tables)
    assert len(sliced["overall"]) == sum(len(table.overall) for table in report.tables)
    whole = tables_to_document(bare.tables)
    assert whole["rows"] == whole["overall"]
    assert whole["rows"][0]["micro"] is None


def test_figures_and_text_are_left_alone(report: Report, summary: Summary, hostile: str) -> None:
    document = to_document(report, summary)
    assert document["metrics"][0]["overall"][0]["micro"] == 0.8611
    assert document["metrics"][0]["slices"][1]["slice"] == {"query_type": hostile, "stakes": None}
    assert document["worst_claims"][0]["claim_text"] == hostile
    assert (document["headline"]["rate"], document["headline"]["basis"]) == (0.8611, "people")


def test_instruments(report: Report, summary: Summary) -> None:
    ana, known, unknown = to_document(report, summary)["instruments"]
    assert ana["agreement"] is None
    assert known["agreement"]["micro"] == 0.797
    assert known["agreement_text"].startswith("80% (81–90%)")
    assert unknown["agreement"] is None
    assert unknown["agreement_text"] == "not yet checked against people"


def test_report_names_worst_and_reasons(report: Report, summary: Summary) -> None:
    document = to_document(report, summary)
    assert document["schema"] == "claimwise.report/1"
    assert document["worst"][0]["row"]["micro"] == 0.482
    assert document["worst"][0]["stands_out"] is True
    assert document["unscored"][0] == {
        "reason": "timeout", "claims": 4.0, "asked": 1240, "share": 0.8611
    }  # fmt: skip


def test_no_tables() -> None:
    document = tables_to_document([])
    assert document["rows"] == document["overall"] == []
    check(document, metrics_schema(), metrics_schema())
