"""Exports for ragas and Hugging Face, opened by the real packages: see scripts/try-scorers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from claimwise.store import Store, open_store
from claimwise.transfer import export_run
from transfer.outgoing_data import HOSTILE, OPEN, load_awkward_run

datasets = pytest.importorskip(
    "datasets", reason="datasets is not installed: scripts/try-scorers datasets"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db", create=True) as opened:
        load_awkward_run(opened)
        yield opened


def test_hugging_face_opens_the_folder(store: Store, tmp_path: Path) -> None:
    export_run(store, "r", "huggingface", tmp_path / "hf")
    cache = str(tmp_path / "cache")
    answers = datasets.load_dataset(str(tmp_path / "hf"), cache_dir=cache)["train"]
    claims = datasets.load_dataset(str(tmp_path / "hf"), "claims", cache_dir=cache)["train"]
    assert answers[0]["question"] == HOSTILE
    assert answers[0]["contexts"] == ["The tower is 139 m tall.", "Dogs may come in."]
    assert answers["faithfulness"][:] == [0.5, None, None, 1.0]
    assert claims[2]["claim"] == OPEN
    assert (claims[2]["verdict"], claims[2]["unscored"]) == (None, "timeout")
    assert claims.features["guide_version"].dtype == "string"  # a column without any value


def test_ragas_reads_the_rows(store: Store, tmp_path: Path) -> None:
    ragas = pytest.importorskip("ragas", reason="ragas is not installed")
    export_run(store, "r", "ragas", tmp_path / "rows.jsonl")
    found = ragas.EvaluationDataset.from_jsonl(str(tmp_path / "rows.jsonl"))
    assert len(found) == 4
    assert found[0].user_input == HOSTILE
    assert found[0].retrieved_contexts == ["The tower is 139 m tall.", "Dogs may come in."]
    assert found[0].reference == "139 m"
    assert found[2].response is None
