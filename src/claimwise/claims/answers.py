"""Reads one answer whole: claims in their places, evidence in its sources, and who said what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from claimwise.claims.queries import choose_judgement
from claimwise.claims.values import UNSCORED
from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.types.rows import ClaimType, Judgement, LabelKind

_SQL = SqlFolder("claimwise.claims")
_AROUND: Final = 160  # characters of the source shown on each side of the evidence
_MOST_TEXT: Final = 20_000  # characters of a source that a page shows


class AnswerKey(NamedTuple):
    """Which answer of a run."""

    item_id: str
    sample: int


class GivenVerdict(Struct, frozen=True, kw_only=True):
    """A verdict that someone gave a claim, or the reason why a judge could not."""

    claim_id: str
    at: datetime
    judgement: Judgement
    labeler: str
    verdict: str | None = None
    label_kind: LabelKind = "verifier"
    confidence: float | None = None
    evidence: str | None = None
    evidence_start: int | None = None
    source_id: str | None = None
    covered_text: str | None = None
    reason: str | None = None
    guide_version: str | None = None
    model: str | None = None
    prompt_ver: str | None = None
    retracted_at: datetime | None = None
    retracted_by: str | None = None
    failed: str | None = None  # the code of the failure


class Excerpt(NamedTuple):
    """Evidence in its source, with the words around it."""

    before: str
    evidence: str
    after: str


class ClaimHistory(Struct, frozen=True, kw_only=True):
    """A claim of an answer, and all that was said of it, the latest first."""

    number: int
    claim_id: str
    claim_text: str
    claim_type: ClaimType
    start: int | None
    end: int | None
    verdict: str | None
    unscored: str | None
    dispute: int
    history: tuple[GivenVerdict, ...]
    deciding: GivenVerdict | None
    excerpt: Excerpt | None

    @property
    def word(self) -> str:
        """The verdict, ``unscored``, or ``non_factual`` for a statement that makes no claim."""
        if self.verdict is None and self.claim_type == "non_factual":
            return "non_factual"
        return self.verdict or UNSCORED


class Segment(NamedTuple):
    """A stretch of a text: the claims that it belongs to, and those that end with it."""

    text: str
    claims: tuple[ClaimHistory, ...]
    ending: tuple[ClaimHistory, ...]


class AnswerSource(NamedTuple):
    """A source that the answer was given, or that a verdict rests on."""

    source_id: str
    title: str | None
    url: str | None
    retrieved: bool
    segments: list[Segment]  # the claims are those whose verdicts rest on them
    cut: bool  # only a part of it is shown
    claims: list[ClaimHistory]


class AnswerFacts(Struct, frozen=True, kw_only=True):
    """An answer as its run gave it."""

    run_id: str
    item_id: str
    sample: int
    question: str
    answer_text: str | None
    failure: str | None
    system: str
    model: str | None
    prompt_ver: str | None
    corpus_ver: str
    started_at: datetime
    answerable: bool | None
    domain: str | None
    query_type: str | None
    stakes: str | None


class MadeCase(NamedTuple):
    """An item that was made of the answer."""

    item_id: str
    made_by: str
    made_at: datetime


class AnswerView(NamedTuple):
    """An answer with all that belongs to it."""

    facts: AnswerFacts
    judgement: Judgement
    claims: list[ClaimHistory]
    segments: list[Segment]
    unplaced: list[ClaimHistory]
    sources: list[AnswerSource]
    cases: list[MadeCase]
    previous: AnswerKey | None
    next: AnswerKey | None


def find_sample(store: Store, run_id: str, item_id: str, claim_id: str) -> int:
    """Return which of a run's answers to an item makes a claim; the first where none does."""
    found = store.query(
        "select sample from claims "
        "where run_id = :run_id and item_id = :item_id and claim_id = :claim_id",
        {"run_id": run_id, "item_id": item_id, "claim_id": claim_id},
    )
    return int(found[0][0]) if found else 0


def read_answer(store: Store, run_id: str, item_id: str, sample: int) -> AnswerView | None:
    """Return an answer with its claims, verdicts and sources; None where there is none."""
    key = {"run_id": run_id, "item_id": item_id, "sample": sample}
    found = store.query(_SQL["answer"], key)
    if not found:
        return None
    named = dict(zip(AnswerFacts.__struct_fields__, found[0], strict=True))
    facts = msgspec.convert(named, AnswerFacts, strict=False)
    judgement = choose_judgement(store, run_id)
    rows = store.query(_SQL["answer_sources"], {**key, "corpus_ver": facts.corpus_ver})
    texts = {row[0]: row[4] or row[5] for row in rows}
    claims = _read_claims(store, key, judgement, texts)
    answer = facts.answer_text or ""
    placed = [one for one in claims if _is_placed(one, answer)]
    made = store.query(_SQL["answer_incidents"], {"place": f"{run_id}/{item_id}/{sample}"})
    return AnswerView(
        facts=facts,
        judgement=judgement,
        claims=claims,
        segments=_cut_segments(answer, [(one.start or 0, one.end or 0, one) for one in placed]),
        unplaced=[one for one in claims if one not in placed],
        sources=[_make_source(row, claims) for row in rows],
        cases=msgspec.convert(made, list[MadeCase], strict=False),
        previous=_find_neighbour(store, "answer_previous", key),
        next=_find_neighbour(store, "answer_next", key),
    )


def _find_neighbour(store: Store, query: str, key: dict[str, Any]) -> AnswerKey | None:
    found = store.query(_SQL[query], key)
    return AnswerKey(*found[0]) if found else None


# Claims and what was said of them.


def _read_claims(
    store: Store, key: dict[str, Any], judgement: Judgement, texts: dict[str, str | None]
) -> list[ClaimHistory]:
    said: dict[str, list[GivenVerdict]] = {}
    for one in sorted(_read_history(store, key), key=lambda one: one.at, reverse=True):
        said.setdefault(one.claim_id, []).append(one)
    claims = []
    rows = store.query(_SQL["answer_claims"], {**key, "judgement": judgement})
    for number, row in enumerate(rows, start=1):
        claim_id, text, kind, start, end, verdict, unscored, dispute = row
        history = tuple(said.get(claim_id, ()))
        deciding = _find_deciding(history, judgement)
        claims.append(
            ClaimHistory(
                number=number,
                claim_id=claim_id,
                claim_text=text,
                claim_type=kind,
                start=start,
                end=end,
                verdict=verdict,
                unscored=unscored,
                dispute=dispute or 0,
                history=history,
                deciding=deciding,
                excerpt=_cut_excerpt(deciding, texts) if deciding else None,
            )
        )
    return claims


def _read_history(store: Store, key: dict[str, Any]) -> Iterator[GivenVerdict]:
    names = (
        "claim_id", "at", "verdict", "label_kind", "labeler", "confidence", "evidence",
        "evidence_start", "source_id", "covered_text", "reason", "guide_version", "model",
        "prompt_ver", "retracted_at", "retracted_by",
    )  # fmt: skip
    judgements: tuple[Judgement, ...] = ("grounded", "closed_book")
    for judgement in judgements:
        for row in store.query(_SQL.for_judgement("answer_labels", judgement), key):
            values = dict(zip(names, row, strict=True), judgement=judgement)
            yield msgspec.convert(values, GivenVerdict, strict=False)
    tried = ("claim_id", "at", "judgement", "labeler", "failed", "reason", "model", "prompt_ver")
    for row in store.query(_SQL["answer_failures"], key):
        yield msgspec.convert(dict(zip(tried, row, strict=True)), GivenVerdict, strict=False)


def _find_deciding(history: Sequence[GivenVerdict], judgement: Judgement) -> GivenVerdict | None:
    """Return the label that decides, by the rule of deciding_labels: kind, latest, name."""
    standing = [
        one
        for one in history
        if one.judgement == judgement and one.verdict is not None and one.retracted_at is None
    ]
    standing.sort(key=lambda one: one.labeler)
    standing.sort(key=lambda one: one.at, reverse=True)
    return min(standing, key=lambda one: one.label_kind, default=None)


# Places in the answer.


def _is_placed(claim: ClaimHistory, answer: str) -> bool:
    start, end = claim.start, claim.end
    return start is not None and end is not None and 0 <= start < end <= len(answer)


def _cut_segments(text: str, spans: Sequence[tuple[int, int, ClaimHistory]]) -> list[Segment]:
    """Cut a text into stretches that belong to the same claims; claims may overlap."""
    edges = sorted({0, len(text), *(edge for start, end, _ in spans for edge in (start, end))})
    return [
        Segment(
            text[start:end],
            tuple(one for begin, stop, one in spans if begin <= start and end <= stop),
            tuple(one for _, stop, one in spans if stop == end),
        )
        for start, end in pairwise(edges)
    ]


# Places in the sources.


def _find_span(said: GivenVerdict, text: str) -> tuple[int, int] | None:
    """Return where the evidence stands in its source; None where it is not there."""
    if not said.evidence:
        return None
    start = said.evidence_start
    if start is None or text[start : start + len(said.evidence)] != said.evidence:
        start = text.find(said.evidence)
    return None if start < 0 else (start, start + len(said.evidence))


def _cut_excerpt(said: GivenVerdict, texts: dict[str, str | None]) -> Excerpt | None:
    text = texts.get(said.source_id or "")
    span = _find_span(said, text) if text else None
    if text is None or span is None:
        return None
    start, end = span
    before, after = text[:start], text[end:]
    if len(before) > _AROUND:  # from a whole word on
        before = "…" + before[-_AROUND:].partition(" ")[2]
    if len(after) > _AROUND:
        after = after[:_AROUND].rpartition(" ")[0] + "…"
    return Excerpt(before, text[start:end], after)


def _make_source(row: tuple[Any, ...], claims: Sequence[ClaimHistory]) -> AnswerSource:
    source_id, _, title, url, source_text, given = row
    text = (source_text or given or "")[:_MOST_TEXT]
    resting = [one for one in claims if one.deciding and one.deciding.source_id == source_id]
    spans = [
        (*span, one) for one in resting if one.deciding and (span := _find_span(one.deciding, text))
    ]
    cut = len(source_text or given or "") > _MOST_TEXT
    return AnswerSource(
        source_id, title, url, given is not None, _cut_segments(text, spans), cut, resting
    )
