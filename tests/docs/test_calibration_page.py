"""The page on calibration shows what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.types.calibrating import Rule

PAGE = Path(__file__).parents[2] / "docs" / "calibration.md"


def test_the_example_is_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    block = re.search(r"\$ claimwise calibrate.*?\n(.*?)\n…\n```", PAGE.read_text("utf-8"), re.S)
    assert block is not None
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert run(["demo", "demo-project"]) == 0
    monkeypatch.chdir(tmp_path / "demo-project")
    capsys.readouterr()
    assert run(["calibrate", "--verifier", "overlap"]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    undated = re.compile(r"until \d{4}-\d\d-\d\d")
    shown = [undated.sub("", line) for line in block.group(1).splitlines()]
    assert shown == [undated.sub("", line) for line in printed[: len(shown)]]


def test_the_corrected_rate_is_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text("utf-8")
    block = re.search(r"\$ (claimwise rounds .*?)\n\$ .*?\n…\n(.*?)\n…\n```", text, re.S)
    assert block is not None
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    run(["demo", "demo-project"])
    monkeypatch.chdir(tmp_path / "demo-project")
    assert run(block.group(1).split()[1:]) == 0
    capsys.readouterr()
    assert run(["calibrate", "--verifier", "overlap"]) == 0
    shown, printed = (
        re.sub(r"in round \w{10}", "in round", " ".join(text.split()))  # an id holds the time
        for text in (block.group(2), capsys.readouterr().out)
    )
    assert shown in printed
    assert run(["report", "--run", "candidate"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "faithfulness 0.842 [0.748, 0.906] (corrected by 89 labels of people" in told


def test_the_rule_on_the_page_is_the_rule() -> None:
    text, rule = PAGE.read_text("utf-8"), Rule()
    for name, value in (("level", rule.level), ("margin", rule.margin),
                        ("min-claims", rule.min_claims), ("days", rule.days)):  # fmt: skip
        assert f"`--{name}` ({value:g})" in text
    assert f"surely lies below {rule.people_floor:g}" in text
