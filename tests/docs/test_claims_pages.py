"""What the pages on claims and on labels from spreadsheets show is what is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from claimwise.claims.frame import claims_frame
from claimwise.cli.main import run
from claimwise.labelling.sheets import COLUMN_NAMES

DOCS = Path(__file__).parent.parent.parent / "docs"


def blocks(page: str, kind: str = "") -> list[str]:
    text = (DOCS / page).read_text("utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for name, block in found if name == kind]


def squeeze(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.fixture
def desk(own_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the demo's data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["init"]) == 0
    return tmp_path


def test_the_page_on_claims_shows_what_is_printed(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, printed = blocks("list-claims.md")[:2]
    capsys.readouterr()
    assert run(shlex.split(command)[1:]) == 0
    assert squeeze(capsys.readouterr().out) == squeeze(printed)
    page = (DOCS / "list-claims.md").read_text("utf-8")
    named = set(re.findall(r"`(\w+)`", page))
    assert set(claims_frame("claimwise.db").columns) - {"channel"} <= named


def test_the_page_on_spreadsheets_shows_what_is_printed(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "labels.csv").write_text(blocks("label-import.md", "csv")[0], encoding="utf-8")
    command, refused, taken = blocks("label-import.md")
    arguments = shlex.split(command.replace("\\\n", " "))[1:]
    capsys.readouterr()
    assert run(arguments) == 1
    assert squeeze(capsys.readouterr().err) == squeeze(refused)
    assert run([*arguments, "--skip-unmatched"]) == 0
    assert squeeze(capsys.readouterr().out) == squeeze(taken)


def test_the_page_on_spreadsheets_names_every_field() -> None:
    page = (DOCS / "label-import.md").read_text("utf-8")
    table = "\n".join(line for line in page.splitlines() if line.startswith("| `"))
    assert [field for field in COLUMN_NAMES if f"`{field}`" not in table] == []
