"""Strings the stages together: files to store, store to files, answers to verdicts."""

from __future__ import annotations

from claimwise.pipeline.transfer import ImportResult, export_store, import_files

__all__ = ["ImportResult", "export_store", "import_files"]
