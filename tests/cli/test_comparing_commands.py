"""compare, drift and plan as a user types them: output, exit code, files."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.store import open_store

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def demo(
    own_demo: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Say:
    """Run a command in a folder with the demo's runs; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_compare_on_the_terminal(demo: Say) -> None:
    code, out, err = demo(
        "compare", "baseline", "candidate", "--by", "query_type", "--items", "1", "--full"
    )  # fmt: skip
    assert (code, err[:5]) == (0, "hint:")
    assert "95% ranges over 84 shared items, paired" in out
    assert "Both runs were asked the same items." in out
    for title in ("Faithfulness", "Abstention", "Answer correctness"):
        assert f"\n{title}\n" in out
    assert "Clearly better: " in out
    assert out.count("multi-17") == 1


def test_compare_writes_a_page(demo: Say, tmp_path: Path) -> None:
    code, out, err = demo("compare", "baseline", "candidate", "--format", "html", "-o", "page.html")
    assert (code, out) == (0, "")
    assert "wrote page.html" in err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>baseline to candidate</title>" in page


def test_compare_as_markdown_text_and_json(demo: Say, tmp_path: Path) -> None:
    arguments = ("compare", "baseline", "candidate", "--metric", "over_refusal", "--by", "")
    code, out, _ = demo(*arguments, "--format", "markdown")
    assert code == 0
    assert out.startswith("# baseline to candidate, 84 shared items; changes in points\n")
    code, out, _ = demo(*arguments, "--format", "markdown", "--full")
    assert out.startswith("# baseline to candidate\n")
    code, out, _ = demo(*arguments, "--format", "json")
    found = json.loads(out)
    assert [metric["metric"] for metric in found["metrics"]] == ["abstention"]
    assert found["metrics"][0]["slices"] == []
    assert demo(*arguments, "-o", "page.txt")[0] == 0
    page = (tmp_path / "page.txt").read_text(encoding="utf-8")
    assert page.startswith("Runs          baseline to candidate, 84 shared items")
    assert len(page.splitlines()) <= 25


def test_drift_in_every_format(demo: Say) -> None:
    code, out, err = demo("drift", "baseline", "candidate")
    assert (code, err[:5]) == (0, "hint:")
    assert "faithfulness: 84% to 87%, +3.3 points (−2.1 to +8.8)" in out
    assert "both runs used corpus 2026-09" in out
    code, out, _ = demo("drift", "baseline", "candidate", "--format", "json", "--confidence", "0.9")
    (found,) = json.loads(out)["drifts"]
    assert found["settings"]["confidence"] == 0.9
    assert [part["causes"] for part in found["parts"]] == [
        ["system"], ["instrument"], ["evidence"], ["mix"],
    ]  # fmt: skip
    code, out, _ = demo("drift", "baseline", "candidate", "--format", "markdown", "--metric",
                        "abstention")  # fmt: skip
    assert out.count("\n## ") == 2
    code, out, _ = demo("drift", "baseline", "candidate", "--metric", "over_refusal")
    assert "over refusal: 4.5% to 12%" in out
    assert "correct abstention" not in out


def test_plan_in_every_format(demo: Say) -> None:
    code, out, err = demo("plan", "--by", "query_type")
    assert (code, err) == (0, "")
    assert "the correlation of runs from baseline and candidate." in " ".join(out.split())
    assert "query_type=aggregation" in out
    code, out, _ = demo("plan", "--run", "baseline", "--format", "json", "--by", "")
    found = json.loads(out)
    assert (found["run_id"], found["base_id"]) == ("baseline", None)
    code, out, _ = demo("plan", "--base", "baseline", "--format", "markdown", "--drop", "0.1")
    assert "To detect a drop of 10 points in faithfulness" in out


def test_plan_before_anything_is_measured(demo: Say, tmp_path: Path) -> None:
    with open_store(tmp_path / "empty.db", create=True):
        pass
    code, out, _ = demo("plan", "--store", "empty.db")
    assert code == 0
    assert "No run is stored: every figure is assumed." in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "baseline", "nope"], "Unknown run 'nope'"),
        (["compare", "baseline", "baseline"], "Both runs are 'baseline'"),
        (["compare", "baseline", "candidate", "--metric", "x"], "Unknown metric 'x'"),
        (["compare", "baseline", "candidate", "--by", "x"], "Unknown column 'x'"),
        (["compare", "baseline", "candidate", "--labels", "x"], "Unknown labels 'x'. Choose def"),
        (["compare", "baseline"], "Missing argument 'NEW'"),
        (["drift", "nope", "candidate"], "Unknown run 'nope'"),
        (["drift", "candidate", "candidate"], "Both runs are 'candidate'"),
        (["drift", "baseline", "candidate", "--metric", "x"], "Unknown metric 'x'"),
        (["drift", "baseline", "candidate", "--labels", "labeler:nobody"],
         "Unknown labeler 'nobody'"),
        (["drift", "baseline", "candidate", "--confidence", "7"],
         "at most 0.9999, such as 0.95, not 7.0"),
        (["plan", "--run", "nope"], "Unknown run 'nope'"),
        (["plan", "--run", "candidate", "--base", "candidate"], "Both runs are 'candidate'"),
        (["plan", "--drop", "0"], "drop must be between 0 and 1, such as 0.05, not 0.0"),
        (["plan", "--by", "corpus_ver"], "'corpus_ver' is a column of runs"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line_and_exit_1(demo: Say, arguments: list[str], said: str) -> None:
    code, out, err = demo(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert said in err
    assert len([line for line in err.splitlines() if not line.startswith("help:")]) == 1


def test_a_projects_main_metric_is_reported_and_compared_without_being_asked_for(demo: Say) -> None:
    written = files("claimwise.demo").joinpath("metrics", "overreach_share.sql")
    text = written.read_text("utf-8")
    path = Path("metrics/overreach_share.sql")
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    Path("claimwise.toml").write_text("", "utf-8")

    def list_found(*arguments: str) -> list[str]:
        code, out, err = demo(*arguments, "--format", "json")
        assert code == 0, err
        return [one["metric"] for one in json.loads(out)["metrics"]]

    assert "overreach_share" not in list_found("compare", "baseline", "candidate")
    assert list_found("report", "--run", "baseline")[-1] == "overreach_share"
    path.write_text(text.replace("-- role: detail", "-- role: main\n-- order: 15"), "utf-8")
    assert list_found("compare", "baseline", "candidate")[1] == "overreach_share"
    assert list_found("report", "--run", "baseline")[1] == "overreach_share"


def test_weights_that_leave_a_group_out_are_refused_in_one_line(demo: Say, tmp_path: Path) -> None:
    shares = "[weights]\nquery_type = { lookup = 0.7, multi_hop = 0.3 }\n"
    (tmp_path / "claimwise.toml").write_text(shares, encoding="utf-8")
    for command in (["compare", "baseline", "candidate"], ["drift", "baseline", "candidate"],
                    ["plan"], ["metrics"]):  # fmt: skip
        code, _, err = demo(*command)
        assert code == 1
        last = err.strip().splitlines()[-1]
        assert last.startswith("error: [weights] query_type has no share for 'aggregation'"), err
