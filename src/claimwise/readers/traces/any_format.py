"""Reads a trace in whichever format it is, or as a flat object: for pipes, and for names alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claimwise.disk.input import refuse
from claimwise.errors import InputError, Problem
from claimwise.readers.outside import RecordKind, Records
from claimwise.readers.traces.files import load_records, read_bytes
from claimwise.readers.traces.flat import read_flat
from claimwise.readers.traces.langfuse import LANGFUSE
from claimwise.readers.traces.langsmith import LANGSMITH
from claimwise.readers.traces.mlflow import MLFLOW
from claimwise.readers.traces.openai_agents import OPENAI_AGENTS
from claimwise.readers.traces.opik import OPIK
from claimwise.readers.traces.otel import OTLP, SPANS
from claimwise.readers.traces.phoenix import PHOENIX
from claimwise.readers.traces.reader import TraceFormat, read_traces
from claimwise.readers.traces.shapes import sketch
from claimwise.readers.traces.trulens import TRULENS
from claimwise.types.traces import Trace

# The first that knows a file reads it: the more telling shapes come first.
FORMATS: tuple[TraceFormat, ...] = (
    OTLP, LANGFUSE, PHOENIX, MLFLOW, LANGSMITH, OPIK, TRULENS, OPENAI_AGENTS, SPANS,
)  # fmt: skip
_HEAD_BYTES = 65_536


class AnyTraceReader:
    """Reads a trace of any of these formats, or flat objects."""

    yields: RecordKind = "traces"

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Return a little for whatever looks like JSON."""
        return 0.1 if head.lstrip()[:1] in (b"{", b"[") else None

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield the answers."""
        data = read_bytes(path)
        shape = sketch(path, data[:_HEAD_BYTES])
        form = next((form for form in FORMATS if form.is_it(shape)), None)
        if form is None and "attributes" in shape.paths:
            form = SPANS  # a span without the id of its trace
        if form is not None:
            yield from read_traces(path, data, form, options.get("trace_id"))
            return
        for line, record in load_records(path, data):
            yield line, record if isinstance(record, Problem) else _read_flat(path, record)


def _read_flat(path: Path, record: Any) -> Trace | Problem:
    try:
        return read_flat(path, record)
    except RecursionError:
        return refuse(path, "values that are nested too deeply", "a flat object").problems[0]
    except InputError as error:
        return error.problems[0]
