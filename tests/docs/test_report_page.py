"""The page on reports shows the screen that the command prints."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from claimwise.cli.main import run

PAGE = Path(__file__).parents[2] / "docs" / "report.md"


def test_the_screen_is_what_the_command_prints(
    judged_demo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(judged_demo, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    monkeypatch.setenv("COLUMNS", "80")
    capsys.readouterr()
    assert run(["report"]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    [start, end] = PAGE.read_text("utf-8").split("\n```\nRun ")[1].split("```")[0].split("  …\n")
    shown = [*f"Run {start}".splitlines(), *end.splitlines()]
    left_out = len(printed) - len(shown)
    at = len(start.splitlines())
    assert left_out > 0
    assert printed[:at] + printed[at + left_out :] == shown
