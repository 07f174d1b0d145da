"""What claimwise asks of a plug-in, and a little of what this one promises itself."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

import msgspec
from claimwise_sample.judge import ALL_WORDS
from claimwise_sample.provider import SAMPLE_CLOUD
from claimwise_sample.reader import CHATLOG

from claimwise import check
from claimwise.testing import check_judge, check_metric, check_provider, check_reader

SAMPLE = Path(__file__).parent / "sample.chatlog"


def test_judge() -> None:
    check_judge(ALL_WORDS)


def test_reader() -> None:
    check_reader(CHATLOG, SAMPLE)


def test_provider() -> None:
    reply = {"candidates": [{"content": {"parts": [{"text": "139 m"}]}, "finishReason": "STOP"}]}
    check_provider(SAMPLE_CLOUD, msgspec.json.encode(reply), "139 m")


def test_metric() -> None:
    with as_file(files("claimwise_sample.metrics") / "short_claims.sql") as file:
        check_metric(file)


def test_the_judge_is_found_by_its_name() -> None:
    result = check("The tower is 139 m tall. It is green.", ["The tower is 139 m tall."],
                   verifier="all-words")  # fmt: skip
    assert result.verifier == "verifier:all-words-1"
    assert [one.verdict for one in result.claims] == ["supported", "unlinked"]
