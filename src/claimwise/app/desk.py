"""The labelling desk: one claim at a time, blind to what anyone and anything else said of it."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any, NamedTuple, get_args
from urllib.parse import quote

import msgspec
from msgspec import Struct

from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.errors import RefusedError
from claimwise.labelling.desk import (
    OwnProgress,
    RoundCount,
    count_round,
    read_own_progress,
    read_run_start,
)
from claimwise.labelling.guide import find_guide, show_rules
from claimwise.labelling.queue import (
    LabelledMeanwhile,
    OwnLabel,
    count_labels_of,
    hold_batch,
    hold_tasks,
    is_saved,
    list_done_of,
    list_held,
    list_held_in,
    list_labels_of,
    list_rounds,
    read_round,
    read_skip,
    read_task,
    save_label,
    skip_task,
    undo_label,
    undo_skip,
)
from claimwise.labelling.tasks import find_task, read_task_sources, show_task
from claimwise.labelling.values import Choice, GivenLabel, Round, Task, TaskSource
from claimwise.store import Store
from claimwise.types.rows import FactLabel, Judgement, Verdict
from claimwise.types.validity import explain_stale, is_stale

VERDICTS: dict[Judgement, tuple[str, ...]] = {
    "grounded": get_args(Verdict),
    "closed_book": get_args(FactLabel),
}
SKIP_REASONS = (
    "The claim makes no sense by itself",
    "It is not one claim, or not a claim at all",
    "A source is missing or can't be read",
    "I can't read this language or field",
    "I know the people or the case",
)
_RECENT = 20
_BATCH = 20  # claims that a desk has before it, so that labelling goes on without a connection
_BATCH_CHARACTERS = 2_000_000  # of sources, after which a batch ends
_CLOSED_ROUNDS = 5  # whose work is shown at once


class DeskClaim(Struct, frozen=True, kw_only=True):
    """A claim as the desk gets it. It holds no verdict but the labeler's own earlier one."""

    task: Task
    answer: str  # claims of one answer share their sources
    stale: dict[str, str] = {}  # why, by source: those that no longer held when the run began


class Batch(Struct, frozen=True, kw_only=True):
    """Claims to label, with the sources of each answer once."""

    claims: list[DeskClaim]
    sources: dict[str, tuple[TaskSource, ...]]  # by answer
    held: list[str]  # all tasks that the labeler holds now
    progress: OwnProgress


class Undone(Struct, frozen=True, kw_only=True):
    """A claim that is the labeler's again, and what they had said of it."""

    claim: DeskClaim
    progress: OwnProgress
    before: GivenLabel | None = None  # the own label that was just taken back
    unskipped: bool = False  # the own skip was just taken back


class SkipReason(Struct, frozen=True, forbid_unknown_fields=True):
    """Why someone passes on a claim."""

    reason: str


def embed_json(value: object) -> str:
    """Return JSON that can stand inside a script element: no text in it can end the element."""
    text = msgspec.json.encode(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def find_stale(store: Store, run_id: str, sources: Iterable[TaskSource]) -> dict[str, str]:
    """Return the sources that no longer held when a run began, with the reason."""
    as_of = read_run_start(store, run_id).date()
    return {
        source.source_id: explain_stale(source) for source in sources if is_stale(source, as_of)
    }


def list_desk_values(call: Call, chosen: Round) -> dict[str, Any]:
    """Return what the template of the desk needs for a round."""
    verdicts = VERDICTS[chosen.judgement]
    guide = find_guide(call.store, chosen.guide_version, call.project.folder)
    return {
        "round": chosen,
        "judgement": chosen.judgement,
        "verdicts": verdicts,
        "rules": {verdict: show_rules(guide, verdict) for verdict in verdicts},
    }


class OpenRound(NamedTuple):
    """A round as its labelers see it."""

    round: Round
    counted: RoundCount
    mine: OwnProgress


class OwnWork(NamedTuple):
    """What a labeler did in a round, open or closed."""

    round: Round
    labels: int
    latest: list[OwnLabel]  # the latest first


def choose_round(call: Call) -> Response:
    """List the open rounds and what the labeler did; with one round to do, go straight there."""
    rounds = [
        OpenRound(
            one,
            count_round(call.store, one.round_id),
            read_own_progress(call.store, one.round_id, call.name),
        )
        for one in list_rounds(call.store, open_only=True)
    ]
    waiting = [one.round.round_id for one in rounds if one.mine.left]
    if len(waiting) == 1 and "all" not in call.query:
        return call.redirect(f"/label/{quote(waiting[0], safe='')}")
    work, older = _list_work(call)
    return call.render("label.html", rounds=rounds, work=work, older=older)


def _list_work(call: Call) -> tuple[list[OwnWork], int]:
    """Return what the labeler did, open rounds first, and how many older rounds are left out."""
    counted = [
        (one, count_labels_of(call.store, one.round_id, call.name))
        for one in list_rounds(call.store)
    ]
    done = sorted((pair for pair in counted if pair[1]), key=lambda p: p[0].closed_at is not None)
    closed = sum(one.closed_at is not None for one, _ in done)
    older = 0 if "older" in call.query else max(0, closed - _CLOSED_ROUNDS)
    work = [
        OwnWork(one, labels, list_labels_of(call.store, one.round_id, call.name, _RECENT))
        for one, labels in done[: len(done) - older]
    ]
    return work, older


def find_requested_round(call: Call) -> Round:
    """Return the round that the address names."""
    try:
        return read_round(call.store, call.path["round_id"])
    except RefusedError as error:
        raise Refusal(404, "There is no such round.") from error


def show_desk(call: Call) -> Response:
    """Show the desk with the labeler's next claims, the one that ``?task=`` names before them."""
    chosen = find_requested_round(call)
    own = _find_own(call, chosen)
    hold_batch(call.store, chosen.round_id, call.name, call.now, _BATCH)
    batch = _make_batch(call, chosen.round_id, have={own.task_id} if own else set())
    if own is not None:
        first = _show(call, own)
        batch = msgspec.structs.replace(batch, claims=[first, *batch.claims])
    data = {
        "account": call.name,
        "round_id": chosen.round_id,
        "closed": chosen.closed_at is not None,
        "batch": batch,
        "recent": list_done_of(call.store, chosen.round_id, call.name, _RECENT)[::-1],
    }
    return call.render(
        "labelling.html",
        data=embed_json(data),
        skip_reasons=SKIP_REASONS,
        **list_desk_values(call, chosen),
    )


def _find_own(call: Call, chosen: Round) -> Task | None:
    """Return the claim that the address names, if it names one."""
    task_id = call.query.get("task")
    if task_id is None:
        return None
    task = read_task(call.store, task_id, call.name)
    if task.round_id != chosen.round_id:
        raise Refusal(404, "There is no such claim in this round.")
    return task


def send_batch(call: Call) -> Response:
    """Send the claims that the labeler holds, but for those in ``have=``; lease more ahead.

    ``size=`` leases so many at most. Every such request renews what the labeler holds.
    """
    size = call.query.get("size", str(_BATCH))
    if not (size.isascii() and size.isdigit() and 1 <= int(size[:3]) <= _BATCH):
        raise Refusal(400, f"size: expected 1 to {_BATCH}.")
    have = set(call.query.get("have", "").split(","))
    round_id = call.path["round_id"]
    hold = hold_batch if int(size) == _BATCH else hold_tasks
    hold(call.store, round_id, call.name, call.now, int(size))
    return call.json(_make_batch(call, round_id, have=have))


def _make_batch(call: Call, round_id: str, *, have: Set[str]) -> Batch:
    """Read held claims with their sources, until those are long enough for one request.

    What is held and what is done are of one moment: a claim that another tab saves meanwhile must
    not be both.
    """
    with call.store.snapshot():
        held = list_held_in(call.store, round_id, call.name)
        mine = read_own_progress(call.store, round_id, call.name)
    claims: list[DeskClaim] = []
    sources: dict[str, tuple[TaskSource, ...]] = {}
    stale: dict[str, dict[str, str]] = {}
    characters = 0
    for task_id in (one for one in held if one not in have):
        stored = find_task(call.store, task_id)
        task = show_task(call.store, stored, with_sources=False)
        answer = _name_answer(task, stored.sample)
        if answer not in sources and task.judgement == "grounded":
            sources[answer] = read_task_sources(call.store, stored)
            stale[answer] = find_stale(call.store, task.run_id, sources[answer])
            characters += sum(len(one.source_text) for one in sources[answer])
        claims.append(DeskClaim(task=task, answer=answer, stale=stale.get(answer, {})))
        if characters > _BATCH_CHARACTERS:
            break
    return Batch(claims=claims, sources=sources, held=held, progress=mine)


def _name_answer(task: Task, sample: int) -> str:
    return f"{task.item_id}/{sample}/{task.run_id}"


def take_label(call: Call) -> Response:
    """Save a label; the same again changes nothing.

    One that the labeler gave elsewhere meanwhile is told of, and stays until they replace it.
    """
    choice = call.read_json(Choice)
    task_id = call.path["task_id"]
    try:
        with call.store.write(call.name):
            again = is_saved(call.store, choice.save_id)
            given = save_label(call.store, task_id, call.name, choice, call.now)
            if not again:
                call.audit("label", task_id, _describe_choice(choice))
    except LabelledMeanwhile as error:
        return call.json({"error": str(error), "mine": error.mine}, status=409)
    # What someone without claims took over from this labeler, they must not label in vain.
    held = list_held(call.store, task_id, call.name)
    return call.json({"saved": given.verdict, "labeled_at": given.labeled_at, "held": held})


def _describe_choice(choice: Choice) -> str:
    """Return a choice in the words of the audit trail: its verdict, and a suggestion taken."""
    taken = choice.suggestion in (1, 2, 3)
    return f"{choice.verdict}, suggestion {choice.suggestion}" if taken else choice.verdict


def take_skip(call: Call) -> Response:
    """Pass on a claim."""
    told = call.read_json(SkipReason)
    task_id = call.path["task_id"]
    with call.store.write(call.name):
        skip_task(call.store, task_id, call.name, told.reason, call.now)
        call.audit("skip", task_id, told.reason.strip())
    return call.json({"skipped": task_id})


def take_undo(call: Call) -> Response:
    """Take the labeler's own label or skip back, and send the claim again."""
    task_id = call.path["task_id"]
    before = None
    with call.store.write(call.name):
        reason = read_skip(call.store, task_id, call.name)
        if reason is not None:
            task = undo_skip(call.store, task_id, call.name, call.now)
            call.audit("undo skip", task_id, reason)
        else:
            before = read_task(call.store, task_id, call.name).mine
            task = undo_label(call.store, task_id, call.name, call.now)
            call.audit("undo", task_id, before.verdict if before else None)
    undone = Undone(
        claim=_show(call, task),
        progress=read_own_progress(call.store, task.round_id, call.name),
        before=before,
        unskipped=reason is not None,
    )
    return call.json(undone)


def _show(call: Call, task: Task) -> DeskClaim:
    """Return one claim with its sources, which others may share."""
    sample = find_task(call.store, task.task_id).sample
    stale = find_stale(call.store, task.run_id, task.sources)
    return DeskClaim(task=task, answer=_name_answer(task, sample), stale=stale)


ROUTES = (
    PageRoute("GET", "/label", choose_round, "labeler"),
    PageRoute("GET", "/label/{round_id}", show_desk, "labeler"),
    PageRoute("GET", "/api/rounds/{round_id}/batch", send_batch, "labeler"),
    PageRoute("POST", "/api/tasks/{task_id}/label", take_label, "labeler"),
    PageRoute("POST", "/api/tasks/{task_id}/skip", take_skip, "labeler"),
    PageRoute("POST", "/api/tasks/{task_id}/undo", take_undo, "labeler"),
)
