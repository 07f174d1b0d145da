"""Reads files into rows, and writes rows to files."""

from claimwise.ingest.files import FORMATS
from claimwise.ingest.read import is_data_file, read_rows
from claimwise.ingest.records import KINDS
from claimwise.ingest.write import write_files

__all__ = ["FORMATS", "KINDS", "is_data_file", "read_rows", "write_files"]
