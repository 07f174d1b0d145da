"""The tests that time grows with length only can fail."""

from __future__ import annotations

import re
from collections.abc import Callable

from support.growth import grows_evenly


def search(pattern: str, size: int) -> Callable[[], object]:
    text = "word " * (size // 5)
    return lambda: re.search(pattern, text)


def test_a_quadratic_method_is_noticed() -> None:
    """A pattern that tries every start again takes the square of the length."""
    assert not grows_evenly(lambda size: search(r"\w[\w ]*!", size), 900, times=8)
    assert grows_evenly(lambda size: search(r"!", size), 100_000)
