"""Commands that read print the same on exported Parquet files as on the database itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.store import open_store
from claimwise.transfer import export_store

GATES = """
[[gates]]
metric = "faithfulness"
by = ["query_type"]
min = 0.8
[[gates]]
metric = "faithfulness"
baseline = "baseline"
margin = 0.05
"""
READING = [
    "metrics --run candidate --format json",
    "report --run candidate --format json",
    "report --run candidate --format markdown",
    "compare baseline candidate --format json",
    "gate --run candidate --format json",
    "gate --run candidate --history --format json",
    "estimate --run candidate",
    "plan --run candidate",
    "drift baseline candidate --format json",
    "claims --run candidate --format json",
    "runs",
]


@pytest.fixture
def places(demo_place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The demo's rows in a database, and as Parquet files."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claimwise.toml").write_text(GATES, encoding="utf-8")
    with open_store(demo_place) as store:
        export_store(store, tmp_path / "exported", "parquet")
    return {"database": demo_place, "files": f"parquet:{tmp_path}/exported"}


def tell(command: str, place: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = run([*command.split(), "--store", place])
    found = capsys.readouterr()
    shown = place.removeprefix("parquet:")
    return code, found.out.replace(shown, "STORE"), found.err.replace(shown, "STORE")


def leave_out_steps(out: str) -> str:
    """Leave out what to type next: it names a store that is a file, and nobody labels in files."""
    lines = [line for line in out.splitlines() if not line.startswith("- **Next**")]
    return "\n".join(lines).replace(" --store STORE", "")


@pytest.mark.each_engine
@pytest.mark.parametrize("command", READING)
def test_parquet_files_give_the_same(
    command: str,
    places: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The demo store is shared by all tests: nothing is to be kept there.
    monkeypatch.setattr("claimwise.gates.command.keep_results", lambda *_: ())
    database = tell(command, places["database"], capsys)
    files = tell(command, places["files"], capsys)
    warnings = [line for line in files[2].splitlines(keepends=True) if "not kept" not in line]
    assert (files[0], leave_out_steps(files[1]), "".join(warnings)) == (
        database[0], leave_out_steps(database[1]), database[2]
    )  # fmt: skip
    assert database[1] or database[0]


def test_gates_on_parquet_files_say_that_nothing_is_kept(
    places: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = tell("gate --run candidate", places["files"], capsys)
    assert code in (2, 3)
    assert "faithfulness" in out
    assert "warning: the results are not kept: Parquet files are never written to" in err


@pytest.mark.parametrize(
    ("command", "missing"),
    [("monitor", "webhook_deliveries"), ("traffic", "traffic_counts"), ("keys list", "api_keys")],
)
def test_what_files_do_not_hold_is_told(
    command: str, missing: str, places: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = tell(command, places["files"], capsys)
    assert code == 1
    assert err == (
        f"error: STORE: Parquet files hold what is measured, and no {missing}; use a SQLite or "
        "PostgreSQL store for this\n"
    )
