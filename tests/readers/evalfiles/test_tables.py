"""Tables of any tool: which column is what, and lists that were written as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from claimwise.errors import ClaimwiseError, InputError
from readers.evalfiles.reading import list_texts, read_file, write, write_json, write_lines

CONTEXTS = ["Emma is by Jane Austen.", 'It\'s a "novel", of 1815.\nIn three volumes.']
AS_TEXT = {
    "python": repr(CONTEXTS),
    "numpy": "['Emma is by Jane Austen.'\n " + repr(CONTEXTS[1]) + "]",
    "array": f"array({CONTEXTS!r}, dtype=object)",
    "json": json.dumps(CONTEXTS),
    "langchain": (
        "[Document(metadata={'source': 'a.pdf', 'page': 1}, page_content='Emma is by Jane "
        f"Austen.'), Document(page_content={CONTEXTS[1]!r})]"
    ),
}


def quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


@pytest.mark.parametrize("form", AS_TEXT)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_ragas_results_as_pandas_writes_them(tmp_path: Path, form: str, delimiter: str) -> None:
    header = ["", "user_input", "retrieved_contexts", "response", "reference", "faithfulness"]
    rows = [
        ["0", "Who wrote Emma?\nTell me.", AS_TEXT[form], "Jane Austen; she did.", "Austen", "1.0"],
        ["1", "When?", "[]", "In 1815", "", "nan"],
        ["2", "Why?", "['x']", "", "-", "0.5"],
    ]
    text = "\n".join(delimiter.join(map(quote, row)) for row in [header, *rows])
    found = read_file(write(tmp_path / "evaluation", "\ufeff" + text + "\n"))
    assert found.reader == "ragas"
    assert found.said == (
        "read as ragas: question ← user_input, answer ← response, "
        "contexts ← retrieved_contexts, reference ← reference"
    )
    first, second = found.traces
    assert (first.question, first.answer) == ("Who wrote Emma?\nTell me.", "Jane Austen; she did.")
    assert list_texts(first) == CONTEXTS
    assert first.gold_answer == "Austen"
    assert (second.passages, second.gold_answer, second.attributes) == ((), None, {})
    assert found.dropped == {"score columns": 1, "rows without an answer": 1}


RECORDS: list[dict[str, Any]] = [
    {"question": "q1", "answer": "a1", "contexts": ["c1", "c2"], "ground_truth": "g", "hops": 2},
    {"question": "q2", "answer": "a2", "contexts": [], "ground_truth": None, "hops": 1},
]
COLUMNS = {name: [one[name] for one in RECORDS] for name in RECORDS[0]}
SHAPES: dict[str, Any] = {
    "records": RECORDS,
    "in an object": {"settings": {"k": 2}, "rows": RECORDS},
    "deep in an object": {"by": {"metric": [{"v": 1}]}, "run": {"details": RECORDS}},
    "columns of lists": COLUMNS,
    "columns by index": {n: {str(i): v for i, v in enumerate(c)} for n, c in COLUMNS.items()},
    "rows by index": {str(i): one for i, one in enumerate(RECORDS)},
    "split": {"columns": list(COLUMNS), "index": [0, 1], "data": [[*r.values()] for r in RECORDS]},
    "table": {"schema": {"fields": [{"name": "question"}]}, "data": RECORDS},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_json_in_every_shape_that_pandas_writes(tmp_path: Path, shape: str) -> None:
    found = read_file(write_json(tmp_path / "file", SHAPES[shape]))
    assert [(t.question, t.answer, list_texts(t)) for t in found.traces] == [
        ("q1", "a1", ["c1", "c2"]),
        ("q2", "a2", []),
    ]
    assert [t.attributes for t in found.traces] == [{"hops": "2"}, {"hops": "1"}]


def test_answers_of_several_systems(tmp_path: Path) -> None:
    rows = {name: [{"query": "q", "answer": name, "contexts": ["c"]}] for name in ("one", "two")}
    found = read_file(write_json(tmp_path / "lists", {"args": {"k": 3}, "pipelines": rows}))
    assert [(t.system, t.answer) for t in found.traces] == [("one", "one"), ("two", "two")]
    systems = {name: {"answer": name, "contexts": [name]} for name in ("one", "two")}
    beside = {"question": "q", "category": "c", "scores": {"f": 1}, **systems}
    found = read_file(write_json(tmp_path / "beside", [beside]))
    assert [(t.system, t.question, t.answer, list_texts(t), t.domain) for t in found.traces] == [
        ("one", "q", "one", ["one"], "c"),
        ("two", "q", "two", ["two"], "c"),
    ]


@pytest.mark.parametrize(
    "content", ["metric,score\nfaithfulness,1.0\n", '{"faithfulness": 0.9, "n": 1}']
)
def test_a_file_of_scores_says_so(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match="found scores only"):
        read_file(write(tmp_path / "scores", content))


def test_json_lines_with_what_only_python_writes(tmp_path: Path) -> None:
    lines = '\n{"question": "q", "answer": "a", "faithfulness": NaN, "contexts": "one text"}\n\n'
    more = '{"question": "q2", "answer": NaN}\n{"question": "q3", "answer": "a\\u0000"}\n'
    broken = '{"question": "q4", "question": "q5", "answer": "a"}\n{"question": "q6", "ans'
    found = read_file(write(tmp_path / "x.jsonl", lines + more + broken))
    assert [(t.question, list_texts(t)) for t in found.traces] == [("q", ["one text"])]
    assert found.dropped["rows without an answer"] == 1
    assert [(p.line, p.found) for p in found.problems] == [
        (5, "a NUL character"),
        (6, "the key 'question' twice"),
        (7, "the end of the file inside a record"),
    ]


def test_parquet_with_lists_and_objects(tmp_path: Path) -> None:
    path = tmp_path / "data"
    duckdb.execute(
        "copy (select 'q' as question, 'a' as answer, ['c1', 'c2'] as contexts, "
        f"{{'topic': 'sea', 'n': 1}} as metadata, 0.5::double as f1) to '{path}' (format parquet)"
    )
    found = read_file(path)
    assert found.reader == "table"
    [trace] = found.traces
    assert (trace.question, list_texts(trace), trace.domain) == ("q", ["c1", "c2"], "sea")
    assert found.dropped == {"score columns": 1}


def test_contexts_in_numbered_columns_and_known_values(tmp_path: Path) -> None:
    table = (
        "Question,Model Answer,Context 1,Context 2,Context 10,Is Answerable,Stakes,Session ID\n"
        "q1,a1,c1,c2,,yes,HIGH,s\nq2,a2,c1,,c10,no,unclear,s\n"
    )
    first, second = read_file(write(tmp_path / "a.csv", table)).traces
    assert (list_texts(first), first.answerable, first.stakes) == (["c1", "c2"], True, "high")
    assert (list_texts(second), second.answerable, second.stakes) == (["c1", "c10"], False, None)
    assert second.conversation_id == "s"


PASSAGES: dict[str, tuple[Any, list[tuple[str | None, str | None, str | None]]]] = {
    "objects": (
        [{"id": 7, "text": "t", "title": "T"}, {"page_content": "u", "metadata": {"source": "s"}}],
        [("7", "t", "T"), ("s", "u", None)],
    ),
    "a node": ([{"node": {"id_": "n", "text": "t"}, "score": 0.5}], [("n", "t", None)]),
    "a document": ([{"document": {"id": "d", "content": "t"}}], [("d", "t", None)]),
    "ids and texts": ({"d1": "t1", "d2": "t2"}, [("d1", "t1", None), ("d2", "t2", None)]),
    "lists beside one another": (
        {"title": ["A", "B"], "sentences": [["x. ", "y."], ["z."]]},
        [(None, "x. y.", "A"), (None, "z.", "B")],
    ),
    "lists of lists": ([["t1", "t2"]], [(None, "t1", None), (None, "t2", None)]),
    "no list, though it begins like one": ("[1] says so", [(None, "[1] says so", None)]),
    "objects as text": (['{"text": "t", "doc_id": "d"}'], [("d", "t", None)]),
}


@pytest.mark.parametrize("name", PASSAGES)
def test_contexts_as_tools_write_them(tmp_path: Path, name: str) -> None:
    given, expected = PASSAGES[name]
    path = write_lines(tmp_path / "x", [{"question": "q", "answer": "a", "documents": given}])
    [trace] = read_file(path).traces
    assert [(p.source_id, p.text, p.title) for p in trace.passages or ()] == expected


def test_ids_of_contexts_in_a_column_of_their_own(tmp_path: Path) -> None:
    record = {"question": "q", "answer": "a", "contexts": ["t1", "t2"], "retrieved_doc_ids": ["x"]}
    bare = {"question": "q2", "answer": "a", "retrieved_doc_ids": ["y"]}
    first, second = read_file(write_lines(tmp_path / "x", [record, bare])).traces
    assert [(p.source_id, p.text) for p in first.passages or ()] == [("x", "t1"), (None, "t2")]
    assert [(p.source_id, p.text) for p in second.passages or ()] == [("y", None)]


def test_the_user_names_columns_and_values(tmp_path: Path) -> None:
    path = write(tmp_path / "own.csv", 'frage;"sagt, er";quellen;risiko\nq;a;c;arg\n')
    found = read_file(
        path,
        map='question=frage,"answer=sagt, er",contexts=quellen,stakes=risiko',
        values="arg=high",
    )
    [trace] = found.traces
    assert (trace.question, trace.answer, list_texts(trace), trace.stakes) == (
        "q",
        "a",
        ["c"],
        "high",
    )
    assert found.said.startswith("read as table: question ← frage, answer ← sagt, er")
    turned = read_file(path, map='question=frage,"answer=sagt, er"', values="high=arg")
    assert turned.traces[0].attributes == {"quellen": "c", "risiko": "arg"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "found no column for the question (columns: frage, antwort)"),
        ({"map": "question=frage"}, "found no column for the answer (columns: frage, antwort)"),
        ({"map": "question=ask"}, "found no column 'ask', expected one of: frage, antwort"),
        ({"map": "quest=frage"}, "Unknown field 'quest' in --map. Known fields: question, answer,"),
        ({"map": "question"}, "--map: found 'question', expected NAME=NAME"),
        (
            {"map": "question=frage,answer=antwort", "values": "arg=schlimm"},
            "--values: neither 'arg' nor 'schlimm' is a value of ours. Known: ",
        ),
    ],
)
def test_what_is_not_there_is_said_in_one_line(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    path = write(tmp_path / "own.csv", "frage,antwort\nq,a\n")
    with pytest.raises(ClaimwiseError) as caught:
        read_file(path, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_without_answers_says_so(tmp_path: Path) -> None:
    testset = "user_input,reference_contexts,reference,synthesizer_name\nq,['c'],r,hop\n"
    with pytest.raises(InputError, match=r"a test set without responses \(columns: user_input"):
        read_file(write(tmp_path / "testset.csv", testset))
    with pytest.raises(InputError, match=r"found rows without questions \(1 in all\), expected a"):
        read_file(write_lines(tmp_path / "x.jsonl", [{"question": " ", "answer": "a"}]))
    golden = {"input": "q", "actual_output": None, "expected_output": "e", "source_file": None}
    with pytest.raises(InputError, match=r"found goldens without answers \(1 in all\)"):
        read_file(write_json(tmp_path / "goldens.json", [golden]))


def test_a_row_of_another_length_is_a_problem(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "question,answer\nq1,a1\nq2,a2,more\nq3,a3,,\nq4\n")
    found = read_file(path)
    assert [trace.question for trace in found.traces] == ["q1", "q3"]
    assert [(p.line, p.found) for p in found.problems] == [(3, "3 fields")]
    assert found.dropped == {"rows without an answer": 1}


def test_reasoning_is_never_the_answer(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "x", [{"query": "q", "output": "<think>\nLet me see.\n</think>\n\nBlue."}]
    )
    found = read_file(path)
    assert [trace.answer for trace in found.traces] == ["Blue."]
    assert found.dropped == {"reasoning parts": 1}


def test_a_failed_answer_keeps_why(tmp_path: Path) -> None:
    [trace] = read_file(
        write_lines(tmp_path / "x", [{"query": "q", "output": None, "error": "timed out"}])
    ).traces
    assert (trace.answer, trace.failure) == ("", "timed out")


def test_a_table_of_many_columns_groups_by_a_few(tmp_path: Path) -> None:
    record = {"question": "q", "answer": "a", "long": "x" * 200, "when": "2026-11-15T09:30:00Z"}
    record |= {f"k{n}": "v" for n in range(40)}
    found = read_file(write_lines(tmp_path / "x", [record]))
    assert len(found.traces[0].attributes) == 24
    assert found.dropped == {"other columns": 18}


def test_none_is_an_answer_and_no_context(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "question,answer,contexts\nHow many?,None,None\nq,N/A,c\n")
    assert [(t.answer, list_texts(t)) for t in read_file(path).traces] == [
        ("None", None),
        ("N/A", ["c"]),
    ]


@pytest.mark.parametrize("levels", [600, 100_000])
@pytest.mark.parametrize("name", ["question", "answer"])
def test_brackets_nested_deeply_are_one_line(tmp_path: Path, name: str, levels: int) -> None:
    fields = {"question": '"q"', "answer": '"a"', name: "[" * levels + '"x"' + "]" * levels}
    record = "{" + ", ".join(f'"{field}": {value}' for field, value in fields.items()) + "}\n"
    with pytest.raises(InputError) as caught:
        read_file(write(tmp_path / "x.jsonl", record))
    assert "nested too deeply" in str(caught.value)
    assert "\n" not in str(caught.value)
