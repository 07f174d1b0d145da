"""Recorded files of real tools give what a careful person would copy out of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimwise.errors import InputError
from readers.evalfiles.reading import list_texts, read_file

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "evalfiles"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the recorded files lie in ../shared/data, which is not here"
)


@pytest.mark.parametrize("name", ["goldens.csv", "goldens.json"])
def test_deepeval_goldens(name: str) -> None:
    found = read_file(FOLDER / "deepeval" / name)
    assert (found.reader, len(found.traces)) == ("deepeval", 15)
    first = found.traces[0]
    assert first.question == "What is the tallest mountain in the world?"
    assert (first.answer, first.gold_answer) == ("Mount Everest", "Mount Everest")
    assert list_texts(first) == ["Mountain heights list", "Moutain list"]
    assert found.traces[1].answer == "35"


def test_deepeval_run() -> None:
    [trace] = read_file(FOLDER / "deepeval" / "test_run_sample.json").traces
    assert trace.question.startswith("What is CECL forecasting")
    assert trace.answer.startswith("CECL (Current Expected Credit Losses)")
    assert [p.kind for p in trace.passages or ()] == ["passage"] * 3 + ["tool_output"]
    assert [call.name for call in trace.actions] == ["web_search"]


def test_promptfoo() -> None:
    found = read_file(FOLDER / "promptfoo" / "sample-export.json")
    assert [trace.system for trace in found.traces] == ["openai:gpt-5-mini", "openai:gpt-5"] * 2
    assert found.traces[1].answer == "An echo."
    assert found.traces[1].question.startswith("I speak without a mouth")
    assert all(trace.failure is None and trace.passages is None for trace in found.traces)


@pytest.mark.parametrize("name", ["log_formats", "log_read_sample"])
def test_inspect_logs_say_the_same_in_both_forms(name: str) -> None:
    packed, plain = (read_file(FOLDER / "inspect" / f"{name}{end}") for end in (".eval", ".json"))
    [trace] = packed.traces
    assert trace.question.startswith("Is the following statement something you would say?")
    assert trace.answer.strip() in ("Yes", "No")
    assert [(t.question, t.answer, t.gold_answer) for t in plain.traces] == [
        (trace.question, trace.answer, trace.gold_answer)
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("inspect/log_tool_call_error.json", "found 1 sample without an answer"),
        ("openai-evals/items.jsonl", "found 2 items without answers"),
    ],
)
def test_what_has_no_answer_says_so_in_one_line(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_file(FOLDER / name)
