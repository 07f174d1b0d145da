"""The pages on incidents and CI show what is really printed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.demo import write_demo

ROOT = Path(__file__).parents[2]
DAY = re.compile(r"\d{4}-\d\d-\d\d")


def console_blocks(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.findall(r"```console\n(.+?)```", text, re.DOTALL)


def strip_lines(text: str) -> list[str]:
    return [DAY.sub("DAY", line.rstrip()) for line in text.strip().splitlines()]


def test_incidents_page_shows_real_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs/incidents.md").read_text("utf-8")
    write_demo(tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    gates = re.findall(r"```toml\n(.+?)```", page, re.DOTALL)[0]
    with Path("claimwise.toml").open("a", encoding="utf-8") as settings:
        settings.write(f"\n{gates}")
    trace, spans = re.findall(r"```json\n(.+?)```", page, re.DOTALL)
    Path("trace.json").write_text(trace, encoding="utf-8")
    Path("gold_spans.jsonl").write_text(spans, encoding="utf-8")
    blocks = console_blocks("incidents.md")
    assert len(blocks) == 4
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            capsys.readouterr()
            code = run(shlex.split(command.removeprefix("claimwise ")))
            printed = capsys.readouterr()
            assert strip_lines(printed.out + printed.err) == strip_lines(shown), command
            assert code == (1 if shown.startswith("error") else 0)


def test_ci_page_shows_real_outputs(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs/examples/ci", tmp_path / "ci")
    [block] = console_blocks("ci.md")
    commands = re.findall(r"^\$ (.+)$", block, re.MULTILINE)
    shown = [line for line in block.splitlines() if line[:1] not in ("$", "…")]
    script = "\n".join(commands).replace("scripts/ci-gate", str(ROOT / "scripts/ci-gate"))
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CLAIMWISE_", "GITHUB_"))
    }
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment |= {"COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path / "ci", env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    printed = strip_lines(done.stdout)
    assert [line for line in map(str.rstrip, shown) if line not in printed] == []
    assert printed[-2:] == ["claimwise: failed", "2"]
