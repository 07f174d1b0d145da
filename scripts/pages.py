"""Writes the generated parts of the pages: cog calls these functions from docs/*.md."""

from __future__ import annotations

from typing import get_type_hints

import click
import cog
import msgspec

from claimwise.cli.main import COMMANDS, LazyGroup, cli
from claimwise.ingest.problems import describe
from claimwise.ingest.records import NESTED
from claimwise.measure import load_metrics
from claimwise.store.files import list_sql, list_views
from claimwise.types.rows import ROW_TYPES, Row


def write_cli() -> None:
    """Write the help of every command."""
    for name in ("", *COMMANDS):
        command = cli if not name else LazyGroup.get_command(cli, click.Context(cli), name)
        assert command is not None
        context = click.Context(
            command, info_name=f"claimwise {name}".strip(), max_content_width=90, terminal_width=90
        )
        title = f"claimwise {name}".strip()
        cog.outl(f"\n## {title}\n\n```text\n{command.get_help(context)}\n```")


def write_kinds() -> None:
    """Write the fields of every kind of record."""
    for row_type in ROW_TYPES:
        doc = (row_type.__doc__ or "").strip()
        key = ", ".join(f"`{name}`" for name in row_type.key)
        cog.outl(f"\n### {row_type.kind}\n\n{doc} Key: {key}.")
        if row_type in NESTED:
            inside = ", ".join(f"`{name}`" for name in NESTED[row_type])
            cog.outl(f"In JSON Lines it may carry {inside}.")
        cog.outl("\n| field | | takes | meaning |\n|---|---|---|---|")
        for line in _field_lines(row_type):
            cog.outl(line)


def _field_lines(row_type: type[Row]) -> list[str]:
    hints = get_type_hints(row_type, include_extras=True)
    lines = []
    for field in msgspec.structs.fields(row_type):
        hint = hints[field.name]
        meaning = next(note.description for note in hint.__metadata__ if note.description)
        need = "required" if field.required else ""
        lines.append(f"| `{field.name}` | {need} | {describe(hint)} | {meaning} |")
    return lines


def write_schema() -> None:
    """Write the migrations and the views."""
    for name, sql in list_sql("schema"):
        cog.outl(f"\n## {name}.sql\n\n```sql\n{sql}\n```")
    cog.outl("\n## Views\n\nWritten anew with every migration.")
    for name, sql in list_views():
        cog.outl(f"\n### {name}\n\n```sql\n{sql}\n```")


def write_metrics() -> None:
    """Write the catalogue of metrics."""
    for metric in load_metrics().values():
        better = metric.better_for(None)
        facts = [f"Grain: {metric.grain}.", f"Unit: {metric.unit}."]
        if better:
            facts.append(f"{better.capitalize()} is better.")
        if metric.series:
            facts.append(f"Series: `{metric.series}`.")
        meaning = metric.meaning[0].upper() + metric.meaning[1:]
        cog.outl(f"\n### {metric.name}\n\n**{metric.title}.** {meaning}. {' '.join(facts)}")
        if metric.notes:
            cog.outl("")
        for member, note in metric.notes.items():
            direction = metric.better.get(member)
            more = f" ({direction} is better)" if direction else ""
            cog.outl(f"- `{member}`: {note}{more}")
