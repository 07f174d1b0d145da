"""What docs/openbook.md and docs/consistency.md show, run again with the real verifier."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from claimwise.cli.main import run

ROOT = Path(__file__).parent.parent.parent


def read_shown(page: str, command: str) -> str:
    """Return what a page shows after a command, up to the end of the block."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return text.split(f"$ {command}\n", 1)[1].split("```", 1)[0]


@pytest.fixture
def demo(written_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(written_demo, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path / "demo"


def test_the_page_on_open_book_shows_what_is_printed(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = read_shown("openbook.md", "cat answer.txt").split("\n", 1)[0]
    (demo / "answer.txt").write_text(answer, encoding="utf-8")
    command = "openbook --answer answer.txt --corpus store"
    assert run(command.split()) == 0
    assert capsys.readouterr().out == read_shown("openbook.md", f"claimwise {command}")


def test_the_page_on_consistency_shows_what_is_printed(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = read_shown(
        "consistency.md",
        'claimwise consistency --answers samples --question "What is the Youth Card?"',
    )
    (demo / "samples").mkdir()
    samples = (
        "The Youth Card costs €24 a year. It is for people aged 16 to 25.",
        "The Youth Card is for people aged 16 to 25 and costs €24 a year.",
        "The Youth Card costs €30 a year. It is for people aged 16 to 25.",
    )
    for number, text in enumerate(samples, start=1):
        (demo / f"samples/{number}.txt").write_text(text, encoding="utf-8")
    asked = ("--question", "What is the Youth Card?")
    assert run(["consistency", "--answers", "samples", *asked]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("page", ["openbook.md", "consistency.md"])
def test_options_that_pages_name_exist(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    known = set()
    for command in ("openbook", "cascade", "consistency", "check", "metrics"):
        run([command, "--help"])
        known |= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    named = set(re.findall(r"--[a-z][a-z-]+", text)) - {"--chosen"}  # a benchmark's own
    assert named <= known
