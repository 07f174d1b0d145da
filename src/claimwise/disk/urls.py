"""What lies at a URL, by fsspec and the drivers that a user has for it: s3fs, gcsfs, adlfs….

None of it is imported before somebody names a URL, and only what was named is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from claimwise.errors import ClaimwiseError, MissingExtraError

_LOGIN = re.compile(r"(?<=://)[^/@]*@")


def is_url(place: str) -> bool:
    """Tell a URL from a path."""
    return "://" in place


def show_url(url: str) -> str:
    """Return a URL that may be printed: without the name and password that it may hold."""
    return _LOGIN.sub("", url)


def open_url(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    Raises:
        ClaimwiseError: nothing that is installed can open it.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtraError(f"{url.partition('://')[0]}://…", "remote") from error
    with url_errors(url):
        fs, path = url_to_fs(url)
    return fs, path


@contextmanager
def url_errors(url: str) -> Iterator[None]:
    """Turn what fsspec and the packages behind it raise into one line."""
    try:
        yield
    except ClaimwiseError:
        raise
    except ImportError as error:
        raise ClaimwiseError(
            f"{show_url(url)}: fsspec's driver for it is not installed; {_first_line(error)}"
        ) from error
    except Exception as error:  # drivers raise what the packages behind them do, of any class
        raise ClaimwiseError(f"{show_url(url)}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return show_url(str(error).partition("\n")[0]) or type(error).__name__
