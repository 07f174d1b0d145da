"""The app over a new store, or over one with the demo data and a round."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from claimwise.demo import list_demo_files
from claimwise.store import open_store
from claimwise.transfer import import_files
from support.app_server import RunningApp, run_app


@pytest.fixture(autouse=True)
def _quick_hashes(quick_hashes: None) -> None:
    """Hash passwords with little work."""


@pytest.fixture
def app(place: str, tmp_path: Path) -> Iterator[RunningApp]:
    """The app over an empty store, on each engine in turn."""
    open_store(place, create=True).close()
    with run_app(place, tmp_path) as running:
        yield running


@pytest.fixture
def demo_app(tmp_path: Path) -> Iterator[RunningApp]:
    """The app over a SQLite file with the demo data."""
    place = str(tmp_path / "store.db")
    with open_store(place, create=True) as store:
        import_files(store, list_demo_files())
    with run_app(place, tmp_path) as running:
        yield running
