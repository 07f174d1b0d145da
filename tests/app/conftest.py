"""The app over a new store, or over one with the demo data and a round."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.app_server import RunningApp, run_app
from support.copies import StoreCopies, add_demo


@pytest.fixture(autouse=True)
def _quick_hashes(quick_hashes: None) -> None:
    """Hash passwords with little work."""


@pytest.fixture
def app(place: str, tmp_path: Path) -> Iterator[RunningApp]:
    """The app over an empty store, on each engine in turn."""
    with run_app(place, tmp_path) as running:
        yield running


@pytest.fixture
def demo_app(store_copies: StoreCopies, tmp_path: Path) -> Iterator[RunningApp]:
    """The app over a SQLite file with the demo data."""
    with run_app(store_copies.copy("sqlite", add_demo), tmp_path) as running:
        yield running
