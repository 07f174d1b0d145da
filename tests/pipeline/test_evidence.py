from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from claimwise.checking.evidence import gather_passages, show_whole
from claimwise.types.rows import Context, Source
from claimwise.types.verdicts import Span

DOC = Source(
    source_id="doc", corpus_ver="v1", source_text="Zero one two three. Four five. Six.",
    superseded_by="new",
)  # fmt: skip


def context(text: str, position: int = 0, source_id: str = "doc", start: int | None = None):  # type: ignore[no-untyped-def]
    end = None if start is None else start + len(text)
    return Context(
        run_id="r", item_id="q", position=position, source_id=source_id, context_text=text,
        span_start=start, span_end=end,
    )  # fmt: skip


def span_of(evidence, text: str) -> Span:  # type: ignore[no-untyped-def]
    start = evidence.shown.source_text.index(text)
    return Span(source_id="doc", start=start, end=start + len(text), text=text)


def test_overlapping_passages_become_one() -> None:
    passages = [context("three. Four five."), context("Zero one", 1), context("one two three.", 2)]
    [evidence] = gather_passages(passages, {"doc": DOC})
    assert evidence.shown.source_text == "Zero one two three. Four five."
    assert evidence.shown.superseded_by == "new"
    assert evidence.locate(span_of(evidence, "Four")) == DOC.source_text.index("Four")


def test_passages_apart_keep_their_places() -> None:
    [evidence] = gather_passages([context("Six."), context("Zero one", 1)], {"doc": DOC})
    assert evidence.shown.source_text == "Zero one\n\nSix."
    assert evidence.locate(span_of(evidence, "Six")) == DOC.source_text.index("Six")


def test_reworded_passages_have_no_place() -> None:
    [evidence] = gather_passages([context("Roughly four."), context("Six.", 1)], {"doc": DOC})
    assert evidence.shown.source_text == "Six.\n\nRoughly four."
    assert evidence.locate(span_of(evidence, "Roughly")) is None
    assert evidence.locate(span_of(evidence, "four")) is None
    assert evidence.locate(Span(source_id="doc", start=0, end=4, text="Four")) == 20


def test_wrong_place_of_a_passage_is_mended() -> None:
    [evidence] = gather_passages([context("Six.", start=3)], {"doc": DOC})
    assert evidence.locate(span_of(evidence, "Six.")) == DOC.source_text.index("Six.")


def test_documents_come_in_the_order_of_retrieval() -> None:
    other = Source(source_id="a", corpus_ver="v1", source_text="Other.")
    found = gather_passages(
        [context("Six."), context("Other.", 1, "a"), context("Zero", 2), context("x", 3, "gone")],
        {"a": other, "doc": DOC},
    )
    assert [evidence.shown.source_id for evidence in found] == ["doc", "a"]


@given(st.text(min_size=1, max_size=60), st.data())
def test_spans_of_placed_passages_are_spans_of_the_document(text: str, data: st.DataObject) -> None:
    document = Source(source_id="doc", corpus_ver="v1", source_text=text)
    places = st.integers(0, len(text) - 1).flatmap(
        lambda start: st.tuples(st.just(start), st.integers(start + 1, len(text)))
    )
    cut = data.draw(st.lists(places, min_size=1, max_size=4))
    passages = [context(text[a:b], n, start=a) for n, (a, b) in enumerate(cut)]
    [evidence] = gather_passages(passages, {"doc": document})
    shown_at: set[int] = set()
    for piece in evidence.pieces:
        shown = evidence.shown.source_text[piece.start : piece.end]
        span = Span(source_id="doc", start=piece.start, end=piece.end, text=shown)
        place = evidence.locate(span)
        assert place == piece.place
        assert place is not None
        assert text[place : place + len(shown)] == shown
        shown_at.update(range(place, place + len(shown)))
    assert shown_at == {n for a, b in cut for n in range(a, b)}


def test_whole_documents_stand_where_they_stand() -> None:
    evidence = show_whole(DOC)
    assert evidence.locate(span_of(evidence, "Four")) == 20
