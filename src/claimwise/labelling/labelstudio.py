"""Carries rounds to Label Studio and people's labels back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from claimwise.errors import Problem, RefusedError
from claimwise.labelling.labelstudio_files import (
    ReadAnnotation,
    make_config,
    make_file_problem,
    make_result,
    make_task,
    read_annotations,
    refuse_problems,
)
from claimwise.labelling.rounds import query_of, read_round
from claimwise.labelling.rules import Ruling, check_text, rule_choice
from claimwise.labelling.tasks import (
    ClaimLabels,
    StoredClaim,
    StoredTask,
    list_asked_claims,
    list_tasks,
    read_claim_labels,
    read_judge_verdicts,
    read_log,
    read_task_sources,
)
from claimwise.labelling.values import GivenLabel, LogEntry, TaskSource
from claimwise.store import Store
from claimwise.store.checks import find_latest_time
from claimwise.store.lookup import find_run, find_source
from claimwise.types.rows import ClosedBookLabel, Judgement, Label, Placed


class Exported(NamedTuple):
    """Tasks for Label Studio, and the config that shows them."""

    tasks: list[dict[str, Any]]
    config: str


class Imported(NamedTuple):
    """What became of the annotations of a file."""

    read: int
    added: int
    cancelled: int
    renamed: dict[str, str]  # names given now that people had other ones for before


class _Shown(NamedTuple):
    """A claim with what it is judged by, and what was said of it."""

    claim: StoredClaim
    sources: tuple[TaskSource, ...]
    log: tuple[LogEntry, ...]
    standing: ClaimLabels
    verdicts: list[tuple[GivenLabel, float | None]]


def export_round(store: Store, round_id: str, *, predictions: bool = False) -> Exported:
    """Return a round's tasks, with what people have said of them.

    Args:
        store: where the round is.
        round_id: the round.
        predictions: add instruments' verdicts, which labelers then see: no longer blind.

    Raises:
        RefusedError: there is no such round.
    """
    judgement = read_round(store, round_id).judgement
    return _export(store, list_tasks(store, round_id), judgement, predictions=predictions)


def export_run_tasks(
    store: Store, run_id: str, judgement: Judgement, *, predictions: bool = False
) -> Exported:
    """Return all claims of a run that metrics ask for, as tasks; see :func:`export_round`.

    Raises:
        StoreError: there is no such run.
    """
    find_run(store, run_id)
    return _export(
        store, list_asked_claims(store, run_id, judgement), judgement, predictions=predictions
    )


def _export(
    store: Store, claims: Sequence[StoredClaim], judgement: Judgement, *, predictions: bool
) -> Exported:
    shown = []
    known: dict[tuple[str, int], tuple[tuple[TaskSource, ...], tuple[LogEntry, ...]]] = {}
    for claim in claims:
        key = claim.item_id, claim.sample
        if judgement == "grounded" and key not in known:
            known[key] = read_task_sources(store, claim), read_log(store, claim)
        sources, log = known.get(key, ((), ()))
        standing = read_claim_labels(store, claim)
        verdicts = read_judge_verdicts(store, claim) if predictions else []
        given = [*standing.human, *standing.adjudicated, *(one for one, _ in verdicts)]
        more = _find_more(store, claim, sources, given)
        shown.append(_Shown(claim, (*sources, *more), log, standing, verdicts))
    width = max((len(one.sources) for one in shown), default=0)
    tasks = [_write_task(one, width, predictions=predictions) for one in shown]
    return Exported(tasks, make_config(judgement, width))


def _find_more(
    store: Store, claim: StoredClaim, sources: Sequence[TaskSource], given: Sequence[GivenLabel]
) -> list[TaskSource]:
    """Return documents that labels rest on and the claim does not come with."""
    known = {source.source_id for source in sources}
    names = {one.source_id for one in given if one.source_id is not None} - known
    found = [find_source(store, claim.corpus_ver, name) for name in sorted(names)]
    return [
        TaskSource(source_id=one.source_id, source_text=one.source_text, title=one.title)
        for one in found
        if one is not None
    ]


def _write_task(shown: _Shown, width: int, *, predictions: bool) -> dict[str, Any]:
    claim = shown.claim
    data = {
        "run_id": claim.run_id,
        "item_id": claim.item_id,
        "claim_id": claim.claim_id,
        "claim_type": claim.claim_type,
        "question": claim.query,
        "answer": claim.answer_text,
        "claim": claim.claim_text,
        "round_id": claim.round_id if isinstance(claim, StoredTask) else "",
    }
    task = make_task(data, shown.sources, shown.log, width)
    given = [(one, False) for one in shown.standing.latest()]
    given += [(shown.standing.decided, True)] if shown.standing.decided else []
    task["annotations"] = [_write_annotation(shown, one, decided) for one, decided in given]
    if predictions:
        task["predictions"] = [
            {
                "model_version": one.labeler,
                "score": confidence,
                "result": _write_result(shown, one),
            }
            for one, confidence in shown.verdicts
        ]
    return task


def _write_annotation(shown: _Shown, given: GivenLabel, decided: bool) -> dict[str, Any]:
    return {
        "labeler": given.labeler,
        "created_at": given.labeled_at.isoformat() + "Z",
        "ground_truth": decided,
        "was_cancelled": False,
        "result": _write_result(shown, given),
    }


def _write_result(shown: _Shown, given: GivenLabel) -> list[dict[str, Any]]:
    return make_result(given, shown.claim.claim_text, shown.sources, shown.log)


def import_annotations(store: Store, path: Path, run_id: str, names: Mapping[str, str]) -> Imported:
    """Add the labels of a Label Studio export to a run, all or none.

    Labels keep the rules that the app's labels keep. Those of a round's task carry its guide and
    its chance of being drawn, as the store has them, and take a slot of the task. The same file
    again adds nothing, under whatever names: an annotation stays the label of the person that it
    was first imported for, and so do others by the same user.

    Args:
        store: where the run is.
        path: an export of the kind “JSON”.
        run_id: the run that was labelled.
        names: labelers by the id or e-mail that Label Studio has of them.

    Raises:
        InputError: the file or a task of it is wrong; nothing was written.
        StoreError: there is no such run.
    """
    find_run(store, run_id)
    read = read_annotations(path, names)
    told = read._replace(labels=_keep_people(store, run_id, read.labels))
    places = _find_places(store, run_id, told.labels)
    problems, rows = [], []
    for number, one in enumerate(told.labels, start=1):
        claim = _find_place(one, places)
        if claim is None or one.run_id not in (None, run_id):
            problems.append(_report_stranger(path, one, run_id))
            continue
        if _is_known(store, one, claim):
            continue
        try:
            rows.append(Placed(_make_row(store, one, claim), 0, number))
        except RefusedError as error:
            expected = "a label that keeps the rules; fix it in Label Studio and export again"
            problems.append(make_file_problem(path, one.place, str(error), expected))
    refuse_problems(problems)

    def finish() -> None:
        _fill_slots(store, told.labels, places)
        _remember_people(store, run_id, told.labels)

    counts = store.load(rows, [str(path)], then=finish)
    renamed = {
        given.labeler: kept.labeler
        for given, kept in zip(read.labels, told.labels, strict=True)
        if given.labeler != kept.labeler
    }
    added = sum(count.added for count in counts)
    return Imported(len(told.labels), added, told.cancelled, renamed)


def _keep_people(store: Store, run_id: str, told: Sequence[ReadAnnotation]) -> list[ReadAnnotation]:
    """Give annotations that were imported before, and others by the same users, their people."""
    known = {
        (judgement, item_id, claim_id, annotation_id): labeler
        for judgement, item_id, claim_id, annotation_id, labeler in store.query(
            query_of("imported"), {"run_id": run_id}
        )
    }
    unnamed = _read_unnamed(store, run_id, {one.judgement for one in told})
    before = [known.get(_name_annotation(one)) or _find_unnamed(one, unnamed) for one in told]
    people = {
        one.user: labeler for one, labeler in zip(told, before, strict=True) if labeler is not None
    }
    return [
        one._replace(labeler=labeler or people.get(one.user, one.labeler))
        for one, labeler in zip(told, before, strict=True)
    ]


_Unnamed = dict[tuple[Judgement, str, str, datetime], set[str]]


def _read_unnamed(store: Store, run_id: str, judgements: Iterable[Judgement]) -> _Unnamed:
    """Return who labelled which claim when: older versions kept no ids of annotations."""
    found: _Unnamed = defaultdict(set)
    for judgement in judgements:
        rows = store.query(query_of(f"given_{judgement}"), {"run_id": run_id})
        for item_id, claim_id, labeler, told, *_ in rows:
            found[judgement, item_id, claim_id, msgspec.convert(told, datetime)].add(labeler)
    return found


def _find_unnamed(one: ReadAnnotation, unnamed: _Unnamed) -> str | None:
    """Return who labelled the claim at that very moment, if it was one person."""
    if one.annotation_id is None or one.kind != "human":
        return None
    people = unnamed.get((one.judgement, one.item_id, one.claim_id, one.labeled_at), set())
    return next(iter(people)) if len(people) == 1 else None


def _name_annotation(one: ReadAnnotation) -> tuple[Judgement, str, str, str | None]:
    return one.judgement, one.item_id, one.claim_id, one.annotation_id


def _remember_people(store: Store, run_id: str, told: Sequence[ReadAnnotation]) -> None:
    """Keep whose labels annotations became."""
    for one in told:
        if one.annotation_id is not None:
            names = ("judgement", "item_id", "claim_id", "annotation_id")
            params = dict(zip(names, _name_annotation(one), strict=True))
            params |= {"run_id": run_id, "labeler": one.labeler}
            store.execute(query_of("add_imported"), params)


_Places = dict[tuple[Judgement, str | None, str, str], StoredClaim]


def _find_places(store: Store, run_id: str, told: Sequence[ReadAnnotation]) -> _Places:
    """Return the stored claims, as tasks of their rounds where they were drawn."""
    found: _Places = {}
    for judgement in {one.judgement for one in told}:
        for claim in list_asked_claims(store, run_id, judgement):
            found[judgement, None, claim.item_id, claim.claim_id] = claim
    for round_id in {one.round_id for one in told if one.round_id}:
        for task in list_tasks(store, round_id):
            if task.run_id == run_id:
                found[task.judgement, round_id, task.item_id, task.claim_id] = task
    return found


def _find_place(one: ReadAnnotation, places: _Places) -> StoredClaim | None:
    drawn = places.get((one.judgement, one.round_id, one.item_id, one.claim_id))
    return drawn or places.get((one.judgement, None, one.item_id, one.claim_id))


def _report_stranger(path: Path, one: ReadAnnotation, run_id: str) -> Problem:
    of_run = f" of run {one.run_id[:80]!r}" if one.run_id else ""
    found = f"the claim {one.claim_id[:80]!r} of item {one.item_id[:80]!r}{of_run}"
    return make_file_problem(path, one.place, found, f"a claim of run {run_id!r}: is --run right?")


def _is_known(store: Store, one: ReadAnnotation, claim: StoredClaim) -> bool:
    """Tell whether the label came out of this store: then it is as it is, whatever the rules."""
    standing = read_claim_labels(store, claim)
    given = standing.adjudicated if one.kind == "adjudicated" else standing.human
    told = one.labeler, one.labeled_at, one.choice.verdict
    return any(
        told == (known.labeler, known.labeled_at, known.verdict)
        and (one.choice.entry_id is not None or one.choice.span_text == known.supporting_span)
        for known in given
    )


def _make_row(store: Store, one: ReadAnnotation, claim: StoredClaim) -> Label | ClosedBookLabel:
    check_text("labeler", one.labeler)
    if one.labeled_at > find_latest_time():
        raise RefusedError(f"the time {one.labeled_at.isoformat()}, more than a day ahead of now")
    ruling: Ruling = rule_choice(store, claim, one.choice)
    drawn = claim if isinstance(claim, StoredTask) else None
    shared: dict[str, Any] = {
        "run_id": claim.run_id,
        "item_id": claim.item_id,
        "claim_id": claim.claim_id,
        "labeler": one.labeler,
        "labeled_at": one.labeled_at,
        "label_kind": one.kind,
        "guide_version": drawn.guide_version if drawn else None,
        "inclusion_probability": drawn.inclusion_probability if drawn else None,
    }
    if one.judgement == "closed_book":
        told: dict[str, Any] = {"label": ruling.verdict, "decision_basis": ruling.reason}
        return ClosedBookLabel(**shared, **told)
    return Label(**shared, **ruling._asdict())


def _fill_slots(store: Store, told: Sequence[ReadAnnotation], places: _Places) -> None:
    """Mark what a round no longer has to ask: nobody labels twice by accident."""
    now = datetime.now(UTC).replace(tzinfo=None)
    for one in told:
        claim = _find_place(one, places)
        if not isinstance(claim, StoredTask) or one.kind != "human":
            continue
        # What was said before the round, an export shows too; the round asks for it again.
        if one.labeled_at >= claim.round_created_at:
            params = {
                "task_id": claim.task_id,
                "labeler": one.labeler,
                "labeled_at": one.labeled_at,
                "now": now,
            }
            store.execute(query_of("fill_slot", claim.judgement), params)
