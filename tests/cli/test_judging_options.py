"""What commands with a judge share: options, the plan, the progress line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from claimwise.command import progress as progress_module
from claimwise.command.judge import JudgeOptions, find_batch_folder, judge_options, plan_calls
from claimwise.command.progress import describe_progress, show_progress
from claimwise.config import Project
from claimwise.llm.client import open_client
from claimwise.types.llm import LlmCall, LlmReply, Price
from claimwise.types.progress import JudgeProgress
from support.clock import FakeClock


class Kept:
    """A cache that holds the replies to some calls."""

    def __init__(self, *users: str) -> None:
        self.users = users
        self.asked: list[str] = []

    def get(self, key: str) -> LlmReply | None:
        self.asked.append(key)
        return LlmReply(text="{}") if len(self.asked) <= len(self.users) else None

    def put(self, key: str, call: LlmCall, reply: LlmReply) -> None:
        raise AssertionError("a plan stores nothing")

    def drop(self, key: str) -> None:
        raise AssertionError("a plan drops nothing")


def make_call(user: str) -> LlmCall:
    return LlmCall(model="vllm:m", prompt="p@1", system="s", user=user, max_tokens=100)


def run(*arguments: str, required: bool = False, repeats: bool = True) -> tuple[int, str]:
    @click.command()
    @judge_options(required=required, repeats=repeats)
    def command(judging: JudgeOptions) -> None:
        click.echo(f"{judging.judge} {judging.repeats} {judging.price} {judging.prompt_place!r}")

    result = CliRunner().invoke(command, list(arguments))
    return result.exit_code, result.output


def test_options_arrive_together() -> None:
    assert run("--judge", "a:b", "--repeats", "3", "--price", "1,2") == (0, "a:b 3 1,2 None\n")
    assert run("--judge", "a:b", "--prompt", "closed-book@1")[1].endswith("'closed-book@1'\n")
    assert run("--judge", "a:b", "--prompt", __file__)[1].endswith(f"Path('{__file__}')\n".lstrip())
    assert run() == (0, "None 1 None None\n")


def test_without_repeats_there_is_no_such_option() -> None:
    assert run("--judge", "a:b", repeats=False)[0] == 0
    code, output = run("--judge", "a:b", "--repeats", "2", repeats=False)
    assert code == 2
    assert "No such option" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dry-run"], "--dry-run needs a language model: name one with --judge"),
        (["--max-cost", "1"], "--max-cost needs a language model"),
        (["--repeats", "2"], "--repeats needs a language model"),
        (["--judge", "a:b", "--repeats", "0"], "--repeats"),
        (["--judge", "a:b", "--max-cost", "0"], "--max-cost"),
        (["--judge", "a:b", "--max-cost", "nan"], "nan is not a finite number"),
        (["--judge", "a:b", "--max-cost", "inf"], "inf is not a finite number"),
        (["--judge", "a:b", "--timeout", "-1"], "--timeout"),
        (["--judge", "a:b", "--timeout", "inf"], "--timeout"),
        (["--judge", "a:b", "--timeout", "nan"], "--timeout"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments: list[str], message: str) -> None:
    code, output = run(*arguments)
    assert code == 2
    assert message in output


def test_a_plan_counts_what_the_cache_does_not_have() -> None:
    calls = [make_call("x" * 300), make_call("y" * 300)]
    price = Price(input=1.0, output=10.0)
    with open_client("vllm:m", cache=Kept("x"), price=price, sending=False) as client:
        plan = plan_calls(calls, client, repeats=2)
    assert (plan.calls, plan.cached) == (4, 1)
    assert plan.output_tokens == 300
    assert plan.input_tokens > 300
    assert plan.cost == pytest.approx((plan.input_tokens + 10 * 300) / 1e6)


def test_progress_tells_rate_cost_and_unscored(capsys: pytest.CaptureFixture[str]) -> None:
    progress = JudgeProgress(total=10, done=4, unscored=2)
    with open_client("vllm:m", sending=False) as client:
        assert describe_progress(progress, 2.0, client) == "2.0/s US$ 0.0000 2 unscored"
        waiting = replace(progress, note="batch b1: 3 of 10 requests done")
        told = "US$ 0.0000 batch b1: 3 of 10 requests done"
        assert describe_progress(waiting, 2.0, client) == told
        with show_progress(client=client) as watch:
            watch(progress)
    assert capsys.readouterr().err == ""  # not a terminal: nothing


def test_on_a_terminal_the_progress_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with open_client("vllm:m", sending=False) as client, show_progress(client=client) as watch:
        watch(JudgeProgress(total=10, done=4, unscored=2))
    told = capsys.readouterr().err
    assert "4/10" in told
    assert "2 unscored" in told


def test_progress_of_a_patient_command_appears_when_the_work_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    monkeypatch.setattr(progress_module, "time", clock)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with show_progress(after=2.0) as watch:
        watch(JudgeProgress(total=10, done=4))
    assert capsys.readouterr().err.strip() == ""
    with show_progress(after=2.0) as watch:
        watch(JudgeProgress(total=10, done=4))
        clock.advance(2.0)
        watch(JudgeProgress(total=10, done=5))
    assert "5/10" in capsys.readouterr().err


def test_the_folder_of_batches_shows_no_password(tmp_path: Path) -> None:
    project = Project(tmp_path)
    place = "postgresql://me:secret@db.example/claims"
    folder = find_batch_folder(place, project)
    assert folder.parent == tmp_path / ".claimwise-batches"
    assert "secret" not in str(folder)
    assert folder != find_batch_folder(f"{place}?schema=other", project)
    assert find_batch_folder("a/store.db", project) == Path("a/store.db-batches")
