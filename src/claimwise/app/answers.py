"""One answer: its claims in their places, their evidence in the sources, and who said what."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, urlencode

from claimwise.app.claims import look_of
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.calibration.queries import list_calibrations
from claimwise.calibration.values import CalibrationStatus
from claimwise.claims.answers import AnswerKey, find_sample, read_answer
from claimwise.claims.values import UNSCORED
from claimwise.incidents.one_click import promote_answer
from claimwise.incidents.queries import read_stored_answer
from claimwise.report import format as form

_MOST_SAMPLES: Final = 1_000_000
_ANSWERABLE: Final = {"yes": True, "no": False, "": None}
# The worst first: a stretch that belongs to several claims looks like the worst of them.
_SEVERITY: Final = (
    "contradicted", "false", "overreach", "unlinked", "unverifiable", "stale", UNSCORED,
    "non_factual", "supported", "true",
)  # fmt: skip


def show_answer(call: Call) -> Response:
    """Show an answer with its claims marked, its sources, and the history of verdicts."""
    run_id, key = _read_key(call.query)
    claim_id = call.query.get("claim")
    if claim_id and "sample" not in call.query:
        key = key._replace(sample=find_sample(call.store, run_id, key.item_id, claim_id))
    view = read_answer(call.store, run_id, *key)
    if view is None:
        raise Refusal(404, "There is no such answer; find it by its claims.")
    kept = urlencode(parse_qsl(call.query.get("list", "")))
    return call.render(
        "answer.html",
        view=view,
        facts=view.facts,
        chosen=claim_id,
        made=call.query.get("made") == "1",
        kept=kept,
        standings=_list_standings(call),
        link=lambda key: _write_link(run_id, key, kept),
        look=look_of,
        worst_of=lambda claims: min((one.word for one in claims), key=_SEVERITY.index),
        form=form,
    )


def make_test_case(call: Call) -> Response:
    """Make an answer a test case, and lead back to it."""
    run_id, key = _read_key(call.form)
    answer = read_stored_answer(call.store, run_id, *key)
    if answer is None:
        raise Refusal(404, "There is no such answer, so no test case was made.")
    said = _ANSWERABLE.get(call.form.get("answerable", ""))
    done = promote_answer(
        call.store,
        answer,
        who=call.name,
        answerable=said,
        query_types=call.project.query_types,
    )
    if not done.repeated:
        call.audit("promoted", subject=done.item.item_id, detail=done.incident.place)
    kept = urlencode(parse_qsl(call.form.get("list", "")))
    return call.redirect(f"{_write_link(run_id, key, kept)}&made=1")


def _read_key(fields: dict[str, str]) -> tuple[str, AnswerKey]:
    sample = fields.get("sample") or "0"
    if not (sample.isascii() and sample.isdigit() and int(sample[:9]) < _MOST_SAMPLES):
        raise Refusal(404, "There is no such answer; find it by its claims.")
    return fields.get("run", ""), AnswerKey(fields.get("item", ""), int(sample[:9]))


def _write_link(run_id: str, key: AnswerKey, kept: str) -> str:
    fields = {"run": run_id, "item": key.item_id, "sample": str(key.sample)}
    return f"/answers?{urlencode({**fields, 'list': kept} if kept else fields)}"


def _list_standings(call: Call) -> dict[tuple[str, str], tuple[CalibrationStatus, str]]:
    """Return where each judge stands, and the link to it, by judge and way of judging."""
    return {
        (one.labeler, one.judgement): (one.stand(call.now), one.calibration_id)
        for one in list_calibrations(call.store)
        if not one.slice
    }


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/answers", show_answer, "adjudicator"),
    PageRoute("POST", "/answers/test-case", make_test_case, "adjudicator"),
)
