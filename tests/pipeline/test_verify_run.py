"""Judging stored runs, on each engine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import claimwise.checking.tasks as tasks
from claimwise.checking.run import verify_run
from claimwise.errors import StoreError
from claimwise.store import Store, open_store
from claimwise.text import make_claim_id
from claimwise.transfer import export_store
from claimwise.types.progress import JudgeProgress
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict
from pipeline.instruments import ExactVerifier
from small_data import SOURCE, Record, answer, claim, item, load, run, source

EXACT = "verifier:exact-1"
COLUMNS = "claim_text, verdict, supporting_span, source_id, span_start"


def context(text: str = SOURCE, source_id: str = "doc", **more: Any) -> Record:
    return {"source_id": source_id, "context_text": text, **more}


def labels(store: Store, columns: str = COLUMNS) -> list[tuple[Any, ...]]:
    return store.query(
        f"select {columns} from labels where labeler = :labeler order by item_id, claim_text",
        {"labeler": EXACT},
    )


def unscored(store: Store) -> list[tuple[Any, ...]]:
    return store.query(
        "select claim_text, reason from unscored_claims where labeler = :labeler "
        "order by item_id, claim_text, failed_at",
        {"labeler": EXACT},
    )


@pytest.mark.each_engine
def test_answers_are_split_and_judged(store: Store) -> None:
    text = "The tower is 139 m tall [1]. Entry costs 9 euros [2][7]. Cats may come in."
    contexts = [context(SOURCE[:43]), context(SOURCE[25:64])]
    load(store, source(), item("q"), run(), answer("q", answer_text=text, contexts=contexts))
    result = verify_run(store, "r", ExactVerifier())
    assert labels(store) == [
        ("Cats may come in.", "unlinked", None, None, None),
        ("Entry costs 9 euros.", "contradicted", "Entry costs 5 euros", "doc", 44),
        ("The tower is 139 m tall.", "supported", "The tower is 139 m tall", "doc", 0),
    ]
    stored = store.query(
        "select claim_id, claim_text, answer_start, answer_end, position from claims order by 5"
    )
    for claim_id, claim_text, start, end, _ in stored:
        assert claim_id == make_claim_id("q", claim_text)
        assert text[start:end].startswith(claim_text[:10])
    cited = store.query(
        "select c.position, t.position, t.source_id, t.marker from citations as t "
        "join claims as c on c.claim_id = t.claim_id order by 1, 2"
    )
    assert cited == [(0, 0, "doc", "[1]"), (1, 0, "doc", "[2]"), (1, 1, None, "[7]")]
    assert (result.judged, result.split, result.answers) == (3, 3, 1)
    assert result.verdicts == {"supported": 1, "contradicted": 1, "unlinked": 1}
    assert (result.unscored, result.bases) == ({}, {"contexts": 1})
    assert store.query("select labeler_kind, version from labelers") == [("verifier", "1")]
    assert store.audit() == []
    confidence, reason, kind = labels(store, "confidence, reason, label_kind")[1]
    assert (confidence, reason, kind) == (0.9, "the source says “Entry costs 5 euros”", "verifier")


def test_stored_claims_are_judged_as_they_are(store: Store) -> None:
    """Reworded ones without a place too; what makes no claim is left alone."""
    load(
        store, source(), item("q"), run(),
        answer(
            "q", "Dogs may come in.", "It opened in 1900",
            claim("Lovely!", claim_type="non_factual"),
            claim("Entry costs 5 euros", answer_start=3, answer_end=9), contexts=[context()],
        ),
    )  # fmt: skip
    result = verify_run(store, "r", ExactVerifier())
    assert [row[:2] for row in labels(store)] == [
        ("Dogs may come in.", "supported"),
        ("Entry costs 5 euros", "supported"),
        ("It opened in 1900", "contradicted"),
    ]
    assert (result.split, store.count_rows()["claims"]) == (0, 4)
    assert store.audit() == []


@pytest.mark.each_engine
def test_abstentions_claim_nothing_unless_somebody_found_claims_in_them(store: Store) -> None:
    said: dict[str, Any] = {
        "answer_text": "I have no reliable information. Dogs may come in.",
        "contexts": [context()],
    }
    load(
        store, source(), item("a"), item("b"), item("c"), item("d"), run(),
        answer("a", action="abstain", **said), answer("b", action="clarify", **said),
        answer("c", "Dogs may come in", action="abstain", contexts=[context()]),
        answer("d", action="answer", **said),
    )  # fmt: skip
    result = verify_run(store, "r", ExactVerifier())
    assert (result.answers, result.abstained) == (4, 2)
    judged = store.query("select distinct item_id from labels order by item_id")
    assert judged == [("c",), ("d",)]
    assert verify_run(store, "r", ExactVerifier()).abstained == 2


def test_second_call_has_nothing_to_do(store: Store) -> None:
    load(store, source(), item("q"), run(), answer("q", "Dogs may come in", contexts=[context()]))
    assert verify_run(store, "r", ExactVerifier()).judged == 1
    again = verify_run(store, "r", ExactVerifier())
    assert (again.judged, again.done_before) == (0, 1)
    assert again.verdicts == {"supported": 1}
    assert len(labels(store)) == 1


def test_new_claims_are_the_only_work(store: Store) -> None:
    load(store, source(), item("q"), run(), answer("q", "Dogs may come in", contexts=[context()]))
    verify_run(store, "r", ExactVerifier())
    load(store, {"type": "claims", "run_id": "r", "item_id": "q", "position": 5,
                 "claim_text": "It opened in 1999"})  # fmt: skip
    assert verify_run(store, "r", ExactVerifier()).judged == 1
    assert len(labels(store)) == 2


def test_again_adds_later_labels(store: Store) -> None:
    load(store, source(), item("q"), run(), answer("q", "Dogs may come in", contexts=[context()]))
    verify_run(store, "r", ExactVerifier())
    result = verify_run(store, "r", ExactVerifier(), again=True)
    assert (result.judged, result.verdicts) == (1, {"supported": 1})
    assert len(labels(store)) == 2


@pytest.mark.each_engine
def test_again_judges_although_the_clock_was_set_back(store: Store) -> None:
    """Labels and failures of a clock that was hours ahead count as given before, and not as new."""
    load(
        store, source(), item("q"), run(),
        answer("q", "Dogs may come in", "This is unjudgeable", contexts=[context()]),
    )  # fmt: skip
    verify_run(store, "r", ExactVerifier())
    ahead = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=10)
    with store.write():
        store.execute("update labels set labeled_at = :ahead", {"ahead": ahead})
        store.execute("update unscored_claims set failed_at = :ahead", {"ahead": ahead})
    for number in (2, 3):
        result = verify_run(store, "r", ExactVerifier(), again=True)
        assert (result.judged, result.done_before) == (1, 0)
        assert len(labels(store)) == number
        assert store.query("select count(*) from unscored_claims") == [(number,)]
    times = [to_time(row[0]) for row in store.query("select labeled_at from labels order by 1")]
    assert times[0] == ahead
    assert times[0] < times[1] < times[2] < ahead + timedelta(hours=1)
    deciding = store.query("select labeled_at from deciding_labels")
    assert [to_time(row[0]) for row in deciding] == times[-1:]
    assert verify_run(store, "r", ExactVerifier()).judged == 0


def to_time(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


@pytest.mark.each_engine
def test_again_tells_when_no_later_time_is_left(store: Store) -> None:
    load(store, source(), item("q"), run(), answer("q", "Dogs may come in", contexts=[context()]))
    verify_run(store, "r", ExactVerifier())
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).replace(tzinfo=None)
    with store.write():
        store.execute("update labels set labeled_at = :last", {"last": last})
    with pytest.raises(StoreError, match="later ones are impossible: correct or delete them"):
        verify_run(store, "r", ExactVerifier(), again=True)


def test_each_verifier_does_its_own_work(store: Store) -> None:
    load(store, source(), item("q"), run(), answer("q", "Dogs may come in", contexts=[context()]))
    verify_run(store, "r", ExactVerifier())
    assert verify_run(store, "r", ExactVerifier(labeler="verifier:other")).judged == 1


@pytest.mark.each_engine
def test_failures_are_stored_once_and_tried_again(store: Store) -> None:
    load(
        store, source(), item("q"), run(),
        answer("q", "Dogs may come in", "This is unjudgeable", contexts=[context()]),
    )  # fmt: skip
    for _ in range(2):
        result = verify_run(store, "r", ExactVerifier())
        assert result.unscored == {"timeout": 1}
        assert unscored(store) == [("This is unjudgeable", "timeout")]
    assert len(labels(store)) == 1
    both = store.query(
        "select 1 from labels as l join unscored_claims as u on u.claim_id = l.claim_id "
        "and u.labeler = l.labeler"
    )
    assert both == []


def test_answers_that_failed_are_counted(store: Store) -> None:
    load(
        store, source(), item("q1"), item("q2"), run(),
        answer("q1", answer_text=None, failure="timeout"),
        answer("q2", "Dogs may come in", contexts=[context()]),
    )  # fmt: skip
    result = verify_run(store, "r", ExactVerifier())
    assert (result.answers, result.failed, result.judged) == (2, 1, 1)


@pytest.mark.each_engine
def test_refusals_claim_nothing(store: Store) -> None:
    text = "I'm sorry, but I can't help with that."
    load(store, source(), item("q"), run(), answer("q", answer_text=text, contexts=[context()]))
    result = verify_run(store, "r", ExactVerifier())
    assert (result.without_claims, result.judged) == (1, 0)
    assert store.query("select distinct claim_type from claims") == [("non_factual",)]
    again = verify_run(store, "r", ExactVerifier())
    assert (again.without_claims, again.done_before) == (1, 0)


@pytest.mark.each_engine
def test_repeated_claims_and_samples_are_told_apart(store: Store) -> None:
    text = "Dogs may come in. Cats may not. Dogs may come in."
    samples = [
        answer("q", sample=n, answer_text=text, contexts=[context()], action=None) for n in (0, 1)
    ]
    load(store, source(), item("q"), run(), *samples)
    result = verify_run(store, "r", ExactVerifier())
    assert (result.split, result.judged) == (6, 6)
    assert len(set(labels(store, "claim_id"))) == 6
    assert store.audit() == []


@pytest.mark.each_engine
def test_passages_of_one_document_map_to_their_places(store: Store) -> None:
    """Two passages, the second first; and the same words earlier in the document."""
    text = f"Dogs may come in. {SOURCE}"
    place = text.rindex("Dogs")
    passages = [
        context("Dogs may come in.", span_start=place, span_end=place + 17),
        context("It opened"),
    ]
    load(
        store, source(source_text=text), item("q"), run(),
        answer("q", "Dogs may come in", contexts=passages),
    )  # fmt: skip
    verify_run(store, "r", ExactVerifier())
    assert labels(store) == [("Dogs may come in", "supported", "Dogs may come in", "doc", place)]


@pytest.mark.each_engine
def test_reworded_passage_is_named_without_a_span(store: Store) -> None:
    load(
        store, source(), item("q"), run(),
        answer("q", "Cats are tolerated", contexts=[context("Cats are tolerated here.")]),
    )  # fmt: skip
    verify_run(store, "r", ExactVerifier())
    assert labels(store) == [("Cats are tolerated", "supported", None, "doc", None)]
    [(reason,)] = labels(store, "reason")
    assert reason == "it stands there; in a reworded passage: “Cats are tolerated”"
    assert store.audit() == []


def test_validity_is_that_of_the_runs_own_day(store: Store) -> None:
    """Sources that expired after the run were right when it ran."""
    expired = source("old", source_text="Tea costs €2.", valid_until="2025-12-31")
    later = source("new", source_text="Milk costs €1.", valid_until="2026-01-31")
    replaced = source("gone", source_text="Salt costs €5.", superseded_by="new")
    passages = [
        context("Tea costs €2.", "old"),
        context("Milk costs €1.", "new"),
        context("Salt costs €5.", "gone"),
    ]
    claims = ("Milk costs €1.", "Salt costs €5.", "Tea costs €2.")
    load(
        store, expired, later, replaced, item("q"), run(),
        answer("q", *claims, contexts=passages),
    )  # fmt: skip
    verify_run(store, "r", ExactVerifier())
    assert [row[1] for row in labels(store)] == ["supported", "stale", "stale"]


@pytest.mark.each_engine
def test_log_is_the_evidence_for_actions(store: Store) -> None:
    said = claim("I issued a refund", claim_type="action")
    load(
        store, source(), item("q1"), item("q2"), run(),
        answer("q1", said, contexts=[context()],
               action_log=[{"entry_id": "e", "entry_text": "issued a refund"}]),
        answer("q2", said, contexts=[context()]),
    )  # fmt: skip
    verify_run(store, "r", ExactVerifier())
    assert [row[1:] for row in labels(store)] == [
        ("supported", "issued a refund", None, None),
        ("unlinked", None, None, None),
    ]
    assert store.audit() == []


@pytest.mark.each_engine
def test_nothing_retrieved_supports_nothing(store: Store) -> None:
    load(store, source(), item("q"), run(), answer("q", "Dogs may come in", contexts=[]))
    result = verify_run(store, "r", ExactVerifier())
    assert [row[1] for row in labels(store)] == ["unlinked"]
    assert result.bases == {"contexts": 1}


def test_small_corpus_stands_in_for_contexts(store: Store) -> None:
    other = source("other", source_text="Cats too.")
    wrong = source("wrong", corpus_ver="v0", source_text="Mice too.")
    load(store, source(), other, wrong, item("q"), run(), answer("q", "Cats too", "Mice too"))
    result = verify_run(store, "r", ExactVerifier())
    assert [row[1:4] for row in labels(store)] == [
        ("supported", "Cats too", "other"),
        ("unlinked", None, None),
    ]
    assert result.bases == {"corpus": 1}


@pytest.mark.each_engine
def test_cited_documents_stand_in_when_the_corpus_is_large(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SMALL_CORPUS", 1)
    cited = claim("Dogs may come in", citations=[{"source_id": "doc", "marker": "[1]"}])
    gold = {"source_id": "doc", "span_text": "Dogs may come in.", "required": True}
    load(
        store, source(), source("other"), item("q1"), item("q2", gold_spans=[gold]), item("q3"),
        run(), answer("q1", cited), answer("q2", "Dogs may come in"),
        answer("q3", answer_text="Dogs may come in [source: doc]. Cats may not [source: gone]."),
    )  # fmt: skip
    result = verify_run(store, "r", ExactVerifier())
    assert result.bases == {"cited": 2, "none": 1}
    found = store.query("select source_id, marker from citations where item_id = 'q3' order by 2")
    assert found == [("doc", "[source: doc]"), (None, "[source: gone]")]
    assert [row[1] for row in labels(store)] == ["supported", "unlinked", "supported"]
    # Gold spans say what should have been found, not what the system was given.
    assert unscored(store) == [("Dogs may come in", "no_contexts")]
    assert verify_run(store, "r", ExactVerifier()).unscored == {"no_contexts": 1}
    assert len(unscored(store)) == 1


@pytest.mark.each_engine
def test_labeler_that_is_known_stays_as_described(store: Store) -> None:
    known = {"type": "labelers", "labeler": EXACT, "labeler_kind": "verifier", "version": "mine"}
    load(
        store, known, source(), item("q"), run(),
        answer("q", "Dogs may come in", contexts=[context()]),
    )  # fmt: skip
    verify_run(store, "r", ExactVerifier())
    assert store.query("select version from labelers") == [("mine",)]


def test_unknown_run_and_empty_run(store: Store) -> None:
    with pytest.raises(StoreError, match=r"Unknown run 'x' in .*There are no runs yet"):
        verify_run(store, "x", ExactVerifier())
    load(store, run())
    with pytest.raises(StoreError, match="Unknown run 'x'"):
        verify_run(store, "x", ExactVerifier())
    with pytest.raises(StoreError, match="run 'r' has no answers"):
        verify_run(store, "r", ExactVerifier())
    assert store.count_rows()["labelers"] == 0


def test_parquet_stores_are_read_only(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        load(
            store, source(), item("q"), run(), answer("q", "Dogs may come in", contexts=[context()])
        )
        export_store(store, tmp_path / "out", "parquet")
    with (
        open_store(tmp_path / "out") as frozen,
        pytest.raises(StoreError, match="a Parquet store is read-only"),
    ):
        verify_run(frozen, "r", ExactVerifier())


def many_answers(number: int) -> list[Record]:
    items = [item(f"q{n:03}") for n in range(number)]
    text = "The tower is 139 m tall. Entry costs 9 euros. Cats may come in."
    answers = [answer(i["item_id"], answer_text=text, contexts=[context()]) for i in items]
    return [source(), run(), *items, *answers]


def test_jobs_change_nothing_but_the_time(tmp_path: Path) -> None:
    found = []
    for jobs in (1, 2):
        with open_store(tmp_path / f"{jobs}.db", create=True) as store:
            load(store, *many_answers(50))
            result = verify_run(store, "r", ExactVerifier(), jobs=jobs)
            assert (result.judged, result.split) == (150, 150)
            found.append(labels(store, f"item_id, claim_id, {COLUMNS}, reason"))
    assert found[0] == found[1]


def test_progress_is_told(store: Store) -> None:
    load(store, *many_answers(40))
    seen: list[JudgeProgress] = []
    verify_run(store, "r", ExactVerifier(), watch=seen.append)
    assert {progress.total for progress in seen} == {40}
    assert [progress.done for progress in seen] == list(range(1, 41))
    assert seen[-1].unscored == 0


@pytest.mark.each_engine
def test_every_claim_of_a_run_is_accounted_for(store: Store) -> None:
    load(store, *many_answers(33))
    result = verify_run(store, "r", ExactVerifier())
    [(asked,)] = store.query("select count(*) from claims where claim_type <> 'non_factual'")
    assert sum(result.verdicts.values()) + sum(result.unscored.values()) == asked == 99
    assert store.audit() == []


@pytest.mark.parametrize(
    ("marker", "target"),
    [
        ("[1]", "doc"),
        ("[2]", "other"),
        ("[3]", None),
        ("[0]", None),
        ("[doc-2]", "other"),
        ("[source: other]", "other"),
        ("[the rules](https://x.test/more)", "more"),
        ("[the rules](https://x.test/none)", None),
    ],
)
def test_markers_are_bound_to_documents(tmp_path: Path, marker: str, target: str | None) -> None:
    sources = [source(), source("other"), source("more", url="https://x.test/more")]
    contexts = [context(), context(source_id="other")]
    with open_store(tmp_path / "s.db", create=True) as store:
        load(
            store, *sources, item("q"), run(),
            answer("q", answer_text=f"Dogs may come in {marker}.", contexts=contexts),
        )  # fmt: skip
        verify_run(store, "r", ExactVerifier())
        assert store.query("select source_id, marker from citations") == [(target, marker)]


class CarelessVerifier(ExactVerifier):
    """Says "supported" of everything and shows nothing, as a plug-in might."""

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        return [ClaimVerdict(claim=claim, verdict="supported") for claim in claims], []


@pytest.mark.each_engine
def test_verdict_that_breaks_the_rules_for_labels_is_unscored(store: Store) -> None:
    told = answer("q", "The tower is 139 m tall.", contexts=[context()])
    load(store, source(), item("q"), run(), told)
    result = verify_run(store, "r", CarelessVerifier())
    assert (labels(store), result.judged) == ([], 0)
    assert unscored(store) == [("The tower is 139 m tall.", tasks.AGAINST_RULES)]
    assert store.query("select detail from unscored_claims") == [
        ("the judge says supported; supporting_span: found nothing, expected the words of a "
         "document that show it: supported needs a span",)
    ]  # fmt: skip
