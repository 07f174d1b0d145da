"""Who allows a project's file to send prompts and keys to a host, as a user meets it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Say
from support.faulty_server import FaultyServer
from support.grounded_model import reply_to_request

KEY = "sk-proj-Very_Secret-0123456789"
CHECK = ("check", "--answer", "answer.txt", "policy.md", "--judge", "openai:m")


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer(reply_to_request) as started:
        yield started


@pytest.fixture
def say(
    say_here: Say, server: FaultyServer, user_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Say:
    """Commands in a project whose file sends OpenAI's key to a server of its own."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for name in ("answer.txt", "policy.md"):
        Path(name).write_text("The tower is 139 m tall.", encoding="utf-8")
    write_project(server.url)
    return say_here


def write_project(base_url: str, more: str = "") -> None:
    settings = f'[llm.providers.openai]\nbase_url = "{base_url}"\n{more}\n'
    Path("claimwise.toml").write_text(settings, encoding="utf-8")


def test_without_a_terminal_the_error_names_the_flag(say: Say, server: FaultyServer) -> None:
    code, out, err = say(*CHECK)
    assert (code, out, server.count) == (1, "", 0)
    assert err == (
        f"error: {Path.cwd() / 'claimwise.toml'} would send the prompts and the key OPENAI_API_KEY "
        f"to {server.root}, which you have not allowed; if you trust this host, add --allow-host "
        f"{server.root}, or say yes once in a terminal; nothing was sent\n"
    )


def test_the_flag_allows_a_host_and_the_address_is_named(
    say: Say, server: FaultyServer, user_folder: Path
) -> None:
    code, _, err = say(*CHECK, "--allow-host", server.root)
    assert (code, server.count) == (0, 1)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert err.startswith(
        f"sending the prompts and the key OPENAI_API_KEY to {server.root}, the address that "
        "claimwise.toml names\n"
    )
    assert not user_folder.exists()  # for this command alone


@pytest.mark.parametrize("host", ["https://other.example", "127.0.0.1", "http://127.0.0.1:1"])
def test_the_flag_allows_no_other_host(say: Say, server: FaultyServer, host: str) -> None:
    code, _, err = say(*CHECK, "--allow-host", host)
    assert (code, server.count) == (1, 0)
    assert f"--allow-host {server.root}" in err


@pytest.mark.parametrize("host", ["https://h:99999", "ftp://h", "a b", "", "https://", "faß.de"])
def test_what_is_no_host_is_refused(say: Say, server: FaultyServer, host: str) -> None:
    code, _, err = say(*CHECK, "--allow-host", host)
    assert (code, server.count) == (1, 0)
    assert "Invalid value for '--allow-host'" in err
    assert "as https://models.example.com" in err


def test_a_dry_run_needs_no_word(say: Say, server: FaultyServer) -> None:
    code, out, err = say(*CHECK, "--dry-run")
    assert (code, err, server.count) == (0, "nothing was sent\n", 0)
    assert "calls" in out


def test_an_address_of_the_users_environment_is_their_word(
    say: Say, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project("https://evil.example")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    code, _, err = say(*CHECK)
    assert (code, server.count) == (0, 1)
    assert f"to {server.root}, the address that OPENAI_BASE_URL names\n" in err


def test_no_variable_but_a_key_leaves_the_machine(say: Say, server: FaultyServer) -> None:
    write_project(server.url, 'key_env = "AWS_SECRET_ACCESS_KEY"')
    code, _, err = say(*CHECK, "--allow-host", server.root)
    assert (code, server.count) == (1, 0)
    assert "names the key variable AWS_SECRET_ACCESS_KEY, which no known provider uses" in err
    assert "CLAIMWISE_KEY_VARIABLES=AWS_SECRET_ACCESS_KEY" in err


def answer_in_terminal(*arguments: str, answer: str | None = None) -> tuple[int, str]:
    """Run a command with a terminal for input and errors; return its exit code and the latter."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", "from claimwise.cli.main import main; main()", *arguments],
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        )
        os.close(theirs)
        if answer is not None:
            os.write(ours, f"{answer}\n".encode())  # waits in the terminal until it is asked for
        shown = _read_all(ours)
        return process.wait(), shown
    finally:
        os.close(ours)


def _read_all(terminal: int) -> str:
    shown = b""
    while True:
        try:
            more = os.read(terminal, 65_536)
        except OSError:  # how Linux says that the other end is closed
            more = b""
        if not more:
            return shown.decode()
        shown += more


def test_in_a_terminal_the_user_is_asked_once(
    say: Say, server: FaultyServer, user_folder: Path
) -> None:
    code, shown = answer_in_terminal(*CHECK, answer="y")
    assert (code, server.count) == (0, 1)
    assert (
        f"Send the prompts and the key OPENAI_API_KEY to {server.root}, as "
        f"{Path.cwd() / 'claimwise.toml'} says? A yes is kept for this project [y/N]"
    ) in shown
    assert len(list((user_folder / "allowed-hosts").iterdir())) == 1
    code, shown = answer_in_terminal(*CHECK)
    assert (code, server.count) == (0, 2)
    assert "[y/N]" not in shown
    assert f"sending the prompts and the key OPENAI_API_KEY to {server.root}" in shown
    code, _, _ = say(*CHECK)  # nor is a terminal needed any more
    assert (code, server.count) == (0, 3)


@pytest.mark.parametrize("answer", ["n", ""])
def test_a_no_sends_nothing_and_is_not_kept(
    say: Say, server: FaultyServer, user_folder: Path, answer: str
) -> None:
    code, shown = answer_in_terminal(*CHECK, answer=answer)
    assert (code, server.count) == (1, 0)
    assert f"{server.root} is not allowed; nothing was sent" in shown
    assert not user_folder.exists()


def test_another_key_is_asked_for_again(
    say: Say, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer_in_terminal(*CHECK, answer="y")[0] == 0
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    write_project(server.url, 'key_env = "ANTHROPIC_API_KEY"')
    code, _, err = say(*CHECK)
    assert (code, server.count) == (1, 1)
    assert "the key ANTHROPIC_API_KEY" in err


def test_a_word_that_can_not_be_kept_holds_for_the_command(
    say: Say, server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAIMWISE_USER_FOLDER", str(tmp_path / "answer.txt" / "below"))
    code, shown = answer_in_terminal(*CHECK, answer="y")
    assert (code, server.count) == (0, 1)
    assert "warning: your answer could not be kept" in shown
