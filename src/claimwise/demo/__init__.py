"""Writes the example project that tests, docs and ``claimwise demo`` share."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from claimwise.config import FILE_NAME
from claimwise.errors import ConfigError
from claimwise.pipeline import import_files
from claimwise.store import open_store

STORE_NAME = "claimwise.db"


def list_demo_files() -> list[Path]:
    """Return the example's data files."""
    return sorted(Path(str(files("claimwise.demo").joinpath("data"))).glob("*.jsonl"))


def write_demo(folder: Path) -> Path:
    """Make a project folder with the example in it; return the path of its store.

    A folder that holds a project already is filled up, so the demo can be repeated.

    Raises:
        ConfigError: the folder holds something else.
    """
    settings = folder / FILE_NAME
    if folder.exists() and (
        not folder.is_dir() or (any(folder.iterdir()) and not settings.exists())
    ):
        raise ConfigError(f"{folder}: found something else there, expected a new or empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in (FILE_NAME, "metrics/overreach_share.sql"):
        _copy(name, folder / name)
    for path in list_demo_files():
        _copy(f"data/{path.name}", folder / "data" / path.name)
    with open_store(folder / STORE_NAME, create=True) as store:
        import_files(store, [folder / "data"])
    return folder / STORE_NAME


def _copy(name: str, target: Path) -> None:
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files("claimwise.demo").joinpath(name).read_bytes())
