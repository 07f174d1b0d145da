"""Commands as a user types them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from claimwise.cli.main import run

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say_here(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Say:
    """Run commands in an empty folder, outside of any project: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
