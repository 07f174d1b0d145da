"""How a command ends when it is not let: out of memory, and by an impatient Ctrl-C."""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from cli.conftest import Say
from support.faulty_server import FaultyServer
from support.waiting import wait_until

CALL = "from claimwise.cli.main import main; main()"

# Fills all memory that there is, down to the last small object, and keeps it.
HOARD = """
import claimwise.cli.main as program, click

@click.command()
def hoard():
    kept, size = [], 2**24
    while size:
        try:
            while True:
                kept.append(bytearray(size))
        except MemoryError:
            size //= 2
    small = []
    while True:
        small.append([None])

program.LazyGroup.get_command = lambda self, ctx, name: hoard
program.main(["hoard"])
"""


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))


def test_out_of_memory_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HOARD],
        capture_output=True, text=True, check=False, preexec_fn=limit_memory,
    )  # fmt: skip
    assert done.stderr == (
        "error: out of memory; nothing is half-written. Try again with less text at once.\n"
    )
    assert done.returncode == 1


# Is interrupted, and again while it says so: by then nobody is there to take the second one.
IMPATIENT = """
import claimwise.cli.main as program, click, signal, sys

class Impatient:
    def write(self, text):
        signal.raise_signal(signal.SIGINT)

    def flush(self):
        pass

@click.command()
def work():
    sys.stderr = Impatient()
    signal.raise_signal(signal.SIGINT)

program.LazyGroup.get_command = lambda self, ctx, name: work
program.main(["work"])
"""


def test_a_second_interrupt_ends_the_process_at_once() -> None:
    done = subprocess.run(
        # A shell's background jobs, and all that they start, ignore Ctrl-C.
        ["env", "--default-signal=INT", sys.executable, "-c", IMPATIENT],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def interrupt_until_it_ends(process: subprocess.Popen[str]) -> str:
    """Send Ctrl-C again and again; return what the process said."""

    def interrupt() -> bool:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        return process.returncode is not None

    wait_until(interrupt, "the process ends")
    return process.communicate()[1]


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return what starts a command; none outlives the test."""
    started = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", CALL, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()


def test_many_interrupts_end_a_judge_without_a_traceback(
    say_here: Say, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("answer.txt", "policy.md"):
        Path(name).write_text("The tower is 139 m tall.", encoding="utf-8")
    with FaultyServer(faults={"hang": 1.0}) as server:
        server.set_environment(monkeypatch)
        judge = ("--judge", "openai-compatible:m")
        process = start("check", "--answer", "answer.txt", "policy.md", *judge)
        wait_until(lambda: server.count > 0, "the judge is asked")
        told = interrupt_until_it_ends(process)
    assert "Traceback" not in told
    assert "Exception" not in told
    assert process.returncode in (130, -signal.SIGINT)


def test_many_interrupts_end_the_server_without_a_traceback(say_here: Say, start: Start) -> None:
    assert say_here("init")[0] == 0
    process = start("serve", "--port", "0")
    assert process.stderr is not None
    line = next(line for line in process.stderr if line.startswith("serving "))
    address = re.search(r"http://\S+", line)
    assert address
    httpx2.get(address[0])  # answered once it runs
    told = interrupt_until_it_ends(process)
    assert "Traceback" not in told
    assert "Exception" not in told
    assert process.returncode in (0, 130, -signal.SIGINT)
