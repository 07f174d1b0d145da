"""The examples of traces on the page on readers are read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claimwise.readers.choose import choose_reader
from claimwise.types.traces import Trace

PAGE = (Path(__file__).parents[2] / "docs/readers.md").read_text(encoding="utf-8")
TRACES = PAGE.partition("\n## Traces")[2].partition("\n## ")[0]
EXAMPLES = re.findall(r"### [^\n]*?\(`([\w-]+)`.*?```json\n(.*?)```", TRACES, re.DOTALL)


def test_every_tool_has_its_example() -> None:
    assert len(EXAMPLES) == TRACES.count("\n### ")


@pytest.mark.parametrize(("reader", "example"), EXAMPLES)
def test_examples_of_traces_are_read(tmp_path: Path, reader: str, example: str) -> None:
    path = tmp_path / "example"
    path.write_text(example, encoding="utf-8")
    chosen = choose_reader(path, "traces")
    assert chosen is not None
    assert chosen.entry.name == reader
    [(_, trace)] = chosen.reader.read(path, {})
    assert isinstance(trace, Trace)
    assert trace.question.endswith("?")
    assert trace.answer.endswith(".")
