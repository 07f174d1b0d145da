"""Moves files into a store, and a store out to files."""

from __future__ import annotations

from claimwise.transfer.files import ImportResult, export_store, import_files

__all__ = ["ImportResult", "export_store", "import_files"]
