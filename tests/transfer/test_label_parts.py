"""A large file of labels goes in by several processes, with the same result and the same words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from claimwise.errors import InputError
from claimwise.store import LoadCount, Store, open_store
from claimwise.transfer import import_files, label_parts
from small_data import SOURCE, Record, answer, item, label, load, run, source

ITEMS = 40
TALL, OLD, COST = "It is 139 m tall.", "It opened in 1999.", "Entry is 5 euros."
SPANS = {TALL: "139 m tall", OLD: "opened in 1999", COST: "5 euros"}
DUMPS = {
    "labels": "select * from labels order by run_id, item_id, claim_id, labeler, labeled_at",
    "labelers": "select * from labelers order by labeler",
    "index": "select run_id, item_id, claim_id, judgement, claim_rank, verdict, unscored, labeler, "
    "source_id, dispute from claim_index order by run_id, item_id, claim_id, judgement",
}


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_parts, "SMALLEST_BYTES", 1)


def fill(path: Path) -> Path:
    """Make a store with claims, a failed judgement, and a label that was taken back."""
    with open_store(path, create=True) as store:
        load(store, source(), *(item(f"q{n}") for n in range(ITEMS)), run(),
             *(answer(f"q{n}", TALL, OLD, COST) for n in range(ITEMS)))  # fmt: skip
        load(store, {"type": "unscored", "run_id": "r", "item_id": "q7", "claim_text": OLD,
                     "judgement": "grounded", "labeler": "judge:m", "reason": "refusal",
                     "failed_at": "2026-01-20T00:00:00Z"})  # fmt: skip
    return path


def take_back(path: Path) -> None:
    """Take back labels: one that comes again, and one beside which others come."""
    early = "2026-01-15T00:00:00Z"
    with open_store(path) as store:
        load(store, *(labelled(n, TALL, labeled_at=early) for n in (3, 4)))
        ids = store.query("select item_id, claim_id from labels order by item_id")
        load(store, *({"type": "label_retractions", "run_id": "r", "item_id": item_id,
                       "claim_id": claim_id, "judgement": "grounded", "labeler": "verifier:v",
                       "labeled_at": early, "retracted_at": "2026-01-16T00:00:00Z",
                       "retracted_by": "ana"} for item_id, claim_id in ids))  # fmt: skip


def labelled(number: int, text: str, **more: Any) -> Record:
    spoken = {"supporting_span": SPANS[text], "source_id": "doc", "labeler": "verifier:v"}
    return {**label(f"q{number}", text, "supported"), **spoken, **more}


def by_one_judge() -> list[Record]:
    return [labelled(n, text, confidence=0.5 + n / 100) for n in range(ITEMS) for text in SPANS]


def by_many() -> list[Record]:
    """Labels of a judge, then of two people who differ, by id or text, with offsets or without."""
    more = [labelled(n, TALL, labeler="ana", claim_type="factual") for n in range(0, ITEMS, 2)]
    more += [label(f"q{n}", TALL, "unlinked", labeler="ben") for n in range(0, ITEMS, 4)]
    more += [
        labelled(n, COST, labeler="cho", span_start=SOURCE.index("5 euros")) for n in range(ITEMS)
    ]
    return [*by_one_judge(), *more]


def write(folder: Path, records: list[Record], name: str = "labels.jsonl") -> Path:
    path = folder / name
    lines = (json.dumps({k: v for k, v in one.items() if k != "type"}) for one in records)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def dump(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    return {name: store.query(sql) for name, sql in DUMPS.items()}


def import_both_ways(
    folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> Iterator[tuple[object, dict[str, list[tuple[Any, ...]]]]]:
    """Yield what the usual import says and leaves, then what several processes do."""
    parted: list[LoadCount | None] = []
    usual = label_parts.import_label_parts

    def watch(*given: Any, **named: Any) -> LoadCount | None:
        parted.append(usual(*given, **named))
        return parted[-1]

    monkeypatch.setattr("claimwise.transfer.files.import_label_parts", watch)
    for processes in (1, 2):
        place = folder / f"by-{processes}.db"
        if not place.exists():
            fill(place)
        with open_store(place) as store:
            said: object
            try:
                said = import_files(store, [file], processes=processes, **options)
            except InputError as error:
                said = str(error)
            assert set(store.settle().values()) == {0}
            yield said, dump(store)
    assert parted[0] is None
    monkeypatch.undo()
    yield parted[1], {}


@pytest.mark.parametrize("records", [by_one_judge, by_many])
def test_parts_leave_what_the_usual_import_leaves(
    records: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, records())
    usual, parts, (added, _) = import_both_ways(tmp_path, file, monkeypatch)
    assert parts == usual
    assert isinstance(added, LoadCount)
    assert added.added == len(records()) == len(parts[1]["labels"])


def test_parts_keep_what_was_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for processes in (1, 2):
        take_back(fill(tmp_path / f"by-{processes}.db"))
    usual, parts, (added, _) = import_both_ways(tmp_path, write(tmp_path, by_many()), monkeypatch)
    assert parts == usual
    assert isinstance(added, LoadCount)


def test_labels_against_the_guide_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [*by_one_judge(), label("q1", TALL, "supported", labeler="ana")]
    file = write(tmp_path, records)
    usual, parts, (added, _) = import_both_ways(tmp_path, file, monkeypatch, lenient=True)
    assert parts == usual
    assert isinstance(added, LoadCount)
    assert added.against_guide == 1


WRONG: dict[str, list[Record] | str] = {
    "a verdict": [labelled(5, TALL, verdict="right", labeler="ana")],
    "a claim that is not there": [labelled(5, TALL, claim_text="It is blue.")],
    "an item that is not there": [labelled(ITEMS, TALL)],
    "a run that is not there": [labelled(5, TALL, run_id="other")],
    "a guide that is not there": [labelled(5, TALL, labeler="ana", guide_version="g9")],
    "a span that is not there": [labelled(5, TALL, labeler="ana", supporting_span="140 m")],
    "a span somewhere else": [labelled(5, TALL, labeler="ana", span_start=3)],
    "a source that is not there": [labelled(5, TALL, labeler="ana", source_id="page")],
    "another text": [labelled(5, TALL, claim_id="c1:none", labeler="ana")],
    "another type": [labelled(5, TALL, labeler="ana", claim_type="action")],
    "a judge as a person": [labelled(5, TALL, labeled_at="2026-03-01", label_kind="human")],
    "against the guide": [label("q5", TALL, "supported", labeler="ana")],
    "ahead of now": [labelled(5, TALL, labeler="ana", labeled_at="2999-01-01T00:00:00Z")],
    "before the calendar": [labelled(5, TALL, labeled_at="0001-01-01T00:00:00+10:00")],
    "twice": [labelled(5, TALL), labelled(5, TALL, verdict="overreach")],
    "a NUL": '{"run_id": "r", "item_id": "q5", "claim_text": "a\\u0000", "verdict": "supported"}\n',
    "a key twice": '{"run_id": "r", "run_id": "r", "item_id": "q5", "verdict": "unlinked", '
    '"labeler": "ana", "claim_text": "It is 139 m tall.", "labeled_at": "2026-02-01T00:00:00Z"}\n',
    "an object on two lines": '{"run_id": "r",\n"item_id": "q5"}\n',
    "no JSON": "not json\n",
    "an unknown field": [labelled(5, TALL, labeler="ana", mood="good")],
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_parts_refuse_what_the_usual_import_refuses(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its words: the line counts from the file's beginning, whichever part it was in."""
    made = WRONG[wrong]
    file = write(tmp_path, [*by_one_judge(), *([] if isinstance(made, str) else made)])
    if isinstance(made, str):
        file.write_text(file.read_text(encoding="utf-8") + made, encoding="utf-8")
    usual, parts, (added, _) = import_both_ways(tmp_path, file, monkeypatch)
    assert added is None
    assert parts == usual
    assert f"labels.jsonl:{3 * ITEMS + 1}" in str(parts[0])
    assert parts[1]["labels"] == []


def test_parts_that_are_stored_already_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, by_one_judge())
    list(import_both_ways(tmp_path, file, monkeypatch))
    monkeypatch.setattr(label_parts, "SMALLEST_BYTES", 1)
    usual, parts, (added, _) = import_both_ways(tmp_path, file, monkeypatch)
    assert added is None
    assert parts == usual
    assert "added=0" in str(parts[0])


def test_a_lost_process_costs_no_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost:
        def result(self) -> object:
            raise BrokenProcessPool

    monkeypatch.setattr(ProcessPoolExecutor, "submit", lambda *given: Lost())
    with open_store(fill(tmp_path / "s.db")) as store:
        import_files(store, [write(tmp_path, by_one_judge())], processes=2)
        assert store.count_rows()["labels"] == 3 * ITEMS


@pytest.mark.parametrize("name", ["labels.csv", "labels.jsonl.gz", "items.jsonl"])
def test_other_files_go_the_usual_way(name: str, tmp_path: Path) -> None:
    with open_store(fill(tmp_path / "s.db")) as store:
        (tmp_path / name).write_bytes(b"{}\n")
        assert (
            label_parts.import_label_parts(
                store, [tmp_path / name], None, lenient=False, processes=2
            )
            is None
        )
