"""`claimwise label-next`: what it draws, that people can label it, what labels stand for."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from claimwise.calibration.correction import correct_run
from claimwise.cli.main import cli
from claimwise.errors import ClaimwiseError
from claimwise.estimates.label_next import draw_window_round
from claimwise.estimates.queries import Period, WindowLabel, read_window
from claimwise.estimates.report import report_window
from claimwise.estimates.rounds import WindowRound, combine_chances
from claimwise.labelling.queue import save_label, take_task
from claimwise.labelling.sheet_import import import_sheets
from claimwise.labelling.sheets import SheetOptions
from claimwise.labelling.values import Choice
from claimwise.store import Store, open_store
from claimwise.traffic.retention import delete_texts
from support.traffic_data import MONDAY, fill_traffic

WEEK = Period(start=MONDAY, until=MONDAY + timedelta(days=7), name="2026-W46")
NOW = MONDAY + timedelta(days=7)


def draw(store: Store, size: int, seed: int = 0) -> str:
    made = draw_window_round(
        store, read_window(store, "bot", WEEK), size, title=None, seed=seed, created_by="test",
        guide_version="g1", now=NOW + timedelta(hours=seed),
    )  # fmt: skip
    return made.round_id


@pytest.mark.each_engine
def test_a_round_over_several_runs_is_labelled_and_estimated(store: Store) -> None:
    runs = fill_traffic(store, answers=20)
    round_id = draw(store, 60)
    tasks = store.query(
        "select run_id, item_id, inclusion_probability from annotation_tasks "
        "where round_id = :id order by position", {"id": round_id}
    )  # fmt: skip

    assert len(tasks) == len({row[1] for row in tasks}) == 60  # one per answer
    assert len({row[0] for row in tasks}) == 7
    assert [row[0] for row in tasks] != sorted(row[0] for row in tasks)  # in random order
    known = store.query("select run_id, claims from annotation_round_runs order by run_id")
    assert known == [(run_id, 80) for run_id in runs]
    assert sum(1 / row[2] for row in tasks) == pytest.approx(560, rel=0.4)  # the window's claims

    for _ in range(45):
        task = take_task(store, round_id, "bob", NOW)
        assert task is not None
        save_label(store, task.task_id, "bob", Choice(verdict="unlinked"), NOW)

    found = report_window(read_window(store, "bot", WEEK))
    assert found.estimate.labels == 45
    assert found.estimate.unused_labels == 0
    chances = [row[2] for row in tasks[:45]]
    assert np.sort(found.data.table.chances) == pytest.approx(np.sort(chances) * 45 / 60)
    # A window's round is no sample of its latest run.
    assert correct_run(store, runs[-1]) is None


def test_the_command_opens_a_round_of_doubtful_claims_and_a_second_one_differs(place: str) -> None:
    with open_store(place) as store:
        fill_traffic(store, answers=20)
    made = []
    for _ in range(2):
        found = CliRunner().invoke(
            cli, ["label-next", "40", "--store", place, "--window", "2026-W46", "--format", "json"]
        )
        assert found.exit_code == 0, found.output
        made.append(json.loads(found.stdout))
    with open_store(place) as store:
        drawn = [
            store.query(
                "select t.claim_id, v.confidence from annotation_tasks as t join labels as v "
                "on v.claim_id = t.claim_id where t.round_id = :id", {"id": one["round_id"]}
            )
            for one in made
        ]  # fmt: skip
        overall = store.query("select avg(confidence) from labels")[0][0]

    assert [one["claims"] for one in made] == [40, 40]
    assert np.mean([row[1] for row in drawn[0]]) < overall - 0.02
    assert {row[0] for row in drawn[0]} != {row[0] for row in drawn[1]}


def test_a_sheet_of_labels_fills_a_round_over_several_runs(store: Store, tmp_path: Path) -> None:
    """A label from a file keeps its claim's chance, also where the round names another run."""
    first, _ = fill_traffic(store, days=2, answers=4)
    round_id = draw(store, 8)
    tasks = store.query(
        "select item_id, claim_id, inclusion_probability from annotation_tasks "
        "where round_id = :round_id and run_id = :run_id",
        {"round_id": round_id, "run_id": first},
    )
    sheet = tmp_path / "labels.csv"
    lines = [f"{item},{claim},unlinked,ana" for item, claim, _ in tasks]
    sheet.write_text("\n".join(["item,claim_id,label,who", *lines]), encoding="utf-8")

    options = SheetOptions(columns={}, values={}, labeler=None)
    import_sheets(store, [sheet], first, options, NOW + timedelta(hours=1))

    kept = store.query("select claim_id, inclusion_probability from labels where labeler = 'ana'")
    assert dict(kept) == {claim: chance for _, claim, chance in tasks}


def test_a_window_without_claims_is_one_clear_line(store: Store) -> None:
    fill_traffic(store, days=1, answers=2, start=MONDAY - timedelta(days=30))
    with pytest.raises(ClaimwiseError, match=r"2026-W46: no scored claim without a label"):
        draw(store, 5)


def test_two_rounds_together_stand_for_the_window_without_bias() -> None:
    """A first round of some runs by doubt, then one of all that leaves out what has a label."""
    generator = np.random.default_rng(3)
    keys = [(f"r{number % 4}", f"i{number}", "c") for number in range(120)]
    wrong = generator.random(120) < 0.3
    odds = np.where(wrong, 3.0, 1.0)
    early = np.array([key[0] in ("r0", "r1") for key in keys])
    first_chances = np.where(early, odds / (odds * early).sum() * 15, 0.0)
    claims = Counter(key[0] for key in keys)
    totals = []
    for _ in range(1500):
        first = set(np.flatnonzero(generator.random(120) < first_chances).tolist())
        second = {n for n in range(120) if n not in first and generator.random() < 0.25}
        rounds = [
            _make_round("a", 1, keys, first, first_chances, {"r0": 30, "r1": 30}),
            _make_round("b", 3, keys, second, np.full(120, 0.25), claims),
        ]
        labels = [_make_label(keys[n], 2 if n in first else 4) for n in sorted(first | second)]
        chances, covered = combine_chances(labels, rounds, claims)
        assert covered == 1.0
        totals.append(sum(w for w, n in zip(1 / chances, sorted(first | second), strict=True)
                          if wrong[n]))  # fmt: skip
    error = np.std(totals) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - wrong.sum()) < 4 * error


def _make_round(
    name: str,
    hour: int,
    keys: list[tuple[str, str, str]],
    drawn: set[int],
    chances: np.ndarray,
    claims: dict[str, int],
) -> WindowRound:
    chosen = {keys[n]: float(chances[n]) for n in drawn}
    return WindowRound(name, _at(hour), claims, chosen)


def _make_label(key: tuple[str, str, str], hour: int) -> WindowLabel:
    return WindowLabel(0, *key, True, _at(hour), _at(hour), None)


def _at(hour: int) -> datetime:
    return MONDAY + timedelta(hours=hour)


def test_deleted_texts_are_not_asked_for(store: Store) -> None:
    """A sample of the answers that still have theirs would not speak for the window."""
    fill_traffic(store, answers=3)
    delete_texts(store, MONDAY + timedelta(days=1), now=NOW)
    with pytest.raises(ClaimwiseError, match=r"texts of 3 answers were deleted .* 2026-11-16"):
        draw(store, 5)
