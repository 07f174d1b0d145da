"""The page on calibration shows what the command prints."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from claimwise.calibration.values import TrustRule
from claimwise.cli.main import run
from claimwise.store import open_store

PAGE = Path(__file__).parents[2] / "docs" / "calibration.md"


@pytest.fixture
def demo(judged_demo: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(judged_demo, tmp_path / "demo-project"))


def test_the_example_is_what_the_command_prints(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    block = re.search(r"\$ claimwise calibrate.*?\n(.*?)\n…\n```", PAGE.read_text("utf-8"), re.S)
    assert block is not None
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(demo)
    capsys.readouterr()
    assert run(["calibrate", "--verifier", "overlap"]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    undated = re.compile(r"until \d{4}-\d\d-\d\d")
    shown = [undated.sub("", line) for line in block.group(1).splitlines()]
    assert shown == [undated.sub("", line) for line in printed[: len(shown)]]


def label_as_before(place: Path) -> None:
    """Make what people said before of a round's claims what they say in it; the rest stays open."""
    with open_store(place) as store:
        store.execute_all([(
            "update annotation_slots set state = 'done' where exists (select 1 from "
            "annotation_tasks as t join labels as l on l.run_id = t.run_id and l.item_id = "
            "t.item_id and l.claim_id = t.claim_id and l.label_kind <> 'verifier' "
            "where t.task_id = annotation_slots.task_id)", {},
        )])  # fmt: skip


def test_the_corrected_rate_is_what_the_command_prints(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text("utf-8")
    block = re.search(r"\$ (claimwise rounds .*?)\n\$ .*?\n…\n(.*?)\n…\n```", text, re.S)
    assert block is not None
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(demo)
    assert run(block.group(1).split()[1:]) == 0
    assert run(["calibrate", "--verifier", "overlap"]) == 0
    assert "corrected by" not in capsys.readouterr().out  # nobody has labelled in the round yet
    label_as_before(demo / "claimwise.db")
    assert run(["calibrate", "--verifier", "overlap"]) == 0
    shown, printed = (
        re.sub(r"in round \w{10}", "in round", " ".join(text.split()))  # an id holds the time
        for text in (block.group(2), capsys.readouterr().out)
    )
    assert shown in printed
    assert run(["report", "--run", "candidate", "--full"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "faithfulness 84%, range 74–90.7% (corrected by 91 labels of people" in told


def test_the_rule_on_the_page_is_the_rule() -> None:
    text, rule = PAGE.read_text("utf-8"), TrustRule()
    for name, value in (("level", rule.level), ("margin", rule.margin),
                        ("min-claims", rule.min_claims), ("days", rule.days)):  # fmt: skip
        assert f"`--{name}` ({value:g})" in text
    assert f"is clearly below {rule.people_floor:g}" in text
