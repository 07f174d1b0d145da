"""The DeepEval metric inside the real ``deepeval.evaluate``: see scripts/try-scorers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimwise.store import open_store
from claimwise.transfer import export_run
from transfer.outgoing_data import HOSTILE, load_awkward_run

deepeval = pytest.importorskip(
    "deepeval", reason="DeepEval is not installed: scripts/try-scorers deepeval"
)

TOWER = "The tower is 139 m tall. It opened in 1999."


@pytest.mark.parametrize("async_mode", [True, False])
def test_metric_in_an_evaluation(
    async_mode: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
    from deepeval.test_case import LLMTestCase

    from claimwise.scorers.deepeval import ClaimwiseFaithfulness

    monkeypatch.chdir(tmp_path)
    cases = [
        LLMTestCase(input="How tall?", retrieval_context=[TOWER], name="half",
                    actual_output="The tower is 139 m tall. The tower is 200 m tall."),
        LLMTestCase(input="How old?", retrieval_context=[TOWER], name="whole",
                    actual_output="It opened in 1999."),
        LLMTestCase(input="Why?", retrieval_context=[TOWER], name="refusal",
                    actual_output="I'm sorry, I can't help with that."),
        LLMTestCase(input="Where?", actual_output="It is tall.", name="bare"),
    ]  # fmt: skip
    result = deepeval.evaluate(
        test_cases=cases,
        metrics=[ClaimwiseFaithfulness(threshold=0.8)],
        async_config=AsyncConfig(run_async=async_mode),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        cache_config=CacheConfig(write_cache=False),
        error_config=ErrorConfig(skip_on_missing_params=True),
    )
    found = {one.name: one.metrics_data or [] for one in result.test_results}
    (half,) = found["half"]
    assert (half.name, half.score, half.success) == ("Claimwise Faithfulness", 0.5, False)
    assert half.reason is not None
    assert "Not supported: “The tower is 200 m tall" in half.reason
    assert half.evaluation_model.startswith("verifier:")
    (whole,) = found["whole"]
    assert (whole.score, whole.success) == (1.0, True)
    # Skipped: left out, or (where DeepEval works one by one) there without a score.
    assert [one for one in found["refusal"] if (one.score, one.success) != (None, None)] == []
    assert found.get("bare", []) == []


def test_metric_of_one_test_case() -> None:
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.test_case import LLMTestCase

    from claimwise.scorers.deepeval import ClaimwiseFaithfulness

    metric = ClaimwiseFaithfulness(strict_mode=True)
    assert metric.measure(LLMTestCase(
        input="?", actual_output="The tower is 139 m tall. The tower is 200 m tall.",
        retrieval_context=[TOWER],
    )) == 0.5  # fmt: skip
    assert metric.is_successful() is False
    assert [claim["verdict"] for claim in metric.claims] == ["supported", "contradicted"]
    with pytest.raises(MissingTestCaseParamsError, match="needs retrieval_context"):
        metric.measure(LLMTestCase(input="?", actual_output="It is tall."))


def test_exported_cases_load(tmp_path: Path) -> None:
    from deepeval.dataset import EvaluationDataset

    path = tmp_path / "cases.json"
    with open_store(tmp_path / "s.db", create=True) as store:
        load_awkward_run(store)
        export_run(store, "r", "deepeval", path)
    cases = EvaluationDataset()
    cases.add_test_cases_from_json_file(
        str(path), input_key_name="input", actual_output_key_name="actual_output",
        expected_output_key_name="expected_output", context_key_name="context",
        retrieval_context_key_name="retrieval_context",
    )  # fmt: skip
    assert cases.test_cases[0].input == HOSTILE
    assert cases.test_cases[0].retrieval_context == [
        "The tower is 139 m tall.", "Dogs may come in."
    ]  # fmt: skip
    assert cases.test_cases[2].actual_output is None
    goldens = EvaluationDataset()
    goldens.add_goldens_from_json_file(str(path))
    told = json.loads(path.read_bytes())
    assert [golden.additional_metadata for golden in goldens.goldens] == [
        case["additional_metadata"] for case in told
    ]
