"""Importing a folder of documents, and carrying a golden set over, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimwise.store import open_store
from cli.conftest import Say
from small_data import item

SPAN = {"source_id": "a.txt", "span_text": "Open daily.", "required": True}


@pytest.fixture
def golden(say_here: Say, tmp_path: Path) -> Say:
    """A project with two corpus versions, between which the only gold span moves."""
    for folder, text in (("old", "Open daily. Entry is free."), ("new", "Hello! Open\ndaily.")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text(text, encoding="utf-8")
    (tmp_path / "items.jsonl").write_text(
        json.dumps(item("q", source_corpus_ver="v1", gold_spans=[SPAN]))
        + "\n"
        + json.dumps(item("none", answerable=False, gold_answer="x", source_corpus_ver="v1")),
        encoding="utf-8",
    )
    assert say_here("init")[0] == 0
    assert say_here("import", "old", "--corpus", "v1")[0] == 0
    code, _, err = say_here("import", "items.jsonl")
    assert code == 0
    assert "warning: 1 unanswerable item has a gold answer: remove the answer, or mark" in err
    assert say_here("import", "new", "--corpus", "v2")[0] == 0
    return say_here


def test_golden_set_is_carried_over_and_corrected(golden: Say, tmp_path: Path) -> None:
    code, out, err = golden("corpus", "diff", "v1", "v2", "--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["applied"] is False
    assert found["counts"]["items"] == {"retired": 0, "open": 0, "carried": 1, "no_spans": 1}
    [span] = next(one for one in found["items"] if one["item_id"] == "q")["spans"]
    assert (span["status"], span["new"]["start"], span["new"]["end"]) == ("moved", 7, 18)
    assert "Nothing was changed yet: --apply" in golden("corpus", "diff", "v1", "v2")[1]
    assert "1 item carried over" in golden("corpus", "diff", "v1", "v2", "--apply")[1]

    spans = tmp_path / "gold_spans.jsonl"
    spans.write_text(json.dumps({**SPAN, "item_id": "q", "span_text": "Open"}), encoding="utf-8")
    code, _, err = golden("import", str(spans), "--correct")
    assert code == 1
    assert "--correct needs --reason TEXT" in err
    code, out, _ = golden("import", str(spans), "--correct", "--reason", "too long", "--who", "ana")
    assert "replaced the gold spans of 1 item; 1 earlier span kept" in out
    _, out, _ = golden("corpus", "history", "--item", "q", "--format", "json")
    assert [(c["corpus_ver"], c["span_text"], c["who"]) for c in json.loads(out)["changes"]] == [
        ("v2", "Open\ndaily.", "ana"),
        ("v1", "Open daily.", json.loads(out)["changes"][1]["who"]),
    ]
    _, out, _ = golden("corpus", "list", "--format", "json")
    listed = [(one["version"], one["items"]) for one in json.loads(out)["corpora"]]
    assert listed == [("v1", 1), ("v2", 1)]


def test_options_that_do_not_go_together_are_refused(golden: Say) -> None:
    for wrong, because in (
        (("--reason", "x"), "--reason and --who go with --correct."),
        (("--corpus", "v1", "--kind", "labels"), "are not for documents."),
        (("--corpus", "v1", "--run", "r"), "are not for spreadsheets."),
    ):
        code, _, err = golden("import", "old", *wrong)
        assert code == 1
        assert because in err
    with open_store("claimwise.db") as store:
        assert store.count_rows()["sources"] == 2
