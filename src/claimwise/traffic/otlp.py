"""Reads what OpenTelemetry exporters send: OTLP over HTTP, as protobuf or JSON, packed or not.

What is hostile or damaged is refused by name: a whole request where it can't be read, a single span
where only that span is wrong. Nothing is kept in part. Spans leave here redacted.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from claimwise.errors import MissingExtraError
from claimwise.readers.traces.attributes import read_id
from claimwise.readers.traces.values import Table
from claimwise.traffic.redaction import RedactionError, Redactor
from claimwise.traffic.values import REASONS

PROTOBUF, JSON = "application/x-protobuf", "application/json"
BODY_BYTES = 8 * 1024 * 1024  # as sent
UNPACKED_BYTES = 32 * 1024 * 1024
SPAN_BYTES = 1024 * 1024
MOST_SPANS = 20_000  # of one request
DEEPEST = 64
_GZIP_WINDOW = 31
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_SPAN_ID = re.compile(r"[0-9a-f]{16}")
_LISTS = ("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans")
_PARENT = ("parentSpanId", "parent_span_id")
_IDS = ("traceId", "trace_id", "spanId", "span_id", *_PARENT)
# Fields of a span that hold what a user or a model wrote.
_TEXTS = ("attributes", "events", "name", "status", "links")
_NO_PARENT = (None, "", "0" * 16)


class OtlpError(Exception):
    """A request that is refused as a whole."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class InboxEntry(NamedTuple):
    """The spans of one trace in one request, as they are kept until the trace is complete."""

    trace_id: str
    has_root: bool
    spans: int
    payload: str


class Received(NamedTuple):
    """What a request held: what to keep, and the spans that were refused, by reason."""

    entries: list[InboxEntry]
    rejected: Counter[str]


def unpack(body: bytes, encoding: str | None) -> bytes:
    """Return a request's body unpacked, in bounds.

    Raises:
        OtlpError: the encoding is unknown, the body damaged, or too large once unpacked.
    """
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return body
    if name != "gzip":
        raise OtlpError(
            415, "unknown_encoding", f"Unknown content-encoding “{name}”. Send gzip or none."
        )
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    try:
        found = unpacker.decompress(body, UNPACKED_BYTES + 1)
    except zlib.error as error:
        raise OtlpError(400, "malformed", "The body is incomplete gzip data.") from error
    if len(found) > UNPACKED_BYTES:
        most = UNPACKED_BYTES // 2**20
        raise OtlpError(413, "too_large", f"The body is larger than {most} MiB once unpacked.")
    if not unpacker.eof:
        raise OtlpError(400, "malformed", "The body is incomplete gzip data.")
    return found


def decode_request(body: bytes, content_type: str) -> Table:
    """Return a request as OTLP's JSON has it.

    Raises:
        OtlpError: it is neither protobuf nor JSON, or damaged.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == PROTOBUF:
        return _decode_protobuf(body)
    if kind != JSON:
        raise OtlpError(
            415, "unknown_encoding", f"Unknown content-type “{kind}”. Send {PROTOBUF} or {JSON}."
        )
    try:
        found = msgspec.json.decode(body)
    except RecursionError as error:
        raise OtlpError(400, "nested_too_deeply", "The JSON is nested too deeply.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise OtlpError(400, "malformed", f"The body is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise OtlpError(400, "malformed", "The body is no ExportTraceServiceRequest.")
    return found


def _decode_protobuf(body: bytes) -> Table:
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
    except ImportError as error:
        missing = MissingExtraError("OTLP as protobuf", "otlp")
        raise OtlpError(415, "unknown_encoding", str(missing)) from error
    try:
        found: Table = MessageToDict(TracesData.FromString(body))
    except (DecodeError, RecursionError, ValueError) as error:
        raise OtlpError(400, "malformed", "The body is no OTLP request.") from error
    return found


def read_request(found: Table, redactor: Redactor) -> Received:
    """Return the spans of a request by trace, redacted; what is wrong with the others is counted.

    Raises:
        OtlpError: there are too many.
    """
    rejected: Counter[str] = Counter()
    groups: dict[str, list[tuple[int, Any, Table]]] = defaultdict(list)
    roots: set[str] = set()
    for count, (number, resource, span) in enumerate(_list_spans(found, rejected), start=1):
        if count > MOST_SPANS:
            raise OtlpError(
                413, "too_large", f"More than {MOST_SPANS:,} spans. Send smaller batches."
            )
        try:
            trace_id, made = _read_span(span, redactor)
            # A resource is shared by the spans of several traces, and redacted for each.
            kept = _redact(redactor, resource, trace_id)
        except _SpanError as error:
            rejected[str(error)] += 1
            continue
        groups[trace_id].append((number, kept, made))
        if _first(made, _PARENT) in _NO_PARENT:
            roots.add(trace_id)
    entries = [
        InboxEntry(trace_id, trace_id in roots, len(spans), _write(spans))
        for trace_id, spans in groups.items()
    ]
    return Received(entries, rejected)


class _SpanError(Exception):
    """A span that is refused; says the reason's code."""


def _list_spans(found: Table, rejected: Counter[str]) -> Iterator[tuple[int, Any, Any]]:
    """Yield spans with their resource and its number."""
    for number, part in enumerate(_find_list(found, _LISTS[0], rejected)):
        resource = part.get("resource")
        for scope in _find_list(part, _LISTS[1], rejected):
            for span in _find_list(scope, ("spans",), rejected):
                yield number, resource, span


def _find_list(table: Table, names: tuple[str, ...], rejected: Counter[str]) -> Iterator[Table]:
    parts = _first(table, names)
    if parts is not None and not isinstance(parts, list):
        rejected["malformed"] += 1
        return
    for part in parts or ():
        if isinstance(part, dict):
            yield part
        else:
            rejected["malformed"] += 1


def _first(table: Table, names: tuple[str, ...]) -> Any:
    return next((table[name] for name in names if name in table), None)


def _read_span(span: Table, redactor: Redactor) -> tuple[str, Table]:
    """Return a span's trace, and the span as it is kept."""
    trace_id = (read_id(_first(span, _IDS[:2])) or "").lower()
    span_id = (read_id(_first(span, _IDS[2:4])) or "").lower()
    if not _TRACE_ID.fullmatch(trace_id) or not _SPAN_ID.fullmatch(span_id):
        raise _SpanError("malformed")
    if not isinstance(span.get("attributes", []), list):
        raise _SpanError("malformed")
    kept = {name: value for name, value in span.items() if name not in _TEXTS}
    texts = {name: span[name] for name in _TEXTS if name in span}
    return trace_id, {**kept, **_redact(redactor, texts, trace_id)}


def _redact(redactor: Redactor, value: Any, trace_id: str) -> Any:
    if is_too_deep(value):
        raise _SpanError("nested_too_deeply")
    try:
        made = redactor.redact_attributes(value, trace_id)
        written = msgspec.json.encode(made)
    except RedactionError as error:
        raise _SpanError("redaction_failed") from error
    except UnicodeEncodeError as error:
        raise _SpanError("malformed") from error
    if len(written) > SPAN_BYTES:
        raise _SpanError("too_large")
    if b"\\u0000" in written:
        raise _SpanError("nul_character")
    return made


def is_too_deep(value: Any, deepest: int = DEEPEST) -> bool:
    """Tell whether lists and objects are nested deeper than a number, without recursion."""
    level = [value]
    for _ in range(deepest):
        level = [inner for one in level for inner in _list_inner(one)]
        if not level:
            return False
    return True


def _list_inner(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from (one for one in value.values() if isinstance(one, dict | list))
    elif isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict | list))


def _write(spans: list[tuple[int, Any, Table]]) -> str:
    """Write the spans of a trace as OTLP's JSON, each resource once."""
    by_resource: dict[int, tuple[Any, list[Table]]] = {}
    for number, resource, span in spans:
        by_resource.setdefault(number, (resource, []))[1].append(span)
    parts = [
        {"resource": resource or {}, "scopeSpans": [{"spans": own}]}
        for resource, own in by_resource.values()
    ]
    return msgspec.json.encode({"resourceSpans": parts}).decode()


def write_response(content_type: str, rejected: Counter[str]) -> bytes:
    """Return what a sender is told of a request that was taken: how many spans were refused."""
    count, told = sum(rejected.values()), describe_rejected(rejected)
    if content_type.partition(";")[0].strip().lower() != PROTOBUF:
        partial = {"partialSuccess": {"rejectedSpans": str(count), "errorMessage": told}}
        return msgspec.json.encode(partial if count else {})
    if not count:
        return b""
    inner = b"\x08" + _write_varint(count) + _write_field(2, told)
    return b"\x0a" + _write_varint(len(inner)) + inner


def write_error(content_type: str, message: str) -> bytes:
    """Return the body of an error, a google.rpc.Status, in the format of the request."""
    if content_type.partition(";")[0].strip().lower() != PROTOBUF:
        return msgspec.json.encode({"code": _INVALID, "message": message})
    return b"\x08" + _write_varint(_INVALID) + _write_field(2, message)


_INVALID = 3  # INVALID_ARGUMENT


def _write_field(number: int, text: str) -> bytes:
    data = text.encode()
    return bytes([number << 3 | 2]) + _write_varint(len(data)) + data


def _write_varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def describe_rejected(rejected: Counter[str]) -> str:
    """Return why spans were refused, in one line."""
    return "; ".join(f"{n} × {REASONS.get(why, why)}" for why, n in rejected.most_common())
