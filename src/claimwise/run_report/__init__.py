"""Turns measurements into reports: terminal, Markdown, HTML and JSON.

Names are loaded on first use: who shows one checked answer need not load what estimates rates.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimwise.run_report.build import DEFAULT_BY, build_report
    from claimwise.run_report.html import render_html
    from claimwise.run_report.json import (
        metrics_schema,
        report_schema,
        summary_to_document,
        tables_to_document,
        to_document,
    )
    from claimwise.run_report.markdown import (
        render_markdown,
        render_summary_markdown,
        render_tables_markdown,
    )
    from claimwise.run_report.summary import build_summary, summarize_project
    from claimwise.run_report.summary_text import format_summary
    from claimwise.run_report.terminal import print_report, print_summary, print_tables

_HOMES = {
    "DEFAULT_BY": "build",
    "build_report": "build",
    "build_summary": "summary",
    "format_summary": "summary_text",
    "metrics_schema": "json",
    "print_report": "terminal",
    "print_summary": "terminal",
    "print_tables": "terminal",
    "render_html": "html",
    "render_markdown": "markdown",
    "render_summary_markdown": "markdown",
    "render_tables_markdown": "markdown",
    "report_schema": "json",
    "summarize_project": "summary",
    "summary_to_document": "json",
    "tables_to_document": "json",
    "to_document": "json",
}

__all__ = [
    "DEFAULT_BY",
    "build_report",
    "build_summary",
    "format_summary",
    "metrics_schema",
    "print_report",
    "print_summary",
    "print_tables",
    "render_html",
    "render_markdown",
    "render_summary_markdown",
    "render_tables_markdown",
    "report_schema",
    "summarize_project",
    "summary_to_document",
    "tables_to_document",
    "to_document",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'claimwise.run_report' has no attribute {name!r}")
    return getattr(import_module(f"claimwise.run_report.{_HOMES[name]}"), name)
