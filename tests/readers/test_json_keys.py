"""A key that stands twice in an object is refused: nobody can say which one is meant."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.bench.labelled import read_set
from claimwise.errors import InputError
from claimwise.labelling.labelstudio_files import read_annotations
from claimwise.readers import read_rows
from claimwise.readers.answers import read_answer_files
from claimwise.readers.choose import read_one_trace
from claimwise.readers.documents import read_action_log, read_sources
from claimwise.readers.json_keys import RepeatedKey, find_repeated_key
from claimwise.types.rows import Answer, Label
from readers.bad_files import line_of


def with_key(line: bytes, name: str, value: object) -> bytes:
    """Return an object with one more key at its end."""
    return line.rstrip()[:-1] + f", {json.dumps(name)}: {json.dumps(value)}}}\n".encode()


LABEL = line_of(Label)
NESTED = line_of(Answer, claims=[{"claim_text": "Tea."}], contexts=[]).replace(
    b'{"claim_text": "Tea."', b'{"claim_text": "Tea.", "claim_text": "Coffee."'
)

# A reader, a file's content, and the line and the key that must be named.
FILES: dict[str, tuple[str, Callable[[Path], object], bytes, int, str]] = {
    "label": (
        "labels.jsonl", lambda path: list(read_rows([path])),
        LABEL + with_key(LABEL, "verdict", "contradicted"), 2, "verdict",
    ),
    "label with a type": (
        "mixed.jsonl", lambda path: list(read_rows([path])),
        with_key(with_key(LABEL, "type", "labels"), "labeler", "eve"), 1, "labeler",
    ),
    "the same value twice": (
        "labels.jsonl", lambda path: list(read_rows([path])),
        with_key(LABEL, "item_id", "q1"), 1, "item_id",
    ),
    "escaped": (
        "labels.jsonl", lambda path: list(read_rows([path])),
        LABEL.replace(b'"verdict"', b'"v\\u0065rdict": "stale", "verdict"'), 1, "verdict",
    ),
    "child": ("answers.jsonl", lambda path: list(read_rows([path])), NESTED, 1, "claim_text"),
    "source": (
        "s.jsonl", lambda path: read_sources([path]),
        b'{"source_id": "a", "source_text": "x"}\n\n'
        b'{"source_id": "b", "source_text": "x", "source_text": "y"}\n', 3, "source_text",
    ),
    "log": (
        "log", read_action_log,
        b'sent\n{"entry_text": "a", "entry_text": "b"}', 2, "entry_text",
    ),
    "answer": (
        "a.jsonl", lambda path: read_answer_files([path]),
        b'{"answer": "yes"}\n{"answer": "yes", "answer": "no"}\n', 2, "answer",
    ),
    "labelled claim": (
        "set.jsonl", read_set,
        b'{"document": "d", "claim": "c", "label": 1, "label": 0}\n', 1, "label",
    ),
    "trace": (
        "trace.json", read_one_trace,
        b'{\n "question": "Why?",\n "answer": "Yes.",\n "m": {"answer": 1},\n "answer": "No."\n}',
        5, "answer",
    ),
    "line of a trace": (
        "trace.jsonl", read_one_trace,
        b'{"attributes": {}}\n\n{"attributes": {}, "attributes": {"input.value": "x"}}\n',
        3, "attributes",
    ),
    "Label Studio": (
        "export.json", lambda path: read_annotations(path, {}),
        b'[\n {"data": {"claim_id": "a",\n  "claim_id": "b"}}\n]', 3, "claim_id",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "read", "content", "line", "key"), FILES.values(), ids=FILES)
def test_repeated_key_is_refused_with_its_line(
    name: str,
    read: Callable[[Path], object],
    content: bytes,
    line: int,
    key: str,
    tmp_path: Path,
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(
        f'{path}:{line}: found the key "{key}" twice, expected each key once'
    )
    assert len(str(caught.value).splitlines()) == 1


def test_value_of_a_span_with_a_repeated_key_stays_a_text(tmp_path: Path) -> None:
    inner = '{"question": "a", "question": "b"}'
    path = tmp_path / "trace.json"
    path.write_text(
        json.dumps({"attributes": {"input.value": inner, "output.value": "Yes."}}),
        encoding="utf-8",
    )
    assert read_one_trace(path).question == inner


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text('a"\\:{é\n', max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON)
def test_keys_that_differ_are_fine(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert find_repeated_key(text.encode()) is None


@given(st.dictionaries(st.text('a"\\:{é\n', max_size=2), JSON, min_size=1, max_size=4), st.data())
def test_repeated_key_is_found_at_its_line(value: dict[str, object], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(value)))
    text = json.dumps(value, indent=1)[:-2] + f",\n{json.dumps(name)} : 0\n}}"
    assert find_repeated_key(f"[[], {text}]".encode()) == RepeatedKey(name, text.count("\n"))


def test_number_of_any_length_is_left_alone() -> None:
    assert find_repeated_key(b'{"a": [' + b"9" * 5000 + b'], "b": {"c": 1e999}}') is None


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":2}',
        b'{"a": 1, "a" : 2}',
        b'{"a" :1,"a":2}',
        b'{"a"\n:1,"a"\t:2}',
        b'{"a":1,"\\u0061":2}',
        b'{"a":{"b":1},"a":2}',
        b'{"a":"\\":","a":2}',
        b'{"":1,"":2}',
        b'{"a:":1,"a:":2}',
    ],
)
def test_short_cut_misses_nothing(text: bytes) -> None:
    assert find_repeated_key(text) is not None
    assert find_repeated_key(b"[" + text + b"]") is not None
