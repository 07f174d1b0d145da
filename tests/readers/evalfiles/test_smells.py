"""What is suspicious in a file is said in plain words; a sound file is not."""

from __future__ import annotations

import msgspec

from claimwise.readers.smells import find_smells
from claimwise.types.traces import Passage, Trace


def make(number: int, **more: object) -> Trace:
    texts = more.pop("texts", [f"Source {number} says this. " * (number + 5)])
    passages = None if texts is None else tuple(Passage(text=text) for text in texts)  # type: ignore[attr-defined]
    fields = {"question": f"q{number}?", "answer": f"a{number}", "gold_answer": f"g{number}"}
    return Trace(origin="trace", place="x", passages=passages, **{**fields, **more})  # type: ignore[arg-type]


def test_a_sound_file_has_none() -> None:
    assert find_smells([make(n) for n in range(20)]) == []
    assert find_smells([]) == []
    assert find_smells([make(n, texts=None) for n in range(20)]) == []


def test_contexts_that_were_cut_off() -> None:
    cut = [make(n, texts=[(f"{n} is a word of a long text " * 40)[:500]]) for n in range(10)]
    [warning] = find_smells(cut)
    assert warning.startswith("10 of 10 contexts are exactly 500 characters long: they seem")
    whole = [make(n, texts=[f"{n}" + "x" * 498 + "."]) for n in range(10)]
    assert find_smells(whole) == []


def test_contexts_that_are_missing_empty_or_lists() -> None:
    traces = [make(n) for n in range(6)]
    assert find_smells([*traces, make(7, texts=None)]) == [
        "1 of 7 answers have no contexts recorded"
    ]
    assert find_smells([*traces, make(7, texts=[" "]), make(8, texts=[])]) == [
        "2 of 8 answers have empty contexts: their claims are not judged"
    ]
    [warning] = find_smells([*traces, make(7, texts=["['cut off', 'list"])])
    assert warning.startswith("1 of 7 answers have one context that looks like a list written")
    returned = Passage(text='[{"title": "what a tool found"}]', kind="tool_output")
    tool = msgspec.structs.replace(make(8), passages=(returned,))
    assert find_smells([*traces, tool]) == []


def test_rows_that_are_alike() -> None:
    same = {"answer": "I don't know.", "texts": ["The same."], "question": "Same?"}
    assert find_smells([make(n, **{"answer": "I don't know."}) for n in range(6)]) == [
        "6 of 6 answers are the same: “I don't know.”"
    ]
    assert find_smells([make(n, texts=["The same."]) for n in range(6)]) == [
        "all 6 answers have the same contexts"
    ]
    assert len(find_smells([make(n, **same) for n in range(6)])) == 2
    assert find_smells([make(n, **same) for n in range(4)]) == []


def test_answers_that_are_the_reference() -> None:
    [warning] = find_smells([make(n, answer=f"g{n}") for n in range(6)])
    assert warning.startswith("6 of 6 answers are equal to the reference answer")
