from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claimwise.labelling.queue import save_label, take_task
from claimwise.store import open_store
from cli.conftest import Say
from support.round_data import CLAIMS, NOW, UNLINKED, fill

STORE = "store.db"


@pytest.fixture
def say(say_here: Say) -> Say:
    with open_store(STORE, create=True) as store:
        fill(store)
    return lambda *arguments: say_here("--store", STORE, *arguments)


def make(say: Say, *more: str) -> str:
    code, _, errors = say("rounds", "create", "--run", "r", *more)
    assert (code, errors) == (0, "")
    return str(json.loads(say("rounds", "list", "--format", "json")[1])["rounds"][0]["round_id"])


def test_round_is_made_listed_shown_and_closed(say: Say) -> None:
    code, out, errors = say("rounds", "create", "--run", "r", "--size", "4", "--title", "First")
    assert (code, errors) == (0, "")
    assert "“First”, open" in out
    assert "5 labels wanted on 4 claims: none done yet" in out
    assert "claimwise annotate" in out
    found = json.loads(say("rounds", "list", "--format", "json")[1])["rounds"]
    assert [(one["title"], one["progress"]["tasks"]) for one in found] == [("First", 4)]
    round_id = found[0]["round_id"]
    assert "0 of 5" in say("rounds", "list")[1]
    shown = json.loads(say("rounds", "show", round_id[:4], "--format", "json")[1])
    assert shown["strata"] == [{"stratum": "unscored", "claims": 10, "chosen": 4}]
    assert say("rounds", "show", round_id)[1].endswith("unscored      10      4     40%\n")
    assert say("rounds", "close", round_id) == (0, f"{round_id} is closed\n", "")
    assert "closed" in say("rounds", "list")[1]


def test_progress_names_the_labelers(say: Say) -> None:
    round_id = make(say, "--closed-book")
    with open_store(STORE) as store:
        task = take_task(store, round_id, "an\x1ba", NOW)
        assert task is not None
        save_label(store, task.task_id, "an\x1ba", type(UNLINKED)(verdict="true"), NOW)
    out = say("rounds", "show", round_id)[1]
    assert "closed_book, guide closed-book-2" in out
    assert r"an\x1ba: 1" in out


def test_audit_trail_names_what_was_done(say: Say) -> None:
    round_id = make(say)
    say("rounds", "close", round_id)
    with open_store(STORE) as store:
        rows = store.query("select event, subject from audit_events order by happened_at, event_id")
    assert sorted(rows) == [("round closed", round_id), ("round made", round_id)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create", "--run", "none"), "Unknown run 'none'"),
        (("create", "--run", "r", "--overlap", "2"), "2.0 is not in the range"),
        (("create", "--run", "r", "--overlap", "nan"), "nan is not a finite number"),
        (("create", "--run", "r", "--size", "0"), "0 is not in the range"),
        (("create", "--run", "r", "--verifier", "x"), "There are no judges yet"),
        (("create", "--run", "r", "--guide", "x"), "guide 'x'. Known grounded guides: grounded-1"),
        (("create", "--run", "r", "--seed", "9999999999"), "not 9999999999"),
        (("show", "none"), "Create one with `claimwise rounds create`"),
        (("close", "none"), "Create one with `claimwise rounds create`"),
    ],
)
def test_what_can_t_be_done_is_said_in_one_line(
    say: Say, arguments: tuple[str, ...], message: str
) -> None:
    code, out, errors = say("rounds", *arguments)
    assert code == 1
    assert message in errors
    assert "Traceback" not in errors
    assert out == ""


def test_no_rounds_yet(say: Say) -> None:
    assert "no rounds yet" in say("rounds", "list")[1]


def test_label_studio_files_go_and_come(say: Say, tmp_path: Path) -> None:
    round_id = make(say)
    code, out, _ = say("labelstudio", "export", "--round", round_id[:5], "tasks.json",
                       "--config", "config.xml")  # fmt: skip
    assert (code, out) == (0, "10 tasks\n")
    assert Path("config.xml").read_text(encoding="utf-8").startswith("<View>")
    tasks = json.loads(Path("tasks.json").read_text(encoding="utf-8"))
    chosen = next(task for task in tasks if task["data"]["claim"] == CLAIMS[0])
    chosen["annotations"] = [{
        "completed_by": 3, "created_at": datetime.now(UTC).isoformat(),
        "result": [{"from_name": "verdict", "to_name": "claim", "type": "choices",
                    "value": {"choices": ["unlinked"]}}],
    }]  # fmt: skip
    Path("done.json").write_text(json.dumps(tasks), encoding="utf-8")
    expected = "1 label read: 1 added\n"
    code, out, _ = say("labelstudio", "import", "--run", "r", "--labeler", "3=ana", "done.json")
    assert code == 0
    assert expected in out
    assert "  ana: 1" in say("rounds", "show", round_id)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("export", "x.json"), "Give either --round or --run."),
        (("export", "--run", "r", "--round", "x", "x.json"), "Give either --round or --run."),
        (("export", "--run", "none", "x.json"), "Unknown run 'none'"),
        (("import", "--run", "r", "nothing.json"), "no such file"),
        (("import", "--run", "r", "--labeler", "ana", "x.json"), "write it as ID=NAME"),
    ],
)
def test_label_studio_mistakes_are_said_in_one_line(
    say: Say, arguments: tuple[str, ...], message: str
) -> None:
    code, _, errors = say("labelstudio", *arguments)
    assert code == 1
    assert message in errors
    assert "Traceback" not in errors
