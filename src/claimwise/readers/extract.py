"""Extracts the text of web pages and PDFs, as a reader would see it.

Scripts, styles and what else nobody reads is left out of a page, and nothing that it links is
fetched. PDFs are read by pypdf (extra: pdf), page by page and in bounds.
"""

from __future__ import annotations

import io
import logging
import re
import struct
from html import unescape
from importlib.util import find_spec
from pathlib import Path

from claimwise.disk.input import refuse
from claimwise.errors import MissingExtraError
from claimwise.readers.html_tables import TableWriter

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
# Runs and quotes are taken whole and given back never, so that no tag is looked at twice.
_TAG = re.compile(
    r"<(?P<closing>/?)(?P<name>[a-zA-Z][a-zA-Z0-9:-]{0,60})"
    r"""(?>(?:[^<>"']++|"[^"]{0,20000}+"|'[^']{0,20000}+'){0,500})>"""
)
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
    """Return what a page says: paragraphs apart, tables in pipes.

    The page is gone through once, from sign to sign: Python's own parser takes hours for a few
    kilobytes of ``<a <a <a``.
    """
    parts: list[str] = []
    tables = TableWriter(parts)
    at, kept_breaks = 0, 0
    lowered = text.lower() if len(text.lower()) == len(text) else text
    while at < len(text):
        sign = text.find("<", at)
        end = len(text) if sign < 0 else sign
        words = unescape(text[at:end])
        parts.append(words if kept_breaks else words.replace("\n", " "))
        at = end
        if sign < 0:
            break
        tag = _TAG.match(text, sign)
        if tag is None:
            at, skipped = _skip_other(text, sign)
            parts.append("" if skipped else "<")
            continue
        at, name = tag.end(), tag["name"].lower()
        if name in _UNREAD and not tag["closing"] and not tag[0].endswith("/>"):
            at = _find_end(lowered, name, at)
        kept_breaks = max(0, kept_breaks + (name == "pre") * (-1 if tag["closing"] else 1))
        tables.pass_tag(tag, name)
        parts.append(_separate(name))
    joined = _SPACES.sub(" ", "".join(parts))
    return _GAPS.sub("\n\n", _LINES.sub("\n", joined)).strip()


def _skip_other(text: str, sign: int) -> tuple[int, bool]:
    """Return where a comment or a declaration ends; one that is open runs to the end."""
    for start, ending in (("<!--", "-->"), ("<!", ">"), ("<?", ">")):
        if text.startswith(start, sign):
            end = text.find(ending, sign + len(start))
            return (len(text) if end < 0 else end + len(ending)), True
    return sign + 1, False


def _find_end(lowered: str, name: str, at: int) -> int:
    """Return where what nobody reads ends; a head ends with the body's beginning at the latest."""
    end = lowered.find(f"</{name}", at)
    end = len(lowered) if end < 0 else end
    body = lowered.find("<body", at, end) if name == "head" else -1
    return end if body < 0 else body


def _separate(name: str) -> str:
    if name in _PARAGRAPHS:
        return "\n\n"
    if name in _BLOCKS:
        return "\n"
    return "\t " if name in _CELLS else ""


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
