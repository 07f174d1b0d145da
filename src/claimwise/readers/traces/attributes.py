"""Spans from OpenTelemetry attributes, in all their dialects.

OpenTelemetry GenAI (as attributes, as events, and as the span events of 1.36 and before),
OpenInference, Traceloop, Spring AI, Vercel AI, Google ADK, Langfuse, pydantic-ai, Laminar, LiveKit
and MLflow. A dialect is the names that it uses; what stands under them tells itself what it is.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from claimwise.readers.traces.spans import SpanKind, TraceSpan
from claimwise.readers.traces.values import (
    Table,
    decode_nested_json,
    find_field_text,
    find_list,
    put_deep,
    read_time,
    to_json_text,
)
from claimwise.types.traces import ToolCall

_INPUTS = (
    "gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt", "ai.prompt.messages",
    "ai.prompt", "langfuse.observation.input", "gcp.vertex.agent.llm_request",
    "traceloop.entity.input", "lmnr.span.input", "mlflow.spanInputs", "lk.user_input",
    "input.value", "llm.prompts", "lk.chat_ctx", "lk.user_transcript", "langfuse.trace.input",
    "gen_ai.retrieval.query.text", "prompt",
)  # fmt: skip
_OUTPUTS = (
    "final_result", "gen_ai.output.messages", "llm.output_messages", "gen_ai.completion",
    "ai.response.text", "ai.response.object", "langfuse.observation.output",
    "gcp.vertex.agent.llm_response", "traceloop.entity.output", "lmnr.span.output",
    "mlflow.spanOutputs", "lk.response.text", "output.value", "langfuse.trace.output",
    "pydantic_ai.all_messages", "all_messages_events", "events", "completion",
)  # fmt: skip
_DOCUMENTS = ("retrieval.documents", "reranker.output_documents", "gen_ai.retrieval.documents",
              "db.query.result")  # fmt: skip
_MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.response.model",
          "ai.model.id", "langfuse.observation.model.name", "model_name",
          "mlflow.llm.model")  # fmt: skip
_CONVERSATION = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "thread_id",
                 "traceloop.association.properties.session_id", "gcp.vertex.agent.session_id",
                 "traceloop.association.properties.thread_id", "ai.telemetry.metadata.sessionId",
                 "lmnr.association.properties.session_id", "conversation_id",
                 "langfuse.trace.metadata.session_id", "mlflow.trace.session")  # fmt: skip
_TOOL_NAME = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "lk.function_tool.name",
              "traceloop.entity.name")  # fmt: skip
_TOOL_ID = ("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id", "lk.function_tool.id",
            "tool.id")  # fmt: skip
_TOOL_INPUTS = ("gen_ai.tool.call.arguments", "ai.toolCall.args", "lk.function_tool.arguments",
                "gcp.vertex.agent.tool_call_args", "tool_arguments")  # fmt: skip
_TOOL_OUTPUTS = ("gen_ai.tool.call.result", "ai.toolCall.result", "lk.function_tool.output",
                 "gcp.vertex.agent.tool_response", "tool_response")  # fmt: skip

# What a span is, by the attribute that says so; the first that is there decides.
_KIND_NAMES = ("openinference.span.kind", "langfuse.observation.type", "mlflow.spanType",
               "gen_ai.operation.name", "traceloop.span.kind", "lmnr.span.type",
               "ai.operationId", "llm.request.type")  # fmt: skip
KINDS: dict[str, SpanKind] = {
    "llm": "generation", "generation": "generation", "chat": "generation",
    "chat_model": "generation", "generate_content": "generation", "completion": "generation",
    "text_completion": "generation", "ai.generatetext.dogenerate": "generation",
    "ai.streamtext.dostream": "generation", "ai.generateobject.dogenerate": "generation",
    "ai.streamobject.dostream": "generation",
    "retriever": "retrieval", "retrieval": "retrieval", "reranker": "retrieval",
    "tool": "tool", "execute_tool": "tool", "ai.toolcall": "tool", "function": "tool",
    "mcp_tools": "tool",
    "embedding": "skipped", "embeddings": "skipped", "evaluator": "skipped",
    "guardrail": "skipped", "rerank": "skipped", "ai.embed": "skipped",
    "ai.embed.doembed": "skipped", "ai.embedmany": "skipped", "prompt": "skipped",
}  # fmt: skip
_SKIPPED = {"embedding": "embedding spans", "embeddings": "embedding spans",
            "evaluator": "evaluation spans", "guardrail": "guardrail spans"}  # fmt: skip
# What a live system says of itself, by the names that tools have for it.
_PROPERTIES: dict[str, tuple[str, ...]] = {
    "service": ("service.name",),
    "service_version": ("service.version", "langfuse.release"),
    "environment": ("deployment.environment.name", "deployment.environment",
                    "langfuse.environment"),
    "prompt_ver": ("gen_ai.prompt.version", "llm.prompt_template.version",
                   "langfuse.observation.prompt.version"),
    "agent": ("gen_ai.agent.name",),
}  # fmt: skip
_OWN = "claimwise."
_LONGEST_PROPERTY = 200
_MESSAGE_EVENTS = {
    "gen_ai.system.message": "system", "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant", "gen_ai.tool.message": "tool",
}  # fmt: skip
_DETAILS = "gen_ai.client.inference.operation.details"
_REMARKS = ("annotations", "evaluations")
_DEEPEST_NAME = 24
_WRAPPED_VALUES = {"arrayValue", "array_value"}, {"kvlistValue", "kvlist_value"}


def make_span(attributes: Any, *, events: Any = None, **known: Any) -> TraceSpan:
    """Return the span of attributes; ``known`` is what the file says of it beside them.

    ``inputs`` and ``outputs`` among the known come before those of the attributes, and so does a
    ``kind``, unless it says nothing more than that there was a step.
    """
    table = unfold(to_plain(attributes))
    heard, said = _take_events(table, events)
    kind, what = find_kind(table)
    if known.get("kind") in (None, "step"):
        known["kind"] = kind
    inputs, outputs = known.pop("inputs", []), known.pop("outputs", [])
    tool = None
    if known["kind"] == "tool":
        inputs = [*inputs, *_pick(table, _TOOL_INPUTS)]
        outputs = [*outputs, *_pick(table, _TOOL_OUTPUTS)]
        # Some write what a tool takes, not what it was given, into "tool.parameters".
        given = [*inputs, *_pick(table, (*_INPUTS, "tool.parameters"))]
        tool = _find_tool(table, known.get("name") or "", given)
    inputs += [*_pick(table, _INPUTS), *heard]
    outputs += [*_answer_of_vercel(table), *_pick(table, _OUTPUTS), *said]
    found = [
        parts
        for name in _DOCUMENTS
        if isinstance(parts := decode_nested_json(table.get(name)), list)
    ]
    documents = known.pop("documents", None)
    if documents is None and found:
        documents = [part for parts in found for part in parts]
    for name, value in (("model", find_field_text(table, _MODEL)),
                        ("conversation_id", find_field_text(table, _CONVERSATION)),
                        ("feedback", _find_remark(table))):  # fmt: skip
        known[name] = known.get(name) or value
    return TraceSpan(
        inputs=inputs,
        outputs=outputs,
        documents=documents,
        tool=tool,
        turn=known.get("name") == "agent_turn" and any(k.startswith("lk.") for k in table),
        what=what,
        properties=read_properties(table),
        fields=list(table)[:20],
        **known,
    )


def read_properties(table: Table) -> dict[str, str]:
    """Return what attributes of a span or of its resource say of the system; long texts are not."""
    found = {name.removeprefix(_OWN): find_field_text(table, (name,)) for name in table
             if name.startswith(_OWN)}  # fmt: skip
    for ours, theirs in _PROPERTIES.items():
        found.setdefault(ours, find_field_text(table, theirs))
    return {name: text for name, text in found.items() if text and len(text) <= _LONGEST_PROPERTY}


def find_kind(table: Table) -> tuple[SpanKind, str]:
    """Return what kind of step a span's attributes say it is, and a name for those left out."""
    for name in _KIND_NAMES:
        said = decode_nested_json(table.get(name))
        if isinstance(said, str) and said:
            kind = KINDS.get(said.lower())
            if kind:
                return kind, _SKIPPED.get(said.lower(), "spans of other kinds")
    if any(name in table for name in ("lk.function_tool.name", "ai.toolCall.name")):
        return "tool", ""
    talks = (
        "gen_ai.output.messages",
        "llm.output_messages",
        "gen_ai.completion",
        "lk.response.text",
    )
    if any(name in table for name in talks) and "gen_ai.agent.name" not in table:
        return "generation", ""
    if any(isinstance(decode_nested_json(table.get(name)), list) for name in _DOCUMENTS):
        return "retrieval", ""
    return "step", "spans of other kinds"


def _pick(table: Table, names: Sequence[str]) -> list[Any]:
    return [table[name] for name in names if table.get(name) not in (None, "", [], {})]


def _find_tool(table: Table, said: str, inputs: Sequence[Any]) -> ToolCall:
    name = find_field_text(table, _TOOL_NAME) or said.removeprefix("execute_tool ") or "tool"
    given = next((value for value in map(_unwrap_arguments, inputs) if value), None)
    return ToolCall(name=name, arguments=given, call_id=find_field_text(table, _TOOL_ID))


def _unwrap_arguments(value: Any) -> str | None:
    """Return a tool's arguments without the field that some tracers put around them."""
    found = decode_nested_json(value)
    if isinstance(found, dict) and isinstance(found.get("kwargs"), dict) and not found.get("args"):
        return to_json_text(found["kwargs"])
    if isinstance(found, dict) and found.get("role") == "tool" and "content" in found:
        return _unwrap_arguments(found["content"])
    if isinstance(found, dict) and len(found) == 1:
        ((name, inner),) = found.items()
        if name in ("input", "args", "arguments", "input_str") and isinstance(inner, dict):
            return to_json_text(inner)
    return "{}" if found == {} else to_json_text(value)


def _answer_of_vercel(table: Table) -> list[Any]:
    """Return the message of a step that calls tools: its text only leads to the call."""
    calls = decode_nested_json(table.get("ai.response.toolCalls"))
    if not isinstance(calls, list) or not calls:
        return []
    text = table.get("ai.response.text")
    return [[{"role": "assistant", "content": text or "", "tool_calls": calls}]]


def _find_remark(table: Table) -> str | None:
    """Return what a person remarked on the span."""
    for name in _REMARKS:
        remarks = decode_nested_json(table.get(name))
        for remark in remarks if isinstance(remarks, list) else ():
            inner = remark.get("annotation", remark) if isinstance(remark, dict) else None
            if isinstance(inner, dict) and inner.get("annotator_kind") == "HUMAN":
                return find_field_text(inner, ("explanation", "label", "name"))
    return None


# Events.


def _take_events(table: dict[str, Any], events: Any) -> tuple[list[Any], list[Any]]:
    """Add what events say to the attributes; return the messages heard and said in them."""
    heard: list[Any] = []
    said: list[Any] = []
    documents: list[Any] = []
    for event in decode_nested_json(events) if isinstance(decode_nested_json(events), list) else []:
        if isinstance(event, dict):
            _take_event(table, event, heard, said, documents)
    if documents:
        table.setdefault("db.query.result", documents)
    return [heard] if heard else [], [said] if said else []


def _take_event(
    table: dict[str, Any], event: Table, heard: list[Any], said: list[Any], documents: list[Any]
) -> None:
    inner = to_plain(event.get("attributes"))
    name = find_field_text(event, ("name", "event_name", "eventName")) or find_field_text(
        inner, ("event.name",)
    )
    if name == _DETAILS:
        for key, value in unfold(inner).items():
            table.setdefault(key, value)
    elif name in _MESSAGE_EVENTS:
        heard.append({"role": _MESSAGE_EVENTS[name], **_read_body(event, inner)})
    elif name == "gen_ai.choice":
        said.append({"role": "assistant", **_read_body(event, inner)})
    elif name == "gen_ai.content.prompt":
        heard.append({"role": "user", "content": inner.get("gen_ai.prompt")})
    elif name == "gen_ai.content.completion":
        said.append({"role": "assistant", "content": inner.get("gen_ai.completion")})
    elif name == "db.query.result":
        documents.append({key.rpartition(".")[2]: value for key, value in inner.items()})


def _read_body(event: Table, inner: Table) -> dict[str, Any]:
    body = decode_nested_json(event.get("body"))
    body = to_value(body) if isinstance(body, dict) else body
    written = decode_nested_json(inner.get("gen_ai.event.content") or inner.get("event_body"))
    for found in (body, written):
        if isinstance(found, dict):
            return found
        if isinstance(found, str):
            return {"content": found}
    return unfold(inner)


# Attributes.


def to_plain(attributes: Any) -> dict[str, Any]:
    """Return attributes as a mapping; OTLP has a list of keys with typed values."""
    attributes = decode_nested_json(attributes)
    if isinstance(attributes, list):
        return {
            str(pair["key"]): to_value(pair.get("value"))
            for pair in attributes
            if isinstance(pair, dict) and "key" in pair
        }
    return dict(attributes) if isinstance(attributes, dict) else {}


def to_value(value: Any) -> Any:
    """Return the value in OTLP's wrapper: ``{"stringValue": "…"}``."""
    if isinstance(value, dict) and len(value) == 1:
        ((kind, inner),) = value.items()
        lists, maps = _WRAPPED_VALUES
        if kind in lists:
            return [to_value(part) for part in _list_values(inner)]
        if kind in maps:
            return to_plain(list(_list_values(inner)))
        return inner if kind.endswith(("Value", "_value")) else value
    return value


def _list_values(inner: Any) -> Sequence[Any]:
    return find_list(inner, "values") if isinstance(inner, dict) else []


def unfold(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes by their dotted names, numbered ones gathered into lists of objects."""
    flat: dict[str, Any] = {}
    numbered: dict[str, Any] = {}
    for name, value in _flatten(table, ""):
        steps = name.split(".")
        place = next((n for n, step in enumerate(steps) if _is_number(step)), None)
        name = name.replace("lk.pii.", "lk.", 1) if name.startswith("lk.pii.") else name
        if place is None or place == 0 or len(steps) > _DEEPEST_NAME:
            flat[name] = value
        else:
            tree = numbered.setdefault(".".join(steps[:place]), {})
            put_deep(tree, steps[place:], value)
    return {**flat, **{name: _gather(tree) for name, tree in numbered.items()}}


def _is_number(step: str) -> bool:
    return step.isascii() and step.isdigit() and len(step) < 10


def _flatten(table: Mapping[str, Any], prefix: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and depth < _DEEPEST_NAME and value:
            yield from _flatten(value, f"{name}.", depth + 1)
        else:
            yield name, value


def _gather(tree: Any) -> Any:
    """Return a tree of steps as lists, where all steps are numbers, and objects."""
    if not isinstance(tree, dict):
        return tree
    if tree and all(_is_number(step) for step in tree):
        return [_gather(tree[step]) for step in sorted(tree, key=int)]
    return {step: _gather(inner) for step, inner in tree.items()}


# Ids and times.


def read_id(value: Any) -> str | None:
    """Return an id as people know it: those of bytes, which JSON writes as base64, in hex."""
    if not isinstance(value, str):
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
    if len(value) in (12, 24) and value.endswith("="):
        try:
            return base64.b64decode(value, validate=True).hex()
        except binascii.Error:
            return value
    return value if value.strip("0 ") else None


def read_start(span: Table) -> Any:
    """Return the moment when a span began, by the names that tools give it."""
    names = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "started_at",
             "start_timestamp", "startTimeMs", "start_time_ms")  # fmt: skip
    return next((found for name in names if (found := read_time(span.get(name)))), None)
