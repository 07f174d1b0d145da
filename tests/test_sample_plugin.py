"""The sample plug-in, installed by pip and used from outside: no file of ours knows of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "examples/claimwise-sample-plugin"
ANSWER = "The tower is 139 m tall. It is green."

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package into a folder, without a network."""
    folder = tmp_path_factory.mktemp("installed")
    copy = tmp_path_factory.mktemp("source") / "package"
    shutil.copytree(SAMPLE, copy)
    options = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--no-compile"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def call(target: Path, tmp_path: Path) -> Call:
    """Call a module in another process that finds the package."""
    environ = {**os.environ, "PYTHONPATH": str(target)}
    environ.pop("CLAIMWISE_STORE", None)

    def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        code = "import sys; from claimwise.cli.main import main; main(sys.argv[1:])"
        first = ["-c", code] if module == "claimwise" else ["-m", module]
        return subprocess.run(
            [sys.executable, *first, *arguments],
            capture_output=True, text=True, check=False, cwd=tmp_path, env=environ,
        )  # fmt: skip

    (tmp_path / "a.txt").write_text(ANSWER, encoding="utf-8")
    (tmp_path / "s.txt").write_text("The tower is 139 m tall.", encoding="utf-8")
    return run


def test_its_own_tests_pass(call: Call, tmp_path: Path) -> None:
    shutil.copytree(SAMPLE / "tests", tmp_path / "tests")
    done = call("pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


def test_plugins_lists_it(call: Call) -> None:
    done = call("claimwise", "plugins", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = {
        (one["group"], one["name"]): one
        for one in json.loads(done.stdout)["plugins"]
        if one["package"] == "claimwise-sample-plugin"
    }
    assert set(found) == {
        ("judges", "all-words"),
        ("readers", "chatlog"),
        ("providers", "sample-cloud"),
        ("metrics", "sample"),
    }
    assert {one["version"] for one in found.values()} == {"1.0"}
    assert found["judges", "all-words"]["available"]
    assert found["providers", "sample-cloud"]["missing"] == "set SAMPLE_CLOUD_API_KEY"
    assert found["metrics", "sample"]["brings"] == ["short_claims"]


def test_the_judge_checks_and_verifies(call: Call, tmp_path: Path, written_demo: Path) -> None:
    done = call(
        "claimwise", "check", "--answer", "a.txt", "--source", "s.txt", "--judge", "all-words"
    )
    assert done.returncode == 0, done.stderr
    assert "judged by verifier:all-words-1" in done.stdout
    place = str(shutil.copy(written_demo / "claimwise.db", tmp_path))
    named = ("--store", place, "--run", "baseline", "--judge", "all-words", "--jobs", "2")
    done = call("claimwise", "verify", *named)
    assert done.returncode == 0, done.stderr
    assert re.search(r"by verifier:all-words-1, agrees with people on \d\d%", done.stdout)
    done = call("claimwise", "metrics", "--store", place, "--run", "baseline",
                "--metric", "short_claims", "--format", "json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"short_claims"' in done.stdout


def test_the_reader_reads(call: Call, tmp_path: Path, written_demo: Path) -> None:
    place = str(shutil.copy(written_demo / "claimwise.db", tmp_path))
    shutil.copy(SAMPLE / "tests/sample.chatlog", tmp_path / "chats.txt")
    done = call("claimwise", "promote", "chats.txt", "--store", place, "--as", "refund-window",
                "--trace-id", "t1", "--answerable", "--wrong", "60 days")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "new item refund-window" in done.stdout


def test_the_provider_is_asked_at_its_own_address(call: Call) -> None:
    done = call("claimwise", "check", "--answer", "a.txt", "--source", "s.txt",
                "--judge", "sample-cloud:m")  # fmt: skip
    assert done.returncode == 1
    assert "sample-cloud needs a key: set the environment variable SAMPLE_CLOUD" in done.stderr


def test_importing_claimwise_does_not_load_it(call: Call, tmp_path: Path) -> None:
    (tmp_path / "try.py").write_text(
        "import claimwise, sys\n"
        "claimwise.check('The tower is 139 m tall.', ['It is.'], verifier='lexical')\n"
        "print([name for name in sys.modules if 'sample' in name])\n",
        encoding="utf-8",
    )
    done = call("try")
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
