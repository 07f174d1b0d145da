"""Pages of claims: the same claims as the command lists, whichever way they are found."""

from __future__ import annotations

from datetime import datetime
from typing import Any, get_args

import pytest

from claimwise.claims import browse
from claimwise.claims.browse import (
    ClaimFilter,
    ClaimPage,
    Deciders,
    SaidFilter,
    find_claims,
    list_groups,
    list_reasons,
)
from claimwise.claims.queries import list_claims
from claimwise.errors import MetricError
from claimwise.labelling.draw import draw_round
from claimwise.labelling.guide import read_guide
from claimwise.labelling.queue import add_guide
from claimwise.store import Store
from small_data import Record, answer, claim, closed_label, item, label, load, run, source

pytestmark = pytest.mark.each_engine

JUDGE = {"labeler": "verifier:v1", "labeled_at": "2026-01-02T00:00:00Z"}


def museum() -> list[Record]:
    """Two runs over three items, with every verdict, a failure and both kinds of disputes."""
    texts = ["Tall tower", "Old tower", "Free entry", "Dogs welcome", "Cats welcome"]
    return [
        source(), source("other"),
        item("q1", domain="tower", attributes={"channel": "web"}),
        item("q2", query="What is allowed?", stakes="high", domain=None),
        run(), run("r2"),
        answer("q1", *texts, claim("Great question!", claim_type="non_factual")),
        answer("q2", *texts), answer("q2", "Tall tower", run_id="r2"),
        label("q1", "Tall tower", "contradicted", source_id="doc", confidence=0.7, **JUDGE),
        label("q1", "Old tower", "supported", source_id="other", confidence=0.9, **JUDGE),
        label("q1", "Free entry", "overreach", confidence=0.5, **JUDGE),
        label("q1", "Free entry", "supported", labeler="ana"),
        label("q1", "Dogs welcome", "unlinked", labeler="ana"),
        label("q1", "Dogs welcome", "stale", labeler="ben"),
        label("q2", "Tall tower", "unlinked", confidence=0.6, **JUDGE),
        label("q2", "Old tower", "stale", confidence=0.6, **JUDGE),
        closed_label("q2", "Tall tower", "false"),
        {"type": "unscored", "run_id": "r", "item_id": "q2", "claim_text": "Free entry",
         "labeler": "verifier:v1", "failed_at": "2026-01-02T00:00:00Z", "reason": "timeout"},
    ]  # fmt: skip


FILTERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"verdicts": ("contradicted",)}, {"verdicts": ["contradicted"]}),
    ({"verdicts": ("unscored", "stale")}, {"verdicts": ["unscored", "stale"]}),
    ({"groups": (("domain", "tower"),)}, {"where": {"domain": "tower"}}),
    ({"groups": (("domain", None),)}, {"where": {"domain": None}}),
    ({"groups": (("channel", "web"), ("stakes", "low"))},
     {"where": {"channel": "web", "stakes": "low"}}),
    ({"source_id": "doc"}, {"where": {"source_id": "doc"}}),
    ({"labeler": "ana"}, {"where": {"labeler": "ana"}}),
    ({"decided_by": "people"}, {"where": {"label_kind": "human"}}),
    ({"decided_by": "judges"}, {"where": {"label_kind": "verifier"}}),
    ({"dispute": "any"}, {"disputed": True}),
    ({"search": "TOWER"}, {"search": "tower"}),
    ({"search": "allowed", "verdicts": ("stale",)}, {"search": "allowed", "verdicts": ["stale"]}),
    ({"judgement": "closed_book"}, {"judgement": "closed_book", "verdicts": ["false"]}),
]  # fmt: skip


@pytest.mark.parametrize("few", [browse._FEW, -1], ids=["sorted", "walked"])
def test_every_filter_finds_what_the_command_lists(
    store: Store, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "_FEW", few)
    load(store, *museum())
    for chosen, options in FILTERS:
        page = find_claims(store, ClaimFilter(run_id="r", **chosen), limit=100)
        listed = list_claims(store, "r", **options)
        assert sorted((c.item_id, c.claim_id, c.verdict, c.unscored) for c in page.claims) == (
            sorted((c.item_id, c.claim_id, c.verdict, c.unscored) for c in listed)
        ), chosen
        severities = {(c.item_id, c.claim_id): (c.severity, c.doubt) for c in listed}
        found = [severities[c.item_id, c.claim_id] for c in page.claims]
        assert found == sorted(found), "worst first"
        assert (page.found, page.more_found) == (len(listed), False)
        assert [bool(c.dispute) for c in page.claims] == [
            next(o.disputed for o in listed if o.claim_id == c.claim_id and o.item_id == c.item_id)
            for c in page.claims
        ]


def names(page: ClaimPage) -> list[tuple[str, str, str]]:
    return [(c.run_id, c.item_id, c.claim_text) for c in page.claims]


@pytest.mark.parametrize("few", [browse._FEW, -1], ids=["sorted", "walked"])
def test_pages_follow_one_another_both_ways(
    store: Store, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "_FEW", few)
    load(store, *museum())
    wanted = ClaimFilter(search="tower")
    whole = names(find_claims(store, wanted, limit=100))
    assert len(whole) == len(set(whole)) == 5, "in all runs"
    pages = [find_claims(store, wanted, limit=2)]
    while pages[-1].after:
        pages.append(find_claims(store, wanted, limit=2, after=pages[-1].after))
    assert [names(page) for page in pages] == [whole[:2], whole[2:4], whole[4:]]
    assert pages[0].before is None
    back = find_claims(store, wanted, limit=2, before=pages[2].before)
    assert names(back) == whole[2:4]
    first = find_claims(store, wanted, limit=2, before=back.before)
    assert (names(first), first.before) == (whole[:2], None)
    assert first.after is not None


def test_disputes_are_told_apart_and_show_what_each_said(store: Store) -> None:
    load(store, *museum())
    by_kind = {kind: find_claims(store, ClaimFilter(dispute=kind), limit=9).claims
               for kind in ("people", "judge")}  # fmt: skip
    assert [c.claim_text for c in by_kind["people"]] == ["Dogs welcome"]
    assert [c.claim_text for c in by_kind["judge"]] == ["Free entry"]
    said = [(o.labeler, o.verdict) for o in by_kind["judge"][0].opinions]
    assert said == [("ana", "supported"), ("verifier:v1", "overreach")], "what decides first"
    assert [c.unscored for c in find_claims(store, ClaimFilter(reason="timeout"), limit=9).claims]
    assert list_reasons(store) == ["not_judged", "timeout"]
    assert ("channel", "web") in list_groups(store)
    assert ("domain", "tower") in list_groups(store)


def test_counting_ends_where_it_would_take_long(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(store, *museum())
    for name, value in (
        ("_FEW", -1),
        ("_MOST_COUNTED", 3),
        ("_MOST_WALKED", 2),
        ("_MOST_IN_RUN", 4),
    ):
        monkeypatch.setattr(browse, name, value)
    everything = find_claims(store, ClaimFilter(run_id="r"), limit=1)
    assert (everything.found, everything.more_found) == (3, True)
    walked = find_claims(store, ClaimFilter(run_id="r", search="tower"), limit=1)
    assert walked.found <= 4
    assert walked.more_found
    exact = find_claims(store, ClaimFilter(run_id="r2", search="tower"), limit=1)
    assert (exact.found, exact.more_found) == (1, False)


def test_unknown_verdicts_and_columns_are_named(store: Store) -> None:
    load(store, *museum())
    with pytest.raises(MetricError, match="verdict 'wrong'"):
        find_claims(store, ClaimFilter(verdicts=("wrong",)), limit=1)
    with pytest.raises(MetricError, match="column 'colour'"):
        find_claims(store, ClaimFilter(groups=(("colour", "red"),)), limit=1)


SAID = "verifier:v1"
SAYING: list[tuple[SaidFilter, list[tuple[str, str]]]] = [
    (SaidFilter(labeler="ana"), [("q1", "Dogs welcome"), ("q1", "Free entry")]),
    (SaidFilter(labeler=SAID, verdicts=("overreach",)), [("q1", "Free entry")]),
    (SaidFilter(labeler=SAID, verdicts=("supported", "stale")),
     [("q1", "Old tower"), ("q2", "Old tower")]),
    (SaidFilter(labeler="ana", verdicts=("overreach",)), []),
    (SaidFilter(labeler=SAID, verdicts=("unscored",)),
     [("q1", "Dogs welcome"), ("q1", "Cats welcome"), ("q2", "Free entry"),
      ("q2", "Dogs welcome"), ("q2", "Cats welcome")]),
    (SaidFilter(labeler=SAID, verdicts=("unscored", "overreach")),
     [("q1", "Dogs welcome"), ("q1", "Free entry"), ("q1", "Cats welcome"), ("q2", "Free entry"),
      ("q2", "Dogs welcome"), ("q2", "Cats welcome")]),
    # Support scores: 0.3 of “contradicted”, 0.9 of “supported”, 0.5 of “overreach”, 0.4 of q2's.
    (SaidFilter(labeler=SAID, scores=(0.3, 0.4)), [("q1", "Tall tower")]),
    (SaidFilter(labeler=SAID, scores=(0.4, 0.5)), [("q2", "Tall tower"), ("q2", "Old tower")]),
    (SaidFilter(labeler=SAID, scores=(0.5, 1.0)), [("q1", "Free entry"), ("q1", "Old tower")]),
]  # fmt: skip


@pytest.mark.parametrize("few", [browse._FEW, -1], ids=["sorted", "walked"])
def test_claims_are_found_by_what_someone_said_of_them(
    store: Store, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever decides: “Free entry” is supported, because ana's label comes first."""
    monkeypatch.setattr(browse, "_FEW", few)
    load(store, *museum())
    for said, expected in SAYING:
        page = find_claims(store, ClaimFilter(run_id="r", said=said), limit=100)
        assert sorted((c.item_id, c.claim_text) for c in page.claims) == sorted(expected), said
    both = ClaimFilter(
        verdicts=("supported",), said=SaidFilter(labeler=SAID, verdicts=("overreach",)),
        decided_by="people",
    )  # fmt: skip
    assert names(find_claims(store, both, limit=9)) == [("r", "q1", "Free entry")]


def test_claims_are_found_that_no_person_labelled(store: Store) -> None:
    load(store, *museum())
    found = {
        kind: set(names(find_claims(store, ClaimFilter(run_id="r", decided_by=kind), limit=99)))
        for kind in (None, *get_args(Deciders))
    }
    assert found["people"] | found["no_people"] == found[None]
    assert not found["people"] & found["no_people"]
    assert found["judges"] < found["no_people"], "nobody labelled the others"


def test_a_later_label_of_the_same_person_replaces_what_they_said(store: Store) -> None:
    load(store, *museum())
    later = {"labeler": SAID, "labeled_at": "2026-01-03T00:00:00Z"}
    load(store, label("q1", "Free entry", "unlinked", **later))
    for verdict, found in (("overreach", 0), ("unlinked", 1)):
        said = SaidFilter(labeler=SAID, verdicts=(verdict,))
        page = find_claims(store, ClaimFilter(run_id="r", search="entry", said=said), limit=9)
        assert page.found == found
    closed = SaidFilter(labeler="ana", verdicts=("false",))
    page = find_claims(store, ClaimFilter(judgement="closed_book", said=closed), limit=9)
    assert [c.claim_text for c in page.claims] == ["Tall tower"]
    with pytest.raises(MetricError, match="verdict 'wrong'"):
        find_claims(store, ClaimFilter(said=SaidFilter(labeler="a", verdicts=("wrong",))), limit=1)


def test_the_claims_of_a_round_are_found(store: Store) -> None:
    load(store, *museum())
    now = datetime(2026, 2, 1)  # noqa: DTZ001 - times of the store have no zone
    guide = read_guide("grounded")
    add_guide(store, guide.version, guide.text, now)
    drawn = draw_round(
        store, "r", "grounded", title="A round", size=5, overlap=0.0, created_by="ada",
        guide_version=guide.version, now=now,
    )  # fmt: skip
    tasks = "select item_id, claim_id from annotation_tasks where round_id = :round_id"
    asked = store.query(tasks, {"round_id": drawn.round_id})
    page = find_claims(store, ClaimFilter(round_id=drawn.round_id), limit=9)
    assert sorted((c.item_id, c.claim_id) for c in page.claims) == sorted(asked)
    assert len(asked) == page.found == 5
    assert find_claims(store, ClaimFilter(round_id="none"), limit=9).claims == []
