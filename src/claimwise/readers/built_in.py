"""The readers that come with claimwise, registered as those of any other package are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from claimwise.readers.outside import Reader, RecordKind, Records
from claimwise.registry import Plugin

if TYPE_CHECKING:
    from claimwise.readers.read import RowReader

_CARD = "docs/data-format.md"
_READERS_CARD = "docs/readers.md"


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


def _load_evaluations(module: str, name: str) -> Callable[[], Reader]:
    """Return what loads a reader of evaluation files, whose module is imported when it is used."""

    def load() -> Reader:
        found = import_module(f"claimwise.readers.evalfiles.{module}")
        return cast(Reader, getattr(found, name)())

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
TABLE = Plugin(
    description="a table with a question, an answer and contexts: JSON Lines, JSON, CSV, Parquet",
    load=_load_evaluations("table", "load_table"),
    card=_READERS_CARD,
)
RAGAS = Plugin(
    description="ragas data sets and results, under old and new names",
    load=_load_evaluations("table", "load_ragas"),
    card=_READERS_CARD,
)
DEEPEVAL = Plugin(
    description="deepeval goldens and test cases: JSON, JSON Lines, CSV",
    load=_load_evaluations("table", "load_goldens"),
    card=_READERS_CARD,
)
DEEPEVAL_RUN = Plugin(
    description="deepeval test runs, with the tools and retrievers of their traces",
    load=_load_evaluations("deepeval", "RunReader"),
    card=_READERS_CARD,
)
PROMPTFOO = Plugin(
    description="promptfoo results: JSON, JSON Lines, CSV",
    load=_load_evaluations("promptfoo", "PromptfooReader"),
    card=_READERS_CARD,
)
INSPECT = Plugin(
    description="Inspect logs: .eval and .json",
    load=_load_evaluations("inspect_logs", "InspectReader"),
    card=_READERS_CARD,
)
OPENAI_EVALS = Plugin(
    description="OpenAI Evals: items of a run, and logs of oaieval",
    load=_load_evaluations("openai_evals", "OpenAiEvalsReader"),
    card=_READERS_CARD,
)
RAGCHECKER = Plugin(
    description="RAGChecker inputs and results",
    load=_load_evaluations("table", "load_ragchecker"),
    card=_READERS_CARD,
)
MLFLOW = Plugin(
    description="MLflow evaluation records: inputs, outputs, expectations",
    load=_load_evaluations("table", "load_mlflow"),
    card=_READERS_CARD,
)
HUGGINGFACE = Plugin(
    description="a folder with a Hugging Face data set: Parquet, JSON Lines, CSV; Arrow by pyarrow",
    load=_load_evaluations("huggingface", "FolderReader"),
    card=_READERS_CARD,
)
