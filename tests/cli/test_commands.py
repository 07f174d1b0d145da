"""Commands as a user types them: output, exit code, files."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest

from claimwise.cli.commands import COMMANDS
from claimwise.cli.main import run

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Run a command in an empty folder; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def demo(say: Say, judged_demo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Say:
    """The same, inside the demo project."""
    shutil.copytree(judged_demo, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    return say


def test_help_names_every_command(say: Say) -> None:
    code, out, _ = say("--help")
    assert code == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in out] == []


@pytest.mark.parametrize("group", ["accounts", "alarms", "corpus", "judges", "keys", "rounds"])
def test_a_group_alone_shows_its_commands(say: Say, group: str) -> None:
    code, _, err = say(group)
    assert code == 1
    assert err.startswith(f"Usage: claimwise {group} ")
    assert "error:" not in err


def test_a_mistyped_command_is_told_in_one_line(say: Say) -> None:
    assert say("chek")[2].splitlines() == [
        "error: Unknown command 'chek'. Did you mean 'check'?", "help: claimwise --help"
    ]  # fmt: skip
    assert "error: Unknown command 'xyzzy'.\n" in say("xyzzy")[2]
    err = say("keys", "create", "k")[2]
    assert err.startswith("error: Missing option '--scope'. Choose from: traces, check, metrics\n")


def test_what_to_type_next_names_the_store_that_was_asked(demo: Say) -> None:
    out = demo("report", "--store", "claimwise.db")[1]
    assert "More          claimwise claims · claimwise report --full\n" in out
    Path("claimwise.db").rename("other.db")
    out = demo("report", "--store", "other.db")[1]
    assert "claimwise claims --store other.db · claimwise report --store other.db --full\n" in out
    assert "claimwise annotate --run candidate --store other.db\n" in out
    demo("export", "--store", "other.db", "--format", "parquet", "files")
    assert "annotate" not in demo("report", "--store", "files")[1]


def test_a_labeler_that_is_not_there_is_refused_wherever_labels_are_chosen(demo: Say) -> None:
    for command in ("claims", "metrics", "report"):
        code, out, err = demo(command, "--run", "candidate", "--labels", "labeler:nobody")
        assert (code, out) == (1, "")
        assert "Unknown labeler 'nobody'. Known labelers: ana, ben, chris" in err


def test_usage_errors_exit_with_1(say: Say) -> None:
    for arguments in (
        ["nonsense"],
        ["metrics", "--nonsense"],
        ["import"],
        ["runs", "--format", "x"],
    ):
        code, out, err = say(*arguments)
        assert (code, out) == (1, "")
        assert err.startswith("error: ")


def test_init_makes_a_project_and_keeps_what_is_there(say: Say, tmp_path: Path) -> None:
    code, out, _ = say("init")
    assert code == 0
    assert "claimwise.db" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "claimwise.db",
        "claimwise.toml",
        "metrics",
    ]
    (tmp_path / "claimwise.toml").write_text("[metrics]\nconfidence = 0.9\n", encoding="utf-8")
    assert say("init")[0] == 0
    assert "0.9" in (tmp_path / "claimwise.toml").read_text(encoding="utf-8")


def test_init_writes_no_password(say: Say, tmp_path: Path, postgres_server: str) -> None:
    url = postgres_server.replace("postgres@", "postgres:secret@") + "?schema=init_test"
    assert say("init", "--store", url)[0] == 0
    text = (tmp_path / "claimwise.toml").read_text(encoding="utf-8")
    assert "schema=init_test" in text
    assert "secret" not in text
    assert say("runs")[1].endswith(
        "no runs yet; start with `claimwise measure FILE` or `claimwise import FILE…`\n"
    )


def test_no_store_is_one_line(say: Say, tmp_path: Path) -> None:
    code, _, err = say("runs")
    assert code == 1
    assert err.startswith("error: claimwise.db: no store there; create one with `claimwise init`")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["[metrics]\nconfidenc = 1\n", "[store", "[store]\npath=1\n"])
def test_bad_settings_are_one_line(say: Say, tmp_path: Path, text: str) -> None:
    (tmp_path / "claimwise.toml").write_text(text, encoding="utf-8")
    code, _, err = say("runs")
    assert code == 1
    assert err.startswith("error: claimwise.toml: ")
    assert err.count("\n") == 1


def test_demo_writes_a_project_and_a_report_and_can_be_repeated(
    say: Say, judged_demo: Path, tmp_path: Path
) -> None:
    for name in ("claimwise.toml", "claimwise.db", "report.html", "data/items.jsonl"):
        assert (judged_demo / name).is_file()
    printed = judged_demo.with_name("printed.txt").read_text("utf-8")
    assert printed.startswith("Supported: 87% of claims (range 76–91.8%)")
    lines = printed.splitlines()
    assert len(lines) == 10
    assert max(map(len, lines)) <= 80
    assert printed.count("contradicted: “") == 2
    shutil.copytree(judged_demo, tmp_path / "demo")
    (tmp_path / "demo/report.html").unlink()
    code, out, err = say("demo", "demo")
    assert (code, out) == (0, printed)
    assert "wrote demo/report.html" in err
    assert (tmp_path / "demo/report.html").is_file()


def test_demo_leaves_other_folders_alone(say: Say, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious", encoding="utf-8")
    code, _, err = say("demo", "mine")
    assert code == 1
    assert "name a new or empty folder" in err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_runs_as_json(demo: Say) -> None:
    found = json.loads(demo("runs", "--format", "json")[1])
    assert [run["run_id"] for run in found["runs"]] == ["candidate", "baseline"]
    assert found["runs"][1]["items"] == 84
    assert found["runs"][1]["started_at"] == "2026-10-05 08:00:00"
    assert "candidate" in demo("runs")[1]


def test_metrics_as_json_equal_the_database(demo: Say) -> None:
    out = demo(
        "metrics", "--run", "baseline", "--metric", "faithfulness", "--by", "query_type,stakes",
        "--format", "json",
    )[1]  # fmt: skip
    rows = json.loads(out)["rows"]
    db = sqlite3.connect("claimwise.db")
    expected = {
        row[:2]: row[2:]
        for row in db.execute(
            "select e.query_type, e.stakes, count(*), sum(d.verdict = 'supported'), "
            "count(distinct d.item_id) from deciding_labels d join eval_items e using (item_id) "
            "where d.run_id = 'baseline' and d.label_kind <> 'verifier' group by 1, 2"
        )
    }
    db.close()
    assert len(rows) == len(expected) == 15
    assert [row["micro"] for row in rows] == sorted(row["micro"] for row in rows)
    for row in rows:
        scored, supported, items = expected[row["slice"]["query_type"], row["slice"]["stakes"]]
        assert (row["metric"], row["basis"], row["judges"]) == ("faithfulness", "people", [])
        assert row["micro"] == pytest.approx(supported / scored)
        assert (row["scored"], row["claims"], row["items"]) == (scored, scored, items)
        assert row["asked"] == row["scored"] + row["unscored"]
        assert 0 <= row["low"] <= row["micro"] <= row["high"] <= 1
        assert row["macro"] is not None


def test_store_option_stands_on_either_side(demo: Say, tmp_path: Path) -> None:
    place = str(tmp_path / "demo" / "claimwise.db")
    before = demo("--store", place, "runs", "--format", "json")
    after = demo("runs", "--store", place, "--format", "json")
    assert before == after
    assert len(json.loads(before[1])["runs"]) == 2


def test_metrics_default_to_the_latest_run_and_say_so(demo: Say) -> None:
    _, out, err = demo("metrics", "--metric", "over_refusal", "--by", "", "--format", "json")
    assert "Using latest run candidate" in err
    rows = json.loads(out)["rows"]
    assert [row["slice"]["measure"] for row in rows] == ["correct_abstention", "over_refusal"]
    assert {row["run_id"] for row in rows} == {"candidate"}


def test_metrics_of_two_runs(demo: Say) -> None:
    out = demo(
        "metrics", "--run", "baseline", "--run", "candidate", "--metric", "faithfulness", "--by",
        "prompt_ver", "--format", "json",
    )[1]  # fmt: skip
    rows = json.loads(out)["rows"]
    assert {(row["run_id"], row["slice"]["prompt_ver"]) for row in rows} == {
        ("baseline", "p1"),
        ("candidate", "p2"),
    }


def test_metrics_formats_and_list(demo: Say) -> None:
    assert "| query_type |" in demo("metrics", "--metric", "stale_share", "--format", "markdown")[1]
    listed = demo("metrics", "--list")[1]
    assert "overreach_share" in listed
    assert "faithfulness" in listed
    text = demo("metrics", "--run", "baseline", "--metric", "overreach_share")[1]
    assert "Overreach share" in text


def test_own_metric_gets_intervals_and_a_place_in_the_report(demo: Say, tmp_path: Path) -> None:
    (tmp_path / "demo" / "metrics" / "long_claims.sql").write_text(
        "-- title: Long claims\n-- meaning: share of claims over 60 characters\n"
        "-- grain: one row per item\n-- better: lower\n"
        "select item_id as cluster_id, count(*) as denominator, "
        "sum(case when length(claim_text) > 60 then 1 else 0 end) as numerator "
        "from claims where run_id = :run_id group by item_id",
        encoding="utf-8",
    )
    report = json.loads(demo("report", "--run", "baseline", "--format", "json")[1])
    own = next(metric for metric in report["metrics"] if metric["metric"] == "long_claims")
    assert 0 < own["overall"][0]["low"] < own["overall"][0]["high"] < 1
    assert own["slices"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["metrics", "--run", "nope"],
            "Unknown run 'nope'",
        ),
        (["metrics", "--metric", "vibes"], "Unknown metric 'vibes'"),
        (["metrics", "--by", "colour"], "Unknown column 'colour'"),
        (["metrics", "--interval", "magic"], "Unknown interval 'magic'"),
        (["report", "--run", "nope"], "Unknown run 'nope'"),
        (["sql", "vibes"], "Unknown metric 'vibes'"),
        (["sql", "faithfulness", "--run", "nope"], "Unknown run 'nope'"),
        (["report", "--output", "no/such/folder/x.html", "--format", "html"], "no/such/folder"),
        (["--store", "mysql://x", "runs"], "use a path, postgresql://"),
        (["export", "claimwise.toml/x"], "claimwise.toml/x"),
    ],
)
def test_bad_arguments_are_one_line(demo: Say, arguments: list[str], message: str) -> None:
    code, out, err = demo(*arguments)
    assert (code, out) == (1, "")
    errors = [
        line
        for line in err.splitlines()
        if not line.startswith(("Using latest run", "help:", "hint:"))
    ]
    assert len(errors) == 1
    assert errors[0].startswith("error: ")
    assert message in errors[0]


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_report_to_a_file_equals_the_screen(demo: Say, tmp_path: Path, form: str) -> None:
    out = demo("report", "--run", "baseline", "--format", form)[1]
    code, printed, err = demo("report", "--run", "baseline", "--format", form, "--output", "r")
    assert (code, printed, err.splitlines()[-1]) == (0, "", "wrote r")
    assert (tmp_path / "demo" / "r").read_text(encoding="utf-8").strip() == out.strip()
    assert (
        sorted(path.name for path in tmp_path.joinpath("demo").iterdir() if path.name[0] == ".")
        == []
    )


def test_sql_prints_runs_and_shows_views(demo: Say) -> None:
    assert demo("sql", "faithfulness")[1].rstrip().endswith(";")
    assert demo("sql", "deciding_labels")[1].startswith("create view deciding_labels as")
    shown = json.loads(demo("sql", "claim_labels", "--run", "baseline", "--format", "json")[1])
    assert {row["run_id"] for row in shown["rows"]} == {"baseline"}
    assert sum(row["verdict"] == "supported" for row in shown["rows"]) == 209
    rows = json.loads(demo("sql", "faithfulness", "--run", "baseline", "--format", "json")[1])[
        "rows"
    ]
    assert sum(row["numerator"] for row in rows) == 209
    assert demo("sql", "faithfulness", "--run", "baseline", "--format", "csv")[1].startswith(
        "query_type,stakes,cluster_id,numerator,denominator,asked\n"
    )


def test_sql_as_csv_holds_no_formula(demo: Say) -> None:
    Path("metrics/own.sql").write_text(
        "-- title: Own\n-- meaning: Own.\n-- grain: item\n"
        "select '=1+1' as \"=cmd()\", '-x' as cluster_id, -1 as numerator, 1 as denominator\n"
        "from runs where run_id = :run_id",
        encoding="utf-8",
    )
    _, out, err = demo("sql", "own", "--run", "baseline", "--format", "csv")
    assert out == "'=cmd(),cluster_id,numerator,denominator\n'=1+1,'-x,-1,1\n", err


@pytest.mark.each_engine
def test_sql_as_json_on_postgresql(say: Say, demo_place: str) -> None:
    """Sums are numbers there too, for every metric."""
    from claimwise.metrics import load_metrics

    for name in load_metrics():
        options = ("--run", "baseline", "--format", "json", "--store", demo_place)
        code, out, _ = say("sql", name, *options)
        assert code == 0
        assert all(isinstance(row["numerator"], int) for row in json.loads(out)["rows"])


def test_stored_text_can_not_steer_the_terminal(say: Say) -> None:
    from claimwise.store import open_store
    from small_data import answer, item, label, load
    from small_data import run as a_run

    with open_store("s.db", create=True) as store:
        load(
            store, a_run("x[/b]", system="[red]s[/red]\x1b[31m"), item("i[/b]"),
            answer("i[/b]", "one", run_id="x[/b]"), label("i[/b]", "one", "stale", run_id="x[/b]"),
        )  # fmt: skip
    for command in (["runs"], ["sql", "faithfulness", "--run", "x[/b]"], ["metrics"], ["report"]):
        code, out, _ = say("--store", "s.db", *command)
        assert code == 0, command
        assert "\x1b[31m" not in out
        assert "[/b]" in out
    assert "[red]s[/red]" in say("--store", "s.db", "runs")[1]


def test_demo_does_not_touch_a_project_of_yours(say: Say, tmp_path: Path) -> None:
    assert say("init", "mine")[0] == 0
    code, _, err = say("demo", "mine")
    assert code == 1
    assert "name a new or empty folder" in err
    assert say("runs", "--store", "mine/claimwise.db")[1].endswith(
        "start with `claimwise measure FILE` or `claimwise import FILE…`\n"
    )


@pytest.mark.parametrize(
    "arguments", [["init", "/proc/x"], ["demo", "/proc/x"], ["init", "/dev/full"]]
)
def test_places_that_can_not_be_written_are_one_line(say: Say, arguments: list[str]) -> None:
    code, _, err = say(*arguments)
    assert code == 1
    assert err.startswith("error: ")
    assert "Traceback" not in err


def test_labels_of_repeats_name_their_answer(say: Say, tmp_path: Path) -> None:
    assert say("init")[0] == 0
    records = [
        {"type": "items", "item_id": "a", "query": "q", "query_type": "lookup", "answerable": True,
         "stakes": "low", "source_corpus_ver": "v"},
        {"type": "runs", "run_id": "r", "system": "s", "corpus_ver": "v",
         "started_at": "2026-01-01T00:00:00Z"},
        *({"type": "answers", "run_id": "r", "item_id": "a", "sample": n, "answer_text": "x",
           "claims": [{"claim_text": "one"}]} for n in (0, 1)),
        {"type": "labels", "run_id": "r", "item_id": "a", "claim_text": "one", "sample": 1,
         "verdict": "unlinked", "labeler": "ana", "labeled_at": "2026-01-01T00:00:00Z"},
    ]  # fmt: skip
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    code, _, err = say("import", "all.jsonl")
    assert code == 0, err
    found = sqlite3.connect("claimwise.db").execute(
        "select c.sample, l.verdict from claims c "
        "left join labels l using (run_id, item_id, claim_id) order by c.sample"
    )
    assert found.fetchall() == [(0, None), (1, "unlinked")]


def test_report_follows_the_labels_that_decide(demo: Say) -> None:
    options = ("report", "--run", "baseline", "--format", "json", "--labels")
    human = json.loads(demo(*options, "human")[1])
    decided = {one["labeler"]: one["deciding_labels"] for one in human["instruments"]}
    assert decided["verifier:overlap-v0"] == 0
    assert decided["ana"] > 0
    assert not [w for w in human["warnings"] if "agreement with humans unknown" in w]
    ana = json.loads(demo(*options, "labeler:ana")[1])
    assert ana["warnings"] == []


def test_doctor_is_content_with_the_demo(demo: Say) -> None:
    code, out, _ = demo("doctor")
    extras = out.splitlines()[0].partition("extras: ")[2]
    named = metadata("claimwise").get_all("Provides-Extra") or []
    assert [extra for extra in named if extra not in extras] == []
    assert code == 0
    assert "every stored row keeps the rules" in out
    assert "FAULT" not in out


def test_doctor_finds_what_is_broken(demo: Say) -> None:
    db = sqlite3.connect("claimwise.db")
    db.execute("update sources set source_text = 'gone' where source_id = "
               "(select source_id from gold_spans limit 1)")  # fmt: skip
    db.commit()
    code, out, _ = demo("doctor", "--format", "json")
    faults = [f["what"] for f in json.loads(out)["findings"] if f["state"] == "fault"]
    assert code == 1
    assert any(fault.startswith("gold_spans.span_text: found") for fault in faults)
    db.execute("drop view deciding_labels")
    db.close()
    code, out, _ = demo("doctor")
    assert code == 1
    assert "FAULT  the view deciding_labels is gone" in out


def test_doctor_lists_labels_dated_ahead_of_now(demo: Say) -> None:
    """Older versions took them; nothing that anybody says later would count."""
    db = sqlite3.connect("claimwise.db")
    db.row_factory = sqlite3.Row
    for table in ("labels", "closed_book_labels", "answer_labels"):
        row = dict(db.execute(f"select * from {table} limit 1").fetchone())
        row["labeled_at"] = "9999-12-31 23:59:59.999999"
        marks = ", ".join("?" * len(row))
        db.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", tuple(row.values()))
    db.commit()
    key = "run_id, item_id, claim_id, labeler"
    ahead = db.execute(f"select {key} from labels where labeled_at > '9999'").fetchone()
    db.close()
    code, out, _ = demo("doctor", "--format", "json")
    advice = [f["what"] for f in json.loads(out)["findings"] if f["state"] == "advice"]
    assert code == 0
    run_id, item_id, claim_id, labeler = ahead
    told = (
        f"{labeler}'s label of claim {claim_id} (item {item_id}, run {run_id}) is dated 9999-12-31"
    )
    assert [one for one in advice if one.startswith(told)]
    assert len([one for one in advice if "ahead of now: no later label outranks it" in one]) == 3
    retraction = {**dict(zip(key.split(", "), ahead, strict=True)), "retracted_by": "ana",
                  "labeled_at": "9999-12-31T23:59:59.999999Z",
                  "retracted_at": "2026-11-01T00:00:00Z"}  # fmt: skip
    Path("label_retractions.jsonl").write_text(json.dumps(retraction), encoding="utf-8")
    assert demo("import", "label_retractions.jsonl")[0] == 0
    code, out, _ = demo("doctor")
    assert out.count("ahead of now") == 2


def test_export_import_round_trip(demo: Say, tmp_path: Path) -> None:
    for form in ("jsonl", "csv", "parquet"):
        assert demo("export", f"out-{form}", "--format", form)[0] == 0
        assert demo("init", f"new-{form}")[0] == 0
        store = f"new-{form}/claimwise.db"
        assert demo("import", f"out-{form}", "--store", store)[0] == 0
        assert demo("export", f"again-{form}", "--store", store)[0] == 0
        for path in sorted((tmp_path / "demo" / "out-jsonl").iterdir()):
            again = tmp_path / "demo" / f"again-{form}" / path.name
            assert again.read_bytes() == path.read_bytes(), f"{form}: {path.name}"


def test_import_reports_what_it_did(demo: Say, tmp_path: Path) -> None:
    code, out, _ = demo("import", "data", "--format", "json")
    kinds = {kind["kind"]: kind for kind in json.loads(out)["kinds"]}
    assert code == 0
    assert (kinds["items"]["added"], kinds["items"]["unchanged"]) == (0, 84)
    dubious = {"run_id": "baseline", "item_id": "lookup-01", "verdict": "supported",
               "labeler": "ben", "labeled_at": "2026-11-01T00:00:00Z"}  # fmt: skip
    db = sqlite3.connect("claimwise.db")
    [claim_id] = db.execute(
        "select claim_id from claims where item_id = 'lookup-01' and run_id = 'baseline' "
        "and claim_type <> 'non_factual' limit 1"
    ).fetchone()
    db.close()
    Path("labels.jsonl").write_text(json.dumps({**dubious, "claim_id": claim_id}), encoding="utf-8")
    code, out, err = demo("import", "labels.jsonl")
    assert (code, out) == (1, "")
    assert "labels.jsonl:1: supporting_span: found nothing, expected" in err
    told = "1 label breaks the labelling guide"
    assert f"{told}: correct the file, or import it with --lenient" in err
    assert told not in demo("doctor")[1]
    code, out, err = demo("import", "labels.jsonl", "--lenient")
    assert (code, out) == (0, "labels               added 1\n")
    assert f"warning: {told}: reports say so beside their figures" in err
    because = f"{told} (imported with --lenient, or by an older version)"
    assert f"advice {because}" in demo("doctor")[1]
    for form in ("text", "markdown", "json"):
        assert because in " ".join(demo("report", "--run", "baseline", "--format", form)[1].split())


def test_command_runs_as_a_program(demo: Say, tmp_path: Path) -> None:
    """The installed script, with a reader that goes away after one line."""
    program = Path(sys.executable).parent / "claimwise"
    shell = f"{program} metrics --run baseline | head -1"
    done = subprocess.run(
        shell, shell=True, capture_output=True, text=True, cwd=tmp_path / "demo", check=False
    )
    assert "Traceback" not in done.stderr
    assert done.stdout.count("\n") == 1


def test_our_own_fault_says_so(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("claimwise.cli.runs.open_project_store", broken)
    code, _, err = say("runs")
    assert code == 70
    assert "This is a bug in claimwise" in err


def test_export_for_a_tool_writes_the_latest_run(demo: Say, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    code, out, err = demo("export", "--to", "ragas", str(path))
    assert code == 0
    assert out == f"{path}  84\n"
    assert err.startswith("Using latest run candidate")
    assert len(path.read_text(encoding="utf-8").splitlines()) == 84
    code, out, err = demo("export", "--to", "ragas", "--run", "nope", str(path))
    assert code == 1
    assert "Unknown run 'nope'" in err


def test_export_refuses_options_that_do_not_go_together(demo: Say, tmp_path: Path) -> None:
    for options, told in {
        ("--run", "candidate"): "--run goes with --to",
        ("--format", "json"): "--format json goes with --to",
    }.items():
        code, _, err = demo("export", *options, str(tmp_path / "out"))
        assert code == 1
        assert told in err
    file = tmp_path / "file"
    file.write_text("mine")
    code, _, err = demo("export", str(file))
    assert code == 1
    assert "a file; name the folder to write to" in err
    assert file.read_text() == "mine"
