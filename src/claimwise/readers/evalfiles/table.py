"""Reads tables of nobody's in particular, and those of tools that differ in little but a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from claimwise.readers.evalfiles.columns import is_table
from claimwise.readers.evalfiles.rows import TableFormat, read_table
from claimwise.readers.evalfiles.sketch import Sketch, sketch_head
from claimwise.readers.evalfiles.values import normalise_name, parse_cell
from claimwise.readers.outside import RecordKind, Records

_KNOWN, _PERHAPS = 0.4, 0.15
_RAGAS_SCORES = frozenset({
    "faithfulness", "answerrelevancy", "responserelevancy", "contextprecision", "contextrecall",
    "answercorrectness", "answersimilarity", "semanticsimilarity", "factualcorrectness",
    "contextentityrecall", "noisesensitivity", "contextutilization", "contextrelevancy",
    "llmcontextprecisionwithreference", "llmcontextprecisionwithoutreference",
})  # fmt: skip


class TableReader:
    """Reads a table whose format has a name and a sign by which its names are known."""

    yields: RecordKind = "traces"

    def __init__(self, layout: TableFormat, is_known: Callable[[set[str]], float | None]) -> None:
        self._layout = layout
        self._is_known = is_known

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Go by the names of columns, or of the fields of records."""
        sketch = sketch_head(head)
        if sketch.form in ("parquet", "arrow", "workbook"):
            return _KNOWN if self._layout is TABLE_FORMAT else None
        if sketch.form not in ("json", "csv"):
            return None
        return self._is_known(list_names(sketch))

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield answers row by row."""
        return read_table(path, options, self._layout)


def list_names(sketch: Sketch) -> set[str]:
    """Return the names of a table's columns, as far as its first bytes tell them."""
    if sketch.form == "csv":
        return set(sketch.header)
    # Records stand at the top, in a list, or in a list in an object; columns before ``.0``.
    found = set()
    for name in sketch.names:
        top = name.removeprefix("[]").removeprefix(".")
        holder, sign, inner = top.partition("[].")
        found.add(inner if sign and "." not in holder else top)
    return found


def _normalise(names: set[str]) -> set[str]:
    return {normalise_name(name) for name in names}


def _know_table(names: set[str]) -> float | None:
    if is_table(names):
        return _KNOWN
    return _PERHAPS if len(names) > 1 else None


def _know_ragas(names: set[str]) -> float | None:
    found = _normalise(names)
    new = "userinput" in found and found & {"response", "retrievedcontexts", "reference",
                                            "referencecontexts"}  # fmt: skip
    old = {"question", "contexts"} <= found and found & (
        {"groundtruth", "groundtruths", "evolutiontype"} | _RAGAS_SCORES
    )
    return 0.8 if new or old else None


def _know_deepeval(names: set[str]) -> float | None:
    found = _normalise(names)
    if {"input", "actualoutput"} <= found:
        return 0.8
    golden = found & {"retrievalcontext", "sourcefile", "expectedtools", "additionalmetadata"}
    if "input" in found and "expectedoutput" in found and golden:
        return 0.8
    return 0.7 if {"scenario", "turns"} <= found else None


def _know_ragchecker(names: set[str]) -> float | None:
    found = _normalise(names)
    return 0.85 if {"query", "gtanswer", "response"} <= found else None


def _know_mlflow(names: set[str]) -> float | None:
    found = _normalise(names)
    return 0.7 if {"inputs", "expectations"} <= found else None


def _split_deepeval(value: Any) -> Any:
    """Return the contexts of a cell: deepeval's CSV puts a vertical bar between them."""
    found = parse_cell(value)
    return found.split("|") if isinstance(found, str) and "|" in found else found


TABLE_FORMAT = TableFormat("table")
_DEEPEVAL = TableFormat(
    "deepeval",
    gold=("context",),
    open_contexts=_split_deepeval,
    without_answers="goldens without answers",
)
_RAGAS = TableFormat("ragas", without_answers="a test set without responses")
_RAGCHECKER = TableFormat("ragchecker")
_MLFLOW = TableFormat("mlflow", without_answers="records without outputs")


def load_table() -> TableReader:
    """Return the reader of any table."""
    return TableReader(TABLE_FORMAT, _know_table)


def load_ragas() -> TableReader:
    """Return the reader of ragas' data sets and results, under old and new names."""
    return TableReader(_RAGAS, _know_ragas)


def load_goldens() -> TableReader:
    """Return the reader of deepeval's goldens with answers, in which ``context`` is gold."""
    return TableReader(_DEEPEVAL, _know_deepeval)


def load_ragchecker() -> TableReader:
    """Return the reader of RAGChecker's inputs and results."""
    return TableReader(_RAGCHECKER, _know_ragchecker)


def load_mlflow() -> TableReader:
    """Return the reader of MLflow's evaluation records."""
    return TableReader(_MLFLOW, _know_mlflow)
