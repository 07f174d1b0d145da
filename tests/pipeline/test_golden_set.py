"""A golden set over the years: new corpus versions, corrected spans, retired items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claimwise.corpus.advice import advise_golden_set, describe_golden_set
from claimwise.corpus.changes import carry_over, correct_spans
from claimwise.corpus.diff import compare_corpora, compare_span
from claimwise.corpus.passages import DocumentSearch
from claimwise.corpus.queries import list_history
from claimwise.corpus.report import describe_diff, warn_of_recall, write_suggestions
from claimwise.errors import InputError, StoreError
from claimwise.labelling.desk import list_gold_entries
from claimwise.metrics import estimate_metric, load_metrics
from claimwise.metrics.counting import write_counted
from claimwise.run_report.golden_changes import describe_golden_changes
from claimwise.store import Store, open_store
from claimwise.transfer import export_store, import_files
from claimwise.transfer.files import import_corrections, import_documents
from claimwise.types.results import Settings
from claimwise.types.rows import GoldSpan
from small_data import answer, item, label, load, run, source, to_rows
from store.builders import dump

OLD = "The tower is 139 m tall. It opened in 1999. Entry costs 5 euros. Cats may not come in."
NEW = "Welcome!\n\nThe tower is 139 m\ntall. It opened in 1999.\nEntry costs 6 euros."
RECALL = load_metrics()["context_recall"]


def span(text: str, source_id: str = "doc", **more: Any) -> dict[str, Any]:
    return {"source_id": source_id, "span_text": text, "required": True, **more}


def context(text: str) -> dict[str, Any]:
    return {"source_id": "doc", "context_text": text}


@pytest.fixture
def golden(store: Store) -> Store:
    """Two corpus versions, items of the first, and a run on each that retrieved all there is."""
    load(
        store,
        source(source_text=OLD), source(source_text=NEW, corpus_ver="v2"),
        item("height", gold_spans=[span("139 m tall"), span("1999", required=False)]),
        item("price", query="How much?", gold_spans=[span("Entry costs 5 euros.")]),
        item("cats", query="Cats?", gold_spans=[span("Cats may not come in.")]),
        item("architect", query="Who?", answerable=False, query_type="unanswerable"),
        run("old"), run("new", corpus_ver="v2", started_at="2026-02-01T00:00:00Z"),
        *(answer(name, run_id=where, contexts=[context(text)])
          for name in ("height", "price", "cats") for where, text in (("old", OLD), ("new", NEW))),
    )  # fmt: skip
    return store


def recall(store: Store, run_id: str) -> tuple[float, float]:
    found = estimate_metric(store, RECALL, run_id, ()).overall[0]
    return found.numerator, found.claims


def test_new_corpus_version_carries_over_what_is_certain(golden: Store) -> None:
    before = dump(golden)
    diff = compare_corpora(golden, "v1", "v2")
    assert {one.item_id: one.outcome for one in diff.items} == {
        "height": "carried", "price": "open", "cats": "retired", "architect": "no_spans",
    }  # fmt: skip
    assert diff.recall.rate == pytest.approx(1 / 3)
    assert diff.recall.rate_after == pytest.approx(1 / 2)
    assert "can't exceed 33%" in (warn_of_recall(diff) or "")
    assert dump(golden) == before  # a diff writes nothing
    assert recall(golden, "new") == (1, 3)

    carry_over(golden, diff, who="ana", reason="December")
    assert golden.audit() == []
    assert golden.query(
        "select item_id, span_text, span_start from gold_spans order by item_id, span_start"
    ) == [
        ("cats", "Cats may not come in.", 65), ("height", "139 m\ntall", 23),
        ("height", "1999", 48), ("price", "Entry costs 5 euros.", 44),
    ]  # fmt: skip
    # Of the new run the retired item counts no more; the old run counts as it always did.
    assert recall(golden, "new") == (1, 2)
    assert recall(golden, "old") == (3, 3)
    # What `claimwise sql` prints, pasted anywhere, gives the same.
    rows = f"({write_counted(load_metrics()['context_recall'])}) as pasted"
    pasted = f"select sum(numerator), sum(denominator) from {rows}"
    assert golden.query(pasted, {"run_id": "new"}) == [(1, 2)]
    assert list(describe_golden_changes(golden, "new")) == [
        "1 retired item is left out of every figure (claimwise corpus history)."
    ]
    assert list(describe_golden_changes(golden, "old")) == [
        "Context recall counts the gold spans of the corpus version that the run read: 1 item has "
        "been carried over to another since (claimwise corpus history)."
    ]
    assert [(one.item_id, one.change, one.who, one.reason) for one in list_history(golden)] == [
        ("cats", "retired", "ana", "no longer in v2: “Cats may not come in.”"),
        ("height", "replaced", "ana", "December"),
        ("height", "replaced", "ana", "December"),
    ]
    again = compare_corpora(golden, "v1", "v2")
    assert [one.item_id for one in again.items] == ["architect", "price"]


def test_history_survives_an_export(golden: Store, tmp_path: Path) -> None:
    carry_over(golden, compare_corpora(golden, "v1", "v2"), who="ana", reason="December")
    export_store(golden, tmp_path / "files", "jsonl")
    with open_store(tmp_path / "other.db", create=True) as other:
        import_files(other, [tmp_path / "files"])
        assert list_history(other) == list_history(golden)
        assert recall(other, "old") == (3, 3)


def test_open_spans_are_suggested_and_corrected(golden: Store, tmp_path: Path) -> None:
    diff = compare_corpora(golden, "v1", "v2")
    data, count = write_suggestions(diff)
    assert count == 1
    path = tmp_path / "spans.jsonl"
    path.write_bytes(data)
    rehearsal = dump(golden)
    options: dict[str, Any] = {"who": "ben", "reason": "new price", "corpus_ver": "v2"}
    import_corrections(golden, [path], dry_run=True, **options)
    assert dump(golden) == rehearsal
    assert import_corrections(golden, [path], **options).corrected == ("price",)
    assert recall(golden, "new") == (2, 3)
    assert recall(golden, "old") == (3, 3)  # by the span that it had
    [was] = list_history(golden, "price")
    assert (was.span_text, was.corpus_ver, was.who) == ("Entry costs 5 euros.", "v1", "ben")
    assert import_corrections(golden, [path], **options).corrected == ()
    assert len(list_history(golden)) == 1


def test_correction_of_a_retired_item_restores_it(golden: Store) -> None:
    carry_over(golden, compare_corpora(golden, "v1", "v2"), who="ana", reason="December")
    rows = list(to_rows([{"type": "gold_spans", "item_id": "cats", **span("Welcome!")}]))
    correct_spans(golden, rows, ["f"], who="ben", reason="says it otherwise", corpus_ver="v2")
    assert recall(golden, "new") == (2, 3)
    retired = [one for one in list_history(golden, "cats") if one.change == "retired"]
    assert retired[0].restored_at is not None


def test_wrong_correction_changes_nothing(golden: Store) -> None:
    before = dump(golden)
    rows = list(to_rows([{"type": "gold_spans", "item_id": "cats", **span("Dogs may.")}]))
    with pytest.raises(InputError, match="expected text that occurs in source doc"):
        correct_spans(golden, rows, ["f"], who="ben", reason="-")
    assert dump(golden) == before


def test_diff_of_a_golden_set_that_has_changed_is_not_applied(golden: Store) -> None:
    diff = compare_corpora(golden, "v1", "v2")
    rows = list(to_rows([{"type": "gold_spans", "item_id": "height", **span("139 m")}]))
    correct_spans(golden, rows, ["f"], who="ben", reason="shorter")
    assert list(describe_golden_changes(golden, "old")) == [
        "The gold spans of 1 item were corrected after the run began: context recall counts the "
        "corrected ones (claimwise corpus history)."
    ]
    before = dump(golden)
    with pytest.raises(StoreError, match="changed meanwhile; run it again"):
        carry_over(golden, diff, who="ana", reason="December")
    assert dump(golden) == before


@pytest.mark.parametrize(
    ("text", "source_id", "found"),
    [
        ("Entry is free.", "a", ("stands", "a", "Entry is free.")),
        ("Open\tdaily.", "a", ("moved", "a", "Open\ndaily.")),
        ("Dogs on a lead.", "a", ("moved", "b", "Dogs on a lead.")),  # in another document
        ("Dogs on a lead.", "gone", ("moved", "b", "Dogs on a lead.")),
        ("Ring\ntwice.", "b", ("ambiguous", "b", "Ring twice.")),
        ("aily. Dogs", "b", ("vanished", None, None)),  # no whole words
        ("Cats must stay outside.", "b", ("vanished", None, None)),
        # The closest passage takes the words around those that are the same.
        ("The lift holds 8 people", "b", ("changed", "b", "The lift holds 12 people")),
    ],
)
def test_span_is_found(
    text: str, source_id: str, found: tuple[str, str | None, str | None]
) -> None:
    texts = {
        "a": "Entry is free. Open\ndaily.",
        "b": "Dogs on a lead. Ring twice. The lift holds 12 people at most. Ring  twice.",
    }
    start = max(0, texts.get(source_id, "").find(text))
    row = GoldSpan(
        item_id="q", source_id=source_id, span_text=text, required=True,
        span_start=start, span_end=start + len(text),
    )  # fmt: skip
    change = compare_span(DocumentSearch(texts), row)
    place = change.new
    assert (change.status, place and place.source_id, place and place.text) == found
    if place is not None:
        assert texts[place.source_id][place.start : place.end] == place.text


def test_diff_lists_every_span_with_its_fate(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, source(source_text=OLD), source(source_text=NEW, corpus_ver="v2"),
             item("height", gold_spans=[span("139 m tall")]),
             item("price", gold_spans=[span("Entry costs 5 euros.")]))  # fmt: skip
        lines = list(describe_diff(compare_corpora(store, "v1", "v2"), applied=False))
    assert "  moved      height: “139 m tall” doc 13–23 → doc 23–33" in lines
    assert (
        "  changed    price: “Entry costs 5 euros.” → closest: “Entry costs 6 euros.” "
        "in doc 54–74 (75% the same)"
    ) in lines


def test_diff_quotes_long_spans_where_they_differ(tmp_path: Path) -> None:
    text = "Visitors who come with a group of ten or more pay a reduced price of {} euros each."
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, source(source_text=text.format(4)),
             source(source_text=text.format(5), corpus_ver="v2"),
             item("price", gold_spans=[span(text.format(4))]))  # fmt: skip
        lines = list(describe_diff(compare_corpora(store, "v1", "v2"), applied=False))
    assert (
        "  changed    price: “…pay a reduced price of 4 euros each.” → closest: “…pay a reduced "
        "price of 5 euros each.” in doc 0–82 (94.4% the same)"
    ) in lines


# Folders of documents.


def test_folder_is_a_corpus(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "sub").mkdir(parents=True)
    (docs / ".git").mkdir()
    (docs / "tower.md").write_text("# Tower\n139 m tall.", encoding="utf-8")
    (docs / "sub" / "page.html").write_text("<p>Open <b>daily</b>.</p>", encoding="utf-8")
    (docs / ".git" / "config").write_text("x", encoding="utf-8")
    (docs / "logo.png").write_bytes(b"\x89PNG")
    (docs / "really.txt").write_bytes(b"PK\x03\x04")
    with open_store(tmp_path / "s.db", create=True) as store:
        first = import_documents(store, [docs], "2026-11")
        assert store.query("select source_id, corpus_ver, source_text from sources order by 1") == [
            ("sub/page.html", "2026-11", "Open daily."),
            ("tower.md", "2026-11", "# Tower\n139 m tall."),
        ]
        assert first.warnings == (
            f"{docs}: 1 file was not read, having another ending: logo.png",
            f"{docs}: 1 file was not read, being hidden: config",
            f"{docs / 'really.txt'} was skipped: found a ZIP file (or .docx, .xlsx, .odt…)",
        )
        again = import_documents(store, [docs], "2026-11").counts[0]
        assert (again.added, again.unchanged) == (0, 2)
        (docs / "tower.md").write_text("# Tower\n140 m tall.", encoding="utf-8")
        (docs / "new.txt").write_text("New.", encoding="utf-8")
        with pytest.raises(StoreError) as caught:
            import_documents(store, [docs], "2026-11")
        assert str(caught.value) == (
            f"{docs}: 1 document differs from corpus 2026-11 as stored (tower.md); import the "
            "folder as a new version (--corpus NAME), or replace the stored text with --update"
        )
        assert store.count_rows()["sources"] == 2
        assert import_documents(store, [docs], "2026-12").counts[0].added == 3
        assert import_documents(store, [docs], "2026-11", update=True).counts[0].updated == 1


def test_documents_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text(name, encoding="utf-8")
    with (
        open_store(tmp_path / "s.db", create=True) as store,
        pytest.raises(InputError, match=r"a second document called 'x.txt' \(the first: .*a.x.txt"),
    ):
        import_documents(store, [tmp_path / "a", tmp_path / "b"], "v")


# Advice.


def test_doctor_advises_on_a_golden_set(tmp_path: Path) -> None:
    claims = [f"Claim {n}." for n in range(4)]
    with open_store(tmp_path / "s.db", create=True) as store:
        faithfulness = load_metrics()["faithfulness"]
        settings = Settings()
        assert list(advise_golden_set(store, faithfulness, ("query_type",), settings)) == []
        names = [f"q{n}" for n in range(5)]
        load(store, source(), run(),
             *(item(name, query=f"Question {name}?", gold_spans=[span("139 m")]) for name in names),
             item("twin", query="  question Q1", gold_spans=[span("1999", required=False)]),
             *(answer(name, *claims) for name in names),
             *(label(name, text, "supported") for name in names for text in claims))  # fmt: skip
        assert describe_golden_set(store) == "golden set: 6 items, 0% unanswerable, 0% ambiguous"
        found = list(advise_golden_set(store, faithfulness, ("query_type",), settings))
        assert [words in advice for words, advice in zip(
            ["no item is unanswerable", "no item is ambiguous",
             "1 answerable item has no required gold span (twin)",
             "1 question is asked by several items (q1 = twin)",
             "1 group is too small to show a drop of 10 points in faithfulness (lookup: 5 of "],
            found, strict=True)] == [True] * 5  # fmt: skip
        load(store,
             item("no", query="No?", answerable=False, query_type="unanswerable", gold_answer="x"),
             item("vague", query="Which?", query_type="ambiguous", answerable=None))  # fmt: skip
        found = list(advise_golden_set(store, faithfulness, ("query_type",), settings))
        assert not any("no item is" in advice for advice in found)
        assert "1 unanswerable item has a gold answer (no): remove the answer, or mark the item " \
            "answerable" in found  # fmt: skip


def test_gold_spans_that_an_import_brought_wait_no_more(golden: Store) -> None:
    waits = {"type": "annotation_queue", "task": "gold_spans", "reason": "an incident",
             "added_at": "2026-01-01T00:00:00Z"}  # fmt: skip
    load(golden, {**waits, "entry_id": "1", "item_id": "height"},
         {**waits, "entry_id": "2", "item_id": "architect"})  # fmt: skip
    assert [entry.item_id for entry in list_gold_entries(golden)] == ["architect"]


# The four tables of the measuring spec, as files.

SPEC_FILES = {
    "eval_items.csv": "item_id,query,query_type,answerable,stakes,gold_answer,source_corpus_ver\n"
    "q1,How tall?,lookup,true,low,139 m,v1\nq2,Who?,unanswerable,false,high,,v1\n",
    "gold_spans.csv": "item_id,source_id,span_text,required\nq1,tower,139 m tall,true\n",
    "claim_labels.csv": "run_id,item_id,claim_text,claim_type,verdict,supporting_span,source_id,"
    "labeler,labeled_at\n"
    "r,q1,It is 139 m tall.,factual,supported,139 m tall,tower,ana,2026-01-02T00:00:00Z\n"
    "r,q1,It is red.,factual,unlinked,,,ana,2026-01-02T00:00:00Z\n"
    "r,q1,I mailed you.,action,supported,mail sent,,ana,2026-01-01T00:00:00Z\n",
    "run_actions.csv": "run_id,item_id,action\nr,q1,answer\nr,q2,abstain\n",
}


def test_four_tables_of_the_spec_are_enough(tmp_path: Path) -> None:
    for name, text in SPEC_FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    paths = [tmp_path / name for name in SPEC_FILES]
    with open_store(tmp_path / "s.db", create=True) as store:
        with pytest.raises(InputError):
            import_files(store, paths)
        made = import_files(store, paths, fill=True)
        assert made.warnings[0].startswith(
            "made from what the files say: 1 document, 1 run, 1 answer, 3 claims and 1 log entry; "
        )
        assert store.audit() == []
        counted = estimate_metric(store, load_metrics()["faithfulness"], "r", ()).overall[0]
        assert (counted.numerator, counted.claims) == (2, 3)
        pair = estimate_metric(store, load_metrics()["abstention"], "r", ()).overall
        assert {row.slice["measure"]: row.micro for row in pair} == {
            "correct_abstention": 1.0,
            "over_refusal": 0.0,
        }
        before = dump(store)
        again = import_files(store, paths, fill=True)
        assert sum(count.added for count in again.counts) == 0
        assert again.warnings == ()
        assert dump(store) == before
