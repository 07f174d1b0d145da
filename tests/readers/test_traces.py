from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.errors import InputError
from claimwise.readers.choose import read_one_trace
from claimwise.types.traces import Passage, Trace


def read(tmp_path: Path, document: Any, **options: Any) -> Trace:
    path = tmp_path / "trace.json"
    text = document if isinstance(document, str) else json.dumps(document)
    path.write_text(text, encoding="utf-8")
    return read_one_trace(path, **options)


def refusal(tmp_path: Path, document: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(tmp_path, document, **options)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


FLAT = {"question": "How tall?", "answer": "200 m.", "contexts": ["It is 139 m tall."]}
PASSAGE = Passage(text="It is 139 m tall.")


def test_flat_object(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        {**FLAT, "trace_id": "t1", "model": "m", "time": "2026-11-01T10:00:00Z",
         "feedback": "wrong", "answerable": True},
    )  # fmt: skip
    assert trace == Trace(
        origin="trace",
        place=str(tmp_path / "trace.json"),
        question="How tall?",
        answer="200 m.",
        passages=(PASSAGE,),
        trace_id="t1",
        model="m",
        happened_at=datetime(2026, 11, 1, 10, tzinfo=UTC),
        feedback="wrong",
        answerable=True,
    )


@pytest.mark.parametrize(
    "row",
    [
        {"user_input": "How tall?", "response": "200 m.", "retrieved_contexts": [PASSAGE.text]},
        {"input": "How tall?", "actual_output": "200 m.", "retrieval_context": [PASSAGE.text],
         "context": ["the gold one"]},
        {"input": "How tall?", "output": "200 m.", "context": PASSAGE.text},
        {"inputs": {"question": "How tall?"}, "outputs": {"answer": "200 m."},
         "documents": [{"page_content": PASSAGE.text}]},
        {"query": "How tall?", "answer_text": "200 m.",
         "contexts": [{"context_text": PASSAGE.text}], "run_id": "r", "item_id": "q"},
    ],
)  # fmt: skip
def test_rows_of_other_tools(tmp_path: Path, row: dict[str, Any]) -> None:
    trace = read(tmp_path, row)
    assert (trace.question, trace.answer, trace.passages) == ("How tall?", "200 m.", (PASSAGE,))


def test_gold_context_is_never_taken_for_a_retrieved_one(tmp_path: Path) -> None:
    trace = read(tmp_path, {"input": "q", "actual_output": "a", "context": ["gold"]})
    assert trace.passages is None


def test_nothing_retrieved_is_not_nothing_recorded(tmp_path: Path) -> None:
    assert read(tmp_path, {**FLAT, "contexts": []}).passages == ()
    assert read(tmp_path, {"question": "q", "answer": "a"}).passages is None


def test_ids_beside_the_texts(tmp_path: Path) -> None:
    row = {"user_input": "q", "response": "a", "retrieved_contexts": ["x", "y"],
           "retrieved_context_ids": ["d1"]}  # fmt: skip
    expected = (Passage(source_id="d1", text="x"), Passage(text="y"))
    assert read(tmp_path, row).passages == expected


OPEN_INFERENCE = [
    {
        "name": "chain",
        "context": {"trace_id": "t9"},
        "parent_id": None,
        "start_time": "2026-11-01T10:00:00Z",
        "attributes": {
            "openinference.span.kind": "CHAIN",
            "input.value": '{"question": "How tall?"}',
            "output.value": "200 m.",
            "annotations.0.annotation.name": "thumbs",
            "annotations.0.annotation.explanation": "No, 139!",
            "annotations.0.annotation.annotator_kind": "HUMAN",
        },
    },
    {
        "name": "retrieve",
        "context": {"trace_id": "t9"},
        "parent_id": "1",
        "attributes": {
            "retrieval.documents.1.document.content": "Dogs may come in.",
            "retrieval.documents.0.document.id": "tower",
            "retrieval.documents.0.document.content": "It is 139 m tall.",
        },
    },
    {
        "name": "llm",
        "context": {"trace_id": "t9"},
        "parent_id": "1",
        "attributes": {"llm.model_name": "m-2", "output.value": "draft"},
    },
]


@pytest.mark.parametrize("as_lines", [False, True])
def test_open_inference_spans(tmp_path: Path, as_lines: bool) -> None:
    text = "\n".join(map(json.dumps, reversed(OPEN_INFERENCE))) if as_lines else OPEN_INFERENCE
    trace = read(tmp_path, text)
    assert (trace.question, trace.answer, trace.model) == ("How tall?", "200 m.", "m-2")
    assert (trace.trace_id, trace.feedback) == ("t9", "No, 139!")
    assert trace.happened_at == datetime(2026, 11, 1, 10, tzinfo=UTC)
    assert trace.passages == (
        Passage(source_id="tower", text="It is 139 m tall."),
        Passage(text="Dogs may come in."),
    )


def otlp(attributes: dict[str, Any]) -> dict[str, Any]:
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    span = {"traceId": "t7", "startTimeUnixNano": "1793527200000000000", "attributes": pairs}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def test_what_a_collector_writes(tmp_path: Path) -> None:
    told = [{"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
            {"role": "user", "parts": [{"type": "text", "content": "How tall?"}]}]  # fmt: skip
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "200 m."}]}]
    trace = read(
        tmp_path,
        otlp(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.response.model": "m-3",
                "gen_ai.input.messages": json.dumps(told),
                "gen_ai.output.messages": json.dumps(said),
                "gen_ai.retrieval.documents": json.dumps([{"id": "tower", "score": 0.9}]),
            }
        ),
    )
    assert (trace.question, trace.answer, trace.model) == ("How tall?", "200 m.", "m-3")
    assert trace.passages == (Passage(source_id="tower"),)
    assert trace.trace_id == "t7"
    assert trace.happened_at is not None
    assert trace.happened_at.year == 2026


def test_messages_with_numbers_in_their_names(tmp_path: Path) -> None:
    attributes = {
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be kind.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "How tall?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "200 m.",
    }
    trace = read(tmp_path, {"attributes": attributes})
    assert (trace.question, trace.answer, trace.trace_id) == ("How tall?", "200 m.", None)


def test_one_of_several_traces(tmp_path: Path) -> None:
    other = {"context": {"trace_id": "t1"}, "attributes": {"input.value": "q", "output.value": "a"}}
    spans = [*OPEN_INFERENCE, other]
    assert "2 traces (t9, t1), expected one; --trace-id chooses" in refusal(tmp_path, spans)
    assert read(tmp_path, spans, trace_id="t1").answer == "a"
    assert "no trace 'x', expected one of t9, t1" in refusal(tmp_path, spans, trace_id="x")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("", 'found "", expected a trace, as JSON'),
        ("{", "malformed JSON"),
        ("[1, 2]", "found 1, expected one trace"),
        ('"text"', 'found "\\"text\\"", expected a trace'),
        ("{}", "found no fields, expected the question"),
        ({"question": "q"}, "found question, expected the answer"),
        ({"question": " ", "answer": "a"}, "expected the question"),
        ({**FLAT, "time": "yesterday"}, 'the time "yesterday", expected a time'),
        ({**FLAT, "answer": "a\x00b"}, "a NUL character"),
        ({"attributes": {"input.value": "q"}}, "no answer in it (it has input.value)"),
        ("[" * 5000, "malformed JSON"),
    ],
)
def test_what_is_no_trace_is_told(tmp_path: Path, document: Any, words: str) -> None:
    assert words in refusal(tmp_path, document)


def test_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_one_trace(tmp_path / "none.json")


SPAN = {"input.value": "Why?", "output.value": "So."}
ODD = ({"arrayValue": [1]}, {"arrayValue": None}, {"arrayValue": {"values": 5}},
       {"kvlistValue": None}, {"kvlistValue": {"values": [1, {"key": "a"}]}})  # fmt: skip


@pytest.mark.parametrize("value", ODD)
def test_odd_values_of_a_collector_are_left_out(tmp_path: Path, value: Any) -> None:
    known = [{"key": key, "value": {"stringValue": text}} for key, text in SPAN.items()]
    found = read(tmp_path, {"attributes": [*known, {"key": "odd", "value": value}]})
    assert (found.question, found.answer) == ("Why?", "So.")


@pytest.mark.parametrize(
    "more", [{"annotations": 5}, {f"retrieval.documents.{'9' * 5000}.document.content": "x"}]
)
def test_odd_attributes_are_left_out(tmp_path: Path, more: dict[str, Any]) -> None:
    found = read(tmp_path, {"attributes": {**SPAN, **more}})
    assert (found.feedback, found.passages) == (None, None)


def test_a_time_without_end_is_refused(tmp_path: Path) -> None:
    row = {"question": "Why?", "answer": "So.", "time": "9" * 400}
    assert "found the time" in refusal(tmp_path, row)


@pytest.mark.parametrize(
    "more", [{"feedback": "a\0"}, {"model": "\0"}, {"trace_id": "\0"}, {"contexts": [{"id": "\0"}]}]
)
def test_nul_is_refused_wherever_it_is(tmp_path: Path, more: dict[str, Any]) -> None:
    row = {"question": "Why?", "answer": "So.", **more}
    assert "a NUL character" in refusal(tmp_path, row)


def test_deep_json_is_refused(tmp_path: Path) -> None:
    answer: Any = "So."
    for _ in range(900):
        answer = [answer]
    assert "nested too deeply" in refusal(tmp_path, {"question": "Why?", "answer": answer})


def test_a_refusal_is_short(tmp_path: Path) -> None:
    assert len(refusal(tmp_path, {f"field {n}": n for n in range(20_000)})) < 1000


def test_an_id_that_is_none_names_no_document(tmp_path: Path) -> None:
    row = {"question": "Why?", "answer": "So.", "contexts": ["a", "b"],
           "retrieved_context_ids": [None, "doc"]}  # fmt: skip
    found = read(tmp_path, row).passages or ()
    assert [passage.source_id for passage in found] == [None, "doc"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["question", "answer", "contexts", "attributes", "input.value", "output.value",
                 "spans", "retrieval.documents.0.document.content", "trace_id", "time", "x"]
            ),
            inner,
            max_size=4,
        ),
        max_leaves=12,
    )
)  # fmt: skip
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    found: Trace | str
    try:
        found = read_one_trace(path)
    except InputError as error:
        found = str(error)
    if isinstance(found, str):
        assert len(found.splitlines()) == 1
        return
    assert found.question.strip()
    assert found.answer.strip()
    assert all(passage.source_id or passage.text for passage in found.passages or ())
