"""Open models behind a server: asked in their own words, read strictly, stored like any judge."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import pytest

from claimwise import check
from claimwise.cli.main import run
from claimwise.errors import ClaimwiseError, VerifierError
from claimwise.judges.judge import load_served_judge, load_verifier, read_judge_name
from claimwise.judges.open_models.served import BESPOKE_MINICHECK, GRANITE_GUARDIAN, LYNX
from claimwise.llm.parsing import UnparsableError
from claimwise.llm.token_odds import TokenReply
from claimwise.store import open_store
from claimwise.testing import check_judge
from support.copies import StoreCopies, add_demo
from support.faulty_server import Asked, FaultyServer
from support.scripted import ScriptedAsker

SOURCE = "The Kestrel Tower is 139 m tall. It was opened in 1931."
ANSWER = "The Kestrel Tower is 139 m tall."
QUESTION = "How tall is it?"

Serve = Callable[..., FaultyServer]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Any:
    opened = []

    def start(reply: str | Callable[[Asked], str], **settings: Any) -> FaultyServer:
        said = reply if callable(reply) else lambda asked: reply
        server = FaultyServer(reply=said, **settings)
        opened.append(server.__enter__())
        server.set_environment(monkeypatch)
        return server

    yield start
    for server in opened:
        server.__exit__()


def ask(kind: str, model: str = "m") -> Any:
    judge = f"{kind}:openai-compatible:{model}"
    return check(ANSWER, SOURCE, question=QUESTION, judge=judge).claims[0]


def test_bespoke_minicheck_is_asked_as_published(serve: Serve) -> None:
    server = serve("Yes", odds=lambda asked: [{"Yes": log(0.7), " yes": log(0.1), "No": log(0.2)}])
    judged = ask("bespoke-minicheck")
    assert judged.verdict == "supported"
    assert judged.scores.supports == pytest.approx(0.8)
    assert judged.confidence == pytest.approx(0.8)
    assert judged.span.text == ANSWER
    (asked,) = server.requests
    system, user = asked.body["messages"]
    assert system["content"].startswith("Determine whether the provided claim is consistent with")
    assert system["content"].endswith('by responding with either "Yes" or "No".')
    assert user == {"role": "user", "content": f"Document: {SOURCE}\nClaim: {ANSWER}"}
    assert (asked.body["logprobs"], asked.body["temperature"]) == (True, 0)


def test_lynx_is_asked_as_published(serve: Serve) -> None:
    server = serve('{"REASONING": [\'it says 139\'], "SCORE": "FAIL"}')
    judged = ask("lynx")
    assert (judged.verdict, judged.confidence) == ("unlinked", None)
    assert judged.reason == "the model calls it not supported"
    (asked,) = server.requests
    (user,) = asked.body["messages"]
    parts = user["content"].split("\n--\n")
    assert parts[0].startswith("Given the following QUESTION, DOCUMENT and ANSWER you must analyze")
    assert parts[1:4] == [
        f"QUESTION (THIS DOES NOT COUNT AS BACKGROUND INFORMATION):\n{QUESTION}\n",
        f"DOCUMENT:\n{SOURCE}\n",
        f"ANSWER:\n{ANSWER}\n",
    ]
    assert '{"REASONING": <your reasoning as bullet points>, "SCORE"' in parts[4]
    assert "logprobs" not in asked.body


def test_granite_guardian_is_asked_by_its_own_template(serve: Serve) -> None:
    places = [{"<score>": 0.0}, {" no": log(0.9), " yes": log(0.1)}, {"</score>": 0.0}]
    server = serve("<score> no </score>", odds=lambda asked: places)
    judged = ask("granite-guardian", "ibm-granite/granite-guardian-3.3-8b")
    assert judged.verdict == "supported", "“no” means: no risk of being ungrounded"
    assert judged.scores.supports == pytest.approx(0.9)
    ask("granite-guardian", "ibm-granite/granite-guardian-3.1-8b")
    new, old = (asked.body for asked in server.requests)
    claim = {"role": "assistant", "content": ANSWER}
    assert new["messages"] == [claim]
    assert new["documents"] == [{"doc_id": "0", "text": SOURCE}]
    assert new["chat_template_kwargs"] == {
        "guardian_config": {"criteria_id": "groundedness"},
        "think": False,
    }
    assert old["messages"] == [{"role": "context", "content": SOURCE}, claim]
    assert old["chat_template_kwargs"] == {"guardian_config": {"risk_name": "groundedness"}}
    assert "documents" not in old


@pytest.mark.parametrize(
    ("form", "text", "supports"),
    [
        (BESPOKE_MINICHECK, "No.", 0),
        (BESPOKE_MINICHECK, " **yes**", 1),
        (BESPOKE_MINICHECK, "I think yes", None),
        (BESPOKE_MINICHECK, "Yesterday", None),
        (LYNX, '{"REASONING": "x", "SCORE": "PASS"}', 1),
        (LYNX, "{'REASONING': ['a' 'b'], 'SCORE': 'FAIL'}", 0),
        (LYNX, '{"REASONING": "not a PASS", "SCORE": PASS}', 1),
        (LYNX, '{"SCORE": "PASS"} {"SCORE": "FAIL"}', None),
        (LYNX, '{"REASONING": "x", "SCORE": "PASSABLE"}', None),
        (LYNX, "PASS", None),
        (GRANITE_GUARDIAN, "Yes\n<confidence> High </confidence>", 0),
        (GRANITE_GUARDIAN, "<think>yes, maybe</think>\n<score> no </score>", 1),
        (GRANITE_GUARDIAN, "<score> no </score><score> yes </score>", None),
        (GRANITE_GUARDIAN, "Failed", None),
        (GRANITE_GUARDIAN, "", None),
    ],
)
def test_replies_are_read_strictly(form: Any, text: str, supports: int | None) -> None:
    if supports is None:
        with pytest.raises(UnparsableError, match="found "):
            form.read(TokenReply(text=text))
    else:
        assert form.read(TokenReply(text=text)) == (supports, False)


def test_an_unreadable_reply_leaves_the_claim_unscored(serve: Serve) -> None:
    server = serve("It depends.")
    judged = ask("bespoke-minicheck")
    assert (judged.verdict, judged.unscored) == (None, "unparsable")
    assert judged.reason == "found “It depends.”, expected yes or no"
    assert server.count == 3, "asked again before it is given up"


def test_long_sources_are_cut_to_what_is_closest(serve: Serve) -> None:
    judge: Any = load_served_judge("lynx", ScriptedAsker(lambda call: ""), source_tokens=100)
    filler = "The café sells cherry cake and tea to all visitors. " * 40
    (call,) = judge.plan_scores([ANSWER], filler + SOURCE)
    assert ANSWER in call.user
    assert len(call.user) < 2000


def test_a_server_without_probabilities_is_asked_without(serve: Serve) -> None:
    server = serve("Yes", refuses=["logprobs"])
    judged = ask("bespoke-minicheck")
    assert (judged.verdict, judged.confidence) == ("supported", None)
    assert [("logprobs" in asked.body) for asked in server.requests] == [True, False]
    assert "top_logprobs" not in server.requests[1].body


@pytest.mark.parametrize("kind", ["bespoke-minicheck", "granite-guardian", "lynx"])
def test_keeps_the_contract_of_judges(kind: str) -> None:
    def reply(call: Any) -> str:
        good = ANSWER in call.user.rpartition("ANSWER:" if kind == "lynx" else "\n")[2]
        if kind == "lynx":
            return f'{{"SCORE": "{"PASS" if good else "FAIL"}"}}'
        word = "Yes" if good == (kind == "bespoke-minicheck") else "No"
        return json.dumps({"text": word})

    judge: Any = load_served_judge(kind, ScriptedAsker(reply))
    check_judge(judge)


def test_verify_keeps_labels_and_replies(
    serve: Serve,
    store_copies: StoreCopies,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Labels carry judge and model; probabilities are in the cache; nothing is paid for twice."""
    server = serve("No", odds=lambda asked: [{"No": log(0.75), "Yes": log(0.25)}])
    place = store_copies.copy("sqlite", add_demo)
    monkeypatch.chdir(Path(place).parent)
    command = ["--store", place, "verify", "--run", "candidate", "--format", "json"]
    command += ["--judge", "bespoke-minicheck:openai-compatible:mini"]
    assert run([*command, "--dry-run"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert server.count == 0
    assert run(command) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["labeler"] == "judge:bespoke-minicheck@1:openai-compatible:mini"
    assert told["agreement"].startswith("agrees with people on"), "by the labels in this store"
    assert server.count == planned["calls"] > 0
    with open_store(place) as store:
        rows = store.query(
            "select distinct verdict, confidence from labels where labeler = :labeler",
            {"labeler": told["labeler"]},
        )
    assert ("unlinked", 0.75) in [(verdict, sure and round(sure, 4)) for verdict, sure in rows]
    assert run([*command, "--again"]) == 0
    assert server.count == planned["calls"], "replies and probabilities come from the cache"


def test_what_does_not_go_together_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text(ANSWER)
    (tmp_path / "s.txt").write_text(SOURCE)
    files = ["--answer", str(tmp_path / "a.txt"), "--source", str(tmp_path / "s.txt")]
    judge = ["--judge", "lynx:openai-compatible:m"]
    for option in (["--mode", "single"], ["--prompt", "own.md"]):
        assert run(["check", *files, *judge, *option]) == 1
        assert f"{option[0]} does not go with “lynx”" in capsys.readouterr().err
    with pytest.raises(ClaimwiseError, match=r"name it with --judge lynx:PROVIDER:MODEL"):
        load_verifier("lynx:vllm:m")
    with pytest.raises(ClaimwiseError, match=r"--judge lynx:vllm:PatronusAI"):
        load_verifier("lynx")


@pytest.mark.parametrize("judge", ["lynx:", "lynx:foo", "lynx:vllm:"])
def test_a_served_judge_needs_provider_and_model(judge: str) -> None:
    expected = f"'{judge}' names no model behind a server; write lynx:PROVIDER:MODEL"
    with pytest.raises(VerifierError, match=expected):
        read_judge_name(judge)
