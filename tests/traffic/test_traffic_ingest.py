"""Live traffic in: sampling, duplicates, counts that add up, redaction, retention."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from claimwise.cli.main import run
from claimwise.config import Config, Project, RedactSection, SampleRule, TrafficSection, read_config
from claimwise.errors import ClaimwiseError, ConfigError, Problem
from claimwise.store import Store, open_store
from claimwise.store.corpora import choose_corpus
from claimwise.text.ids import make_content_id
from claimwise.traffic.funnel import read_funnel
from claimwise.traffic.ingest import ingest, read_traffic_settings
from claimwise.traffic.judging import judge_traffic
from claimwise.traffic.redaction import Redactor
from claimwise.traffic.retention import DELETED, delete_texts
from claimwise.traffic.sampling import choose, draw
from claimwise.types.rows import Item, Placed, Source
from claimwise.types.traces import Passage, ToolCall, Trace
from support.growth import grows_evenly

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC).replace(tzinfo=None)
DAY = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
TEXT = "The tower is 139 m tall."


def make(number: int, **changes: Any) -> Trace:
    base = Trace(
        origin="trace",
        place="traces.jsonl",
        trace_id=f"trace-{number}",
        question="How tall is the tower?",
        answer="The tower is 139 m tall. I refunded your order.",
        passages=(Passage(source_id="tower", text=TEXT),),
        actions=(ToolCall(name="refund", arguments='{"order": 7}'),),
        model="m-1",
        conversation_id=f"talk-{number % 3}",
        happened_at=DAY,
        properties={"service": "bot", "environment": "prod"},
    )
    return replace(base, **changes)


def project(folder: Path, **section: Any) -> Project:
    return Project(folder, Config(traffic=TrafficSection(**section)))


# Sampling.


def test_choice_goes_by_the_trace_alone_and_rates_are_nested() -> None:
    ids = [f"trace-{n}" for n in range(4000)]
    taken = {
        rate: {one for one in ids if choose(one, {}, [SampleRule(name="r", rate=rate)]).taken}
        for rate in (0.05, 0.3, 1.0)
    }
    assert taken[0.05] < taken[0.3] < taken[1.0] == set(ids)
    # Five standard deviations of a share of 4,000.
    assert abs(len(taken[0.3]) / 4000 - 0.3) < 0.037
    # Part of the format: another recipe would choose other traces on a backfill.
    assert draw("trace-1") == pytest.approx(0.3718973933, abs=1e-9)
    assert choose("trace-1#2", {}, []).taken == choose("trace-1", {}, []).taken


def test_first_rule_that_fits_decides() -> None:
    rules = [
        SampleRule(name="staging", rate=0.5, where={"environment": ("stag*", "dev")}),
        SampleRule(name="big", rate=0.2, where={"model": "m-*", "environment": "prod"}),
    ]
    assert choose("a", {"environment": "staging-2"}, rules)[:2] == ("staging", 0.5)
    assert choose("a", {"environment": "prod", "model": "m-1"}, rules)[:2] == ("big", 0.2)
    assert choose("a", {"environment": "prod"}, rules)[:2] == ("everything", 1.0)


# Storing.


@pytest.mark.each_engine
def test_traffic_is_stored_once_counted_whole_judged_and_forgotten(
    store: Store, tmp_path: Path
) -> None:
    half, whole = (read_traffic_settings(project(tmp_path), rate=rate) for rate in (0.5, 0.9))
    traces = [make(n) for n in range(30)]
    broken = Problem(path="t.jsonl", line=7, field=None, found="trace x: no answer in it",
                     expected="")  # fmt: skip
    first = ingest(store, half, [*traces, broken], now=NOW)
    kept = sum(draw(f"trace-{n}") < 0.5 for n in range(30))
    assert (first.stored, first.left_out, first.count("unreadable")) == (kept, 30 - kept, 1)

    # The same again, and at a higher rate: what was left out comes in, nothing comes in twice.
    again = ingest(store, half, [*traces, broken], now=NOW)
    assert (again.count("sampled", "left_out", "unreadable"), again.count("duplicate")) == (0, 31)
    more = ingest(store, whole, traces, now=NOW)
    stored = sum(draw(f"trace-{n}") < 0.9 for n in range(30))
    assert (more.stored, more.backfilled, more.count("duplicate")) == (
        0,
        stored - kept,
        30 - stored + kept,
    )
    rows = store.query("select inclusion_probability, count(*) from traffic_answers group by 1")
    assert rows == [(0.9, stored)]

    judge_traffic(store, "lexical")
    funnel = {one.system: one for one in read_funnel(store)}
    bot = funnel["bot"]
    assert (bot.received, bot.sampled, bot.outcomes["left_out"]) == (30, stored, 30 - stored)
    assert bot.rules == {"command line": {"sampled": stored, "left_out": 30 - stored}}
    assert (bot.judged, bot.states, bot.adds_up) == (stored, {"scored": stored}, True)
    assert funnel["unknown"].unreadable == {"no_answer": 1}
    assert not read_funnel(store, first=NOW.date())[0].outcomes.get("sampled")

    before = store.query("select verdict, count(*) from claim_labels group by 1 order by 1")
    done = delete_texts(store, NOW, now=NOW + timedelta(days=30))
    assert done.answers == stored
    assert done.claims == 2 * stored
    texts = {
        text
        for column, table in (
            ("answer_text", "answers"), ("query", "eval_items"), ("context_text", "contexts"),
            ("source_text", "sources"), ("entry_text", "action_log"), ("claim_text", "claims"),
            ("claim_text", "labels"), ("supporting_span", "labels"),
        )
        for (text,) in store.query(f"select {column} from {table} where {column} is not null")
    }  # fmt: skip
    assert texts == {DELETED}
    assert store.query("select verdict, count(*) from claim_labels group by 1 order by 1") == before
    assert store.audit() == []
    assert store.count_labels_against_guide() == 0
    if store.engine_name == "sqlite":  # the words by which claims are found are gone, too
        found = "select count(*) from claim_words where claim_words match '{}'"
        assert store.query(found.format("tower")) == [(0,)]
        assert store.query(found.format("deleted")) == [(2 * stored,)]
    # Another judge has nothing to read any more, and does not take “[deleted]” for an answer.
    assert judge_traffic(store, "overlap").judged == 0
    assert read_funnel(store)[1].adds_up


def test_answer_keeps_what_its_trace_says(store: Store, tmp_path: Path) -> None:
    store.load(
        [Placed(Source(source_id="d7", corpus_ver="v3", source_text="It is red."), 0, 1)], ["d"]
    )
    versions = {"service": "bot", "prompt_ver": "p4", "corpus_ver": "v3", "environment": "prod"}
    passages = (
        Passage(source_id="d7"),
        Passage(source_id="lost"),
        Passage(text=TEXT, kind="tool_output"),
    )
    made = ingest(
        store,
        read_traffic_settings(project(tmp_path)),
        [
            make(1, properties=versions, passages=passages),
            make(2, happened_at=NOW.replace(tzinfo=UTC) + timedelta(days=3)),
            make(3, happened_at=None, passages=None),
        ],
        now=NOW,
    )
    assert made.list_reasons("note") == {"documents_not_found": 1, "clock": 1}
    runs = store.query(
        "select system, model, prompt_ver, corpus_ver, cast(started_at as text) from runs "
        "order by prompt_ver"
    )
    assert [(*row[:4], row[4][:10]) for row in runs] == [
        ("bot", "m-1", None, "traffic", "2026-11-16"),
        ("bot", "m-1", "p4", "v3", "2026-11-15"),
    ]
    run = store.query("select run_id from runs where prompt_ver = 'p4'")[0][0]
    assert run.startswith("traffic-bot-2026-11-15-")
    contexts = store.query(
        "select c.position, c.context_text, s.source_kind from contexts as c join sources as s "
        "on s.source_id = c.source_id where c.run_id = :run and s.corpus_ver = 'v3' order by 1",
        {"run": run},
    )
    assert contexts == [(0, "It is red.", None), (1, TEXT, "tool_output")]
    assert choose_corpus(store) == "v3"  # what came with answers is no corpus to search
    item = store.query(
        "select i.answerable, i.stakes, i.query_type, i.cluster_id, a.value from eval_items as i "
        "join item_attributes as a on a.item_id = i.item_id and a.name = 'environment' "
        "join answers as x on x.item_id = i.item_id where x.run_id = :run",
        {"run": run},
    )
    assert item == [(None, None, None, "talk-1", "prod")]
    counts = store.query("select trace_id, context_count from answers order by 1")
    assert counts == [("trace-1", 2), ("trace-2", 1), ("trace-3", None)]
    assert store.query("select entry_text from action_log")[0] == ('refund({"order": 7})',)


def test_bad_answers_are_counted_by_name_and_leave_the_others_alone(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "own_redaction.py").write_text(
        "def hide(text):\n    if 'boom' in text:\n        raise KeyError(text)\n    return text\n",
        encoding="utf-8",
    )
    section = RedactSection(function="own_redaction:hide")
    with pytest.raises(ClaimwiseError, match="would run code on the word of the project's file"):
        read_traffic_settings(project(tmp_path, redact=section))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAIMWISE_TRUSTED_FOLDERS", str(tmp_path))
        settings = read_traffic_settings(project(tmp_path, redact=section))
    taken = make_content_id("t1", "bot", "trace-6")
    store.load([Placed(Item(item_id=taken, query="Why?", source_corpus_ver="v1"), 0, 1)], ["i"])
    found = ingest(
        store,
        settings,
        [
            make(1),
            make(2, answer="x" * 1_000_001),
            make(3, question="boom"),
            make(4, model="nul\0", trace_id="t\0"),
            make(5, answer="half a character: \ud800", trace_id="\ud800" * 200),
            make(6),  # an item with its id is there, and asks something else
            make(7),
        ],
        now=NOW,
    )
    assert found.stored == 2
    names = ("too_large", "redaction_failed", "nul_character", "malformed", "refused")
    assert found.list_reasons("unreadable") == dict.fromkeys(names, 1)
    assert read_funnel(store)[0].adds_up


# Redaction.

SECRETS = {
    "e-mail": ("bob.smith+x@mail.example.co.uk", "an e-mail to bob @ work"),
    "phone": ("+49 (30) 1234-5678", "in 2024-11-15 12:30 there were 1,234,567 of them"),
    "card": ("4111 1111 1111 1111", "4111 1111 1111 1112"),
    "iban": ("DE89 3704 0044 0532 0130 00", "GATE 2024 WEST"),
    "key": ("sk-proj-aB3dE6gH9jK2mN5pQ8sT", "sk-learn and risk-free"),
    "ssn": ("536-90-4399", "2024-11-15"),
    "ip": ("192.168.10.254", "version 1.2.3.4.5"),
}


@pytest.mark.parametrize("kind", SECRETS)
def test_secret_is_replaced_by_its_kind_and_harmless_text_stays(kind: str) -> None:
    redactor = Redactor(RedactSection())
    secret, harmless = SECRETS[kind]
    redacted = redactor.redact_text(f"It is {secret}, or {secret}.", "t1")
    assert secret not in redacted
    first, second = redacted.removeprefix("It is ").removesuffix(".").split(", or ")
    assert first == second
    assert first.startswith(f"[{kind} ")
    assert redactor.redact_text(harmless, "t1") == harmless
    # Redacting again changes nothing; another trace has other tags.
    assert redactor.redact_text(redacted, "t1") == redacted
    assert redactor.redact_text(secret, "t2") != first


def test_fields_are_dropped_and_own_patterns_apply(store: Store, tmp_path: Path) -> None:
    section = RedactSection(builtin=("email",), patterns={"order": r"ORD-\d+"},
                            drop=("question", "actions", "conversation"))  # fmt: skip
    ingest(store, read_traffic_settings(project(tmp_path, redact=section)),
           [make(1, answer="ORD-77 for a@b.example; call +49 30 1234567")], now=NOW)  # fmt: skip
    [(answer, question, cluster)] = store.query(
        "select a.answer_text, i.query, i.cluster_id from answers as a join eval_items as i "
        "on i.item_id = a.item_id"
    )
    assert answer.startswith("[order ")
    assert "[e-mail " in answer
    assert answer.endswith("+49 30 1234567")
    assert (question, cluster) == ("(unknown)", None)
    assert store.query("select count(*) from action_log") == [(0,)]


@pytest.mark.parametrize("hostile", ["1 ", "a@", "0-", "sk-", "AB12 ", "1.", "+1 2"])
def test_redaction_takes_time_in_proportion(hostile: str) -> None:
    redactor = Redactor(RedactSection())
    assert grows_evenly(lambda size: lambda: redactor.redact_text(hostile * size, "t"), 4_000)


# The command.


def test_command_takes_files_says_what_became_of_them_and_reads_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["init", "."]) == 0
    with Path("claimwise.toml").open("a", encoding="utf-8") as file:
        file.write('\n[[traffic.sample]]\nname = "few"\nrate = 0.25\nwhere = { model = "m*" }\n')
    lines = [
        {"trace_id": f"t{n}", "question": "How tall?", "answer": TEXT, "contexts": [TEXT],
         "model": "m1", "service": "help desk"}
        for n in range(40)
    ]  # fmt: skip
    text = "\n".join(map(json.dumps, lines)) + "\n{oops\n"
    Path("week.jsonl").write_text(text, encoding="utf-8")
    capsys.readouterr()
    assert run(["ingest-traces", "week.jsonl", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    kept = sum(draw(f"t{n}") < 0.25 for n in range(40))
    assert (found["received"], found["sampled"], found["left_out"]) == (41, kept, 40 - kept)
    assert found["unreadable"] == {"answers": 1, "reasons": {"malformed": 1}}
    assert run(["traffic", "judge", "--verifier", "lexical"]) == 0
    capsys.readouterr()
    assert run(["traffic"]) == 0
    printed = capsys.readouterr().out
    assert "help desk" in printed
    assert "1 unreadable: not readable as a trace" in printed
    assert run(["traffic", "retain", "--days", "1"]) == 0
    with open_store("claimwise.db") as store:
        assert store.query("select rule, inclusion_probability from traffic_answers limit 1") == [
            ("few", 0.25)
        ]
    assert run(["ingest-traces", "gone.jsonl"]) != 0


def test_wrong_settings_are_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "claimwise.toml"
    path.write_text('[[traffic.sample]]\nname = "a"\nrate = 1.5\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"“a” has rate = 1.5; give a share above 0 and up to 1"):
        read_config(path)
    for section, words in (
        (RedactSection(builtin=("emails",)), "Unknown pattern 'emails'"),
        (RedactSection(drop=("answers",)), "Unknown field 'answers'"),
        (RedactSection(patterns={"x": "("}), "“x” is not a regular expression"),
    ):
        with pytest.raises(ClaimwiseError, match=words):
            Redactor(section)
