"""Conversations: every assistant turn is an answer with the evidence of its turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from readers.evalfiles.reading import list_texts, read_file, write, write_lines

WEATHER: list[dict[str, Any]] = [
    {"role": "system", "content": "The user lives in Oslo."},
    {"role": "user", "content": "I know it snows. Weather?"},
    {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [
            {"id": "t1", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "t1", "name": "weather", "content": "Rain, 4 °C"},
    {
        "role": "assistant",
        "content": [{"type": "reasoning", "text": "Rain."}, {"type": "text", "text": "It rains."}],
    },
    {"role": "user", "content": "Tomorrow?"},
    {"role": "assistant", "content": "<think>No data.</think>I don't know."},
]


def test_a_turn_has_its_own_evidence(tmp_path: Path) -> None:
    found = read_file(write_lines(tmp_path / "x.jsonl", [{"id": "c1", "messages": WEATHER}]))
    first, second = found.traces
    assert (first.question, first.answer) == ("I know it snows. Weather?", "It rains.")
    assert [(p.text, p.kind, p.title) for p in first.passages or ()] == [
        ("Rain, 4 °C", "tool_output", "weather")
    ]
    assert [(c.name, c.arguments, c.call_id) for c in first.actions] == [
        ("weather", '{"city": "Oslo"}', "t1")
    ]
    assert (second.question, second.answer) == ("Tomorrow?", "I don't know.")
    assert (second.passages, second.actions) == (None, ())
    assert first.conversation_id == second.conversation_id == "c1"
    assert found.dropped == {"interim messages of the assistant": 1, "reasoning parts": 2}


SHARED = [
    {"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"},
    {"from": "human", "value": "2+2?"}, {"from": "gpt", "value": "4"},
]  # fmt: skip
RAGAS = [
    {"content": "Hi", "type": "human"}, {"content": "Hello", "type": "ai"},
    {"content": "2+2?", "type": "human"}, {"content": "4", "type": "ai"},
]  # fmt: skip


@pytest.mark.parametrize(
    "record", [{"conversations": SHARED}, {"user_input": RAGAS, "reference": "r"}]
)
def test_a_conversation_without_an_id_gets_one_from_what_was_said(
    tmp_path: Path, record: dict[str, Any]
) -> None:
    short = {
        name: value[:2] if isinstance(value, list) else value for name, value in record.items()
    }
    path = write_lines(tmp_path / "x.jsonl", [record, short])
    first, second, third = read_file(path).traces
    assert [(t.question, t.answer) for t in (first, second)] == [("Hi", "Hello"), ("2+2?", "4")]
    assert first.conversation_id == second.conversation_id
    assert first.conversation_id is not None
    assert third.conversation_id is None
    again = read_file(write_lines(tmp_path / "again.jsonl", [record])).traces
    assert again[0].conversation_id == first.conversation_id


def test_contexts_of_the_row_are_evidence_and_messages_before_the_answer_are_not(
    tmp_path: Path,
) -> None:
    record = {
        "messages": [{"role": "user", "content": "Old?"}, {"role": "assistant", "content": "Old."},
                     {"role": "user", "content": "New?"}],
        "response": "New.",
        "contexts": ["c"],
    }  # fmt: skip
    [trace] = read_file(write_lines(tmp_path / "x.jsonl", [record])).traces
    assert (trace.question, trace.answer, list_texts(trace)) == ("New?", "New.", ["c"])


def test_a_table_with_a_row_per_message(tmp_path: Path) -> None:
    table = (
        "session_id,role,content\ns1,user,Hi\ns2,user,Yo\ns1,assistant,Hello\ns2,assistant,Hey\n"
        "s2,user,Gone?\n"
    )
    found = read_file(write(tmp_path / "log.csv", table))
    assert [(t.question, t.answer, t.conversation_id) for t in found.traces] == [
        ("Hi", "Hello", "s1"),
        ("Yo", "Hey", "s2"),
    ]
    assert found.dropped == {"turns without an answer": 1}


def test_parts_of_other_providers(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Stock?"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "tool_use", "id": "u", "name": "stock", "input": {"item": 3}},
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u", "content": "7"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Seven."}]},
    ]  # fmt: skip
    [trace] = read_file(write_lines(tmp_path / "x.jsonl", [{"messages": messages}])).traces
    assert (trace.question, trace.answer) == ("Stock?", "Seven.")
    assert list_texts(trace) == ["7"]
    assert [(c.name, c.arguments) for c in trace.actions] == [("stock", '{"item": 3}')]
