"""docs/gates.md shows what really happens: every gate on the page is run, every output compared."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from claimwise.cli.main import run

PAGE = Path(__file__).parents[2] / "docs" / "gates.md"
SHOWN = re.compile(
    r"```toml\n(?P<gates>.*?)```\n.*?```console\n\$ claimwise gate\n(?P<out>.*?)```", re.S
)


def read_lines(text: str) -> list[str]:
    """Return the lines that count: not the prompt's, nor the hint on standard error."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    skipped = ("$ ", "Using latest run ")
    return [line for line in lines if line and line != "0" and not line.startswith(skipped)]


def test_the_page_shows_real_outputs(
    judged_demo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("CLAIMWISE_STORE", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "104")
    shutil.copytree(judged_demo, tmp_path / "first-gate")
    monkeypatch.chdir(tmp_path / "first-gate")
    settings = Path("claimwise.toml")
    before = settings.read_text(encoding="utf-8")
    sessions = list(SHOWN.finditer(PAGE.read_text(encoding="utf-8")))
    assert len(sessions) == 3
    for session in sessions:
        settings.write_text(f"{before}\n{session['gates']}", encoding="utf-8")
        capsys.readouterr()
        run(["gate"])
        assert read_lines(capsys.readouterr().out) == read_lines(session["out"])
