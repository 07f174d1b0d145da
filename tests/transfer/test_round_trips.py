"""What goes out comes in again: exports for other tools, read by our own readers of those tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from claimwise.measuring.gather import read_measured_files
from claimwise.store import Store, open_store
from claimwise.transfer import export_run
from claimwise.types.traces import Trace
from transfer.outgoing_data import HOSTILE, OTEL_ID, load_awkward_run

# name of the file -> target, format, and the reader that knows it
FILES = {
    "rows.jsonl": ("ragas", None, "ragas"),
    "cases.json": ("deepeval", None, "deepeval"),
    "results.json": ("promptfoo", None, "promptfoo"),
    "log.json": ("inspect", None, "inspect"),
    "records.jsonl": ("mlflow", None, "mlflow-records"),
    "dataset": ("huggingface", "jsonl", "huggingface"),
    "dataset-parquet": ("huggingface", "parquet", "huggingface"),
}


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("awkward") / "s.db", create=True) as store:
        load_awkward_run(store)
        yield store


@pytest.mark.parametrize("name", FILES)
def test_export_is_read_again(name: str, awkward: Store, tmp_path: Path) -> None:
    target, form, reader = FILES[name]
    export_run(awkward, "r", target, tmp_path / name, form=form)
    found = read_measured_files([tmp_path / name])
    assert found.reader == reader
    answers = [trace for trace in found.traces if not trace.failure]
    assert [trace.question for trace in answers] == [HOSTILE, *["How tall is it?"] * 2]
    stored = awkward.query("select answer_text from answers where answer_text is not null "
                           "order by item_id")  # fmt: skip
    assert [trace.answer for trace in answers] == [row[0] for row in stored]
    assert [list_texts(trace) for trace in answers] == [
        ["The tower is 139 m tall.", "Dogs may come in."], None, None
    ]  # fmt: skip
    assert [trace.gold_answer for trace in answers] == ["139 m", None, "139 m"]
    if target in ("deepeval", "mlflow", "huggingface"):
        assert answers[0].trace_id == OTEL_ID


def list_texts(trace: Trace) -> list[str | None] | None:
    return None if trace.passages is None else [passage.text for passage in trace.passages]


def test_table_of_ragas_is_read_again(awkward: Store, tmp_path: Path) -> None:
    export_run(awkward, "r", "ragas", tmp_path / "rows.csv")
    found = read_measured_files([tmp_path / "rows.csv"])
    assert found.reader == "ragas"
    assert list_texts(found.traces[0]) == ["The tower is 139 m tall.", "Dogs may come in."]
