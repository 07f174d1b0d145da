"""The MLflow scorer inside the real ``mlflow.genai.evaluate``: see scripts/try-scorers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claimwise.store import open_store
from claimwise.transfer import export_run
from transfer.outgoing_data import load_awkward_run

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: scripts/try-scorers mlflow")

TOWER = "The tower is 139 m tall. It opened in 1999."


@pytest.fixture
def tracking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)  # MLflow writes artifacts into the working directory
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    return mlflow.set_experiment("claimwise")


def find_feedback(result: Any, question: str) -> dict[str, Any]:
    """Return our assessment of the row whose question has some word."""
    return next(
        one
        for row in result.result_df.to_dict("records")
        for one in row["assessments"]
        if question in json.dumps(row["request"]) and one["assessment_name"].startswith("claimwise")
    )


def test_scorer_in_an_evaluation(tracking: Any) -> None:
    from claimwise.scorers.mlflow import claimwise_faithfulness

    rows = [
        {"inputs": {"question": "How tall?", "contexts": [TOWER]},
         "outputs": "The tower is 139 m tall. The tower is 200 m tall."},
        {"inputs": {"question": "How old?"}, "outputs": {"answer": "It opened in 1999.",
                                                         "context": TOWER}},
        {"inputs": {"question": "Why?"}, "outputs": "It is tall."},
    ]  # fmt: skip
    result = mlflow.genai.evaluate(data=rows, scorers=[claimwise_faithfulness()])
    half, whole, bare = (find_feedback(result, question) for question in ("tall", "old", "Why"))
    assert half["feedback"]["value"] == 0.5
    assert "Not supported: “The tower is 200 m tall" in half["rationale"]
    assert half["source"]["source_type"] == "CODE"
    assert half["metadata"]["judge_agreement"].startswith("balanced accuracy")
    assert whole["feedback"]["value"] == 1.0
    assert bare["feedback"].get("value") is None
    assert bare["feedback"]["error"]["error_code"] == "no_contexts"
    assert result.metrics["claimwise_faithfulness/mean"] == 0.75


def test_scorer_reads_retriever_spans(tracking: Any) -> None:
    from claimwise.scorers.mlflow import claimwise_faithfulness

    @mlflow.trace(span_type="RETRIEVER")  # type: ignore[untyped-decorator]
    def retrieve(question: str) -> list[dict[str, Any]]:
        return [{"page_content": TOWER, "metadata": {"doc_uri": "tower"}}]

    @mlflow.trace  # type: ignore[untyped-decorator]
    def answer(question: str) -> str:
        return f"{len(retrieve(question))}: The tower is 200 m tall."

    result = mlflow.genai.evaluate(
        data=[{"inputs": {"question": "How tall?"}}],
        predict_fn=answer,
        scorers=[claimwise_faithfulness(name="grounded")],
    )
    assert result.metrics["grounded/mean"] == 0.0


def test_exported_assessments_are_logged_on_a_trace(tracking: Any, tmp_path: Path) -> None:
    from mlflow.entities import Assessment

    with open_store(tmp_path / "s.db", create=True) as store:
        load_awkward_run(store)
        export_run(store, "r", "mlflow", tmp_path / "out.jsonl")
    with mlflow.start_span("answer") as span:
        trace_id = span.trace_id
    mlflow.flush_trace_async_logging()
    record = json.loads((tmp_path / "out.jsonl").read_bytes().split(b"\n")[0])
    for one in record["assessments"]:
        mlflow.log_assessment(trace_id=trace_id, assessment=Assessment.from_dictionary(one))
    kept = mlflow.get_trace(trace_id).info.assessments
    assert sorted(str(a.feedback.value) for a in kept) == ["0.5", "None", "supported", "unlinked"]
    assert [a.feedback.error.error_code for a in kept if a.feedback.error] == ["timeout"]


def test_exported_records_are_data_for_an_evaluation(tracking: Any, tmp_path: Path) -> None:
    from claimwise.scorers.mlflow import claimwise_faithfulness

    with open_store(tmp_path / "s.db", create=True) as store:
        load_awkward_run(store)
        export_run(store, "r", "mlflow", tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    rows = [
        {name: record[name] for name in ("inputs", "outputs", "expectations")}
        for record in map(json.loads, lines)
        if "outputs" in record
    ]
    result = mlflow.genai.evaluate(data=rows, scorers=[claimwise_faithfulness()])
    assert len(result.result_df) == 3
    assert 0 <= result.metrics["claimwise_faithfulness/mean"] <= 1
