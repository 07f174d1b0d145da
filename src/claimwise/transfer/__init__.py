"""Moves files into a store, and a store out to files."""

from __future__ import annotations

from claimwise.transfer.export_run import RunExport, export_run
from claimwise.transfer.files import (
    ImportResult,
    export_arrow,
    export_store,
    import_arrow,
    import_files,
)

__all__ = [
    "ImportResult",
    "RunExport",
    "export_arrow",
    "export_run",
    "export_store",
    "import_arrow",
    "import_files",
]
