"""The page on choosing a judge shows what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.judge_comparison.values import PROBES

PAGE = Path(__file__).parents[2] / "docs" / "choosing-a-judge.md"
# How fast a judge is depends on the machine.
SPEED = re.compile(r"^(\S+(?: \(baseline\))?) +— +— +0 +\S+$", re.MULTILINE)


def test_the_example_is_what_the_command_prints(
    judged_demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    block = re.search(r"\$ (claimwise judges .*?)\n(.*?)\n…\n```", PAGE.read_text("utf-8"), re.S)
    assert block is not None
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(judged_demo)
    capsys.readouterr()
    assert run(block.group(1).split()[1:]) == 0
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())
    assert len(SPEED.findall(printed)) == 2
    shown = SPEED.sub(r"\1", block.group(2))
    assert SPEED.sub(r"\1", printed).startswith(shown)


def test_the_page_explains_every_probe() -> None:
    section = PAGE.read_text("utf-8").partition("## Bias probes")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(PROBES)
