"""``claimwise init``."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import click

from claimwise.command.options import open_project_store, store_option, write_file
from claimwise.config import DEFAULT_STORE, FILE_NAME, find_project
from claimwise.store import hide_password

_PATH_LINE = 'path = "claimwise.db"'


@click.command("init", short_help="Create a project: claimwise.toml and an empty store.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=".")
@store_option
def command(folder: Path, store: str | None) -> None:
    """Create a project in FOLDER: claimwise.toml, an empty store and a folder for your metrics.

    Existing files are kept. A password in --store is not saved; set the environment variable
    CLAIMWISE_STORE to the full URL instead.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / FILE_NAME
    given = store or click.get_current_context().find_root().obj
    if not settings.exists():
        write_file(settings, _settings_text(given))
        click.echo(f"wrote {settings}")
    project = find_project(folder)
    project.metrics_folder.mkdir(exist_ok=True)
    with open_project_store(project, given, create=True) as opened:
        click.echo(
            f"store ready: {opened.place} ({opened.engine_name}, schema {opened.schema_version})"
        )
    click.echo(
        "next: claimwise import FILE… (see docs/data-format.md), or try claimwise demo FOLDER"
    )


def _settings_text(store: str | None) -> str:
    template = files("claimwise.demo").joinpath(FILE_NAME).read_text(encoding="utf-8")
    template = template.replace("# The demo project.", "# A claimwise project.")
    if store is None or store == DEFAULT_STORE:
        return template
    place = hide_password(store) if "://" in store else str(Path(store).resolve())
    key = "url" if "://" in store else "path"
    # A text of TOML is one of JSON, but for DEL.
    quoted = json.dumps(place, ensure_ascii=False).replace("\x7f", "\\u007f")
    return template.replace(_PATH_LINE, f"{key} = {quoted}")
