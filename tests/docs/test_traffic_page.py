"""The page on live traffic shows what is really printed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from claimwise.cli.main import run

ROOT = Path(__file__).parents[2]
PAGE = "docs/from-traces-to-a-weekly-number.md"


def test_traffic_page_shows_real_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    shutil.copy(ROOT / "docs/examples/traffic/traces.jsonl", tmp_path)
    assert run(["init", "."]) == 0
    text = (ROOT / PAGE).read_text("utf-8")
    blocks = re.findall(r"```console\n(.+?)```", text, re.DOTALL)
    shown = [block for block in blocks if "keys create" not in block][:2]
    for part in re.split(r"^\$ ", "".join(shown), flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        capsys.readouterr()
        assert run(shlex.split(command.removeprefix("claimwise "))) == 0
        printed = capsys.readouterr()
        found = [line.rstrip() for line in (printed.out + printed.err).strip().splitlines()]
        assert found == [line.rstrip() for line in expected.strip().splitlines()], command
