"""``claimwise serve``, ``annotate`` and ``accounts``, as processes and as commands."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from claimwise.accounts.queries import list_accounts, read_invite
from claimwise.app.server import ServeOptions, _count_proxies, bind_socket, serve_app
from claimwise.cli.main import cli, run
from claimwise.config import Project
from claimwise.errors import ClaimwiseError, MissingExtraError
from claimwise.labelling.rounds import list_rounds
from claimwise.store import open_store
from support.app_server import utc_now
from support.waiting import DEADLINE

COMMAND = [sys.executable, "-c", "from claimwise.cli.main import main; main()"]


@pytest.fixture
def place(own_demo: Path) -> str:
    return str(own_demo)


def start(place: str, *arguments: str) -> tuple[subprocess.Popen[str], list[str]]:
    """Start a server over a store; return it and what it said until it serves."""
    return start_in(Path(place).parent, *arguments, "--store", place)


def start_in(folder: Path, *arguments: str) -> tuple[subprocess.Popen[str], list[str]]:
    """Start a server as a shell's background job; return it and what it said until it serves."""
    process = subprocess.Popen(
        ["env", "--ignore-signal=INT", *COMMAND, *arguments, "--port", "0"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line.rstrip())
        if line.startswith("serving "):
            return process, lines
    raise AssertionError("\n".join(lines))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_start_prints_a_link_and_a_signal_ends_it(place: str, number: int) -> None:
    process, lines = start(place, "serve")
    setup = re.search(r"(http://127\.0\.0\.1:\d+/setup/\S+)", lines[0])
    assert setup
    with httpx2.Client(timeout=DEADLINE) as web:
        page = web.get(setup[1])
        assert page.status_code == 200
        token = re.search(r'name="csrf" value="([^"]+)"', page.text)
        assert token
        fields = {"csrf": token[1], "name": "root"}
        words = {"password": "four plain words", "again": "four plain words"}
        assert web.post(setup[1], data=fields | words).status_code == 303
    process.send_signal(number)
    assert process.stderr is not None
    rest = process.stderr.read().splitlines()
    assert process.wait(DEADLINE) == 0
    assert rest == ["stopped"], "no traceback"
    again, lines = start(place, "serve")
    again.send_signal(signal.SIGINT)
    assert again.wait(DEADLINE) == 0
    assert again.stderr is not None
    again.stderr.close()
    process.stderr.close()
    assert len(lines) == 1, "with an admin there is no setup link"


def test_the_demo_is_served(judged_demo: Path, tmp_path: Path) -> None:
    shutil.copytree(judged_demo, tmp_path / "demo")
    process, lines = start_in(tmp_path, "demo", "demo", "--serve")
    address = re.search(r"serving .* at (http://127\.0\.0\.1:\d+)", lines[-1])
    assert address
    assert httpx2.get(address[1], follow_redirects=True, timeout=DEADLINE).status_code == 200
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert process.stderr.read().splitlines() == ["stopped"]
    assert process.wait(DEADLINE) == 0
    process.stderr.close()


def test_annotate_makes_one_round_and_prints_where_to_label(place: str) -> None:
    for made in (True, False):
        process, lines = start(place, "annotate", "--run", "baseline", "--size", "5")
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(DEADLINE) == 0
        assert process.stderr is not None
        process.stderr.close()
        with open_store(place) as store:
            (one,) = list_rounds(store)
        assert f"/label/{one.round_id} " in lines[-1]
        assert any("created the round" in line for line in lines) == made


def test_an_unknown_run_is_one_line(place: str) -> None:
    done = subprocess.run(
        [*COMMAND, "annotate", "--run", "nope", "--store", place],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_taken_port_is_one_line(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["serve", "--port", str(port), "--store", place]) == 1
    told = capsys.readouterr().err
    assert told == f"error: 127.0.0.1:{port}: already in use; choose another --port\n"


def test_an_address_that_is_not_ours_is_one_line() -> None:
    with pytest.raises(ClaimwiseError, match=r"192\.0\.2\.1:8700: can't be used"):
        bind_socket(ServeOptions(host="192.0.2.1"))


def test_no_store_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none.db")
    assert run(["serve", "--port", "0", "--store", missing]) == 1
    assert "no store there" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "claimwise.app.connections", raising=False)
    with pytest.raises(MissingExtraError, match=r"claimwise\[web\]"):
        serve_app(Project(Path()), place, ServeOptions(port=0), print)


def test_binding_beyond_this_machine_is_warned_of(place: str) -> None:
    process, lines = start(place, "serve", "--host", "0.0.0.0")
    process.send_signal(signal.SIGINT)
    process.wait(DEADLINE)
    assert process.stderr is not None
    process.stderr.close()
    assert lines[0].startswith("warning: 0.0.0.0 can be reached from other machines")


@pytest.mark.parametrize(
    ("arguments", "warned"),
    [(("--host", "0.0.0.0"), True), (("--host", "::", "--proxies", "2"), True), ((), False)],
)
def test_a_way_around_the_proxy_is_warned_of(
    place: str, arguments: tuple[str, ...], warned: bool
) -> None:
    process, lines = start(
        place, "serve", "--behind-https", "--host-name", "claims.example", *arguments
    )
    process.send_signal(signal.SIGINT)
    process.wait(DEADLINE)
    assert process.stderr is not None
    process.stderr.close()
    assert any("without going through your proxy" in line for line in lines) == warned
    assert "https://claims.example/" in lines[-1]


def test_one_proxy_is_believed_behind_https_and_none_without() -> None:
    counts = [
        _count_proxies(ServeOptions(behind_https=behind_https, proxies=proxies))
        for behind_https in (False, True)
        for proxies in (None, 0, 3)
    ]
    assert counts == [0, 0, 3, 1, 0, 3]


def test_accounts_from_the_command_line(place: str) -> None:
    def call(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["accounts", *arguments, "--store", place])
        assert done.exit_code == 0, done.output
        return done.output

    assert "no accounts yet" in call("list")
    link = call("invite", "--role", "adjudicator", "--address", "https://claims.example/").strip()
    assert link.startswith("https://claims.example/invite/")
    with open_store(place) as store:
        invite = read_invite(store, link.rpartition("/")[2], utc_now())
        assert invite is not None
        assert (invite.role, invite.account) == ("adjudicator", None)
        from claimwise.accounts.queries import create_account

        create_account(store, "root", "admin", "four plain words", utc_now())
        create_account(store, "anna", "labeler", "four plain words", utc_now())
    assert '"role": "labeler"' in call("list", "--format", "json")
    call("invite", "--name", "ana")
    assert "ana " in call("list"), "whose labels were imported with the demo"
    for hours in ("0", "721"):
        assert run(["accounts", "invite", "--hours", hours, "--store", place]) == 1
    reset = call("reset", "anna").strip().rpartition("/")[2]
    assert "anna is disabled" in call("disable", "anna")
    assert "disabled" in call("list")
    with open_store(place) as store:
        assert read_invite(store, reset, utc_now()) is None, "disabling ends her links"
        assert [one.account for one in list_accounts(store) if one.disabled_at] == ["anna"]
    assert run(["accounts", "disable", "root", "--store", place]) == 1
    assert run(["accounts", "reset", "nobody", "--store", place]) == 1
