"""The annotators' queue: who labels which claim, what they say, and what is taken back.

A task wants one label or several; each has a slot. A slot is leased to one person for a while, and
every contact renews the lease. Who walks away loses it only when someone else takes it, so nothing
is lost and nothing is asked twice. Labels are only ever added: a changed mind is a later label, and
a label taken back stays with a retraction beside it. Every function that changes something does so
in one transaction, and writers take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from claimwise.errors import RefusedError
from claimwise.labelling.rounds import (
    NewTask,
    Stratum,
    add_guide,
    close_round,
    create_round,
    list_rounds,
    list_strata,
    query_of,
    read_progress,
    read_round,
)
from claimwise.labelling.rules import Ruling, check_text, read_seconds, rule_choice
from claimwise.labelling.tasks import (
    ClaimLabels,
    StoredClaim,
    StoredTask,
    find_task,
    read_claim_labels,
    show_task,
)
from claimwise.labelling.values import Choice, DecisionKey, Dispute, GivenLabel, Task
from claimwise.store.checks import MOST_AHEAD
from claimwise.store.store import Store
from claimwise.types.rows import LabelKind

__all__ = [
    "LEASE", "LabelledMeanwhile", "NewTask", "OwnLabel", "Stratum", "add_guide", "adjudicate",
    "close_round", "count_labels_of", "create_round", "hold_batch", "hold_tasks", "is_saved",
    "list_disputes", "list_done_of", "list_held", "list_held_in", "list_labels_of", "list_rounds",
    "list_strata", "read_dispute", "read_progress", "read_round", "read_skip", "read_task",
    "save_label", "skip_task", "take_task", "undo_label", "undo_skip",
]  # fmt: skip

LEASE: Final = timedelta(minutes=15)
# A lease this fresh is not renewed: reading on would cost a write each time.
_FRESH: Final = timedelta(minutes=1)
_NOT_YOURS: Final = (
    "this claim is not yours to label: it was never given to you, you passed on it, or your time "
    "with it ran out and someone else has it now. Nothing was saved; go on with the next claim"
)
_TICK: Final = timedelta(microseconds=1)
# Free slots looked at for an item that nobody else is on: a few, and when those are taken, many.
_LOOK_AHEAD: Final = (20, 400)
_LONGEST_SKIP_REASON: Final = 500
_LONGEST_SAVE_ID: Final = 64


class LabelledMeanwhile(RefusedError):
    """The own label of a claim is another one than the page has seen: given in another tab."""

    def __init__(self, mine: GivenLabel) -> None:
        super().__init__(
            f"You labelled this claim “{mine.verdict.replace('_', ' ')}” at "
            f"{mine.labeled_at:%Y-%m-%d %H:%M} UTC, in another tab or on another device."
        )
        self.mine = mine


class OwnLabel(NamedTuple):
    """A task that a person has labelled, and their label."""

    task_id: str
    item_id: str
    claim_text: str
    label: GivenLabel


class _Held(NamedTuple):
    task_id: str
    slot: int
    position: int
    leased_until: Any  # text from SQLite


class _Free(NamedTuple):
    task_id: str
    slot: int
    position: int
    item_id: str


class _Slot(NamedTuple):
    slot: int
    state: str
    leased_until: Any


def take_task(
    store: Store, round_id: str, labeler: str, now: datetime, *, held: int = 1
) -> Task | None:
    """Return the ``held``-th task that a person holds in a round, leasing more as needed.

    1 is the task they are on, 2 the one to load beforehand. Entries of the annotators' queue come
    first; then the item they are on; then an item that nobody else is on, in the round's order;
    then whatever is left, slots that others walked away from last. None: nothing is left for them.

    Raises:
        RefusedError: there is no such round, or ``held`` is neither 1 nor 2.
    """
    if held not in (1, 2):
        raise RefusedError(f"held: found {held}, expected 1 or 2")
    holding = hold_tasks(store, round_id, labeler, now, held)
    return show_task(store, find_task(store, holding[held - 1])) if len(holding) >= held else None


def hold_batch(store: Store, round_id: str, labeler: str, now: datetime, most: int) -> list[str]:
    """Return the tasks that a person holds in a round, in order, with as many ahead as is fair.

    Up to ``most``, and never more than half of what they hold and what is free: the others want
    claims too. Two at least, if there are two.

    Raises:
        RefusedError: there is no such round.
    """
    held = len(_list_held(store, round_id, labeler))
    states: dict[str, int] = dict(store.query(query_of("counts"), {"round_id": round_id}))
    free = states.get("open", 0)
    return hold_tasks(store, round_id, labeler, now, max(2, min(most, (held + free) // 2)))


def hold_tasks(store: Store, round_id: str, labeler: str, now: datetime, wanted: int) -> list[str]:
    """Return the tasks that a person holds in a round, in order, leasing up to ``wanted``.

    Raises:
        RefusedError: there is no such round.
    """
    read_round(store, round_id)
    holding = _list_held(store, round_id, labeler)
    if any(_is_old(lease, now) for lease in holding):
        with store.write(labeler):
            holding = _hold(store, round_id, labeler, now, len(holding))
    # One after the other: two people who lease two at once could wait for each other for ever.
    while len(holding) < wanted:
        before = len(holding)
        with store.write(labeler):
            holding = _hold(store, round_id, labeler, now, before + 1)
        if len(holding) <= before:
            break
    return [lease.task_id for lease in holding]


def list_held(store: Store, task_id: str, labeler: str) -> list[str]:
    """Return the tasks that a person holds in the round of a task."""
    return list_held_in(store, find_task(store, task_id).round_id, labeler)


def list_held_in(store: Store, round_id: str, labeler: str) -> list[str]:
    """Return the tasks that a person holds in a round."""
    return [one.task_id for one in _list_held(store, round_id, labeler)]


def _list_held(store: Store, round_id: str, labeler: str) -> list[_Held]:
    params = {"round_id": round_id, "labeler": labeler}
    return [_Held(*row) for row in store.query(query_of("held"), params)]


def _is_old(lease: _Held, now: datetime) -> bool:
    return _to_time(lease.leased_until) < now + LEASE - _FRESH


def _hold(store: Store, round_id: str, labeler: str, now: datetime, wanted: int) -> list[_Held]:
    """Renew what a person holds in a round, and lease more until it is enough.

    A slot that someone else took first is left to them.
    """
    closed = read_round(store, round_id).closed_at is not None  # asked again, in turn
    holding = _list_held(store, round_id, labeler)
    if any(_is_old(lease, now) for lease in holding):
        holding = _renew(store, holding, labeler, now)
    while len(holding) < wanted and not closed:
        until = now + LEASE + len(holding) * _TICK
        free = _find_free(store, round_id, labeler, now)
        if free is None:
            spare = _take_spare(store, round_id, labeler, until)
            if spare is None:
                break
            holding.append(spare)
        elif _lease(store, free, labeler, until, now):
            holding.append(_Held(free.task_id, free.slot, free.position, until))
    return holding


def _take_spare(store: Store, round_id: str, labeler: str, until: datetime) -> _Held | None:
    """Take over what someone else has far ahead of them, or None when nobody has.

    They lose nothing but a claim that they have not come to; their desk is told with the next save.
    """
    rows = store.query(query_of("spare"), {"round_id": round_id, "labeler": labeler})
    if not rows:
        return None
    task_id, slot, position, _, holder = rows[0]
    params = {"task_id": task_id, "slot": slot, "holder": holder, "labeler": labeler}
    changed = store.execute(query_of("take_over"), {**params, "leased_until": until})
    return _Held(task_id, slot, position, until) if changed == 1 else None


def _renew(store: Store, holding: Sequence[_Held], labeler: str, now: datetime) -> list[_Held]:
    """Renew leases; each ends a little after the one before, which keeps their order.

    Returns those that are still the person's: what has ended, others may take.
    """
    return [
        lease
        for number, lease in enumerate(holding)
        if _lease(store, lease, labeler, now + LEASE + number * _TICK, now)
    ]


def _lease(store: Store, slot: _Held | _Free, labeler: str, until: datetime, now: datetime) -> bool:
    """Lease a slot that is free or one's own; return whether it was."""
    changed = store.execute(
        query_of("lease"),
        {
            "labeler": labeler,
            "leased_until": until,
            "task_id": slot.task_id,
            "slot": slot.slot,
            "now": now,
        },
    )
    return changed == 1


def _find_free(store: Store, round_id: str, labeler: str, now: datetime) -> _Free | None:
    params: dict[str, Any] = {"round_id": round_id, "labeler": labeler, "now": now}
    urgent = store.query(query_of("urgent"), params)
    if urgent:
        return _Free(*urgent[0])
    item_id, after = _find_place(store, params)
    busy = {row[0] for row in store.query(query_of("busy"), params)} - {item_id}
    for wanted in _LOOK_AHEAD:
        ahead = _list_open(store, params, after, wanted)
        found = next((one for one in ahead if one.item_id not in busy), None)
        if found is not None:
            return found
    behind = _list_open(store, params, -1, _LOOK_AHEAD[-1])
    found = next((one for one in behind if one.item_id not in busy), None)
    if found is None:
        left = [*ahead, *behind, *(_Free(*row) for row in store.query(query_of("expired"), params))]
        found = left[0] if left else None
    return found


def _list_open(store: Store, params: dict[str, Any], after: int, wanted: int) -> list[_Free]:
    rows = store.query(query_of("open"), {**params, "after": after, "wanted": wanted})
    return [_Free(*row) for row in rows]


def _find_place(store: Store, params: dict[str, Any]) -> tuple[str | None, int]:
    """Return the item that a person is on, and the position before its first task."""
    found = store.query(query_of("last_place"), params)
    return (found[0][0], found[0][1]) if found else (None, -1)


def read_task(store: Store, task_id: str, labeler: str) -> Task:
    """Return a task that a person holds or has labelled, with their own label.

    Raises:
        RefusedError: it is not theirs.
    """
    task = find_task(store, task_id)
    _find_slot(store, task_id, labeler)
    return show_task(store, task, read_claim_labels(store, task).of(labeler))


def save_label(
    store: Store, task_id: str, labeler: str, choice: Choice, now: datetime
) -> GivenLabel:
    """Add a person's label, and mark their slot done.

    The same choice again is the same label; another choice is a later label. A lease that has
    ended does not matter as long as nobody else took the slot. A choice with a ``save_id`` comes
    from a page that may send it twice, late, or beside another page of the same person: it is saved
    once, and takes the place of an own label only if that page has seen it.

    Raises:
        RefusedError: the task is not theirs, or the choice breaks a rule.
        LabelledMeanwhile: the person has labelled the claim elsewhere since the page showed it.
    """
    with store.write(labeler):
        task = find_task(store, task_id)
        saved = _find_save(store, task, labeler, choice)
        if saved is not None:
            return saved
        slot = _find_slot(store, task_id, labeler)
        if task.closed_at is not None and slot.state == "done":
            raise RefusedError("the round is closed: labels given in it stay as they are")
        ruling = rule_choice(store, task, choice)
        mine = read_claim_labels(store, task).of(labeler) if slot.state == "done" else None
        if mine is not None and _same(mine, ruling):
            return mine
        if mine is not None and choice.save_id is not None and choice.seen != mine.labeled_at:
            raise LabelledMeanwhile(mine)
        given = _add_label(store, _Asked.of(task), labeler, ruling, "human", now)
        finished = store.execute(
            query_of("finish"),
            {
                "labeled_at": given.labeled_at,
                "seconds": read_seconds(choice),
                "task_id": task_id,
                "slot": slot.slot,
                "labeler": labeler,
            },
        )
        if finished != 1:
            raise RefusedError(_NOT_YOURS)
        if choice.save_id is not None:
            _keep_save(store, task_id, choice, given, now)
    return given


def is_saved(store: Store, save_id: str | None) -> bool:
    """Tell whether a save of the desk was sent before."""
    named = save_id is not None and "\x00" not in save_id
    return named and bool(store.query(query_of("save"), {"save_id": save_id}))


def _find_save(store: Store, task: StoredTask, labeler: str, choice: Choice) -> GivenLabel | None:
    """Return the label that a save became when it was sent before; None: it is new."""
    if choice.save_id is None:
        return None
    if not 8 <= len(choice.save_id) <= _LONGEST_SAVE_ID:
        raise RefusedError(f"save_id: expected 8 to {_LONGEST_SAVE_ID} characters")
    check_text("save_id", choice.save_id)
    found = store.query(query_of("save"), {"save_id": choice.save_id})
    if not found:
        return None
    task_id, person, labeled_at = found[0]
    if (task_id, person) != (task.task_id, labeler):
        raise RefusedError("save_id: found the id of another save, expected one of its own")
    return GivenLabel(labeler=labeler, verdict=choice.verdict, labeled_at=_to_time(labeled_at))


def _keep_save(
    store: Store, task_id: str, choice: Choice, given: GivenLabel, now: datetime
) -> None:
    offered = choice.suggestion
    values = {
        "save_id": choice.save_id,
        "task_id": task_id,
        "labeler": given.labeler,
        "labeled_at": given.labeled_at,
        "suggestion": offered if offered in (0, 1, 2, 3) else None,
        "now": now,
    }
    store.execute(query_of("keep_save"), values)


def skip_task(store: Store, task_id: str, labeler: str, reason: str, now: datetime) -> None:
    """Pass on a task that a person holds: it goes to others, and does not come back by itself.

    Skipping it again changes nothing.

    Raises:
        RefusedError: the task is not theirs, is labelled already, or there is no reason.
    """
    told = reason.strip()
    check_text("reason", told)
    if not 0 < len(told) <= _LONGEST_SKIP_REASON:
        raise RefusedError(
            f"reason: found {len(told)} characters, expected 1 to {_LONGEST_SKIP_REASON}: say in a "
            "few words why you pass on the claim"
        )
    key = {"task_id": task_id, "labeler": labeler}
    with store.write(labeler):
        find_task(store, task_id)
        if store.query(query_of("own_skip"), key):
            return
        slot = _find_slot(store, task_id, labeler)
        if slot.state == "done":
            raise RefusedError("you have labelled this claim; take the label back first")
        store.execute(
            "insert into annotation_skips (task_id, labeler, reason, skipped_at) "
            "values (:task_id, :labeler, :reason, :now)",
            {**key, "reason": told, "now": now},
        )
        store.execute(query_of("release"), {**key, "slot": slot.slot})


def undo_label(store: Store, task_id: str, labeler: str, now: datetime) -> Task:
    """Take a person's label back: it stays stored and no longer stands; the task is theirs again.

    Raises:
        RefusedError: they have no label there, or the round is closed.
    """
    with store.write(labeler):
        task = find_task(store, task_id)
        slot = _find_slot(store, task_id, labeler)
        if slot.state != "done":
            raise RefusedError("you have no label here to undo")
        if task.closed_at is not None:
            raise RefusedError("the round is closed: labels given in it stay as they are")
        params = {**task.params, "labeler": labeler, "now": now, "since": task.round_created_at}
        store.execute(query_of("take_back", task.judgement), params)
        if task.judgement == "grounded":
            store.execute(query_of("queue_again"), params)
        # It is the current one again, before whatever else they hold.
        again = _Held(task_id, slot.slot, task.position, now)
        holding = _list_held(store, task.round_id, labeler)
        _renew(store, [again, *holding], labeler, now)
    return show_task(store, task)


def read_skip(store: Store, task_id: str, labeler: str) -> str | None:
    """Return why a person passed on a task that is not theirs since, or None."""
    found = store.query(query_of("own_skip"), {"task_id": task_id, "labeler": labeler})
    return None if not found or _list_slots(store, task_id, labeler) else found[0][0]


def undo_skip(store: Store, task_id: str, labeler: str, now: datetime) -> Task:
    """Take a person's skip back: nothing of it is left, and the task is theirs again.

    Raises:
        RefusedError: they did not pass on it, the round is closed, or others have the task now.
    """
    with store.write(labeler):
        task = find_task(store, task_id)
        key = {"task_id": task_id, "labeler": labeler}
        if read_skip(store, task_id, labeler) is None:
            raise RefusedError("you have no skip here to undo")
        if task.closed_at is not None:
            raise RefusedError("the round is closed: nothing in it can be undone")
        store.execute(query_of("unskip"), key)
        free = [_Held(*row) for row in store.query(query_of("free"), {**key, "now": now})]
        # It is the current one again, before whatever else they hold.
        held = _renew(store, [*free, *_list_held(store, task.round_id, labeler)], labeler, now)
        if not free or free[0] not in held:
            raise RefusedError(
                "someone else has this claim now, or it was decided: your skip stays; go on with "
                "the next claim"
            )
    return show_task(store, task)


def list_done_of(store: Store, round_id: str, labeler: str, limit: int = 20) -> list[str]:
    """Return the tasks that a person labelled or passed on last in a round, the latest first."""
    params = {"round_id": round_id, "labeler": labeler, "wanted": max(0, limit)}
    return [row[0] for row in store.query(query_of("recent_done"), params)]


def count_labels_of(store: Store, round_id: str, labeler: str) -> int:
    """Count the claims that a person has labelled in a round."""
    params = {"round_id": round_id, "labeler": labeler}
    return int(store.query(query_of("own_labels"), params)[0][0])


def list_labels_of(store: Store, round_id: str, labeler: str, limit: int = 20) -> list[OwnLabel]:
    """Return what a person labelled last in a round, the latest first."""
    params = {"round_id": round_id, "labeler": labeler, "wanted": max(0, limit)}
    found = []
    for task_id, item_id, claim_text in store.query(query_of("recent"), params):
        mine = read_claim_labels(store, find_task(store, task_id)).of(labeler)
        if mine is not None:
            found.append(OwnLabel(task_id, item_id, claim_text, mine))
    return found


def list_disputes(store: Store, round_id: str) -> list[Dispute]:
    """Return the claims of a round that need an adjudicator, undecided ones first.

    People differ, each by their latest label; or someone passed on it and nobody labelled it.
    Decided ones come last.
    """
    judgement = read_round(store, round_id).judgement
    rows = store.query(query_of("disputes", judgement), {"round_id": round_id})
    found = [_make_dispute(store, find_task(store, row[0])) for row in rows]
    return sorted(found, key=lambda dispute: dispute.decided is not None)


def read_dispute(store: Store, task_id: str) -> tuple[Task, Dispute]:
    """Return a task with all that people say of it, disputed or not.

    Raises:
        RefusedError: there is no such task.
    """
    task = find_task(store, task_id)
    return show_task(store, task), _make_dispute(store, task)


def _make_dispute(store: Store, task: StoredTask) -> Dispute:
    standing: ClaimLabels = read_claim_labels(store, task)
    return Dispute(
        task_id=task.task_id,
        round_id=task.round_id,
        item_id=task.item_id,
        claim_text=task.claim_text,
        labels=standing.latest(),
        skips=tuple(
            (row[0], row[1]) for row in store.query(query_of("skips"), {"task_id": task.task_id})
        ),
        decided=standing.decided,
    )


def adjudicate(
    store: Store,
    task_id: str,
    adjudicator: str,
    choice: Choice,
    now: datetime,
    *,
    replaces: DecisionKey | None = None,
) -> GivenLabel:
    """Add the label that decides a claim, whoever labelled it before; nobody else need label it.

    The same decision of the same person again is the same label. A decision that was made before
    is replaced only by someone who saw it; the new one is later, whatever the clock says.

    Args:
        store: where.
        task_id: whose claim.
        adjudicator: who decides.
        choice: what they decide.
        now: the time.
        replaces: the decision that they saw; None when there was none.

    Raises:
        RefusedError: there is no such task, the choice breaks a rule, or someone has decided since
            the adjudicator looked.
    """
    with store.write():
        task = find_task(store, task_id)
        ruling = rule_choice(store, task, choice)
        decided = read_claim_labels(store, task).decided
        if decided:
            if decided.labeler == adjudicator and _same(decided, ruling):
                return decided
            _check_seen(decided, replaces)
            if decided.labeled_at <= now + MOST_AHEAD:  # one dated further ahead is taken back
                now = max(now, decided.labeled_at + _TICK)
        given = _add_label(store, _Asked.of(task), adjudicator, ruling, "adjudicated", now)
        store.execute(query_of("settle"), {"task_id": task_id})
    return given


def retract_decision(store: Store, task_id: str, adjudicator: str, now: datetime) -> GivenLabel:
    """Take an adjudicator's own decision back: it stays stored, and what stood before stands again.

    Raises:
        RefusedError: there is no decision, or it is someone else's.
    """
    with store.write():
        task = find_task(store, task_id)
        decided = read_claim_labels(store, task).decided
        if decided is None:
            raise RefusedError("this claim has no decision to undo")
        if decided.labeler != adjudicator:
            raise RefusedError(
                f"{decided.labeler} decided this claim; give your own decision to replace theirs"
            )
        params = {
            **task.params, "labeler": adjudicator, "labeled_at": decided.labeled_at, "now": now
        }  # fmt: skip
        store.execute(query_of("take_back_decision", task.judgement), params)
        if read_claim_labels(store, task).decided is None:
            store.execute(query_of("unsettle"), {"task_id": task_id})
        if task.judgement == "grounded":
            store.execute(query_of("queue_again"), params)
    return decided


def _check_seen(decided: GivenLabel, seen: DecisionKey | None) -> None:
    """Refuse to replace a decision that whoever decides now has not seen."""
    if seen != DecisionKey(labeler=decided.labeler, labeled_at=decided.labeled_at):
        raise RefusedError(
            f"this claim was decided while you had it open: {decided.labeler} chose "
            f"“{decided.verdict.replace('_', ' ')}” at {decided.labeled_at:%Y-%m-%d %H:%M} UTC. "
            "Your decision was not saved; load the page again to see theirs and, if you disagree, "
            "replace it"
        )


def _find_slot(store: Store, task_id: str, labeler: str) -> _Slot:
    """Return a person's own slot of a task."""
    found = _list_slots(store, task_id, labeler)
    if not found:
        raise RefusedError(_NOT_YOURS)
    return found[0]


def _list_slots(store: Store, task_id: str, labeler: str) -> list[_Slot]:
    rows = store.query(query_of("own_slot"), {"task_id": task_id, "labeler": labeler})
    return [_Slot(*row) for row in rows]


def _same(given: GivenLabel, ruling: Ruling) -> bool:
    return all(getattr(given, name) == value for name, value in ruling._asdict().items())


class _Asked(NamedTuple):
    """A claim to be labelled, by which guide, and its chance of being drawn if it was drawn."""

    claim: StoredClaim
    guide_version: str
    chance: float | None

    @classmethod
    def of(cls, task: StoredTask) -> _Asked:
        return cls(task, task.guide_version, task.inclusion_probability)


def label_claim(
    store: Store,
    claim: StoredClaim,
    labeler: str,
    choice: Choice,
    guide_version: str,
    now: datetime,
) -> GivenLabel:
    """Add a person's label of any claim, whether a round asks for it or not.

    Where an open round does, the label counts as given in it: by its guide, with the claim's chance
    of being drawn, and it fills the person's slot.

    Raises:
        RefusedError: the choice breaks a rule.
    """
    with store.write(labeler):
        key = {**claim.params, "judgement": claim.judgement}
        tasks = [find_task(store, row[0]) for row in store.query(query_of("asking"), key)]
        ruling = rule_choice(store, claim, choice)
        mine = read_claim_labels(store, claim).of(labeler)
        if mine is not None and _same(mine, ruling):
            return mine
        asked = _Asked.of(tasks[0]) if tasks else _Asked(claim, guide_version, None)
        given = _add_label(store, asked, labeler, ruling, "human", now)
        for task in tasks:
            params = {"task_id": task.task_id, "labeler": labeler, "now": now}
            filled = {**params, "labeled_at": given.labeled_at}
            store.execute(query_of("fill_slot", claim.judgement), filled)
    return given


def _add_label(
    store: Store,
    asked: _Asked,
    labeler: str,
    ruling: Ruling,
    kind: LabelKind,
    now: datetime,
) -> GivenLabel:
    task, guide_version, chance = asked
    _register_person(store, labeler)
    params = {**task.params, "labeler": labeler, "now": now, "latest": now + MOST_AHEAD}
    store.execute(query_of("take_back_ahead", task.judgement), {**params, "kind": kind})
    last = store.query(query_of("last_time", task.judgement), params)[0][0]
    # After the person's last label of the claim, however fast they are.
    labeled_at = now if last is None else max(now, _to_time(last) + _TICK)
    values = {
        **task.params,
        **ruling._asdict(),
        "claim_text": task.claim_text,
        "claim_type": task.claim_type,
        "labeler": labeler,
        "labeled_at": labeled_at,
        "label_kind": kind,
        "guide_version": guide_version,
        "inclusion_probability": chance,
    }
    store.execute(query_of(f"add_{task.judgement}"), values)
    if task.judgement == "grounded":
        store.execute(query_of("queue_done"), {**task.params, "now": now})
    return GivenLabel(
        labeler=labeler,
        labeled_at=labeled_at,
        guide_version=guide_version,
        **ruling._asdict(),
    )


def _register_person(store: Store, labeler: str) -> None:
    known = store.query(
        "select labeler_kind from labelers where labeler = :labeler", {"labeler": labeler}
    )
    if not known:
        store.execute(
            "insert into labelers (labeler, labeler_kind) values (:labeler, 'human')",
            {"labeler": labeler},
        )
    elif known[0][0] != "human":
        raise RefusedError(f"{labeler} is a judge; people label under a name of their own")


def _to_time(value: Any) -> datetime:
    """Return a time of the database; SQLite gives text."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)
