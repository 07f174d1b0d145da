"""``claimwise plugins``: everything registered, and what is wrong with what does not work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claimwise.cli.main import run
from claimwise.metrics import load_metrics
from claimwise.registry import GROUPS
from support.packages import install_package

PLUGIN = """
from claimwise.registry import Plugin
FINE = Plugin(description="fine", load=dict, measure_size=lambda: 2_000_000, card="https://a.example")
LACKING = Plugin(description="lacks", load=dict, find_missing=lambda: "pip install acme[gpu]")
"""


def list_plugins(capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str], dict[str, Any]]:
    capsys.readouterr()
    assert run(["plugins", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)["plugins"]
    return {(one["group"], one["name"]): one for one in listed}


def test_everything_built_in_is_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = list_plugins(capsys)
    assert {group for group, _ in found} == set(GROUPS)
    assert found["judges", "embedded"]["bytes"] > 10_000_000
    assert found["providers", "openai"]["missing"] == "set OPENAI_API_KEY"
    assert not found["providers", "openai"]["available"]
    assert found["metrics", "claimwise"]["brings"] == list(load_metrics())
    for one in found.values():
        assert one["built_in"]
        assert one["description"]
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert list_plugins(capsys)["providers", "openai"]["available"]


def test_packages_are_listed_with_what_they_lack(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = {"fine": "FINE", "lacking": "LACKING", "lexical": "FINE", "absent": "NOTHING"}
    install_package(monkeypatch, tmp_path, "acme", PLUGIN, version="3.1", judges=own)
    install_package(
        monkeypatch, tmp_path, "broken", files={"x.sql": "select 1"}, metrics={"broken": ""}
    )
    found = list_plugins(capsys)
    fine = found["judges", "fine"]
    assert (fine["package"], fine["version"], fine["available"]) == ("acme", "3.1", True)
    assert (fine["bytes"], fine["card"]) == (2_000_000, "https://a.example")
    assert found["judges", "lacking"]["missing"] == "pip install acme[gpu]"
    assert "AttributeError" in found["judges", "absent"]["missing"]
    assert "the header lacks -- title" in found["metrics", "broken"]["missing"]
    assert run(["plugins"]) == 0
    text = capsys.readouterr().out
    assert "lacking: pip install acme[gpu]" in text
    assert "lexical: refused: claimwise " in text
    assert "2.0 MB" in text
