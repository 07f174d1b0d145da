"""``claimwise claims``, the page, the CSV and the frame: what readers and programs get."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import claimwise
from claimwise.claims import frame as frame_module
from claimwise.claims.frame import claims_frame
from claimwise.cli.main import run as run_command
from claimwise.errors import ClaimwiseError
from claimwise.store import Store, open_store
from small_data import answer, claim, closed_label, item, label, load, run, source

Say = Callable[..., tuple[int, str, str]]
EVIL = "<script>alert('claim')</script> is 5 \x1b[31m m"
FORMULA = "=HYPERLINK(1)"


def fill(store: Store) -> None:
    load(
        store,
        source(title='Guide <b>"x"</b>'),
        item("q1", domain="tower", attributes={"channel": "web", "reason": "none given"}),
        item("q2", query="<i>How much?</i>"),
        run(),
        answer("q1", claim("The tower is 200 m tall", answer_start=6, answer_end=29),
               answer_text="Well, the tower is 200 m tall & <b>old</b>.\x1b[0m"),
        answer("q2", EVIL, FORMULA),
        label("q1", "The tower is 200 m tall", "contradicted", source_id="doc",
              supporting_span="The tower is 139 m tall.", reason="139 m <b>not</b> 200 m"),
        label("q2", EVIL, "unlinked", labeler="verifier:v1", confidence=0.75),
        label("q2", FORMULA, "supported", labeler="verifier:v1"),
    )  # fmt: skip


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Run `claimwise claims` on a store with hostile texts: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    with open_store(tmp_path / "s.db", create=True) as store:
        fill(store)

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run_command(["claims", "--store", "s.db", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_text_shows_claim_verdict_evidence_and_reason_in_80_columns(say: Say) -> None:
    code, out, _ = say()
    assert code == 0
    assert "Run r: 3 claims (1 contradicted, 1 unlinked, 1 supported)" in out
    assert "✗ contradicted  (q1; labelled by ana)" in out
    assert "“The tower is 139 m tall.”" in out
    assert "Reason: 139 m <b>not</b> 200 m" in out
    assert "○ unlinked  (q2; judged by verifier:v1; confidence 75%)" in out
    assert out.index("200 m tall") < out.index("alert") < out.index(FORMULA)
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_options_narrow_group_and_limit(say: Say) -> None:
    _, out, _ = say("--verdict", "unlinked, supported", "--by", "domain")
    assert "domain=(unknown): 2 claims" in out
    assert "200 m" not in out
    _, out, _ = say("--by", "domain=tower")
    assert "139 m" in out
    assert "alert" not in out
    _, out, _ = say("--by", "domain=", "--format", "json")
    assert [one["item_id"] for one in json.loads(out)["claims"]] == ["q2", "q2"]
    _, out, _ = say("--limit", "1")
    assert "Showing the first 1. Use --limit to see more." in out
    _, out, _ = say("--search", "nowhere")
    assert "No claim matches." in out
    _, out, _ = say("--closed-book", "--format", "json")
    assert json.loads(out)["counts"] == {"unscored": 3}
    code, _, err = say("--verdict", "wrong")
    assert code == 1
    assert "Unknown verdict 'wrong'. Known verdicts: supported" in err


def test_json_has_every_field(say: Say) -> None:
    _, out, _ = say("--format", "json")
    document = json.loads(out)
    assert document["counts"] == {"contradicted": 1, "unlinked": 1, "supported": 1}
    first = document["claims"][0]
    assert first["evidence"] == "The tower is 139 m tall."
    assert first["slice"]["channel"] == "web"
    assert first["disputed"] is False
    assert "severity" not in first
    assert "\x1b" not in out


def test_csv_runs_no_formula_and_can_be_written_to_a_file(say: Say, tmp_path: Path) -> None:
    code, _, _ = say("--format", "csv", "-o", "claims.csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "claims.csv").read_text())))
    assert [row["verdict"] for row in rows] == ["contradicted", "unlinked", "supported"]
    assert rows[2]["claim_text"] == f"'{FORMULA}"
    assert (rows[0]["reason"], rows[0]["item_reason"]) == ("139 m <b>not</b> 200 m", "none given")
    assert rows[0]["labeled_at"] == "2026-02-01T00:00:00"


class Page(HTMLParser):
    """The tags and the visible text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.marked: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words += data
        if self.tags[-1:] == ["mark"]:
            self.marked.append(data)
            self.tags.append("")


def assert_harmless(page: Page) -> None:
    assert not {"script", "b", "i", "img", "iframe", "link"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not [value for name, value in page.attributes if name in ("src", "href")]


def test_page_is_self_contained_marks_the_answer_and_escapes_everything(say: Say) -> None:
    _, out, _ = say("--format", "html", "--by", "domain")
    page = Page(out)
    assert_harmless(page)
    assert page.marked == ["the tower is 200 m tall"]
    assert "Well, the tower is 200 m tall1✗ & <b>old</b>.\ufffd[0m" in page.words
    assert "139 m <b>not</b> 200 m" in page.words
    assert '“The tower is 139 m tall.” Guide <b>"x"</b>' in page.words
    assert "domain=tower: 1 claim" in page.words
    assert "\x1b" not in out


def test_notebooks_show_the_marked_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_text = "The tower is 200 m tall. <script>alert(1)</script> is free."
    result = claimwise.check(answer_text, sources=["The tower is 139 m tall."])
    page = Page(result._repr_html_())
    assert_harmless(page)
    assert page.marked[0] == "The tower is 200 m tall."
    assert "contradicted" in page.words
    assert "“The tower is 139 m tall.”" in page.words
    rows = result.to_dicts()
    assert rows[0]["claim_text"] == "The tower is 200 m tall."
    assert rows[0]["verdict"] == "contradicted"
    assert rows[0]["evidence"] == "The tower is 139 m tall."
    assert answer_text[rows[0]["answer_start"] : rows[0]["answer_end"]] == page.marked[0]


@pytest.fixture
def claims_store(tmp_path: Path) -> str:
    place = tmp_path / "frame.db"
    with open_store(place, create=True) as store:
        fill(store)
    return str(place)


def test_frame_is_a_table_to_pandas_and_polars(claims_store: str) -> None:
    import pandas
    import polars

    frame = claims_frame(claims_store, "r")
    for made in (frame.to_pandas(), pandas.DataFrame(frame)):
        assert list(made["verdict"]) == ["contradicted", "unlinked", "supported"]
        assert list(made.columns) == frame.columns
    for table in (frame.to_polars(), polars.DataFrame(frame)):
        assert table["verdict"].to_list() == ["contradicted", "unlinked", "supported"]
        assert table.columns == frame.columns
        assert table["confidence"].to_list() == [None, 0.75, None]
        assert table.schema["labeled_at"] == polars.Datetime("us")
        assert table.schema["unscored"] == polars.String()  # though no claim has one
    assert str(frame.to_pandas()["evidence_start"].dtype) == "Int64"
    assert len(frame) == len(list(frame)) == 3


@pytest.mark.each_engine
def test_frame_opens_the_latest_run_and_takes_the_options_of_the_list(
    claims_store: str, store: Store
) -> None:
    assert [row["verdict"] for row in claims_frame(claims_store, verdicts=["unlinked"])] == [
        "unlinked"
    ]
    fill(store)
    rows = claims_frame(store, "r", where={"domain": "tower"}).to_dicts()
    assert rows[0]["labeled_at"] == datetime(2026, 2, 1)  # noqa: DTZ001
    assert (rows[0]["channel"], rows[0]["item_reason"]) == ("web", "none given")
    with pytest.raises(ClaimwiseError, match="Unknown run 'nope'"):
        claims_frame(store, "nope")


def test_frame_without_the_libraries_says_what_to_install(
    claims_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_nothing(name: str) -> Any:
        return None

    frame = claims_frame(claims_store)
    monkeypatch.setattr(frame_module, "find_spec", find_nothing)
    with pytest.raises(ClaimwiseError, match="pandas is not installed: pip install pandas"):
        frame.to_pandas()
    with pytest.raises(ClaimwiseError, match="polars is not installed"):
        frame.to_polars()
    assert not hasattr(frame, "__arrow_c_stream__")
    assert len(frame.to_dicts()) == 3


def test_empty_frames_keep_their_columns(claims_store: str) -> None:
    frame = claims_frame(claims_store, search="nowhere")
    assert len(frame) == 0
    assert list(frame.to_pandas().columns) == frame.to_polars().columns == frame.columns
    assert "claim_text" in frame.columns


def test_closed_book_verdicts_are_shown(store: Store) -> None:
    load(store, item("q"), run(), answer("q", "One"),
         closed_label("q", "One", "false", labeler="judge:m"))  # fmt: skip
    assert claims_frame(store).to_pandas()["verdict"].tolist() == ["false"]
