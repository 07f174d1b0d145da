"""The Inspect scorer inside a real evaluation with a mock model: see scripts/try-scorers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from claimwise.store import open_store
from claimwise.transfer import export_run
from transfer.outgoing_data import HOSTILE, SUPPORTED, load_awkward_run

inspect_ai = pytest.importorskip(
    "inspect_ai", reason="Inspect is not installed: scripts/try-scorers inspect"
)

TOWER = "The tower is 139 m tall. It opened in 1999."
ANSWERS = [
    "The tower is 139 m tall. The tower is 200 m tall.",
    "It opened in 1999.",
    "It is tall.",
    "I'm sorry, I can't help with that.",
]


def test_scorer_in_an_evaluation(tmp_path: Path) -> None:
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from claimwise.scorers.inspect import claimwise_faithfulness

    metadata = [{"contexts": [TOWER]}, {"context": TOWER}, {}, {"contexts": [TOWER]}]
    task = inspect_ai.Task(
        dataset=[
            Sample(id=n, input=f"Question {n}", target="139 m", metadata=metadata[n])
            for n in range(4)
        ],
        scorer=claimwise_faithfulness(),
    )
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in ANSWERS]
    for output in outputs:
        output.usage = ModelUsage()  # else Inspect counts tokens, with a file from the network
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = inspect_ai.eval(
        task, model=model, log_dir=str(tmp_path), display="none", max_connections=1,
        max_samples=1,
    )  # fmt: skip
    assert log.status == "success", log.error
    assert log.samples is not None
    scores = {
        int(sample.id): (sample.scores or {})["claimwise_faithfulness"] for sample in log.samples
    }
    assert scores[0].value == 0.5
    assert "Not supported: “The tower is 200 m tall" in scores[0].explanation
    assert scores[0].metadata["judge_agreement"].startswith("balanced accuracy")
    assert scores[1].value == 1.0
    assert math.isnan(scores[2].as_float())
    assert scores[2].reason == "no_contexts"
    assert math.isnan(scores[3].as_float())
    assert scores[3].reason == "no_claims"
    assert log.results is not None
    assert log.results.scores[0].metrics["mean"].value == 0.75


def test_exported_log_opens(tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    with open_store(tmp_path / "s.db", create=True) as store:
        load_awkward_run(store)
        export_run(store, "r", "inspect", tmp_path / "log.json")
    log = read_eval_log(str(tmp_path / "log.json"))
    assert log.samples is not None
    assert [sample.id for sample in log.samples] == ["q1", "q2", "q3", "q4"]
    first, second = ((sample.scores or {})["claimwise_faithfulness"] for sample in log.samples[:2])
    assert log.samples[0].input == HOSTILE
    assert log.samples[0].output.completion.startswith(SUPPORTED)
    assert first.value == 0.5
    assert math.isnan(second.as_float())
    assert second.reason == "no_label"
