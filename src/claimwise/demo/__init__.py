"""Writes the example project that tests, docs and ``claimwise demo`` share."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from claimwise.config import FILE_NAME
from claimwise.disk.output import replace_file
from claimwise.errors import ConfigError
from claimwise.store import open_store
from claimwise.transfer import import_files

STORE_NAME = "claimwise.db"
_CHECKED = ("check/answer.txt", "check/delays.md")  # something to try `claimwise check` on


def list_demo_files() -> list[Path]:
    """Return the example's data files."""
    return sorted(Path(str(files("claimwise.demo").joinpath("data"))).glob("*.jsonl"))


def write_demo(folder: Path) -> Path:
    """Make a project folder with the example in it; return the path of its store.

    The demo's own folder is filled up, so the demo can be repeated.

    Raises:
        ConfigError: the folder holds something else, or a project of the user's.
    """
    if folder.exists() and not _is_ours(folder):
        raise ConfigError(f"{folder}: not empty; name a new or empty folder for the demo")
    folder.mkdir(parents=True, exist_ok=True)
    for name in (FILE_NAME, "metrics/overreach_share.sql", *_CHECKED):
        _copy(name, folder / name)
    for path in list_demo_files():
        _copy(f"data/{path.name}", folder / "data" / path.name)
    with open_store(folder / STORE_NAME, create=True) as store:
        import_files(store, [folder / "data"])
    return folder / STORE_NAME


def _is_ours(folder: Path) -> bool:
    """Return whether a folder is empty or was made by the demo, its settings untouched."""
    if not folder.is_dir():
        return False
    settings = folder / FILE_NAME
    if settings.is_file():
        return settings.read_bytes() == files("claimwise.demo").joinpath(FILE_NAME).read_bytes()
    return not any(folder.iterdir())


def _copy(name: str, target: Path) -> None:
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, files("claimwise.demo").joinpath(name).read_bytes())
