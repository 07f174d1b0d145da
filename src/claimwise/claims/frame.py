"""Claims as a table for notebooks: for pandas, polars, and whatever reads Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from claimwise.claims.queries import list_claims
from claimwise.claims.values import ClaimRow
from claimwise.errors import ClaimwiseError
from claimwise.store import Store, open_store
from claimwise.store.runs import find_latest_run

if TYPE_CHECKING:
    import pandas
    import polars

_LEFT_OUT: Final = ("slice", "severity", "doubt")
_OWN_COLUMNS: Final = [name for name in ClaimRow.__struct_fields__ if name not in _LEFT_OUT]
# Every other column is text. A column without any value still has its type.
_TYPES: Final[dict[str, type]] = {
    "sample": int, "position": int, "answer_start": int, "answer_end": int, "evidence_start": int,
    "confidence": float, "disputed": bool, "labeled_at": datetime,
}  # fmt: skip


def claims_frame(store: Store | str | Path, run: str | None = None, **options: Any) -> ClaimsFrame:
    """Return a run's claims as a table, worst first, for pandas, polars or plain Python.

    ``claims_frame("claimwise.db").to_pandas()``, ``.to_polars()``, or a loop over it. A library
    that reads Arrow (``polars.DataFrame(frame)``, ``pyarrow.table(frame)``) takes it as it is.

    Args:
        store: an open store, its path or its URL.
        run: the run; None is the latest.
        options: what narrows the list, as of :func:`claimwise.claims.queries.list_claims`:
            ``verdicts=["contradicted"]``, ``where={"domain": "billing"}``, ``search="fee"``…

    Raises:
        ClaimwiseError: there is no such store, run, verdict or column.
    """
    if isinstance(store, Store):
        return ClaimsFrame(list_claims(store, run or find_latest_run(store), **options))
    with open_store(store) as opened:
        return claims_frame(opened, run, **options)


class ClaimsFrame:
    """A table of claims: one line per claim, a column for each fact and each group of its item."""

    def __init__(self, rows: Sequence[ClaimRow]) -> None:
        self._rows = [flatten_claim(row) for row in rows]
        self.columns = list_frame_columns(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_dicts())

    def __repr__(self) -> str:
        shape = f"{len(self):,} claims, {len(self.columns)} columns"
        return f"<ClaimsFrame: {shape}; .to_pandas(), .to_polars(), .to_dicts()>"

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary per claim, each with every column."""
        return [{name: row.get(name) for name in self.columns} for row in self._rows]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame.

        Raises:
            ClaimwiseError: pandas is not installed.
        """
        _require("pandas")
        import pandas

        frame = pandas.DataFrame(self.to_dicts(), columns=self.columns)
        kinds = {int: "Int64", float: "float64", bool: "bool", datetime: "datetime64[us]"}
        return frame.astype({name: kinds[kind] for name, kind in _TYPES.items()})

    def to_polars(self) -> polars.DataFrame:
        """Return a polars DataFrame.

        Raises:
            ClaimwiseError: polars is not installed.
        """
        _require("polars")
        import polars

        kinds = {
            int: polars.Int64(), float: polars.Float64(), bool: polars.Boolean(),
            datetime: polars.Datetime("us"), str: polars.String(),
        }  # fmt: skip
        schema = {name: kinds[_TYPES.get(name, str)] for name in self.columns}
        return polars.DataFrame(self.to_dicts(), schema=schema, orient="row")

    @property
    def __arrow_c_stream__(self) -> Callable[..., object]:
        """The Arrow PyCapsule interface, made by pyarrow or polars; absent without either."""
        if find_spec("pyarrow"):
            return self._to_arrow().__arrow_c_stream__  # type: ignore[no-any-return]
        if find_spec("polars"):
            return self.to_polars().__arrow_c_stream__
        raise AttributeError("__arrow_c_stream__ needs pyarrow or polars")

    def _to_arrow(self) -> Any:
        import pyarrow

        kinds = {
            int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_(),
            datetime: pyarrow.timestamp("us"), str: pyarrow.string(),
        }  # fmt: skip
        schema = pyarrow.schema([(name, kinds[_TYPES.get(name, str)]) for name in self.columns])
        return pyarrow.Table.from_pylist(self.to_dicts(), schema=schema)


def flatten_claim(row: ClaimRow) -> dict[str, Any]:
    """Return a claim as a line of a table: its own facts, then the groups that its item is in.

    An attribute named like a fact of the claim gets a prefix: ``item_reason``.
    """
    own = {name: getattr(row, name) for name in _OWN_COLUMNS}
    taken = {
        f"item_{name}" if name in own else name: value
        for name, value in row.slice.items()
        if own.get(name) != value or name not in own
    }
    return own | taken


def list_frame_columns(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the columns of flattened claims: the claim's own, then groups by name."""
    found = {name for row in rows for name in row}
    return [*_OWN_COLUMNS, *sorted(found.difference(_OWN_COLUMNS))]


def _require(package: str) -> None:
    if not find_spec(package):
        raise ClaimwiseError(
            f"{package} is not installed: pip install {package}, or use .to_dicts()"
        )
