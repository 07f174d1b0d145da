"""Near-duplicate questions: found in groups, without comparing all with all."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimwise.metrics import near_questions
from claimwise.metrics.near_questions import describe_near_questions, group_near_questions
from claimwise.store import open_store
from small_data import answer, item, load, run, source

WORDINGS = {
    "a": "How long is the warranty on the blue ceramic kettle?",
    "b": "The blue ceramic kettle: how long is its warranty?",
    "c": "What is the warranty of the blue ceramic kettles?",
    "d": "How long is the warranty on the red steel toaster?",
    "e": "Can I return an opened kettle?",
}


def test_wordings_of_one_question_are_a_group() -> None:
    assert group_near_questions(WORDINGS) == {"a": "a", "b": "a", "c": "a"}
    assert group_near_questions({}) == {}
    assert group_near_questions({"a": "?", "b": "?"}) == {}


def test_groups_are_those_of_all_pairs() -> None:
    words = ["kettle", "toaster", "warranty", "price", "delivery", "colour", "return", "repair"]
    questions = {f"q{n:03}": " ".join(words[(n * k) % 8] for k in range(1, 6)) for n in range(60)}
    groups = group_near_questions(questions)
    same = {q: frozenset(text.split()) for q, text in questions.items()}
    for one, stems in same.items():
        for other, others in same.items():
            if one < other and len(stems & others) >= 0.75 * len(stems | others):
                assert groups[one] == groups[other]


def test_few_pairs_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bool] = []

    def compare(one: frozenset[str], other: frozenset[str]) -> bool:
        compared.append(len(one & other) >= 0.75 * len(one | other))
        return compared[-1]

    monkeypatch.setattr(near_questions, "_are_near", compare)
    marks = ["".join(chr(97 + int(digit)) for digit in f"{n // 2:03}") for n in range(300)]
    names = [f"kettle{mark} in norway{mark} for lid{mark}" for mark in marks]
    found = group_near_questions(
        {f"q{n:03}": f"Warranty of {name}" for n, name in enumerate(names)}
    )
    assert len(set(found.values())) == 150
    assert len(compared) <= 600  # of 44,850 pairs


@pytest.mark.parametrize(("copies", "warned"), [(1, False), (3, True)])
def test_rates_are_warned_about(tmp_path: Path, copies: int, warned: bool) -> None:
    records = [source(), run()]
    for number in range(12):
        for copy in range(copies):
            name = f"i{number:02}-{copy}"
            records += [
                item(name, query=f"Who repairs model{number} of maker{number}{'?' * copy}"),
                answer(name, "c"),
            ]
    with open_store(tmp_path / "store.db", create=True) as store:
        load(store, *records)
        found = describe_near_questions(store, "r")
        assert (found is not None) == warned
        if found is not None:
            assert found.startswith(
                "36 of 36 items ask nearly what another item asks, such as i00-0"
            )
        assert describe_near_questions(store, "r", cluster="query_type") is None
