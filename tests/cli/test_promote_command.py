from __future__ import annotations

import json
import shutil
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from claimwise.cli.main import run

TRACE = {
    "trace_id": "9f2c41",
    "question": "How long do you keep an umbrella that I left on the train?",
    "answer": "We keep found things for 30 days.",
    "contexts": [{"source_id": "lost-property", "text": "Found things are kept for 90 days."}],
}
GATES = """
[[gates]]
metric = "faithfulness"
by = ["query_type"]
min = 0.7
"""


@pytest.fixture
def project(written_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(written_demo, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    monkeypatch.setenv("COLUMNS", "120")  # however wide the terminal of the tests is
    Path("trace.json").write_text(json.dumps(TRACE), encoding="utf-8")
    return tmp_path / "demo"


def promote(*more: str, what: str = "trace.json") -> int:
    return run(["promote", what, "--as", "umbrella", "--verifier", "lexical", *more])


def test_promote_then_list(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (project / "claimwise.toml").open("a", encoding="utf-8") as settings:
        settings.write(GATES)
    assert promote("--answerable", "--who", "kim") == 0
    out = capsys.readouterr().out
    assert "new item umbrella (lookup, high stakes, corpus 2026-09)" in out
    assert "contradicted We keep found things for 30 days." in out
    assert "needs gold spans" in out
    assert run(["incidents"]) == 0
    out = capsys.readouterr().out
    assert "umbrella" in out
    assert "needs spans" in out
    assert "faithfulness-query_type [lookup]" in out
    assert "no run yet" in out
    assert "Whether the gate then fails depends on the other items too" in out
    span = {"item_id": "umbrella", "source_id": "lost-property", "required": True,
            "span_text": "Found things are kept for 90 days."}  # fmt: skip
    Path("gold_spans.jsonl").write_text(json.dumps(span), encoding="utf-8")
    assert run(["import", "gold_spans.jsonl"]) == 0
    capsys.readouterr()
    assert run(["incidents", "--format", "json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["incidents"]
    assert (found["state"], found["incident"]["promoted_by"]) == ("ready", "kim")
    assert found["caught_by"] == [
        {"gate": "faithfulness-query_type", "slice": {"query_type": "lookup"}}
    ]


LANGFUSE = {
    "trace": {"id": "9f2c41", "sessionId": "s", "input": json.dumps(TRACE["question"]),
              "output": json.dumps(TRACE["answer"])},
    "observations": [
        {"id": "o1", "traceId": "9f2c41", "type": "RETRIEVER", "name": "search", "input": "keep",
         "output": json.dumps([{"page_content": "Found things are kept for 90 days.",
                                "metadata": {"source": "lost-property"}}])},
    ],
}  # fmt: skip


@pytest.mark.parametrize("what", ["langfuse.json", "-"])
def test_promote_a_trace_of_another_tool(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    text = json.dumps(LANGFUSE)
    Path("langfuse.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text.encode()), encoding="utf-8"))
    assert promote("--answerable", "--format", "json", what=what) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["item"]["query"] == TRACE["question"]
    assert done["incident"]["trace_id"] == "9f2c41"
    [claim] = done["claims"]
    assert (claim["claim_text"], claim["verdict"]) == (TRACE["answer"], "contradicted")


def test_promote_from_standard_input(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({**TRACE, "answerable": True})
    data = TextIOWrapper(BytesIO(text.encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", data)
    assert promote("--format", "json", what="-") == 0
    done = json.loads(capsys.readouterr().out)
    assert done["incident"]["place"] == "standard input"
    assert done["item"]["item_id"] == "umbrella"
    assert done["queued"] == 1


def test_promote_a_stored_answer(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["promote", "candidate/unans-03", "--as", "loyalty"]) == 0
    out = capsys.readouterr().out
    assert "new item loyalty (unanswerable, low stakes, corpus 2026-09)" in out
    assert "unlinked     A loyalty programme is planned for spring 2027 [ana]" in out
    assert run(["promote", "candidate/unans-03", "--as", "loyalty"]) == 0
    assert "already promoted by" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trace.json", "--as", "x"], "expected --answerable or --unanswerable"),
        (["nothing", "--as", "x"], "neither a file nor an answer"),
        (["trace.json", "--as", "lookup-01", "--answerable"], "which asks 'What does a day ticket"),
        (["trace.json"], "Missing option '--as'"),
        (
            ["trace.json", "--as", "x", "--answerable", "--verifier", "magic"],
            "Unknown judge 'magic'",
        ),
    ],
)
def test_refusals_are_one_line_and_write_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(["promote", *arguments]) == 1
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err
    assert run(["incidents"]) == 0
    assert "no incidents yet; `claimwise promote` turns" in capsys.readouterr().out


def test_hostile_text_steers_no_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = {**TRACE, "answer": "We keep \x1b[31mthings\x1b[0m for 30 days.", "answerable": True}
    Path("trace.json").write_text(json.dumps(trace), encoding="utf-8")
    assert promote() == 0
    assert run(["incidents"]) == 0
    assert "\x1b" not in capsys.readouterr().out
