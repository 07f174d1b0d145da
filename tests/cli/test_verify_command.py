"""``claimwise verify`` as a user types it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.errors import ClaimwiseError
from claimwise.judges.judge import Verifier
from pipeline.instruments import ExactVerifier

Say = Callable[..., tuple[int, str, str]]


def find(name: str) -> Verifier:
    if name != "auto":
        raise ClaimwiseError(f"found no verifier {name!r}, expected exact")
    return ExactVerifier(agreement="kappa 0.4 on 12 claims")


@pytest.fixture
def demo(
    capsys: pytest.CaptureFixture[str],
    judged_demo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Say:
    """Run commands inside the demo project, judged by the exact verifier."""
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    monkeypatch.setattr("claimwise.checking.run.load_verifier", find)
    shutil.copytree(judged_demo, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_counts_and_the_way_on(demo: Say) -> None:
    code, out, err = demo("verify", "--run", "baseline")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("judged ")
    assert lines[0].endswith(" claims/s)")
    assert "the run baseline by verifier:exact-1, kappa 0.4 on 12 claims:" in lines
    assert any(line.split()[0] == "supported" for line in lines)
    assert err.endswith("next: claimwise report --run baseline\n")
    assert "\x1b" not in err


def test_latest_run_is_the_default(demo: Say) -> None:
    code, _, err = demo("verify")
    assert code == 0
    assert err.startswith("Using latest run candidate (change with --run)\n")


def test_json_and_resuming(demo: Say) -> None:
    first = json.loads(demo("verify", "--run", "baseline", "--format", "json")[1])
    assert first["labeler"] == "verifier:exact-1"
    assert first["judged"] == sum(first["verdicts"].values()) > 100
    skipped = first["failed"] + first["abstained"] + first["without_claims"]
    assert first["abstained"] > 5
    assert first["bases"] == {"contexts": first["answers"] - skipped}
    second = json.loads(demo("verify", "--run", "baseline", "--format", "json")[1])
    assert (second["judged"], second["split"]) == (0, 0)
    assert second["verdicts"] == first["verdicts"]
    again = json.loads(demo("verify", "--run", "baseline", "--again", "--format", "json")[1])
    assert again["judged"] == first["judged"]


def test_labels_reach_the_report(demo: Say) -> None:
    demo("verify", "--run", "baseline")
    code, out, _ = demo(
        "metrics", "--run", "baseline", "--metric", "faithfulness", "--by", "", "--format", "json",
        "--labels", "labeler:verifier:exact-1",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["rows"][0]["scored"] > 100
    assert demo("doctor")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "nope"], "Unknown run 'nope'"),
        (["--verifier", "nope"], "found no verifier 'nope'"),
        (["--jobs", "0"], "--jobs"),
        (["--store", "nope.db"], "nope.db: no store there"),
    ],
)
def test_errors_are_one_line(demo: Say, arguments: list[str], message: str) -> None:
    code, out, err = demo("verify", *arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert "Traceback" not in err


def test_run_without_answers_is_one_line(demo: Say) -> None:
    line = {"run_id": "new", "system": "s", "corpus_ver": "2026-09",
            "started_at": "2026-11-01T00:00:00Z"}  # fmt: skip
    Path("runs-new.jsonl").write_text(json.dumps(line), encoding="utf-8")
    assert demo("import", "runs-new.jsonl")[0] == 0
    code, _, err = demo("verify", "--run", "new")
    assert code == 1
    assert "run 'new' has no answers; import them first" in err


_TERMINAL = """
import os, pty, sys
sys.path.insert(0, {tests!r})
import claimwise.checking.run as verifying
from pipeline.instruments import ExactVerifier
verifying.load_verifier = lambda name: ExactVerifier(effort=1000)
from claimwise.cli.main import main
main(["verify", "--run", "baseline"])
"""


def test_progress_bar_on_a_terminal(demo: Say, tmp_path: Path) -> None:
    """On standard error alone, and gone when it is done."""
    pty = pytest.importorskip("pty")
    import os

    leader, follower = pty.openpty()
    tests = str(Path(__file__).parent.parent)
    process = subprocess.Popen(
        [sys.executable, "-c", _TERMINAL.format(tests=tests)],
        stdout=subprocess.PIPE, stderr=follower, cwd=tmp_path / "demo",
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(follower)
    seen = b""
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(leader)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert b"answers" in seen
    assert b"unscored" in seen
    assert out.startswith(b"judged ")
    assert b"\x1b" not in out
