"""Turns one record of a file into rows.

A record is a row of its table, or, in JSON Lines, a row with its children written inside it:
an item may carry ``gold_spans`` and ``attributes``; an answer may carry ``action``,
``contexts``, ``action_log`` and ``claims`` (each with its ``citations``). Children leave out
what the parent says already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

import msgspec

from claimwise.readers.problems import Complaint, explain, show
from claimwise.text import make_claim_id
from claimwise.types.rows import (
    ROW_TYPES,
    ActionEntry,
    Answer,
    Citation,
    Claim,
    ClosedBookLabel,
    Context,
    GoldSpan,
    Item,
    ItemAttribute,
    Label,
    Row,
    RunAction,
    Unscored,
    column_types,
)

KINDS: dict[str, type[Row]] = {row_type.kind: row_type for row_type in ROW_TYPES}

# Who knows the tables, or the measuring spec, may call things by those names.
NAMES: dict[str, type[Row]] = {
    **{row_type.table: row_type for row_type in ROW_TYPES},
    "claim_labels": Label,
    **KINDS,
}

Record = dict[str, Any]

NESTED: dict[type[Row], tuple[str, ...]] = {
    Item: ("gold_spans", "attributes"),
    Answer: ("action", "contexts", "action_log", "claims"),
}


def convert(record: Record, row_type: type[Row], *, where: str = "") -> Row:
    """Return the row of a record without children.

    A whole number may come as 25.0: so pandas writes the numbers of a column that lacks some.

    Raises:
        Complaint: the record does not fit; ``where`` is put before the field's name.
    """
    try:
        row = msgspec.convert(record, row_type)
    except msgspec.ValidationError:
        try:
            row = msgspec.convert(_turn_whole(record, row_type), row_type)
        except msgspec.ValidationError as error:
            complaint = explain(row_type, record, str(error))
            complaint.field = (
                where + complaint.field if complaint.field else where.rstrip(".") or None
            )
            raise complaint from error
    for name in _NUMBERS.get(row_type, ()):
        # Only CSV and Parquet can say it: JSON has no such numbers.
        value = getattr(row, name)
        if value is not None and not isfinite(value):
            raise Complaint(where + name, str(value), "a number or null")
    return complete(row)


def _turn_whole(record: Record, row_type: type[Row]) -> Record:
    """Write floats that are whole as whole numbers where the row has such."""
    types = column_types(row_type)
    return {
        name: _to_whole(value) if types.get(name) is int else value
        for name, value in record.items()
    }


def _to_whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def complete(row: Row) -> Row:
    """Fill in the claim's id where a row names its claim by the text."""
    if isinstance(row, _OF_CLAIMS) and row.claim_id is None:
        # The row's own rules have seen to it that there is a text.
        sample = row.sample if isinstance(row, Claim) else 0
        row.claim_id = make_claim_id(row.item_id, row.claim_text or "", sample=sample)
    return row


def _name_claim(record: Record) -> Record:
    """Find the claim that a text means in one of several answers to an item."""
    rest = {name: value for name, value in record.items() if name != "sample"}
    sample, item_id = _to_whole(record["sample"]), record.get("item_id")
    text = record.get("claim_text")
    if not isinstance(sample, int) or isinstance(sample, bool) or sample < 0:
        raise Complaint("sample", show(sample), "a whole number (0 or more)")
    if rest.get("claim_id") is None and isinstance(item_id, str) and isinstance(text, str):
        rest["claim_id"] = make_claim_id(item_id, text, sample=sample)
    return rest


_OF_CLAIMS = (Label, ClosedBookLabel, Unscored, Claim)


_NUMBERS: dict[type[Row], tuple[str, ...]] = {
    Context: ("score",),
    Label: ("confidence", "inclusion_probability"),
}


def expand(record: Record, row_type: type[Row]) -> Iterator[Row]:
    """Yield the row of a record and the rows of its children, parents first."""
    if row_type in _OF_CLAIMS and "sample" in record and row_type is not Claim:
        yield convert(_name_claim(record), row_type)
        return
    names = NESTED.get(row_type, ())
    children = {name: record[name] for name in names if name in record}
    flat = {name: value for name, value in record.items() if name not in children}
    if "contexts" in children and "context_count" not in flat:
        flat["context_count"] = len(_expect_list(children["contexts"], "contexts"))
    parent = convert(flat, row_type)
    yield parent
    for name, value in children.items():
        if value is not None:
            yield from _EXPANDERS[name](parent, value)


def _expect_list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise Complaint(where, show(value), "a list")
    return value


def _parts(value: object, where: str) -> Iterator[tuple[int, str, Record]]:
    """Yield number, place and a copy of each object in a list of children."""
    for number, part in enumerate(_expect_list(value, where)):
        place = f"{where}[{number}]"
        if not isinstance(part, dict):
            raise Complaint(place, show(part), "an object")
        yield number, f"{place}.", dict(part)


def _answer_key(answer: Row) -> Record:
    return {name: getattr(answer, name) for name in Answer.key}


def _item_id(item: Row) -> str:
    return item.item_id if isinstance(item, Item) else ""


def _expand_gold_spans(item: Row, value: object) -> Iterator[Row]:
    for _, place, part in _parts(value, "gold_spans"):
        yield convert({"item_id": _item_id(item), **part}, GoldSpan, where=place)


def _expand_attributes(item: Row, value: object) -> Iterator[Row]:
    if not isinstance(value, dict):
        raise Complaint("attributes", show(value), "an object of names and texts")
    for name, text in value.items():
        record = {"item_id": _item_id(item), "name": name, "value": text}
        yield convert(record, ItemAttribute, where=f"attributes.{name}.")


def _expand_action(answer: Row, value: object) -> Iterator[Row]:
    yield convert({**_answer_key(answer), "action": value}, RunAction)


def _expand_contexts(answer: Row, value: object) -> Iterator[Row]:
    for number, place, part in _parts(value, "contexts"):
        yield convert({**_answer_key(answer), "position": number, **part}, Context, where=place)


def _expand_action_log(answer: Row, value: object) -> Iterator[Row]:
    for _, place, part in _parts(value, "action_log"):
        yield convert({**_answer_key(answer), **part}, ActionEntry, where=place)


def _expand_claims(answer: Row, value: object) -> Iterator[Row]:
    """A claim that an answer repeats word for word gets an id of its own."""
    key = _answer_key(answer)
    seen: Counter[str] = Counter()
    for number, place, part in _parts(value, "claims"):
        citations = part.pop("citations", None)
        text = part.get("claim_text")
        if isinstance(text, str) and not part.get("claim_id"):
            part["claim_id"] = make_claim_id(
                key["item_id"], text, sample=key["sample"], occurrence=seen[text]
            )
            seen[text] += 1
        claim = convert({**key, "position": number, **part}, Claim, where=place)
        yield claim
        if citations is not None:
            yield from _expand_citations(claim, citations, place)


def _expand_citations(claim: Row, value: object, where: str) -> Iterator[Row]:
    key = {name: getattr(claim, name) for name in Claim.key}
    for number, place, part in _parts(value, f"{where}citations"):
        yield convert({**key, "position": number, **part}, Citation, where=place)


_EXPANDERS: dict[str, Callable[[Row, object], Iterator[Row]]] = {
    "gold_spans": _expand_gold_spans,
    "attributes": _expand_attributes,
    "action": _expand_action,
    "contexts": _expand_contexts,
    "action_log": _expand_action_log,
    "claims": _expand_claims,
}
