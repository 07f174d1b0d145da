"""The readers that come with claimwise, registered as those of any other package are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from claimwise.readers.outside import RecordKind, Records
from claimwise.registry import Plugin

if TYPE_CHECKING:
    from claimwise.readers.read import RowReader

_CARD = "docs/data-format.md"


class TraceReader:
    """Reads one trace: a flat object, spans, or a collector's OTLP JSON."""

    yields: RecordKind = "traces"

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Return a little for whatever looks like JSON."""
        return 0.1 if head.lstrip()[:1] in (b"{", b"[") else None

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield the trace."""
        from claimwise.readers.traces import read_trace

        yield 1, read_trace(path, trace_id=options.get("trace_id"))


def _load_rows(form: str) -> Callable[[], RowReader]:
    def load() -> RowReader:
        from claimwise.readers.read import RowReader

        return RowReader(form)

    return load


def _find_missing_duckdb() -> str | None:
    return None if find_spec("duckdb") else "pip install 'claimwise[parquet]'"


JSONL = Plugin(
    description="JSON Lines: one record per line, with its children inside it or not",
    load=_load_rows("jsonl"),
    card=_CARD,
)
CSV = Plugin(description="CSV with a header of field names", load=_load_rows("csv"), card=_CARD)
PARQUET = Plugin(
    description="Parquet with columns named like the fields (extra: parquet)",
    load=_load_rows("parquet"),
    find_missing=_find_missing_duckdb,
    card=_CARD,
)
TRACE = Plugin(
    description="one trace as JSON: a flat object, OpenInference or OpenTelemetry spans, OTLP",
    load=TraceReader,
    card="docs/incidents.md",
)
