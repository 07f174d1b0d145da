from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.store import Store
from claimwise.store.parameters import find_parameters, number_parameters, rewrite_parameters


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select 1", []),
        ("select :a", ["a"]),
        ("select :a, :b, :a", ["a", "b"]),
        ("select :a:b", ["a", "b"]),
        ("select :a_1+:_b", ["a_1", "_b"]),
        ("select :1", []),
        ("select ':a'", []),
        ("select 'it''s :a', :b", ["b"]),
        ("select '', :b, ''", ["b"]),
        ("select '''', :b", ["b"]),
        ('select ":a", :b', ["b"]),
        ('select "x"" :a", :b', ["b"]),
        ("select 1 -- :a\n, :b", ["b"]),
        ("select 1 -- it's\n, :b", ["b"]),
        ("select /* :a ' */ :b", ["b"]),
        ("select /* :a\n -- */ :b", ["b"]),
        ("select '/*' , :a, '*/'", ["a"]),
        ("select '--' , :a", ["a"]),
        ("select x::text, :a::integer", ["a"]),
        ("select :a::text", ["a"]),
        ("select a[1:2]", []),
        ("select 'open :a", ["a"]),
        ("where x=:run_id and y<>:item_id)", ["run_id", "item_id"]),
    ],
)
def test_parameters_are_found(sql: str, names: list[str]) -> None:
    assert find_parameters(sql) == names
    assert rewrite_parameters(sql, lambda name: f":{name}") == sql


def test_parameters_are_numbered_by_first_use() -> None:
    sql = "select :b, ':b', :a, :b::text -- :a"
    assert number_parameters(sql) == ("select $1, ':b', $2, $1::text -- :a", ["b", "a"])


def test_parameters_next_to_each_other_are_rewritten() -> None:
    assert rewrite_parameters(":a:b", "${}".format) == "$a$b"


NAMES = st.from_regex(r"\A[A-Za-z_][A-Za-z_0-9]{0,5}\Z")
ANYTHING = st.text(st.sampled_from(":ab'\"-/*\n $1é"), max_size=12) | st.text(max_size=8)
QUOTED = st.one_of(
    ANYTHING.map(lambda text: "'" + text.replace("'", "''") + "'"),
    ANYTHING.map(lambda text: '"' + text.replace('"', '""') + '"'),
    ANYTHING.map(lambda text: "--" + text.replace("\n", " ") + "\n"),
    ANYTHING.map(lambda text: "/*" + text.replace("*/", "").replace("/", "") + " */"),
)
PIECES = st.lists(
    st.one_of(QUOTED.map(lambda text: (text, None)), NAMES.map(lambda name: (f":{name}", name))),
    max_size=8,
)


@given(PIECES)
def test_quoted_text_is_never_touched(pieces: list[tuple[str, str | None]]) -> None:
    sql = " ".join(text for text, _ in pieces)
    expected = " ".join(text if name is None else f"<{name}>" for text, name in pieces)
    assert rewrite_parameters(sql, "<{}>".format) == expected
    names = [name for _, name in pieces if name is not None]
    assert find_parameters(sql) == list(dict.fromkeys(names))
    numbered, order = number_parameters(sql)
    assert order == list(dict.fromkeys(names))
    wanted = " ".join(t if n is None else f"${order.index(n) + 1}" for t, n in pieces)
    assert numbered == wanted


@pytest.mark.parametrize(
    "sql",
    [
        "select ':run', :a",
        "select 'it''s' || ':b', cast(:a as text)",
        'select 1 as ":x", :a as y',
        "select /* :c */ :a -- :d",
    ],
)
def test_rewritten_sql_runs_on_both_engines(store: Store, sql: str) -> None:
    typed = sql.replace(":a", "cast(:a as text)") if "cast" not in sql else sql
    (row,) = store.query(typed, {"a": "here"})
    assert row[-1] == "here"


def test_same_parameter_twice_is_bound_once(store: Store) -> None:
    sql = "select cast(:a as text), cast(:b as text), cast(:a as text)"
    assert store.query(sql, {"a": "1", "b": "2"}) == [("1", "2", "1")]
