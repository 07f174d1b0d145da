"""Labels that no round asks for: whether an answer is right, and the verdict of any claim.

A round samples claims, so that its labels speak for the run. These pages are for what someone
wants to look at by themselves: an answer beside its gold answer, and its claims with the sources
they cite.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from claimwise.app.desk import embed_json, find_stale, list_desk_values
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.labelling.answers import (
    AnswerPlace,
    AnswerToLabel,
    find_next_answer,
    label_answer,
    list_answer_claims,
    list_answer_runs,
    read_labelled_answer,
    read_own_label,
)
from claimwise.labelling.guide import read_guide
from claimwise.labelling.queue import label_claim
from claimwise.labelling.rounds import add_guide
from claimwise.labelling.tasks import StoredClaim, find_claim, read_claim_labels, show_claim
from claimwise.labelling.values import Choice, Round

_MOST_RUNS = 30
_LONGEST_SEARCH = 200
_MOST_SAMPLES = 1_000_000


class ClaimChoice(Choice, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A verdict, and the claim it is of."""

    run_id: str
    item_id: str
    claim_id: str


class ClaimKey(Struct, frozen=True):
    """Which claim of which run."""

    run_id: str
    item_id: str
    claim_id: str


def choose_answers(call: Call) -> Response:
    """List the runs whose answers can be compared with gold answers."""
    words = " ".join(call.query.get("q", "").split())[:_LONGEST_SEARCH]
    runs = list_answer_runs(call.store, call.name, words, _MOST_RUNS)
    return call.render("label_answers.html", runs=runs, words=words)


def show_answer_form(call: Call) -> Response:
    """Show an answer beside its gold answer: the one asked for, else the next not labelled."""
    run_id = call.path["run_id"]
    place = _read_place(call.query) or find_next_answer(call.store, run_id, call.name)
    if place is None:
        return call.render("label_answer.html", answer=None, run_id=run_id)
    answer = _find_answer(call, run_id, place)
    return call.render(
        "label_answer.html",
        answer=answer,
        run_id=run_id,
        mine=read_own_label(call.store, answer, call.name),
        claims=list_answer_claims(call.store, answer, call.name),
        following=find_next_answer(call.store, run_id, call.name, place),
    )


def take_answer(call: Call) -> Response:
    """Save whether an answer is right, and go on to the next."""
    run_id = call.path["run_id"]
    place = _read_place(call.form)
    if place is None or call.form.get("correct") not in ("yes", "no"):
        raise Refusal(400, "Say whether the answer is correct.")
    answer = _find_answer(call, run_id, place)
    correct = call.form["correct"] == "yes"
    new = label_answer(
        call.store, answer, call.name, call.now,
        correct=correct, reason=call.form.get("reason", ""),
    )  # fmt: skip
    if new:
        subject = f"{run_id}/{place.item_id}/{place.sample}"
        call.audit("answer label", subject, "correct" if correct else "wrong")
    following = find_next_answer(call.store, run_id, call.name, place)
    return call.redirect(_link_answer(run_id, following))


def _link_answer(run_id: str, place: AnswerPlace | None) -> str:
    fields = {"item": place.item_id, "sample": place.sample} if place else {}
    return f"/label-answers/{run_id}" + (f"?{urlencode(fields)}" if fields else "")


def _read_place(fields: dict[str, str]) -> AnswerPlace | None:
    if "item" not in fields:
        return None
    sample = fields.get("sample") or "0"
    if not (sample.isascii() and sample.isdigit() and int(sample[:9]) < _MOST_SAMPLES):
        raise Refusal(404, "There is no such answer.")
    return AnswerPlace(fields["item"], int(sample[:9]))


def _find_answer(call: Call, run_id: str, place: AnswerPlace) -> AnswerToLabel:
    found = None
    if "\x00" not in run_id + place.item_id:
        found = read_labelled_answer(call.store, run_id, place)
    if found is None:
        raise Refusal(404, "There is no such answer.")
    return found


def show_claim_desk(call: Call) -> Response:
    """Show any claim on the desk, blind to what anyone and anything else said of it."""
    names = ("run", "item", "claim")
    claim = _find_claim(call, ClaimKey(*(call.query.get(name, "") for name in names)))
    guide = read_guide("grounded", folder=call.project.folder)
    mine = read_claim_labels(call.store, claim).of(call.name)
    task = show_claim(call.store, claim, guide.version, mine)
    data: dict[str, Any] = {
        "task": task,
        "stale": find_stale(call.store, task.run_id, task.sources),
        "next": _link_answer(claim.run_id, AnswerPlace(claim.item_id, claim.sample)),
    }
    values = list_desk_values(call, _make_round(claim, call))
    return call.render("label_claim.html", data=embed_json(data), **values)


def _make_round(claim: StoredClaim, call: Call) -> Round:
    """Return what the desk's template needs to know of a round, for a claim outside of any."""
    guide = read_guide("grounded", folder=call.project.folder)
    return Round(
        round_id="", run_id=claim.run_id, judgement="grounded", title=f"Claim of {claim.item_id}",
        guide_version=guide.version, strata_by=None, overlap=0.0, overlap_labels=0, seed=0,
        created_by=call.name, created_at=call.now,
    )  # fmt: skip


def take_claim(call: Call) -> Response:
    """Save a verdict of any claim."""
    choice = call.read_json(ClaimChoice)
    claim = _find_claim(call, ClaimKey(choice.run_id, choice.item_id, choice.claim_id))
    guide = read_guide("grounded", folder=call.project.folder)
    with call.store.write(call.name):
        add_guide(call.store, guide.version, guide.text, call.now)
        given = label_claim(call.store, claim, call.name, choice, guide.version, call.now)
        call.audit("label", f"{claim.run_id}/{claim.item_id}/{claim.claim_id}", given.verdict)
    return call.json({"saved": given.verdict})


def _find_claim(call: Call, key: ClaimKey) -> StoredClaim:
    claim = find_claim(call.store, key.run_id, key.item_id, key.claim_id, "grounded")
    if claim is None:
        raise Refusal(404, "There is no such claim.")
    return claim


ROUTES = (
    PageRoute("GET", "/label-answers", choose_answers, "labeler"),
    PageRoute("GET", "/label-answers/{run_id:path}", show_answer_form, "labeler"),
    PageRoute("POST", "/label-answers/{run_id:path}", take_answer, "labeler"),
    PageRoute("GET", "/label-claim", show_claim_desk, "labeler"),
    PageRoute("POST", "/api/claims/label", take_claim, "labeler"),
)
