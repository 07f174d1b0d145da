"""Readers of evaluation tools' files and of plain tables: one module per tool, on common ground.

``sketch`` tells a format from a file's first bytes, ``records`` yields its records, ``columns``
finds out which column is what, ``rows`` makes traces of rows; ``chat``, ``passages``, ``values``
and ``literals`` read what a cell may hold.
"""
