"""The recorded traces of ten frameworks: what a careful person would take from each."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimwise.errors import InputError, Problem
from claimwise.readers.choose import choose_reader
from claimwise.types.traces import Dropped, Trace

DATA = Path(__file__).parents[3] / "shared/data/traces"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the recorded traces are not here")

# What the question and the answer hold, the tools called, and words of what they returned.
EXPECTED = {
    "agno": ("trending", "Trends24", ["duckduckgo_search"], ["National Guard"]),
    "autogen": ("Say ", "Hello World!", [], None),
    "claude-agent": ("weather like", "Cloudy, 59", ["mcp__weather__get_weather"] * 2,
                     ["Weather in Berlin", "Weather in New York"]),
    "crewai": ("Define the HTML", "<h1>Hello World!", [], None),
    "google-adk": ("hi", "Hello Langfuse", ["say_hello"], ["greeting"]),
    "langgraph-python": ("Search the web", "primarily leads", ["Web-Search"], ["Example Result"]),
    "llamaindex": ("What is Langfuse?", "monitor and debug", [], None),
    "openai-agents": ("weather in Tokyo", "currently sunny", ["get_weather"], ["is sunny"]),
    "pydantic-ai": ("What is Langfuse?", "observability", [], None),
}  # fmt: skip


def read(path: Path) -> list[Trace | Problem]:
    chosen = choose_reader(path, "traces")
    assert chosen is not None
    found = [record for _, record in chosen.reader.read(path, {})]
    assert {type(record) for record in found} <= {Trace, Problem, Dropped}
    return [record for record in found if isinstance(record, Trace | Problem)]


def list_recorded() -> list[Path]:
    return sorted((DATA / "langfuse").glob("*.trace.json"))


@pytest.mark.parametrize("framework", EXPECTED)
def test_frameworks(framework: str) -> None:
    [path] = [path for path in list_recorded() if path.name.startswith(framework)]
    [trace] = read(path)
    assert isinstance(trace, Trace)
    question, answer, tools, evidence = EXPECTED[framework]
    assert question in trace.question
    assert answer in trace.answer
    assert [action.name for action in trace.actions] == tools
    if evidence is None:
        assert trace.passages is None
    else:
        texts = [passage.text or "" for passage in trace.passages or ()]
        assert [words in text for words, text in zip(evidence, texts, strict=True)] == [
            True for _ in evidence
        ]
        assert {passage.kind for passage in trace.passages or ()} == {"tool_output"}
    for text in (trace.question, trace.answer):
        assert text[0] not in "{["
        assert "Final Answer" not in trace.answer


def test_a_trace_that_ends_with_a_call_says_so() -> None:
    [path] = [path for path in list_recorded() if path.name.startswith("vercel")]
    [problem] = read(path)
    assert isinstance(problem, Problem)
    assert "ends with a call of the tool getWeather" in problem.found


def test_every_recorded_trace_is_read_or_says_why() -> None:
    """Also as the trace alone, as a list, and as one trace per line."""
    for path in [*list_recorded(), *sorted((DATA / "trulens").glob("*.json"))]:
        if path.name.startswith("template_"):
            with pytest.raises(InputError, match="malformed JSON"):
                read(path)
            continue
        assert len(read(path)) == 1, path.name


TRULENS = {
    "record_root_span": "the best coffee",
    "generation_span": "the best coffee",
    "retrieval_span": "a retrieval span without the span of its answer",
    "eval_root_span": "a TruLens evaluation span: no answer in it",
    "eval_span_1": "a TruLens evaluation span: no answer in it",
    "eval_span_2": "a TruLens evaluation span: no answer in it",
}


@pytest.mark.parametrize("name", TRULENS)
def test_trulens(name: str) -> None:
    [found] = read(DATA / "trulens" / f"{name}.json")
    if isinstance(found, Problem):
        assert TRULENS[name] in found.found
    else:
        assert TRULENS[name] in found.question
        assert "Starbucks" in found.answer
        assert (len(found.passages) if found.passages else 0) == (
            4 if name == "generation_span" else 0
        )


def test_trulens_spans_together(tmp_path: Path) -> None:
    path = tmp_path / "events"
    names = ["eval_span_1", "generation_span", "retrieval_span", "record_root_span"]
    rows = ",".join((DATA / "trulens" / f"{name}.json").read_text() for name in names)
    path.write_text(f"[{rows}]", "utf-8")
    [trace] = read(path)
    assert isinstance(trace, Trace)
    assert trace.passages is not None
    assert len(trace.passages) == 4
    assert trace.gold_answer is not None
