"""The page on agreement: its commands, run, print what it shows."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from claimwise.cli.main import run

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "docs/examples/agreement/make_example.py"
PAGE = (ROOT / "docs/agreement.md").read_text("utf-8")
SHOWN = re.findall(
    r"^\$ claimwise (agreement --run (\w+).*?)(?: \| head -n (\d+))?\n((?:(?!```).*\n)+)```",
    PAGE,
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def folders(judged_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The projects of the page, by their runs."""
    demo, office = (tmp_path_factory.mktemp("docs") / name for name in ("agree", "office"))
    shutil.copytree(judged_demo, demo)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(SCRIPT), str(office)])
        runpy.run_path(str(SCRIPT), run_name="__main__")
        patch.chdir(office)
        for command in re.findall(r"^\$ claimwise ((?:init|import).*)$", PAGE, re.MULTILINE):
            assert run(shlex.split(command)) == 0
    return {"baseline": demo, "even": office, "mostly": office}


@pytest.mark.parametrize(("command", "run_id", "lines", "shown"), SHOWN)
def test_commands_print_what_the_page_shows(
    folders: dict[str, Path],
    command: str,
    run_id: str,
    lines: str,
    shown: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folders[run_id])
    monkeypatch.setenv("COLUMNS", "96")
    capsys.readouterr()
    assert run(shlex.split(command)) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.rstrip().splitlines()]
    assert "\n".join(printed[: int(lines) if lines else None]) == shown.rstrip()


def test_every_example_is_checked() -> None:
    assert len(SHOWN) == PAGE.count("$ claimwise agreement") == 3
