"""The readers that come with claimwise, registered as those of any other package are."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from claimwise.readers.outside import Reader
from claimwise.registry import Plugin

if TYPE_CHECKING:
    from claimwise.readers.read import RowReader

_CARD = "docs/data-format.md"
_READERS_CARD = "docs/readers.md"


def _load_traces(module: str, name: str) -> Callable[[], Reader]:
    """Return how a format's reader is loaded: its module is imported then, and not before."""

    def load() -> Reader:
        from claimwise.readers.traces.reader import TraceFileReader

        return TraceFileReader(getattr(import_module(f"claimwise.readers.traces.{module}"), name))

    return load


def _load_any_trace() -> Reader:
    from claimwise.readers.traces.any_format import AnyTraceReader

    return AnyTraceReader()


def _load_protobuf() -> Reader:
    from claimwise.readers.traces.otlp_protobuf import OtlpProtobufReader

    return OtlpProtobufReader()


def _find_missing_otlp() -> str | None:
    from claimwise.readers.traces.otlp_protobuf import find_missing_otlp

    return find_missing_otlp()


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


def _find_missing_pyarrow() -> str | None:
    return None if find_spec("pyarrow") else "pip install 'claimwise[arrow]'"


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
ARROW = Plugin(
    description="Arrow files (IPC or stream) with columns named like the fields (extra: arrow)",
    load=_load_rows("arrow"),
    find_missing=_find_missing_pyarrow,
    card=_CARD,
)
TRACE = Plugin(
    description="one answer as a flat JSON object, or a trace in any of the formats below",
    load=_load_any_trace,
    card="docs/incidents.md",
)
OTLP = Plugin(
    description="OpenTelemetry: OTLP as JSON, also one request per line",
    load=_load_traces("otel", "OTLP"),
    card=_READERS_CARD,
)
OTLP_PROTOBUF = Plugin(
    description="OpenTelemetry: OTLP as protobuf (extra: otlp)",
    load=_load_protobuf,
    find_missing=_find_missing_otlp,
    card=_READERS_CARD,
)
SPANS = Plugin(
    description="spans with OpenTelemetry or OpenInference attributes, as JSON or JSON Lines",
    load=_load_traces("otel", "SPANS"),
    card=_READERS_CARD,
)
LANGFUSE = Plugin(
    description="Langfuse: downloaded traces, and observations as JSON Lines, CSV or Parquet",
    load=_load_traces("langfuse", "LANGFUSE"),
    card=_READERS_CARD,
)
PHOENIX = Plugin(
    description="Phoenix: spans of its API, or its data frame as JSON Lines, CSV or Parquet",
    load=_load_traces("phoenix", "PHOENIX"),
    card=_READERS_CARD,
)
MLFLOW_TRACES = Plugin(
    description="MLflow: traces as JSON",
    load=_load_traces("mlflow", "MLFLOW"),
    card=_READERS_CARD,
)
LANGSMITH = Plugin(
    description="LangSmith: runs with their children, or one run per row",
    load=_load_traces("langsmith", "LANGSMITH"),
    card=_READERS_CARD,
)
OPIK = Plugin(
    description="Opik: the files of “opik export”",
    load=_load_traces("opik", "OPIK"),
    card=_READERS_CARD,
)
TRULENS = Plugin(
    description="TruLens: spans of its event table",
    load=_load_traces("trulens", "TRULENS"),
    card=_READERS_CARD,
)
OPENAI_AGENTS = Plugin(
    description="OpenAI Agents: exported traces and spans",
    load=_load_traces("openai_agents", "OPENAI_AGENTS"),
    card=_READERS_CARD,
)
TABLE = Plugin(
    description="a table with question, answer and contexts: JSON, JSON Lines, CSV, Excel, Parquet,"
    " Arrow",
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
    description="a folder with a Hugging Face data set: Parquet, Arrow, JSON Lines, CSV",
    load=_load_evaluations("huggingface", "FolderReader"),
    card=_READERS_CARD,
)
