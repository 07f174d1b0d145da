"""``--judge`` for check, verify and bench-verifier, as a user types it, against a real server."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import claimwise
from cli.conftest import Say
from support.faulty_server import Asked, FaultyServer
from support.grounded_model import reply_to_request
from support.injections import INJECTIONS
from support.processes import has_pending_signal
from support.waiting import wait_until

MODEL = "openai-compatible:m"
JUDGE = ("--judge", MODEL)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    with FaultyServer(reply_to_request) as started:
        started.set_environment(monkeypatch)
        yield started


@pytest.fixture
def say(say_here: Say) -> Say:
    Path("answer.txt").write_text(
        "The tower is 139 m tall [1]. Entry costs 9 euros [2]. Cats may come in.", encoding="utf-8"
    )
    Path("policy.md").write_text("The tower is 139 m tall. Entry costs 5 euros.", encoding="utf-8")
    Path("dogs.md").write_text("Dogs may come in.", encoding="utf-8")

    return say_here


CHECK = ("check", "--answer", "answer.txt", "policy.md", "dogs.md")


def test_check_with_no_claim_scored_could_not_run(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAIMWISE_BASE_URL", "http://127.0.0.1:9/v1")  # nobody listens there
    code, out, err = say(*CHECK, *JUDGE, "--timeout", "5")
    assert code == 1
    assert "3 claims not scored: no rate" in out
    assert err.endswith("error: nothing was scored: see the reasons above\n")


def test_check_says_who_judged_and_what_it_took(say: Say, server: FaultyServer) -> None:
    code, out, err = say(*CHECK, *JUDGE, "--price", "1,2")
    assert code == 0
    assert "⟦1✓ The tower is 139 m tall [1].⟧" in out
    assert "policy.md:25–44 “Entry costs 5 euros”" in out
    assert out.endswith(
        "1 of 3 claims supported (33%) · 1 unlinked · 1 contradicted"
        f" · judged by judge:grounded@2:{MODEL}, not yet checked against people\n"
    )
    assert "\n1 request sent, 695 tokens in, 91 out, US$ " in err
    assert "US$ 0.00" in err
    assert server.count == 1


def test_check_as_json(say: Say, server: FaultyServer) -> None:
    code, out, _ = say(*CHECK, *JUDGE, "--mode", "two-pass", "--batch", "2", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert [c["verdict"] for c in found["claims"]] == ["supported", "contradicted", "unlinked"]
    assert found["bounds"] == [1 / 3, 1 / 3]
    assert found["judge"]["settings"].startswith("split@2+grounded@2; mode two-pass, batch 2")
    assert (found["judge"]["sent"], server.count) == (4, 4)
    assert found["judge"]["cost"] is None


def test_check_counts_what_failed(say: Say, server: FaultyServer) -> None:
    def lose(asked: Asked) -> str:
        return json.dumps({"claims": json.loads(reply_to_request(asked))["claims"][:1]})

    server.reply = lose
    code, out, err = say(*CHECK, *JUDGE, "--fail-under", "0.5")
    assert code == 3
    assert "? not scored (missing_id)" in out
    assert "2 claims not scored (33–100% whatever they are)" in out
    assert "inconclusive: claims were not scored" in err


def test_check_tells_when_support_is_not_what_is_cited(say: Say, server: FaultyServer) -> None:
    code, out, err = say("check", "--answer", "answer.txt", "dogs.md", "policy.md", *JUDGE)
    assert code == 0
    assert "the claim cites dogs.md, but policy.md says so" in out
    assert "warning: a claim is supported by another source than the one it cites" in err


def test_repeats_show_flips(say: Say, server: FaultyServer) -> None:
    def waver(asked: Asked) -> str:
        said = json.loads(reply_to_request(asked))
        if asked.number == 1:
            said["claims"][2] = {**said["claims"][0], "id": "c3"}
        return json.dumps(said)

    server.reply = waver
    code, out, err = say(*CHECK, *JUDGE, "--repeats", "3")
    assert (code, server.count) == (0, 3)
    assert "asked again, the judge said supported" in out
    assert "the verdict changed in 1 of 3 claims that 3 rounds scored at least twice" in err
    assert "1 of 3 claims supported (33%) · " in out


def test_dry_run_sends_nothing(say: Say, server: FaultyServer) -> None:
    for more, calls in (((), 1), (("--mode", "two-pass"), 2), (("--repeats", "4"), 4)):
        code, out, err = say(
            *CHECK, *JUDGE, "--dry-run", "--price", "1,2", "--format", "json", *more
        )
        assert (code, json.loads(out)["calls"]) == (0, calls)
        assert json.loads(out)["cost"] > 0
    assert server.count == 0
    code, out, err = say(*CHECK, *JUDGE, "--dry-run")
    assert "cost            unknown" in out
    assert "nothing was sent" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mode", "single"), "--mode needs a language model: name one with --judge"),
        (("--batch", "3"), "--batch needs a language model"),
        (("--max-cost", "1"), "--max-cost needs a language model"),
        ((*JUDGE, "--verifier", "lexical"), "--verifier and --judge exclude each other"),
        (
            (*JUDGE, "--mode", "single", "--repeats", "2"),
            "--repeats judges the same claims several times",
        ),
        ((*JUDGE, "--max-cost", "1"), "--max-cost needs the price"),
        ((*JUDGE, "--prompt", "nope"), "Unknown prompt 'nope'"),
        ((*JUDGE, "--prompt", "split"), "prompt split@2: found the inputs"),
        (("--verifier", MODEL), "To use a language model, name it with --judge"),
        (("--judge", "nobody:m"), "nobody"),
        (("--judge", "m"), "m"),
    ],
)
def test_errors_are_one_line_and_nothing_is_sent(
    say: Say, server: FaultyServer, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = say(*CHECK, *arguments)
    assert (code, out, server.count) == (1, "", 0)
    assert message in err
    assert "Traceback" not in err


def test_python_front_door(say: Say, server: FaultyServer) -> None:
    result = claimwise.check("It is 139 m tall.", "It is 139 m tall.", judge=MODEL)
    assert (result.rate, result.verifier) == (1.0, f"judge:grounded@2:{MODEL}")
    assert result.claims[0].span is not None
    assert result.agreement is None


@pytest.fixture
def demo(say: Say, judged_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    shutil.copytree(judged_demo, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    return say


VERIFY = ("verify", "--run", "baseline", *JUDGE)


def test_verify_judges_resumes_and_measures_agreement(demo: Say, server: FaultyServer) -> None:
    plan = json.loads(demo(*VERIFY, "--dry-run", "--format", "json")[1])
    assert (plan["cached"], server.count) == (0, 0)
    code, out, err = demo(*VERIFY)
    assert (code, server.count) == (0, plan["calls"])
    judge = re.escape(f"judge:grounded@2:{MODEL}")
    assert re.search(rf"the run baseline by {judge}, agrees with people on \d[\d.]*% \(", out)
    assert "grounded@2; mode claims, batch all" in err
    assert "requests sent" in err
    again = json.loads(demo(*VERIFY, "--format", "json")[1])
    assert (again["judged"], server.count) == (0, plan["calls"])
    assert (again["judge"]["sent"], again["flips"]) == (0, None)
    assert demo("doctor")[0] == 0
    # What one answer's check says of the judge comes from the same labels.
    Path("a.txt").write_text("The tower is 139 m tall.", encoding="utf-8")
    _, out, _ = demo("check", "--answer", "a.txt", "a.txt", *JUDGE)
    assert re.search(r"agrees with people on \d[\d.]*% \(", out)


def test_verify_again_reads_kept_replies_unless_they_are_to_be_fresh(
    demo: Say, server: FaultyServer
) -> None:
    first = json.loads(demo(*VERIFY, "--format", "json")[1])
    asked = server.count
    again = json.loads(demo(*VERIFY, "--again", "--format", "json")[1])
    assert (again["judged"], server.count) == (first["judged"], asked)
    plan = json.loads(demo(*VERIFY, "--again", "--fresh", "--dry-run", "--format", "json")[1])
    assert (plan["calls"], plan["cached"]) == (asked, 0)
    fresh = json.loads(demo(*VERIFY, "--again", "--fresh", "--format", "json")[1])
    assert (fresh["judged"], server.count) == (first["judged"], 2 * asked)
    # The new replies are kept in place of the old ones.
    demo(*VERIFY, "--again")
    assert server.count == 2 * asked


def test_verify_bounds_the_rate(demo: Say, server: FaultyServer) -> None:
    server.faults = {"truncated": 0.3}
    code, out, _ = demo(*VERIFY)
    assert code == 0
    assert "  unscored" in out
    assert "truncated" in out
    assert re.search(
        r"^  \d+% of \d+ claims supported; \d+ claims unscored \(\d+–\d+% whatever they", out, re.M
    )


def test_verify_without_any_reply_could_not_run(demo: Say, server: FaultyServer) -> None:
    server.faults = {"401": 1.0}
    code, out, err = demo(*VERIFY)
    assert code == 1
    assert "refused_request" in out
    assert "error: No call got a reply (refused_request " in err
    server.faults = {}
    assert demo(*VERIFY)[0] == 0


def test_verify_in_rounds(demo: Say, server: FaultyServer) -> None:
    plan = json.loads(demo(*VERIFY, "--dry-run", "--repeats", "2", "--format", "json")[1])
    _, out, _ = demo(*VERIFY, "--repeats", "2")
    assert server.count == plan["calls"]
    assert "the verdict changed in none of " in out
    # A third round is all that is left, and it is fresh.
    more = json.loads(demo(*VERIFY, "--dry-run", "--repeats", "3", "--format", "json")[1])
    assert (more["calls"], more["cached"]) == (plan["calls"] // 2, 0)


def test_interrupt_keeps_what_was_paid_for(demo: Say, server: FaultyServer) -> None:
    server.admit(6)
    patient = "from claimwise.llm.client import LlmClient; LlmClient.cancel.__defaults__ = (600.0,)"
    call = "from claimwise.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{patient}; {call}", *VERIFY, "--concurrency", "4"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: server.count >= 10, "six have their replies, four are under way")
    process.send_signal(signal.SIGINT)
    wait_until(lambda: not has_pending_signal(process.pid), "the interrupt has arrived")
    server.admit()
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    paid = server.count
    plan = json.loads(demo(*VERIFY, "--dry-run", "--format", "json")[1])
    assert plan["cached"] < plan["calls"]
    code, _, _ = demo(*VERIFY)
    assert code == 0
    assert server.count - paid == plan["calls"] - plan["cached"]
    prompts = [asked.user for asked in server.requests]
    assert len(prompts) == len(set(prompts)), "something was paid for twice"


@pytest.fixture
def labelled(tmp_path: Path) -> str:
    folder = tmp_path / "labelled"
    folder.mkdir()
    for name in ("first", "second"):
        rows = [
            {
                # Another text in each set: equal calls that are made at once are sent once.
                "document": f"The tower {n} is {n} m tall. Read in the {name} set.",
                "claim": f"The tower {n} is {n + wrong} m tall.",
                "label": 1 - wrong,
                "group": f"g{n}",
            }
            for n in range(100, 140)
            for wrong in (0, 1)
        ]
        lines = "\n".join(map(json.dumps, rows))
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return str(folder)


def test_bench_measures_a_judge(say: Say, server: FaultyServer, labelled: str) -> None:
    bench = ("bench-verifier", labelled, *JUDGE, "--limit", "20", "--resamples", "50")
    plan = json.loads(say(*bench, "--dry-run", "--format", "json")[1])
    assert (plan["calls"], server.count) == (20, 0)
    code, out, _ = say(*bench, "--format", "json")
    found = json.loads(out)
    assert (code, server.count) == (0, 20)
    assert found["labeler"] == f"judge:grounded@2:{MODEL}"
    assert (found["macro"]["balanced_accuracy"], found["macro"]["n"]) == (1.0, 40)
    assert found["baseline"]["labeler"] == "verifier:overlap-1"
    assert found["judge"]["sent"] == 20
    code, out, err = say(*bench)
    assert "probabilities are 1 or 0" in out
    assert "requests sent" in err


def test_bench_shows_what_was_not_scored(say: Say, server: FaultyServer, labelled: str) -> None:
    server.faults = {"truncated": 0.2}
    code, out, _ = say("bench-verifier", labelled, *JUDGE, "--resamples", "50")
    assert code == 0
    assert "claims unscored; its balanced accuracy is" in " ".join(out.split())


@pytest.mark.parametrize("verifier", ["lexical", "embedded", "judge"])
def test_injections_do_not_move_a_verdict(say: Say, server: FaultyServer, verifier: str) -> None:
    """In the answer or in a source: the claims beside it are judged as without it."""
    claims = "The tower is 139 m tall. Entry costs 9 euros. Cats may come in on Mondays."
    source = "The tower is 139 m tall. Entry costs 5 euros. Dogs may come in."

    def judge(answer: str, text: str) -> dict[str, str | None]:
        options = {"judge": MODEL} if verifier == "judge" else {"verifier": verifier}
        result = claimwise.check(answer, {"doc": text}, **options)
        return {c.claim.wording: c.verdict for c in result.claims}

    plain = judge(claims, source)
    assert list(plain.values())[:2] == ["supported", "contradicted"]
    for name, text in INJECTIONS.items():
        in_answer = judge(f"{claims}\n\n{text}", source)
        assert {w: in_answer[w] for w in plain} == plain, name
        others = {w: v for w, v in in_answer.items() if w not in plain}
        assert "supported" not in others.values(), (name, others)
        assert judge(claims, f"{source}\n\n{text}") == plain, name
