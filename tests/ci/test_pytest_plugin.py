"""The plugin as users meet it: a real pytest in a project of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from claimwise.pytest_plugin import assert_faithful
from claimwise.store import open_store
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores
from small_data import answer, item, label, load, run, source

SOURCE = "The tower is 139 m tall. It opened in 1999."


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CLAIMWISE_", "GITHUB_", "PYTEST_", "COV_"))
    }
    # Hypothesis' plugin, which takes a second to load, is nothing that users of ours need.
    without = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    command = [sys.executable, "-m", "pytest", *without, *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


def make_project(folder: Path, gates: str, items: int = 20, wrong: int = 0) -> None:
    """Make a project of one run: so many items, of which some answers are contradicted."""
    (folder / "claimwise.toml").write_text(gates, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")
    names = [f"q{n:02}" for n in range(items)]
    with open_store(folder / "claimwise.db", create=True) as store:
        load(
            store,
            source(),
            *(item(name) for name in names),
            run(),
            *(answer(name, "It is tall.") for name in names),
            *(
                label(name, "It is tall.", "contradicted" if n < wrong else "supported")
                for n, name in enumerate(names)
            ),
        )


FLOOR = '[[gates]]\nname = "floor"\nmetric = "faithfulness"\nmin = 0.7\n'
TEST = """
def test_floor(claimwise_gate):
    report = claimwise_gate('floor')
    assert report.gates
"""


# Gates.


def test_gates_that_pass(tmp_path: Path) -> None:
    make_project(tmp_path, FLOOR)
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
    done = run_pytest(tmp_path, "--claimwise", "-v")
    assert done.returncode == 0, done.stdout
    assert "test_it.py::test_floor PASSED" in done.stdout
    assert "claimwise.toml::floor PASSED" in done.stdout


def test_gates_that_fail_show_what_was_decided(tmp_path: Path) -> None:
    make_project(tmp_path, FLOOR, wrong=16)
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
    done = run_pytest(tmp_path, "--claimwise")
    assert done.returncode == 1
    assert "2 failed" in done.stdout
    assert done.stdout.count("FAIL  floor: Faithfulness at least 70%") >= 2
    assert ">       report = claimwise_gate('floor')" in done.stdout
    assert "pytest_plugin.py" not in done.stdout.replace("claimwise.pytest_plugin", "")


def test_project_in_a_subfolder(tmp_path: Path) -> None:
    """A repository of several projects: every test has the gates nearest to it."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for name, wrong in (("good", 0), ("bad", 16)):
        (tmp_path / name / "tests").mkdir(parents=True)
        make_project(tmp_path / name, FLOOR, wrong=wrong)
        (tmp_path / name / "pytest.ini").unlink()
        (tmp_path / name / "tests" / f"test_{name}.py").write_text(TEST, encoding="utf-8")
    done = run_pytest(tmp_path, "-v")
    assert "good/tests/test_good.py::test_floor PASSED" in done.stdout
    assert "bad/tests/test_bad.py::test_floor FAILED" in done.stdout
    assert "GateFailed" in done.stdout
    done = run_pytest(tmp_path / "good", "--claimwise", "-v")
    assert done.returncode == 0, done.stdout
    assert "claimwise.toml::floor PASSED" in done.stdout
    assert "2 passed" in done.stdout


def test_without_the_option_no_gate_is_run(tmp_path: Path) -> None:
    make_project(tmp_path, FLOOR, wrong=16)
    assert run_pytest(tmp_path).returncode == 5


def test_gates_can_be_chosen(tmp_path: Path) -> None:
    make_project(tmp_path, FLOOR + FLOOR.replace("floor", "other"))
    (tmp_path / "test_it.py").write_text("def test_one():\n    assert 1\n", encoding="utf-8")
    assert "2 passed, 1 deselected" in run_pytest(tmp_path, "--claimwise", "-m", "claimwise").stdout
    assert "1 passed, 2 deselected" in run_pytest(tmp_path, "--claimwise", "-k", "other").stdout


def test_inconclusive_gate_fails(tmp_path: Path) -> None:
    make_project(tmp_path, FLOOR, items=3)
    done = run_pytest(tmp_path, "--claimwise")
    assert done.returncode == 1
    assert "INCONCLUSIVE  floor" in done.stdout


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("", "1 skipped"),
        ("claimwise_inconclusive = xfail\n", "1 xfailed"),
        # This project turns warnings into errors; one that does not would see the warning.
        ("claimwise_inconclusive = warn\n", "InconclusiveGateWarning"),
    ],
)
def test_inconclusive_gate_that_only_warns_never_just_passes(
    tmp_path: Path, setting: str, told: str
) -> None:
    make_project(tmp_path, FLOOR + 'on_inconclusive = "warn"\n', items=3)
    with (tmp_path / "pytest.ini").open("a", encoding="utf-8") as file:
        file.write(setting)
    done = run_pytest(tmp_path, "--claimwise", "-ra")
    assert told in done.stdout
    assert "1 passed" not in done.stdout


def test_gate_that_could_not_run_fails_in_one_line(tmp_path: Path) -> None:
    make_project(tmp_path, FLOOR)
    done = run_pytest(tmp_path, "--claimwise", "--claimwise-run", "nonsense")
    assert done.returncode == 1
    assert "the gate could not be decided: " in done.stdout
    assert "Traceback" not in done.stdout
    (tmp_path / "test_it.py").write_text(TEST.replace("'floor'", "'roof'"), encoding="utf-8")
    done = run_pytest(tmp_path)
    assert done.returncode == 1
    assert "Unknown gate 'roof'" in done.stdout


@pytest.mark.parametrize(
    ("gates", "words"),
    [
        ("", "there are no [[gates]]"),
        (
            "[[gates]]\nmetrik = 1\n",
            "claimwise.toml: [[gates]] 1: Unknown key 'metrik'. Known keys: ",
        ),
    ],
)
def test_wrong_settings_are_a_usage_error(tmp_path: Path, gates: str, words: str) -> None:
    make_project(tmp_path, gates)
    done = run_pytest(tmp_path, "--claimwise")
    assert done.returncode == 4
    assert words in done.stderr


def test_unknown_way_is_a_usage_error(tmp_path: Path) -> None:
    make_project(tmp_path, FLOOR)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nclaimwise_inconclusive = pass\n", encoding="utf-8"
    )
    done = run_pytest(tmp_path, "--claimwise")
    assert done.returncode == 4
    assert "must be one of skip, xfail, warn, not 'pass'" in done.stderr


def test_plugin_costs_next_to_nothing_when_unused() -> None:
    """Every pytest of every user loads it: nothing else of ours may come with it."""
    code = (
        "import sys, pytest; before = set(sys.modules); import claimwise.pytest_plugin; "
        "new = set(sys.modules) - before; "
        "print(sorted(m for m in new if m.partition('.')[0] not in sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['claimwise', 'claimwise.pytest_plugin']"


# Answers.


def explain(text: str, **options: object) -> list[str]:
    with pytest.raises(AssertionError) as caught:
        assert_faithful(text, SOURCE, verifier="lexical", **options)  # type: ignore[arg-type]
    return str(caught.value).splitlines()


def test_faithful_answer_returns_its_claims() -> None:
    result = assert_faithful("The tower is 139 m tall.", SOURCE, verifier="lexical")
    assert result.rate == 1


def test_unfaithful_answer_is_shown_like_a_diff() -> None:
    head, *lines = explain("The tower is 200 m tall. The tower opened in 1999.")
    assert head == "1 of 2 claims are supported: 50% is under 100%"
    assert lines[0] == "  - The tower is 200 m tall."
    assert lines[1] == "  + The tower is 139 m tall.  [source:0–24]"
    assert lines[2] == "  ? contradicted: the source says 139 m, the claim 200 m"
    assert lines[3] == "    The tower opened in 1999."
    assert "judged by verifier:lexical-" in lines[4]


def test_lower_rate_may_be_enough() -> None:
    text = "The tower is 200 m tall. The tower opened in 1999."
    assert assert_faithful(text, SOURCE, min_rate=0.5, verifier="lexical").rate == 0.5


@pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan")])
def test_rate_outside_0_to_1_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="min_rate must be between 0 and 1"):
        assert_faithful("The tower is tall.", SOURCE, min_rate=rate)


def test_answer_without_claims_does_not_pass() -> None:
    lines = explain("I don't know.", min_rate=0.0)
    assert lines[0] == "the answer makes no claim: there is no rate to compare with 0%"
    assert lines[-1] == "warning: the answer makes no checkable claim: it is a refusal"


class Failing:
    """A verifier that judges the first claim of an answer and fails on the rest."""

    name = "failing"
    labeler = "verifier:failing-1"
    threshold = 0.5

    def score_claims(self, claims: list[str], document: str) -> list[Scores | None]:
        return [None for _ in claims]

    def judge_answer(
        self, claims: list[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        first, *rest = claims
        judged = [ClaimVerdict(claim=first, verdict="supported")]
        return [*judged, *(ClaimVerdict(claim=claim, unscored="timeout") for claim in rest)], []


def test_unscored_claims_do_not_pass() -> None:
    text = "The tower is 139 m tall. The tower opened in 1999."
    with pytest.raises(AssertionError) as caught:
        assert_faithful(text, SOURCE, min_rate=0.9, verifier=Failing())  # type: ignore[arg-type]
    lines = str(caught.value).splitlines()
    assert lines[0] == "1 claim was not scored: the rate may be under 90%"
    assert "  ? not scored (timeout)" in lines
    assert_faithful(text, SOURCE, min_rate=0.5, verifier=Failing())  # type: ignore[arg-type]


def test_hostile_answer_steers_no_terminal() -> None:
    text = "\n".join(explain("The tower is 200 m\x1b[2J tall."))
    assert "\x1b" not in text


def test_failure_points_at_the_line_of_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from claimwise.pytest_plugin import assert_faithful\n\n"
        "def test_it():\n"
        f"    assert_faithful('The tower is 200 m tall.', {SOURCE!r}, verifier='lexical')\n",
        encoding="utf-8",
    )
    done = run_pytest(tmp_path)
    assert done.returncode == 1
    assert ">       assert_faithful(" in done.stdout
    assert "E         - The tower is 200 m tall." in done.stdout
    assert "test_it.py:4: AssertionError" in done.stdout
    assert "def assert_faithful" not in done.stdout
