from __future__ import annotations

import math
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.errors import ClaimwiseError
from claimwise.labelling.draw import (
    DEFAULT_FLOOR,
    StratumAllocation,
    allocate_sample,
    draw_round,
    name_strata,
)
from claimwise.labelling.queue import save_label, take_task
from claimwise.labelling.rounds import (
    Candidate,
    add_guide,
    close_round,
    list_rounds,
    list_strata,
    read_round,
)
from claimwise.labelling.values import Round
from claimwise.store import Store
from small_data import answer, closed_label, item, label, load, run, source
from support.round_data import NOW, UNLINKED
from support.work import count_steps

VERIFIER = "verifier:v"


def candidate(verdict: str | None, confidence: float | None, number: int = 0) -> Candidate:
    return Candidate(f"q{number}", "c", 0, 0, verdict, confidence, None)


# Strata.


def test_strata_are_verdicts_by_bands_of_equal_doubt() -> None:
    claims = [candidate("supported", n / 10, n) for n in range(9)]
    claims += [candidate("unlinked", 0.5), candidate("unlinked", 0.5), candidate("stale", None)]
    claims += [candidate("supported", None), candidate(None, None)]
    assert Counter(name_strata(claims)) == {
        "supported/low": 4, "supported/middle": 2, "supported/high": 3, "supported": 1,
        "unlinked": 2, "stale": 1, "unscored": 1,
    }  # fmt: skip


def test_few_doubtful_claims_have_a_band_of_their_own() -> None:
    claims = [candidate("supported", 0.99, n) for n in range(900)]
    claims += [candidate("supported", 0.5 + n / 1000, n) for n in range(100)]
    assert Counter(name_strata(claims)) == {"supported/low": 100, "supported/high": 900}


def test_small_samples_take_verdicts_other_than_supported_together() -> None:
    claims = [candidate(v, n / 10, n) for v in ("supported", "unlinked", "stale") for n in range(9)]
    assert len(set(name_strata(claims, 90))) == 9
    assert {name.partition("/")[0] for name in name_strata(claims, 89)} == {"supported", "others"}


JUDGED = st.tuples(
    st.sampled_from(["supported", "unlinked", None]),
    st.none() | st.sampled_from([0.1, 0.5, 0.9, 1.0]),
)


@given(st.lists(JUDGED, max_size=30))
def test_claims_alike_share_a_stratum(pairs: list[tuple[str | None, float | None]]) -> None:
    names = name_strata([candidate(*pair) for pair in pairs])
    by_pair: dict[Any, set[str]] = {}
    for pair, name in zip(pairs, names, strict=True):
        by_pair.setdefault(pair, set()).add(name)
        assert name.partition("/")[0] == (pair[0] or "unscored")
    assert all(len(found) == 1 for found in by_pair.values())


# Allocation.


def test_allocation_is_neymans_but_for_a_fifth() -> None:
    shares = {
        "sure": StratumAllocation(1000, 0.1),
        "doubtful": StratumAllocation(1000, 0.5),
        "few": StratumAllocation(5, 0.5),
    }
    assert allocate_sample(shares, 305, 20) == {"sure": 70, "doubtful": 230, "few": 5}


def test_strata_do_not_swamp_the_allocation() -> None:
    """Fifteen strata of 20 labels each were more than a sample of 200: it was nearly even."""
    shares = {f"rare {n}": StratumAllocation(30, 0.3) for n in range(12)}
    shares |= {
        "sure": StratumAllocation(1500, 0.1),
        "unsure": StratumAllocation(300, 0.3),
        "doubtful": StratumAllocation(100, 0.5),
    }
    chosen = allocate_sample(shares, 200, DEFAULT_FLOOR)
    even = 100 / sum(share.claims for share in shares.values())
    assert chosen["doubtful"] / 200 > 2 * even
    assert sum(chosen[f"rare {n}"] for n in range(12)) < 80


def test_floor_lifts_small_shares() -> None:
    shares = {"sure": StratumAllocation(1000, 0.001), "doubtful": StratumAllocation(1000, 0.5)}
    assert allocate_sample(shares, 100, 20) == {"sure": 20, "doubtful": 80}


def test_floors_are_lowered_alike_when_the_size_is_small() -> None:
    shares = {name: StratumAllocation(100, 0.5) for name in "abcd"}
    assert allocate_sample(shares, 10, 20) == {"a": 3, "b": 3, "c": 2, "d": 2}


def test_a_floor_beyond_all_claims_costs_no_more_than_another() -> None:
    shares = {
        "a": StratumAllocation(100, 0.5),
        "b": StratumAllocation(100, 0.2),
        "c": StratumAllocation(2, 0.5),
    }
    chosen: dict[str, int] = {}
    count_steps(lambda: chosen.update(allocate_sample(shares, 10, 10**18)), most=50_000)
    assert chosen == allocate_sample(shares, 10, 4) == {"a": 4, "b": 4, "c": 2}


def test_everything_is_drawn_when_the_size_is_large() -> None:
    shares = {"a": StratumAllocation(3, 0.5), "b": StratumAllocation(4, 0.2)}
    for size in (None, 7, 100):
        assert allocate_sample(shares, size, 20) == {"a": 3, "b": 4}


def test_fewer_claims_than_strata_are_refused() -> None:
    with pytest.raises(ClaimwiseError, match=r"at least 2, one claim per stratum \(a, b\), not 1"):
        allocate_sample({"a": StratumAllocation(3, 0.5), "b": StratumAllocation(4, 0.2)}, 1, 20)


@given(
    st.dictionaries(
        st.text("abcdefgh", min_size=1, max_size=2),
        st.builds(StratumAllocation, st.integers(1, 500), st.floats(0.2, 0.5)),
        min_size=1,
        max_size=8,
    ),
    st.floats(0, 1),
    st.integers(1, 600),
)
def test_allocation_adds_up_within_its_borders(
    shares: dict[str, StratumAllocation], part: float, floor: int
) -> None:
    total = sum(share.claims for share in shares.values())
    size = max(len(shares), math.ceil(part * total))
    chosen = allocate_sample(shares, size, floor)
    assert sum(chosen.values()) == min(size, total)
    assert all(1 <= chosen[name] <= share.claims for name, share in shares.items())
    while sum(min(floor, share.claims) for share in shares.values()) > size:
        floor -= 1
    assert all(chosen[name] >= min(floor, s.claims) for name, s in shares.items())


# Drawing from a store.


def fill(store: Store, *, items: int = 12, judged: int = 10) -> None:
    """Load items of three claims, of which a verifier judged the first ten."""
    records = [source(), run()]
    for number in range(items):
        texts = [f"Claim {number} {n}." for n in range(3)]
        records += [item(f"q{number:02}"), answer(f"q{number:02}", *texts)]
        if number < judged:
            records += [
                label(f"q{number:02}", text, "unlinked" if n == 0 else "stale", labeler=VERIFIER,
                      confidence=(number + 1) / 20)
                for n, text in enumerate(texts)
            ]  # fmt: skip
    load(store, *records)
    add_guide(store, "g1", "Judge fairly.", NOW)


def draw(store: Store, **more: Any) -> Round:
    options: dict[str, Any] = {
        "title": None, "created_by": "boss", "guide_version": "g1", "now": NOW, "overlap": 0.0,
    }  # fmt: skip
    judgement = more.pop("judgement", "grounded")
    return draw_round(store, more.pop("run_id", "r"), judgement, **{**options, **more})


def drawn(store: Store, made: Round) -> list[tuple[Any, ...]]:
    return store.query(
        "select item_id, claim_id, stratum, inclusion_probability, wanted "
        "from annotation_tasks where round_id = :id order by position",
        {"id": made.round_id},
    )


@pytest.mark.each_engine
def test_round_draws_what_its_strata_say(store: Store) -> None:
    fill(store)
    made = draw(store, size=20, floor=2)
    strata = {s.stratum: s for s in list_strata(store, made.round_id)}
    assert set(strata) == {"others/low", "others/middle", "others/high", "unscored"}
    assert sum(s.chosen for s in strata.values()) == 20
    assert sum(s.claims for s in strata.values()) == 36
    tasks = drawn(store, made)
    assert Counter(task[2] for task in tasks) == {n: s.chosen for n, s in strata.items()}
    assert all(task[3] == strata[task[2]].chosen / strata[task[2]].claims for task in tasks)
    assert (made.strata_by, made.title) == (VERIFIER, "r")


def test_same_seed_draws_the_same_claims(store: Store) -> None:
    fill(store)
    first = draw(store, size=20, seed=3)
    again = draw(store, size=20, seed=3, now=NOW + timedelta(days=1), again=True)
    other = draw(store, size=20, seed=4, again=True)
    assert drawn(store, first) == drawn(store, again)
    assert drawn(store, first) != drawn(store, other)
    assert first.round_id != again.round_id


def test_items_are_shuffled_and_their_claims_stay_together(store: Store) -> None:
    fill(store)
    items = [task[0] for task in drawn(store, draw(store))]
    order = list(dict.fromkeys(items))
    assert order != sorted(order)
    assert items == [item_id for item_id in order for _ in range(3)]


def test_claims_are_drawn_as_often_as_the_round_says(store: Store) -> None:
    """Over many seeds, each claim's frequency is its stratum's chance: 5 standard errors."""
    fill(store)
    rounds = 150
    seen: Counter[str] = Counter()
    chance: dict[str, float] = {}
    with store.write():
        for seed in range(rounds):
            made = draw(store, size=18, floor=2, seed=seed, again=True)
            for _, claim_id, _, probability, _ in drawn(store, made):
                seen[claim_id] += 1
                chance[claim_id] = probability
    assert len(seen) == 36
    for claim_id, p in chance.items():
        error = math.sqrt(p * (1 - p) / rounds)
        assert abs(seen[claim_id] / rounds - p) <= 5 * error, claim_id


@pytest.mark.parametrize(("overlap", "shared"), [(0, 0), (0.01, 1), (0.1, 4), (0.5, 18), (1, 36)])
def test_overlap_is_rounded_up(store: Store, overlap: float, shared: int) -> None:
    fill(store)
    wanted = Counter(
        task[4] for task in drawn(store, draw(store, overlap=overlap, overlap_labels=3))
    )
    assert wanted == Counter({1: 36 - shared, 3: shared})
    slots = store.query("select count(*) from annotation_slots")[0][0]
    assert slots == 36 + 2 * shared


def test_overlap_is_spread_over_the_strata(store: Store) -> None:
    fill(store)
    tasks = drawn(store, draw(store, overlap=0.5))
    shared = Counter(task[2] for task in tasks if task[4] > 1)
    for stratum, count in Counter(task[2] for task in tasks).items():
        assert abs(shared[stratum] - count / 2) <= 1


def test_labelled_claims_are_left_out_unless_asked_for_again(store: Store) -> None:
    fill(store)
    made = draw(store)
    task = take_task(store, made.round_id, "ana", NOW)
    assert task is not None
    save_label(store, task.task_id, "ana", UNLINKED, NOW)
    close_round(store, made.round_id, NOW)
    second = draw(store, seed=1)
    assert task.claim_id not in {row[1] for row in drawn(store, second)}
    assert len(drawn(store, second)) == 35
    assert second.shortfall == "35 of 36 claims: 1 labelled before."
    assert len(drawn(store, draw(store, seed=1, again=True, title="again"))) == 36


@pytest.mark.each_engine
def test_claims_of_open_rounds_are_left_out_and_the_round_says_so(store: Store) -> None:
    fill(store)
    first = draw(store, size=20, title="March")
    assert (first.asked, first.shortfall) == (20, None)
    second = draw(store, size=100, seed=1, title="April")
    keys = [{row[:2] for row in drawn(store, one)} for one in (first, second)]
    assert (len(keys[1]), keys[0] & keys[1]) == (16, set())
    said = "16 of 100 claims: the run has 36, 20 in the open round “March”."
    assert (second.asked, second.shortfall) == (100, said)
    assert read_round(store, second.round_id) == second
    with pytest.raises(ClaimwiseError, match="no claim is left to draw: 20 in the open round “Mar"):
        draw(store, seed=2, title="May")
    assert len(drawn(store, draw(store, judgement="closed_book", title="Other"))) == 36
    close_round(store, first.round_id, NOW)
    assert len(drawn(store, draw(store, seed=2, title="May"))) == 20


def test_nothing_left_is_said(store: Store) -> None:
    load(store, source(), run(), item("q"), answer("q", "One."), run("empty"),
         label("q", "One.", "unlinked"))  # fmt: skip
    add_guide(store, "g1", "Judge fairly.", NOW)
    with pytest.raises(
        ClaimwiseError, match="no claim is left to draw: 1 labelled before; --again"
    ):
        draw(store)
    with pytest.raises(ClaimwiseError, match="found no claims to label"):
        draw(store, run_id="empty")
    with pytest.raises(ClaimwiseError, match="Unknown run 'none'"):
        draw(store, run_id="none")
    assert list_rounds(store) == []


def test_people_tell_how_much_a_stratum_varies(store: Store) -> None:
    """Where people disagreed with nothing so far, fewer claims are drawn."""
    records = [source(), run()]
    for number in range(200):
        item_id = f"q{number:03}"
        verdict = "unlinked" if number % 2 else "stale"
        records += [item(item_id), answer(item_id, "One."),
                    label(item_id, "One.", verdict, labeler=VERIFIER)]  # fmt: skip
        if number < 40:
            told = "unlinked" if verdict == "unlinked" or number % 4 else "supported"
            more = {"supporting_span": "It opened in 1999.", "source_id": "doc"}
            records.append(label(item_id, "One.", told, **(more if told == "supported" else {})))
    load(store, *records)
    add_guide(store, "g1", "Judge fairly.", NOW)
    made = draw(store, size=60, floor=5)
    chosen = {s.stratum: s.chosen for s in list_strata(store, made.round_id)}
    assert chosen["stale"] > 2 * chosen["unlinked"]


@pytest.mark.each_engine
def test_closed_book_round_has_strata_of_the_judge(store: Store) -> None:
    fill(store)
    load(store, closed_label("q00", "Claim 0 0.", "true", labeler="judge:m"),
         closed_label("q01", "Claim 1 0.", "true", labeler="ana"))  # fmt: skip
    made = draw(store, judgement="closed_book")
    assert [tuple(s) for s in list_strata(store, made.round_id)] == [
        ("true", 1, 1), ("unscored", 34, 34),
    ]  # fmt: skip
    assert (made.strata_by, made.title) == ("judge:m", "r, closed-book")


def test_verifier_is_found_by_a_part_of_its_name(store: Store) -> None:
    fill(store)
    load(store, label("q00", "Claim 0 0.", "stale", labeler="judge:other"))
    assert draw(store, verifier="oth").strata_by == "judge:other"
    assert draw(store, verifier=VERIFIER, seed=1, again=True).strata_by == VERIFIER
    for unclear in ("nobody", "e", ":"):
        with pytest.raises(ClaimwiseError, match=r"2 judges match|Unknown judge"):
            draw(store, verifier=unclear, seed=2)
    with pytest.raises(ClaimwiseError, match="There are no judges yet"):
        draw(store, verifier="v", judgement="closed_book")


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 0}, {"size": 2}, {"overlap": -0.1}, {"overlap": 1.5}, {"overlap": math.nan},
        {"overlap_labels": 1}, {"floor": 0}, {"seed": -1}, {"seed": 2**31}, {"title": " "},
        {"title": "x" * 201}, {"title": "a\x00"},
    ],
)  # fmt: skip
def test_wrong_numbers_are_refused(store: Store, wrong: dict[str, Any]) -> None:
    fill(store)
    with pytest.raises(ClaimwiseError, match=next(iter(wrong))):
        draw(store, **wrong)
    assert list_rounds(store) == []
