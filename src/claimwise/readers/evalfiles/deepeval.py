"""Reads deepeval's test runs: ``testCases`` with what the traced application did for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from claimwise.disk.input import refuse
from claimwise.readers.evalfiles.chat import list_turns, read_chat, read_tool_calls
from claimwise.readers.evalfiles.depth import guard_depth
from claimwise.readers.evalfiles.made import yield_traces
from claimwise.readers.evalfiles.passages import read_passages
from claimwise.readers.evalfiles.records import load_json
from claimwise.readers.evalfiles.sketch import sketch_head
from claimwise.readers.evalfiles.values import (
    has_letters,
    strip_reasoning,
    to_id,
    to_json,
    to_text,
    to_time,
)
from claimwise.readers.outside import RecordKind, Records
from claimwise.types.traces import Passage, Recognised, ToolCall, Trace

_Record = Mapping[str, Any]
_FIELDS = {
    "question": "input",
    "answer": "actualOutput",
    "contexts": "retrievalContext",
    "reference": "expectedOutput",
    "tools": "toolsCalled",
}
_ANSWER_KEYS = ("answer", "output", "response", "text", "content")
_QUESTION_KEYS = ("query", "question", "input", "text", "content")
_MOST_ATTRIBUTES = 24
_MOST_LETTERS = 80


class RunReader:
    """Reads a run; what its trace says fills in for what a test case leaves out."""

    yields: RecordKind = "traces"

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Go by the names of a run."""
        sketch = sketch_head(head)
        known = any(
            sketch.has(f"{place}{name}")
            for place in ("", "testRunData.")
            for name in (
                "testCases[].input", "testCases[].metricsData", "conversationalTestCases[].turns",
            )
        )  # fmt: skip
        return 0.9 if sketch.form == "json" and known else None

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield the answers of test cases, and of every turn of conversational ones."""
        return guard_depth(path, self._read(path, options))

    def _read(self, path: Path, options: Mapping[str, str]) -> Records:
        run = load_json(path)
        if not isinstance(run, dict):
            raise refuse(path, "no object", "a deepeval test run with testCases")
        run = _object(run, "testRunData") or run  # as .deepeval/.latest_test_run.json has it
        yield 1, Recognised(reader="deepeval", fields=_FIELDS)
        dropped: Counter[str] = Counter()
        yield from yield_traces(path, _list_traces(path, run, dropped), dropped, "test cases")


def _list_traces(
    path: Path, run: _Record, dropped: Counter[str]
) -> Iterator[tuple[int, Trace | None]]:
    number = 0
    for case in _list_objects(run.get("testCases")):
        number += 1
        yield number, _read_case(path, case, dropped)
    for case in _list_objects(run.get("conversationalTestCases")):
        for trace in _read_conversation(path, case, dropped):
            number += 1
            yield number, trace


def _object(record: _Record, name: str) -> _Record:
    found = record.get(name)
    return found if isinstance(found, Mapping) else {}


def _list_objects(value: Any) -> list[_Record]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _read_case(path: Path, case: _Record, dropped: Counter[str]) -> Trace | None:
    traced = _object(case, "trace")
    answer = to_text(case.get("actualOutput"), _ANSWER_KEYS)
    if not has_letters(answer):
        answer = to_text(traced.get("output"), _ANSWER_KEYS)
    question = to_text(case.get("input"), _QUESTION_KEYS) or to_text(
        traced.get("input"), _QUESTION_KEYS
    )
    failure = _find_error(traced) if answer is None else None
    if question is None or (answer is None and failure is None):
        return None
    text, thoughts = strip_reasoning(answer or "")
    dropped["reasoning parts"] += thoughts
    dropped["scores"] += len(_list_objects(case.get("metricsData")))
    dropped["gold contexts"] += len(read_passages(case.get("context")) or ())
    passages, actions = _read_evidence(case, traced)
    return Trace(
        origin="trace",
        place=str(path),
        question=question,
        answer=text,
        failure=failure,
        passages=passages,
        actions=actions,
        trace_id=to_id(traced.get("uuid")) or to_id(case.get("id")),
        happened_at=to_time(traced.get("startTime")),
        gold_answer=to_text(case.get("expectedOutput")),
        attributes=_read_attributes(case, traced),
    )


def _find_error(traced: _Record) -> str | None:
    spans = (span for name in ("agentSpans", "llmSpans", "toolSpans", "retrieverSpans", "baseSpans")
             for span in _list_objects(traced.get(name)))  # fmt: skip
    return next((text for span in spans if (text := to_text(span.get("error")))), None)


def _read_evidence(
    case: _Record, traced: _Record
) -> tuple[tuple[Passage, ...] | None, tuple[ToolCall, ...]]:
    """Return passages and tool calls: the test case's own, else those of its trace's spans."""
    passages = read_passages(case.get("retrievalContext"))
    if passages is None:
        retrieved = [
            read_passages(span.get("retrievalContext") or span.get("output"))
            for span in _list_objects(traced.get("retrieverSpans"))
        ]
        found = tuple(p for one in retrieved for p in one or ())
        passages = found if retrieved else None
    calls, outputs = read_tool_calls(case.get("toolsCalled"))
    if not calls:
        for span in _list_objects(traced.get("toolSpans")):
            name = to_id(span.get("name")) or "tool"
            given, output = span.get("input"), to_text(span.get("output"))
            arguments = given if isinstance(given, str) or given is None else to_json(given)
            calls.append(ToolCall(name=name, arguments=arguments, call_id=to_id(span.get("uuid"))))
            if output:
                outputs.append(Passage(text=output, title=name, kind="tool_output"))
    if outputs:
        passages = (*(passages or ()), *outputs)
    return passages, tuple(calls)


def _read_attributes(case: _Record, traced: _Record) -> dict[str, str]:
    given = [case.get("additionalMetadata"), case.get("metadata"), traced.get("metadata")]
    found = {"name": case.get("name")}
    for one in given:
        found.update(one if isinstance(one, Mapping) else {})
    short = {
        str(key): text
        for key, value in found.items()
        if (text := to_id(value)) is not None and len(text) <= _MOST_LETTERS
    }
    return dict(list(short.items())[:_MOST_ATTRIBUTES])


def _read_conversation(path: Path, case: _Record, dropped: Counter[str]) -> Iterator[Trace | None]:
    messages = read_chat(case.get("turns")) or []
    name = to_id(case.get("name"))
    for turn in list_turns(messages):
        if turn.question is None or turn.answer is None:
            yield None
            continue
        dropped.update(turn.dropped)
        yield Trace(
            origin="trace",
            place=str(path),
            question=turn.question,
            answer=turn.answer,
            passages=turn.passages or None,
            actions=turn.actions,
            conversation_id=name,
            attributes=_read_attributes(case, {}),
        )
