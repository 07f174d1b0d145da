"""Open-book factuality: claims without given sources, judged by what a corpus says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claimwise.errors import InputError, StoreError
from claimwise.judges.corpus import Corpus
from claimwise.judges.grounded import GroundedJudge
from claimwise.openbook.answer import (
    SILENT,
    check_by_corpus,
    openbook,
    plan_by_corpus,
    read_stored_corpus,
)
from claimwise.store import Store
from claimwise.types.corpus import OpenBookResult, Retrieval
from claimwise.types.llm import LlmCall, LlmFailure
from claimwise.types.rows import Source
from pipeline.instruments import ExactVerifier
from small_data import answer, item, load, run, source
from support.grounded_model import reply_to_call
from support.injections import INJECTIONS
from support.scripted import ScriptedAsker, read_fences

FILLER = " ".join(f"Paragraph {n} is about nothing in particular." for n in range(60))


def doc(source_id: str, text: str, **more: Any) -> Source:
    return Source(source_id=source_id, corpus_ver="-", source_text=text, **more)


CORPUS = Corpus(
    [
        doc("tower", f"{FILLER} The tower is 139 m tall. It opened in 1999. {FILLER}"),
        doc("bridge", "The bridge crosses the Odet. Entry costs 5 euros."),
        doc("old", "Dogs may come in.", superseded_by="new"),
    ],
    name="docs",
)
ANSWER = (
    "The tower is 139 m tall. Entry costs 9 euros. Dogs may come in. "
    "Zeppelins carried mail to Quito. I like towers. How nice?"
)


def outcomes(result: OpenBookResult) -> dict[str, str | None]:
    return {claim.judged.claim.text: claim.outcome for claim in result.claims}


@pytest.mark.parametrize("verifier", [ExactVerifier(), "lexical"])
def test_verdicts_of_check_with_spans_in_the_documents(verifier: ExactVerifier | str) -> None:
    result = openbook(ANSWER, CORPUS, verifier=verifier)
    assert outcomes(result) == {
        "The tower is 139 m tall.": "supported",
        "Entry costs 9 euros.": "contradicted",
        "Dogs may come in.": "stale",
        "Zeppelins carried mail to Quito.": "no_passage",
        "I like towers.": None,
        "How nice?": None,
    }
    texts = {document.source_id: document.source_text for document in CORPUS.documents}
    spans = [claim.judged.span for claim in result.claims if claim.judged.span]
    assert len(spans) == 3
    for span in spans:
        assert texts[span.source_id][span.start : span.end] == span.text
    assert spans[0].start > 1_000  # far into a long document, not into an excerpt


def test_the_rate_leaves_out_what_is_undecided_and_is_bounded() -> None:
    result = openbook(ANSWER, CORPUS, verifier=ExactVerifier())
    assert (result.asked, result.decided, result.unscored) == (4, 2, 0)
    assert result.factual_precision == 0.5
    assert result.bounds == (0.25, 0.75)  # the stale one and the silent one may be either


def test_silence_is_never_false() -> None:
    result = openbook("Zeppelins carried mail to Quito.", CORPUS, verifier=ExactVerifier())
    (claim,) = result.claims
    assert claim.outcome == "no_passage"
    assert claim.judged.verdict == "unlinked"
    assert claim.judged.reason == SILENT
    assert claim.passages == ()
    assert result.factual_precision is None
    assert result.bounds == (0.0, 1.0)


def test_what_was_found_is_recorded() -> None:
    how = Retrieval(k=2, floor=0.1)
    result = openbook("Paragraph 3 is 139 m tall.", CORPUS, verifier=ExactVerifier(), retrieval=how)
    assert result.retrieval == how
    assert result.corpus.documents == 3
    assert result.corpus.name == "docs"
    assert 0 < len(result.claims[0].passages) <= 2


def test_unscored_claims_stand_beside_the_rate() -> None:
    result = openbook(
        "The bridge is unjudgeable. The bridge crosses the Odet.", CORPUS, verifier=ExactVerifier()
    )
    assert result.unscored == 1
    assert result.factual_precision == 1.0
    assert result.bounds == (0.5, 1.0)


@pytest.mark.parametrize("text", ["", "I like towers.", "Hello!"])
def test_an_answer_without_claims_has_no_rate(text: str) -> None:
    result = openbook(text, CORPUS, verifier=ExactVerifier())
    assert result.factual_precision is None
    assert result.bounds is None
    assert "no checkable claim" in result.warnings[0]


def test_an_action_needs_a_log_and_no_passage() -> None:
    result = openbook("I have refunded your order.", CORPUS, verifier="lexical")
    assert [claim.outcome for claim in result.claims] == ["unlinked"]
    assert "no action log" in result.claims[0].judged.reason


def test_a_judge_reads_the_passages_of_all_claims_in_one_call() -> None:
    asker = ScriptedAsker(reply_to_call)
    judge = GroundedJudge(asker)
    planned = plan_by_corpus(
        [c.judged.claim for c in openbook(ANSWER, CORPUS).claims], CORPUS, judge, answer=ANSWER
    )
    result = check_by_corpus(ANSWER, CORPUS, judge)
    assert len(asker.calls) == 1
    assert planned == asker.calls
    fences = read_fences(asker.calls[0].user)
    claims = [text for label, text in fences.items() if label.startswith("c")]
    assert claims == ["The tower is 139 m tall.", "Entry costs 9 euros.", "Dogs may come in."]
    assert list(outcomes(result).values())[:4] == [
        "supported",
        "contradicted",
        "stale",
        "no_passage",
    ]
    span = result.claims[0].judged.span
    assert span is not None
    assert span.source_id == "tower"
    assert CORPUS.documents[0].source_text[span.start : span.end] == span.text


def test_a_judge_is_not_asked_when_the_corpus_is_silent() -> None:
    asker = ScriptedAsker(reply_to_call)
    result = check_by_corpus("Zeppelins carried mail to Quito.", CORPUS, GroundedJudge(asker))
    assert asker.calls == []
    assert result.counts["no_passage"] == 1


def test_a_judge_that_fails_leaves_claims_unscored() -> None:
    def fail(call: LlmCall) -> LlmFailure:
        return LlmFailure(code="timeout", detail="no reply")

    result = check_by_corpus(ANSWER, CORPUS, GroundedJudge(ScriptedAsker(fail)))
    assert result.unscored == 3
    assert result.factual_precision is None
    assert result.bounds == (0.0, 1.0)


@pytest.mark.parametrize("text", INJECTIONS.values(), ids=INJECTIONS)
def test_hostile_documents_and_answers_move_no_verdict(text: str) -> None:
    corpus = Corpus([*CORPUS.documents, doc("evil", f"{text} tower entry euros dogs {text}")])
    result = openbook(f"{ANSWER}\n\n{text}", corpus, verifier="lexical")
    found = outcomes(result)
    assert found["The tower is 139 m tall."] == "supported"
    assert found["Entry costs 9 euros."] == "contradicted"


def test_citation_markers_are_no_passages() -> None:
    """“[1]” meant something to the system; what we found first is not that."""
    result = openbook("The bridge crosses the Odet [1].", CORPUS, verifier="lexical")
    assert result.claims[0].outcome == "supported"
    assert result.claims[0].judged.claim.marks[0].target == "1"


def test_a_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The tower is 139 m tall.", encoding="utf-8")
    (tmp_path / "b.docx").write_text("x", encoding="utf-8")
    result = openbook("The tower is 139 m tall.", tmp_path, verifier=ExactVerifier())
    assert result.counts["supported"] == 1
    assert "b.docx" in result.warnings[0]
    with pytest.raises(InputError, match="no such file"):
        openbook("x", tmp_path / "nowhere")


def test_the_store_s_newest_corpus_version_is_that_of_the_latest_run(store: Store) -> None:
    load(
        store,
        source("doc", source_text="The tower is 139 m tall."),
        source("doc", corpus_ver="v2", source_text="The tower is 140 m tall."),
        source("doc", corpus_ver="v3", source_text="The tower is 141 m tall."),
    )
    assert read_stored_corpus(store).info.version == "v3"  # without runs: the last by name
    load(
        store,
        item("i"),
        run("late", corpus_ver="v2", started_at="2026-05-01T00:00:00Z"),
        run("early"),
        answer("i", run_id="late"),
    )
    corpus = read_stored_corpus(store)
    assert corpus.info.version == "v2"
    assert corpus.documents[0].source_text == "The tower is 140 m tall."
    assert read_stored_corpus(store, "v1").info.version == "v1"
    with pytest.raises(
        StoreError, match=r"Unknown corpus version 'v9' in .*Known corpus versions: v1"
    ):
        read_stored_corpus(store, "v9")


def test_a_store_without_documents_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="no sources yet; import some"):
        read_stored_corpus(store)


def test_support_that_is_not_sure_enough_decides_nothing() -> None:
    text = "The bridge crosses the Odet."
    sure = openbook(text, CORPUS, verifier=ExactVerifier(), retrieval=Retrieval(sure=0.9))
    assert sure.counts["supported"] == 1
    unsure = openbook(text, CORPUS, verifier=ExactVerifier(), retrieval=Retrieval(sure=0.91))
    (claim,) = unsure.claims
    assert claim.outcome == "unlinked"
    assert claim.judged.reason == "a passage may support it, but the probability is 90%"
    assert claim.judged.span is None
    assert unsure.factual_precision is None
    assert unsure.bounds == (0.0, 1.0)
