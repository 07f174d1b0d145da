"""``claimwise gate`` as a build calls it: exit codes, files, what GitHub reads."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from claimwise.cli.main import run

Say = Callable[..., tuple[int, str, str]]

PASSING = '[[gates]]\nname = "ok"\nmetric = "faithfulness"\nmin = 0.5\n'
FAILING = (
    '[[gates]]\nname = "bad"\nmetric = "faithfulness"\nmin = 0.97\nlabels = "human"\n'
    'by = ["query_type"]\n'
)
UNCERTAIN = '[[gates]]\nname = "unsure"\nmetric = "faithfulness"\nmin = 0.78\n'
WARNING = UNCERTAIN.replace("unsure", "mild") + 'on_inconclusive = "warn"\n'


@pytest.fixture
def say(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    written_demo: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Say:
    """Run a command inside a copy of the demo project."""
    for name in ("CLAIMWISE_STORE", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    shutil.copytree(written_demo, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def write_gates(*gates: str) -> None:
    Path("claimwise.toml").write_text("\n".join(gates), encoding="utf-8")


@pytest.mark.parametrize(
    ("gates", "code", "words"),
    [
        ([PASSING], 0, "PASS  ok"),
        ([PASSING, FAILING], 2, "FAIL  bad"),
        ([PASSING, UNCERTAIN], 3, "INCONCLUSIVE  unsure"),
        ([UNCERTAIN, FAILING], 2, "INCONCLUSIVE  unsure"),
        ([PASSING, WARNING], 0, "INCONCLUSIVE (WARNS)  mild"),
    ],
)
def test_exit_codes(say: Say, gates: list[str], code: int, words: str) -> None:
    write_gates(*gates)
    found, out, err = say("gate")
    assert found == code
    assert words in out
    assert "Using latest run candidate" in err


@pytest.mark.parametrize(
    ("gates", "arguments", "words"),
    [
        ("", [], "no gates yet; add one"),
        (PASSING, ["--run", "nope"], "Unknown run 'nope'"),
        (PASSING, ["--gate", "nope"], "Unknown gate 'nope'"),
        (PASSING.replace("faithfulness", "truth"), [], "Unknown metric 'truth'"),
        (PASSING + 'by = ["colour"]', [], "Unknown column 'colour'"),
        (PASSING + 'where = { stakes = "none" }', [], "where stakes=none"),
        (PASSING + 'labels = "labeler:nobody"', [], "Unknown labeler 'nobody'"),
        (PASSING.replace("0.5", "5.0"), [], "min must be above 0 and below 1, not 5"),
        (PASSING.replace("min = 0.5", 'baseline = "candidate"'), [], "the run itself"),
        ("[gates]\nmin = 0.5\n", [], "[[gates]] Expected `array`"),
    ],
)
def test_what_can_not_run_exits_with_1_and_one_line(
    say: Say, gates: str, arguments: list[str], words: str
) -> None:
    write_gates(gates)
    code, out, err = say("gate", *arguments)
    assert (code, out) == (1, "")
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert words in line


SPEC = (
    '[[gates]]\nmetric = "faithfulness"\nby = ["query_type"]\nmin = 0.95\n\n'
    '[[gates]]\nmetric = "over_refusal"\nmax = 0.4\n'
)


def test_the_two_gates_of_the_spec_work_as_it_writes_them(say: Say) -> None:
    """Worst-slice faithfulness and over-refusal, and nothing else: the twin stands beside."""
    write_gates(SPEC)
    code, out, _ = say("gate")
    assert code == 2
    assert "FAIL  faithfulness-query_type" in out
    assert "PASS  over_refusal" in out
    assert "Also: correct abstention is 88% (" in out
    assert "a system that never declines would pass this one" in " ".join(out.split())
    document = json.loads(say("gate", "--format", "json")[1])
    twins = [gate["twin"] and gate["twin"]["member"] for gate in document["gates"]]
    assert twins == [None, "correct_abstention"]
    assert "Also: correct abstention" in say("gate", "--format", "markdown")[1]


def test_a_gate_on_the_other_half_leaves_no_twin(say: Say) -> None:
    write_gates(SPEC, '[[gates]]\nmetric = "correct_abstention"\nmin = 0.3\n')
    assert "Also:" not in say("gate")[1]


def test_no_gate_ever_stops_another_command(say: Say) -> None:
    person = '{"type": "labelers", "labeler": "eve", "labeler_kind": "human"}\n'
    Path("x.jsonl").write_text(person, encoding="utf-8")
    for settings in (SPEC, "[gates]\nmin = 5", 'gates = "all"', "gates = [3]"):
        write_gates(settings)
        for command in ("runs", "metrics --metric faithfulness", "import x.jsonl", "incidents"):
            code, _, err = say(*command.split())
            assert code == 0, (settings, command, err)
            assert ("warning:" in err) == (command == "incidents" and settings is not SPEC)


def test_results_are_kept_with_their_inputs_and_listed(say: Say) -> None:
    write_gates(PASSING, FAILING)
    assert "No gate was ever decided here" in say("gate", "--history")[1]
    say("gate", "--run", "baseline", "--gate", "ok")
    say("gate")
    code, out, _ = say("gate", "--history", "--format", "json")
    assert code == 0
    document = json.loads(out)
    assert document["schema"] == "claimwise.gate-history/1"
    events = document["events"]
    assert [(e["run_id"], e["gate"], e["outcome"], e["blocks"]) for e in events] == [
        ("candidate", "bad", "fail", True),
        ("candidate", "ok", "pass", False),
        ("baseline", "ok", "pass", False),
    ]
    assert events[0]["inputs"]["gate"]["min"] == 0.97
    assert len(events[0]["inputs"]["metric_sha256"]) == 64
    printed = json.loads(say("gate", "--gate", "bad", "--format", "json")[1])
    assert events[0]["decision"]["slices"] == printed["gates"][0]["slices"]
    out = say("gate", "--history", "--gate", "bad")[1]
    assert "fail" in out
    assert "pass" not in out
    assert "baseline" in say("gate", "--history", "--run", "baseline")[1]
    assert say("gate", "--history", "--format", "junit")[0] == 1


def test_a_report_of_a_run_is_no_event(say: Say) -> None:
    """Only who applies gates makes one: reports show what they would say."""
    write_gates(PASSING)
    say("report")
    assert "No gate was ever decided here" in say("gate", "--history")[1]


def test_one_gate_can_be_chosen(say: Say) -> None:
    write_gates(PASSING, FAILING)
    code, out, _ = say("gate", "--gate", "ok", "--run", "baseline")
    assert code == 0
    assert "1 gate on run baseline: 1 passed" in out


def test_files_are_written_beside_what_is_printed(say: Say) -> None:
    write_gates(PASSING, FAILING, WARNING)
    code, out, _ = say(
        "gate", "--junit", "g.xml", "--markdown", "g.md", "--json", "g.json", "--format", "json"
    )
    assert code == 2
    document = json.loads(out)
    assert document == json.loads(Path("g.json").read_text(encoding="utf-8"))
    assert (document["schema"], document["outcome"]) == ("claimwise.gates/1", "fail")
    assert [gate["outcome"] for gate in document["gates"]] == ["pass", "fail", "inconclusive"]
    assert Path("g.md").read_text(encoding="utf-8").startswith("## claimwise gates: failed\n")
    suites = ElementTree.parse("g.xml").getroot()
    slices = sum(len(gate["slices"]) for gate in document["gates"])
    assert int(suites.attrib["tests"]) == len(suites.findall("testsuite/testcase")) == slices
    assert int(suites.attrib["failures"]) == len(suites.findall("testsuite/testcase/failure"))
    assert int(suites.attrib["skipped"]) == 1


def test_an_unwritable_file_is_no_pass(say: Say) -> None:
    write_gates(PASSING)
    code, _, err = say("gate", "--junit", "no/such/folder/g.xml")
    assert code == 1
    assert "error: no/such/folder/g.xml" in err


def test_github_is_told(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    write_gates(FAILING, WARNING)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("before\n", encoding="utf-8")
    code, out, err = say("gate")
    assert code == 2
    assert "::" not in out
    commands = [line for line in err.splitlines() if line.startswith("::")]
    assert any(line.startswith("::error title=bad fail in query_type=") for line in commands)
    assert any(line.startswith("::warning title=mild inconclusive") for line in commands)
    summary = Path("summary.md").read_text(encoding="utf-8")
    assert summary.startswith("before\n## claimwise gates: failed\n")
    code, out, err = say("gate", "--format", "github")
    assert out.startswith("::error ")
    assert "::error" not in err


def test_what_is_printed_is_no_command_of_the_workflow(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrapping puts words of a question or a slice at the start of a line."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    long = "x" * 85
    incident = {
        "type": "items", "item_id": "q", "query": "Why?", "query_type": "lookup",
        "answerable": True, "stakes": "low", "source_corpus_ver": "2026-09",
        "domain": f"{long} ::stop-commands::t ##[add-mask]e",
    }  # fmt: skip
    Path("more.jsonl").write_text(json.dumps(incident), encoding="utf-8")
    assert say("import", "more.jsonl")[0] == 0
    write_gates('[[gates]]\nmetric = "faithfulness"\nby = ["domain"]\nmin = 0.5\n')
    code, out, _ = say("gate")
    assert code == 3
    assert ": :stop-commands::t" in out
    assert not [line for line in out.splitlines() if line.lstrip().startswith("::")]
    assert "##[" not in out
