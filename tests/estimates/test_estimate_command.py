"""`claimwise estimate` on stored traffic."""

from __future__ import annotations

import json
import re
import shlex
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from claimwise.cli.main import cli
from claimwise.errors import ClaimwiseError, MetricError
from claimwise.estimates.periods import parse_period
from claimwise.estimates.queries import Period, read_window
from claimwise.estimates.report import report_window
from claimwise.store import Store, open_store
from support.traffic_data import MONDAY, fill_traffic

ROOT = Path(__file__).parents[2]
WEEK = Period(start=MONDAY, until=MONDAY + timedelta(days=7), name="2026-W46")


def estimate(place: str, *more: str) -> dict[str, object]:
    found = CliRunner().invoke(
        cli, ["estimate", "--store", place, "--window", "2026-W46", "--json", *more]
    )
    assert found.exit_code == 0, found.output
    document: dict[str, object] = json.loads(found.stdout)
    return document


@pytest.mark.each_engine
def test_a_week_is_read_with_weights_clusters_labels_and_failures(store: Store) -> None:
    """What is read is what is stored: counted here from the tables by plain statements."""
    fill_traffic(store, labels=120, unscored=9, chance=120 / 840)
    fill_traffic(store, system="other", days=1, answers=3)
    data = read_window(store, "bot", WEEK)
    ours = "from claims as c where c.run_id like 'traffic-bot-%'"

    assert data.answers == 210
    assert len(data.table.scores) == store.query(f"select count(*) {ours}")[0][0] - 9 == 831
    assert data.unscored == 9
    assert data.reasons == {"timeout": 9}
    assert data.not_judged == 0
    told = store.query(
        "select h.verdict = 'supported', v.verdict = 'supported' from labels as h join labels as v "
        "on v.claim_id = h.claim_id and v.label_kind = 'verifier' where h.label_kind = 'human'"
    )
    assert len(data.labels) == len(told)
    assert sum(data.table.told) == sum(bool(row[0]) for row in told)
    agreed = data.table.approved[data.table.rows] == data.table.told
    assert sum(agreed) == sum(row[0] == row[1] for row in told)
    # 6 of 30 answers a day count twice; the 9 unscored claims lie in the first 3 answers.
    assert data.table.weights.sum() + data.unscored_weight == 4 * (168 + 2 * 42)
    assert data.unscored_weight == 4 * 2 + 5
    assert len(data.table.names) == 7 * (10 + 15) - 0


def test_the_command_prints_a_corrected_rate_with_all_it_rests_on(place: str) -> None:
    with open_store(place) as store:
        fill_traffic(store, labels=300, unscored=20, chance=300 / 840)
    found = estimate(place)
    text = CliRunner().invoke(cli, ["estimate", "--store", place, "--window", "w46"]).stdout

    headline = found["headline"]
    assert isinstance(headline, dict)
    assert headline["basis"] == "corrected", found["refusals"]
    assert headline["low"] < 0.85 < headline["high"]
    assert (headline["claims"], headline["asked"], headline["unscored"]) == (820, 840, 20)
    assert found["judge"] == {"labeler": "verifier:test-1", "prompt_ver": "p1", "model": "m1"}
    assert "of claims supported" in text
    assert "Judge only:" in text
    assert "Unscored: 2.4% of claims (20 timeout)" in text
    assert "given on 2026-11-17" in text


def test_too_few_labels_are_refused_and_the_next_step_is_named(place: str) -> None:
    with open_store(place) as store:
        fill_traffic(store, labels=5, chance=5 / 840)
    text = CliRunner().invoke(cli, ["estimate", "--store", place, "--window", "2026-W46"]).stdout

    assert "No rate: too few human labels" in text
    assert "a correction needs 30" in text
    assert "--window 2026-W46" in text.partition("claimwise label-next ")[2]


def test_a_judge_that_changed_inside_the_window_is_not_corrected(store: Store) -> None:
    fill_traffic(store, days=4, labels=150, chance=0.3)
    fill_traffic(store, start=MONDAY + timedelta(days=4), days=3, labels=100, chance=0.3,
                 judge="verifier:test-2", seed=1)  # fmt: skip
    found = report_window(read_window(store, "bot", WEEK)).estimate

    assert found.basis == "labels_only"
    assert "verifier:test-2 judged the answers from 2026-11-13" in found.refusals[0]


def test_labels_of_an_earlier_window_are_named_as_too_old(place: str) -> None:
    with open_store(place) as store:
        fill_traffic(store, start=MONDAY - timedelta(days=7), labels=200)
        fill_traffic(store, seed=1)
    found = estimate(place)

    assert found["headline"]["basis"] == "none"  # type: ignore[index]
    assert any(
        "200 labels of earlier answers, the latest of 2026-11-10" in one
        for one in found["refusals"]  # type: ignore[attr-defined]
    )


def test_a_window_of_parquet_files_gives_the_same_estimate(place: str, tmp_path: Path) -> None:
    with open_store(place) as store:
        fill_traffic(store, labels=300, chance=300 / 840)
    folder = tmp_path / "exported"
    done = CliRunner().invoke(cli, ["export", "--store", place, "--format", "parquet", str(folder)])
    assert done.exit_code == 0, done.output

    assert estimate(str(folder))["estimate"] == estimate(place)["estimate"]


def test_the_page_shows_what_is_printed(place: str) -> None:
    """Two simulated weeks of help-desk and one of new-bot."""
    with open_store(place) as store:
        fill_traffic(store, system="help-desk", answers=60, labels=200, chance=200 / 1680,
                     start=MONDAY - timedelta(days=7), rate=0.9)  # fmt: skip
        fill_traffic(store, system="help-desk", answers=60, labels=350, chance=350 / 1680,
                     unscored=12, rate=0.86, seed=1)  # fmt: skip
        fill_traffic(store, system="new-bot", answers=60, labels=12, chance=12 / 1680, rate=0.86,
                     seed=2)  # fmt: skip
    page = (ROOT / "docs/from-traces-to-a-weekly-number.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n\$ claimwise ((?:estimate|compare).*)\n([^`]*)```", page)

    assert len(blocks) == 3
    for words, shown in blocks:
        done = CliRunner().invoke(cli, ["--store", place, *shlex.split(words)])
        assert done.stdout == shown


NOW = datetime(2026, 11, 18, 15, 30)  # noqa: DTZ001 - UTC


@pytest.mark.parametrize(
    ("text", "start", "until"),
    [
        ("7d", datetime(2026, 11, 11, 15, 30), NOW),  # noqa: DTZ001
        ("2026-W46", MONDAY, MONDAY + timedelta(days=7)),
        ("w46", MONDAY, MONDAY + timedelta(days=7)),
        ("w50", datetime(2025, 12, 8), datetime(2025, 12, 15)),  # noqa: DTZ001
        ("2026-11-09", MONDAY, MONDAY + timedelta(days=1)),
        ("2026-11-09..2026-11-11T12:00+01:00", MONDAY, datetime(2026, 11, 11, 11)),  # noqa: DTZ001
    ],
)
def test_windows_are_named_in_several_ways(text: str, start: datetime, until: datetime) -> None:
    found = parse_period(text, NOW)

    assert (found.start, found.until) == (start, until)


def test_an_unknown_system_is_one_clear_line(store: Store) -> None:
    fill_traffic(store, days=1, answers=2)
    with pytest.raises(MetricError, match=r"Unknown system 'bott'.*bot"):
        read_window(store, "bott", WEEK)


@pytest.mark.parametrize("text", ["", "week", "0d", "2026-W60", "2026-11-09..2026-11-02", "99999d"])
def test_a_window_that_cannot_be_read_is_one_clear_line(text: str) -> None:
    with pytest.raises(ClaimwiseError, match=r"[Ww]indow"):
        parse_period(text, NOW)


def test_a_small_or_unlabelled_window_is_told_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No list of strata where nobody has labelled anything, and no labels that could not help."""
    monkeypatch.chdir(tmp_path)
    with open_store("claimwise.db", create=True) as store:
        fill_traffic(store, days=1, answers=3)
    text = CliRunner().invoke(cli, ["estimate", "--window", "2026-W46"]).output
    assert "because\n    nobody has labelled a claim of this window\n" in text
    assert "Next: choose a longer --window: a correction needs labels in 30" in text
    assert "label-next" not in text
    text = CliRunner().invoke(cli, ["compare", "--unpaired", "2026-W40", "2026-W46"]).output
    assert "2026-W40  no rate: no claim of this window has a verdict\n" in text
