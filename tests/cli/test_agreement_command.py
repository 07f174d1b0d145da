"""``claimwise agreement`` as a user types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from claimwise.cli.main import run

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(say_here: Say, own_demo: Path) -> Say:
    """Commands in a folder with the demo's data."""
    assert run(["init"]) == 0
    return say_here


def test_the_figures_lead_to_the_sentence_to_mend(say: Say) -> None:
    code, out, _ = say("agreement", "--run", "baseline", "--by", "query_type")
    assert code == 0
    said = " ".join(out.split())
    assert "Measured on 67 claims with two labels or more (19 items); 178 more have" in said
    assert "Fleiss' kappa 0.65 0.32 to 0.83" in said
    assert "Too few shared claims: on 67 claims, kappa could be anything from 0.32 to 0.83" in said
    assert "Start with supported or stale: 4 of the 8 claims on which people differ." in said
    assert "Most labels (81%) are supported, so two people often agree by chance" in said
    assert "query_type=ambiguous" in said
    assert "lookup-13: “The Thornwick ticket office" in said


def test_json_holds_what_the_text_says(say: Say) -> None:
    code, out, _ = say("agreement", "--run", "baseline", "--format", "json", "--by", "")
    found = json.loads(out)
    assert code == 0
    assert (found["format"], found["advice"], found["prevalence_trap"]) == (
        1,
        "too few shared claims",
        True,
    )
    assert found["overall"]["fleiss"]["value"] == pytest.approx(0.6454, abs=5e-5)
    assert found["several_labels"] == found["overall"]["claims"] == 67
    assert found["slices"] == []
    assert [len(pair["claims"]) for pair in found["disagreements"]] == [4, 1, 1, 1, 1]


def test_several_runs_are_taken_together(say: Say) -> None:
    names = ("--run", "baseline", "--run", "candidate")
    code, out, _ = say("agreement", *names, "--by", "", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert found["runs"] == ["baseline", "candidate"]
    assert found["several_labels"] > 67
    _, out, _ = say("agreement", *names, "--by", "run_id")
    said = " ".join(out.split())
    assert "Labeler agreement on the claims of baseline, candidate" in said
    assert "an item is one cluster across the runs" in said
    assert "run_id=candidate" in said


def test_markdown(say: Say) -> None:
    code, out, _ = say("agreement", "--run", "baseline", "--format", "markdown")
    assert code == 0
    assert out.startswith("# Labeler agreement on the claims of baseline")
    assert "| Fleiss' kappa | 0.65 | 0.32 to 0.83 |" in out
    assert "### supported or stale: 4 claims" in out


def test_the_latest_run_is_chosen(say: Say) -> None:
    code, out, err = say("agreement")
    assert code == 0
    assert "Using latest run candidate" in err
    assert "claims of candidate" in out


def test_labels_without_sources(say: Say) -> None:
    code, out, _ = say("agreement", "--run", "baseline", "--closed-book")
    assert code == 0
    assert "judged without sources" in out


def test_an_export_can_be_measured_too(say: Say) -> None:
    """Parquet files hold labels and no rounds."""
    assert say("export", "out", "--format", "parquet")[0] == 0
    _, stored, _ = say("agreement", "--run", "baseline", "--format", "json")
    code, exported, err = say(
        "agreement", "--run", "baseline", "--format", "json", "--store", "out"
    )
    assert code == 0, err
    assert json.loads(exported) == json.loads(stored)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--run", "nope"), "Unknown run 'nope'"),
        (("--round", "nope"), "round 'nope'"),
        (("--by", "nope"), "Unknown column 'nope'"),
        (
            ("--confidence", "1"),
            "confidence must be above 0.5 and at most 0.9999, such as 0.95, not 1.0",
        ),
        (
            ("--confidence", "nan"),
            "confidence must be above 0.5 and at most 0.9999, such as 0.95, not nan",
        ),
    ],
)
def test_bad_options_are_one_line(say: Say, arguments: tuple[str, ...], told: str) -> None:
    code, out, err = say("agreement", *arguments)
    assert code == 1
    assert out == ""
    [line] = [line for line in err.splitlines() if line.startswith("error:")]
    assert told in line
