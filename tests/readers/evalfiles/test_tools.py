"""Files of evaluation tools, in small: each is known by its content, and read field by field."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from claimwise.errors import InputError
from claimwise.readers.evalfiles import archives
from readers.evalfiles.reading import list_texts, read_file, write, write_json, write_lines


def test_deepeval_goldens_keep_gold_contexts_apart(tmp_path: Path) -> None:
    golden = {
        "input": "How deep is it?",
        "actual_output": "It is 12 m deep.",
        "expected_output": "12 m",
        "retrieval_context": ["The pond is 12 m deep."],
        "context": ["gold"],
        "name": "pond",
        "source_file": None,
    }
    found = read_file(write_json(tmp_path / "x", [golden]))
    [trace] = found.traces
    assert found.reader == "deepeval"
    assert (trace.question, trace.answer) == ("How deep is it?", "It is 12 m deep.")
    assert (list_texts(trace), trace.gold_answer) == (["The pond is 12 m deep."], "12 m")
    assert trace.attributes == {"name": "pond"}
    assert found.dropped == {"columns of gold contexts": 1}


def test_deepeval_csv_puts_bars_between_contexts(tmp_path: Path) -> None:
    table = (
        "input,actual_output,expected_output,retrieval_context,context,tools_called\n"
        'q,a,e,one|two,gold,"[{""name"": ""find"", ""inputParameters"": {""q"": 1}, '
        '""output"": ""found""}]"\n'
    )
    [trace] = read_file(write(tmp_path / "x", table)).traces
    assert list_texts(trace) == ["one", "two", "found"]
    assert [p.kind for p in trace.passages or ()] == ["passage", "passage", "tool_output"]
    assert [(c.name, c.arguments) for c in trace.actions] == [("find", '{"q": 1}')]


def test_deepeval_run_takes_from_the_trace_what_a_case_leaves_out(tmp_path: Path) -> None:
    trace_of_case = {
        "uuid": "u",
        "startTime": "2026-05-12T03:01:00Z",
        "output": {"answer": "It opens at 9.", "citations": []},
        "retrieverSpans": [{"retrievalContext": ["Open from 9 to 17."]}],
        "toolSpans": [{"name": "clock", "input": {"zone": "UTC"}, "output": "8:55"}],
    }
    case = {"name": "c", "input": "When?", "actualOutput": "{...}", "metricsData": [{"score": 1}]}
    plain = {"name": "d", "input": "Who?", "actualOutput": "Me.", "retrievalContext": ["r"],
             "expectedOutput": "Me", "context": ["gold"]}  # fmt: skip
    empty = {"name": "e", "input": "Why?", "actualOutput": None}
    turns = [{"role": "user", "content": "u1"},
             {"role": "assistant", "content": "a1", "retrievalContext": ["r1"]},
             {"role": "user", "content": "u2"}, {"role": "assistant", "content": "a2"}]  # fmt: skip
    run = {
        "testCases": [{**case, "trace": trace_of_case}, plain, empty],
        "conversationalTestCases": [{"name": "talk", "turns": turns}],
    }
    found = read_file(write_json(tmp_path / "x", run))
    wrapped = read_file(write_json(tmp_path / "latest", {"testRunData": run, "testRunLink": None}))
    assert [trace.answer for trace in wrapped.traces] == [trace.answer for trace in found.traces]
    first, second, third, fourth = found.traces
    assert (first.question, first.answer) == ("When?", "It opens at 9.")
    assert list_texts(first) == ["Open from 9 to 17.", "8:55"]
    assert [(c.name, c.arguments) for c in first.actions] == [("clock", '{"zone": "UTC"}')]
    assert (second.answer, list_texts(second), second.gold_answer) == ("Me.", ["r"], "Me")
    assert [(t.question, t.answer, list_texts(t)) for t in (third, fourth)] == [
        ("u1", "a1", ["r1"]),
        ("u2", "a2", None),
    ]
    assert third.conversation_id == fourth.conversation_id == "talk"
    assert found.dropped == {"scores": 1, "gold contexts": 1, "test cases without an answer": 1}


def make_result(**more: Any) -> dict[str, Any]:
    return {
        "vars": {"query": "q?", "context": ["c1", "c2"]},
        "provider": {"id": "openai:gpt-5", "label": ""},
        "prompt": {"raw": "Answer q?", "label": "Answer {{query}}"},
        "response": {"output": "An answer."},
        "promptIdx": 0,
        "testIdx": 0,
        **more,
    }


@pytest.mark.parametrize("form", ["export", "older export", "lines"])
def test_promptfoo_results(tmp_path: Path, form: str) -> None:
    results = [
        # What an assertion says is in “error” too.
        make_result(id="r1", error="Latency is greater than 3000ms", failureReason=1,
                    gradingResult={"componentResults": [{}, {}]}),
        make_result(id="r2", response={"output": {"answer": "In an object.", "n": 1}}),
        make_result(id="r3", response={"error": "429"}, error="429", failureReason=2),
    ]  # fmt: skip
    path = tmp_path / "x"
    if form == "lines":
        write_lines(path, results)
    elif form == "export":
        write_json(path, {"evalId": "e", "results": {"version": 3, "results": results}})
    else:
        write_json(path, {"version": 2, "results": results, "table": {"body": [{"x": 1}]}})
    found = read_file(path)
    assert found.said == (
        "read as promptfoo: question ← vars.query, answer ← response.output, "
        "contexts ← vars.context, system ← provider"
    )
    assert [(t.question, t.answer, t.failure) for t in found.traces] == [
        ("q?", "An answer.", None),
        ("q?", "In an object.", None),
        ("q?", "", "429"),
    ]
    assert [t.system for t in found.traces] == ["openai:gpt-5"] * 3
    assert list_texts(found.traces[0]) == ["c1", "c2"]
    assert found.dropped == {"assertion results": 2}


def test_promptfoo_with_vars_of_other_names(tmp_path: Path) -> None:
    riddle = {"results": {"version": 3, "results": [make_result(vars={"riddle": "What am I?"})],
                          "prompts": []}}  # fmt: skip
    [trace] = read_file(write_json(tmp_path / "a", riddle)).traces
    assert (trace.question, trace.passages) == ("What am I?", None)
    two = make_result(vars={"a": "x", "b": "y"})
    [trace] = read_file(write_lines(tmp_path / "b", [two])).traces
    assert trace.question == "Answer q?"
    mapped = read_file(tmp_path / "b", map="question=a,contexts=b")
    assert [(t.question, list_texts(t)) for t in mapped.traces] == [("x", ["y"])]


def test_promptfoo_with_several_prompts(tmp_path: Path) -> None:
    labels = ["brief", "You are careful.\nAnswer: {{query}}"]
    results = [make_result(promptIdx=n, prompt={"label": label}) for n, label in enumerate(labels)]
    found = read_file(write_lines(tmp_path / "x", results))
    assert [t.system for t in found.traces] == ["openai:gpt-5 · brief", "openai:gpt-5 · prompt 2"]


def test_promptfoo_csv_has_a_column_per_prompt(tmp_path: Path) -> None:
    newer = (
        "query,context,[openai:a] P,Status,Score,Grader Reason,[b] P,Status,Score,Grader Reason\n"
        "q?,c,yes,FAIL,0,short,,ERROR,0,down\n"
    )
    found = read_file(write(tmp_path / "new.csv", newer))
    assert [(t.system, t.answer, t.failure, list_texts(t)) for t in found.traces] == [
        ("openai:a", "yes", None, ["c"]),
        ("b", "", "down", ["c"]),
    ]
    older = 'query,[openai:a] P\nq?,"[FAIL] (0.30) too short\n---\nIt is"\nr?,[PASS] Me\n'
    found = read_file(write(tmp_path / "old.csv", older))
    assert [(t.question, t.answer) for t in found.traces] == [("q?", "It is"), ("r?", "Me")]


def make_sample(number: int) -> dict[str, Any]:
    reply = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Oslo: 700,000."}]
    final = {"role": "assistant", "content": reply}
    call = {"id": "t", "function": "lookup", "arguments": {"city": "Oslo"}, "type": "function"}
    return {
        "id": number,
        "epoch": 1,
        "input": "attachment://abc",
        "target": "700,000",
        "attachments": {"abc": "How many people?"},
        "messages": [
            {"role": "user", "content": "attachment://abc"},
            {"role": "assistant", "content": "Looking.", "tool_calls": [call]},
            {"role": "tool", "function": "lookup", "content": "Oslo 700,000", "tool_call_id": "t"},
            final,
        ],
        "output": {"model": "m", "choices": [{"message": final}]},
        "scores": {"match": {"value": "C"}},
        "metadata": {"topic": "cities", "context": ["Oslo is large."]},
    }


HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "model": "mock/m"}}


def check_inspect(path: Path) -> None:
    found = read_file(path)
    assert found.reader == "inspect"
    trace = found.traces[0]
    assert (trace.question, trace.answer) == ("How many people?", "Oslo: 700,000.")
    assert [(p.text, p.kind) for p in trace.passages or ()] == [
        ("Oslo is large.", "passage"),
        ("Oslo 700,000", "tool_output"),
    ]
    assert [(c.name, c.arguments) for c in trace.actions] == [("lookup", '{"city": "Oslo"}')]
    assert (trace.trace_id, trace.model, trace.gold_answer) == ("1_epoch_1", "mock/m", "700,000")
    assert trace.attributes == {"task": "t", "topic": "cities"}
    kinds = {"reasoning parts": 1, "scores": 1, "interim messages of the assistant": 1}
    assert found.dropped == {what: count * len(found.traces) for what, count in kinds.items()}


def pack(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def pack_log(samples: int = 2) -> dict[str, bytes]:
    members = {"_journal/start.json": json.dumps(HEADER).encode()}
    for n in range(1, samples + 1):
        members[f"samples/{n}_epoch_1.json"] = json.dumps(make_sample(n)).encode()
    return {**members, "header.json": json.dumps(HEADER).encode()}


def test_inspect_logs_in_both_forms(tmp_path: Path) -> None:
    check_inspect(write_json(tmp_path / "a", {**HEADER, "samples": [make_sample(1)]}))
    check_inspect(write(tmp_path / "b", pack(pack_log())))


def pack_by_zstandard(members: dict[str, bytes]) -> bytes:
    """Pack members as Inspect does: zipfile writes them unpacked, then the method is put right."""
    packed = {name: zstandard.ZstdCompressor().compress(data) for name, data in members.items()}
    data = bytearray(pack(packed, zipfile.ZIP_STORED))
    for name, content in members.items():
        for sign, method_at, size_at in ((b"PK\x03\x04", 8, 22), (b"PK\x01\x02", 10, 24)):
            name_at = 30 if sign == b"PK\x03\x04" else 46
            start = data.find(sign)
            while data[start + name_at : start + name_at + len(name)] != name.encode():
                start = data.index(sign, start + 1)
            struct.pack_into("<H", data, start + method_at, 93)
            struct.pack_into("<I", data, start + size_at, len(content))
    return bytes(data)


def test_inspect_logs_packed_with_zstandard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "new.eval", pack_by_zstandard(pack_log()))
    check_inspect(path)
    monkeypatch.setattr(archives, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"found Zstandard compression.*inspect log convert"):
        read_file(path)


def test_bombs_and_damaged_archives_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = pack_log(1)
    sound = pack(members)
    with pytest.raises(InputError, match="found a damaged ZIP file"):
        read_file(write(tmp_path / "cut", sound[: len(sound) // 2]))
    monkeypatch.setattr(archives, "_HARMLESS_BYTES", 100_000)
    monkeypatch.setattr(archives, "MAX_RATIO", 20)
    bomb = {**members, "samples/2_epoch_1.json": b" " * 5_000_000}
    with pytest.raises(InputError, match=r"found a member of over .* when unpacked"):
        read_file(write(tmp_path / "bomb", pack(bomb)))
    many = {**members, **{f"samples/{n}.json": b" " * 60_000 for n in range(10)}}
    with pytest.raises(InputError, match=r"malformed JSON in samples/0.json|over .* when unpacked"):
        read_file(write(tmp_path / "many", pack(many)))
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    with pytest.raises(InputError, match="found 3 members, expected at most 2"):
        read_file(write(tmp_path / "members", sound))
    packed = pack_by_zstandard({**members, "samples/2_epoch_1.json": b" " * 5_000_000})
    monkeypatch.setattr(archives, "MAX_MEMBERS", 10)
    with pytest.raises(InputError, match=r"found a member of over .* when unpacked"):
        read_file(write(tmp_path / "zstandard", packed))


def test_inspect_samples_without_an_answer(tmp_path: Path) -> None:
    bare = {"id": 1, "epoch": 1, "input": "q", "target": "t",
            "messages": [{"role": "tool", "content": "x"}]}  # fmt: skip
    failed = {**bare, "id": 2, "error": {"message": "Killed\nTraceback"}}
    found = read_file(write_json(tmp_path / "a", {**HEADER, "samples": [bare, failed]}))
    assert [(t.answer, t.failure) for t in found.traces] == [("", "Killed")]
    assert found.dropped["samples without an answer"] == 1
    with pytest.raises(InputError, match="found 1 sample without an answer, expected answers"):
        read_file(write_json(tmp_path / "b", {**HEADER, "samples": [bare]}))


def test_openai_evals_items(tmp_path: Path) -> None:
    item = {
        "id": "oi",
        "datasource_item_id": 0,
        "datasource_item": {"question": "Capital?", "expected_answer": "Paris", "level": "easy"},
        "sample": {
            "input": [{"role": "user", "content": "Capital?"}],
            "output": [{"role": "assistant", "content": "Paris."}],
            "model": "gpt",
        },
        "results": [{"score": 1}],
    }
    found = read_file(write_lines(tmp_path / "a", [item]))
    [trace] = found.traces
    assert found.reader == "openai-evals"
    assert (trace.question, trace.answer, trace.gold_answer) == ("Capital?", "Paris.", "Paris")
    assert (trace.model, trace.attributes) == ("gpt", {"level": "easy"})
    bare = {"run_id": "r", "data_source_idx": 1, "item": {"input": "q"}, "grades": {"a": 1}}
    with pytest.raises(InputError, match="found 2 items without answers"):
        read_file(write_lines(tmp_path / "b", [bare, bare]))


def test_a_log_of_oaieval(tmp_path: Path) -> None:
    prompt = [{"role": "system", "content": "s"}, {"role": "user", "content": "2+2"}]
    event = {"run_id": "r", "sample_id": "s.0"}
    lines: list[dict[str, Any]] = [
        {"spec": {"completion_fns": ["m"]}},
        {**event, "event_id": 0, "type": "sampling", "data": {"prompt": prompt, "sampled": ["4"]}},
        {**event, "event_id": 1, "type": "match", "data": {"correct": True, "expected": "4"}},
        {"final_report": {"accuracy": 1}},
    ]
    [trace] = read_file(write_lines(tmp_path / "a", lines)).traces
    assert (trace.question, trace.answer, trace.gold_answer) == ("2+2", "4", "4")


def test_ragchecker_and_mlflow(tmp_path: Path) -> None:
    checked = {"query_id": "0", "query": "q", "gt_answer": "g", "response": "r",
               "retrieved_context": [{"doc_id": "d", "text": "t"}], "metrics": {}}  # fmt: skip
    found = read_file(write_json(tmp_path / "a", {"results": [checked]}))
    [trace] = found.traces
    assert (found.reader, trace.question, trace.answer, trace.gold_answer) == (
        "ragchecker", "q", "r", "g",
    )  # fmt: skip
    assert [(p.source_id, p.text) for p in trace.passages or ()] == [("d", "t")]
    records = [
        {"inputs": {"question": "q1"}, "outputs": "a1",
         "expectations": {"expected_response": "e"}, "tags": {"team": "x"}},
        {"inputs": {"question": "q2"}, "outputs": {
            "response": "a2", "retrieved_context": [{"content": "t", "doc_uri": "u"}]}},
    ]  # fmt: skip
    found = read_file(write_json(tmp_path / "b", records))
    assert found.reader == "mlflow-records"
    assert [(t.question, t.answer, t.gold_answer, list_texts(t)) for t in found.traces] == [
        ("q1", "a1", "e", None),
        ("q2", "a2", None, ["t"]),
    ]


def test_a_folder_with_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for split in ("test", "train"):
        row = {"question": f"{split}?", "answer": "a", "contexts": ["c"]}
        write_lines(tmp_path / "data" / f"{split}-00000-of-00001.jsonl", [row])
    write_json(tmp_path / "dataset_info.json", {"features": {}})
    found = read_file(tmp_path)
    assert found.reader == "huggingface"
    assert [(t.question, t.attributes) for t in found.traces] == [
        ("test?", {"split": "test"}),
        ("train?", {"split": "train"}),
    ]
    write(tmp_path / "data" / "more.arrow", b"\xff\xff\xff\xff")
    with pytest.raises(InputError, match=r"more\.arrow: found .*[Aa]rrow"):
        read_file(tmp_path)
