"""Commands that print an interval point out items that share documents, and stop when told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from claimwise.cli.main import run

HINT = "hint: 79 of 84 items share a document with others"


@pytest.fixture(scope="module")
def project(judged_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(judged_demo, tmp_path_factory.mktemp("shared") / "demo"))
    with (folder / "claimwise.toml").open("a", encoding="utf-8") as file:
        file.write('\n[[gates]]\nmetric = "faithfulness"\nmin = 0.5\n')
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ["metrics", "--metric", "faithfulness"],
        ["report"],
        ["compare", "baseline", "candidate", "--metric", "faithfulness"],
        ["drift", "baseline", "candidate"],
        ["gate"],
        ["agreement"],
        ["calibrate", "--verifier", "embedded", "--dry-run"],
    ],
    ids=lambda command: command[0],
)
def test_shared_documents_are_pointed_out(
    command: list[str],
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    monkeypatch.chdir(project)
    run(command)
    assert HINT.replace("79", "78" if "baseline" in command else "79") in capsys.readouterr().err
    run([*command, "--cluster", "document"])
    captured = capsys.readouterr()
    assert "hint: " not in captured.err
    assert "error" not in captured.err
    assert captured.out
