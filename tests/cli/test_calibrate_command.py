"""``claimwise calibrate`` on the demo project, and what reports say afterwards."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from claimwise.calibration.calibrate import calibrate_verifier
from claimwise.cli.main import run
from claimwise.store import open_store


@pytest.fixture
def demo(own_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the demo's store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def test_text(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "--verifier", "overlap"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "verifier:overlap-v0 (verdicts against sources) compared with people's labels" in told
    assert "422 claims of 74 items that people labelled and it judged" in told
    assert "balanced accuracy 74% (67–81%)" in told
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
    assert run(["report", "--run", "baseline", "--full", "--format", form]) == 0
    told = " ".join(capsys.readouterr().out.split()).replace("\\", "")
    assert "verifier:overlap-v0, by its calibration: unknown in domain=assistance" in told


def test_markdown_and_a_dry_run(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "--verifier", "overlap", "--dry-run", "--format", "markdown",
                "--by", "query_type", "--level", "0.6", "--margin", "0.5"]) == 0  # fmt: skip
    told = capsys.readouterr().out
    assert "# Calibration of verifier:overlap-v0" in told
    assert "**Trusted until" in told
    assert "Not kept (--dry-run)." in told
    assert "| it said" in told
    with open_store("claimwise.db") as store:
        assert store.query("select count(*) from calibrations") == [(0,)]


def test_closed_book(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "--verifier", "judge", "--closed-book"]) == 1
    assert "has no closed-book verdict on claims that people" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--verifier", "nope"], "Unknown judge 'nope'"),
        (["--verifier", "overlap", "--by", "colour"], "Unknown column 'colour'"),
        (["--verifier", "overlap", "--run", "nope"], "Unknown run 'nope'"),
        (["--verifier", "overlap", "--level", "nan"], "nan is not a finite number"),
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


def test_verifiers_lists_the_calibrations_of_the_store(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verifiers"]) == 0
    assert "Calibrated in this project" not in capsys.readouterr().out
    run(["calibrate", "--verifier", "overlap", "--by", ""])
    capsys.readouterr()
    assert run(["verifiers"]) == 0
    out = capsys.readouterr().out
    [line] = [line for line in out.splitlines() if line.startswith("verifier:overlap-v0 ")]
    assert re.search(r"overall +20\d\d-\d\d-\d\d +422 +0\.07 +0\.03 +unknown", line)
    assert run(["verifiers", "--format", "json"]) == 0
    [one] = json.loads(capsys.readouterr().out)["calibrations"]
    assert (one["labeler"], one["claims"], one["standing"]) == (
        "verifier:overlap-v0", 422, "unknown"
    )  # fmt: skip
    assert one["ece_after"] < one["ece_before"]
    assert run(["verifiers", "lexical", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["calibrations"] == []
    with open_store("claimwise.db") as store:
        store.execute_all([("delete from calibrations", {})])
        calibrate_verifier(store, "overlap", now=datetime(2020, 1, 1))  # noqa: DTZ001 - as stored
    assert run(["verifiers", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["calibrations"]
    assert {one["standing"] for one in found} == {"expired"}


def test_verifiers_and_check_make_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("Dogs may come in.", encoding="utf-8")
    assert run(["verifiers", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["calibrations"] == []
    assert run(["check", "--answer", "a.txt", "--source", "a.txt", "--verifier", "lexical",
                "--format", "json"]) == 0  # fmt: skip
    assert json.loads(capsys.readouterr().out)["calibration"] is None
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_verify_and_check_say_what_probabilities_are_calibrated_on(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verify = ["verify", "--run", "candidate", "--verifier", "lexical"]
    assert run(verify) == 0
    out = capsys.readouterr().out
    assert "are not calibrated here: it was never calibrated in this store (claimwise" in out
    run(["calibrate", "--verifier", "lexical", "--by", ""])
    capsys.readouterr()
    assert run(verify) == 0
    told = capsys.readouterr().out
    assert re.search(r"calibrated on \d+ labelled claims of candidate \(20", told)
    assert run([*verify, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["probabilities"]
    assert {row["basis"]["domain"] for row in rows} == {
        "assistance",
        "refunds",
        "tickets",
        "travel",
    }
    Path("a.txt").write_text("Dogs may come in. It is 200 m tall.", encoding="utf-8")
    Path("s.txt").write_text("Dogs may come in. It is 139 m tall.", encoding="utf-8")
    check = ["check", "--answer", "a.txt", "--source", "s.txt", "--verifier", "lexical"]
    assert run(check) == 0
    out = capsys.readouterr().out
    assert "not calibrated here: its calibration rests on no item without a domain" in out
    assert "calibrated: supported" not in out
    assert run([*check, "--domain", "travel"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"✓ supported \(confidence 70%, calibrated: supported [\d.]+%\)  Dogs", out)
    assert run([*check, "--domain", "travel", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["calibration"]["calibration_id"] == rows[0]["basis"]["calibration_id"]
    for claim in document["claims"]:
        assert 0 < claim["calibrated"] < 1
        assert claim["confidence"] is not None


def test_a_calibration_that_can_t_be_read_stops_neither_check_nor_verify(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["calibrate", "--verifier", "overlap"])
    with open_store("claimwise.db") as store:
        store.execute_all([("update calibrations set detail = :text", {"text": "{}"})])
    Path("a.txt").write_text("Dogs may come in.", encoding="utf-8")
    for command in (
        ["check", "--answer", "a.txt", "--source", "a.txt", "--verifier", "lexical"],
        ["verify", "--run", "candidate", "--verifier", "lexical"],
    ):
        capsys.readouterr()
        assert run(command) == 0
        captured = capsys.readouterr()
        assert "supported" in captured.out
        assert (
            "warning: probabilities are not calibrated: a calibration was made by an"
            in captured.err
        )


def test_what_can_t_be_read_is_a_warning_where_no_store_is_needed(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unreadable calibration, a store that was named and is not there, a wrong project file."""
    run(["calibrate", "--verifier", "overlap"])
    with open_store("claimwise.db") as store:
        store.execute_all([("update calibrations set detail = :text", {"text": "{}"})])
    capsys.readouterr()
    assert run(["export", "out"]) == 0
    captured = capsys.readouterr()
    assert "labels.jsonl" in captured.out
    assert "probabilities.jsonl" not in captured.out
    assert "warning: probabilities are not calibrated: a calibration was" in captured.err
    Path("a.txt").write_text("Dogs may come in.", encoding="utf-8")
    check = ["check", "--answer", "a.txt", "--source", "a.txt", "--verifier", "lexical"]
    for arguments, why in (
        ([], "a calibration was made by another version"),
        (["--store", "typo.db"], "typo.db: no store there"),
    ):
        assert run(["verifiers", "--format", "json", *arguments]) == 0
        captured = capsys.readouterr()
        assert json.loads(captured.out)["calibrations"] is None
        assert f"warning: calibrations can't be listed: {why}" in captured.err
        assert run([*check, *arguments]) == 0
        assert f"warning: probabilities are not calibrated: {why}" in capsys.readouterr().err
    assert not Path("typo.db").exists()
    Path("claimwise.toml").write_text("[", encoding="utf-8")
    assert run(["verifiers"]) == 0
    assert "warning: calibrations can't be listed: " in capsys.readouterr().err


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_reports_show_probabilities_as_given_and_calibrated(
    demo: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    run(["calibrate", "--verifier", "overlap", "--by", ""])
    capsys.readouterr()
    assert run(["report", "--run", "baseline", "--full", "--format", form]) == 0
    out = capsys.readouterr().out
    if form == "json":
        rows = json.loads(out)["probabilities"]
        assert sum(row["verdicts"] for row in rows) == 245 + 4
        assert all(row["score"] != row["calibrated"] for row in rows)
        return
    told = " ".join(out.split()).replace("\\", "")
    assert (
        "probabilities of support are calibrated on 422 labelled claims of baseline, candid" in told
    )
    assert re.search(r"mean score of \d+ verdicts 0\.\d+, calibrated 0\.\d+", told)
