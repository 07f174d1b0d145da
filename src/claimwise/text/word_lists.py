"""Lists of words that come with the package: text files with sections."""

from __future__ import annotations

import re
from importlib import resources

_SECTION = re.compile(r"\[([a-z_ ]+)\]")


def read_sections(package: str, name: str) -> dict[str, list[str]]:
    """Return the lines of a package's file by section, without comments and empty ones."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (resources.files(package) / name).read_text("utf-8").splitlines():
        if section := _SECTION.fullmatch(line):
            lines = sections.setdefault(section[1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections
