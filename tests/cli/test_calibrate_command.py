"""``claimwise calibrate`` on the demo project, and what reports say afterwards."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.demo import list_demo_files
from claimwise.pipeline import import_files
from claimwise.pipeline.calibrating import calibrate_verifier
from claimwise.store import open_store


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the demo's store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    with open_store(tmp_path / "claimwise.db", create=True) as store:
        import_files(store, list_demo_files())
    return tmp_path


def test_text(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "--verifier", "overlap"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "verifier:overlap-v0, grounded verdicts, by people's labels" in told
    assert "422 claims of 74 items that people labelled and it judged" in told
    assert "balanced accuracy 0.743 [" in told
    assert "On 114 claims that several people labelled: kappa among people" in told
    assert "domain=refunds unknown" in told
    assert "Kept: gates and reports use it until" in told
    assert "nan" not in told


def test_json_has_everything_and_is_kept(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "--verifier", "overlap", "--by", "", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    one = found["overall"]
    assert (found["schema"], one["claims"], found["slices"]) == ("claimwise.calibration/1", 422, [])
    assert one["matrix"]["supported"]["supported"] == 317
    assert one["rule"]["level"] == 0.75
    assert run(["report", "--run", "baseline", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    told = {row["labeler"]: row["calibration"] for row in report["instruments"]}
    assert told["verifier:overlap-v0"].startswith("unknown until 20")
    assert told["ana"] is None
    assert report["corrected"] == []


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_reports_name_the_calibration(
    demo: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    run(["calibrate", "--verifier", "overlap"])
    capsys.readouterr()
    assert run(["report", "--run", "baseline", "--format", form]) == 0
    told = " ".join(capsys.readouterr().out.split()).replace("\\", "")
    assert "verifier:overlap-v0, by its calibration: unknown in domain=assistance" in told


def test_markdown_and_a_dry_run(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "--verifier", "overlap", "--dry-run", "--format", "markdown",
                "--by", "query_type", "--level", "0.6", "--margin", "0.3"]) == 0  # fmt: skip
    told = capsys.readouterr().out
    assert "# Calibration of verifier:overlap-v0" in told
    assert "**trusted until" in told
    assert "Not kept (--dry-run)." in told
    assert "| it said" in told
    with open_store("claimwise.db") as store:
        assert store.query("select count(*) from calibrations") == [(0,)]


def test_closed_book(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "--verifier", "judge", "--closed-book"]) == 1
    assert "found no closed-book verdict of it on claims that people" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--verifier", "nope"], "found no instrument 'nope', expected one of:"),
        (["--verifier", "overlap", "--by", "colour"], "found the slice 'colour'"),
        (["--verifier", "overlap", "--run", "nope"], "found the run 'nope'"),
        (["--verifier", "overlap", "--level", "nan"], "expected a number"),
        ([], "Missing option '--verifier'"),
    ],
)
def test_what_is_wrong(
    demo: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(["calibrate", *arguments]) == 1
    assert words in capsys.readouterr().err


def test_doctor_advises_to_calibrate_again(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store("claimwise.db") as store:
        calibrate_verifier(store, "overlap", now=datetime(2026, 1, 1))  # noqa: DTZ001
    assert run(["doctor"]) == 0
    told = capsys.readouterr().out
    assert "advice the calibration of verifier:overlap-v0 has expired" in told
