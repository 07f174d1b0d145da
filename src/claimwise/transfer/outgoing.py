"""What leaves the store for other tools: a run's answers, their claims, and who judged them.

Verdicts are those of the labels that decide, against the sources. Each carries who gave it and how
far that judge agrees with people; a claim without one carries the reason instead, and no figure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from claimwise.judges.card import describe_card_agreement, load_card
from claimwise.report.findings import Finding, describe_findings
from claimwise.report.format import UNCHECKED
from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.store.lookup import find_run
from claimwise.types.rows import ClaimType, LabelerKind, LabelKind, Run, Verdict

if TYPE_CHECKING:
    from claimwise.calibration.status import CalibrationStatuses

_SQL = SqlFolder("claimwise.transfer")
_ITEMS_AT_ONCE = 200
# The code that `claimwise metrics unscored_reasons` has for claims that nobody tried to judge.
NO_LABEL = "no_label"
_TURN = re.compile(r"(.+)#(\d{1,9})", re.DOTALL)

Meta = dict[str, Any]
AnnotatorKind = Literal["HUMAN", "LLM", "CODE"]
S = TypeVar("S", bound=Struct)


class OutgoingJudge(Struct, frozen=True, kw_only=True):
    """A person or instrument that judged claims of the run."""

    labeler: str
    labeler_kind: LabelerKind
    version: str | None = None
    model: str | None = None
    prompt_ver: str | None = None
    agreement: str | None = None  # None: it is a person

    @property
    def annotator_kind(self) -> AnnotatorKind:
        """Who it is in the words of observability tools."""
        if self.labeler_kind == "human":
            return "HUMAN"
        return "LLM" if self.labeler.startswith("judge:") else "CODE"

    def describe(self) -> Meta:
        """Return what must travel with every figure of this judge."""
        return drop_none(
            {
                "judge": self.labeler,
                "judge_kind": self.labeler_kind,
                "judge_version": self.version,
                "judge_model": self.model,
                "judge_prompt": self.prompt_ver,
                "judge_agreement": self.agreement,
            }
        )

    def describe_in_line(self) -> str:
        """Return the same in a line, for tools that keep no metadata."""
        more = [self.model, self.prompt_ver and f"prompt {self.prompt_ver}", self.agreement]
        return f"Judged by {', '.join([self.labeler, *filter(None, more)])}."


class OutgoingClaim(Struct, frozen=True, kw_only=True):
    """A claim with its verdict and evidence, or with the reason why it has none."""

    item_id: str
    sample: int
    claim_id: str
    claim_text: str
    claim_type: ClaimType
    answer_start: int | None
    answer_end: int | None
    verdict: Verdict | None
    confidence: float | None
    supporting_span: str | None
    source_id: str | None
    span_start: int | None
    reason: str | None
    label_kind: LabelKind | None
    guide_version: str | None
    labeler: str | None
    judged_at: datetime | None
    unscored: str | None
    detail: str | None

    @property
    def score(self) -> float | None:
        """1 for a supported claim, 0 for any other verdict; None without a verdict."""
        return None if self.verdict is None else float(self.verdict == "supported")

    @property
    def why_unscored(self) -> str | None:
        """The code of the failure; None when there is a verdict."""
        return None if self.verdict is not None else self.unscored or NO_LABEL

    @property
    def explanation(self) -> str:
        """Return the claim, its verdict and the reason in a line or two."""
        why = (self.reason if self.verdict is not None else self.detail) or ""
        told = self.verdict or f"not scored ({self.why_unscored})"
        said = f"“{self.claim_text}” is {told}{f': {why}' if why else ''}"
        ended = said if said.endswith((".", "!", "?")) else f"{said}."
        return f"{ended} Evidence: “{self.supporting_span}”" if self.supporting_span else ended


class OutgoingContext(Struct, frozen=True, kw_only=True):
    """A passage that the system was given."""

    source_id: str
    text: str


class OutgoingAnswer(Struct, frozen=True, kw_only=True):
    """An answer with its question, evidence and claims. None is “not known”, never empty."""

    item_id: str
    sample: int
    question: str
    answer: str | None
    failure: str | None
    trace_id: str | None
    turn: int | None  # which of several answers of one trace it is
    gold_answer: str | None
    domain: str | None
    contexts: tuple[OutgoingContext, ...] | None
    gold_contexts: tuple[str, ...]
    claims: tuple[OutgoingClaim, ...]

    @property
    def judged(self) -> int:
        """The number of claims with a verdict."""
        return sum(claim.verdict is not None for claim in self.claims)

    @property
    def supported(self) -> int:
        """The number of supported claims."""
        return sum(claim.verdict == "supported" for claim in self.claims)

    @property
    def unscored(self) -> int:
        """The number of claims without a verdict: beside the rate, never in it."""
        return len(self.claims) - self.judged

    @property
    def rate(self) -> float | None:
        """Supported claims per judged claim; None when nothing was judged."""
        return self.supported / self.judged if self.judged else None

    @property
    def label(self) -> str | None:
        """The answer in one word; None when nothing was judged."""
        if not self.judged:
            return None
        return "supported" if self.supported == self.judged else "unsupported"

    @property
    def why_unscored(self) -> str | None:
        """The code for an answer without a rate: of its first claim, or that it has none."""
        if self.judged:
            return None
        if self.failure is not None:
            return "no_answer"
        return self.claims[0].why_unscored if self.claims else "no_claims"

    @property
    def explanation(self) -> str:
        """Return how many claims are supported, then those that are not, in words."""
        if self.failure is not None:
            return f"The system gave no answer: {self.failure}"
        return describe_findings(
            Finding(
                text=claim.claim_text,
                verdict=claim.verdict,
                reason=claim.reason or "",
                unscored=claim.why_unscored,
            )
            for claim in self.claims
        )

    @property
    def texts(self) -> list[str] | None:
        """The texts of the passages."""
        return None if self.contexts is None else [one.text for one in self.contexts]

    @property
    def source_ids(self) -> list[str] | None:
        """The documents of the passages."""
        return None if self.contexts is None else [one.source_id for one in self.contexts]


class OutgoingRun(Struct, frozen=True, kw_only=True):
    """A run, and who judged it."""

    run: Run
    judges: Mapping[str, OutgoingJudge]

    def find_judge(self, labeler: str | None) -> OutgoingJudge | None:
        """Return a judge by name; None for no name."""
        return None if labeler is None else self.judges[labeler]

    def describe_claim(self, claim: OutgoingClaim) -> Meta:
        """Return a claim, its verdict and evidence, and its judge, as one flat object."""
        judge = self.find_judge(claim.labeler)
        return drop_none(
            {
                "run_id": self.run.run_id,
                "item_id": claim.item_id,
                "sample": claim.sample,
                "claim_id": claim.claim_id,
                "claim": claim.claim_text,
                "claim_type": claim.claim_type,
                "answer_start": claim.answer_start,
                "answer_end": claim.answer_end,
                "verdict": claim.verdict,
                "unscored": claim.why_unscored,
                "unscored_detail": claim.detail,
                "evidence": claim.supporting_span,
                "source_id": claim.source_id,
                "span_start": claim.span_start,
                "reason": claim.reason,
                "confidence": claim.confidence,
                "label_kind": claim.label_kind,
                "guide_version": claim.guide_version,
                "judged_at": show_time(claim.judged_at),
                **(judge.describe() if judge else {}),
            }
        )

    def describe_answer(self, answer: OutgoingAnswer) -> Meta:
        """Return what an answer's share of supported claims rests on, and who judged it."""
        return drop_none(
            {
                "run_id": self.run.run_id,
                "item_id": answer.item_id,
                "sample": answer.sample,
                "trace_id": answer.trace_id,
                "turn": answer.turn,
                "system": self.run.system,
                "model": self.run.model,
                "faithfulness": answer.rate,
                "supported_claims": answer.supported,
                "judged_claims": answer.judged,
                "unscored_claims": answer.unscored,
                "unscored": answer.why_unscored,
                "failure": answer.failure,
                "judges": [judge.describe() for judge in self.list_judges(answer)],
            }
        )

    def list_judges(self, answer: OutgoingAnswer) -> list[OutgoingJudge]:
        """Return who judged an answer's claims, or tried to, each once."""
        names = dict.fromkeys(c.labeler for c in answer.claims if c.labeler is not None)
        return [self.judges[name] for name in names]

    def kind_of_judge(self, answer: OutgoingAnswer) -> AnnotatorKind:
        """Return who judged an answer; a model where several kinds did, for caution."""
        kinds = {judge.annotator_kind for judge in self.list_judges(answer)}
        return kinds.pop() if len(kinds) == 1 else "LLM" if "LLM" in kinds else "CODE"


def read_outgoing_run(
    store: Store, run_id: str, standings: CalibrationStatuses | None
) -> OutgoingRun:
    """Return a run with its judges and how far each agrees with people.

    That is measured in the store where people labelled the same claims; else it is what the model
    card says of a built-in judge; else it is said to be unchecked.

    Raises:
        StoreError: there is no such run.
    """
    run = find_run(store, run_id)
    found = {}
    for labeler, kind, *more in store.query(_SQL["judges"], {"run_id": run_id}):
        agreement = None
        if kind == "verifier":
            agreement = _describe_agreement(store, labeler, run_id, standings)
        found[labeler] = OutgoingJudge(
            labeler=labeler, labeler_kind=kind, version=more[0], model=more[1],
            prompt_ver=more[2], agreement=agreement,
        )  # fmt: skip
    return OutgoingRun(run=run, judges=found)


def _describe_agreement(
    store: Store, labeler: str, run_id: str, standings: CalibrationStatuses | None
) -> str:
    # Loaded when needed: an import should not wait for it.
    from claimwise.metrics.judge_agreement import measure_agreement

    told = measure_agreement(store, labeler) or _read_card(labeler) or UNCHECKED
    standing = standings.describe(labeler) if standings else None
    return f"{told}; {standing}" if standing else told


def _read_card(labeler: str) -> str | None:
    card = load_card()
    named = {f"verifier:{name}-{card.version}": name for name in card.verifiers}
    return describe_card_agreement(named[labeler]) if labeler in named else None


def read_outgoing_answers(store: Store, run_id: str) -> Iterator[OutgoingAnswer]:
    """Yield the answers of a run in order, reading some items at a time."""
    rows = store.query(
        "select distinct item_id from answers where run_id = :run_id order by item_id",
        {"run_id": run_id},
    )
    items = [row[0] for row in rows]
    for start in range(0, len(items), _ITEMS_AT_ONCE):
        some = items[start : start + _ITEMS_AT_ONCE]
        yield from _read_between(store, {"run_id": run_id, "first": some[0], "last": some[-1]})


def _read_between(store: Store, between: dict[str, str]) -> Iterator[OutgoingAnswer]:
    claims: dict[tuple[str, int], list[OutgoingClaim]] = defaultdict(list)
    for claim in _select(store, "claims", OutgoingClaim, between):
        claims[claim.item_id, claim.sample].append(claim)
    contexts: dict[tuple[str, int], list[OutgoingContext]] = defaultdict(list)
    for item_id, sample, source_id, text in store.query(_SQL["contexts"], between):
        contexts[item_id, sample].append(OutgoingContext(source_id=source_id, text=text))
    gold: dict[str, list[str]] = defaultdict(list)
    for item_id, text in store.query(_SQL["gold_spans"], between):
        gold[item_id].append(text)
    for item_id, sample, text, failure, count, trace_id, query, gold_answer, domain in store.query(
        _SQL["answers"], between
    ):
        own = contexts[item_id, sample]
        traced, turn = _split_turn(trace_id)
        yield OutgoingAnswer(
            item_id=item_id,
            sample=sample,
            question=query,
            answer=text,
            failure=failure,
            trace_id=traced,
            turn=turn,
            gold_answer=gold_answer,
            domain=domain,
            contexts=tuple(own) if own or count is not None else None,
            gold_contexts=tuple(gold[item_id]),
            claims=tuple(claims[item_id, sample]),
        )


def _split_turn(trace_id: str | None) -> tuple[str | None, int | None]:
    """Return the trace's own id, and the number that readers put behind it for one turn of it."""
    found = _TURN.fullmatch(trace_id or "")
    return (found[1], int(found[2])) if found else (trace_id, None)


def _select(store: Store, name: str, kind: type[S], params: dict[str, str]) -> Iterator[S]:
    """Yield a query's rows; its columns are the fields. SQLite gives times as text."""
    for record in store.query(_SQL[name], params):
        fields = dict(zip(kind.__struct_fields__, record, strict=True))
        yield msgspec.convert(fields, kind, strict=False)


def drop_none(fields: Meta) -> Meta:
    """Return the fields that are known."""
    return {name: value for name, value in fields.items() if value is not None}


def show_time(moment: datetime | None) -> str | None:
    """Return a time of the store, which is in UTC, as other tools read it."""
    return None if moment is None else moment.replace(tzinfo=UTC).isoformat()
