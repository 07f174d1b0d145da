"""Traces of other tools, each told by its content: question, final answer, evidence, actions."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claimwise.errors import ClaimwiseError, InputError, Problem
from claimwise.readers.choose import choose_reader, read_one_trace
from claimwise.readers.traces.any_format import AnyTraceReader
from claimwise.readers.traces.messages import read_messages
from claimwise.types.traces import Dropped, Passage, ToolCall, Trace
from support.growth import grows_evenly

FILES = Path(__file__).parent / "trace_files"


class Read(NamedTuple):
    reader: str
    traces: list[Trace]
    problems: list[str]
    dropped: dict[str, int]

    @property
    def one(self) -> Trace:
        assert self.problems == []
        [trace] = self.traces
        return trace


def read_file(path: Path) -> Read:
    chosen = choose_reader(path, "traces")
    assert chosen is not None
    found = [record for _, record in chosen.reader.read(path, {})]
    return Read(
        chosen.entry.name,
        [record for record in found if isinstance(record, Trace)],
        [record.found for record in found if isinstance(record, Problem)],
        {record.what: record.count for record in found if isinstance(record, Dropped)},
    )


def read(tmp_path: Path, document: Any, name: str = "file.bin") -> Read:
    path = tmp_path / name
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return read_file(path)


def to_lines(records: list[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def texts(trace: Trace, kind: str = "passage") -> list[str | None]:
    return [passage.text for passage in trace.passages or () if passage.kind == kind]


# Recorded by the real tools.


@pytest.mark.parametrize(
    ("name", "reader", "question", "answer", "evidence", "call"),
    [
        ("openinference.pb", "otlp-protobuf", "When does the museum open on Monday?",
         "It opens at nine.", ["Monday: 9:00-17:00"], "opening"),
        ("traceloop.json", "otlp", "When does the museum open on Monday?",
         "It opens at nine.", ["Monday: 9:00-17:00"], "opening"),
        ("pydantic_ai.json", "otlp", "When does the museum open on Monday?",
         "It opens at nine.", ["Monday: 9:00-17:00"], "opening"),
        ("mlflow.json", "mlflow", "How tall is the tower?", "It is 139 m tall.",
         ["The tower is 139 m tall.", "It was built in 1902."], None),
        ("openai_agents.jsonl", "openai-agents", "When is the library open on Sunday?",
         "The library is open from 10 to 14 on Sundays.", ["Sunday: 10-14"], "opening_hours"),
        ("langsmith.jsonl", "langsmith", "Who wrote the guide?", "Ada Moss wrote it.",
         ["The guide was written by Ada Moss.", "Ada Moss, born 1951"], "lookup"),
        ("opik.json", "opik", "Who wrote the guide?", "Ada Moss wrote it.",
         ["The guide was written by Ada Moss.", "Ada Moss, born 1951"], "lookup"),
    ],
)  # fmt: skip
def test_recorded_files(
    name: str, reader: str, question: str, answer: str, evidence: list[str], call: str | None
) -> None:
    found = read_file(FILES / name)
    trace = found.one
    assert (found.reader, trace.question, trace.answer) == (reader, question, answer)
    assert [passage.text for passage in trace.passages or ()] == evidence
    assert [action.name for action in trace.actions] == ([call] if call else [])
    assert trace.happened_at is not None
    assert trace.happened_at.year == 2026
    assert read_one_trace(FILES / name) == trace


def test_what_a_model_thought_is_left_out_and_counted() -> None:
    found = read_file(FILES / "pydantic_ai.json")
    assert found.dropped == {"reasoning parts": 2}
    assert "look it up" not in str(found.one)
    assert found.one.conversation_id


def test_chunks_of_one_document_are_two_passages_of_it() -> None:
    passages = read_file(FILES / "mlflow.json").one.passages or ()
    assert [passage.source_id for passage in passages] == ["guide.md", "guide.md"]


def test_a_conversation_keeps_its_id() -> None:
    assert read_file(FILES / "langsmith.jsonl").one.conversation_id == "talk-1"


# The dialects of OpenTelemetry.

ASKED = "How long is the bridge?"
SAID = "It is 1,280 m long."
HISTORY = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": ASKED}]
PARTS_IN = [{"role": "user", "parts": [{"type": "text", "content": ASKED}]}]
PARTS_OUT = [{"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm, bridges."},
                                             {"type": "text", "content": SAID}]}]  # fmt: skip
GEMINI = {"model": "g", "contents": [{"role": "user", "parts": [{"text": ASKED}]}]}
OTEL = {"gen_ai.operation.name": "chat"}
DIALECTS: dict[str, dict[str, Any]] = {
    "OpenTelemetry": {**OTEL, "gen_ai.input.messages": json.dumps(PARTS_IN),
                      "gen_ai.output.messages": json.dumps(PARTS_OUT)},
    "OpenTelemetry, as values": {**OTEL, "gen_ai.input.messages": PARTS_IN,
                                 "gen_ai.output.messages": PARTS_OUT},
    "OpenInference": {"openinference.span.kind": "CHAIN", "input.value": ASKED,
                      "output.value": SAID},
    "OpenInference, numbered": {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be kind.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": ASKED,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.0.message_content.type": "reasoning",
        "llm.output_messages.0.message.contents.0.message_content.text": "Hm.",
        "llm.output_messages.0.message.contents.1.message_content.type": "text",
        "llm.output_messages.0.message.contents.1.message_content.text": SAID},
    "Traceloop": {"traceloop.span.kind": "workflow",
                  "traceloop.entity.input": json.dumps({"inputs": {"question": ASKED}}),
                  "traceloop.entity.output": json.dumps({"outputs": SAID})},
    "Traceloop, numbered": {"llm.request.type": "chat", "gen_ai.prompt.0.role": "system",
                            "gen_ai.prompt.0.content": "Be kind.", "gen_ai.prompt.1.role": "user",
                            "gen_ai.prompt.1.content": ASKED,
                            "gen_ai.completion.0.role": "assistant",
                            "gen_ai.completion.0.content": SAID},
    "Vercel": {"ai.operationId": "ai.generateText", "ai.prompt": json.dumps({"prompt": ASKED}),
               "ai.response.text": SAID},
    "Vercel, messages": {"ai.operationId": "ai.generateText.doGenerate",
                         "ai.prompt.messages": json.dumps(
                             [{"role": "user", "content": [{"type": "text", "text": ASKED}]}]),
                         "ai.response.text": SAID},
    "Google ADK": {"gcp.vertex.agent.llm_request": json.dumps(GEMINI),
                   "gcp.vertex.agent.llm_response": json.dumps(
                       {"content": {"role": "model", "parts": [{"thought": True, "text": "Hm."},
                                                               {"text": SAID}]}})},
    "Langfuse": {"langfuse.observation.type": "generation",
                 "langfuse.observation.input": json.dumps(HISTORY),
                 "langfuse.observation.output": json.dumps({"role": "assistant", "content": SAID})},
    "pydantic-ai": {"gen_ai.agent.name": "a", "final_result": SAID,
                    "pydantic_ai.all_messages": json.dumps([*PARTS_IN, *PARTS_OUT])},
    "pydantic-ai, before": {"agent_name": "a", "all_messages_events": json.dumps(
        [{"event.name": "gen_ai.user.message", "role": "user", "content": ASKED},
         {"event.name": "gen_ai.assistant.message", "role": "assistant", "content": SAID}])},
    "Laminar": {"lmnr.span.type": "LLM", "lmnr.span.input": json.dumps(HISTORY),
                "lmnr.span.output": json.dumps([{"role": "assistant", "content": SAID}])},
    "LiveKit": {"lk.user_input": ASKED, "lk.response.text": SAID},
    "LiveKit, since 2026": {"lk.pii.user_input": ASKED, "lk.pii.response.text": SAID},
    "MLflow": {"mlflow.spanType": '"CHAIN"', "mlflow.spanInputs": json.dumps({"query": ASKED}),
               "mlflow.spanOutputs": json.dumps(SAID)},
}  # fmt: skip


def to_otlp(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [to_otlp(part) for part in value]}}
    if isinstance(value, dict):
        pairs = [{"key": key, "value": to_otlp(inner)} for key, inner in value.items()]
        return {"kvlistValue": {"values": pairs}}
    return {"stringValue": value} if isinstance(value, str) else {"boolValue": value}


def make_span(attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    pairs = [{"key": key, "value": to_otlp(value)} for key, value in attributes.items()]
    start = str(1793527200000000000 + more.pop("at", 0))
    return {"traceId": "t1", "spanId": "s1", "startTimeUnixNano": start, "attributes": pairs,
            **more}  # fmt: skip


def request(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": list(spans)}]}]}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects(tmp_path: Path, dialect: str) -> None:
    found = read(tmp_path, request(make_span(DIALECTS[dialect])))
    assert (found.reader, found.one.question, found.one.answer) == ("otlp", ASKED, SAID)


def event(name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    pairs = [{"key": key, "value": to_otlp(value)} for key, value in attributes.items()]
    return {"name": name, "attributes": pairs}


EVENTS = {
    "1.36 and before": [
        event("gen_ai.system.message", {"content": "Be kind."}),
        event("gen_ai.user.message", {"content": ASKED}),
        event("gen_ai.choice", {"index": "0", "message": json.dumps({"content": SAID})}),
    ],
    "with the content inside": [
        event("gen_ai.user.message", {"gen_ai.event.content": json.dumps({"content": ASKED})}),
        event("gen_ai.choice",
              {"gen_ai.event.content": json.dumps({"message": {"role": "assistant",
                                                               "content": SAID}})}),
    ],
    "operation details": [
        event("gen_ai.client.inference.operation.details",
              {"gen_ai.input.messages": PARTS_IN, "gen_ai.output.messages": PARTS_OUT}),
    ],
    "Spring AI": [
        event("gen_ai.content.prompt", {"gen_ai.prompt": ASKED}),
        event("gen_ai.content.completion", {"gen_ai.completion": SAID}),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", EVENTS)
def test_events(tmp_path: Path, kind: str) -> None:
    found = read(tmp_path, request(make_span(OTEL, events=EVENTS[kind])))
    assert (found.one.question, found.one.answer) == (ASKED, SAID)


def test_events_that_a_collector_wrote_as_logs(tmp_path: Path) -> None:
    log = {"traceId": "t1", "spanId": "s1", "timeUnixNano": "1793527200000000000",
           "eventName": "gen_ai.client.inference.operation.details", "severityNumber": 9,
           "attributes": [{"key": "gen_ai.input.messages", "value": to_otlp(PARTS_IN)},
                          {"key": "gen_ai.output.messages", "value": to_otlp(PARTS_OUT)}],
           }  # fmt: skip
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]}
    found = read(tmp_path, to_lines([request(make_span(OTEL)), logs]))
    assert (found.one.question, found.one.answer, found.dropped) == (
        ASKED, SAID, {"reasoning parts": 1},
    )  # fmt: skip


def test_documents_of_openinference_and_of_its_reranker(tmp_path: Path) -> None:
    spans = [
        make_span(DIALECTS["OpenInference"], spanId="root"),
        make_span({"openinference.span.kind": "RETRIEVER",
                   "retrieval.documents.0.document.content": "The bridge is 1,280 m long.",
                   "retrieval.documents.0.document.metadata": json.dumps({"source": "b.md"}),
                   "retrieval.documents.1.document.content": "It was opened in 1937.",
                   "retrieval.documents.1.document.metadata": json.dumps({"source": "b.md"})},
                  spanId="r", parentSpanId="root", at=1),
        make_span({"openinference.span.kind": "RERANKER",
                   "reranker.output_documents.0.document.content": "It hangs on cables.",
                   "reranker.output_documents.0.document.id": "cables"},
                  spanId="k", parentSpanId="root", at=2),
        make_span({"openinference.span.kind": "EVALUATOR", "output.value": "0.9"},
                  spanId="e", parentSpanId="root", at=3),
    ]  # fmt: skip
    found = read(tmp_path, request(*spans))
    assert found.one.passages == (
        Passage(source_id="b.md", text="The bridge is 1,280 m long."),
        Passage(source_id="b.md", text="It was opened in 1937."),
        Passage(source_id="cables", text="It hangs on cables."),
    )
    assert found.dropped == {"evaluation spans": 1}


@pytest.mark.parametrize("name", ["response", "result"])
def test_tools_in_parts_of_messages(tmp_path: Path, name: str) -> None:
    heard = [
        *PARTS_IN,
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "measure",
                                         "arguments": {"what": "bridge"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", name: "1280 m"}]},
    ]  # fmt: skip
    found = read(tmp_path, request(make_span(
        {**OTEL, "gen_ai.input.messages": heard, "gen_ai.output.messages": PARTS_OUT}
    ))).one  # fmt: skip
    assert found.answer == SAID
    assert found.passages == (Passage(text="1280 m", title="measure", kind="tool_output"),)
    assert found.actions == (
        ToolCall(name="measure", arguments='{"what": "bridge"}', call_id="c1"),
    )


def test_a_tool_that_span_and_message_tell_of_counts_once(tmp_path: Path) -> None:
    heard = [*HISTORY,
             {"role": "assistant", "tool_calls": [
                 {"id": "c1", "function": {"name": "measure", "arguments": '{"what":"bridge"}'}}]},
             {"role": "tool", "tool_call_id": "c1", "content": '{"metres": 1280}'}]  # fmt: skip
    spans = [
        make_span({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "measure",
                   "gen_ai.tool.call.arguments": '{"what": "bridge"}',
                   "gen_ai.tool.call.result": '{"metres":1280}'}, spanId="t", parentSpanId="a"),
        make_span({**OTEL, "gen_ai.input.messages": json.dumps(heard),
                   "gen_ai.output.messages": json.dumps(PARTS_OUT)}, parentSpanId="a", at=1),
    ]  # fmt: skip
    found = read(tmp_path, request(*spans)).one
    assert texts(found, "tool_output") == ['{"metres":1280}']
    assert [action.name for action in found.actions] == ["measure"]


def test_a_tool_that_hands_over_the_answer_is_no_evidence_for_it(tmp_path: Path) -> None:
    tool = {"openinference.span.kind": "TOOL", "tool.name": "final_answer", "output.value": SAID,
            "input.value": json.dumps({"args": [], "kwargs": {"answer": SAID}})}  # fmt: skip
    other = {**tool, "tool.name": "measure", "output.value": "1280 m",
             "input.value": json.dumps({"args": [], "flag": True, "kwargs": {"what": "bridge"}}),
             "tool.parameters": json.dumps({"what": {"type": "string"}})}  # fmt: skip
    found = read(tmp_path, request(
        make_span(DIALECTS["OpenInference"], spanId="root"),
        make_span(other, spanId="a", parentSpanId="root", at=1),
        make_span(tool, spanId="b", parentSpanId="root", at=2),
    )).one  # fmt: skip
    assert texts(found, "tool_output") == ["1280 m"]
    assert found.actions == (ToolCall(name="measure", arguments='{"what": "bridge"}'),)


def test_an_answer_that_is_handed_over_as_a_tools_argument(tmp_path: Path) -> None:
    calls = [
        {"id": "c", "function": {"name": "final_result", "arguments": json.dumps({"a": SAID})}}
    ]
    said = [{"role": "assistant", "tool_calls": calls}]
    span = {**OTEL, "gen_ai.input.messages": json.dumps(PARTS_IN),
            "gen_ai.output.messages": json.dumps(said)}  # fmt: skip
    found = read(tmp_path, request(make_span(span))).one
    assert (found.answer, found.actions) == (SAID, ())


def test_a_model_answers_where_the_root_returns_only_data(tmp_path: Path) -> None:
    root = {"openinference.span.kind": "CHAIN", "output.value": json.dumps({"status": 200}),
            "input.value": json.dumps({"retriever": {"query": ASKED}, "top_k": 3})}  # fmt: skip
    model = {"openinference.span.kind": "LLM", "input.value": "Context: … Question: …",
             "output.value": SAID}  # fmt: skip
    both = [make_span(root, spanId="root"), make_span(model, spanId="m", parentSpanId="root")]
    assert read(tmp_path, request(*both)).one.answer == SAID
    assert read(tmp_path, request(*both)).one.question == ASKED
    assert read(tmp_path, request(both[0])).one.answer == '{"status": 200}'


def test_json_that_a_model_was_asked_for_is_its_answer(tmp_path: Path) -> None:
    said = json.dumps({"metres": 1280, "sure": True})
    span = {"openinference.span.kind": "LLM", "input.value": ASKED, "output.value": said}
    assert read(tmp_path, request(make_span(span))).one.answer == said


# Turns.

TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Is the bridge old?"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c0", "type": "function", "function": {"name": "opened", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c0", "content": "opened 1937"},
    {"role": "assistant", "content": "It is from 1937."},
    {"role": "user", "content": "I heard it is 9 km long. " + ASKED},
]  # fmt: skip


def test_every_turn_is_an_answer_with_its_own_evidence(tmp_path: Path) -> None:
    document = request(make_span({
        **OTEL, "gen_ai.conversation.id": "talk", "gen_ai.input.messages": json.dumps(TALK),
        "gen_ai.output.messages": json.dumps(PARTS_OUT),
    }))  # fmt: skip
    first, last = read(tmp_path, document).traces
    assert (first.question, first.answer) == ("Is the bridge old?", "It is from 1937.")
    assert texts(first, "tool_output") == ["opened 1937"]
    assert (last.question, last.answer) == ("I heard it is 9 km long. " + ASKED, SAID)
    assert last.passages is None
    assert last.actions == ()
    assert (first.conversation_id, last.conversation_id) == ("talk", "talk")
    assert (first.trace_id, last.trace_id) == ("t1#1", "t1")
    path = tmp_path / "file.bin"
    assert read_one_trace(path).answer == SAID
    assert read_one_trace(path, trace_id="t1#1").answer == "It is from 1937."


def test_history_that_the_file_has_as_a_trace_is_told_once(tmp_path: Path) -> None:
    earlier = {**OTEL, "gen_ai.input.messages": json.dumps(TALK[:3]),
               "gen_ai.output.messages": json.dumps([TALK[3]])}  # fmt: skip
    later = {**OTEL, "gen_ai.input.messages": json.dumps(TALK),
             "gen_ai.output.messages": json.dumps(PARTS_OUT)}  # fmt: skip
    document = request(make_span(later, traceId="t2"), make_span(earlier, traceId="t1"))
    found = read(tmp_path, document)
    assert sorted((t.trace_id, t.answer) for t in found.traces) == [
        ("t1", "It is from 1937."), ("t2", SAID),
    ]  # fmt: skip


def test_a_session_in_one_trace_has_the_turns_that_it_generated(tmp_path: Path) -> None:
    """A root without words, a generation per turn: questions stay with their answers."""
    shown = [{"role": "user", "content": "An example?"}, {"role": "assistant", "content": "Yes."}]
    heard = [{"role": "system", "content": "Be kind."}, *shown]
    spans = [make_span({"session": "x"}, spanId="root", name="session")]
    for n, (asked, said) in enumerate([("Is it open?", "It is."), ("Until when?", "Until six.")]):
        heard = [*heard, {"role": "user", "content": asked}]
        answer = {"role": "assistant", "content": said}
        spans += [
            make_span({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "hours",
                       "gen_ai.tool.call.result": f"result {n}"},
                      spanId=f"t{n}", parentSpanId="root", at=10 * n + 1),
            make_span({**OTEL, "gen_ai.input.messages": json.dumps(heard),
                       "gen_ai.output.messages": json.dumps([answer])},
                      spanId=f"g{n}", parentSpanId="root", at=10 * n + 2),
        ]  # fmt: skip
        heard = [*heard, answer]
    found = read(tmp_path, request(*spans))
    assert [(t.question, t.answer, texts(t, "tool_output")) for t in found.traces] == [
        ("Is it open?", "It is.", ["result 0"]), ("Until when?", "Until six.", ["result 1"]),
    ]  # fmt: skip


def test_a_voice_agent_has_many_turns_in_one_trace(tmp_path: Path) -> None:
    spans = [
        make_span({"lk.job_id": "j"}, spanId="root", name="agent_session"),
        make_span({"lk.instructions": "Greet."}, spanId="g", parentSpanId="root",
                  name="agent_turn"),
        make_span({"lk.response.text": "Welcome!"}, spanId="gl", parentSpanId="g",
                  name="llm_node"),
    ]  # fmt: skip
    for n, (asked, said) in enumerate([("Is it open?", "Yes."), ("Until when?", "Until six.")]):
        inner = {"parentSpanId": f"turn{n}", "at": 10 * n + 3}
        spans += [
            make_span({"lk.user_transcript": asked}, name="user_turn", spanId=f"user{n}",
                      parentSpanId="root", at=10 * n + 1),
            make_span({"lk.speech_id": "x"}, name="agent_turn", spanId=f"turn{n}",
                      parentSpanId="root", at=10 * n + 2),
            make_span({"lk.response.text": said}, name="llm_node", spanId=f"llm{n}", **inner),
            make_span({"lk.function_tool.name": "hours", "lk.function_tool.arguments": "{}",
                       "lk.function_tool.output": f"result {n}"},
                      name="function_tool", spanId=f"tool{n}", **inner),
        ]  # fmt: skip
    found = read(tmp_path, request(*spans))
    assert [(t.question, t.answer, texts(t, "tool_output")) for t in found.traces] == [
        ("Is it open?", "Yes.", ["result 0"]), ("Until when?", "Until six.", ["result 1"]),
    ]  # fmt: skip
    assert found.dropped == {"turns without a question or an answer": 1}
    assert {trace.conversation_id for trace in found.traces} == {"t1"}


# Messages, in many ways.


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}],
        [{"type": "human", "content": "Q"}, {"type": "ai", "content": "A", "tool_calls": []}],
        [[{"lc": 1, "id": ["x", "HumanMessage"], "kwargs": {"content": "Q"}},
          {"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "A"}}]],
        [{"role": "user", "content": [{"text": "Q"}]},
         {"role": "assistant", "content": [{"reasoningContent": {"text": "hm"}}, {"text": "A"}]}],
        [{"role": "user", "content": "Q"},
         {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"},
                                           {"type": "text", "text": "A"}]}],
        {"contents": [{"role": "user", "parts": [{"text": "Q"}]},
                      {"role": "model", "parts": [{"text": "A"}]}]},
        [{"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "S"},
                                       {"part_kind": "user-prompt", "content": "Q"}]},
         {"kind": "response", "parts": [{"part_kind": "thinking", "content": "hm"},
                                        {"part_kind": "text", "content": "A"}]}],
        [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Q"}]},
         {"type": "reasoning", "summary": []},
         {"type": "message", "role": "assistant",
          "content": [{"type": "output_text", "text": "A"}]}],
        [{"role": "user", "blocks": [{"block_type": "text", "text": "Q"}]},
         {"role": "assistant", "blocks": [{"block_type": "text", "text": "A"}]}],
        [{"type": "UserMessage", "content": "Q"}, {"type": "AssistantMessage", "content": "A"}],
        "system: S\nuser: Q\nassistant: A",
        "Human: Q\nAI: A",
        ["role='user' content='Q' name=None", "role='assistant' content='A' name=None"],
        '[{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]',
        "[{'role': 'user', 'content': 'Q'}, {'role': 'assistant', 'content': 'A'}]",
        {"messages": [["user", "Q"], ["ai", "A"]]},
        [{"role": "user", "content": '[{"text": "Q"}]'},
         {"role": "assistant", "message": '[{"text": "A"}]', "finish_reason": "end_turn"}],
        [{"role": "user", "content": "Q"},
         {"replies": [{"role": "assistant", "_content": [{"text": "A"}]}]}],
        [{"message.role": "user", "message.content": "Q"},
         {"message.role": "assistant", "message.content": "A"}],
    ],
)  # fmt: skip
def test_shapes_of_chats(messages: Any) -> None:
    said = [(m.role, m.text) for m in read_messages(messages) if m.text and m.role != "system"]
    assert said == [("user", "Q"), ("assistant", "A")]


@pytest.mark.parametrize(
    "call",
    [
        {"role": "assistant", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
        {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]},
        {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "c", "name": "f", "input": {"a": 1}}}]},
        {"role": "model", "parts": [{"function_call": {"id": "c", "name": "f", "args": {"a": 1}}}]},
        {"type": "function_call", "id": "x", "call_id": "c", "name": "f", "arguments": '{"a": 1}'},
        {"toolCallId": "c", "toolName": "f", "input": {"a": 1}},
        {"role": "assistant", "content": [
            {"type": "tool-call", "toolCallId": "c", "toolName": "f", "args": {"a": 1}}]},
        {"message": {"role": "assistant", "tool_calls": [
            {"tool_call": {"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}}]}},
    ],
)  # fmt: skip
def test_shapes_of_tool_calls(call: Any) -> None:
    [message] = read_messages([call])
    assert message.calls == (ToolCall(name="f", arguments='{"a": 1}', call_id="c"),)
    assert (message.role, message.text) == ("assistant", "")


@pytest.mark.parametrize(
    "result",
    [
        {"role": "tool", "tool_call_id": "c", "name": "f", "content": "out"},
        {"type": "tool", "tool_call_id": "c", "name": "f", "content": "out"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "name": "f",
                                      "content": [{"type": "text", "text": "out"}]}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "name": "f",
                                                     "content": [{"text": "out"}]}}]},
        {"type": "function_call_output", "call_id": "c", "name": "f", "output": "out"},
        {"role": "user", "parts": [{"function_response": {"id": "c", "name": "f",
                                                          "response": {"result": "out"}}}]},
        {"role": "tool", "content": json.dumps([{"toolResult": {
            "toolUseId": "c", "name": "f", "status": "success", "content": [{"text": "out"}]}}])},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "f",
                                      "output": {"type": "text", "value": "out"}}]},
    ],
)  # fmt: skip
def test_shapes_of_tool_results(result: Any) -> None:
    [message] = read_messages([result])
    assert (message.role, message.text) == ("tool", "")
    assert [tuple(one) for one in message.results] == [("out", "f", "c")]


def test_an_offered_tool_is_no_result() -> None:
    offer = {"role": "tool", "content": {"type": "function", "function": {
        "name": "f", "description": "d", "parameters": {}}}}  # fmt: skip
    assert [m.results for m in read_messages([offer])] == [()]


def test_thoughts_before_a_final_answer_go_where_the_prompt_asked_for_them(tmp_path: Path) -> None:
    said = "I can answer now.\nFinal Answer: nine"
    asked = [{"role": "user", "content": "When? Write “Final Answer:” before it."}]
    span = {"openinference.span.kind": "LLM", "input.value": json.dumps({"messages": asked}),
            "output.value": said}  # fmt: skip
    found = read(tmp_path, request(make_span(span)))
    assert (found.one.answer, found.dropped) == ("nine", {"reasoning parts": 1})
    plain = {**span, "input.value": "When?"}
    assert read(tmp_path, request(make_span(plain))).one.answer == said


def test_thoughts_in_tags_go(tmp_path: Path) -> None:
    span = {**DIALECTS["OpenInference"], "output.value": f"<think>Hm.</think>\n{SAID}"}
    found = read(tmp_path, request(make_span(span)))
    assert (found.one.answer, found.dropped) == (SAID, {"reasoning parts": 1})


# Langfuse.


def observation(kind: str, given: Any, returned: Any, **more: Any) -> dict[str, Any]:
    return {"id": kind, "traceId": "t1", "parentObservationId": None, "type": kind, "name": kind,
            "startTime": "2026-11-01T10:00:00Z", "input": given, "output": returned,
            **more}  # fmt: skip


LANGFUSE: dict[str, Any] = {
    "trace": {"id": "t1", "sessionId": "s", "timestamp": "2026-11-01T10:00:00Z",
              "input": json.dumps(json.dumps({"question": ASKED})),
              "output": json.dumps(json.dumps({"answer": SAID, "chat_history": HISTORY}))},
    "observations": [
        observation("RETRIEVER", "bridge", json.dumps(
            [{"page_content": "1,280 m", "metadata": {"source": "b.md"}}])),
        observation("TOOL", '{"what": "bridge"}', '{"content": [{"type": "text", "text": "x"}]}',
                    name="measure"),
        observation("GENERATION", json.dumps(HISTORY), SAID, model="small-1"),
    ],
}  # fmt: skip


def test_langfuse_has_json_in_strings(tmp_path: Path) -> None:
    found = read(tmp_path, LANGFUSE)
    trace = found.one
    assert (found.reader, trace.question, trace.answer) == ("langfuse", ASKED, SAID)
    assert (trace.conversation_id, trace.model, trace.trace_id) == ("s", "small-1", "t1")
    assert trace.passages == (
        Passage(source_id="b.md", text="1,280 m"),
        Passage(text="x", title="measure", kind="tool_output"),
    )


def test_langfuse_without_input_and_output_takes_the_last_generation(tmp_path: Path) -> None:
    bare = {**LANGFUSE, "trace": {**LANGFUSE["trace"], "input": None, "output": None}}
    trace = read(tmp_path, [bare]).one
    assert (trace.question, trace.answer) == (ASKED, SAID)


def test_langfuse_rows_of_traces_alone(tmp_path: Path) -> None:
    rows = [{"id": f"t{n}", "timestamp": "2026-11-01T10:00:00Z", "name": "chat", "userId": "u",
             "sessionId": "s", "input": json.dumps({"messages": HISTORY}),
             "output": json.dumps({"role": "assistant", "content": f"{SAID} {n}"})}
            for n in range(2)]  # fmt: skip
    for form in ("jsonl", "csv"):
        path = tmp_path / f"rows.{form}"
        write_rows(path, rows, form)
        found = read_file(path)
        assert found.reader == "langfuse"
        assert [(t.trace_id, t.question, t.answer) for t in found.traces] == [
            ("t0", ASKED, f"{SAID} 0"), ("t1", ASKED, f"{SAID} 1"),
        ]  # fmt: skip


ROWS = [
    {"id": "o1", "trace_id": "t1", "parent_observation_id": None, "type": "SPAN", "name": "answer",
     "start_time": "2026-11-01 10:00:00", "input": json.dumps({"question": ASKED}),
     "output": json.dumps(SAID), "is_root_observation": True, "tool_calls": None},
    {"id": "o2", "trace_id": "t1", "parent_observation_id": "o1", "type": "RETRIEVER",
     "name": "search", "start_time": "2026-11-01 10:00:01", "input": "bridge",
     "output": json.dumps(["1,280 m"]), "is_root_observation": False, "tool_calls": None},
    {"id": "o3", "trace_id": "t1", "parent_observation_id": "o1", "type": "GENERATION",
     "name": "chat", "start_time": "2026-11-01 10:00:02", "input": json.dumps(HISTORY),
     "output": SAID, "is_root_observation": False,
     "tool_calls": json.dumps(['{"id": "c1", "name": "measure", "arguments": "{}"}'])},
]  # fmt: skip
PHOENIX_ROWS = [
    {"name": "answer", "span_kind": "CHAIN", "parent_id": None,
     "start_time": "2026-11-01T10:00:00Z", "context.span_id": "a", "context.trace_id": "t1",
     "attributes.input.value": ASKED, "attributes.output.value": SAID,
     "attributes.retrieval.documents": None, "attributes.llm.input_messages": None},
    {"name": "search", "span_kind": "RETRIEVER", "parent_id": "a",
     "start_time": "2026-11-01T10:00:01Z", "context.span_id": "b", "context.trace_id": "t1",
     "attributes.input.value": "bridge", "attributes.output.value": None,
     "attributes.retrieval.documents": [{"document.content": "1,280 m", "document.id": "b.md"}],
     "attributes.llm.input_messages": None},
]  # fmt: skip


def write_rows(path: Path, rows: list[dict[str, Any]], form: str) -> None:
    if form == "jsonl":
        path.write_text(to_lines(rows), "utf-8")
    elif form == "csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            # As pandas does: lists as Python writes them, nothing as an empty cell.
            writer.writerows(
                {
                    k: "" if v is None else str(v) if isinstance(v, list) else v
                    for k, v in row.items()
                }
                for row in rows
            )
    else:
        import duckdb

        lines = path.with_suffix(".rows")
        lines.write_text(to_lines(rows), "utf-8")
        duckdb.sql(f"copy (select * from read_json('{lines}')) to '{path}' (format parquet)")


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(("reader", "rows"), [("langfuse", ROWS), ("phoenix", PHOENIX_ROWS)])
def test_rows_as_lines_csv_and_parquet(
    tmp_path: Path, reader: str, rows: list[dict[str, Any]], form: str
) -> None:
    # The name must not help.
    path = tmp_path / ("rows.csv" if form == "csv" else "rows.dat")
    write_rows(path, rows, form)
    found = read_file(path)
    assert (found.reader, found.one.question, found.one.answer) == (reader, ASKED, SAID)
    assert texts(found.one) == ["1,280 m"]
    assert found.one.happened_at is not None
    if reader == "langfuse":
        assert [action.name for action in found.one.actions] == ["measure"]


def test_phoenix_spans_of_its_api(tmp_path: Path) -> None:
    spans = [
        {"id": "x", "name": "answer", "context": {"trace_id": "t1", "span_id": "a"},
         "span_kind": "CHAIN", "parent_id": None, "start_time": "2026-11-01T10:00:00+00:00",
         "status_code": "OK", "attributes": {"input.value": ASKED, "output.value": SAID}},
        {"id": "y", "name": "tool", "context": {"trace_id": "t1", "span_id": "b"},
         "span_kind": "TOOL", "parent_id": "a", "start_time": "2026-11-01T10:00:01+00:00",
         "status_code": "OK", "attributes": {"tool.name": "measure", "input.value": "{}",
                                             "output.value": "1280 m"}},
    ]  # fmt: skip
    found = read(tmp_path, {"data": spans, "next_cursor": None})
    assert (found.reader, found.one.question, found.one.answer) == ("phoenix", ASKED, SAID)
    assert texts(found.one, "tool_output") == ["1280 m"]


def test_spans_as_the_sdk_prints_them(tmp_path: Path) -> None:
    span: dict[str, Any] = {
        "name": "answer", "context": {"trace_id": "0x1", "span_id": "0x2"}, "parent_id": None,
        "kind": "SpanKind.INTERNAL", "start_time": "2026-11-01T10:00:00.000000Z",
        "attributes": DIALECTS["OpenInference"], "events": [],
    }  # fmt: skip
    found = read(tmp_path, to_lines([span]))
    assert (found.reader, found.one.question, found.one.answer) == ("spans", ASKED, SAID)


def test_phoenix_spans_as_otlp(tmp_path: Path) -> None:
    span = make_span(DIALECTS["OpenInference, numbered"])
    snake = {"trace_id": "t1", "span_id": "s1", "start_time_unix_nano": span["startTimeUnixNano"],
             "attributes": [{"key": pair["key"],
                             "value": {"string_value": pair["value"]["stringValue"]}}
                            for pair in span["attributes"]]}  # fmt: skip
    for one in (span, snake):
        found = read(tmp_path, {"data": [one], "next_cursor": None})
        assert (found.reader, found.one.question, found.one.answer) == ("phoenix", ASKED, SAID)


# The other tools.


def test_mlflow_rows_of_a_search(tmp_path: Path) -> None:
    trace = (FILES / "mlflow.json").read_text("utf-8")
    row = {"trace_id": "tr-1", "trace": trace, "state": "OK", "request": "q", "response": "a"}
    for form in ("jsonl", "csv"):
        path = tmp_path / f"rows.{form}"
        write_rows(path, [row], form)
        found = read_file(path)
        assert found.reader == "mlflow"
        assert found.one.passages == read_file(FILES / "mlflow.json").one.passages


def test_langsmith_runs_with_children_inside(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (FILES / "langsmith.jsonl").read_text().splitlines()]
    tree = {**rows[0], "child_runs": rows[1:]}
    assert read(tmp_path, tree).one.passages == read_file(FILES / "langsmith.jsonl").one.passages


def trulens(kind: str, **attributes: Any) -> dict[str, Any]:
    own = {f"ai.observability.{k.replace('__', '.')}": v for k, v in attributes.items()}
    return {"event_id": kind, "record": {"name": kind}, "record_type": "SPAN",
            "record_attributes": {"ai.observability.span_type": kind,
                                  "ai.observability.record_id": "r1", **own},
            "start_timestamp": "2026-11-01 10:00:00",
            "trace": {"trace_id": "t1", "span_id": kind, "parent_id": ""}}  # fmt: skip


ROOT = trulens("record_root", record_root__input=ASKED, record_root__output=SAID,
               record_root__ground_truth_output="1280 m")  # fmt: skip
FOUND = trulens("retrieval", retrieval__query_text="bridge",
                retrieval__retrieved_contexts=["1,280 m", "1937"])  # fmt: skip
JUDGED = trulens("eval", eval__score=1)


def test_trulens_spans_of_a_record(tmp_path: Path) -> None:
    found = read(tmp_path, to_lines([JUDGED, FOUND, ROOT]))
    trace = found.one
    assert (found.reader, trace.question, trace.answer) == ("trulens", ASKED, SAID)
    assert (texts(trace), trace.gold_answer) == (["1,280 m", "1937"], "1280 m")
    assert found.dropped == {"TruLens evaluation spans": 1}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (JUDGED, "a TruLens evaluation span: no answer in it"),
        (FOUND, "a retrieval span without the span of its answer"),
        (request(make_span({**OTEL, "gen_ai.input.messages": json.dumps(PARTS_IN)})),
         "the generation span has no output recorded"),
        (request(make_span({**OTEL, "gen_ai.input.messages": json.dumps(PARTS_IN),
                            "gen_ai.output.messages": json.dumps([TALK[1]])})),
         "it ends with a call of the tool opened: no answer was recorded"),
        (request(make_span(OTEL, status={"code": 2, "message": "timed out"})),
         "the call failed and there is no answer: timed out"),
        (request(make_span({"openinference.span.kind": "EMBEDDING"})),
         "an embedding span: no answer in it"),
        ({"object": "trace.span", "id": "s", "trace_id": "t1", "parent_id": None, "error": None,
          "span_data": {"type": "response", "response_id": "resp_1"}},
         "response spans are exported with their id alone"),
    ],
)  # fmt: skip
def test_a_trace_without_an_answer_says_why(tmp_path: Path, document: Any, why: str) -> None:
    found = read(tmp_path, document)
    assert found.traces == []
    [problem] = found.problems
    assert why in problem
    assert "\n" not in problem
    with pytest.raises(InputError):
        read_one_trace(tmp_path / "file.bin")


def test_an_answer_is_never_the_words_before_a_tool_call(tmp_path: Path) -> None:
    calling = {"role": "assistant", "content": "Let me look.", "tool_calls": TALK[1]["tool_calls"]}
    document = request(make_span({**OTEL, "gen_ai.input.messages": json.dumps(PARTS_IN),
                                  "gen_ai.output.messages": json.dumps([calling])}))  # fmt: skip
    assert read(tmp_path, document).traces == []


# Hostile files.

HOSTILE = {
    "parents in a circle": request(
        make_span(DIALECTS["OpenInference"], spanId="a", parentSpanId="b"),
        make_span(OTEL, spanId="b", parentSpanId="a")),
    "its own parent": request(make_span(DIALECTS["OpenInference"], parentSpanId="s1")),
    "the same span twice": request(*[make_span(DIALECTS["OpenInference"])] * 2),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_odd_trees_are_read(tmp_path: Path, kind: str) -> None:
    found = read(tmp_path, HOSTILE[kind])
    assert {(trace.question, trace.answer) for trace in found.traces} == {(ASKED, SAID)}


def nest(depth: int) -> Any:
    value: Any = SAID
    for _ in range(depth):
        value = {"content": [value]}
    return value


@pytest.mark.parametrize(
    "document",
    [
        {**LANGFUSE, "observations": [observation("GENERATION", nest(300), nest(300))],
         "trace": {"id": "t1", "input": nest(300), "output": nest(300)}},
        {"trace": {"id": "t1", "observations": 5}, "observations": {"a": 1}},
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": {"a": nest(200)}}]}]}]},
        {"resourceSpans": {"scopeSpans": None}},
        {"data": [1, None, "x", {"attributes": 5, "context": 7, "trace_id": 8}]},
        {"info": [], "data": {"spans": [{"attributes": "x", "events": "y", "status": []}, 5]}},
        {"run_type": "llm", "inputs": 5, "outputs": [[]], "child_runs": [{"id": {}}]},
        {"trace": {"id": 5, "input": True, "output": 0.5}, "spans": [None, {"type": 3}]},
        [{"record_attributes": "{", "trace": "[", "event_id": None}],
        [{"span_data": {"type": ["generation"]}, "trace_id": {"a": 1}, "object": 3}],
        {**LANGFUSE, "trace": {**LANGFUSE["trace"], "output": "a\0b"}},
    ],
)  # fmt: skip
def test_hostile_files_are_problems(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "file.bin"
    path.write_text(json.dumps(document), "utf-8")
    found = read_file(path)
    assert found.problems or found.traces
    assert all("\n" not in problem for problem in found.problems)
    assert all("\0" not in trace.answer for trace in found.traces)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4)
    | st.sampled_from(["user", "assistant", "tool", "text", "[{", "TOOL", "GENERATION", "a: b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "content", "parts", "type", "messages", "tool_calls", "function",
                         "id", "trace_id", "observations", "trace", "input", "output", "metadata",
                         "attributes", "key", "value", "spans", "name", "data", "message",
                         "llm.input_messages.0.message.role", "events", "child_runs"]),
        inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


@pytest.mark.parametrize("frame", ["langfuse", "otlp", "phoenix", "langsmith", "mlflow", "agents"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(VALUES, VALUES)
def test_any_values_are_read_or_refused(tmp_path: Path, frame: str, one: Any, two: Any) -> None:
    document = {
        "langfuse": {"trace": one, "observations": [two, {"input": one, "output": two}]},
        "otlp": {"resourceSpans": [{"scopeSpans": [{"spans": [one, {"attributes": two}]}]}]},
        "phoenix": {"data": [{"attributes": one, "trace_id": "t", "context": two}]},
        "langsmith": {"run_type": "llm", "inputs": one, "outputs": two, "child_runs": [one]},
        "mlflow": {"info": one, "data": {"spans": [two, {"attributes": one}]}},
        "agents": {"object": "trace.span", "span_data": {"type": "generation", "input": one,
                                                         "output": two}},
    }[frame]  # fmt: skip
    path = tmp_path / "any.json"
    path.write_text(json.dumps(document), "utf-8")
    found = [record for _, record in AnyTraceReader().read(path, {})]
    assert found
    for trace in (record for record in found if isinstance(record, Trace)):
        assert trace.question.strip()
        assert trace.answer.strip()
        assert all(passage.source_id or passage.text for passage in trace.passages or ())


def test_time_grows_with_the_file(tmp_path: Path) -> None:
    def prepare(count: int) -> Any:
        path = tmp_path / f"{count}.json"
        spans = [
            make_span(DIALECTS["OpenInference"], traceId=f"t{n}", spanId=f"s{n}")
            for n in range(count)
        ]
        chain = [make_span(OTEL, traceId="deep", spanId=f"d{n}", parentSpanId=f"d{n - 1}")
                 for n in range(count)]  # fmt: skip
        kinds = (("user_turn", "lk.user_transcript"), ("agent_turn", "lk.speech_id"))
        talk = [
            make_span({name: ASKED}, traceId="talk", spanId=f"{kind}{n}", name=kind, at=10 * n)
            for n in range(count)
            for kind, name in kinds
        ]
        path.write_text(json.dumps(request(*spans, *chain, *talk)), "utf-8")
        return lambda: list(AnyTraceReader().read(path, {}))

    assert grows_evenly(prepare, 300)


def test_protobuf_without_its_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.proto.trace.v1.trace_pb2", None)
    with pytest.raises(ClaimwiseError, match=r"pip install 'claimwise\[otlp\]'"):
        read_file(FILES / "openinference.pb")


def test_protobuf_of_a_collectors_file(tmp_path: Path) -> None:
    data = (FILES / "openinference.pb").read_bytes()
    path = tmp_path / "traces"
    path.write_bytes((len(data).to_bytes(4, "big") + data) * 2)
    assert read_file(path).reader == "otlp-protobuf"
    path.write_bytes((len(data).to_bytes(4, "big") + data)[:-5])
    with pytest.raises(InputError, match="cut off"):
        read_file(path)


@pytest.mark.parametrize("name", sorted(p.name for p in FILES.iterdir() if p.suffix != ".md"))
def test_names_say_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x"
    path.write_bytes((FILES / name).read_bytes())
    assert read_file(path).reader == read_file(FILES / name).reader
