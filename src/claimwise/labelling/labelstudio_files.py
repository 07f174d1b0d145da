"""Label Studio's files: tasks and a labelling config to write, annotations to read.

A task's data holds the question, the answer, the claim and the documents as ``source_1``,
``source_2``…; a verdict is a choice, a span a region of a document, the covered part of an
overreach a region of the claim. What others made of a file is not trusted: regions are compared
with their text letter by letter, and everything else is judged again against the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.sax.saxutils import quoteattr

import msgspec

from claimwise.disk.input import read_whole
from claimwise.disk.input import refuse as refuse_file
from claimwise.errors import InputError, Problem
from claimwise.labelling.values import Choice, GivenLabel, LogEntry, TaskSource
from claimwise.readers.json_keys import find_repeated_key
from claimwise.readers.problems import show
from claimwise.types.rows import Judgement, LabelKind
from claimwise.types.verdicts import CHOICES

LARGEST_FILE: Final = 512 * 1024 * 1024
_SHOWN_PROBLEMS: Final = 20
_LARGEST_OFFSET: Final = 10**9
_INSTRUMENTS: Final = ("verifier:", "judge:")


class ReadAnnotation(NamedTuple):
    """A person's label as a file has it, and where it stands there."""

    place: str
    item_id: str
    claim_id: str
    judgement: Judgement
    run_id: str | None  # as the task has it; files of others have none
    round_id: str | None
    annotation_id: str | None  # files of our own have none
    user: str | None  # who it is by, as the file says it
    labeler: str
    labeled_at: datetime
    kind: LabelKind
    choice: Choice


class ReadResult(NamedTuple):
    """What a file holds: labels, and how many annotations were cancelled."""

    labels: list[ReadAnnotation]
    cancelled: int


# Writing.


def make_task(
    data: Mapping[str, Any],
    sources: Sequence[TaskSource],
    log: Sequence[LogEntry],
    width: int,
) -> dict[str, Any]:
    """Return a task's data; documents that it lacks are empty, so that one config fits all."""
    fields: dict[str, Any] = dict(data)
    for number in range(1, width + 1):
        source = sources[number - 1] if number <= len(sources) else None
        fields[f"source_{number}"] = source.source_text if source else ""
        fields[f"source_{number}_id"] = source.source_id if source else ""
        fields[f"source_{number}_title"] = _title_of(source) if source else ""
    fields["action_log"] = "\n".join(f"{entry.entry_id}: {entry.entry_text}" for entry in log)
    fields["action_entries"] = [{"value": entry.entry_id} for entry in log]
    return {"data": fields}


def _title_of(source: TaskSource) -> str:
    held = f", held until {source.valid_until}" if source.valid_until else ""
    replaced = f", replaced by {source.superseded_by}" if source.superseded_by else ""
    return f"{source.title or source.source_id}{held}{replaced}"


def make_result(
    given: GivenLabel, claim_text: str, sources: Sequence[TaskSource], log: Sequence[LogEntry]
) -> list[dict[str, Any]]:
    """Return the regions and choices that say what a label says."""
    result = [_make_choice("verdict", given.verdict)]
    numbers = {source.source_id: number for number, source in enumerate(sources, start=1)}
    if given.source_id in numbers and given.supporting_span is not None:
        number = numbers[given.source_id]
        start = given.span_start
        if start is None:
            start = sources[number - 1].source_text.find(given.supporting_span)
        region = _make_region(f"span_{number}", f"source_{number}", start, given.supporting_span)
        result.append(region)
    elif given.supporting_span is not None and given.source_id is None:
        entry = next((e.entry_id for e in log if e.entry_text == given.supporting_span), None)
        result += [_make_choice("entry", entry)] if entry is not None else []
    if given.covered_text is not None:
        start = claim_text.find(given.covered_text)
        result.append(_make_region("covered", "claim", start, given.covered_text))
    if given.reason is not None:
        value = {"text": [given.reason]}
        result.append(
            {"from_name": "reason", "to_name": "claim", "type": "textarea", "value": value}
        )
    for number, part in enumerate(result):
        part["id"] = f"r{number}"
    return result


def _make_choice(name: str, value: str) -> dict[str, Any]:
    return {
        "from_name": name, "to_name": "claim", "type": "choices", "value": {"choices": [value]},
    }  # fmt: skip


def _make_region(name: str, target: str, start: int, text: str) -> dict[str, Any]:
    label = "covered" if name == "covered" else "span"
    value = {"start": start, "end": start + len(text), "text": text, "labels": [label]}
    return {"from_name": name, "to_name": target, "type": "labels", "value": value}


def make_config(judgement: Judgement, width: int) -> str:
    """Return the labelling config, as XML, for tasks with up to ``width`` documents."""
    lines = [
        "<View>",
        '  <Header value="Question"/>',
        '  <Text name="question" value="$question"/>',
        '  <Header value="Answer"/>',
        '  <Text name="answer" value="$answer"/>',
        '  <Header value="Claim"/>',
    ]
    if judgement == "grounded":
        lines.append(_labels_of("covered", "claim", "covered"))
    lines.append('  <Text name="claim" value="$claim"/>')
    lines.append('  <Choices name="verdict" toName="claim" choice="single" required="true">')
    for key, verdict in enumerate(CHOICES[judgement], start=1):
        lines.append(f'    <Choice value={quoteattr(verdict)} hotkey="{key}"/>')
    lines.append("  </Choices>")
    lines.append('  <TextArea name="reason" toName="claim" maxSubmissions="1"/>')
    if judgement == "grounded":
        lines += [
            '  <Text name="log" value="$action_log"/>',
            '  <Choices name="entry" toName="claim" choice="single" value="$action_entries"/>',
        ]
        for number in range(1, width + 1):
            lines.append(f'  <Header value="$source_{number}_title"/>')
            lines.append(_labels_of(f"span_{number}", f"source_{number}", "span"))
            lines.append(f'  <Text name="source_{number}" value="$source_{number}"/>')
    return "\n".join([*lines, "</View>", ""])


def _labels_of(name: str, target: str, value: str) -> str:
    names = f"name={quoteattr(name)} toName={quoteattr(target)}"
    return f"  <Labels {names}><Label value={quoteattr(value)}/></Labels>"


# Reading.


class _Region(msgspec.Struct, frozen=True):
    type: str = ""
    from_name: str = ""
    to_name: str = ""
    value: dict[str, Any] = {}


class _Annotation(msgspec.Struct, frozen=True):
    id: int | str | None = None
    unique_id: str | None = None  # of newer versions: the same on every server
    result: list[_Region] = []
    completed_by: int | str | dict[str, Any] | None = None
    labeler: str | None = None  # ours: Label Studio drops it
    was_cancelled: bool = False
    ground_truth: bool = False
    created_at: str | None = None
    updated_at: str | None = None
    lead_time: float | None = None


class _Task(msgspec.Struct, frozen=True):
    data: dict[str, Any]
    id: int | str | None = None
    annotations: list[_Annotation] = []


class _BadAnnotationError(Exception):
    """What is wrong with one annotation: what was found, and what was expected."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found)
        self.found, self.expected = found, expected


def read_annotations(path: Path, names: Mapping[str, str]) -> ReadResult:
    """Return the labels that people gave in Label Studio.

    Args:
        path: an export of the kind “JSON”.
        names: labelers by the id or e-mail that Label Studio has of them.

    Raises:
        InputError: the file or a task of it is wrong; the first problems, with their task's id.
    """
    labels: list[ReadAnnotation] = []
    problems: list[Problem] = []
    cancelled = 0
    for number, task in enumerate(_read_tasks(path), start=1):
        for order, annotation in enumerate(task.annotations, start=1):
            place = f"task {number if task.id is None else task.id}, annotation {order}"
            if annotation.was_cancelled:
                cancelled += 1
                continue
            try:
                labels.append(_read_annotation(place, task, annotation, names))
            except _BadAnnotationError as error:
                problems.append(make_file_problem(path, place, error.found, error.expected))
    refuse_problems(problems)
    return ReadResult(labels, cancelled)


def make_file_problem(path: Path, place: str, found: str, expected: str) -> Problem:
    """Return what is wrong with one annotation of a file."""
    return Problem(path=str(path), line=None, field=place, found=found[:200], expected=expected)


def refuse_problems(problems: Sequence[Problem]) -> None:
    """Raise when there are problems.

    Raises:
        InputError: there are; it lists the first.
    """
    if problems:
        raise InputError(problems[:_SHOWN_PROBLEMS], more=len(problems) > _SHOWN_PROBLEMS)


def _read_tasks(path: Path) -> list[_Task]:
    expected = "a list of tasks, as Label Studio exports it (“JSON”, not “JSON-MIN”)"
    try:
        data = read_whole(path, LARGEST_FILE, "export in parts")
        tasks = msgspec.json.decode(data, type=list[_Task])
        repeated = find_repeated_key(data)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InputError([make_file_problem(path, "file", str(error), expected)]) from error
    except RecursionError as error:
        raise InputError([make_file_problem(path, "file", "endless nesting", expected)]) from error
    if repeated is not None:
        found = f"the key {show(repeated.name)} twice"
        raise refuse_file(path, found, "each key once", line=repeated.line)
    return tasks


def _read_annotation(
    place: str, task: _Task, annotation: _Annotation, names: Mapping[str, str]
) -> ReadAnnotation:
    verdict = _read_one_choice(annotation, "verdict")
    if verdict is None:
        raise _BadAnnotationError("no verdict", "one choice of verdict")
    judgement: Judgement = "closed_book" if verdict in CHOICES["closed_book"] else "grounded"
    source_id, span_start, span_text = _read_span(task, annotation)
    choice = Choice(
        verdict=verdict,
        source_id=source_id,
        span_start=span_start,
        span_text=span_text,
        entry_id=_read_one_choice(annotation, "entry"),
        covered_text=_read_covered(task, annotation),
        reason=_read_reason(annotation),
        seconds=annotation.lead_time,
    )
    return ReadAnnotation(
        place=place,
        item_id=_read_text(task, "item_id"),
        claim_id=_read_text(task, "claim_id"),
        judgement=judgement,
        run_id=_find_text(task, "run_id"),
        round_id=_find_text(task, "round_id"),
        annotation_id=_read_id(annotation),
        user=next(iter(_list_user_keys(annotation)), None),
        labeler=_read_labeler(annotation, names),
        labeled_at=_read_time(annotation),
        kind="adjudicated" if annotation.ground_truth else "human",
        choice=choice,
    )


def _find_text(task: _Task, name: str) -> str | None:
    value = task.data.get(name)
    return value if isinstance(value, str) and value else None


def _read_text(task: _Task, name: str) -> str:
    value = _find_text(task, name)
    if value is None:
        raise _BadAnnotationError(
            f"no {name} in the task's data", "a task that `claimwise labelstudio export` wrote"
        )
    return value


def _read_id(annotation: _Annotation) -> str | None:
    """Return what tells an annotation from others of its task, whoever it is said to be by."""
    given = annotation.unique_id or annotation.id
    return None if given in (None, "") else f"labelstudio:{given}"


def _list_user_keys(annotation: _Annotation) -> list[str]:
    """Return what the file has of the person, the e-mail before the id."""
    by = annotation.completed_by
    keys = [by.get("email"), by.get("id")] if isinstance(by, dict) else [by]
    return [str(key) for key in keys if key not in (None, "")]


def _read_labeler(annotation: _Annotation, names: Mapping[str, str]) -> str:
    """Return who it is by: a name given for the id or e-mail, the e-mail, or the id."""
    known = _list_user_keys(annotation)
    if known:
        named = next((names[key] for key in known if key in names), None)
        name = named or (known[0] if "@" in known[0] else f"labelstudio-{known[0]}")
    elif annotation.labeler:
        name = names.get(annotation.labeler, annotation.labeler)
    else:
        raise _BadAnnotationError("no completed_by", "who made the annotation")
    if name.startswith(_INSTRUMENTS) or not 0 < len(name) <= 200:
        raise _BadAnnotationError(f"the labeler {name[:80]!r}", "a person's name (--labeler)")
    return name


def _read_time(annotation: _Annotation) -> datetime:
    """Return when it was last changed, in UTC without a zone."""
    told = annotation.updated_at or annotation.created_at
    if told is None:
        raise _BadAnnotationError("no created_at", "when the annotation was made")
    try:
        moment = msgspec.convert(told, datetime)
        offset = moment.utcoffset()
        return moment if offset is None else (moment - offset).replace(tzinfo=None)
    except (msgspec.ValidationError, OverflowError) as error:
        raise _BadAnnotationError(
            f"the time {told[:40]!r}", "a time as 2026-03-01T09:00:00Z"
        ) from (error)


def _read_one_choice(annotation: _Annotation, name: str) -> str | None:
    found = [
        value
        for region in annotation.result
        if region.from_name == name and region.type == "choices"
        for value in _read_list(region, "choices")
    ]
    if len(found) > 1:
        raise _BadAnnotationError(f"{len(found)} choices of {name}", "one")
    return found[0] if found else None


def _read_reason(annotation: _Annotation) -> str | None:
    found = [
        line
        for region in annotation.result
        if region.from_name == "reason"
        for line in _read_list(region, "text")
    ]
    return "\n".join(found) or None


def _read_list(region: _Region, name: str) -> list[str]:
    value = region.value.get(name, [])
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise _BadAnnotationError(f"{name} that is not a list of texts", "a list of texts")
    return values


def _read_span(task: _Task, annotation: _Annotation) -> tuple[str | None, int | None, str | None]:
    """Return document, offset and text of the one region of a document."""
    found = [region for region in _list_regions(annotation) if region.to_name.startswith("source_")]
    if not found:
        return None, None, None
    if len(found) > 1:
        raise _BadAnnotationError(f"{len(found)} spans", "one: the span that decides")
    start, text = _locate(task, found[0])
    return _read_text(task, f"{found[0].to_name}_id"), start, text


def _read_covered(task: _Task, annotation: _Annotation) -> str | None:
    found = [region for region in _list_regions(annotation) if region.to_name == "claim"]
    if len(found) > 1:
        raise _BadAnnotationError(f"{len(found)} covered parts", "one")
    return _locate(task, found[0])[1] if found else None


def _list_regions(annotation: _Annotation) -> Iterator[_Region]:
    return (region for region in annotation.result if region.type == "labels")


def _locate(task: _Task, region: _Region) -> tuple[int, str]:
    """Return where a region's text stands, in characters.

    Old versions of Label Studio count UTF-16 units, new ones characters; the region's own text
    tells which. Without it, both must mean the same place.
    """
    whole = _read_text(task, region.to_name)
    start, end = _read_offset(region, "start"), _read_offset(region, "end")
    if start >= end:
        raise _BadAnnotationError(f"a region from {start} to {end}", "an end after the start")
    told = region.value.get("text")
    places = [(start, end), (_to_characters(whole, start), _to_characters(whole, end))]
    if isinstance(told, str):
        # Label Studio writes line ends inside a region's text as two characters.
        wanted = {told, told.replace("\\n", "\n")}
        fitting = [place for place in places if whole[slice(*place)] in wanted]
    else:
        fitting = places[:1] if places[0] == places[1] and end <= len(whole) else []
    if not fitting:
        raise _BadAnnotationError(
            f"a region of {region.to_name} from {start} to {end} that is not its text",
            "its text, letter by letter",
        )
    first, last = fitting[0]
    return first, whole[first:last]


def _read_offset(region: _Region, name: str) -> int:
    value = region.value.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST_OFFSET:
        raise _BadAnnotationError(f"{name} {str(value)[:40]!r}", "an offset into the text")
    return value


def _to_characters(text: str, units: int) -> int:
    """Return the number of characters in the first UTF-16 units of a text."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore"))
