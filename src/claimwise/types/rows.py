"""The rows of the store, which are also the records of the file format.

One class per table: its fields are the table's columns, in the table's order, so a row can be
read from a file, written to a database and exported again without a mapping in between. Each
field carries its own description; the pages on the file format and on the schema are generated
from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from functools import cache
from types import NoneType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta

# The spec's five; a project adds its own in [vocabulary] of claimwise.toml.
QUERY_TYPES = ("lookup", "multi_hop", "aggregation", "unanswerable", "ambiguous")

Stakes = Literal["low", "medium", "high"]
Verdict = Literal["supported", "unlinked", "overreach", "contradicted", "stale"]
FactLabel = Literal["true", "false", "unverifiable", "non_factual"]
Action = Literal["answer", "abstain", "clarify"]
ClaimType = Literal["factual", "action", "citation_required", "non_factual"]
Unit = Literal["atomic", "sentence"]
LabelKind = Literal["adjudicated", "human", "verifier"]
LabelerKind = Literal["human", "verifier"]
Judgement = Literal["grounded", "closed_book"]
Origin = Literal["trace", "answer"]
QueueTask = Literal["gold_spans", "label"]
PassageKind = Literal["passage", "tool_output"]

Id = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(min_length=1)]
# Far beyond any document, and sums of two still fit a database's integer.
Offset = Annotated[int, Meta(ge=0, le=10**9)]
Share = Annotated[float, Meta(ge=0, le=1)]
# One claim of a billion: what stands for more outweighs all else, and its square no float holds.
SMALLEST_CHANCE = 1e-9
Chance = Annotated[float, Meta(ge=SMALLEST_CHANCE, le=1)]


def _check_place(start: int | None, end: int | None, text: str | None = None) -> None:
    """Offsets come in pairs, enclose something, and fit the text when there is one."""
    if (start is None) != (end is None):
        raise ValueError("start and end offsets go together")
    if start is None or end is None:
        return
    if end <= start:
        raise ValueError("the end offset must lie after the start")
    if text is not None and end - start != len(text):
        raise ValueError("the offsets enclose another number of characters than the text has")


_DECIDES = "whether it decides its claim; filled in by claimwise, so leave it out"
_WORDS = (
    "the text with single spaces, if it has other white space; "
    "filled in by claimwise, so leave it out"
)


def _space_evenly(text: str) -> str | None:
    """Return a text with single spaces between its words; None when it stands so already."""
    words = " ".join(text.split())
    return None if words == text else words


def _check_claim(claim_id: str | None, claim_text: str | None) -> None:
    if claim_id is None and claim_text is None:
        raise ValueError("neither claim_id nor claim_text says which claim is meant")


class Row(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What all rows share: a table, a plural name for files, and a key.

    Fields are plain values, so the garbage collector need not look for cycles through rows.
    """

    table: ClassVar[str]
    kind: ClassVar[str]
    key: ClassVar[tuple[str, ...]]
    made: ClassVar[tuple[str, ...]] = ()  # columns that follow from others: they never differ alone
    kept: ClassVar[
        tuple[str, ...]
    ] = ()  # the last columns, where the database fills them by itself


def written_columns(row_type: type[Row]) -> tuple[str, ...]:
    """Return the columns that are written: all but those that the database keeps by itself."""
    return tuple(name for name in row_type.__struct_fields__ if name not in row_type.kept)


@cache
def column_types(row_type: type[Row]) -> Mapping[str, type]:
    """Return the plain Python type of every column: what is left without null and limits."""
    hints = get_type_hints(row_type)
    return {name: _plain_type(hints[name]) for name in row_type.__struct_fields__}


def _plain_type(hint: Any) -> type:
    options = [option for option in get_args(hint) if option is not NoneType]
    if get_origin(hint) is Literal:
        return str
    return _plain_type(options[0]) if options else hint


class Source(Row, kw_only=True):
    """A document of the corpus, in one corpus version."""

    table = "sources"
    kind = "sources"
    key = ("source_id", "corpus_ver")

    source_id: Annotated[Id, Meta(description="the document's id")]
    corpus_ver: Annotated[Id, Meta(description="the corpus version this text belongs to")]
    source_text: Annotated[str, Meta(description="the whole text; spans are offsets into it")]
    title: Annotated[str | None, Meta(description="the title that people see")] = None
    url: Annotated[str | None, Meta(description="where people can read it")] = None
    valid_from: Annotated[date | None, Meta(description="first day on which the text is valid")] = (
        None
    )
    valid_until: Annotated[date | None, Meta(description="last day on which the text is valid")] = (
        None
    )
    superseded_by: Annotated[
        Id | None,
        Meta(description="id of the document that replaced it; spans of this one are stale"),
    ] = None
    source_kind: Annotated[
        PassageKind | None,
        Meta(description="passage, or tool_output (what a tool returned); null: a document"),
    ] = None

    def __post_init__(self) -> None:
        """Refuse a document that ends before it begins."""
        if self.valid_from and self.valid_until and self.valid_until < self.valid_from:
            raise ValueError("valid_until lies before valid_from")


class Item(Row, kw_only=True):
    """A question of the golden set. Intervals treat items, not claims, as independent."""

    table = "eval_items"
    kind = "items"
    key = ("item_id",)

    item_id: Annotated[Id, Meta(description="the question's id")]
    query: Annotated[Text, Meta(description="the question")]
    query_type: Annotated[
        Text | None,
        Meta(
            description="lookup, multi_hop, aggregation, unanswerable, ambiguous, or one that "
            "claimwise.toml adds; null: unknown"
        ),
    ] = None
    answerable: Annotated[
        bool | None,
        Meta(description="can the corpus answer it? `false` items test refusals; null: unknown"),
    ] = None
    stakes: Annotated[
        Stakes | None, Meta(description="what a wrong answer costs; null: unknown")
    ] = None
    gold_answer: Annotated[
        str | None, Meta(description="the right answer; null if there is none")
    ] = None
    source_corpus_ver: Annotated[
        Id, Meta(description="the corpus version that the item was written for")
    ]
    domain: Annotated[str | None, Meta(description="subject area, to group by")] = None
    cluster_id: Annotated[
        Id | None,
        Meta(description="the conversation or document that several items come from"),
    ] = None
    expected_action: Annotated[
        Text | None,
        Meta(
            description="what the action log must contain, such as `refund(*)`; `*` stands for "
            "anything, spaces and case don't matter"
        ),
    ] = None


class ItemAttribute(Row, kw_only=True):
    """Your own column to group by: one named value of an item."""

    table = "item_attributes"
    kind = "item_attributes"
    key = ("item_id", "name")

    item_id: Annotated[Id, Meta(description="the item")]
    name: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z_][A-Za-z0-9_]{0,62}\Z",
            description="the column's name: letters, digits, underscores",
        ),
    ]
    value: Annotated[str, Meta(description="its value")]


class GoldSpan(Row, kw_only=True):
    """A span that should support a correct answer."""

    table = "gold_spans"
    kind = "gold_spans"
    key = ("item_id", "source_id", "span_start", "span_end")
    made = ("span_words",)

    item_id: Annotated[Id, Meta(description="the item")]
    source_id: Annotated[Id, Meta(description="the document, in the item's corpus version")]
    span_text: Annotated[Text, Meta(description="the span, exactly as in the document")]
    required: Annotated[bool, Meta(description="does a complete answer need it?")]
    span_start: Annotated[
        Offset | None,
        Meta(description="offset of its first character; looked up in the document if left out"),
    ] = None
    span_end: Annotated[Offset | None, Meta(description="offset after its last character")] = None
    span_words: Annotated[str | None, Meta(description=_WORDS)] = None

    def __post_init__(self) -> None:
        """Refuse an end that does not fit start and text; it may be left out."""
        if self.span_end is not None:
            _check_place(self.span_start, self.span_end, self.span_text)
        self.span_words = _space_evenly(self.span_text)


class GoldSpanVersion(Row, kw_only=True):
    """A former gold span: it was corrected, or carried over to another corpus version."""

    table = "gold_span_versions"
    kind = "gold_span_versions"
    key = ("item_id", "corpus_ver", "replaced_at", "source_id", "span_start", "span_end")
    made = ("span_words",)

    item_id: Annotated[Id, Meta(description="the item")]
    corpus_ver: Annotated[Id, Meta(description="the corpus version of its document")]
    source_id: Annotated[Id, Meta(description="the document")]
    span_text: Annotated[Text, Meta(description="the span as it was")]
    required: Annotated[bool, Meta(description="did a complete answer need it?")]
    span_start: Annotated[Offset, Meta(description="offset of its first character")]
    span_end: Annotated[Offset, Meta(description="offset after its last character")]
    replaced_at: Annotated[datetime, Meta(description="when it was replaced")]
    replaced_by: Annotated[Text, Meta(description="who replaced it")]
    reason: Annotated[Text, Meta(description="why")]
    span_words: Annotated[str | None, Meta(description=_WORDS)] = None

    def __post_init__(self) -> None:
        """Refuse offsets that don't fit the text."""
        _check_place(self.span_start, self.span_end, self.span_text)
        self.span_words = _space_evenly(self.span_text)


class ItemRetirement(Row, kw_only=True):
    """An item that no longer counts, because the corpus lost what it rests on."""

    table = "item_retirements"
    kind = "item_retirements"
    key = ("item_id", "retired_at")

    item_id: Annotated[Id, Meta(description="the item")]
    retired_at: Annotated[datetime, Meta(description="when it was retired")]
    retired_by: Annotated[Text, Meta(description="who retired it")]
    corpus_ver: Annotated[Id, Meta(description="the corpus version that lacks its gold spans")]
    reason: Annotated[Text, Meta(description="why")]
    restored_at: Annotated[
        datetime | None, Meta(description="when new gold spans restored it; null: still retired")
    ] = None


class Incident(Row, kw_only=True):
    """A wrong answer from production, and the item that was made of it."""

    table = "incidents"
    kind = "incidents"
    key = ("incident_id",)

    incident_id: Annotated[Id, Meta(description="made from the item, the trace and the answer")]
    item_id: Annotated[Id, Meta(description="the item that tests for it")]
    origin: Annotated[Origin, Meta(description="a trace, or an answer of a stored run")]
    place: Annotated[Text, Meta(description="the trace's file, or run/item/sample")]
    answer_text: Annotated[Text, Meta(description="what the system said")]
    trace_id: Annotated[str | None, Meta(description="the trace's id in the tool it came from")] = (
        None
    )
    model: Annotated[str | None, Meta(description="the model that said it")] = None
    happened_at: Annotated[datetime | None, Meta(description="when it was said")] = None
    feedback: Annotated[str | None, Meta(description="what the user said about it")] = None
    promoted_by: Annotated[Text, Meta(description="who made it an item")]
    promoted_at: Annotated[datetime, Meta(description="when it was made an item")]


class IncidentClaim(Row, kw_only=True):
    """A claim of an incident's answer. It belongs to no run, so no metric counts it."""

    table = "incident_claims"
    kind = "incident_claims"
    key = ("incident_id", "position")

    incident_id: Annotated[Id, Meta(description="the incident")]
    position: Annotated[Offset, Meta(description="0 for the answer's first claim")]
    claim_text: Annotated[Text, Meta(description="the claim")]
    claim_type: Annotated[ClaimType, Meta(description="as for a run's claims")] = "factual"
    wrong: Annotated[
        bool | None,
        Meta(description="was it wrong? null if neither a person nor a judge could say"),
    ]
    verdict: Annotated[Verdict | None, Meta(description="the verdict, if one was given")] = None
    labeler: Annotated[Id, Meta(description="who says so: a person or a judge")]
    reason: Annotated[
        str | None, Meta(description="why; for an unscored claim, the code of the failure")
    ] = None


class IncidentContext(Row, kw_only=True):
    """A passage that the system was given when the incident happened."""

    table = "incident_contexts"
    kind = "incident_contexts"
    key = ("incident_id", "position")

    incident_id: Annotated[Id, Meta(description="the incident")]
    position: Annotated[Offset, Meta(description="0 for the first passage")]
    source_id: Annotated[
        Id, Meta(description="the document, which need not be in any corpus version")
    ]
    context_text: Annotated[
        str | None, Meta(description="the passage; null if the trace only names its document")
    ] = None


class QueueEntry(Row, kw_only=True):
    """A task for a labeler: find an item's gold spans, or label a claim."""

    table = "annotation_queue"
    kind = "annotation_queue"
    key = ("entry_id",)

    entry_id: Annotated[Id, Meta(description="made from the task")]
    task: Annotated[QueueTask, Meta(description="gold_spans (of an item) or label (of a claim)")]
    item_id: Annotated[Id, Meta(description="the item")]
    run_id: Annotated[Id | None, Meta(description="the run, if a claim is to be labelled")] = None
    claim_id: Annotated[Id | None, Meta(description="the claim to be labelled")] = None
    reason: Annotated[Text, Meta(description="why it is in the queue, in a phrase")]
    priority: Annotated[Offset, Meta(description="higher comes first")] = 0
    added_at: Annotated[datetime, Meta(description="when it was added")]
    done_at: Annotated[datetime | None, Meta(description="when it was done; null: open")] = None

    def __post_init__(self) -> None:
        """Refuse a label of no claim, and the spans of one."""
        if (self.task == "label") != (self.claim_id is not None and self.run_id is not None):
            raise ValueError("run_id and claim_id go with the task label, and with no other")


class Guide(Row, kw_only=True):
    """A version of the labelling guide."""

    table = "guide_versions"
    kind = "guides"
    key = ("guide_version",)

    guide_version: Annotated[Id, Meta(description="the version's name")]
    guide_text: Annotated[Text, Meta(description="the whole guide")]
    created_at: Annotated[datetime, Meta(description="when it took effect")]


class Labeler(Row, kw_only=True):
    """A person or judge that labels. Added automatically on first use."""

    table = "labelers"
    kind = "labelers"
    key = ("labeler",)

    labeler: Annotated[
        Id, Meta(description="a person's id, or a judge's, such as `verifier:v3` or `judge:…`")
    ]
    labeler_kind: Annotated[LabelerKind, Meta(description="human or verifier")]
    version: Annotated[str | None, Meta(description="the judge's version")] = None
    model: Annotated[str | None, Meta(description="the model behind the judge")] = None
    prompt_ver: Annotated[str | None, Meta(description="the judge's prompt version")] = None


class Run(Row, kw_only=True):
    """One pass of your system over the items."""

    table = "runs"
    kind = "runs"
    key = ("run_id",)

    run_id: Annotated[Id, Meta(description="the run's id")]
    system: Annotated[Text, Meta(description="the system's name")]
    model: Annotated[str | None, Meta(description="model version")] = None
    prompt_ver: Annotated[str | None, Meta(description="prompt version")] = None
    retriever_ver: Annotated[str | None, Meta(description="retriever version")] = None
    corpus_ver: Annotated[Id, Meta(description="the corpus version that the system used")]
    started_at: Annotated[datetime, Meta(description="when the run began")]


class Answer(Row, kw_only=True):
    """What the system answered to one item, or why there is no answer."""

    table = "answers"
    kind = "answers"
    key = ("run_id", "item_id", "sample")
    made = ("proposed_action",)

    run_id: Annotated[Id, Meta(description="the run")]
    item_id: Annotated[Id, Meta(description="the item")]
    sample: Annotated[
        Offset, Meta(description="0; if an item was asked several times, the number of the repeat")
    ] = 0
    answer_text: Annotated[
        str | None, Meta(description="the answer; null if the system failed")
    ] = None
    failure: Annotated[str | None, Meta(description="why there is no answer (timeout, error…)")] = (
        None
    )
    context_count: Annotated[
        Offset | None,
        Meta(description="how many contexts were retrieved; null if that was not recorded"),
    ] = None
    trace_id: Annotated[
        str | None,
        Meta(description="the trace that the answer came from; verdicts can be sent back to it"),
    ] = None
    proposed_action: Annotated[
        Action | None,
        Meta(description="proposed from the text by claimwise; counts only if no action is given"),
    ] = None

    def __post_init__(self) -> None:
        """Refuse an answer that neither says something nor says why not."""
        if self.answer_text is None and self.failure is None:
            raise ValueError("answer_text is null without a failure that says why")


class TrafficAnswer(Row, kw_only=True):
    """An answer of live traffic: when it was given, and how it was sampled."""

    table = "traffic_answers"
    kind = "traffic_answers"
    key = ("run_id", "item_id", "sample")

    run_id: Annotated[Id, Meta(description="the run: one per system, its versions, and day")]
    item_id: Annotated[Id, Meta(description="the item, made from the system and the trace")]
    sample: Annotated[Offset, Meta(description="always 0: a trace has one answer")] = 0
    trace_id: Annotated[Id, Meta(description="the trace's id, unique within the system")]
    system: Annotated[Text, Meta(description="the system that answered")]
    answered_at: Annotated[datetime, Meta(description="when the answer was given")]
    received_at: Annotated[datetime, Meta(description="when claimwise received it")]
    conversation: Annotated[
        str | None, Meta(description="the conversation it belongs to; null: unknown")
    ] = None
    rule: Annotated[Text, Meta(description="the sampling rule that chose it")]
    inclusion_probability: Annotated[
        Chance, Meta(description="probability with which that rule chooses an answer")
    ]
    text_deleted_at: Annotated[
        datetime | None, Meta(description="when its texts were deleted; null: not deleted")
    ] = None


class RunAction(Row, kw_only=True):
    """What the system did in response to one item."""

    table = "run_actions"
    kind = "actions"
    key = ("run_id", "item_id", "sample")

    run_id: Annotated[Id, Meta(description="the run")]
    item_id: Annotated[Id, Meta(description="the item")]
    action: Annotated[
        Action, Meta(description="whether it answered, declined or asked for clarification")
    ]
    sample: Annotated[Offset, Meta(description="the repeat's number")] = 0


class Context(Row, kw_only=True):
    """A passage the system was given for one item."""

    table = "contexts"
    kind = "contexts"
    key = ("run_id", "item_id", "sample", "position")
    made = ("context_words",)

    run_id: Annotated[Id, Meta(description="the run")]
    item_id: Annotated[Id, Meta(description="the item")]
    sample: Annotated[Offset, Meta(description="the repeat's number")] = 0
    position: Annotated[Offset, Meta(description="0 for the first passage")]
    source_id: Annotated[Id, Meta(description="the document, in the run's corpus version")]
    context_text: Annotated[Text, Meta(description="the passage as the system saw it")]
    span_start: Annotated[
        Offset | None,
        Meta(description="its offset in the document; looked up if left out, null if reworded"),
    ] = None
    span_end: Annotated[Offset | None, Meta(description="offset after its last character")] = None
    score: Annotated[float | None, Meta(description="the retriever's score")] = None
    context_words: Annotated[str | None, Meta(description=_WORDS)] = None

    def __post_init__(self) -> None:
        """Refuse half a place."""
        _check_place(self.span_start, self.span_end)
        self.context_words = _space_evenly(self.context_text)


class ActionEntry(Row, kw_only=True):
    """Something the system really did, from its log: the only evidence for an action claim."""

    table = "action_log"
    kind = "action_log"
    key = ("run_id", "item_id", "sample", "entry_id")

    run_id: Annotated[Id, Meta(description="the run")]
    item_id: Annotated[Id, Meta(description="the item")]
    sample: Annotated[Offset, Meta(description="the repeat's number")] = 0
    entry_id: Annotated[Id, Meta(description="the entry's id, unique within the answer")]
    entry_text: Annotated[Text, Meta(description="the entry")]
    logged_at: Annotated[datetime | None, Meta(description="when it was done")] = None


class Claim(Row, kw_only=True):
    """One claim of one answer."""

    table = "claims"
    kind = "claims"
    key = ("run_id", "item_id", "claim_id")

    run_id: Annotated[Id, Meta(description="the run")]
    item_id: Annotated[Id, Meta(description="the item")]
    claim_id: Annotated[
        Id | None,
        Meta(description="made from item, sample and text; you can leave it out of files"),
    ] = None
    sample: Annotated[Offset, Meta(description="the repeat's number")] = 0
    position: Annotated[Offset, Meta(description="0 for the answer's first claim")]
    claim_text: Annotated[Text, Meta(description="the claim")]
    claim_type: Annotated[
        ClaimType,
        Meta(description="factual, action, citation_required, or non_factual (never judged)"),
    ] = "factual"
    unit: Annotated[
        Unit, Meta(description="whether the answer was split into atomic claims or sentences")
    ] = "atomic"
    answer_start: Annotated[
        Offset | None, Meta(description="offset of the claim in the answer")
    ] = None
    answer_end: Annotated[Offset | None, Meta(description="offset after its last character")] = None

    def __post_init__(self) -> None:
        """Refuse half a place."""
        _check_place(self.answer_start, self.answer_end)


class Citation(Row, kw_only=True):
    """A source that a claim cites. It may not exist, because systems invent citations."""

    table = "citations"
    kind = "citations"
    key = ("run_id", "item_id", "claim_id", "position")

    run_id: Annotated[Id, Meta(description="the run")]
    item_id: Annotated[Id, Meta(description="the item")]
    claim_id: Annotated[Id, Meta(description="the claim")]
    position: Annotated[Offset, Meta(description="0 for the claim's first citation")]
    source_id: Annotated[
        Id | None, Meta(description="the cited document; null if the marker points nowhere")
    ] = None
    marker: Annotated[str | None, Meta(description="the marker in the answer, such as `[2]`")] = (
        None
    )
    span_text: Annotated[Text | None, Meta(description="the cited span")] = None
    span_start: Annotated[Offset | None, Meta(description="offset of its first character")] = None
    span_end: Annotated[Offset | None, Meta(description="offset after its last character")] = None

    def __post_init__(self) -> None:
        """Refuse half a place."""
        _check_place(self.span_start, self.span_end, self.span_text)


class Label(Row, kw_only=True):
    """A judgement of one claim against the sources. Labels are added, never overwritten."""

    table = "labels"
    kind = "labels"
    key = ("run_id", "item_id", "claim_id", "labeler", "labeled_at")
    kept = ("decides",)

    run_id: Annotated[Id, Meta(description="the run")]
    item_id: Annotated[Id, Meta(description="the item")]
    claim_id: Annotated[
        Id | None, Meta(description="the claim's id; can be left out if you give claim_text")
    ] = None
    claim_text: Annotated[
        str | None, Meta(description="the claim's text; can be left out if you give claim_id")
    ] = None
    claim_type: Annotated[ClaimType | None, Meta(description="if left out, the claim's type")] = (
        None
    )
    verdict: Annotated[
        Verdict, Meta(description="supported, unlinked, overreach, contradicted or stale")
    ]
    supporting_span: Annotated[
        Text | None,
        Meta(description="the span that the verdict rests on; for action claims, the log entry"),
    ] = None
    source_id: Annotated[
        Id | None, Meta(description="the span's document, in the run's corpus version")
    ] = None
    labeler: Annotated[Id, Meta(description="a person's id, or a judge's, such as `verifier:v3`")]
    labeled_at: Annotated[datetime, Meta(description="when; at most one day in the future")]
    label_kind: Annotated[
        LabelKind | None,
        Meta(
            description="adjudicated, human or verifier; if left out, it follows from the labeler"
        ),
    ] = None
    guide_version: Annotated[Id | None, Meta(description="the labelling guide that was used")] = (
        None
    )
    span_start: Annotated[
        Offset | None, Meta(description="offset of the span; looked up if left out")
    ] = None
    confidence: Annotated[
        Share | None, Meta(description="the labeler's probability that the verdict is right")
    ] = None
    reason: Annotated[str | None, Meta(description="the labeler's reason in words")] = None
    inclusion_probability: Annotated[
        Chance | None,
        Meta(description="the probability with which the claim was chosen for labelling"),
    ] = None
    covered_text: Annotated[
        Text | None,
        Meta(description="overreach: the part of the claim that the span covers"),
    ] = None
    decides: Annotated[bool | None, Meta(description=_DECIDES)] = None

    def __post_init__(self) -> None:
        """Refuse a label of nothing, the place of nothing, and a part of no overreach."""
        _check_claim(self.claim_id, self.claim_text)
        if self.span_start is not None and self.supporting_span is None:
            raise ValueError(f"span_start {self.span_start} without a supporting_span")
        if self.covered_text is not None and self.verdict != "overreach":
            raise ValueError(f"covered_text goes with overreach, the verdict is {self.verdict}")


class ClosedBookLabel(Row, kw_only=True):
    """A judgement of one claim without sources."""

    table = "closed_book_labels"
    kind = "closed_book_labels"
    key = ("run_id", "item_id", "claim_id", "labeler", "labeled_at")
    kept = ("decides",)

    run_id: Annotated[Id, Meta(description="the run")]
    item_id: Annotated[Id, Meta(description="the item")]
    claim_id: Annotated[
        Id | None, Meta(description="the claim's id; can be left out if you give claim_text")
    ] = None
    claim_text: Annotated[
        str | None, Meta(description="the claim's text; can be left out if you give claim_id")
    ] = None
    label: Annotated[FactLabel, Meta(description="true, false, unverifiable or non_factual")]
    decision_basis: Annotated[str | None, Meta(description="why, in a phrase")] = None
    labeler: Annotated[Id, Meta(description="a person's id, or a judge's")]
    labeled_at: Annotated[datetime, Meta(description="when; at most one day in the future")]
    label_kind: Annotated[
        LabelKind | None, Meta(description="if left out, it follows from the labeler")
    ] = None
    guide_version: Annotated[Id | None, Meta(description="the labelling guide that was used")] = (
        None
    )
    inclusion_probability: Annotated[
        Chance | None,
        Meta(description="the probability with which the claim was chosen for labelling"),
    ] = None
    decides: Annotated[bool | None, Meta(description=_DECIDES)] = None

    def __post_init__(self) -> None:
        """Refuse a label of nothing."""
        _check_claim(self.claim_id, self.claim_text)


class AnswerLabel(Row, kw_only=True):
    """A judgement of one answer: whether it matches the gold answer."""

    table = "answer_labels"
    kind = "answer_labels"
    key = ("run_id", "item_id", "sample", "labeler", "labeled_at")

    run_id: Annotated[Id, Meta(description="the run")]
    item_id: Annotated[Id, Meta(description="the item")]
    sample: Annotated[Offset, Meta(description="the repeat's number")] = 0
    correct: Annotated[bool, Meta(description="does it match the gold answer?")]
    labeler: Annotated[Id, Meta(description="a person's id, or a judge's")]
    labeled_at: Annotated[datetime, Meta(description="when; at most one day in the future")]
    label_kind: Annotated[
        LabelKind | None, Meta(description="if left out, it follows from the labeler")
    ] = None
    reason: Annotated[str | None, Meta(description="why")] = None


class Unscored(Row, kw_only=True):
    """A judgement that failed, so there is no label. It is counted beside every rate."""

    table = "unscored_claims"
    kind = "unscored"
    key = ("run_id", "item_id", "claim_id", "judgement", "labeler", "failed_at")

    run_id: Annotated[Id, Meta(description="the run")]
    item_id: Annotated[Id, Meta(description="the item")]
    claim_id: Annotated[
        Id | None, Meta(description="the claim's id; can be left out if you give claim_text")
    ] = None
    claim_text: Annotated[
        str | None, Meta(description="the claim's text; can be left out if you give claim_id")
    ] = None
    judgement: Annotated[
        Judgement, Meta(description="which judgement failed: grounded or closed_book")
    ] = "grounded"
    labeler: Annotated[Id, Meta(description="the judge that failed")]
    failed_at: Annotated[datetime, Meta(description="when")]
    reason: Annotated[
        Text, Meta(description="a short code: timeout, unparsable, truncated, missing_id…")
    ]
    detail: Annotated[str | None, Meta(description="details of the failure")] = None

    def __post_init__(self) -> None:
        """Refuse a failure of nothing."""
        _check_claim(self.claim_id, self.claim_text)


class LabelRetraction(Row, kw_only=True):
    """A label that was retracted. It stays in the store but no longer counts."""

    table = "label_retractions"
    kind = "label_retractions"
    key = ("run_id", "item_id", "claim_id", "judgement", "labeler", "labeled_at")

    run_id: Annotated[Id, Meta(description="the run")]
    item_id: Annotated[Id, Meta(description="the item")]
    claim_id: Annotated[Id, Meta(description="the claim")]
    judgement: Annotated[
        Judgement, Meta(description="which kind of label: grounded (in labels) or closed_book")
    ] = "grounded"
    labeler: Annotated[Id, Meta(description="who gave the label")]
    labeled_at: Annotated[datetime, Meta(description="when it was given")]
    retracted_at: Annotated[datetime, Meta(description="when it was retracted")]
    retracted_by: Annotated[Text, Meta(description="who retracted it")]


# Parents before children: the order in which rows can be written.
ROW_TYPES: tuple[type[Row], ...] = (
    Source, Item, ItemAttribute, GoldSpan, GoldSpanVersion, ItemRetirement, Incident, IncidentClaim,
    IncidentContext, QueueEntry, Guide, Labeler, Run, Answer, TrafficAnswer, RunAction, Context,
    ActionEntry, Claim, Citation, Label, ClosedBookLabel, AnswerLabel, Unscored, LabelRetraction,
)  # fmt: skip


class Placed(NamedTuple):
    """A row and where it was read: the number of its file, and its line."""

    row: Row
    file_no: int
    line_no: int
