"""``openbook``, ``cascade`` and ``consistency`` as a user types them, judges over real HTTP."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from claimwise.fact_check.probe import FILE_NAME
from claimwise.store import open_store
from claimwise.types.rows import ClosedBookLabel
from cli.conftest import Say
from support.closed_book import label_pieces
from support.faulty_server import Asked, FaultyServer
from support.grounded_model import reply_to

MODEL = "openai-compatible:any"
JUDGE = ("--judge", MODEL)
ANSWER = "The tower is 139 m tall. Entry costs 9 euros. Dogs may come in. Zeppelins flew to Quito."
SAID = {
    "The tower is 139 m tall.": "true",
    "Entry costs 9 euros.": "true",
    "Dogs may come in.": "true",
    "Zeppelins flew to Quito.": "unverifiable",
}


PROJECT: list[dict[str, Any]] = [
    {"type": "items", "item_id": "i", "query": "How tall?", "query_type": "lookup",
     "answerable": True, "stakes": "low", "source_corpus_ver": "v1"},
    {"type": "runs", "run_id": "r", "system": "s", "corpus_ver": "v1",
     "started_at": "2026-01-01T00:00:00Z"},
]  # fmt: skip
ANSWERED = {"type": "answers", "run_id": "r", "item_id": "i"}


def write_rows(rows: list[dict[str, Any]]) -> None:
    Path("all.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def reply(asked: Asked) -> str:
    if '{"id": "s1"' in asked.user:
        return json.dumps(label_pieces(asked.user, lambda text: SAID[text]))
    return reply_to(asked.user)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    with FaultyServer(reply) as opened:
        opened.set_environment(monkeypatch)
        yield opened


@pytest.fixture
def say(say_here: Say) -> Say:
    Path("answer.txt").write_text(ANSWER, encoding="utf-8")
    Path("docs").mkdir()
    Path("docs/tower.md").write_text("The tower is 139 m tall.", encoding="utf-8")
    Path("docs/prices.md").write_text("Entry costs 5 euros.", encoding="utf-8")

    return say_here


OPEN = ("openbook", "--answer", "answer.txt", "--corpus", "docs")
CASCADE = ("cascade", "--answer", "answer.txt", "--corpus", "docs", *JUDGE)


def test_openbook_as_text(say: Say) -> None:
    code, out, err = say(*OPEN, "--verifier", "lexical")
    assert code == 0
    assert "✓ supported" in out
    assert "docs/tower.md:0–24 “The tower is 139 m tall.”" in out
    assert "the source says 5 euros, the claim 9 euros" in out
    assert "– no passage  Zeppelins flew to Quito." in out
    assert "factual precision 50%: 1 supported, " in out
    assert "2 claims undecided (25–75% whatever they are) · judged by" in out
    assert "corpus docs: 2 documents, 2 passages" in out
    assert err == ""


def test_openbook_as_json(say: Say) -> None:
    arguments = ("--verifier", "lexical", "--format", "json", "--passages", "3", "--floor", "0.2")
    code, out, _ = say(*OPEN, *arguments, "--question", "Why?")
    assert code == 0
    document = json.loads(out)
    assert document["format"] == 1
    assert document["question"] == "Why?"
    assert document["retrieval"] == {"k": 3, "floor": 0.2, "sure": 0.6}
    assert document["corpus"]["documents"] == 2
    assert document["bounds"] == [0.25, 0.75]
    first = document["claims"][0]
    assert (first["outcome"], first["verdict"]) == ("supported", "supported")
    assert first["passages"][0]["source_id"] == "docs/tower.md"
    assert document["claims"][3]["outcome"] == "no_passage"
    assert document["claims"][3]["verdict"] == "unlinked"


def test_openbook_over_a_pipe_and_over_the_store(
    say: Say, tmp_path: Path, written_demo: Path
) -> None:
    shutil.copytree(written_demo, tmp_path / "demo")
    Path("answer.txt").write_text("A day ticket costs €21.", encoding="utf-8")
    store = ("--store", "demo/claimwise.db", "--verifier", "lexical")
    arguments = ("openbook", "--answer", "answer.txt", "--corpus", "store")
    code, out, _ = say(*arguments, *store)
    assert code == 0
    assert "version 2026-09: 34 documents" in out
    assert "fares-2026:" in out
    code, out, _ = say(*arguments, "--corpus-version", "2026-03", *store)
    assert code == 0
    assert "version 2026-03: 28 documents" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--corpus", "nowhere"), "nowhere: no such file"),
        (("--corpus", "docs", "--corpus", "store"), "can't be combined"),
        (("--corpus", "docs", "--corpus-version", "v1"), "--corpus-version needs --corpus store"),
        (("--corpus", "store"), "no store there"),
        (
            ("--corpus", "docs", "--verifier", "x"),
            "Unknown judge 'x'. Known judges: auto, bespoke-minicheck, embedded",
        ),
        (("--corpus", "docs", "--verifier", "lexical", *JUDGE), "--verifier and --judge"),
        (("--corpus", "docs", "--dry-run"), "--dry-run needs a language model"),
        (("--corpus", "-", "--answer", "-"), "standard input named twice"),
        ((), "Missing option '--corpus'"),
    ],
)
def test_bad_calls_are_one_clear_line(say: Say, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = say("openbook", "--answer", "answer.txt", *arguments)
    assert code == 1
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_openbook_with_a_judge_makes_one_call(say: Say, server: FaultyServer) -> None:
    code, out, err = say(*OPEN, *JUDGE, "--dry-run")
    assert code == 0
    assert out.splitlines()[0].split()[:2] == ["calls", "1"]
    assert server.count == 0
    code, out, err = say(*OPEN, *JUDGE)
    assert code == 0
    assert server.count == 1
    assert "✗ contradicted  Entry costs 9 euros." in out
    assert "not yet checked against people" in out
    assert "1 request sent" in err
    code, out, _ = say(*OPEN, *JUDGE, "--format", "json")
    assert json.loads(out)["judge"]["model"] == MODEL


def test_text_of_documents_cannot_steer_the_terminal(say: Say) -> None:
    evil = "The tower \x1b[31mis\x1b[0m 139 m tall \x07[bold]."
    Path("docs/tower.md").write_text(evil, encoding="utf-8")
    Path("answer.txt").write_text(evil, encoding="utf-8")
    for form in ("text", "json"):
        code, out, err = say(*OPEN, "--verifier", "lexical", "--format", form)
        assert code == 0
        assert "\x1b" not in out + err
        assert "\x07" not in out + err
        assert "[bold]" in out


# The cascade


def test_cascade_as_text(say: Say, server: FaultyServer) -> None:
    code, out, err = say(*CASCADE, "--verifier", "lexical", "--queue", "q.jsonl", "--price", "1,2")
    assert code == 0
    assert server.count == 1
    assert "✓ true (corpus)  The tower is 139 m tall." in out
    assert "judge: true, second_look; corpus: supported" in out
    assert "? for people (people)  Entry costs 9 euros." in out
    assert "the judge says true, the corpus says false" in out
    assert "✓ true (closed book)  Dogs may come in." in out
    assert "closed book alone: factual precision 100%, 75–100% whatever the undecided" in out
    assert "after the cascade: factual precision 100%, 50–100% whatever the undecided" in out
    assert "2 claims for people" in out
    assert "has not been tested on made-up facts" in err
    rows = [json.loads(line) for line in Path("q.jsonl").read_text("utf-8").splitlines()]
    assert [row["type"] for row in rows[:3]] == ["runs", "items", "answers"]
    assert [row["claim_text"] for row in rows[3:]] == [
        "Entry costs 9 euros.",
        "Zeppelins flew to Quito.",
    ]
    assert all(list(row) == ["type", *ClosedBookLabel.__struct_fields__] for row in rows[3:])


def test_a_filled_in_queue_can_be_imported(say: Say, server: FaultyServer) -> None:
    """Into an empty store, under any name, and twice: the file brings what labels belong to."""
    say(*CASCADE, "--verifier", "lexical", "--queue", "people.jsonl")
    queue = Path("people.jsonl")
    filled = {"label": "false", "labeler": "ana", "labeled_at": "2026-02-01T00:00:00Z"}
    rows = [json.loads(line) for line in queue.read_text("utf-8").splitlines()]
    rows = [{**row, **filled} if "label" in row else row for row in rows]
    queue.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert say("init")[0] == 0
    assert say("import", "people.jsonl")[0] == 0
    assert say("import", "people.jsonl")[0] == 0
    with open_store("claimwise.db") as store:
        found = store.query(
            "select c.claim_text, l.label from closed_book_labels as l "
            "join claims as c on c.claim_id = l.claim_id order by c.claim_text"
        )
    assert found == [("Entry costs 9 euros.", "false"), ("Zeppelins flew to Quito.", "false")]


def test_cascade_as_json(say: Say, server: FaultyServer) -> None:
    code, out, _ = say(*CASCADE, "--verifier", "judge", "--price", "1,2", "--format", "json")
    assert code == 0
    assert server.count == 2
    document = json.loads(out)
    first, second, people = document["stages"]
    assert (first["claims"], first["decided"], first["passed_on"]) == (4, 1, 3)
    assert (second["claims"], second["decided"], second["passed_on"]) == (3, 1, 2)
    assert people["claims"] == document["queued"] == 2
    assert first["calls"] == second["calls"] == 1
    assert first["cost"] > 0
    assert second["input_tokens"] > 0
    assert document["claims"][0]["stage"] == "corpus"
    assert document["claims"][0]["corpus"]["span"]["source_id"] == "docs/tower.md"
    assert document["first"]["factual_precision"] == 1.0
    assert document["cascade"]["bounds"] == [0.5, 1.0]


def test_cascade_plans_without_sending(say: Say, server: FaultyServer) -> None:
    for verifier, calls in (("lexical", "1"), ("judge", "2")):
        code, out, _ = say(*CASCADE, "--verifier", verifier, "--dry-run")
        assert code == 0
        assert out.splitlines()[0].split()[:2] == ["calls", calls]
    assert server.count == 0


def test_cascade_refuses_a_judge_that_failed_its_probe(
    say: Say, server: FaultyServer, tmp_path: Path, written_demo: Path
) -> None:
    shutil.copytree(written_demo, tmp_path / "demo")
    probe = {
        "judge": f"judge:closed-book@2:{MODEL}",
        "limit": 0.05,
        "seed": 0,
        "verdict": "not_trusted",
        "highest": 0.5,
        **{
            name: {"hits": 1, "scored": 2, "unscored": 0, "low": 0.1, "high": 0.9}
            for name in ("made_up_true", "known_true", "known_false")
        },
    }
    (tmp_path / FILE_NAME).write_text(json.dumps({probe["judge"]: probe}), encoding="utf-8")
    (tmp_path / "claimwise.toml").write_bytes((tmp_path / "demo/claimwise.toml").read_bytes())
    code, _, err = say(*CASCADE)
    assert code == 1
    assert "not trusted" in err
    assert server.count == 0
    code, _, err = say(*CASCADE, "--untrusted-ok", "--verifier", "lexical")
    assert code == 0
    assert "not trusted" in err


# Stored runs


@pytest.fixture
def stored(say: Say) -> Say:
    """A project with one answer of one run, whose claims are stored."""
    source = {"type": "sources", "source_id": "rules", "corpus_ver": "v1",
              "source_text": "Dogs may come in. Entry costs 5 euros."}  # fmt: skip
    claims = [{"claim_text": text} for text in SAID]
    write_rows([source, *PROJECT, {**ANSWERED, "answer_text": ANSWER, "claims": claims}])
    assert say("init")[0] == 0
    assert say("import", "all.jsonl")[0] == 0
    return say


def test_openbook_judges_a_run_by_its_own_corpus(stored: Say) -> None:
    command = ("openbook", "--run", "r", "--corpus", "store", "--verifier", "lexical")
    code, out, err = stored(*command)
    assert code == 0, err
    assert out.startswith("judged 4 claims of 1 answer in ")
    assert "the run r by verifier:openbook:lexical-" in out
    assert "2 unlinked claims without a passage in the corpus" in out
    assert "version v1: 1 document, 1 passage" in out
    assert "5 passages, floor 0.3, sure 0.6" in err
    document = json.loads(stored(*command, "--format", "json")[1])
    assert (document["judged"], document["done_before"], document["no_passage"]) == (0, 1, 2)
    assert document["retrieval"] == {"k": 5, "floor": 0.3, "sure": 0.6}
    metric = ("metrics", "--run", "r", "--metric", "faithfulness", "--by", "")
    labels = ("--labels", f"labeler:{document['labeler']}")
    code, out, _ = stored(*metric, *labels, "--format", "json")
    assert json.loads(out)["rows"][0]["scored"] == 4
    code, _, err = stored(*command, "--passages", "3")
    assert code == 1
    assert "now “3 passages" in err
    assert "--again" in err
    assert stored(*command, "--passages", "3", "--again")[0] == 0
    assert stored("doctor")[0] == 0


def test_openbook_judges_a_run_by_files_and_a_model(stored: Say, server: FaultyServer) -> None:
    command = ("openbook", "--run", "r", "--corpus", "docs", *JUDGE, "--format", "json")
    plan = json.loads(stored(*command, "--repeats", "2", "--dry-run")[1])
    assert (plan["calls"], server.count) == (2, 0)
    document = json.loads(stored(*command, "--repeats", "2")[1])
    assert server.count == 2
    assert document["labeler"] == f"judge:openbook:grounded@2:{MODEL}"
    assert document["verdicts"] == {"supported": 1, "contradicted": 1, "unlinked": 2}
    assert document["flips"] == {"rounds": 2, "compared": 4, "flipped": 0}
    with open_store("claimwise.db") as store:
        known = store.query("select source_id from sources order by 1")
    assert known == [("docs/prices.md",), ("docs/tower.md",), ("rules",)]
    assert stored("doctor")[0] == 0


def test_cascade_settles_a_run(stored: Say, server: FaultyServer) -> None:
    command = ("cascade", "--run", "r", "--corpus", "docs", *JUDGE, "--verifier", "lexical")
    code, out, err = stored(*command, "--queue", "people.jsonl")
    assert code == 0, err
    assert "decided by: closed book 1, corpus 1, people 2" in out
    assert "factual precision 100%, 50–100% whatever the undecided claims are" in out
    assert "for people: i: Entry costs 9 euros. (the judge says true, the corpus says" in out
    assert "has not been tested on made-up facts" in err
    rows = [json.loads(line) for line in Path("people.jsonl").read_text("utf-8").splitlines()]
    assert [(row["run_id"], row["item_id"], row["label"]) for row in rows] == [("r", "i", None)] * 2
    document = json.loads(stored(*command, "--format", "json")[1])
    assert (document["judged"], len(document["queue"]), server.count) == (0, 2, 1)
    assert document["stages"] == {"closed_book": 1, "corpus": 1, "people": 2}
    metric = ("metrics", "--run", "r", "--metric", "factual_precision", "--by", "")
    code, out, _ = stored(*metric, "--labels", f"labeler:{document['labeler']}", "--format", "json")
    assert json.loads(out)["rows"][0]["scored"] == 2
    assert stored("doctor")[0] == 0


@pytest.mark.parametrize("command", ["openbook", "cascade"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Give either --answer or --run."),
        (("--answer", "answer.txt", "--run", "r"), "Give either --answer or --run."),
        (("--answer", "answer.txt", "--again"), "--again is for --run"),
        (("--answer", "answer.txt", "--repeats", "2"), "--repeats is for --run"),
        (("--run", "x"), "Unknown run 'x'"),
        (("--run", "r", "--question", "Why?"), "--question is for --answer"),
    ],
)
def test_bad_calls_with_runs_are_one_clear_line(
    stored: Say, server: FaultyServer, command: str, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = stored(command, "--corpus", "docs", *JUDGE, *arguments)
    assert (code, out, server.count) == (1, "", 0)
    assert message in err
    assert "Traceback" not in err


# Consistency


def write_samples(*texts: str) -> None:
    Path("samples").mkdir()
    for number, text in enumerate(texts):
        Path(f"samples/{number}.txt").write_text(text, encoding="utf-8")


def test_consistency_of_files(say: Say) -> None:
    write_samples(
        "The tower is 139 m tall.", "The tower is 139 m tall. ", "The tower is 20 m tall."
    )
    code, out, err = say("consistency", "--answers", "samples", "--verifier", "lexical")
    assert code == 0
    assert "supported by 1 of 2, contradicted by 1  The tower is 139 m tall." in out
    assert "supported by 0 of 2, contradicted by 2  The tower is 20 m tall." in out
    assert "An inconsistent claim is suspicious, but a consistent one isn't therefore true" in out
    assert "compared by verifier:lexical-7\n" in out
    assert "repeat another word for word" in err
    files = ("--answers", "samples/0.txt", "samples/1.txt", "samples/2.txt")
    assert say("consistency", *files, "--verifier", "lexical")[1] == out


def test_consistency_of_rows_as_json(say: Say) -> None:
    rows = [
        {"item_id": "i", "sample": 0, "answer_text": "The tower is 139 m tall."},
        {"answer": "The tower is 139 m tall. Dogs may come in."},
        {"item_id": "i", "sample": 2, "answer_text": None},
    ]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    arguments = ("consistency", "--answers", "a.jsonl", "--verifier", "lexical")
    code, out, _ = say(*arguments, "--format", "json")
    assert code == 0
    document = json.loads(out)
    assert [answer["name"] for answer in document["answers"]] == ["a.jsonl:1", "a.jsonl:2"]
    assert document["answers"][1]["agreement"] == 0.5
    assert document["accuracy"] is None
    assert "isn't therefore true" in document["caution"]
    assert document["warnings"] == ["a.jsonl:3: the system gave no answer: left out"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"text": "x"}', "a.jsonl:1: found another object, expected an object with answer_text"),
        ('{"answer_text": 5}', "a.jsonl:1: found another object"),
        ("{", "a.jsonl:1:"),
        (
            '{"item_id": "i", "answer_text": "x"}\n{"item_id": "j", "answer_text": "y"}',
            "a.jsonl:2: found item_id 'j' after 'i', expected answers to one question",
        ),
        ('{"answer_text": "The tower is tall."}', "at least two answers with text, and this is 1"),
    ],
)
def test_bad_rows_are_one_clear_line(say: Say, lines: str, message: str) -> None:
    Path("a.jsonl").write_text(lines, encoding="utf-8")
    code, _, err = say("consistency", "--answers", "a.jsonl", "--verifier", "lexical")
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


def test_consistency_wants_files_or_a_run(say: Say) -> None:
    for arguments in ((), ("--run", "r", "--answers", "answer.txt")):
        code, _, err = say("consistency", *arguments)
        assert code == 1
        assert "Give either --answers or --run." in err


def test_consistency_with_a_judge(say: Say, server: FaultyServer) -> None:
    write_samples("The tower is 139 m tall.", "The tower is 20 m tall.", "Dogs may come in.")
    code, out, _ = say("consistency", "--answers", "samples", *JUDGE, "--dry-run")
    assert code == 0
    assert out.splitlines()[0].split()[:2] == ["calls", "6"]
    assert server.count == 0
    code, out, err = say("consistency", "--answers", "samples", *JUDGE)
    assert code == 0
    assert server.count == 6
    assert "supported by 0 of 2, contradicted by 1  The tower is 139 m tall." in out
    assert "6 requests sent" in err


def test_consistency_of_a_stored_run(say: Say, server: FaultyServer) -> None:
    samples = [
        {**ANSWERED, "sample": number, "answer_text": text, "claims": [{"claim_text": text}]}
        for number, text in enumerate(["The tower is 139 m tall.", "The tower is 20 m tall."])
    ]
    write_rows([*PROJECT, *samples])
    assert say("init")[0] == 0
    assert say("import", "all.jsonl")[0] == 0
    code, out, _ = say("consistency", "--run", "r", "--verifier", "lexical")
    assert code == 0
    assert "0%    100%  i (2 answers, 2 claims)" in out
    assert "accuracy unknown: no claim has a label by people" in out
    code, out, _ = say("consistency", "--run", "r", *JUDGE, "--dry-run", "--format", "json")
    assert json.loads(out)["calls"] == 2
    code, out, _ = say("consistency", "--run", "r", "--verifier", "lexical", "--format", "json")
    assert json.loads(out)["items"]["i"]["answers"][0]["name"] == "i#0"
    assert json.loads(out)["accuracy"] is None


def test_a_judge_that_never_answers_is_an_error(say: Say, server: FaultyServer) -> None:
    """What is unscored is shown, counted, and no success."""
    server.faults = {"401": 1.0}
    code, out, err = say(*OPEN, *JUDGE)
    assert code == 1
    assert "not scored (refused_request)" in out
    assert "nothing was scored" in err
    write_samples("The tower is 139 m tall.", "The tower is 20 m tall.")
    code, out, err = say("consistency", "--answers", "samples", *JUDGE)
    assert code == 1
    assert "supported by 0 of 0, 1 not scored" in out
    assert "nothing was scored: refused_request" in err
    # The cascade goes on: its second stage needs no judge.
    code, out, _ = say(*CASCADE, "--verifier", "lexical")
    assert code == 0
    assert "✗ false (corpus)  Entry costs 9 euros." in out
    assert "closed book alone: factual precision —, 0–100% whatever the undecided" in out
