"""Readers of other packages: found by name or by a file's first bytes, held to our rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.errors import ClaimwiseError, InputError, PluginError
from claimwise.readers import read_rows
from claimwise.readers.choose import choose_reader, read_one_trace
from claimwise.types.rows import Source
from support.packages import install_package

READER = """
from claimwise.errors import Problem
from claimwise.registry import Plugin
from claimwise.types.traces import Passage, Trace
from claimwise.types.rows import Source

class Notes:
    yields = "rows"

    def recognise(self, path, head):
        return 0.8 if head.startswith(b"#notes") else None

    def read(self, path, options):
        for line, text in enumerate(path.read_text().splitlines()[1:], start=2):
            if text == "bad":
                yield line, Problem(path=str(path), line=line, field=None, found="bad",
                                    expected="a note")
            else:
                yield line, Source(source_id=f"n{line}", source_text=text, corpus_ver="v1")

class Chats(Notes):
    yields = "traces"

    def recognise(self, path, head):
        return 0.9 if head.startswith(b"#chats") else None

    def read(self, path, options):
        for line, text in enumerate(path.read_text().splitlines()[1:], start=2):
            question, answer = text.split("|")
            yield line, Trace(origin="trace", place=str(path), question=question, answer=answer,
                              passages=(Passage(text="x"),), trace_id=f"t{line}")

NOTES = Plugin(description="notes, one per line", load=Notes)
CHATS = Plugin(description="chats", load=Chats)
"""
OWN = {"notes": "NOTES", "chats": "CHATS"}

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    def add(code: str = READER, name: str = "acme", readers: dict[str, str] = OWN) -> None:
        install_package(monkeypatch, tmp_path, name, code, readers=readers)

    return add


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path, **given: str) -> list[tuple[int, str]]:
    """Return lines and texts of the sources in a file."""
    placed = list(read_rows([path], kind=given.get("kind"), reader=given.get("reader")))
    assert all(isinstance(one.row, Source) for one in placed)
    return [(one.line_no, one.row.source_text) for one in placed if isinstance(one.row, Source)]


def test_a_format_is_recognised_by_its_first_bytes(install: Install, tmp_path: Path) -> None:
    path = write(tmp_path / "export.log", "#notes\none\ntwo\n")
    with pytest.raises(InputError, match=r"found the ending 'log', expected \.jsonl"):
        read(path)
    install()
    notes: list[str] = []
    assert len(list(read_rows([path], notes=notes))) == 2
    assert read(path) == [(2, "one"), (3, "two")]
    assert notes == [f"{path} was read by the reader “notes” of acme 1.0; --reader chooses another"]


def test_a_reader_is_chosen_by_name(install: Install, tmp_path: Path) -> None:
    install()
    path = write(tmp_path / "plain.txt", "whatever\none\n")
    assert read(path, reader="notes") == [(2, "one")]
    with pytest.raises(
        ClaimwiseError, match=r"Unknown reader 'other'\. Known readers: arrow, csv, .*jsonl, "
    ):
        read(path, reader="other")
    with pytest.raises(ClaimwiseError, match="yields traces; this command takes rows"):
        read(path, reader="chats")


def test_a_file_whose_name_says_what_it_holds_is_ours(install: Install, tmp_path: Path) -> None:
    install(READER.replace('0.8 if head.startswith(b"#notes") else None', "1.0"))
    row = '{"source_id": "s", "source_text": "ours", "corpus_ver": "v1"}\n'
    assert read(write(tmp_path / "sources.jsonl", row)) == [(1, "ours")]
    assert read(write(tmp_path / "export.jsonl", row), kind="sources") == [(1, "ours")]
    chosen = choose_reader(write(tmp_path / "export.jsonl", row), "rows")
    assert chosen is not None
    assert chosen.entry.name == "notes"


def test_two_readers_that_are_equally_sure_are_both_named(install: Install, tmp_path: Path) -> None:
    install()
    install(name="other", readers={"more-notes": "NOTES"})
    path = write(tmp_path / "export.log", "#notes\none\n")
    with pytest.raises(InputError, match=r"“more-notes” of other .*“notes” of acme .*--reader"):
        read(path)
    assert read(path, reader="more-notes") == [(2, "one")]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('source_id=f"n{line}"', "source_id=7", r":2: source_id: found 7, expected text"),
        ("source_text=text", "source_text='a\\0b'", r":2: found a NUL character, expected text"),
    ],
)
def test_wrong_rows_are_problems_with_their_place(
    install: Install, tmp_path: Path, old: str, new: str, told: str
) -> None:
    install(READER.replace(old, new))
    path = write(tmp_path / "export.log", "#notes\none\nbad\n")
    with pytest.raises(InputError) as caught:
        read(path)
    lines = str(caught.value).splitlines()
    assert lines[-1] == f"{path}:3: found bad, expected a note"
    assert told in lines[0]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("splitlines()[1:]", "nonsense", "AttributeError"),
        ('yields = "rows"', 'yields = "answers"', "yields 'answers', expected “rows” or “traces”"),
        ("def read(self", "def look(self", "has no method read"),
        ("yield line, Source(", "yield dict(", "expected a line and a record"),
        ("yield line, Source(", "yield line, dict(", "yielded a dict, expected a Row or a Problem"),
    ],
)
def test_a_reader_that_breaks_the_contract_is_told_with_its_package(
    install: Install, tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in READER
    install(READER.replace(old, new))
    path = write(tmp_path / "export.log", "#notes\none\n")
    with pytest.raises(
        PluginError, match=r"the reader “notes” of acme 1\.0 does not work"
    ) as caught:
        read(path, reader="notes")
    assert told in str(caught.value)


@pytest.mark.parametrize("code", ["raise ImportError('no')", READER.replace("0.8 if", "3 if")])
def test_a_broken_reader_does_not_touch_the_others(
    install: Install, tmp_path: Path, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    install(code)
    install(name="other", readers={"more-notes": "NOTES"})
    path = write(tmp_path / "export.log", "#notes\none\n")
    assert read(path) == [(2, "one")]
    assert "the reader “notes” of acme 1.0 does not work" in caplog.text


def test_import_and_promote_take_what_it_yields(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    install()
    monkeypatch.chdir(tmp_path)
    assert run(["init", "."]) == 0
    write(tmp_path / "export.log", "#notes\none\n")
    assert run(["import", "export.log"]) == 0
    captured = capsys.readouterr()
    assert "sources" in captured.out
    assert "export.log was read by the reader “notes” of acme 1.0" in captured.err
    chats = write(tmp_path / "chats.log", "#chats\nHow tall?|It is 9 m tall.\nWhere?|In Rome.\n")
    promote = ["promote", "chats.log", "--as", "tall", "--answerable", "--wrong", "9 m"]
    assert run(promote) == 1
    assert "2 traces (t2, t3)" in capsys.readouterr().err
    assert run([*promote, "--trace-id", "t2", "--corpus", "v1"]) == 0
    assert "new item tall" in capsys.readouterr().out
    assert read_one_trace(chats, trace_id="t3", reader="chats").question == "Where?"
