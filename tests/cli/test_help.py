"""``claimwise --help``: grouped, true, and light."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module

import pytest

from claimwise.cli.commands import COMMANDS, HEADINGS
from claimwise.cli.main import run


def list_imports(*arguments: str) -> set[str]:
    """Return the modules that a command line imports, in a Python of its own."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from claimwise.cli.main import run\n"
        f"assert run({list(arguments)!r}) == 0\n"
        "print('imported', *(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_help_lists_every_command_under_its_heading(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    sections = re.findall(r"^(\w+):\n((?:  .+\n)+)", capsys.readouterr().out, re.MULTILINE)
    assert {
        heading: re.findall(r"^  ([\w-]+)", lines, re.MULTILINE)
        for heading, lines in sections
        if heading != "Options"
    } == {heading: list(entries) for heading, entries in HEADINGS.items()}
    assert list(HEADINGS) == ["Check", "Measure", "Label", "Decide", "Production", "Admin"]


def test_help_imports_no_command_and_nothing_heavy() -> None:
    imported = list_imports("--help")
    assert {name for name in imported if name.startswith("claimwise")} <= {
        "claimwise",
        "claimwise.cli",
        "claimwise.cli.commands",
        "claimwise.cli.main",
        "claimwise.errors",
    }
    roots = {name.partition(".")[0] for name in imported}
    assert roots - sys.stdlib_module_names == {"claimwise", "click"}
    assert "importlib.metadata" not in imported
    assert len(imported) < 150


@pytest.mark.parametrize("name", ["check", "import", "report", "gate"])
def test_help_of_a_command_imports_no_other_command(name: str) -> None:
    commands = {entry.module for entry in COMMANDS.values()}
    assert list_imports(name, "--help") & commands == {COMMANDS[name].module}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    command = import_module(COMMANDS[name].module).command
    assert command.name == name
    assert command.short_help == COMMANDS[name].help
