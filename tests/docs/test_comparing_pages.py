"""The pages on comparing, drift and planning: their commands, run, print what the pages show."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.comparison.drift import explain_drift
from claimwise.comparison.queries import find_pair
from claimwise.metrics import load_metrics
from claimwise.store import open_store

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "docs/examples/drift/make_example.py"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's project, made by the commands of the pages."""
    folder = tmp_path_factory.mktemp("docs") / "desk"
    page = (ROOT / "docs/drift.md").read_text("utf-8")
    commands = re.findall(r"^\$ claimwise ((?:init|import).*)$", page, re.MULTILINE)
    assert len(commands) == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(SCRIPT), str(folder)])
        runpy.run_path(str(SCRIPT), run_name="__main__")
        patch.chdir(folder)
        for command in commands:
            assert run(shlex.split(command)) == 0
    return folder


@pytest.mark.parametrize("name", ["compare", "drift", "plan"])
def test_commands_print_what_the_page_shows(
    desk: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / f"docs/{name}.md").read_text("utf-8")
    pattern = rf"^\$ claimwise ({name} .+)\n((?:(?!```).*\n)+)```"
    [(command, shown)] = re.findall(pattern, page, re.MULTILINE)
    monkeypatch.chdir(desk)
    monkeypatch.setenv("COLUMNS", "96")
    capsys.readouterr()
    assert run(shlex.split(command)) == 0
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())
    assert printed.rstrip() == shown.rstrip()


def test_what_was_planted_lies_within_the_intervals(desk: Path) -> None:
    planted = {"system": -0.03 * 15 / 16, "instrument": -0.93 / 16,
               "evidence": -0.20 / 4 * 15 / 16, "mix": -0.25 / 5 * 15 / 16}  # fmt: skip
    with open_store(desk / "claimwise.db") as store:
        pair = find_pair(store, "march", "june")
        (drift,) = explain_drift(store, load_metrics()["faithfulness"], pair)
    assert {part.causes[0] for part in drift.parts} == set(planted)
    for part in drift.parts:
        assert part.low < planted[part.causes[0]] < part.high, part
