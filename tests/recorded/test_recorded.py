"""Stores, JSON and exit codes of released versions: today's code reads and prints them the same.

``v0_6_0/record`` made what is compared. A recorded key must still be there with its value; new
keys may come. What changed on purpose is listed in CHANGED with its reason, and a line that excuses
nothing is an error.
"""

from __future__ import annotations

import json
import lzma
import math
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from claimwise.accounts.queries import check_password
from claimwise.cli.main import run
from claimwise.labelling.queue import save_label, take_task
from claimwise.labelling.values import Choice
from claimwise.store import open_store
from support.app_server import utc_now

HERE = Path(__file__).parent / "v0_6_0"
COMMANDS: dict[str, list[str]] = json.loads((HERE.parent / "commands.json").read_text("utf-8"))
RECORDED: dict[str, Any] = json.loads(lzma.decompress((HERE / "outputs.json.xz").read_bytes()))


class Change(NamedTuple):
    """A value that is not compared: where, and why it may differ."""

    commands: str  # a pattern of their names in commands.json
    path: str  # a pattern of the place inside the document
    reason: str


# What labels decide, and what says which claims have none.
LABELLED = (
    "(faithfulness|citation_precision|stale_share|overreach_share|verdict_shares|quadrant"
    "|unscored_share|unscored_reasons)"
)
BASIS = "people labelled some claims and judges the others: the rates are people's, not a mixture"

CHANGED = [
    Change("(compare|gate|report)(?!.*unknown).*", r"\$\.version", "it is another version"),
    Change("report-(baseline|candidate|verifier)", r"\$\.warnings",
           "labels that break the guide are counted: 0.6.0 let them in"),
    Change("gate(-passed|-failed|-inconclusive)?", r"\$\.gates\[\d\]\.slices\[\]\..*",
           "a judge's verdicts are no truth: the rate is people's, or corrected by the round"),
    Change("(metrics|report-(baseline|candidate))", rf"\$\..*\[\]\.{LABELLED}\b.*", BASIS),
    Change("metrics-bootstrap", r"\$\.(rows|overall)\[\]\.faithfulness\b.*", BASIS),
    Change("report-(baseline|candidate)", r"\$\.(unscored|worst|instruments\[\d\]\.deciding).*",
           BASIS),
    Change("compare", rf"\$\.metrics\[\]\.{LABELLED}\b.*", BASIS),
    Change("compare", r"\$\.(moved|warnings)\[.*", BASIS),
    Change("drift", r"\$\.drifts\[\]\.faithfulness\b.*", BASIS),
    Change("plan", r"\$\.overall.*", BASIS),
    Change("report-(baseline|candidate|verifier)", r"\$\.instruments\[\d\]\.agreement.*",
           "a judge's agreement with people is measured over the whole store"),
    Change("(metrics|report-(baseline|candidate|verifier))",
           r"\$\..*(low|high|detectable_difference)",
           "what is assumed no longer lowers what was measured, and heavy tails count (D6)"),
    Change("report-verifier", r"\$\..*overall\[\]\..*\.warnings.*",
           "a handful of items that carries the variance is named (D6)"),
    Change("compare|metrics-list|report-(baseline|candidate|verifier)",
           r"\$\.metrics\[\]\.\w+\.meaning",
           "non-factual claims count nothing; actions are proposed; line breaks hide no span"),
    Change("metrics-list|report-(baseline|candidate|verifier)",
           r"\$\.metrics\[\]\.\w+\.(title|grain|notes\.\w+)",
           "texts for people say people, judge and declined, as the glossary does"),
    Change("plan", r"\$\.slices.*", "as for metrics: wider intervals plan more items (D6)"),
    Change("calibrate", r"\$\..*(low|high|reason)", "as for metrics (D6)"),
    Change("calibrate", r"\$\..*ece\.value", "calibration errors lose what chance adds (D10)"),
    Change("calibrate", r"\$\..*calibration_id", "every measurement gets an id of its own"),
    Change("calibrate", r"\$\..*(made_at|expires_at)", "it is measured when the test runs"),
    Change("check", r"\$\.claims\[\d\]\.(reason|scores.*|confidence)|\$\.(verifier|agreement).*",
           "judge 4, and reasons say “content word”, not “telling word”"),
    Change("agreement(-round)?", r"\$\.(advice|reading).*",
           "too few shared claims are no unclear guide"),
    Change("calibrate", r"\$\..*why", "a judge is no instrument"),
    Change("compare-human", r"\$\.warnings.*", "a judge is no instrument"),
    Change("gate(-passed|-failed|-inconclusive)?", r"\$\.gates\[\d\]\.rule",
           "texts for people give percent"),
    Change("compare-human|metrics", r"\$\..*warnings\[\d\]", "texts for people say range"),
    Change("compare|report-(baseline|candidate|verifier)", r"\$\.(metrics|worst)\[.*warnings\[\d\]",
           "texts for people say range"),
    Change("rounds-(list|show)", r"\$\..*leased", "leases end half an hour after they were given"),
]  # fmt: skip


class Difference(NamedTuple):
    """A recorded value that is not what is printed today."""

    path: str
    recorded: object
    printed: object


def find_differences(recorded: Any, printed: Any, path: str = "$") -> Iterator[Difference]:
    """Yield what the recorded document says and the printed one does not; metrics may be added."""
    if isinstance(recorded, list) and isinstance(printed, list):
        known = {one["metric"] for one in recorded if isinstance(one, dict) and "metric" in one}
        printed = [
            one
            for one in printed
            if not known or not isinstance(one, dict) or one.get("metric") in known
        ]
    if isinstance(recorded, dict) and isinstance(printed, dict):
        for key, value in recorded.items():
            if key in printed:
                yield from find_differences(value, printed[key], f"{path}.{key}")
            else:
                yield Difference(f"{path}.{key}", value, "(the key is missing)")
    elif (rows := key_rows(recorded)) and (others := key_rows(printed)):
        yield from find_differences(rows, others, f"{path}[]")
    elif isinstance(recorded, list) and isinstance(printed, list) and len(recorded) == len(printed):
        for number, (old, new) in enumerate(zip(recorded, printed, strict=True)):
            yield from find_differences(old, new, f"{path}[{number}]")
    elif not is_same(recorded, printed):
        yield Difference(path, recorded, printed)


def key_rows(rows: Any) -> dict[str, Any]:
    """Return rows by metric, slice or cluster, in any order; nothing where these don't tell."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return {}
    found = {
        " ".join(
            [row.get("metric", row.get("cluster_id", "")), *map(str, row.get("slice", {}).values())]
        ): row
        for row in rows
        if row.keys() & {"metric", "slice", "cluster_id"}
    }
    return found if len(found) == len(rows) else {}


def is_same(recorded: object, printed: object) -> bool:
    """Return whether two values are equal; numbers may differ by what another machine rounds."""
    if isinstance(recorded, float) and isinstance(printed, float):
        return math.isclose(recorded, printed, rel_tol=1e-9, abs_tol=1e-12)
    return type(recorded) is type(printed) and recorded == printed


def find_excuse(command: str, path: str) -> Change | None:
    """Return the deliberate change that covers a place."""
    return next(
        (c for c in CHANGED if re.fullmatch(c.commands, command) and re.fullmatch(c.path, path)),
        None,
    )


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recorded project with a copy of its store, as the released version left it."""
    folder = tmp_path / "project"
    shutil.copytree(HERE, folder)
    packed = folder / "claimwise.db.xz"
    (folder / "claimwise.db").write_bytes(lzma.decompress(packed.read_bytes()))
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_print_what_they_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = RECORDED["outputs"][name]
    assert run(recorded["arguments"]) == recorded["exit"], capsys.readouterr().err
    out = capsys.readouterr().out
    printed = json.loads(out) if out else None
    found = list(find_differences(recorded["printed"], printed))
    assert [one for one in found if find_excuse(name, one.path) is None] == []
    excuses = {change for change in CHANGED if re.fullmatch(change.commands, name)}
    assert excuses == {find_excuse(name, one.path) for one in found}, "an excuse without a use"


def count_rows(path: Path) -> dict[str, int]:
    """Count the rows of every table, whatever version the store is of."""
    with closing(sqlite3.connect(path)) as db:
        tables = db.execute("select name from sqlite_master where type = 'table'").fetchall()
        return {
            table: db.execute(f'select count(*) from "{table}"').fetchone()[0]
            for (table,) in tables
            if table != "schema_migrations"
        }


def test_no_row_is_lost_when_the_store_is_migrated(project: Path) -> None:
    before = count_rows(project / "claimwise.db")
    assert {name for name, count in before.items() if count} >= {
        "accounts", "annotation_rounds", "annotation_skips", "answer_labels", "calibrations",
        "closed_book_labels", "incidents", "label_retractions", "labels", "llm_replies",
    }  # fmt: skip
    with open_store(str(project / "claimwise.db")) as store:
        assert store.audit() == []
    after = count_rows(project / "claimwise.db")
    assert {name: after.get(name) for name in before} == before


def test_people_go_on_where_they_were(project: Path) -> None:
    """Passwords are still theirs, and a label that was undone waits for whoever undid it."""
    round_id = RECORDED["outputs"]["rounds-show"]["arguments"][2]
    with open_store(str(project / "claimwise.db")) as store:
        account = check_password(store, "ana", "password of ana")
        assert account is not None
        assert account.role == "labeler"
        assert check_password(store, "ana", "password of ben") is None
        task = take_task(store, round_id, "ben", utc_now())
        assert task is not None
        given = save_label(store, task.task_id, "ben", Choice(verdict="unlinked"), utc_now())
        assert given.labeler == "ben"


def test_a_missing_key_and_another_value_are_differences() -> None:
    recorded = {"kept": 1.0, "gone": None, "list": [1, 2], "deep": [{"value": True}]}
    printed = {"kept": 1.0 + 1e-12, "new": 1, "list": [1], "deep": [{"value": 1}]}
    found = [one.path for one in find_differences(recorded, printed)]
    assert found == ["$.gone", "$.list", "$.deep[0].value"]
