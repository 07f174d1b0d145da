"""Turns measurements into reports: terminal, Markdown, HTML and JSON."""

from claimwise.report.build import DEFAULT_BY, build_report
from claimwise.report.html import render_html
from claimwise.report.json import metrics_schema, report_schema, tables_to_document, to_document
from claimwise.report.markdown import render_markdown, render_tables_markdown
from claimwise.report.terminal import print_report, print_tables

__all__ = [
    "DEFAULT_BY",
    "build_report",
    "metrics_schema",
    "print_report",
    "print_tables",
    "render_html",
    "render_markdown",
    "render_tables_markdown",
    "report_schema",
    "tables_to_document",
    "to_document",
]
