"""Output to terminals and pipes that can't show every character."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.command.encoding import prepare_streams

SOURCE = "The tower is “139 m” tall — and open daily. 塔高139米。😀"


def run_encoded(monkeypatch: pytest.MonkeyPatch, encoding: str, *arguments: str) -> str:
    """Run a command whose output is in an encoding; return what was written, decoded."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    prepare_streams()
    assert run(list(arguments)) == 0
    sys.stdout.flush()
    return written.getvalue().decode("utf-8" if encoding == "ascii" else encoding)


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_nothing_crashes_where_a_character_can_not_be_written(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(SOURCE, encoding="utf-8")
    command = ("check", "--answer", "a.txt", "--source", "a.txt", "--verifier", "lexical")
    assert "139 m" in run_encoded(monkeypatch, encoding, *command)
    found = json.loads(run_encoded(monkeypatch, encoding, *command, "--format", "json"))
    # JSON loses nothing: what can't be written is escaped.
    assert found["answer"] == SOURCE
