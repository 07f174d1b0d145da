"""The admin's pages of rounds: make one, see how far it is, close it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from claimwise.app.desk import find_requested_round
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.errors import ClaimwiseError, RefusedError, StoreBusyError, StoreReplacedError
from claimwise.labelling.desk import search_runs
from claimwise.labelling.draw import DEFAULT_FLOOR, draw_round
from claimwise.labelling.guide import read_guide
from claimwise.labelling.rounds import (
    add_guide,
    close_round,
    list_rounds,
    list_strata,
    read_progress,
)
from claimwise.labelling.values import Round
from claimwise.types.rows import Judgement

N = TypeVar("N", int, float)

_JUDGEMENTS: tuple[Judgement, ...] = ("grounded", "closed_book")
_MOST_RUNS = 30  # offered at once; a search finds the others
_LONGEST_SEARCH = 200
_DEFAULTS = {
    "run": "",
    "judgement": "grounded",
    "title": "",
    "size": "",
    "overlap": "10",
    "overlap_labels": "2",
    "verifier": "",
    "floor": str(DEFAULT_FLOOR),
    "seed": "0",
}


# What the form calls its numbers.
_NAMES = {
    "size": "Claims",
    "overlap": "Labelled by several people, in percent",
    "overlap_labels": "By how many people",
    "floor": "At least this many of each group",
    "seed": "Seed",
}


def show_rounds(call: Call) -> Response:
    """Show all rounds and the form that makes one."""
    return _show(call, _DEFAULTS | {"run": call.query.get("run", "")})


def make_round(call: Call) -> Response:
    """Draw a round. What is wrong is said above the form, which keeps what was filled in."""
    filled = {name: call.form.get(name, default).strip() for name, default in _DEFAULTS.items()}
    try:
        made = _draw(call, filled)
    except (RefusedError, StoreBusyError, StoreReplacedError):
        raise
    except ClaimwiseError as error:
        return _show(call, filled, problem=str(error))
    return call.redirect(f"/rounds/{made.round_id}")


def show_round(call: Call) -> Response:
    """Show one round: how far it is, by whom, and how it was drawn."""
    one = find_requested_round(call)
    return call.render(
        "round.html",
        round=one,
        progress=read_progress(call.store, one.round_id, call.now),
        strata=list_strata(call.store, one.round_id),
    )


def send_runs(call: Call) -> Response:
    """Send the runs that hold the words asked for, the latest first."""
    words = " ".join(call.query.get("q", "").split())[:_LONGEST_SEARCH]
    return call.json({"runs": search_runs(call.store, words, _MOST_RUNS)})


def end_round(call: Call) -> Response:
    """Close a round: nothing more is handed out."""
    one = find_requested_round(call)
    with call.store.write():
        close_round(call.store, one.round_id, call.now)
        call.audit("round closed", subject=one.round_id)
    return call.redirect(f"/rounds/{one.round_id}")


def _draw(call: Call, filled: dict[str, str]) -> Round:
    judgement = filled["judgement"]
    if judgement not in _JUDGEMENTS:
        raise Refusal(400, f"Found the judgement {judgement!r}, expected grounded or closed_book.")
    if not filled["run"]:
        raise ClaimwiseError("choose a run")
    title = filled["title"] or None
    if title is not None and len(title) > 200:
        raise ClaimwiseError("the title is longer than 200 characters; shorten it")
    guide = read_guide(judgement, folder=call.project.folder)
    with call.store.write():
        add_guide(call.store, guide.version, guide.text, call.now)
        made = draw_round(
            call.store,
            filled["run"],
            judgement,
            title=title,
            verifier=filled["verifier"] or None,
            size=_read_number(filled, "size", int) if filled["size"] else None,
            overlap=_read_number(filled, "overlap", float) / 100,
            overlap_labels=_read_number(filled, "overlap_labels", int),
            floor=_read_number(filled, "floor", int),
            seed=_read_number(filled, "seed", int),
            created_by=call.name,
            guide_version=guide.version,
            now=call.now,
        )
        _refuse_twin(call, made)
        call.audit("round made", subject=made.round_id, detail=f"{made.run_id}, {judgement}")
    return made


def _refuse_twin(call: Call, made: Round) -> None:
    """Refuse a second open round like the first: a form sent twice must not make two."""
    for other in list_rounds(call.store, open_only=True):
        same = (other.run_id, other.judgement, other.title) == (
            made.run_id,
            made.judgement,
            made.title,
        )
        if same and other.round_id != made.round_id:
            raise ClaimwiseError(
                f"there is already an open round “{made.title}” ({other.round_id}); choose another "
                "title, or close that one"
            )


def _read_number(filled: dict[str, str], name: str, kind: Callable[[str], N]) -> N:
    try:
        if len(filled[name]) > 18:
            raise ValueError
        return kind(filled[name])
    except ValueError as error:
        found = filled[name][:40]
        raise ClaimwiseError(f"“{_NAMES[name]}” must be a number, not {found!r}") from error


def _show(call: Call, filled: dict[str, str], *, problem: str | None = None) -> Response:
    return call.render(
        "rounds.html",
        status=400 if problem else 200,
        rounds=[
            (one, read_progress(call.store, one.round_id, call.now))
            for one in list_rounds(call.store)
        ],
        runs=search_runs(call.store, "", _MOST_RUNS),
        filled=filled,
        problem=problem,
    )


ROUTES = (
    PageRoute("GET", "/rounds", show_rounds, "admin"),
    PageRoute("POST", "/rounds", make_round, "admin"),
    PageRoute("GET", "/rounds/{round_id}", show_round, "admin"),
    PageRoute("POST", "/rounds/{round_id}/close", end_round, "admin"),
    PageRoute("GET", "/api/find-runs", send_runs, "admin"),
)
