"""Reads files into rows, and writes rows to files."""

from claimwise.readers.files import FORMATS
from claimwise.readers.read import is_data_file, read_rows, read_table_rows
from claimwise.readers.records import KINDS
from claimwise.readers.write import make_arrow_reader, write_files

__all__ = [
    "FORMATS",
    "KINDS",
    "is_data_file",
    "make_arrow_reader",
    "read_rows",
    "read_table_rows",
    "write_files",
]
