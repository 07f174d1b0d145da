"""``claimwise --help``: grouped, true, and light."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from claimwise.cli.commands import COMMANDS, HEADINGS
from claimwise.cli.main import cli, run

ROOT = Path(__file__).parent.parent.parent
# docs/glossary.md has the words to use instead; guillemets are no English quotation marks.
BANNED = re.compile(r"instrument|«|»|\bmend\b|\banew\b|; else\b", re.IGNORECASE)


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
        "claimwise.command",
        "claimwise.command.encoding",
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


def walk_help(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Return the help of a command and of its own commands, each with its name."""
    yield name, command.get_help(click.Context(command, info_name=name))
    if isinstance(command, click.Group):
        for part, inner in getattr(command, "commands", {}).items():
            yield from walk_help(inner, f"{name} {part}")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_uses_the_words_of_the_glossary(name: str) -> None:
    command = import_module(COMMANDS[name].module).command
    for called, text in walk_help(command, f"claimwise {name}"):
        assert BANNED.findall(text) == [], called


def test_front_pages_use_the_words_of_the_glossary() -> None:
    assert BANNED.findall(cli.get_help(click.Context(cli))) == []
    assert BANNED.findall((ROOT / "README.md").read_text("utf-8")) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_command_says_what_it_does(name: str) -> None:
    """Each has a sentence, with a capital letter and a full stop."""
    command = import_module(COMMANDS[name].module).command
    inner = getattr(command, "commands", {"": command}).values()
    for part in inner:
        options = [one for one in part.params if isinstance(one, click.Option)]
        for text in (part.help, *(one.help for one in options)):
            first, *_ = (text or "").split("\n\n")
            assert re.fullmatch(r"[A-Z].*[.\]]", first, re.DOTALL), (part.name, text)


def test_the_glossary_is_linked() -> None:
    for page in ("README.md", "CONTRIBUTING.md", "docs/cli.md"):
        assert "glossary.md)" in (ROOT / page).read_text("utf-8"), page
