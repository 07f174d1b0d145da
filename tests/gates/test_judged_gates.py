"""Gates that a judge has a part in: people's labels decide, its verdicts never as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from claimwise.calibration.calibrate import calibrate_verifier
from claimwise.calibration.values import TrustRule
from claimwise.config import Config, Project
from claimwise.gates.run import run_gates
from claimwise.gates.values import Gate, GateDecision
from claimwise.store import Store, open_store
from small_data import Record, answer, item, label, load, run, source
from support.gates import write_gates
from support.labelled_rounds import label_round

JUDGE = "judge:x"
ITEMS, TEXTS = 60, ("one", "two", "three", "four")
Verdict = Callable[[int, int], str]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Sixty items of two domains, two runs, nothing judged."""
    with open_store(tmp_path / "store.db", create=True) as opened:
        load(opened, source(), run(), run("old", started_at="2025-12-01T00:00:00Z"),
             run("checked", started_at="2025-11-01T00:00:00Z"),
             {"type": "labelers", "labeler": JUDGE, "labeler_kind": "verifier"},
             *(item(f"i{n}", domain=f"d{n % 2}") for n in range(ITEMS)))  # fmt: skip
        yield opened


def judge(run_id: str, verdict: Verdict, labeler: str = JUDGE) -> list[Record]:
    """Answers of four claims each, labelled by item and claim."""
    rows: list[Record] = []
    for n in range(ITEMS):
        rows += [answer(f"i{n}", *TEXTS, run_id=run_id)] if labeler == JUDGE else []
        rows += [
            label(f"i{n}", text, verdict(n, c), run_id=run_id, labeler=labeler,
                  label_kind="verifier" if labeler == JUDGE else "human")
            for c, text in enumerate(TEXTS)
        ]  # fmt: skip
    return rows


def ask_people(store: Store, run_id: str, verdict: Verdict, size: int = 160) -> None:
    def decide(item_id: str, text: str) -> str:
        return verdict(int(item_id[1:]), TEXTS.index(text))

    label_round(store, run_id, size, decide, verifier=JUDGE)


def decide(store: Store, folder: Path, **rule: Any) -> GateDecision:
    gate = Gate(**{"metric": "faithfulness", "name": "g", **rule})
    return run_gates(store, Project(folder, Config(gates=write_gates(gate))), "r").gates[0]


def trust(store: Store, truth: Verdict, said: Verdict) -> None:
    """Calibrate the judge on a third run, which two people have labelled."""
    load(store, *judge("checked", said), *judge("checked", truth, "ana"),
         *judge("checked", truth, "ben"))  # fmt: skip
    now = datetime.now(UTC).replace(tzinfo=None)
    found = calibrate_verifier(store, JUDGE, now=now, by=(), rule=TrustRule(margin=0.5))
    assert found.overall.status == "trusted"


def all_good(n: int, c: int) -> str:
    return "supported"


def second_domain_bad(n: int, c: int) -> str:
    return "unlinked" if n % 2 and c else "supported"


def test_people_decide_every_slice_by_their_sample(store: Store, tmp_path: Path) -> None:
    """The judge calls everything supported; in the second domain a quarter is."""
    load(store, *judge("r", all_good))
    rule = {"by": ("domain",), "min": 0.7}
    assert decide(store, tmp_path, **rule).outcome == "inconclusive"
    ask_people(store, "r", second_domain_bad)
    found = decide(store, tmp_path, **rule)
    outcomes = {one.slice["domain"]: (one.outcome, one.basis) for one in found.slices}
    assert outcomes == {"d0": ("pass", "people"), "d1": ("fail", "people")}
    bad = found.slices[0]
    assert bad.rate == pytest.approx(0.25, abs=0.06)
    assert bad.reason.endswith("(a sample of claims that people labelled)")
    narrowed = decide(store, tmp_path, where={"domain": "d0"}, min=0.7)
    assert (narrowed.outcome, narrowed.slices[0].basis) == ("pass", "people")


def test_a_lenient_judge_passes_no_bad_run_although_it_is_trusted(
    store: Store, tmp_path: Path
) -> None:
    """It calls a fifth of the unsupported claims supported: its 80 % are 75 % by people."""

    def truth(n: int, c: int) -> str:
        return "supported" if c % 2 else "unlinked"

    def lenient(n: int, c: int) -> str:
        return "supported" if c % 2 or n % 5 == c else "unlinked"

    load(store, *judge("r", lambda n, c: "supported" if c or n % 5 == 0 else "unlinked"))
    trust(store, truth, lenient)
    found = decide(store, tmp_path, min=0.74)
    assert found.outcome == "inconclusive"
    assert (found.slices[0].rate, found.slices[0].basis) == (0.8, "judge_only")
    assert decide(store, tmp_path, min=0.74, min_agreement=0.0).outcome == "pass"
    assert decide(store, tmp_path, min=0.5).outcome == "pass"


def test_trust_in_supported_claims_is_none_in_stale_ones(store: Store, tmp_path: Path) -> None:
    """A judge that never says stale is trusted, and would pass any limit on stale claims."""

    def half(n: int, c: int) -> str:
        return "supported" if c % 2 else "unlinked"

    def stale(n: int, c: int) -> str:
        return "supported" if c % 2 else "stale"

    load(store, *judge("r", half))
    trust(store, half, half)
    assert decide(store, tmp_path, min=0.3).outcome == "pass"
    rules: tuple[dict[str, Any], ...] = (
        {"metric": "stale_share", "max": 0.2},
        {"metric": "verdict_shares", "member": "stale", "max": 0.2},
    )
    for rule in rules:
        found = decide(store, tmp_path, **rule)
        assert (found.outcome, found.slices[0].untrusted) == ("inconclusive", 240)
        assert f"nobody has measured how far {JUDGE} errs in stale" in found.slices[0].reason
        assert "let people label some of these claims" in found.slices[0].reason
    ask_people(store, "r", stale)
    for rule in rules:
        found = decide(store, tmp_path, **rule)
        assert (found.outcome, found.slices[0].basis) == ("fail", "people")
        assert found.slices[0].rate == pytest.approx(0.5, abs=0.05)


def write_metric(folder: Path, body: str) -> None:
    (folder / "metrics").mkdir(exist_ok=True)
    (folder / "metrics" / "own.sql").write_text(
        f"-- title: Own\n-- meaning: own\n-- grain: item\n-- better: higher\n{body}\n"
    )


def test_a_metric_of_ones_own_has_the_same_sample(store: Store, tmp_path: Path) -> None:
    write_metric(
        tmp_path,
        "select d.item_id as cluster_id,\n"
        "    sum(case when d.verdict <> 'contradicted' then 1 else 0 end) as numerator,\n"
        "    count(*) as denominator\n"
        "from deciding_labels as d where d.run_id = :run_id group by d.item_id",
    )
    load(store, *judge("r", all_good))
    assert decide(store, tmp_path, metric="own", min=0.8).outcome == "inconclusive"
    ask_people(store, "r", lambda n, c: "supported" if c else "contradicted")
    found = decide(store, tmp_path, metric="own", min=0.8)
    assert (found.outcome, found.slices[0].basis) == ("fail", "people")
    assert found.slices[0].rate == pytest.approx(0.75, abs=0.05)


def test_what_is_no_sum_over_claims_has_no_sample(store: Store, tmp_path: Path) -> None:
    """Answers without any unsupported claim: half of their claims say too much good of them."""
    write_metric(
        tmp_path,
        "select d.item_id as cluster_id,\n"
        "    min(case when d.verdict = 'supported' then 1 else 0 end) as numerator,\n"
        "    1 as denominator\n"
        "from deciding_labels as d where d.run_id = :run_id group by d.item_id",
    )
    load(store, *judge("r", all_good))
    ask_people(store, "r", lambda n, c: "supported" if c else "unlinked", size=60)
    found = decide(store, tmp_path, metric="own", min=0.3)
    assert (found.outcome, found.slices[0].basis) == ("inconclusive", None)


def dropped(n: int, c: int) -> str:
    return "unlinked" if n % 2 else "supported"


def test_a_judge_shows_no_drop_and_people_do(store: Store, tmp_path: Path) -> None:
    """Fifty points by a judge that nobody checked; it may have become stricter with the style."""
    load(store, *judge("old", all_good), *judge("r", dropped))
    rule = {"baseline": "old", "margin": 0.1}
    found = decide(store, tmp_path, **rule)
    assert (found.outcome, found.slices[0].untrusted) == ("inconclusive", 240)
    assert decide(store, tmp_path, **rule, min_agreement=0.0).outcome == "fail"
    ask_people(store, "r", dropped)
    assert decide(store, tmp_path, **rule).outcome == "inconclusive"  # the baseline has no labels
    ask_people(store, "old", all_good)
    found = decide(store, tmp_path, **rule)
    assert (found.outcome, found.slices[0].basis) == ("fail", "corrected")
    assert found.slices[0].change == pytest.approx(-0.5, abs=0.05)
    sliced = decide(store, tmp_path, **rule, by=("domain",))
    outcomes = {one.slice["domain"]: one.outcome for one in sliced.slices}
    assert outcomes == {"d0": "pass", "d1": "fail"}


def test_a_trusted_judge_shows_a_drop_for_what_it_is_worth(store: Store, tmp_path: Path) -> None:
    """It misses a tenth of both kinds, so nine points by it are eleven by people."""

    def truth(n: int, c: int) -> str:
        return "supported" if c % 2 else "unlinked"

    def seen(n: int, c: int) -> str:
        wrong = n % 10 == 0
        return "unlinked" if (truth(n, c) == "supported") == wrong else "supported"

    def worse(n: int, c: int) -> str:
        return "unlinked" if n % 12 == 1 else seen(n, c)

    load(store, *judge("old", seen), *judge("r", worse))
    gate = {"baseline": "old", "margin": 0.1}
    assert decide(store, tmp_path, **gate).outcome == "inconclusive"
    trust(store, truth, seen)
    found = decide(store, tmp_path, **gate).slices[0]
    taken = decide(store, tmp_path, **gate, min_agreement=0.0).slices[0]
    assert (taken.outcome, found.outcome) == ("pass", "inconclusive")
    assert found.change == taken.change
    assert (found.low or 0) < 1.1 * (taken.low or 0) < 0
    assert found.basis == "judge_only"
    assert f"{JUDGE}, with the error of its calibration" in found.reason
