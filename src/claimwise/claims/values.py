"""A claim as readers see it: with its verdict, the evidence, and why."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, NamedTuple, get_args

import msgspec
from msgspec import Struct

from claimwise.types.rows import ClaimType, FactLabel, Judgement, LabelKind, Verdict

UNSCORED: Final = "unscored"
# Every verdict that claims can be chosen by; against the sources, closed-book, or none at all.
VERDICT_NAMES: Final = (*get_args(Verdict), *get_args(FactLabel), UNSCORED)
# The verdicts of claims that a reader has to do something about.
UNSUPPORTED: Final = ("contradicted", "overreach", "unlinked", "stale", "false", "unverifiable")


class ClaimPlace(NamedTuple):
    """Where a claim stands in the list; the next page starts after the last claim's place."""

    severity: int
    doubt: float
    item_id: str
    sample: int
    position: int
    claim_id: str


class ClaimRow(Struct, frozen=True, kw_only=True):
    """One claim of a run, and the label that decides it: adjudicated, then human, then a judge's.

    ``verdict`` is one of the five against the sources, or of the four closed-book ones, as
    ``judgement`` says; None for a claim without a label, which has a code in ``unscored``.
    """

    run_id: str
    judgement: Judgement
    item_id: str
    sample: int
    claim_id: str
    position: int  # 0 for the answer's first claim
    claim_text: str
    claim_type: ClaimType
    question: str
    answer_text: str | None
    answer_start: int | None
    answer_end: int | None
    verdict: Verdict | FactLabel | None
    label_kind: LabelKind | None
    labeler: str | None
    labeled_at: datetime | None
    confidence: float | None
    evidence: str | None  # the words of the source, or the log entry, that the verdict rests on
    evidence_start: int | None  # where they stand in the source
    source_id: str | None
    source_title: str | None
    source_url: str | None
    covered_text: str | None  # overreach: the part of the claim that the evidence covers
    reason: str | None
    unscored: str | None  # the code of the last failure; not_judged: nobody tried
    disputed: bool  # people differ and nobody has adjudicated, or a judge differs from people
    # query_type, stakes, domain and the item's own attributes; the columns asked for with ``by``.
    slice: dict[str, str | None]
    severity: int
    doubt: float

    @property
    def place(self) -> ClaimPlace:
        """Where the claim stands in the list."""
        return ClaimPlace(
            self.severity, self.doubt, self.item_id, self.sample, self.position, self.claim_id
        )

    @property
    def word(self) -> str:
        """The verdict, or ``unscored``."""
        return self.verdict or UNSCORED

    @property
    def source_name(self) -> str | None:
        """The document's title, or its id where it has none."""
        return self.source_title or self.source_id

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain values, for JSON and tables; what orders the list is left out.

        ``slice`` stays a dictionary.
        """
        values: dict[str, Any] = msgspec.to_builtins(self)
        del values["severity"], values["doubt"]
        return values
