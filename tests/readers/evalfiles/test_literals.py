"""Lists that were written as text are taken apart without evaluating anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.readers.evalfiles.literals import MAX_DEPTH, parse_literal

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=5))
def test_what_python_writes_is_read_as_it_was(value: list[Any]) -> None:
    assert parse_literal(repr(value)) == value


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_what_numpy_writes_is_read_item_by_item(value: list[str]) -> None:
    assert parse_literal("[" + "\n ".join(map(repr, value)) + "]") == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "[open('x')[0]]",
        "[x for x in y]",
        "['a' + 'b']",
        "['a'",
        "{'a': 1, 'b'}",
        "[1] says so",
        "plain",
        "",
        "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2),
        "[" * 100_000,
    ],
)
def test_anything_else_is_no_list(text: str) -> None:
    assert parse_literal(text) is None


def test_calls_become_objects_and_run_nothing() -> None:
    found = parse_literal("[Document(id=None, page_content='x', metadata={'n': 1.5})]")
    assert found == [{"id": None, "page_content": "x", "metadata": {"n": 1.5}}]
    assert parse_literal("array(['a', 'b'], dtype=object)") == ["a", "b"]
