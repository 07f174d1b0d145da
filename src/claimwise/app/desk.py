"""The labelling desk: one claim at a time, blind to what anyone and anything else said of it."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args
from urllib.parse import quote

import msgspec
from msgspec import Struct

from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.errors import RefusedError
from claimwise.labelling.desk import (
    RoundCount,
    count_left_in_answer,
    count_left_in_round,
    count_round,
    read_start,
)
from claimwise.labelling.guide import find_guide, show_rules
from claimwise.labelling.queue import (
    OwnLabel,
    count_labels_of,
    list_done_of,
    list_labels_of,
    list_rounds,
    read_round,
    read_skip,
    read_task,
    save_label,
    skip_task,
    take_task,
    undo_label,
    undo_skip,
)
from claimwise.labelling.values import Choice, GivenLabel, Round, Task
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
_CLOSED_ROUNDS = 5  # whose work is shown at once


class DeskClaim(Struct, frozen=True, kw_only=True):
    """A claim as the desk gets it. It holds no verdict but the labeler's own earlier one."""

    task: Task | None
    progress: RoundCount
    stale: dict[str, str] = {}  # why, by source: those that no longer held when the run began
    left_in_answer: int = 0
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


def find_stale(store: Store, task: Task) -> dict[str, str]:
    """Return the sources of a task that no longer held when the run began, with the reason."""
    as_of = read_start(store, task.run_id).date()
    return {
        source.source_id: explain_stale(source)
        for source in task.sources
        if is_stale(source, as_of)
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
    left: int  # for the one who asks


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
            count_left_in_round(call.store, one.round_id, call.name),
        )
        for one in list_rounds(call.store, open_only=True)
    ]
    waiting = [one.round.round_id for one in rounds if one.left]
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
    """Show the desk with the labeler's current claim, or one of theirs that ``?task=`` names."""
    chosen = find_requested_round(call)
    task = _find_own(call, chosen)
    recent = list_done_of(call.store, chosen.round_id, call.name, _RECENT)
    shown = _show(call, chosen.round_id, task)
    data = {
        "account": call.name,
        "round_id": chosen.round_id,
        "closed": chosen.closed_at is not None,
        "first": shown if shown.task is not None else None,
        "progress": shown.progress,
        "recent": recent[::-1],
    }
    return call.render(
        "labelling.html",
        data=embed_json(data),
        skip_reasons=SKIP_REASONS,
        **list_desk_values(call, chosen),
    )


def _find_own(call: Call, chosen: Round) -> Task | None:
    """Return the claim that the address names, or the labeler's current one."""
    task_id = call.query.get("task")
    if task_id is None:
        return take_task(call.store, chosen.round_id, call.name, call.now)
    task = read_task(call.store, task_id, call.name)
    if task.round_id != chosen.round_id:
        raise Refusal(404, "There is no such claim in this round.")
    return task


def send_next(call: Call) -> Response:
    """Send the labeler's current claim, or with ``held=2`` the one to load beforehand."""
    held = call.query.get("held", "1")
    if held not in ("1", "2"):
        raise Refusal(400, "held: expected 1 or 2.")
    task = take_task(call.store, call.path["round_id"], call.name, call.now, held=int(held))
    return call.json(_show(call, call.path["round_id"], task))


def take_label(call: Call) -> Response:
    """Save a label; the same again changes nothing."""
    choice = call.read_json(Choice)
    task_id = call.path["task_id"]
    with call.store.write(call.name):
        given = save_label(call.store, task_id, call.name, choice, call.now)
        call.audit("label", task_id, given.verdict)
    return call.json({"saved": given.verdict, "labeled_at": given.labeled_at})


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
    shown = _show(call, task.round_id, task)
    return call.json(msgspec.structs.replace(shown, before=before, unskipped=reason is not None))


def _show(call: Call, round_id: str, task: Task | None) -> DeskClaim:
    count = count_round(call.store, round_id)
    if task is None:
        return DeskClaim(task=None, progress=count)
    return DeskClaim(
        task=task,
        progress=count,
        stale=find_stale(call.store, task),
        left_in_answer=count_left_in_answer(call.store, task, call.name),
    )


ROUTES = (
    PageRoute("GET", "/label", choose_round, "labeler"),
    PageRoute("GET", "/label/{round_id}", show_desk, "labeler"),
    PageRoute("GET", "/api/rounds/{round_id}/next", send_next, "labeler"),
    PageRoute("POST", "/api/tasks/{task_id}/label", take_label, "labeler"),
    PageRoute("POST", "/api/tasks/{task_id}/skip", take_skip, "labeler"),
    PageRoute("POST", "/api/tasks/{task_id}/undo", take_undo, "labeler"),
)
