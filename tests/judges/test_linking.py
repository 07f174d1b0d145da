"""Sources are cut with exact offsets, and the right sentences are found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claimwise.judges.link import (
    DIGEST_SENTENCES,
    DIGEST_WORDS,
    LONGEST_SENTENCE,
    PASSAGE_WORDS,
    SourceIndex,
)
from claimwise.text.words import read_stems, read_words
from judges.judged import make_source
from support.growth import grows_evenly

FILLER = [
    f"The {thing} of the harbour district was {done} by the council in spring."
    for thing in ("park", "school", "market", "station", "bakery", "library", "bridge", "pool")
    for done in ("painted", "closed", "repaired", "sold", "enlarged")
]


def rank(index: SourceIndex, claim: str) -> list[int]:
    return index.rank(read_stems(claim))


def test_the_right_sentence_comes_first() -> None:
    told = "The Kestrel Tower stands 139 m tall beside the river."
    for place in (0, 7, len(FILLER)):
        text = " ".join([*FILLER[:place], told, *FILLER[place:]])
        index = SourceIndex([make_source(text)])
        best = rank(index, "The Kestrel Tower is 200 m tall.")[0]
        sentence = index.sentences[best]
        assert sentence.text == told
        assert text[sentence.start : sentence.end] == told


def test_a_rare_word_counts_more_than_common_ones() -> None:
    text = " ".join(FILLER) + " A zeppelin landed."
    index = SourceIndex([make_source(text)])
    best = rank(index, "The council saw a zeppelin in the harbour.")[0]
    assert index.text_of(best) == "A zeppelin landed."
    assert index.weigh("zeppelin") > index.weigh("harbour") > 0


def test_common_words_find_nothing() -> None:
    index = SourceIndex([make_source("It is what it was. They are here.")])
    assert rank(index, "It is what they were.") == []
    assert rank(index, "") == []


def test_the_digest_is_small_and_in_order() -> None:
    index = SourceIndex([make_source(" ".join(FILLER))])
    ranked = rank(index, "The council repaired the park, school, market and library in spring.")
    assert len(ranked) > DIGEST_SENTENCES
    digest = index.choose(ranked)
    assert 1 <= len(digest) <= DIGEST_SENTENCES
    assert digest == sorted(digest)
    assert set(digest) <= set(ranked[:DIGEST_SENTENCES])


def test_the_digest_has_a_bound_in_words() -> None:
    lines = [" ".join(f"tower{n}word{k}" for k in range(25)) + " kestrel." for n in range(20)]
    index = SourceIndex([make_source("\n\n".join(lines))])
    digest = index.choose(rank(index, "kestrel"))
    assert digest
    assert sum(len(index.sentences[p].stems) for p in digest) <= DIGEST_WORDS
    # One that is too long by itself is taken all the same.
    assert index.choose([0]) == [0]
    assert index.choose([]) == []


def test_the_encoder_reads_a_short_source_whole_and_of_a_long_one_the_digest_and_around_it() -> (
    None
):
    short = SourceIndex([make_source("It rained. The pool was closed. Nobody came.")])
    assert list(short.read_passage([], [])) == [0, 1, 2]
    long = SourceIndex([make_source(" ".join(FILLER))])
    ranked = rank(long, "The pool was sold.")
    passage = long.read_passage(ranked, digest := long.choose(ranked))
    assert set(passage) > set(digest)
    assert set(passage) <= {near for p in digest for near in long.surround(p)}
    # The limit is that of all sources together, and another source's sentence is no neighbour.
    both = SourceIndex([make_source(" ".join(FILLER[:9])), make_source(" ".join(FILLER[9:18]))])
    assert list(both.read_passage([8], [8])) == [7, 8]


def test_what_the_encoder_reads_has_a_bound_in_words() -> None:
    lines = [" ".join(f"tower{n}word{k}" for k in range(25)) + " kestrel." for n in range(20)]
    index = SourceIndex([make_source("\n\n".join(lines))])
    ranked = rank(index, "kestrel")
    passage = index.read_passage(ranked, index.choose(ranked))
    assert DIGEST_WORDS < sum(len(index.sentences[p].stems) for p in passage) <= PASSAGE_WORDS


def test_more_sources_do_not_make_a_larger_digest() -> None:
    claim = "The council painted the park in spring."
    sizes = []
    for count in (1, 10, 100):
        sources = [make_source(" ".join(FILLER[:5]), f"s{n}") for n in range(count)]
        index = SourceIndex(sources)
        sizes.append(len(index.choose(rank(index, claim))))
    assert max(sizes) <= DIGEST_SENTENCES


def test_sentences_know_their_source() -> None:
    texts = ["The tower is tall. It is red.", "", "   ", "The tower is old."]
    index = SourceIndex([make_source(text, f"s{n}") for n, text in enumerate(texts)])
    assert [s.source for s in index.sentences] == [0, 0, 3]
    for sentence in index.sentences:
        assert texts[sentence.source][sentence.start : sentence.end] == sentence.text
    assert index.surround(1) == [0, 1]  # not into the next source
    assert index.surround(2) == [2]


def test_joined_sentences_show_gaps() -> None:
    sources = [
        make_source("One tower. Two\n  towers. Three towers.", "a"),
        make_source("Four.", "b"),
    ]
    index = SourceIndex(sources)
    assert index.join([0, 1]) == "One tower. Two towers."
    assert index.join([0, 2]) == "One tower. … Three towers."
    assert index.join([2, 3]) == "Three towers. … Four."
    assert index.join([]) == ""


def test_a_title_is_no_evidence() -> None:
    source = make_source("It is 139 m tall. It is red.", title="Kestrel Tower")
    index = SourceIndex([source])
    assert index.join([0, 1]) == "It is 139 m tall. It is red."
    assert not index.holds("kestrel")
    assert "kestrel" not in index.sentences[0].stem_set


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"word{n}" for n in range(1000)),
        "| " + " | ".join(f"cell {n}" for n in range(300)) + " |",
        "塔" * 500,
    ],
    ids=["words", "table", "chinese"],
)
def test_long_sentences_are_cut_and_nothing_is_lost(text: str) -> None:
    index = SourceIndex([make_source(text)])
    pieces = index.sentences
    assert len(pieces) > 3
    end = 0
    for piece in pieces:
        assert text[piece.start : piece.end] == piece.text
        assert not text[end : piece.start].strip()
        assert len(piece.stems) <= LONGEST_SENTENCE
        end = piece.end
    assert not text[end:].strip()


def test_a_long_record_is_cut_and_nothing_is_lost() -> None:
    text = "{" + ", ".join(f'"key{n}": {n}' for n in range(300)) + "}"
    pieces = SourceIndex([make_source(text)]).sentences
    assert [piece.start for piece in pieces] == [0, *(piece.end for piece in pieces[:-1])]
    assert pieces[-1].end == len(text)
    assert ", ".join(piece.text for piece in pieces) == ", ".join(
        f"key{n}: {n}" for n in range(300)
    )
    assert all(len(piece.text.split()) <= LONGEST_SENTENCE for piece in pieces)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=120), max_size=3))
def test_offsets_are_exact_whatever_the_text(texts: list[str]) -> None:
    index = SourceIndex([make_source(text, f"s{n}") for n, text in enumerate(texts)])
    for sentence in index.sentences:
        assert texts[sentence.source][sentence.start : sentence.end] == sentence.text
    for number, text in enumerate(texts):
        covered = "".join(s.text for s in index.sentences if s.source == number)
        assert "".join(covered.split()) == "".join(text.split()) or not read_words(text)


def test_empty_sources_and_null_bytes() -> None:
    assert SourceIndex([]).sentences == []
    empty = SourceIndex([make_source("")])
    assert rank(empty, "The tower is tall.") == []
    assert empty.choose([]) == []
    assert not empty.holds("tower")
    wordless = SourceIndex([make_source("… !!! …")])
    assert wordless.sentences
    assert rank(wordless, "The tower is tall.") == []
    text = "The tower\x00 is 139 m tall.\x00\x00 It is red."
    index = SourceIndex([make_source(text)])
    assert rank(index, "tower 139")[:1] == [0]


@pytest.mark.parametrize("joint", [" ", "; "], ids=["sentences", "one line"])
def test_time_grows_with_the_text(joint: str) -> None:
    unit = [line.rstrip(".") if joint == "; " else line for line in FILLER]

    def prepare(size: int) -> Callable[[], object]:
        source = make_source(joint.join(unit * size))

        def link() -> object:
            index = SourceIndex([source])
            return index.choose(rank(index, "The council painted the park in spring."))

        return link

    assert grows_evenly(prepare, 50)


def test_a_source_of_ten_megabytes() -> None:
    text = " ".join(FILLER)
    text = " ".join([text] * (10_000_000 // len(text) + 1)) + " A zeppelin landed."
    index = SourceIndex([make_source(text)])
    best = rank(index, "A zeppelin landed.")[0]
    sentence = index.sentences[best]
    assert text[sentence.start : sentence.end] == "A zeppelin landed."


def test_one_line_of_a_hundred_thousand_words() -> None:
    text = "tower " * 99_999 + "zeppelin"
    index = SourceIndex([make_source(text)])
    best = index.sentences[rank(index, "zeppelin")[0]]
    assert best.text.endswith("zeppelin")
    assert text[best.start : best.end] == best.text
    assert len(best.stems) <= LONGEST_SENTENCE
