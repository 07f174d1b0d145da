"""Files that can't be imported, with what the user must be told about each."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any, NamedTuple

from claimwise.types.rows import (
    Answer,
    Citation,
    ClosedBookLabel,
    Context,
    GoldSpan,
    Item,
    Label,
    Row,
    Source,
)
from store.builders import BASE, CLAIM


class Bad(NamedTuple):
    """A file, and the parts of the one line about it."""

    name: str
    content: bytes
    line: int | None
    field: str | None
    found: str
    expected: str


def line_of(row_type: type[Row], **changes: Any) -> bytes:
    """Return the JSON line of a base record with some fields changed."""
    return json.dumps({**BASE[row_type], **changes}, ensure_ascii=False).encode() + b"\n"


def without(row_type: type[Row], name: str) -> bytes:
    """Return the JSON line of a base record without one field."""
    record = {key: value for key, value in BASE[row_type].items() if key != name}
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


ITEM, LABEL, ANSWER = line_of(Item), line_of(Label), line_of(Answer)
CSV_HEADER = b"item_id,query,query_type,answerable,stakes,source_corpus_ver\n"
CSV_ROW = b"q1,What?,lookup,true,low,v1\n"


def nested(**children: Any) -> bytes:
    """Return the JSON line of an answer with children."""
    return line_of(Answer, **children)


BAD_RECORDS = {
    "unknown_verdict": Bad(
        "labels.jsonl", LABEL + line_of(Label, verdict="hallucinated"), 2, "verdict",
        '"hallucinated"', "one of supported, unlinked, overreach, contradicted, stale",
    ),
    "unknown_query_type": Bad(
        "items.jsonl", line_of(Item, query_type="riddle"), 1, "query_type",
        '"riddle"', "one of lookup, multi_hop, aggregation, unanswerable, ambiguous",
    ),
    "no_corpus_version": Bad(
        "items.jsonl", ITEM + without(Item, "source_corpus_ver"), 2, "source_corpus_ver",
        "nothing", "200 characters",
    ),
    "empty_id": Bad(
        "items.jsonl", line_of(Item, item_id=""), 1, "item_id", '""', "200 characters",
    ),
    "long_id": Bad(
        "items.jsonl", line_of(Item, item_id="x" * 201), 1, "item_id", "xxx…",
        "200 characters",
    ),
    "number_for_text": Bad("items.jsonl", line_of(Item, query=7), 1, "query", "7", "text"),
    "text_for_truth": Bad(
        "items.jsonl", line_of(Item, answerable="yes"), 1, "answerable", '"yes"', "true or false",
    ),
    "null_for_choice": Bad(
        "labels.jsonl", line_of(Label, verdict=None), 1, "verdict", "null",
        "one of supported, unlinked, overreach, contradicted, stale",
    ),
    "day_for_time": Bad(
        "labels.jsonl", line_of(Label, labeled_at="2026-03-01"), 1, "labeled_at",
        '"2026-03-01"', "a time such as 2026-11-15T09:30:00Z",
    ),
    "time_for_day": Bad(
        "sources.jsonl", line_of(Source, valid_from="2026-03-01T09:00:00Z"), 1, "valid_from",
        '"2026-03-01T09:00:00Z"', "a day such as 2026-11-15",
    ),
    "share_above_one": Bad(
        "labels.jsonl", line_of(Label, confidence=1.5), 1, "confidence", "1.5",
        "a number from 0 to 1",
    ),
    "probability_of_zero": Bad(
        "labels.jsonl", line_of(Label, inclusion_probability=0), 1, "inclusion_probability", "0",
        "a number from 1e-09 to 1",
    ),
    "probability_without_a_square": Bad(
        "closed_book_labels.jsonl", line_of(ClosedBookLabel, inclusion_probability=1e-160), 1,
        "inclusion_probability", "1e-160", "a number from 1e-09 to 1",
    ),
    "object_for_text": Bad(
        "sources.jsonl", line_of(Source, source_text={"a": 1}), 1, "source_text", '{"a": 1}', "text"
    ),
    "unknown_field": Bad(
        "items.jsonl", line_of(Item, quary="?"), 1, "quary", "an unknown field", "query, perhaps",
    ),
    "strange_field": Bad(
        "items.jsonl", line_of(Item, zzz="?"), 1, "zzz", "an unknown field", "one of item_id, query"
    ),
    "negative_offset": Bad(
        "gold_spans.jsonl", line_of(GoldSpan, span_start=-1, span_end=4), 1, "span_start", "-1",
        "a whole number (0",
    ),
    "huge_integer": Bad(
        "contexts.jsonl", line_of(Context, position=10**30), 1, "position", str(10**30),
        "a whole number (0",
    ),
    "integer_beyond_32_bits": Bad(
        "contexts.jsonl", line_of(Context, position=2**31), 1, "position", str(2**31),
        "a whole number (0",
    ),
    "fraction_for_integer": Bad(
        "contexts.jsonl", line_of(Context, position=1.5), 1, "position", "1.5",
        "a whole number (0",
    ),
    "half_a_place": Bad(
        "contexts.jsonl", line_of(Context, span_start=0), 1, None,
        "start and end offsets go together", "fields that fit together",
    ),
    "end_before_start": Bad(
        "contexts.jsonl", line_of(Context, span_start=5, span_end=5), 1, None,
        "the end offset must lie after the start", "fields that fit together",
    ),
    "offsets_of_another_length": Bad(
        "citations.jsonl", line_of(Citation, span_text=CLAIM, span_start=0, span_end=4), 1, None,
        "another number of characters", "fields that fit together",
    ),
    "days_in_wrong_order": Bad(
        "sources.jsonl", line_of(Source, valid_from="2026-02-01", valid_until="2026-01-01"), 1,
        None, "valid_until lies before valid_from", "fields that fit together",
    ),
    "answer_without_reason": Bad(
        "answers.jsonl", line_of(Answer, answer_text=None), 1, None,
        "answer_text is null without a failure", "fields that fit together",
    ),
    "label_of_nothing": Bad(
        "labels.jsonl", without(Label, "claim_text"), 1, None,
        "neither claim_id nor claim_text", "fields that fit together",
    ),
    "claims_not_a_list": Bad(
        "answers.jsonl", nested(claims={"claim_text": CLAIM}), 1, "claims",
        '{"claim_text": "Tea costs €2."}', "a list",
    ),
    "claim_not_an_object": Bad(
        "answers.jsonl", nested(claims=[CLAIM]), 1, "claims[0]", f'"{CLAIM}"', "an object",
    ),
    "claim_without_text": Bad(
        "answers.jsonl", nested(claims=[{"claim_text": CLAIM}, {}]), 1, "claims[1].claim_text",
        "nothing", "text",
    ),
    "claim_of_unknown_type": Bad(
        "answers.jsonl", nested(claims=[{"claim_text": CLAIM, "claim_type": "joke"}]), 1,
        "claims[0].claim_type", '"joke"', "one of factual, action",
    ),
    "citation_not_an_object": Bad(
        "answers.jsonl", nested(claims=[{"claim_text": CLAIM, "citations": ["[1]"]}]), 1,
        "claims[0].citations[0]", '"[1]"', "an object",
    ),
    "citations_not_a_list": Bad(
        "answers.jsonl", nested(claims=[{"claim_text": CLAIM, "citations": "[1]"}]), 1,
        "claims[0].citations", '"[1]"', "a list",
    ),
    "contexts_not_a_list": Bad(
        "answers.jsonl", nested(contexts=3), 1, "contexts", "3", "a list",
    ),
    "unknown_action": Bad(
        "answers.jsonl", nested(action="shrug"), 1, "action", '"shrug"', "one of answer, abstain",
    ),
    "attributes_not_an_object": Bad(
        "items.jsonl", line_of(Item, attributes=["a"]), 1, "attributes", '["a"]', "an object",
    ),
    "attribute_with_a_strange_name": Bad(
        "items.jsonl", line_of(Item, attributes={"a b": "c"}), 1, "attributes.a b.name", '"a b"',
        "letters, digits and underscores",
    ),
    "gold_span_without_text": Bad(
        "items.jsonl", line_of(Item, gold_spans=[{"source_id": "doc", "required": True}]), 1,
        "gold_spans[0].span_text", "nothing", "text that is not empty",
    ),
    "not_an_object": Bad("items.jsonl", ITEM + b"7\n", 2, None, "7", "one JSON object per line"),
    "json_array": Bad(
        "items.json", b"[" + ITEM.strip() + b"]", 1, None, '[{"item_id": "q1"', "one JSON object"
    ),
    "malformed_json": Bad(
        "labels.jsonl", LABEL + b"{'run_id': 1}\n", 2, None, "malformed JSON", "one JSON object",
    ),
    "not_utf8": Bad(
        "items.jsonl", ITEM + ITEM.replace(b"What", b"Wh\xe4t"), 2, None,
        "the byte 0xe4 at position", "UTF-8 text",
    ),
    "not_utf8_typed": Bad(
        "labels.jsonl", LABEL + LABEL.replace(b"ann", b"\xff"), 2, None, "the byte 0xff",
        "UTF-8 text",
    ),
    "cut_off": Bad(
        "items.jsonl", ITEM + ITEM[:30], 2, None, "the end of the file inside a record",
        "a complete file",
    ),
    "nan_in_json": Bad(
        "labels.jsonl", LABEL + LABEL.replace(b'"labeler"', b'"confidence": NaN, "labeler"'), 2,
        None, "NaN", "a number or null",
    ),
    "infinity_in_json": Bad(
        "labels.jsonl", LABEL.replace(b'"labeler"', b'"confidence": -Infinity, "labeler"'), 1,
        None, "Infinity", "a number or null",
    ),
    "nul_escaped": Bad(
        "items.jsonl", line_of(Item, query="a\x00b"), 1, None, "a NUL character",
        "text without one",
    ),
    "nul_escaped_typed": Bad(
        "labels.jsonl", LABEL + line_of(Label, reason="a\x00b"), 2, None, "a NUL character",
        "text without one",
    ),
    "nul_byte": Bad(
        "labels.jsonl", LABEL.replace(b"ann", b"a\x00n"), 1, None, "a NUL character",
        "text without one",
    ),
    "lone_surrogate": Bad(
        "labels.jsonl", LABEL.replace(b"ann", b"\\ud800") + LABEL, 1, None, "malformed JSON",
        "one JSON object per line",
    ),
    "csv_wrong_value": Bad(
        "items.csv", CSV_HEADER + CSV_ROW + CSV_ROW.replace(b"true", b"maybe"), 3, "answerable",
        '"maybe"', "true or false",
    ),
    "csv_empty_required": Bad(
        "items.csv", CSV_HEADER + CSV_ROW.replace(b"What?", b""), 2, "query", "",
        "text that is not empty",
    ),
    "csv_after_embedded_newlines": Bad(
        "items.csv",
        CSV_HEADER + CSV_ROW.replace(b"What?", b'"What,\nis\r\n""it""?"')
        + b"q2,?,no,true,low,v1\n",
        5, "query_type", '"no"', "one of lookup",
    ),
    "csv_unknown_column": Bad(
        "items.csv", CSV_HEADER.replace(b"stakes", b"stake") + CSV_ROW, 2, "stake",
        "an unknown field", "stakes, perhaps",
    ),
    "csv_nan": Bad(
        "contexts.csv",
        b"run_id,item_id,position,source_id,context_text,score\nr1,q1,0,doc,Tea,nan\n", 2, "score",
        "nan", "a number or null",
    ),
    "csv_nul": Bad(
        "items.csv", CSV_HEADER + CSV_ROW.replace(b"What", b"\x00"), 2, None, "a NUL character",
        "text without one",
    ),
}  # fmt: skip

# The reader stops at these: what follows in the file can't be trusted.
BAD_FILES = {
    "cut_off_gz": Bad(
        "items.jsonl.gz", gzip.compress(ITEM * 900)[:-20], None, None,
        "a damaged or cut-off file", "a complete file",
    ),
    "cut_off_xz": Bad(
        "items.jsonl.xz", lzma.compress(ITEM * 900)[:-40], None, None,
        "a damaged or cut-off file", "a complete file",
    ),
    "not_gz": Bad(
        "items.jsonl.gz", ITEM, 1, None, "a damaged or cut-off file (Not a gzipped file",
        "a complete file",
    ),
    "not_xz": Bad(
        "items.jsonl.xz", ITEM, 1, None, "a damaged or cut-off file", "a complete file"
    ),
    "cut_off_csv_gz": Bad(
        "items.csv.gz", gzip.compress(CSV_HEADER + CSV_ROW * 900)[:-20], None, None,
        "a damaged or cut-off file", "a complete file",
    ),
    "csv_too_few": Bad(
        "items.csv", CSV_HEADER + CSV_ROW + b"q2,What?,lookup\n", 3, None, "3 fields",
        "6 fields, as in the header",
    ),
    "csv_too_many": Bad(
        "items.csv", CSV_HEADER + b"q1,a,b,lookup,true,low,v1\n", 2, None,
        "7 fields", "6 fields, as in the header",
    ),
    "csv_open_quote": Bad(
        "items.csv", CSV_HEADER + b'q1,"What?,lookup,true,low,v1\n', 2, None,
        "unexpected end of data", "comma-separated values",
    ),
    "csv_not_utf8": Bad(
        "items.csv", CSV_HEADER + CSV_ROW.replace(b"What", b"Wh\xe4t"), 2, None, "the byte 0xe4",
        "UTF-8 text",
    ),
    "parquet_of_text": Bad(
        "items.parquet", b"PAR1 or so", None, None, "", "a complete Parquet file"
    ),
    "unknown_kind": Bad(
        "stuff.jsonl", ITEM, 1, None, "no kind of record", "out of: sources, items",
    ),
    "unknown_type": Bad(
        "stuff.jsonl", line_of(Item, type="thing"), 1, None, 'the kind "thing"',
        "out of: sources, items",
    ),
    "type_not_text": Bad(
        "stuff.jsonl", line_of(Item, type=[1]), 1, None, "the kind [1]", "out of: sources, items"
    ),
    "unknown_ending": Bad(
        "items.xlsx", b"PK", None, None, "the ending 'xlsx'", ".jsonl, .csv, .parquet or .arrow"
    ),
    "no_ending": Bad(
        "items", ITEM, None, None, "the ending ''", ".jsonl, .csv, .parquet or .arrow"
    ),
}  # fmt: skip


def write_bad(folder: Path, bad: Bad) -> Path:
    """Write a bad file."""
    path = folder / bad.name
    path.write_bytes(bad.content)
    return path
