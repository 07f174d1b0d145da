"""``claimwise measure --judge``: a language model reads the contexts, or judges from memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import claimwise
from claimwise.cli.main import run
from claimwise.measuring.records import write_records
from support.closed_book import label_pieces
from support.faulty_server import Asked, FaultyServer
from support.grounded_model import reply_to_request

MODEL = "openai-compatible:m"
ROWS = [
    {"question": "How tall?", "answer": "The tower is 139 m tall.",
     "contexts": ["The tower is 139 m tall."]},
    {"question": "How much?", "answer": "Entry costs 9 euros.",
     "contexts": ["Entry costs 5 euros."]},
    {"question": "Cats?", "answer": "Cats may come in.", "contexts": []},
]  # fmt: skip
BARE = [{"question": one["question"], "answer": one["answer"]} for one in ROWS]


def reply(asked: Asked) -> str:
    """Answer as either prompt asks."""
    if '{"id": ' in asked.user:
        told = label_pieces(asked.user, lambda text: "false" if "9 euros" in text else "true")
        return json.dumps({**told, "summary_basis": "known"})
    return reply_to_request(asked)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    with FaultyServer(reply) as started:
        started.set_environment(monkeypatch)
        yield started


def measure(capsys: pytest.CaptureFixture[str], path: Path) -> tuple[int, dict[str, object], str]:
    capsys.readouterr()
    code = run(["measure", str(path), "--judge", MODEL, "--format", "json"])
    said = capsys.readouterr()
    return code, json.loads(said.out), said.err


def test_model_reads_the_contexts_and_is_paid_once(
    server: FaultyServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write_records(ROWS, tmp_path / "rows.jsonl")
    code, found, err = measure(capsys, path)
    assert code == 0
    headline = found["headline"]
    assert isinstance(headline, dict)
    assert (headline["rate"], headline["unscored"]) == (0.5, 1)
    assert headline["judgement"] == "grounded"
    assert server.count == 2
    assert "2 requests sent" in err
    again = measure(capsys, path)
    assert again[1] == found
    assert server.count == 2


def test_model_judges_from_memory_where_no_answer_has_contexts(
    server: FaultyServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, found, err = measure(capsys, write_records(BARE, tmp_path / "rows.jsonl"))
    assert code == 0, err
    headline = found["headline"]
    assert isinstance(headline, dict)
    assert headline["judgement"] == "closed_book"
    assert headline["rate"] == pytest.approx(2 / 3)
    assert "has not been tested on made-up facts" in err


def test_measure_in_python_asks_a_model(server: FaultyServer) -> None:
    found = claimwise.measure(BARE, judge=MODEL)
    assert found.headline.judgement == "closed_book"
    assert found.headline.rate == pytest.approx(2 / 3)
    assert [one.verdict for one in found.claims("false")] == ["false"]


def test_judge_without_an_address_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_records(ROWS, tmp_path / "rows.jsonl")
    assert run(["measure", str(path), "--judge", "nobody:m"]) == 1
    assert "Unknown provider" in capsys.readouterr().err
