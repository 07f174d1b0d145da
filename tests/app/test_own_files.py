"""A server whose files are replaced under it, as an upgrade does, goes on with its own."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import NoReturn

import pytest

from claimwise.app import requests
from claimwise.labelling import guide
from claimwise.metrics import catalogue
from claimwise.store import files as sql_files
from support.app_server import run_app

KEPT = (requests.load_templates, catalogue._load_built_in, guide._read_built_in)


def forget_files() -> None:
    """Drop what was read of the package's own files."""
    for one in KEPT:
        one.cache_clear()
    for folder in sql_files.SqlFolder._made:
        folder.__dict__.pop("_files", None)


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Nothing of the package's own files is in memory when the server starts."""
    forget_files()
    yield
    forget_files()


@pytest.mark.usefixtures("forgotten")
def test_pages_need_no_file_after_the_start(
    own_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_files()

    def refuse(package: str) -> NoReturn:
        raise FileNotFoundError(f"{package} is being replaced")

    with run_app(str(own_demo), tmp_path) as app:
        for module in (requests, sql_files, catalogue, guide):
            assert module.files is files
            monkeypatch.setattr(module, "files", refuse)
        ada = app.enter("ada", "admin")
        for path in ("/", "/runs", "/label", "/guide", "/adjudicate", "/calibrations", "/rounds"):
            assert ada.get(path).status_code == 200, path
        page = ada.get("/calibrations").text
        verifier = page.partition('name="verifier" value="')[2].partition('"')[0]
        made = ada.post("/calibrations", verifier=verifier, judgement="grounded")
        assert made.status_code == 303
        assert ada.get(made.headers["location"]).status_code == 200
