"""Rows, objects and labelled blocks: which values they give, and for whom."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from claimwise.judges.evidence import EvidenceIndex
from claimwise.judges.records import find_records
from judges.judged import make_source
from support.growth import grows_evenly

RECORDS = {
    "a Markdown table": """Season so far:

| Player | Team | Points |
|---|:--|--:|
| **Ana Lind** | Harbour Larks | 1,930 |
| Bo Sund | Valley Foxes | 2,370 |

More next week.""",
    "CSV": "name,team,points\nAna Lind,Harbour Larks,1930\nBo Sund,Valley Foxes,2370\n",
    "JSON": '[{"name": "Ana Lind", "points": 1930}, {"name": "Bo Sund", "points": 2370}]',
    "JSON by key": '{"Ana Lind": {"points": 1930}, "Bo Sund": {"points": 2370}}',
    "JSON lines": '{"name": "Ana Lind", "points": 1930}\n{"name": "Bo Sund", "points": 2370}',
    "headings": "## Ana Lind\n- Points: 1930\n- Assists: 486\n\n## Bo Sund\n- Points: 2370\n",
    "a nested list": "- Ana Lind\n  - Points: 1930\n- Bo Sund\n  - Points: 2370\n",
    "bold names": "**Ana Lind**\nPoints: 1930\n\n1. **Bo Sund**:\n   - **Points:** 2370\n",
    "blocks": "Name: Ana Lind\nPoints: 1930\n\nName: Bo Sund\nPoints: 2370\n",
}


@pytest.mark.parametrize("text", RECORDS.values(), ids=RECORDS)
def test_a_value_knows_its_owner_and_its_attribute(text: str) -> None:
    cells = [cell for record in find_records(text) for cell in record.cells]
    points = [cell for cell in cells if cell.attribute.lower() == "points"]
    assert [cell.text.replace(",", "") for cell in points] == ["1930", "2370"]
    assert ["Ana Lind" in points[0].owner, "Bo Sund" in points[1].owner] == [True, True]
    assert all(text[cell.start : cell.end] == cell.text for cell in cells)


PROSE = [
    "He said, in short, that it rained.\nShe came, at noon, and left.\nThey slept, for once, well.",
    "Note: the office is closed on Sunday.\nThe fee: 5 euros.",
    "[1] The tower is 139 m tall. [2] It opened in 1931.",
    "| not a table |\n| at all |",
    "",
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_has_no_records(text: str) -> None:
    assert find_records(text) == []


def test_what_a_list_in_an_object_holds_belongs_to_the_object() -> None:
    (record,) = find_records('{"name": "Basic", "includes": ["e-mail", "chat"], "fee": null}')
    assert [(c.attribute, c.text) for c in record.cells] == [
        ("name", "Basic"), ("includes", "e-mail"), ("includes", "chat"),
    ]  # fmt: skip


def test_an_index_has_one_sentence_per_record_and_keeps_the_prose_around() -> None:
    index = EvidenceIndex([make_source(RECORDS["a Markdown table"])])
    texts = [sentence.text for sentence in index.sentences]
    assert "Player: Bo Sund, Team: Valley Foxes, Points: 2,370" in texts
    assert (texts[0], texts[-1]) == ("Season so far:", "More next week.")


def test_sentences_in_an_object_are_read_as_prose() -> None:
    told = "The tower is 139 m tall. " + "It was built by the harbour board for the fair of 1931."
    text = f'{{"id": 7, "text": "{told}"}}'
    index = EvidenceIndex([make_source(text)])
    prose = [s for s in index.sentences if s.record is None]
    assert [s.text for s in prose] == ["The tower is 139 m tall.", told.split(". ", 1)[1]]
    assert all(text[s.start : s.end] == s.text for s in prose)


@pytest.mark.parametrize(
    "unit",
    ["| a | 1 |\n", '{"a": {"b": 1}, ', "[[{", "a: b\n", "- x\n  - y: 1\n", "a,1\n", "**x**\n"],
)
def test_reading_records_takes_time_in_proportion(unit: str) -> None:
    head = "| k | v |\n|---|---|\n" if unit.startswith("|") else ""

    def work(size: int) -> Callable[[], object]:
        return partial(find_records, head + unit * size)

    assert grows_evenly(work, 500)
