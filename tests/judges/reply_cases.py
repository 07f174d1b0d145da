"""Replies of a model that judges, by hand: hostile ones, and harmless rephrasings.

The files lie beside this module, one case a line. ``said`` is what the model returns under every
id; an id that is not there is left out of the reply. Modes: ``closed-book``; ``single`` and
``two-pass``, in which the model splits the answer and judges it by a source; ``batch``, in which
it judges known claims, two a call. Also used by ``benchmarks/kept_facts.py``, there with the
package of an earlier version as well: nothing but the package is imported.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from claimwise.checking.check import check_answer
from claimwise.decompose import split_answer
from claimwise.fact_check.answer import factcheck_answer
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.judges.grounded import GroundedJudge, GroundedSettings
from claimwise.types.llm import LlmCall, LlmReply
from claimwise.types.rows import Source
from claimwise.types.verdicts import CheckRequest

FOLDER = Path(__file__).parent / "kept_facts"
_CLAIM = re.compile(r"⟦(?P<id>c\d+) (?P<mark>\w+)⟧\n(?P<text>.*?)\n⟦end (?P=id) ", re.S)

_SETTINGS = {
    "single": GroundedSettings(mode="single"),
    "two-pass": GroundedSettings(mode="two-pass"),
    "batch": GroundedSettings(mode="claims", batch=2),
}

Said = dict[str, list[dict[str, str]]]


class Outcome(NamedTuple):
    """What became of a reply: claims that count, those that don't with code and reason, bounds."""

    counted: list[str]
    unscored: list[tuple[str, str, str]]
    bounds: tuple[float, float] | None


class _Model:
    """Replies as a case says, to every call."""

    model = "scripted:one"

    def __init__(self, mode: str, said: Said) -> None:
        self._mode = mode
        self._said = said

    def ask(self, call: LlmCall) -> LlmReply:
        claims = [(found["id"], found["text"]) for found in _CLAIM.finditer(call.user)]
        return LlmReply(text=json.dumps(self._reply(claims), ensure_ascii=False))

    def reject(self, call: LlmCall, reply: LlmReply) -> None:
        pass

    def _reply(self, claims: list[tuple[str, str]]) -> dict[str, Any]:
        said = self._said
        if self._mode == "closed-book":
            return {"pieces": _list_entries(said), "summary_basis": ""}
        if self._mode == "batch":
            known = [{"id": name, **entry} for name, made in said.items() for entry in made]
            return {"claims": known}
        if self._mode == "single":
            return {"pieces": _list_entries(said)}
        if claims:
            by_text = {entry["text"]: entry for made in said.values() for entry in made}
            given = [(name, by_text.get(text, {"verdict": "unlinked"})) for name, text in claims]
            return {"claims": [{"id": name, **_leave_text(entry)} for name, entry in given]}
        split = [{"id": n, "claims": [e["text"] for e in made]} for n, made in said.items()]
        return {"pieces": split}


def _list_entries(said: Said) -> list[dict[str, Any]]:
    return [{"id": name, "claims": made} for name, made in said.items()]


def _leave_text(entry: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in entry.items() if key != "text"}


def read_cases(name: str) -> list[dict[str, Any]]:
    """Return the cases of a file."""
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def find_refused(case: dict[str, Any], mode: str) -> list[str]:
    """Return why a harmless rephrasing is not taken as it is; nothing if it is.

    By its sources the answer is split into pieces by us: cases that have other ids pass.
    """
    closed = mode == "closed-book"
    if not closed and len(split_answer(case["answer"])) != len(case["said"]):
        return []
    rest = {"label": "true"} if closed else {"verdict": "unlinked"}
    said = {
        name: [{"text": text, **rest} for text in texts] for name, texts in case["said"].items()
    }
    found = judge_case({**case, "said": said}, mode)
    return [f"{code}: {text}: {reason}" for text, code, reason in found.unscored]


def judge_case(case: dict[str, Any], mode: str | None = None) -> Outcome:
    """Have an answer judged by a model that replies as the case says."""
    mode = mode or case["mode"]
    model = _Model(mode, case["said"])
    if mode == "closed-book":
        return _check_facts(case["answer"], model)
    return _check_sources(case["answer"], case.get("source", "Nothing."), model, mode)


def _check_facts(answer: str, model: _Model) -> Outcome:
    result = factcheck_answer(answer, ClosedBookJudge(model))
    return Outcome(
        [claim.text for claim in result.claims if claim.label in ("true", "false")],
        [(claim.text, claim.unscored or "", claim.detail) for claim in result.unscored],
        result.bounds,
    )


def _check_sources(answer: str, source: str, model: _Model, mode: str) -> Outcome:
    settings = _SETTINGS[mode]
    document = Source(source_id="source", corpus_ver="-", source_text=source)
    request = CheckRequest(answer=answer, sources=(document,))
    result = check_answer(request, GroundedJudge(model, settings))
    return Outcome(
        [judged.claim.wording for judged in result.claims if judged.verdict is not None],
        [(c.claim.wording, c.unscored, c.reason) for c in result.claims if c.unscored is not None],
        result.bounds,
    )
