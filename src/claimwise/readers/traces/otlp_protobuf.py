"""OTLP as protobuf: what exporters send, and what a collector's file exporter writes.

It is told by the first bytes without the extra ``otlp``, which reading needs.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from claimwise.disk.input import refuse
from claimwise.errors import MissingExtraError
from claimwise.readers.outside import RecordKind, Records
from claimwise.readers.traces.otel import to_spans
from claimwise.readers.traces.reader import TraceFormat, read_traces

_FIELD = 0x0A  # the first field of a message, with a length before it
_INNER = (0x0A, 0x12)  # a resource, or the spans of a scope
_PREFIX_BYTES = 4
_LIKELY = 0.8


class OtlpProtobufReader:
    """Reads a request of OTLP, or several with their lengths before them."""

    yields: RecordKind = "traces"

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Go by the first bytes: text never looks like that."""
        framed = len(head) > _PREFIX_BYTES and head[0] == 0 and _is_request(head[_PREFIX_BYTES:])
        return _LIKELY if framed or _is_request(head) else None

    def read(self, path: Path, options: Any) -> Records:
        """Yield the answers of the requests."""
        from claimwise.readers.traces.files import read_bytes

        yield from read_traces(path, read_bytes(path), _FORMAT, options.get("trace_id"))


def find_missing_otlp() -> str | None:
    """Say what to install where the extra is not there."""
    try:
        found = find_spec("opentelemetry.proto")
    except ModuleNotFoundError:
        found = None
    return None if found else "pip install 'claimwise[otlp]'"


def _is_request(head: bytes) -> bool:
    """Tell the beginning of a request: a field with a length, and in it another such field."""
    if len(head) < 4 or head[0] != _FIELD:
        return False
    at = 1
    while at < len(head) and head[at] & 0x80 and at < 6:
        at += 1
    inner = head[at + 1 : at + 2]
    # “\n\n…” is text as well; a text has no other control characters.
    binary = any(byte < 9 or 13 < byte < 32 for byte in head[:512])
    return bool(inner) and inner[0] in _INNER and binary


def _parse(path: Path, data: bytes) -> list[tuple[int, Any]]:
    """Return the requests as OTLP's JSON has them.

    Raises:
        InputError: the bytes are no such requests.
        MissingExtraError: the extra is not installed.
    """
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
    except ImportError as error:
        raise MissingExtraError("OTLP as protobuf", "otlp") from error
    found: list[tuple[int, Any]] = []
    for number, part in enumerate(_cut(path, data), start=1):
        try:
            found.append((number, MessageToDict(TracesData.FromString(part))))
        except (DecodeError, RecursionError, ValueError) as error:
            raise refuse(path, "damaged protobuf", "OTLP traces", line=number) from error
    return found


def _cut(path: Path, data: bytes) -> list[bytes]:
    """Return the requests of a file; a collector writes each with its length before it."""
    if data[:1] != b"\x00":
        return [data]
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        end = at + _PREFIX_BYTES + int.from_bytes(data[at : at + _PREFIX_BYTES], "big")
        if end > len(data) or end == at + _PREFIX_BYTES:
            raise refuse(path, "a file that is cut off", "complete requests", line=len(parts) + 1)
        parts.append(data[at + _PREFIX_BYTES : end])
        at = end
    return parts


_FORMAT = TraceFormat(lambda shape: False, to_spans, _parse)
