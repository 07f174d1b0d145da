"""The demo repository of docs/examples/ci through the real script, the real pytest, and git."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs/examples/ci"
BIN = Path(sys.executable).parent
IMPORTED = "eval\neval/baseline\nbuild\n"


def call(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a CI machine would: claimwise on the path, no settings but those given."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CLAIMWISE_", "GITHUB_", "PYTEST_", "COV_"))
    }
    environment |= {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **variables}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


def make_repository(folder: Path, change: str | None = None) -> Path:
    """Copy the demo repository, apply a change of it, and ask the bot every question."""
    repository = folder / "repository"
    shutil.copytree(EXAMPLE, repository)
    if change:
        done = call(repository, "git", "apply", f"changes/{change}.patch")
        assert done.returncode == 0, done.stderr
    done = call(repository, sys.executable, "bot/ask_all.py", "pr-7", "build")
    assert done.returncode == 0, done.stderr
    return repository


def decide(repository: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    settings = {
        "CLAIMWISE_IMPORT": IMPORTED,
        "CLAIMWISE_VERIFY": "baseline\npr-7",
        "CLAIMWISE_VERIFIER": "lexical",
        "CLAIMWISE_RUN": "pr-7",
    }
    return call(repository, str(ROOT / "scripts/ci-gate"), **{**settings, **variables})


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unchanged repository, which passes, with its judged store. Copy it; don't write to it."""
    repository = make_repository(tmp_path_factory.mktemp("decided"))
    done = decide(repository)
    assert done.returncode == 0, done.stdout + done.stderr
    return repository


def copy_decided(decided: Path, folder: Path) -> Path:
    """Copy it with the results that the earlier build has left."""
    assert (decided / "claimwise-out/junit.xml").exists()
    return Path(shutil.copytree(decided, folder / "repository"))


# What is imported and judged already: a build that only gates.
GATE_ONLY = {"CLAIMWISE_IMPORT": "", "CLAIMWISE_VERIFY": ""}


@pytest.mark.parametrize(
    ("change", "code", "outcome", "tests"),
    [("passing", 0, "pass", "5 passed"), ("failing", 2, "fail", "3 failed, 2 passed")],
)
def test_changes_pass_or_fail_the_build(
    tmp_path: Path, change: str, code: int, outcome: str, tests: str
) -> None:
    repository = make_repository(tmp_path, change)
    summary, told = tmp_path / "summary.md", tmp_path / "output"
    done = decide(
        repository,
        GITHUB_ACTIONS="true",
        GITHUB_STEP_SUMMARY=str(summary),
        GITHUB_OUTPUT=str(told),
    )
    assert done.returncode == code, done.stdout + done.stderr
    word = {0: "pass", 2: "failed"}[code]
    assert done.stdout.rstrip().endswith(f"claimwise: {word}")
    out = repository / "claimwise-out"
    assert told.read_text("utf-8") == f"outcome={word}\nfolder={out}\n"
    assert (out / "gates.md").read_text("utf-8") == summary.read_text("utf-8")
    found = json.loads((out / "gates.json").read_bytes())["gates"]
    gates = {decided["gate"]["name"]: decided["outcome"] for decided in found}
    assert gates == {
        "faithful": outcome,
        "abstains-when-it-should": "pass",
        "answers-when-it-can": "pass",
    }
    junit = ElementTree.fromstring((out / "junit.xml").read_bytes())
    assert len(list(junit.iter("testcase"))) == 3
    assert len(list(junit.iter("failure"))) == (outcome == "fail")
    assert ("::error" in done.stderr) == (outcome == "fail")

    without = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    done = call(repository, sys.executable, "-m", "pytest", "--claimwise", *without)
    assert done.returncode == (1 if code else 0), done.stdout
    assert tests in done.stdout
    if code:
        assert "FAILED tests/test_bot.py::test_one_answer" in done.stdout
        assert "? contradicted" in done.stdout
        assert "FAILED claimwise.toml::faithful" in done.stdout


def test_noise_is_inconclusive_and_says_how_many_more(tmp_path: Path, decided: Path) -> None:
    repository = copy_decided(decided, tmp_path)
    settings = repository / "claimwise.toml"
    settings.write_text(settings.read_text("utf-8").replace("min = 0.8", "min = 0.99"), "utf-8")
    done = decide(repository, **GATE_ONLY)
    assert done.returncode == 3
    assert "more items" in done.stdout
    assert done.stdout.rstrip().endswith("claimwise: inconclusive")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({**GATE_ONLY, "CLAIMWISE_RUN": "nonsense"}, "nonsense"),
        ({"CLAIMWISE_IMPORT": "not-there.jsonl"}, "not-there.jsonl"),
        ({"CLAIMWISE_VERIFY": "nonsense"}, "Unknown run 'nonsense'"),
        # What comes from outside is a name, and never a command or an option.
        ({**GATE_ONLY, "CLAIMWISE_RUN": "$(touch hacked)"}, "$(touch hacked)"),
        ({"CLAIMWISE_IMPORT": "--help"}, "--help"),
    ],
)
def test_what_could_not_run_is_no_pass(
    tmp_path: Path, decided: Path, variables: dict[str, str], words: str
) -> None:
    repository = copy_decided(decided, tmp_path)
    done = decide(repository, GITHUB_ACTIONS="true", **variables)
    assert done.returncode == 1
    assert words in done.stderr
    assert "claimwise: could not run" in done.stdout
    assert "::error title=claimwise::" in done.stdout
    assert not (repository / "claimwise-out/junit.xml").exists()
    assert not (repository / "hacked").exists()


def test_folder_of_results_is_told_wherever_it_is(tmp_path: Path, decided: Path) -> None:
    repository, out, told = copy_decided(decided, tmp_path), tmp_path / "out", tmp_path / "told"
    done = decide(repository, **GATE_ONLY, CLAIMWISE_OUT=str(out), GITHUB_OUTPUT=str(told))
    assert done.returncode == 0, done.stderr
    assert told.read_text("utf-8") == f"outcome=pass\nfolder={out}\n"


def test_script_works_from_elsewhere(tmp_path: Path) -> None:
    make_repository(tmp_path)
    done = call(
        tmp_path,
        str(ROOT / "scripts/ci-gate"),
        CLAIMWISE_PROJECT="repository",
        CLAIMWISE_IMPORT=IMPORTED,
        CLAIMWISE_OUT="results/gates",
    )
    # The latest run was not judged: nothing to decide by.
    assert done.returncode == 1
    assert "nothing is scored" in done.stderr
    assert (tmp_path / "repository/results/gates").is_dir()


def test_gitlab_example_runs(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, "failing")
    text = (repository / "gitlab-ci.yml").read_text("utf-8")
    script = text.partition("script:\n")[2].partition("  # 3 is")[0]
    commands = re.findall(r"^    - (.+)$", script, re.MULTILINE)
    assert commands[0].startswith("pip install")
    done = call(repository, "bash", "-ec", "\n".join(commands[1:]), RUN="mr-3")
    assert done.returncode == 2, done.stderr
    assert ElementTree.fromstring((repository / "junit.xml").read_bytes()) is not None


# The action.

ACTION = (ROOT / "action.yml").read_text("utf-8")


def test_action_takes_no_input_as_code() -> None:
    """An expression inside a script is run, whatever a pull request put into it."""
    scripts = re.findall(r"^( +)run: (\|\n(?:\1 .*\n|\n)+|.+\n)", ACTION, re.MULTILINE)
    assert len(scripts) == 3
    assert not any("${{" in script for _, script in scripts)


def test_action_uses_what_it_declares() -> None:
    declared = set(re.findall(r"^  ([a-z-]+):\n    description", ACTION, re.MULTILINE))
    used = set(re.findall(r"inputs\.([a-z-]+)", ACTION))
    assert used == declared - {"outcome", "folder"}
    for name in re.findall(r"\$GITHUB_ACTION_PATH/([\w/-]+)", ACTION):
        assert os.access(ROOT / name, os.X_OK), name
    script = (ROOT / "scripts/ci-gate").read_text("utf-8")
    for name in re.findall(r"^        (CLAIMWISE_\w+):", ACTION, re.MULTILINE):
        assert f"${{{name}" in script or f"${name}" in script, name


def test_workflow_names_known_inputs() -> None:
    text = (EXAMPLE / ".github/workflows/claimwise.yml").read_text("utf-8")
    given = re.findall(r"^          ([a-z-]+):", text, re.MULTILINE)
    assert given
    assert all(f"\n  {name}:\n" in ACTION for name in given)


# The comment on the pull request.


class GitHub(HTTPServer):
    """A server with the comments of one pull request."""

    def __init__(self, *, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = status
        self.comments: dict[int, str] = {n: f"comment {n}" for n in range(1, 131)}
        self.tokens: set[str | None] = set()


class _Handler(BaseHTTPRequestHandler):
    server: GitHub

    def do_GET(self) -> None:
        page = int(self.path.rpartition("=")[2])
        ids = sorted(self.server.comments)[100 * (page - 1) : 100 * page]
        self._reply([{"id": n, "body": self.server.comments[n]} for n in ids])

    def do_POST(self) -> None:
        assert self.path == "/repos/me/bot/issues/7/comments"
        self._write(max(self.server.comments) + 1)

    def do_PATCH(self) -> None:
        self._write(int(self.path.rpartition("/")[2]))

    def _write(self, number: int) -> None:
        length = int(self.headers["Content-Length"])
        body = json.loads(self.rfile.read(length))["body"]
        if self.server.status == 200:
            self.server.comments[number] = body
        self._reply({})

    def _reply(self, document: Any) -> None:
        self.server.tokens.add(self.headers["Authorization"])
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def github(request: pytest.FixtureRequest) -> Iterator[GitHub]:
    server = GitHub(status=getattr(request, "param", 200))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def comment(folder: Path, server: GitHub, name: str = "gates.md") -> str:
    done = call(
        folder,
        sys.executable,
        str(ROOT / "scripts/ci-comment"),
        name,
        GITHUB_API_URL=f"http://127.0.0.1:{server.server_port}",
        GITHUB_REPOSITORY="me/bot",
        GITHUB_TOKEN="secret",
        PULL_REQUEST="7",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_comment_is_written_once_and_renewed(tmp_path: Path, github: GitHub) -> None:
    for text in ("one", "two ✓", "x" * 70_000):
        (tmp_path / "gates.md").write_text(text, encoding="utf-8")
        assert comment(tmp_path, github) == ""
        assert len(github.comments) == 131
        assert github.comments[131].startswith(f"<!-- claimwise gates -->\n{text[:60_000]}")
        assert len(github.comments[131]) < 65_536
    assert github.tokens == {"Bearer secret"}
    assert github.comments[1] == "comment 1"


@pytest.mark.parametrize("github", [403], indirect=True)
def test_comment_that_may_not_be_written_breaks_nothing(tmp_path: Path, github: GitHub) -> None:
    (tmp_path / "gates.md").write_text("one", encoding="utf-8")
    told = comment(tmp_path, github)
    assert told.startswith("::warning title=claimwise::the comment could not be written: HTTP")
    assert "secret" not in told


def test_no_result_is_no_comment(tmp_path: Path, github: GitHub) -> None:
    assert "not there; no comment was written" in comment(tmp_path, github)
    assert len(github.comments) == 130
