"""Judges on people's labels of a store: weights of rounds count, and nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from claimwise.calibration.calibrate import calibrate_verifier
from claimwise.checking.run import verify_run
from claimwise.errors import MetricError
from claimwise.judge_comparison.cases import read_store_cases
from claimwise.judge_comparison.figures import compare_judges
from claimwise.judge_comparison.judge import Contestant, JudgedCases, judge_all
from claimwise.judge_comparison.restate import says_the_same
from claimwise.judge_comparison.values import LabelledCases, ProbeName
from claimwise.judges.judge import load_verifier
from claimwise.store import Store, open_store
from small_data import answer, item, load, run, source
from support.labelled_rounds import label_round

NOW = datetime(2026, 11, 16)  # noqa: DTZ001 - stores keep times in UTC without a zone
CLAIMS = ("The tower is 139 m tall", "Entry costs 7 euros", "Cats sleep under the old roof")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Thirty answers of two or three claims, judged by counting words."""
    with open_store(tmp_path / "store.db", create=True) as opened:
        load(opened, source(), source("other", source_text="Dogs bark. The gate is green."), run())
        for n in range(30):
            texts = CLAIMS if n % 3 == 0 else CLAIMS[:2]
            load(opened, item(f"i{n:02}"), answer(f"i{n:02}", *texts))
        verify_run(opened, "r", "overlap")
        yield opened


def judge(name: str, labelled: LabelledCases, *probes: ProbeName) -> JudgedCases:
    contestant = Contestant(name=name, verifier=load_verifier(name), baseline=name == "overlap")
    return judge_all(contestant, labelled, labelled.cases, probes, lambda claims, unscored: None)


def test_a_judge_is_worth_what_its_calibration_says(store: Store) -> None:
    """A round draws few claims of the large stratum: each stands for many."""
    label_round(
        store, "r", 24, verifier="verifier:overlap-1",
        judge_claim=lambda name, text: "unlinked" if "7" in text or name < "i05" else "supported",
    )  # fmt: skip
    before = store.query("select count(*) from labels")
    labelled = read_store_cases(store)
    found = compare_judges(labelled, [judge("overlap", labelled)])
    expected = calibrate_verifier(store, "overlap", now=NOW, by=(), keep=False).overall
    assert found.weighted
    assert found.claims == expected.claims == 24
    measured = found.judges[0]
    assert measured.balanced_accuracy == expected.balanced_accuracy
    assert (measured.kappa, measured.verdicts) == (expected.kappa, expected.verdicts)
    assert store.query("select count(*) from labels") == before


def test_a_swap_of_sources_moves_no_verdict_of_lexical(store: Store) -> None:
    label_round(
        store, "r", 60, verifier="verifier:overlap-1",
        judge_claim=lambda name, text: "supported" if "139" in text else "unlinked",
    )  # fmt: skip
    labelled = read_store_cases(store, cluster="item")
    found = compare_judges(
        labelled, [judge("lexical", labelled, "repeat", "order"), judge("overlap", labelled)]
    )
    lexical = found.judges[0]
    assert [probe.flips.value for probe in lexical.probes] == [0.0, 0.0]
    (difference,) = found.differences
    # “Entry costs 7 euros”: words are found, the figure is not. Every answer has one.
    assert difference.real
    assert difference.difference == pytest.approx(
        (lexical.balanced_accuracy.value or 0) - (found.judges[1].balanced_accuracy.value or 0)
    )
    assert difference.claims_needed is None  # it is shown already


def test_without_labels_nothing_can_be_said(store: Store) -> None:
    with pytest.raises(MetricError, match="no claim has a label of people"):
        read_store_cases(store)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("At 139 m, the tower in Bonn has not been outgrown since 2001.", True),
        ("At 146 m, the tower in Bonn has not been outgrown since 2001.", False),
        ("At 139 m, the tower in Bonn has been outgrown since 2001.", False),
        ("At 139 m, the tower in Berlin has not been outgrown since 2001.", False),
        ("At 139 m, the tower in Bonn has not been outgrown.", False),
        ("At 139 m, the tower in Bonn has not been outgrown since 2001, by 12 m.", False),
    ],
)
def test_only_a_faithful_wording_is_probed(text: str, same: bool) -> None:
    claim = "Since 2001 the tower in Bonn, 139 m tall, has not been outgrown."
    assert says_the_same(claim, text) is same
