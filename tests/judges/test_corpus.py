"""The corpus index: how documents are cut, what is found, and the way back to the documents."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.judges.corpus import (
    PASSAGE_WORDS,
    Corpus,
    Excerpts,
    cut_passages,
    list_content_words,
)
from claimwise.types.corpus import CorpusPassage, Retrieval
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, ClaimVerdict, Span

ALL = Retrieval(k=100, floor=0.0)
WORDS = st.sampled_from(["tower", "bridge", "river", "ferry", "castle", "the", "of", "1999"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(lambda w: " ".join(w) + ".")


def doc(source_id: str, text: str, **more: Any) -> Source:
    return Source(source_id=source_id, corpus_ver="-", source_text=text, **more)


TOWER = doc("tower", "The tower is 139 m tall. It opened in 1999.")
BRIDGE = doc("bridge", "The bridge crosses the river. Ferries left from its north end.")
FARES = doc("fares", "It costs five euros.", title="Fares of the castle")


@given(st.text(max_size=3000) | st.lists(SENTENCES, max_size=60).map(" ".join))
def test_passages_are_in_order_and_leave_nothing_out(text: str) -> None:
    last = 0
    for start, end in cut_passages(text):
        assert start >= last
        assert not text[last:start].strip()
        assert start < end
        last = end
    assert not text[last:].strip()


@pytest.mark.parametrize(
    "text",
    [
        "word " * 1000,
        "x" * 9_000,
        "塔" * 9_000,
        "A short sentence here. " * 300,
        "| a | b |\n" * 900,
    ],
)
def test_no_passage_is_long(text: str) -> None:
    cut = [text[start:end] for start, end in cut_passages(text)]
    assert all(len(part) <= 2_000 for part in cut)
    assert all(len(part.split()) <= PASSAGE_WORDS for part in cut)
    # …and they are not crumbs either.
    assert len(cut) <= 2 + max(len(text) // 1_000, len(text.split()) // 50)


def test_two_documents_with_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match="two with one id"):
        Corpus([TOWER, doc("tower", "Another text.")])


def test_the_best_passage_comes_first() -> None:
    corpus = Corpus([BRIDGE, TOWER, FARES])
    found = corpus.find_passages("The tower is 200 m tall.")
    assert [p.source_id for p in found] == ["tower"]
    assert found[0].found == pytest.approx(3 / 4)  # tower, m and tall, but not 200
    assert TOWER.source_text[found[0].start : found[0].end] == TOWER.source_text


def test_a_title_counts_as_part_of_every_passage() -> None:
    assert [
        p.source_id for p in Corpus([FARES, TOWER]).find_passages("The castle costs much.")
    ] == ["fares"]


@pytest.mark.parametrize("claim", ["", "It is so.", "Zeppelins carried mail to Quito.", "?!"])
def test_what_the_corpus_does_not_speak_of_finds_nothing(claim: str) -> None:
    assert Corpus([TOWER, BRIDGE, FARES]).find_passages(claim) == []


@pytest.mark.parametrize("documents", [[], [doc("a", "")], [doc("a", " \n ")]])
def test_an_empty_corpus_finds_nothing(documents: list[Source]) -> None:
    corpus = Corpus(documents)
    assert corpus.info.passages == 0
    assert corpus.find_passages("The tower is tall.") == []


def test_rare_words_weigh_more_than_frequent_ones() -> None:
    many = [doc(f"t{n}", f"The tower number {n} is tall.") for n in range(50)]
    corpus = Corpus([*many, doc("q", "Quimper lies on the Odet.")])
    # Half of the words are there, but not what the claim is about.
    assert corpus.find_passages("The Zorblax tower is tall.", Retrieval(k=5, floor=0.5)) == []
    # One word of two, but the telling one.
    found = corpus.find_passages("Quimper tower", Retrieval(k=5, floor=0.5))
    assert [p.source_id for p in found] == ["q"]


def test_k_is_kept_to_and_equal_passages_come_in_order() -> None:
    corpus = Corpus([doc(f"d{n}", "The castle has a moat.") for n in range(9)])
    found = corpus.find_passages("The castle has a moat.", Retrieval(k=4))
    assert [p.source_id for p in found] == ["d0", "d1", "d2", "d3"]
    assert len({p.score for p in found}) == 1


@given(st.lists(st.lists(SENTENCES, min_size=1, max_size=3), min_size=1, max_size=8), SENTENCES)
def test_scores_are_those_of_bm25(texts: list[list[str]], claim: str) -> None:
    """The index against the formula, passage by passage (each document is one passage)."""
    documents = [doc(str(n), " ".join(text)) for n, text in enumerate(texts)]
    stems = [list_content_words(document.source_text) for document in documents]
    average = max(sum(map(len, stems)) / len(stems), 1)
    expected = {}
    for number, own in enumerate(stems):
        score = 0.0
        for stem in set(list_content_words(claim)):
            held = sum(stem in other for other in stems)
            weight = math.log(1 + (len(stems) - held + 0.5) / (held + 0.5))
            times = own.count(stem)
            norm = 1.2 * (0.25 + 0.75 * len(own) / average)
            score += weight * times * 2.2 / (times + norm)
        if any(stem in own for stem in list_content_words(claim)):
            expected[str(number)] = score
    found = {p.source_id: p for p in Corpus(documents).find_passages(claim, ALL)}
    assert found.keys() == expected.keys()
    for name, passage in found.items():
        assert passage.score == pytest.approx(expected[name], abs=1e-3)
        assert 0 < passage.found <= 1
        assert 0 <= passage.weight <= 1


def excerpt(source: Source, start: int, end: int) -> CorpusPassage:
    return CorpusPassage(
        source_id=source.source_id, start=start, end=end, score=1, found=1, weight=1
    )


def test_passages_that_touch_are_one_source() -> None:
    text = "One one. Two two.  Three three. Four four."
    long = doc("long", text, title="Numbers")
    passages = [excerpt(long, 32, 42), excerpt(long, 9, 17), excerpt(long, 0, 8)]
    excerpts = Excerpts(Corpus([TOWER, long]), [*passages, excerpt(TOWER, 0, 24), passages[0]])
    assert [s.source_text for s in excerpts.sources] == [
        "The tower is 139 m tall.",
        "One one. Two two.",
        "Four four.",
    ]
    assert excerpts.sources[1].title == "Numbers"
    assert len({s.source_id for s in excerpts.sources}) == 3


def judge(span: Span | None, *conflicts: Span, reason: str = "") -> ClaimVerdict:
    claim = AnswerClaim(text="x", start=0, end=1, wording="A day ticket costs €21.")
    return ClaimVerdict(
        claim=claim, verdict="supported", span=span, conflicts=conflicts, reason=reason
    )


@given(st.text(min_size=4, max_size=80).filter(lambda t: t.strip()), st.data())
def test_spans_move_back_to_where_they_stand(text: str, data: st.DataObject) -> None:
    source = doc("d", text)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    excerpts = Excerpts(Corpus([source]), [excerpt(source, start, end)])
    shown = excerpts.sources[0]
    at = data.draw(st.integers(0, len(shown.source_text) - 1))
    span = Span(
        source_id=shown.source_id,
        start=at,
        end=len(shown.source_text),
        text=shown.source_text[at:],
    )
    moved = excerpts.move_back(judge(span)).span
    assert moved is not None
    assert moved.source_id == "d"
    assert text[moved.start : moved.end] == moved.text == span.text


def test_a_conflict_must_speak_of_the_same_thing() -> None:
    """Another figure somewhere in a corpus is mostly a figure of something else."""
    day = doc("day", "A day ticket costs €21.")
    old = doc("old", "A day ticket costs €19.")
    bike = doc("bike", "A bicycle ticket costs €5.")
    excerpts = Excerpts(
        Corpus([day, old, bike]), [excerpt(s, 0, len(s.source_text)) for s in (day, old, bike)]
    )
    spans = [
        Span(source_id=s.source_id, start=0, end=len(s.source_text), text=s.source_text)
        for s in excerpts.sources
    ]
    told = "it says so; another source says otherwise: €5"
    moved = excerpts.move_back(judge(spans[0], spans[2], reason=told))
    assert moved.conflicts == ()
    assert moved.reason == "it says so"
    moved = excerpts.move_back(judge(spans[0], spans[1], spans[2], reason=told))
    assert [span.source_id for span in moved.conflicts] == ["old"]
    assert re.search("otherwise", moved.reason)
