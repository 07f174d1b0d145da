"""The examples of the page on readers are read as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from readers.evalfiles.reading import read_file, write

PAGE = (Path(__file__).parents[2] / "docs" / "readers.md").read_text("utf-8")
_SECTION = re.compile(
    r"^### (?P<name>[\w-]+)\n\n```(?:csv|json)\n(?P<file>.*?)```\n\n```text\n(?P<said>.*?)\n```",
    re.MULTILINE | re.DOTALL,
)
EXAMPLES = {match["name"]: match for match in _SECTION.finditer(PAGE)}


def test_every_reader_of_evaluation_files_has_an_example() -> None:
    assert set(EXAMPLES) >= {
        "table", "ragas", "deepeval", "deepeval-run", "promptfoo", "inspect", "openai-evals",
        "ragchecker", "mlflow-records",
    }  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_read_as_the_page_says(tmp_path: Path, name: str) -> None:
    found = read_file(write(tmp_path / "file", EXAMPLES[name]["file"]))
    assert (found.reader, found.said) == (name, EXAMPLES[name]["said"])
    [trace] = found.traces
    assert trace.question.startswith("How deep")
    assert trace.answer == "It is 12 m deep."
    texts = [passage.text or "" for passage in trace.passages or ()]
    assert name == "openai-evals" or "12 m" in texts[0]
