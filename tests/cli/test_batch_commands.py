"""``--batch-api`` as a user types it, against a real server that speaks both formats."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import claimwise
from claimwise.cli.main import run as run_command
from claimwise.llm.batch_client import BatchClient
from cli.conftest import Say
from pipeline.judged_processes import prepare
from support.batch_server import BatchServer
from support.closed_book import label_pieces
from support.faulty_server import Asked
from support.grounded_model import reply_to_request
from support.packages import install_package

BATCHES = ("--batch-api", "--price", "2,8")


def reply(asked: Asked) -> str:
    """Judge closed-book where there is no source, and with compound claims sent back."""
    if '{"id": ' not in asked.user:
        return reply_to_request(asked)
    return json.dumps(label_pieces(asked.user, lambda text: "false" if "euros" in text else "true"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    with BatchServer(reply) as started:
        started.set_environment(monkeypatch)
        yield started


@pytest.fixture
def say(say_here: Say) -> Say:
    prepare("s.db", 3)
    Path("answer.txt").write_text(
        "The tower opened in 1999 and entry costs 9 euros. It is 139 m tall.", encoding="utf-8"
    )
    lines = [
        {"question": f"How tall is tower {n}?", "answer": f"The tower is {n} m tall.",
         "contexts": ["The tower is 3 m tall."], "system": f"bot{n % 2}"}
        for n in range(4)
    ]  # fmt: skip
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    sets = Path("sets")
    sets.mkdir()
    rows = [
        {"document": f"The tower is {n} m tall.", "claim": f"The tower is {n % 3} m tall.",
         "label": int(n < 3), "group": str(n)}
        for n in range(6)
    ]  # fmt: skip
    (sets / "towers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return say_here


COMMANDS = {
    "verify": ("verify", "--run", "r", "--judge", "openai:m"),
    "factcheck": ("factcheck", "--run", "r", "--untrusted-ok", "--judge", "anthropic:m"),
    "answer": ("factcheck", "--answer", "answer.txt", "--untrusted-ok", "--judge", "openai:m"),
    "measure": ("measure", "rows.jsonl", "--judge", "anthropic:m"),
    "bench": ("bench-verifier", "sets", "--judge", "openai:m", "--resamples", "20"),
}


@pytest.mark.parametrize(
    ("name", "batches"),
    # The answer has a compound claim, which is sent back; the file has two runs.
    [("verify", 1), ("factcheck", 1), ("answer", 2), ("measure", 2), ("bench", 1)],
)
def test_each_command_prints_what_it_prints_with_single_calls(
    say: Say, server: BatchServer, name: str, batches: int
) -> None:
    shutil.copy("s.db", "direct.db")
    command = (*COMMANDS[name], "--format", "json", "--store")
    code, out, err = say(*command, "s.db", *BATCHES)
    assert (code, server.direct, len(server.batches)) == (0, [], batches)
    assert "(one by one: US$ " in err
    expected = json.loads(say(*command, "direct.db", "--price", "2,8")[1])
    assert Counter(server.paid) == Counter(asked.user for asked in server.direct)
    assert _drop_accidents(json.loads(out)) == _drop_accidents(expected)


def _drop_accidents(found: object) -> object:
    """Return a document without times, places, what is half as dear, and the order of threads."""
    if isinstance(found, dict):
        gone = {"seconds", "store", "cost", "labeled_at"}
        return {name: _drop_accidents(value) for name, value in found.items() if name not in gone}
    if isinstance(found, list):
        return sorted((_drop_accidents(one) for one in found), key=str)
    return found


def test_all_runs_of_a_file_are_under_way_before_one_is_waited_for(
    say: Say, server: BatchServer
) -> None:
    server.polls = 100
    measure = ("measure", "rows.jsonl", "--judge", "openai:m", "--store", "s.db", "--batch-api")
    code, out, err = say(*measure, "--no-wait")
    assert (code, out, len(server.batches)) == (3, "", 2)
    assert err.endswith("requests done; run the same command again to pick up the results\n")
    server.polls = 0
    code, out, _ = say(*measure)
    assert (code, len(server.batches)) == (0, 2)


def test_the_page_shows_what_is_printed(say: Say, server: BatchServer) -> None:
    server.polls = 100
    command = (*COMMANDS["verify"], "--price", "2.5,10", "--batch-api", "--store", "s.db")
    _, _, err = say(*command, "--no-wait")
    lines = err.replace(server.root, "https://api.openai.com").splitlines()
    page = (Path(claimwise.__file__).parents[2] / "docs" / "batches.md").read_text("utf-8")
    assert "\n".join(lines[1:]) in page
    server.polls = 0
    assert "no request sent, 3 replies from batches sent before" in say(*command)[2]


def test_a_plan_shows_both_prices_and_sends_nothing(say: Say, server: BatchServer) -> None:
    command = (*COMMANDS["verify"], "--store", "s.db", "--dry-run")
    plan = json.loads(say(*command, *BATCHES, "--format", "json")[1])
    assert plan["direct_cost"] == pytest.approx(2 * plan["cost"])
    assert (
        f"cost            at most US$ {plan['cost']:.4f} (one by one: US$ "
        in say(*command, *BATCHES)[1]
    )
    assert "one by one" not in say(*command, "--price", "2,8")[1]
    assert (server.seen, Path("s.db-batches").exists()) == ([], False)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ("--judge", "openrouter:m", "--batch-api", "--store", "s.db"),
            "error: openrouter does not support batches; leave out --batch-api, or use a provider "
            "that does: anthropic, azure, openai; nothing was sent\n",
        ),
        (("--judge", "openai:m", "--no-wait", "--store", "s.db"), "--no-wait needs --batch-api"),
        (("--batch-api", "--store", "s.db"), "--batch-api needs a language model"),
    ],
)
def test_what_cant_be_batched_is_one_line(
    say: Say, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], told: str
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    code, _, err = say("verify", "--run", "r", *options)
    assert code == 1
    assert told in err


OWN = """
from claimwise.plugins import BatchHttpError, Provider
class Broken:
    most_requests, most_bytes, price_share = 10, 10**6, 0.5
    def write_request(self, custom_id, body):
        raise ValueError("no idea")
ADDRESS = "{}/v1"
OWN = Provider(name="own", base_url=ADDRESS, key_needed=False, batches="openai")
BROKEN = Provider(name="broken", base_url=ADDRESS, key_needed=False, batches=Broken())
"""


def test_a_provider_of_a_package_or_of_the_project_says_how_it_takes_batches(
    say: Say, server: BatchServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    providers = {"own": "OWN", "broken": "BROKEN"}
    code = OWN.replace("{}", server.root)
    install_package(monkeypatch, tmp_path, "own-cloud", code, providers=providers)
    section = f'[llm.providers.house]\nbase_url = "{server.root}/v1"\nbatches = "openai"\n'
    Path("claimwise.toml").write_text(section, encoding="utf-8")
    verify = ("verify", "--run", "r", "--batch-api", "--store", "s.db", "--judge")
    for number, name in enumerate(("own", "house"), start=1):
        assert say(*verify, f"{name}:m")[0] == 0
        assert len(server.batches) == number
    status, _, err = say(*verify, "broken:m")
    assert (status, len(server.batches)) == (1, 2)
    assert "the provider “broken” of own-cloud 1.0 does not work: ValueError: no idea" in err


def test_without_a_store_paid_replies_would_be_lost(say: Say, server: BatchServer) -> None:
    code, _, err = say("bench-verifier", "sets", "--judge", "openai:m", "--batch-api")
    assert (code, server.seen) == (1, [])
    assert "--batch-api keeps replies in a store, and there is none here" in err


def test_ctrl_c_leaves_a_batch_submitted_and_says_how_to_come_back(
    say: Say, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.polls = 1

    def interrupt(client: BatchClient, seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(BatchClient, "_rest_until_stopped", interrupt)
    command = (*COMMANDS["verify"], "--batch-api", "--store", "s.db")
    code, _, err = say(*command)
    assert code == 130
    assert "1 batch stays submitted (3 requests); run the same command again" in err
    assert run_command(list(command)) == 0
    assert len(server.batches) == 1
