from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from claimwise import check
from claimwise.errors import InputError, MissingExtraError
from claimwise.readers.documents import STDIN, check_stdin, read_action_log, read_sources, read_text
from claimwise.readers.extract import extract_html


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_text_is_taken_as_it_stands(tmp_path: Path) -> None:
    assert read_text(write(tmp_path / "a.txt", "é\r\n 🍵\t\n")) == "é\r\n 🍵\t\n"
    assert read_text(write(tmp_path / "b.txt", b"\xef\xbb\xbfbom")) == "bom"
    assert read_text(write(tmp_path / "c.txt", "")) == ""
    assert read_text(write(tmp_path / "d.txt", "one \x00 in a longer text")).count("\x00") == 1


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "found a PDF, expected UTF-8 text: convert it first"),
        (b"PK\x03\x04rest", "found a ZIP file (or .docx, .xlsx, .odt…), expected UTF-8 text"),
        (b"\xff\xfeh\x00i\x00", "found UTF-16 text, expected UTF-8 text"),
        ("hi there".encode("utf-16-le"), "found binary data, expected UTF-8 text"),
        (b"\x1f\x8b\x08", "found a gzip file"),
        ("one\ncafé".encode("latin-1"), ":2: found the byte 0xe9 at position 4, expected UTF-8"),
    ],
)
def test_what_is_not_text_is_refused_in_one_line(
    tmp_path: Path, content: bytes, found: str
) -> None:
    path = write(tmp_path / "file", content)
    with pytest.raises(InputError) as caught:
        read_text(path)
    assert str(caught.value).startswith(str(path))
    assert found in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nope: no such file"):
        read_text(tmp_path / "nope")
    with pytest.raises(InputError, match="found a folder, expected a file"):
        read_text(tmp_path)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Tea. é".encode()), "utf-8"))
    [source], warnings = read_sources([STDIN])
    assert (source.source_id, source.source_text, warnings) == ("stdin", "Tea. é", [])
    check_stdin([STDIN, Path("x")])
    with pytest.raises(InputError, match="standard input named twice"):
        check_stdin([STDIN, Path("x"), STDIN])


def test_folders_stand_for_their_texts(tmp_path: Path) -> None:
    for name in ("b.md", "a.txt", "sub/c.RST", "sub/d.docx", "e.png", ".git/f.md", "g.json"):
        write(tmp_path / "docs" / name, name)
    sources, warnings = read_sources([tmp_path / "docs"])
    names = [Path(source.source_id).relative_to(tmp_path / "docs").as_posix() for source in sources]
    assert names == ["a.txt", "b.md", "sub/c.RST"]
    assert warnings == [
        f"{tmp_path / 'docs'}: 3 files were not read, having another ending: e.png, g.json, d.docx"
    ]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="found a folder without text files"):
        read_sources([tmp_path / "empty"])


def test_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md", "Tea.")
    sources, warnings = read_sources([path, tmp_path, tmp_path / "." / "a.md"])
    assert len(sources) == 1
    assert warnings == [f"{path} was named twice and read once"] * 2


def test_rows_of_sources(tmp_path: Path) -> None:
    rows = (
        '{"source_id": "old", "source_text": "€2", "superseded_by": "new"}\n\n'
        '{"type": "sources", "source_id": "new", "corpus_ver": "v1", "source_text": "€3", '
        '"valid_until": "2026-01-31"}\n'
    )
    old, new = read_sources([write(tmp_path / "s.jsonl", rows)])[0]
    assert (old.source_id, old.source_text, old.superseded_by) == ("old", "€2", "new")
    assert str(new.valid_until) == "2026-01-31"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "malformed JSON|inside a record"),
        ('{"source_id": "a"}', "source_text: found nothing"),
        ('{"source_id": "a", "source_text": "x", "valid_til": "2026"}', "valid_until, perhaps"),
        ('{"source_id": "a", "source_text": "x\\u0000"}', "a NUL character"),
        ('{"source_id": "ok", "source_text": "again"}', "source_id 'ok' again"),
    ],
)
def test_bad_rows_of_sources(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "s.jsonl", '{"source_id": "ok", "source_text": "x"}\n' + line)
    with pytest.raises(InputError, match=message) as caught:
        read_sources([path])
    assert str(caught.value).startswith(f"{path}:2: ")
    assert "\n" not in str(caught.value)


def test_action_logs(tmp_path: Path) -> None:
    lines = 'refund 7 issued\n\n{"entry_text": "mail sent", "entry_id": "m"}\n{"tool": "close"}\r\n'
    entries = read_action_log(write(tmp_path / "log", lines))
    assert [(e.entry_id, e.entry_text) for e in entries] == [
        ("1", "refund 7 issued"),
        ("m", "mail sent"),
        ("4", '{"tool": "close"}'),
    ]
    assert read_action_log(write(tmp_path / "none", " \n")) == []
    with pytest.raises(InputError, match=r"log2:1: found malformed JSON|log2:1: found the end"):
        read_action_log(write(tmp_path / "log2", "{nonsense"))


PAGE = """<!DOCTYPE html>
<html><head><title>Shop</title><style>p {color: red}</style></head>
<body><nav><a href="https://example.com/">Home</a></nav>
<h1>Opening&nbsp;hours</h1><script>track("x")</script>
<p>We open at
9 &amp; close at <b>17</b>.</p>
<table><tr><td>Mon</td><td>9</td></tr><tr><td>Tue</td><td>10</td></tr></table>
<!-- hidden --><noscript>off</noscript></body></html>"""


def make_pdf(text: str) -> bytes:
    """Write a PDF of one page by hand."""
    stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(data)
    return data + (
        b"xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (table, start)
    )


def test_web_pages_are_read_as_people_see_them(tmp_path: Path) -> None:
    write(tmp_path / "page.html", PAGE)
    write(tmp_path / "by-content.txt", PAGE)
    write(tmp_path / "part.htm", "<p>one<p>two")
    write(tmp_path / "about.md", "Write <html> for a page.")
    sources, warnings = read_sources([tmp_path])
    texts = {Path(source.source_id).name: source.source_text for source in sources}
    assert texts["page.html"] == (
        "Home\n\nOpening hours\n\nWe open at 9 & close at 17.\n\nMon: 9\nTue: 10"
    )
    assert texts["by-content.txt"] == texts["page.html"]
    assert texts["part.htm"] == "one\n\ntwo"
    assert texts["about.md"] == "Write <html> for a page."
    assert warnings == []
    with pytest.raises(InputError, match="found a web page without text"):
        read_sources([write(tmp_path / "app.html", "<html><script>go()</script></html>")])


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            "<caption>Our plans</caption><thead><tr><th>Plan</th><th>Price</th></tr></thead>"
            "<tr><td><p>Basic|S</p></td><td>5\n<b>euros</b></td></tr><tr><td>Pro<td>15 euros",
            "Our plans\n\n| Plan | Price |\n| --- | --- |\n| Basic\\|S | 5 euros |\n"
            "| Pro | 15 euros |",
        ),
        ("<tr><th>Height:<td>139 m<tr><th>Built<td>1931", "Height: 139 m\nBuilt: 1931"),
        (
            "<tr><td>City<td>Area<td>Mayor<tr><td>Ulm<td>119<td>Ann",
            "| City | Area | Mayor |\n| --- | --- | --- |\n| Ulm | 119 | Ann |",
        ),
        ("<tr><td>Ulm<td>119<td>Ann<tr><td>Bern<td>52<td>Ben", "Ulm 119 Ann\nBern 52 Ben"),
        ("<tr><th colspan=2>Plans<tr><td>A<td>B", "Plans\nA B"),
        (
            f"<tr><th>Menu<th>Page<tr><td>Home<td>{'long ' * 80}",
            f"Menu Page\nHome {'long ' * 80}",
        ),
        ("<tr><td>one<tr><td>two", "one\ntwo"),
        (
            "<tr><td>Menu<td><table><tr><th>A<th>B<tr><td>1<td>2</table>",
            "Menu\n\n| A | B |\n| --- | --- |\n| 1 | 2 |",
        ),
    ],
    ids=["pipes", "pairs", "no th", "no header", "spans", "long", "one column", "nested"],
)
def test_tables_of_a_page_keep_their_columns(table: str, text: str) -> None:
    assert extract_html(f"<table>{table}</table>") == text.strip()


def test_swapped_values_of_a_web_table_are_told(tmp_path: Path) -> None:
    page = (
        "<html><table><tr><th>Plan<th>Storage<th>Price<tr><td>Basic<td>10 GB<td>5 euros"
        "<tr><td>Pro<td>200 GB<td>15 euros</table></html>"
    )
    [source], _ = read_sources([write(tmp_path / "plans.html", page)])
    answer = "The Pro plan costs 15 euros. The Pro plan costs 5 euros."
    assert [claim.verdict for claim in check(answer, [source]).claims] == [
        "supported",
        "contradicted",
    ]


@pytest.mark.parametrize(
    "part",
    [
        "<a ",
        "<!--",
        "</",
        "<a x='",
        "<head></head>",
        "<script>",
        "<p><div>",
        "<",
        "<table><tr><td>",
    ],
)
def test_a_hostile_page_is_gone_through_once(tmp_path: Path, part: str) -> None:
    """Python's own parser takes minutes for the first of these."""
    page = "<html><body>Tea. " + part * 30_000
    [source], _ = read_sources([write(tmp_path / "page.html", page)])
    assert source.source_text.startswith("Tea.")


def test_pdfs_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pdf", make_pdf("The pond is 12 m deep."))
    assert [s.source_text for s in read_sources([path])[0]] == ["The pond is 12 m deep."]
    assert [s.source_text for s in read_sources([tmp_path])[0]] == ["The pond is 12 m deep."]
    with pytest.raises(InputError, match="found a PDF without text, perhaps a scan"):
        read_sources([write(tmp_path / "scan.pdf", make_pdf(""))])
    with pytest.raises(InputError, match="found a damaged PDF"):
        read_sources([write(tmp_path / "bad.pdf", b"%PDF-1.7\n%\xe2\xe3")])


def test_without_the_extra_pdfs_say_what_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.pdf", make_pdf("x"))
    monkeypatch.setitem(sys.modules, "pypdf", None)
    monkeypatch.setattr("claimwise.readers.documents.can_read_pdf", lambda: False)
    with pytest.raises(MissingExtraError, match=r"a PDF needs the extra “pdf”"):
        read_sources([path])
    with pytest.raises(InputError, match=r"a folder without text files.*claimwise\[pdf\]"):
        read_sources([tmp_path])
    write(tmp_path / "b.md", "text")
    sources, [warning] = read_sources([tmp_path])
    assert len(sources) == 1
    assert "1 file was not read, for want of pip install 'claimwise[pdf]': a.pdf" in warning
