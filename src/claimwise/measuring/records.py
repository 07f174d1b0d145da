"""Writes data that is in memory as JSON Lines, which readers then take as they take a file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from claimwise.errors import ClaimwiseError

# How tables of other packages give their rows, without our knowing the packages: polars, Arrow,
# Hugging Face datasets; pandas has a method of many forms.
_ROWS = ("to_dicts", "to_pylist", "to_list")


def write_records(data: Any, path: Path) -> Path:
    """Write rows as JSON Lines; return the path.

    Raises:
        ClaimwiseError: the data are no rows.
    """
    lines = [json.dumps(_to_plain(row), ensure_ascii=False) for row in _list_rows(data)]
    if not lines:
        raise ClaimwiseError("found no rows, expected at least one question with its answer")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
    return path


def _list_rows(data: Any) -> list[Mapping[str, Any]]:
    rows = data
    if hasattr(data, "columns") and callable(getattr(data, "to_dict", None)):
        rows = data.to_dict("records") if not hasattr(data, "to_dicts") else data.to_dicts()
    else:
        for name in _ROWS:
            if callable(getattr(data, name, None)):
                rows = getattr(data, name)()
                break
    found = list(rows) if isinstance(rows, Iterable) and not isinstance(rows, Mapping) else [rows]
    wrong = next((row for row in found if not isinstance(row, Mapping)), None)
    if wrong is not None:
        raise ClaimwiseError(
            f"found a {type(wrong).__name__}, expected a path, a list of dictionaries, a DataFrame "
            "or a dataset"
        )
    return found


def _to_plain(value: Any) -> Any:
    """Return a value as JSON has it: arrays as lists, times as text, no number as null."""
    if isinstance(value, Mapping):
        return {str(key): _to_plain(part) for key, part in value.items()}
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if callable(getattr(value, "tolist", None)):  # arrays and scalars of numpy
        return _to_plain(value.tolist())
    if callable(getattr(value, "isoformat", None)):
        return value.isoformat()
    if isinstance(value, Iterable):
        return [_to_plain(part) for part in value]
    return str(value)
