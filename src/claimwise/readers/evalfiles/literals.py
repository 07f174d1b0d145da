"""Reads lists and objects that were written as text: by Python, NumPy or LangChain.

``DataFrame.to_csv`` writes a list as ``['a', 'b']``, an array as ``['a' 'b']``, and documents as
``[Document(metadata={…}, page_content='…')]``. They are taken apart token by token, in bounded
depth; nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 20
_SPACE = re.compile(r"\s*")
_STRING = re.compile(r"""[uU]?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf\b|nan\b)")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")
_CONSTANTS = {"None": None, "True": True, "False": False, "null": None, "true": True,
              "false": False, "nan": None, "NaN": None}  # fmt: skip
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "\n": "",
            "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}  # fmt: skip
_CLOSING = {"[": "]", "(": ")", "{": "}"}


class _NoLiteralError(Exception):
    """The text is something else."""


def parse_literal(text: str) -> Any:
    """Return the list or object that a text writes out; None where it is neither.

    A call, such as ``Document(page_content='…')``, becomes an object of its keywords, and
    ``array([…])`` what is in it. Items need no commas between them, as NumPy writes none.
    """
    stripped = text.strip()
    if stripped[-1:] not in ("]", ")", "}"):
        return None
    parser = _Parser(stripped)
    try:
        found = parser.read_value(0)
        parser.skip_space()
    except (_NoLiteralError, RecursionError):
        return None
    return found if parser.at_end() and isinstance(found, list | dict) else None


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def at_end(self) -> bool:
        return self._at == len(self._text)

    def skip_space(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def read_value(self, depth: int) -> Any:
        self.skip_space()
        if depth > MAX_DEPTH or self.at_end():
            raise _NoLiteralError
        first = self._text[self._at]
        if first in "[(":
            return self._read_items(_CLOSING[first], lambda: self.read_value(depth + 1))
        if first == "{":
            return self._read_braces(depth)
        if _STRING.match(self._text, self._at):
            return self._read_string()
        return self._read_word(depth)

    def _read_items(self, closing: str, read: Callable[[], Any]) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        while True:
            end = self._at
            self.skip_space()
            if self._take(closing):
                return items
            if items and not self._take(",") and self._at == end:
                raise _NoLiteralError  # two items need a comma or a space between them
            self.skip_space()
            if self._take(closing):
                return items
            items.append(read())

    def _take(self, letter: str) -> bool:
        found = self._text.startswith(letter, self._at)
        self._at += found
        return found

    def _read_braces(self, depth: int) -> Any:
        """Read an object, or a set as a list."""
        pairs = self._read_items("}", lambda: self._read_pair(depth + 1))
        keys = [isinstance(pair, tuple) for pair in pairs]
        if all(keys):
            return {str(key): value for key, value in pairs}
        if any(keys):
            raise _NoLiteralError
        return pairs

    def _read_pair(self, depth: int) -> Any:
        key = self.read_value(depth)
        self.skip_space()
        return (key, self.read_value(depth)) if self._take(":") else key

    def _read_string(self) -> str:
        match = _STRING.match(self._text, self._at)
        if match is None:
            raise _NoLiteralError
        self._at = match.end()
        return _ESCAPE.sub(_decode_escape, match[1][1:-1])

    def _read_word(self, depth: int) -> Any:
        number = _NUMBER.match(self._text, self._at)
        if number:
            self._at = number.end()
            return _to_number(number[0])
        name = _NAME.match(self._text, self._at)
        if name is None:
            raise _NoLiteralError
        self._at = name.end()
        if self._text.startswith("(", self._at):
            return self._read_call(depth)
        if name[0] not in _CONSTANTS:
            raise _NoLiteralError
        return _CONSTANTS[name[0]]

    def _read_call(self, depth: int) -> Any:
        """Return a call's keywords, or its only argument: ``array([…], dtype=object)``."""
        parts = self._read_items(")", lambda: self._read_argument(depth + 1))
        named = {part.name: part.value for part in parts if isinstance(part, _Keyword)}
        plain = [part for part in parts if not isinstance(part, _Keyword)]
        if len(plain) == 1:
            return plain[0]
        if plain:
            raise _NoLiteralError
        return named

    def _read_argument(self, depth: int) -> Any:
        keyword = _KEYWORD.match(self._text, self._at)
        if keyword is None:
            return self.read_value(depth)
        self._at = keyword.end()
        self.skip_space()
        if keyword[1] == "dtype":  # the name of a type, which says nothing of the values
            word = _NAME.match(self._text, self._at) or _STRING.match(self._text, self._at)
            self._at = word.end() if word else self._at
            return _Keyword("dtype", None)
        return _Keyword(keyword[1], self.read_value(depth))


def _decode_escape(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) > 1:
        code = int(escape[1:], 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return _ESCAPES.get(escape, match[0])


class _Keyword:
    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value


def _to_number(text: str) -> Any:
    if text.lstrip("-") in ("inf", "nan"):
        return None
    return int(text) if text.lstrip("-").isdigit() and len(text) < 19 else float(text)
