"""The wording of errors: one for one mistake, in one line, in plain English."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from claimwise.errors import InputError, Problem, describe_unknown, make_printable

SOURCE = Path(__file__).parent.parent / "src/claimwise"
# Guillemets; “mend” for fix; “anew” for again; “instrument” for judge.
BANNED = re.compile(r"«|»|\bmend\b|\banew\b|\binstruments? ")


def test_printed_text_steers_no_terminal_and_keeps_its_spaces() -> None:
    assert make_printable("12\u00a0400 yen、\u3000\x1b[2J\n") == r"12 400 yen、 \x1b[2J\n"


def test_unknown_names_come_with_the_known_ones() -> None:
    assert describe_unknown("metric", "x", ["a", "b"]) == "Unknown metric 'x'. Known metrics: a, b."
    assert (
        describe_unknown("run", "x\n", [], where="claimwise.db", advice="Import one.")
        == r"Unknown run 'x\n' in claimwise.db. There are no runs yet. Import one."
    )
    told = describe_unknown("run", "x", (f"r{number}" for number in range(30)))
    assert told.endswith("r18, r19, …")
    assert "r20" not in told


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ("", "a.txt:3: name: no such file"),
        ("text", "a.txt:3: name: found no such file, expected text"),
    ],
)
def test_problems_leave_out_what_goes_without_saying(expected: str, told: str) -> None:
    problem = Problem(path="a.txt", line=3, field="name", found="no such file", expected=expected)
    assert str(InputError([problem])) == told


def list_messages(path: Path) -> list[str]:
    """Return the texts of all errors that a module raises, as they are written."""
    text = path.read_text("utf-8")
    raised = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Raise)]
    return [ast.get_source_segment(text, node) or "" for node in raised]


def test_no_error_has_a_banned_wording() -> None:
    found = [
        (str(path.relative_to(SOURCE)), message)
        for path in SOURCE.rglob("*.py")
        for message in list_messages(path)
        if BANNED.search(message)
    ]
    assert found == []
