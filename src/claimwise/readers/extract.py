"""Extracts the text of web pages and PDFs, as a reader would see it.

Scripts, styles and what else nobody reads is left out of a page, and nothing that it links is
fetched. PDFs are read by pypdf (extra: pdf), page by page and in bounds.
"""

from __future__ import annotations

import io
import logging
import re
import struct
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

from claimwise.disk.input import refuse
from claimwise.errors import MissingExtraError

MAX_PAGES = 5000
_MOST_LETTERS = 64 * 1024 * 1024
_UNREAD = frozenset({"script", "style", "template", "noscript", "head", "svg", "iframe", "object"})
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "br", "caption", "dd", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul",
})  # fmt: skip
_PARAGRAPHS = _BLOCKS - {"br", "dd", "dt", "li", "tr"}
_CELLS = frozenset({"td", "th"})
_START = re.compile(
    r"\s*(<\?xml[^>]*\?>\s*)?(<!--.*?-->\s*)*<(!doctype html|html)\b", re.IGNORECASE | re.DOTALL
)
_SPACES = re.compile(r"[ \t\r\f\v\xa0]+")
_LINES = re.compile(r" ?\n ?")
_GAPS = re.compile(r"\n{3,}")


def is_html(text: str) -> bool:
    """Return whether a text begins as a web page does."""
    return _START.match(text[:4096]) is not None


def extract_html(text: str) -> str:
    """Return what a page says: paragraphs apart, cells of a row beside one another."""
    page = _Page()
    page.feed(text)
    page.close()
    joined = _SPACES.sub(" ", "".join(page.parts))
    return _GAPS.sub("\n\n", _LINES.sub("\n", joined)).strip()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unread: list[str] = []
        self._kept_breaks = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "body":  # a head that nobody closed ends here
            self._unread = []
        elif tag in _UNREAD:
            self._unread.append(tag)
        elif not self._unread:
            self._separate(tag)
            self._kept_breaks += tag == "pre"

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        if tag not in _UNREAD and not self._unread:
            self._separate(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._unread:
            # What stands in it without an end ends with it.
            del self._unread[self._unread.index(tag) :]
        elif not self._unread:
            self._separate(tag)
            self._kept_breaks -= tag == "pre" and self._kept_breaks > 0

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.parts.append(data if self._kept_breaks else data.replace("\n", " "))

    def _separate(self, tag: str) -> None:
        if tag in _PARAGRAPHS:
            self.parts.append("\n\n")
        elif tag in _BLOCKS:
            self.parts.append("\n")
        elif tag in _CELLS:
            self.parts.append("\t ")


def can_read_pdf() -> bool:
    """Return whether pypdf is installed."""
    return find_spec("pypdf") is not None


def extract_pdf(path: Path, data: bytes) -> str:
    """Return the text of a PDF, its pages apart.

    Raises:
        MissingExtraError: pypdf is not installed.
        InputError: it is damaged, encrypted, too long, or holds pictures only.
    """
    try:
        import pypdf
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise MissingExtraError("a PDF", "pdf") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every oddity of a file
    # What it does not expect of a damaged file comes as these.
    wrong = (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, OSError,
             ArithmeticError, AssertionError, RecursionError, NotImplementedError,
             struct.error)  # fmt: skip
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise refuse(path, "an encrypted PDF", "one without a password")
        if len(reader.pages) > MAX_PAGES:
            raise refuse(path, f"{len(reader.pages):,} pages", f"at most {MAX_PAGES:,}: split it")
        pages: list[str] = []
        left = _MOST_LETTERS
        for page in reader.pages:
            pages.append(page.extract_text().strip())
            left -= len(pages[-1])
            if left < 0:
                raise refuse(path, "a PDF with too much text", "a shorter one: split it")
    except wrong as error:
        found = f"a damaged PDF ({type(error).__name__}: {error})"
        raise refuse(path, found, "a complete PDF, or its text") from error
    text = "\n\n".join(filter(None, pages)).replace("\x00", "")
    if not text:
        raise refuse(path, "a PDF without text, perhaps a scan", "text: recognise it (OCR) first")
    return text
