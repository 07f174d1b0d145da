"""Adjudication: claims on which people differ, side by side, with the rule that decides.

Labelers are letters here, so that it is the label that is judged and not the person; an admin may
ask for the names. A label is taken as it stands, or another is given with the controls of the desk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from string import ascii_uppercase
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from claimwise.app.desk import embed_json, find_requested_round, find_stale, list_desk_values
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.labelling import queue
from claimwise.labelling.desk import count_disputes
from claimwise.labelling.guide import find_guide, show_rules
from claimwise.labelling.queue import adjudicate, list_disputes, list_rounds, read_dispute
from claimwise.labelling.values import Decision, Dispute, GivenLabel, Task

NOBODY = "passed on by all"


class Side(Struct, frozen=True, kw_only=True):
    """One label of a dispute, under a letter."""

    letter: str
    verdict: str
    name: str | None = None  # for an admin who asked
    source_id: str | None = None
    span_start: int | None = None
    span_text: str | None = None
    entry_id: str | None = None
    covered_text: str | None = None
    reason: str | None = None


def list_sides(dispute: Dispute, task: Task, *, with_names: bool = False) -> list[Side]:
    """Return a dispute's labels under letters, in the order of the labelers' names.

    That order says nothing about who came first, and is the same on every visit.
    """
    given = sorted(dispute.labels, key=lambda one: one.labeler)
    return [
        _make_side(one, _letter(number), task, with_names=with_names)
        for number, one in enumerate(given)
    ]


def list_verdicts(labels: Sequence[GivenLabel]) -> tuple[str, ...]:
    """Return the verdicts that stand against each other, in a fixed order."""
    return tuple(sorted({one.verdict for one in labels}))


def group_disputes(disputes: Sequence[Dispute]) -> list[tuple[tuple[str, ...], list[Dispute]]]:
    """Group disputes by the verdicts that stand against each other, the largest open group first.

    Within a group undecided ones come first, those with most labels before others.
    """
    groups: dict[tuple[str, ...], list[Dispute]] = defaultdict(list)
    for dispute in disputes:
        groups[list_verdicts(dispute.labels)].append(dispute)
    for found in groups.values():
        found.sort(key=lambda one: (one.decided is not None, -len(one.labels), one.task_id))
    return sorted(groups.items(), key=lambda group: (-_count_open(group[1]), group[0]))


def choose_disputes(call: Call) -> Response:
    """List the rounds that have disputes, those with most to decide first."""
    counted = [(one, count_disputes(call.store, one)) for one in list_rounds(call.store)]
    found = sorted((pair for pair in counted if pair[1].all), key=lambda pair: -pair[1].open)
    return call.render("adjudicate.html", rounds=found)


def show_disputes(call: Call) -> Response:
    """List a round's disputes by verdict pair, each group with the rules that decide it."""
    chosen = find_requested_round(call)
    guide = find_guide(call.store, chosen.guide_version, call.project.folder)
    groups = [
        {
            "pair": pair,
            "open": _count_open(found),
            "disputes": found,
            "rules": [rule for two in combinations(pair, 2) for rule in show_rules(guide, *two)],
        }
        for pair, found in group_disputes(list_disputes(call.store, chosen.round_id))
    ]
    return call.render("disputes.html", round=chosen, groups=groups, nobody=NOBODY)


def show_dispute(call: Call) -> Response:
    """Show one dispute on the desk."""
    chosen = find_requested_round(call)
    task, dispute = read_dispute(call.store, call.path["task_id"])
    if task.round_id != chosen.round_id:
        raise Refusal(404, "There is no such claim in this round.")
    with_names = "names" in call.query and call.allows("admin")
    if with_names:
        call.audit("names shown", task.task_id)
    sides = list_sides(dispute, task, with_names=with_names)
    guide = find_guide(call.store, chosen.guide_version, call.project.folder)
    pair = list_verdicts(dispute.labels)
    data: dict[str, Any] = {
        "task": task,
        "stale": find_stale(call.store, task.run_id, task.sources),
        "sides": sides,
        "decided": dispute.decided,
    }
    return call.render(
        "dispute.html",
        data=embed_json(data),
        task=task,
        dispute=dispute,
        sides=sides,
        skips=[reason for _, reason in dispute.skips],
        deciding=[rule for two in combinations(pair, 2) for rule in show_rules(guide, *two)],
        may_undo=dispute.decided is not None and dispute.decided.labeler == call.name,
        may_ask_names=call.allows("admin") and not with_names,
        **list_desk_values(call, chosen),
    )


def take_decision(call: Call) -> Response:
    """Save what an adjudicator decided; tell which dispute comes next.

    Who has not seen a decision made meanwhile is told of it, and nothing is saved.
    """
    choice = call.read_json(Decision)
    task_id = call.path["task_id"]
    with call.store.write():
        given = adjudicate(
            call.store, task_id, call.name, choice, call.now, replaces=choice.replaces
        )
        call.audit("adjudicate", task_id, given.verdict)
    _, dispute = read_dispute(call.store, task_id)
    here = f"/adjudicate/{quote(dispute.round_id, safe='')}"
    following = _find_following(list_disputes(call.store, dispute.round_id), dispute)
    then = f"{here}/{quote(following.task_id, safe='')}" if following else here
    return call.json({"saved": given.verdict, "next": then})


def undo_decision(call: Call) -> Response:
    """Take back what this adjudicator decided; the dispute is open again."""
    task_id = call.path["task_id"]
    with call.store.write():
        taken = queue.retract_decision(call.store, task_id, call.name, call.now)
        call.audit("undo decision", task_id, taken.verdict)
    return call.json({"undone": taken.verdict})


def _find_following(disputes: Sequence[Dispute], decided: Dispute) -> Dispute | None:
    """Return the next open dispute: of the same pair, while its rule is fresh, or of the next."""
    pair = list_verdicts(decided.labels)
    groups = sorted(group_disputes(disputes), key=lambda group: group[0] != pair)
    waiting = (one for _, found in groups for one in found if one.decided is None)
    return next(waiting, None)


def _make_side(given: GivenLabel, letter: str, task: Task, *, with_names: bool) -> Side:
    entry = None
    if given.source_id is None and given.supporting_span is not None:
        entry = next(
            (one.entry_id for one in task.action_log if one.entry_text == given.supporting_span),
            None,
        )
    return Side(
        letter=letter,
        verdict=given.verdict,
        name=given.labeler if with_names else None,
        source_id=given.source_id,
        span_start=given.span_start,
        span_text=given.supporting_span,
        entry_id=entry,
        covered_text=given.covered_text,
        reason=given.reason,
    )


def _letter(number: int) -> str:
    """Return A, B … Z, then A2, B2 and so on."""
    again, place = divmod(number, len(ascii_uppercase))
    return ascii_uppercase[place] + (str(again + 1) if again else "")


def _count_open(disputes: Sequence[Dispute]) -> int:
    return sum(one.decided is None for one in disputes)


ROUTES = (
    PageRoute("GET", "/adjudicate", choose_disputes, "adjudicator"),
    PageRoute("GET", "/adjudicate/{round_id}", show_disputes, "adjudicator"),
    PageRoute("GET", "/adjudicate/{round_id}/{task_id}", show_dispute, "adjudicator"),
    PageRoute("POST", "/api/disputes/{task_id}/decide", take_decision, "adjudicator"),
    PageRoute("POST", "/api/disputes/{task_id}/undo", undo_decision, "adjudicator"),
)
