"""``claimwise factcheck`` and ``claimwise probe-judge`` as a user types them, over real HTTP."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claimwise.fact_check.probe import FILE_NAME
from claimwise.fact_check.probe_facts import make_probe
from claimwise.store import open_store
from cli.conftest import Say
from support.closed_book import label_pieces
from support.faulty_server import Asked, FaultyServer

MODEL = "openai-compatible:any"
LABELER = f"judge:closed-book@2:{MODEL}"
ANSWER = "Paris is the capital of France. Berlin is in Spain. The tower is 330 m tall."
KINDS = {claim.text: claim.kind for claim in make_probe(120, seed=0)}


def know(text: str) -> str:
    kind = KINDS.get(text, "known_false" if "Spain" in text else "known_true")
    return {"known_true": "true", "known_false": "false"}.get(kind, "unverifiable")


def reply(asked: Asked) -> str:
    return json.dumps(label_pieces(asked.user, know))


def believe(asked: Asked) -> str:
    return json.dumps(label_pieces(asked.user, lambda _: "true"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    with FaultyServer(reply) as opened:
        opened.set_environment(monkeypatch)
        yield opened


@pytest.fixture
def say(say_here: Say) -> Say:
    """Run commands in an empty folder with an answer in it."""
    Path("answer.txt").write_text(ANSWER, encoding="utf-8")

    return say_here


ONE = ("factcheck", "--answer", "answer.txt", "--judge", MODEL)


def test_an_answer_as_text(say: Say, server: FaultyServer) -> None:
    code, out, err = say(*ONE)
    assert code == 0
    assert "✓ true  Paris is the capital of France." in out
    assert "✗ false  Berlin is in Spain." in out
    assert "factual precision 67%: 2 true, 1 false · judged by judge:closed-book@2" in out
    assert "not yet checked against people" in out
    assert "called true with a number or a date: 1 claim to look at again" in out
    assert "has not been tested on made-up facts" in err
    assert "1 call" in err
    assert server.count == 1


def test_an_answer_as_json(say: Say, server: FaultyServer) -> None:
    code, out, _ = say(*ONE, "--format", "json", "--price", "1,2", "--domain-hint", "geography")
    assert code == 0
    document = json.loads(out)
    assert list(document) == ["claims", "factual_precision", "summary_basis", "claimwise"]
    assert document["factual_precision"] == pytest.approx(2 / 3)
    assert document["claimwise"]["served_by"] == "any-2026-01-01"
    assert document["claimwise"]["domain_hint"] == "geography"
    assert document["claimwise"]["spent"]["cost"] > 0
    assert document["claimwise"]["spent"]["calls"] == 1


def test_a_dry_run_sends_nothing(say: Say, server: FaultyServer) -> None:
    code, out, err = say(*ONE, "--dry-run", "--price", "1,2", "--repeats", "3")
    assert code == 0
    assert server.count == 0
    assert out.splitlines()[0].split()[:2] == ["calls", "3"]
    assert "at most US$" in out
    assert "nothing was sent" in err
    code, out, _ = say(*ONE, "--dry-run", "--format", "json")
    plan = json.loads(out)
    assert plan["calls"] == 1
    assert plan["input_tokens"] > 500
    assert plan["cost"] is None


def test_unscored_claims_bound_the_rate(say: Say, server: FaultyServer) -> None:
    def leave_out(asked: Asked) -> str:
        said = label_pieces(asked.user, know)
        return json.dumps({**said, "pieces": said["pieces"][:2]})

    server.reply = leave_out
    code, out, _ = say(*ONE)
    assert code == 0
    assert "? not scored (missing_id)  The tower is 330 m tall." in out
    assert "· 1 not scored (1 missing_id; 33–67% whatever it is) ·" in out


def test_text_of_answer_and_model_cannot_steer_the_terminal(
    say: Say, server: FaultyServer, tmp_path: Path
) -> None:
    (tmp_path / "answer.txt").write_text("Paris \x1b[31mis red\x1b[0m today.", encoding="utf-8")
    server.reply = lambda asked: json.dumps(
        {
            "pieces": [
                {
                    "id": "s1",
                    "claims": [
                        {
                            "text": "Paris is red \x1b]owned\x07 today [bold]",
                            "label": "true",
                            "decision_basis": "\x1b[2J",
                        }
                    ],
                }
            ],
            "summary_basis": "\x1b[5m",
        }
    )
    for form in ("text", "json"):
        code, out, err = say(*ONE, "--format", form)
        assert code == 0
        assert "\x1b" not in out + err
        assert "\x07" not in out + err
        assert "[bold]" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--judge", MODEL), "Give either --answer or --run."),
        (
            ("--answer", "answer.txt", "--run", "r", "--judge", MODEL),
            "Give either --answer or --run.",
        ),
        (("--answer", "answer.txt"), "Missing option '--judge'"),
        (("--answer", "answer.txt", "--judge", "nobody:x"), "nobody"),
        (("--answer", "no.txt", "--judge", MODEL), "no.txt"),
        ((*ONE[1:], "--price", "cheap"), "write US$ per million tokens"),
        ((*ONE[1:], "--prompt", "nonsense"), "Unknown prompt 'nonsense'"),
        ((*ONE[1:], "--queue", "no/such/file"), "no such folder: no/such"),
        (("--run", "r", "--judge", MODEL), "no store there"),
    ],
)
def test_bad_input_is_one_clear_line(
    say: Say, server: FaultyServer, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = say("factcheck", *arguments)
    assert code == 1
    assert message in err
    assert "Traceback" not in err
    assert out == ""
    assert server.count == 0


def test_a_cost_ceiling_without_a_price_is_refused(
    say: Say, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
    judge = ("factcheck", "--answer", "answer.txt", "--judge", "openai:any")
    code, _, err = say(*judge, "--max-cost", "1")
    assert code == 1
    assert "--max-cost needs the price" in err
    assert server.count == 0


def test_over_the_ceiling_claims_are_unscored(say: Say, server: FaultyServer) -> None:
    code, out, err = say(*ONE, "--price", "1000,1000", "--max-cost", "0.01", "--format", "json")
    assert code == 1
    assert "error: nothing was scored: cost_ceiling: it could cost US$" in err
    document = json.loads(out)
    assert document["factual_precision"] is None
    assert {c["reason"] for c in document["claimwise"]["unscored"]} == {"cost_ceiling"}
    assert document["claimwise"]["bounds"] == [0.0, 1.0]
    assert server.count == 0


@pytest.fixture
def demo(say: Say, written_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Run commands inside a copy of the demo project."""
    shutil.copytree(written_demo, tmp_path / "demo")
    (tmp_path / "demo" / "answer.txt").write_text(ANSWER, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "demo")
    return say


def test_a_run_is_labelled_measured_and_cached(demo: Say, server: FaultyServer) -> None:
    command = (
        "factcheck", "--run", "baseline", "--judge", MODEL, "--format", "json", "--no-resplit",
    )  # fmt: skip
    plan = json.loads(demo(*command, "--dry-run")[1])
    assert server.count == 0
    first = json.loads(demo(*command)[1])
    assert server.count == plan["calls"] == first["spent"]["calls"] > 10
    assert first["judge"] == LABELER
    # The judge calls everything true, also the 25 sentences that claim nothing.
    assert first["judged"] - 25 == sum(first["labels"].values()) > 100
    assert list(first["unscored"]) == ["compound"]  # without resplit they stay so
    second = json.loads(demo(*command)[1])
    assert (second["judged"], second["spent"]["calls"]) == (0, 0)
    again = json.loads(demo(*command, "--again")[1])
    assert again["judged"] == first["judged"]
    assert again["spent"] == {**again["spent"], "calls": 0, "cached": plan["calls"], "cost": None}
    assert server.count == plan["calls"]
    metric = ("metrics", "--run", "baseline", "--metric", "factual_precision", "--by", "")
    code, out, _ = demo(*metric, "--labels", f"labeler:{LABELER}", "--format", "json")
    assert code == 0
    [overall] = json.loads(out)["rows"]
    assert overall["scored"] == sum(first["labels"].values())
    assert demo("doctor")[0] == 0


def test_a_run_as_text_says_what_to_do_next(demo: Say, server: FaultyServer) -> None:
    code, out, err = demo("factcheck", "--run", "baseline", "--judge", MODEL)
    assert code == 0
    assert f"the run baseline by {LABELER}, not yet checked against people:" in out
    assert "factual precision " in out
    assert err.endswith("next: claimwise metrics --run baseline --metric factual_precision\n")


def test_the_queue_can_be_filled_in_and_imported(
    demo: Say, server: FaultyServer, tmp_path: Path
) -> None:
    queue = tmp_path / "closed_book_labels.jsonl"
    code, _, err = demo("factcheck", "--run", "baseline", "--judge", MODEL, "--queue", str(queue))
    assert code == 0
    assert f"wrote {queue}" in err
    rows = [json.loads(line) for line in queue.read_text("utf-8").splitlines()]
    assert rows
    assert {row["label"] for row in rows} == {None}  # the judge's label would sway people
    now = datetime.now(UTC)
    for row in rows:
        row.update(label="unverifiable", labeler="ana", labeled_at=now.isoformat())
    queue.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    code, _, err = demo("import", str(queue))
    assert code == 0, err
    with open_store("claimwise.db") as store:
        [(labelled,)] = store.query(
            "select count(*) from deciding_closed_book_labels where labeler = 'ana' "
            "and label = 'unverifiable' and labeled_at = :now",
            {"now": now.replace(tzinfo=None)},
        )
    assert labelled == len(rows)  # people come before the judge
    said = json.loads(
        demo("factcheck", "--run", "baseline", "--judge", MODEL, "--format", "json")[1]
    )
    assert said["agreement"] == "agrees with people on 0% (0–5.9%) of 119 claims in baseline"
    assert said["agreement"].endswith(f"of {len(rows)} claims in baseline")


def test_the_queue_of_one_answer(say: Say, server: FaultyServer, tmp_path: Path) -> None:
    assert say(*ONE, "--queue", "queue.jsonl")[0] == 0
    *parents, row = map(json.loads, (tmp_path / "queue.jsonl").read_text("utf-8").splitlines())
    assert [parent["type"] for parent in parents] == ["runs", "items", "answers"]
    assert row["claim_text"] == "The tower is 330 m tall."
    assert row["label"] is None


def test_a_run_of_which_nothing_could_be_scored(demo: Say, server: FaultyServer) -> None:
    server.faults = {"401": 1.0}
    code, out, err = demo("factcheck", "--run", "baseline", "--judge", MODEL)
    assert code == 1
    assert "unscored" in out
    assert "error: nothing was scored: refused_request " in err
    server.faults = {}
    code, out, err = demo("factcheck", "--run", "baseline", "--judge", MODEL)
    assert code == 0
    assert re.findall(r"unscored +\d+ +(\w+)", out) == ["compound"]


# probe-judge


def test_a_judge_that_passes_is_remembered(demo: Say, server: FaultyServer) -> None:
    code, out, err = demo("probe-judge", "--judge", MODEL)
    assert code == 0
    assert out.splitlines()[0].split(",")[0] == "made up"
    assert "0 of 120 = 0% (0–" in out
    assert f"{LABELER}: trusted" in out
    assert "the upper end of the 95% range" in out
    assert FILE_NAME in err
    code, _, err = demo(*ONE)
    assert code == 0
    assert "probe" not in err


def test_a_repeated_probe_asks_again_when_told_to(demo: Say, server: FaultyServer) -> None:
    assert demo("probe-judge", "--judge", MODEL)[0] == 0
    asked = server.count
    server.reply = believe
    assert (demo("probe-judge", "--judge", MODEL)[0], server.count) == (0, asked)
    assert (demo("probe-judge", "--judge", MODEL, "--fresh")[0], server.count) == (2, 2 * asked)
    assert (demo("probe-judge", "--judge", MODEL)[0], server.count) == (2, 2 * asked)


def test_a_judge_that_fails_is_refused(demo: Say, server: FaultyServer) -> None:
    server.reply = believe
    code, out, _ = demo("probe-judge", "--judge", MODEL, "--format", "json")
    assert code == 2
    document = json.loads(out)
    assert document["verdict"] == "not_trusted"
    assert document["made_up_true"]["rate"] == 1.0
    assert len(document["fooled"]) == 120
    asked = server.count
    code, out, err = demo(*ONE)
    assert (code, out) == (1, "")
    assert "not trusted" in err
    assert "--untrusted-ok" in err
    assert server.count == asked
    code, out, err = demo(*ONE, "--untrusted-ok")
    assert code == 0
    assert "warning: judge:closed-book@2" in err
    other = demo(*ONE[:-1], "vllm:other", "--dry-run")
    assert other[0] == 0  # the probe is of one judge, not of all


def test_a_judge_that_cannot_be_asked_is_inconclusive(demo: Say, server: FaultyServer) -> None:
    server.faults = {"401": 1.0}
    code, out, err = demo("probe-judge", "--judge", MODEL)
    assert code == 3
    assert "inconclusive" in out
    assert "nothing was scored (refused_request 180): not kept" in err
    assert not Path(FILE_NAME).exists()


def test_a_probe_outside_of_a_project_is_not_kept(say: Say, server: FaultyServer) -> None:
    code, _, err = say("probe-judge", "--judge", MODEL)
    assert code == 0
    assert "kept in" not in err
    assert not Path(FILE_NAME).exists()


TRUTHFUL = """Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source
A,Facts,What is Paris?,A capital,A capital; A city,"A lake in Spain; A hill in Spain",x
A,Facts,Where is Berlin?,I have no comment.,"I have no comment; In Germany","In Spain",x
"""


def test_truthfulqa_as_a_probe(demo: Say, server: FaultyServer) -> None:
    """Each answer is judged alone, with its question; the probe on made-up facts stays as it is."""
    path = Path("TruthfulQA.csv")
    path.write_text(TRUTHFUL, encoding="utf-8")
    command = ("probe-judge", "--judge", MODEL, "--truthfulqa", str(path))
    code, out, _ = demo(*command)
    assert (code, server.count) == (0, 4)
    assert out.splitlines() == [
        "TruthfulQA, 2 questions",
        "false answers, called true      0 of 2 = 0% (0–98.8%)",
        "false answers, called false     2 of 2 = 100% (1.2–100%)",
        "true answers, called true       2 of 2 = 100% (1.2–100%)",
    ]
    assert not Path(FILE_NAME).exists()
    assert demo(*command, "--dry-run")[1].splitlines()[0].split()[:2] == ["calls", "4"]
    server.reply = believe
    lines = [
        {"question": "Where is Berlin?", "best_answer": "In Germany", "incorrect_answers": ["Rome"]}
    ]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    code, out, _ = demo(*command[:-1], "rows.jsonl", "--limit", "0.1", "--format", "json")
    document = json.loads(out)
    assert (code, document["verdict"], document["believed"]) == (2, "not_trusted", ["Rome"])
    Path("other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert "expected TruthfulQA's columns" in demo(*command[:-1], "other.csv")[2]


def test_a_probe_that_nobody_could_pass(say: Say, server: FaultyServer) -> None:
    code, _, err = say("probe-judge", "--judge", MODEL, "--n", "40")
    assert code == 1
    assert "none could pass; choose --n " in err
    code, out, _ = say("probe-judge", "--judge", MODEL, "--dry-run")
    assert code == 0
    assert out.splitlines()[0].split()[:2] == ["calls", "18"]
    assert server.count == 0
    code, _, err = say("probe-judge", "--judge", MODEL, "--repeats", "2")
    assert code == 1
    assert "No such option" in err
