from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.errors import InputError
from claimwise.labelling import labelstudio_files
from claimwise.labelling.labelstudio import export_round, export_run_tasks, import_annotations
from claimwise.labelling.queue import (
    adjudicate,
    read_progress,
    save_label,
    skip_task,
    take_task,
    undo_label,
)
from claimwise.labelling.values import Choice
from claimwise.store import Store, open_store
from claimwise.types.verdicts import CHOICES
from small_data import answer, label, load, run
from support.round_data import CLAIMS, EMOJI, NOW, UNLINKED, draw, fill, span

AT = "2026-02-03T10:00:00.000000Z"
COLUMNS = (
    "item_id, claim_id, verdict, source_id, supporting_span, span_start, covered_text, reason, "
    "labeler, labeled_at, label_kind, guide_version, inclusion_probability"
)

Task = dict[str, Any]


@pytest.fixture
def filled(store: Store) -> Store:
    fill(store)
    return store


def verdict(told: str) -> Task:
    return {"from_name": "verdict", "to_name": "claim", "type": "choices",
            "value": {"choices": [told]}}  # fmt: skip


def region(start: int, end: int, text: str | None, to: str = "source_1") -> Task:
    value: Task = {"start": start, "end": end, "labels": ["span"]}
    if text is not None:
        value["text"] = text
    return {"from_name": "span_1", "to_name": to, "type": "labels", "value": value}


def annotate(task: Task, *result: Task, **more: Any) -> Task:
    """Return the task as Label Studio exports it, with one annotation."""
    told = {
        "id": 9, "completed_by": 7, "result": list(result), "was_cancelled": False,
        "ground_truth": False, "created_at": AT, "updated_at": AT, "lead_time": 4.2,
    }  # fmt: skip
    return {"id": 501, "data": task["data"], "annotations": [{**told, **more}], "project": 3}


def write(folder: Path, document: Any) -> Path:
    path = folder / "export.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def task_of(store: Store, claim: str = CLAIMS[1]) -> Task:
    tasks = export_run_tasks(store, "r", "grounded").tasks
    return next(task for task in tasks if task["data"]["claim"] == claim)


def bring(store: Store, folder: Path, *tasks: Task, **names: str) -> Any:
    return import_annotations(store, write(folder, list(tasks)), "r", names)


def count(store: Store) -> int:
    return int(store.query("select count(*) from labels")[0][0])


# There and back.


def label_all(store: Store) -> None:
    made = draw(store, overlap=0.3)
    choices = {
        CLAIMS[0]: span("The tower is 139 m tall.", reason="says so"),
        CLAIMS[1]: UNLINKED,
        CLAIMS[2]: span("Entry costs 5 euros.", verdict="overreach", covered_text="Entry costs"),
        "I refunded you.": Choice(verdict="supported", entry_id="e1"),
    }
    for who in ("ana", "ben"):
        while (task := take_task(store, made.round_id, who, NOW)) is not None:
            save_label(store, task.task_id, who, choices[task.claim_text], NOW)
    adjudicate(
        store, task_id_of(store), "eve", span("é is 2 €.", "tea", verdict="contradicted"), NOW
    )


def task_id_of(store: Store) -> str:
    sql = "select task_id from annotation_tasks order by position limit 1"
    return str(store.query(sql)[0][0])


@pytest.mark.each_engine
def test_labels_come_back_as_they_went(place: str, tmp_path: Path) -> None:
    with open_store(place, create=True) as store:
        fill(store)
        label_all(store)
        made = store.query("select round_id from annotation_rounds")[0][0]
        exported = export_round(store, made)
        labels = store.query(f"select {COLUMNS} from labels order by 1, 2, 9, 10")
        path = write(tmp_path, exported.tasks)
        again = import_annotations(store, path, "r", {})
        assert (again.read, again.added) == (len(labels), 0)
    with open_store(tmp_path / "other.db", create=True) as other:
        fill(other)
        draw(other, overlap=0.3)
        assert other.query("select round_id from annotation_rounds") == [(made,)]
        done = import_annotations(other, path, "r", {})
        assert (done.read, done.added, done.cancelled) == (14, 14, 0)
        copied = other.query(f"select {COLUMNS} from labels order by 1, 2, 9, 10")
        assert [tuple(map(str, row)) for row in copied] == [tuple(map(str, r)) for r in labels]
        progress = read_progress(other, made, NOW)
        assert (progress.done, progress.slots) == (13, 13)
        assert take_task(other, made, "cyd", NOW) is None
        assert import_annotations(other, path, "r", {}).added == 0
        assert other.audit() == []


@pytest.mark.each_engine
def test_closed_book_labels_come_back(place: str, tmp_path: Path) -> None:
    with open_store(place, create=True) as store:
        fill(store)
        made = draw(store, judgement="closed_book")
        task = take_task(store, made.round_id, "ana", NOW)
        assert task is not None
        choice = Choice(verdict="false", reason="no")
        save_label(store, task.task_id, "ana", choice, NOW)
        exported = export_round(store, made.round_id)
        assert not any(name.startswith("source_") for name in exported.tasks[0]["data"])
        path = write(tmp_path, exported.tasks)
    with open_store(tmp_path / "other.db", create=True) as other:
        fill(other)
        assert import_annotations(other, path, "r", {}).added == 1
        rows = other.query("select label, decision_basis, labeler from closed_book_labels")
        assert rows == [("false", "no", "ana")]


@pytest.mark.each_engine
def test_export_is_blind_unless_predictions_are_asked_for(filled: Store) -> None:
    told = label("q0", CLAIMS[0], "contradicted", labeler="verifier:v", confidence=0.7,
                 source_id="tea", supporting_span="é is 2 €.", reason="SECRET")  # fmt: skip
    load(filled, told)
    assert "verifier:v" not in json.dumps(export_run_tasks(filled, "r", "grounded").tasks)
    made = export_run_tasks(filled, "r", "grounded", predictions=True)
    (found,) = [p for task in made.tasks for p in task.get("predictions", [])]
    assert (found["model_version"], found["score"]) == ("verifier:v", 0.7)
    place = next(one for one in found["result"] if one["type"] == "labels")
    task = next(task for task in made.tasks if task.get("predictions"))
    assert task["data"][place["to_name"] + "_id"] == "tea"
    value = place["value"]
    assert task["data"][place["to_name"]][value["start"] : value["end"]] == "é is 2 €."


@pytest.mark.parametrize("judgement", ["grounded", "closed_book"])
def test_config_names_what_tasks_hold(filled: Store, judgement: Any) -> None:
    made = export_run_tasks(filled, "r", judgement)
    tree = ElementTree.fromstring(made.config)
    names = {tag.get("name") for tag in tree.iter() if tag.get("name")}
    for tag in tree.iter():
        assert tag.get("toName") is None or tag.get("toName") in names
        value = tag.get("value") or ""
        if value.startswith("$"):
            assert all(value[1:] in task["data"] for task in made.tasks)
    choices = [tag.get("value") for tag in tree.iter("Choice")]
    assert choices == list(CHOICES[judgement])


# Reading what others wrote.


@pytest.mark.each_engine
def test_annotation_becomes_a_label(filled: Store, tmp_path: Path) -> None:
    text = "It opened in 1999."
    task = task_of(filled)
    start = task["data"]["source_1"].index(text)
    told = annotate(task, verdict("supported"), region(start, start + len(text), text))
    done = bring(filled, tmp_path, told)
    assert (done.read, done.added) == (1, 1)
    assert filled.query("select labeler, label_kind, supporting_span, span_start from labels") == [
        ("labelstudio-7", "human", text, start)
    ]
    assert bring(filled, tmp_path, told).added == 0
    assert filled.audit() == []


@pytest.mark.each_engine
@pytest.mark.same_sql
@pytest.mark.parametrize(
    ("by", "name"),
    [
        (7, "ana"),
        ({"id": 7, "email": "a@b.example"}, "ana"),
        ({"id": 8, "email": "a@b.example"}, "a@b.example"),
        ("a@b.example", "a@b.example"),
        (8, "labelstudio-8"),
    ],
)
def test_labelers_are_named(filled: Store, tmp_path: Path, by: Any, name: str) -> None:
    told = annotate(task_of(filled), verdict("unlinked"), completed_by=by)
    bring(filled, tmp_path, told, **{"7": "ana"})
    assert filled.query("select labeler from labels") == [(name,)]


def test_cancelled_annotations_are_counted_and_left_out(filled: Store, tmp_path: Path) -> None:
    told = annotate(task_of(filled), verdict("unlinked"), was_cancelled=True)
    done = bring(filled, tmp_path, told)
    assert (done.read, done.added, done.cancelled) == (0, 0, 1)
    assert count(filled) == 0


@pytest.mark.each_engine
def test_changed_annotation_is_a_later_label(filled: Store, tmp_path: Path) -> None:
    task = task_of(filled)
    text = task["data"]["source_1"][:24]
    bring(filled, tmp_path, annotate(task, verdict("unlinked")))
    later = {"updated_at": "2026-02-04T10:00:00+01:00"}
    bring(filled, tmp_path, annotate(task, verdict("contradicted"), region(0, 24, text), **later))
    assert filled.query("select verdict, cast(labeled_at as text) from deciding_labels") == [
        ("contradicted", "2026-02-04 09:00:00")
    ]
    assert count(filled) == 2


def at_tea(start: int, end: int, text: str | None) -> Callable[[Task], Task]:
    def make(task: Task) -> Task:
        data = {**task["data"], "source_1": EMOJI, "source_1_id": "tea"}
        return annotate({"data": data}, verdict("supported"), region(start, end, text))

    return make


TEA = EMOJI.index("Tea")


@pytest.mark.each_engine
@pytest.mark.parametrize("shift", [0, 1], ids=["characters", "utf-16"])
def test_both_ways_of_counting_are_understood(filled: Store, tmp_path: Path, shift: int) -> None:
    start, end = TEA + shift, TEA + 3 + shift
    bring(filled, tmp_path, at_tea(start, end, "Tea")(task_of(filled)))
    assert filled.query("select supporting_span, span_start from labels") == [("Tea", TEA)]


@given(st.text("a€🍵é\n ", min_size=1, max_size=20), st.data())
def test_regions_are_found_however_they_are_counted(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    units = [len(text[:place].encode("utf-16-le")) // 2 for place in (start, end)]
    task = labelstudio_files._Task(data={"source_1": text})
    for first, last in ((start, end), units):
        part = text[start:end].replace("\n", "\\n") if first % 2 else text[start:end]
        value = {"start": first, "end": last, "text": part}
        found = labelstudio_files._Region(to_name="source_1", value=value)
        place, told = labelstudio_files._locate(task, found)
        assert told == text[start:end] == text[place : place + len(told)]


BAD: dict[str, tuple[Callable[[Task], Task], str]] = {
    "no_verdict": (lambda t: annotate(t), "no verdict"),
    "two_verdicts": (lambda t: annotate(t, verdict("unlinked"), verdict("stale")), "2 choices"),
    "unknown_verdict": (lambda t: annotate(t, verdict("fine")), "expected one of supported"),
    "no_span": (lambda t: annotate(t, verdict("supported")), "supported needs a span"),
    "two_spans": (
        lambda t: annotate(t, verdict("supported"), region(0, 3, "The"), region(0, 3, "The")),
        "2 spans",
    ),
    "other_letters": (
        lambda t: annotate(t, verdict("supported"), region(0, 3, "Any")), "letter by letter",
    ),
    "beyond_the_end": (
        lambda t: annotate(t, verdict("supported"), region(9000, 9010, None)), "letter by letter",
    ),
    "backwards": (
        lambda t: annotate(t, verdict("supported"), region(9, 3, None)), "an end after the start",
    ),
    "offset_of_text": (
        lambda t: annotate(t, verdict("supported"), region("0", True, None)),  # type: ignore[arg-type]
        "an offset into the text",
    ),
    "huge_offset": (
        lambda t: annotate(t, verdict("supported"), region(0, 10**30, None)), "an offset",
    ),
    "unclear_offset": (at_tea(TEA, TEA + 3, None), "letter by letter"),
    "no_such_document": (
        lambda t: annotate(t, verdict("supported"), region(0, 3, "The", "source_99")),
        "no source_99",
    ),
    "tampered_document": (
        lambda t: annotate({"data": {**t["data"], "source_1": "I made this up."}},
                           verdict("supported"), region(0, 6, "I made")),
        "letter by letter",
    ),
    "stale_that_holds": (
        lambda t: annotate(t, verdict("stale"), region(0, 3, "The")), "still held",
    ),
    "overreach_without_part": (
        lambda t: annotate(t, verdict("overreach"), region(0, 3, "The")), "the part of the claim",
    ),
    "unknown_claim": (
        lambda t: annotate({"data": {**t["data"], "claim_id": "c1:forged"}}, verdict("unlinked")),
        "the claim 'c1:forged'",
    ),
    "foreign_task": (
        lambda t: annotate({"data": {"text": "x"}}, verdict("unlinked")), "no item_id",
    ),
    "nobody": (lambda t: annotate(t, verdict("unlinked"), completed_by=None), "no completed_by"),
    "an_instrument": (
        lambda t: annotate(t, verdict("unlinked"), completed_by=None, labeler="verifier:x"),
        "a person's name",
    ),
    "no_time": (
        lambda t: annotate(t, verdict("unlinked"), created_at=None, updated_at=None),
        "no created_at",
    ),
    "time_ahead": (
        lambda t: annotate(t, verdict("unlinked"), updated_at="9999-12-31T23:59:59.999999Z"),
        "the time 9999-12-31T23:59:59.999999, more than a day ahead of now",
    ),
    "odd_time": (lambda t: annotate(t, verdict("unlinked"), updated_at="soon"), "the time 'soon'"),
    "null_character": (
        lambda t: annotate(t, verdict("unlinked"), {
            "from_name": "reason", "type": "textarea", "value": {"text": ["a\x00"]}}),
        "not text",
    ),
    "reason_of_numbers": (
        lambda t: annotate(t, verdict("unlinked"), {"from_name": "reason", "value": {"text": [7]}}),
        "not a list of texts",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_annotation_is_told_in_one_line_and_nothing_is_written(
    filled: Store, tmp_path: Path, case: str
) -> None:
    make, message = BAD[case]
    task = task_of(filled)
    good = annotate(task, verdict("unlinked"))
    with pytest.raises(InputError) as caught:
        bring(filled, tmp_path, good, make(task))
    assert message in str(caught.value)
    assert "task 501, annotation 1: found" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert count(filled) == 0


def test_many_problems_are_cut_short(filled: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        bring(filled, tmp_path, *[annotate(task_of(filled))] * 30)
    assert len(str(caught.value).splitlines()) == 21


@pytest.mark.parametrize(
    "text",
    ["", "nothing", "{}", "[1]", '[{"data": 1}]', '[{"data": {}, "annotations": {}}]', "\xff",
     '[{"data": {"a": "\\ud800"}}]', "[" * 100_000, '[{"data": ' * 3000],
)  # fmt: skip
def test_malformed_files_are_refused_in_one_line(filled: Store, tmp_path: Path, text: str) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="a list of tasks") as caught:
        import_annotations(filled, path, "r", {})
    assert len(str(caught.value).splitlines()) == 1


def test_missing_and_oversized_files_are_refused(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="no such file"):
        import_annotations(filled, tmp_path / "nothing.json", "r", {})
    path = write(tmp_path, [])
    monkeypatch.setattr(labelstudio_files, "LARGEST_FILE", 1)
    with pytest.raises(InputError, match="export in parts"):
        import_annotations(filled, path, "r", {})


@pytest.mark.each_engine
def test_rounds_of_another_run_lend_nothing(filled: Store, tmp_path: Path) -> None:
    task = task_of(filled)
    told = annotate({"data": {**task["data"], "round_id": "forged"}}, verdict("unlinked"))
    bring(filled, tmp_path, told)
    assert filled.query("select guide_version, inclusion_probability from labels") == [(None, None)]


def test_tasks_of_another_run_are_refused_though_the_claims_are_the_same(
    filled: Store, tmp_path: Path
) -> None:
    load(filled, run("other"), answer("q0", *CLAIMS, run_id="other"))
    told = annotate(export_run_tasks(filled, "other", "grounded").tasks[0], verdict("unlinked"))
    with pytest.raises(InputError, match=r"of run 'other', expected a claim of run 'r': is --run"):
        bring(filled, tmp_path, told)
    assert count(filled) == 0


@pytest.mark.each_engine
def test_what_was_said_before_a_round_or_taken_back_fills_no_slot(
    filled: Store, tmp_path: Path
) -> None:
    load(filled, label("q0", CLAIMS[1], "unlinked", labeled_at="2026-01-20T00:00:00Z"))
    made = draw(filled, again=True)
    bring(filled, tmp_path, *export_round(filled, made.round_id).tasks)
    assert read_progress(filled, made.round_id, NOW).done == 0
    task = take_task(filled, made.round_id, "ben", NOW)
    assert task is not None
    save_label(filled, task.task_id, "ben", UNLINKED, NOW)
    exported = export_round(filled, made.round_id).tasks
    undo_label(filled, task.task_id, "ben", NOW)
    skip_task(filled, task.task_id, "ben", "unclear", NOW)
    done = bring(filled, tmp_path, *exported)
    assert done.added == 0
    assert read_progress(filled, made.round_id, NOW).done == 0


# One annotation, one person.


@pytest.mark.each_engine
def test_another_name_makes_no_second_person(filled: Store, tmp_path: Path) -> None:
    tasks = [annotate(task_of(filled, text), verdict("unlinked"), id=number)
             for number, text in enumerate(CLAIMS)]  # fmt: skip
    assert bring(filled, tmp_path, *tasks[:2], **{"7": "ana"}).added == 2
    again = bring(filled, tmp_path, *tasks[:2], **{"7": "Ana Lopez"})
    assert (again.added, again.renamed) == (0, {"Ana Lopez": "ana"})
    # What the same user adds or changes later is by the same person too.
    later = "2026-02-03T11:00:00.000000Z"
    changed = annotate(tasks[0], verdict("unlinked"), region_reason("now sure"), id=0,
                       updated_at=later)  # fmt: skip
    assert bring(filled, tmp_path, changed, tasks[1], tasks[2]).added == 2
    assert filled.query("select distinct labeler from labels") == [("ana",)]
    assert filled.query("select distinct labeler from imported_annotations") == [("ana",)]


@pytest.mark.each_engine
def test_labels_of_older_versions_are_known_by_their_time(filled: Store, tmp_path: Path) -> None:
    task = annotate(task_of(filled), verdict("unlinked"))
    bring(filled, tmp_path, task, **{"7": "ana"})
    filled.execute_all([("delete from imported_annotations", {})])
    assert bring(filled, tmp_path, task, **{"7": "Ana Lopez"}).added == 0
    assert filled.query("select distinct labeler from imported_annotations") == [("ana",)]


@pytest.mark.each_engine
def test_annotations_of_one_task_by_several_users_stay_apart(filled: Store, tmp_path: Path) -> None:
    task = annotate(task_of(filled), verdict("unlinked"), id=1)
    other = annotate(task_of(filled), verdict("unlinked"), id=2, completed_by={"id": 8})
    assert bring(filled, tmp_path, task, other).added == 2
    assert bring(filled, tmp_path, task, other, **{"7": "x", "8": "x"}).added == 0
    found = filled.query("select labeler from labels order by labeler")
    assert found == [("labelstudio-7",), ("labelstudio-8",)]


def region_reason(text: str) -> Task:
    return {"from_name": "reason", "to_name": "claim", "type": "textarea",
            "value": {"text": [text]}}  # fmt: skip
