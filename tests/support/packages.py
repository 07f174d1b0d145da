"""Packages with entry points, as an installer leaves them: metadata and one module."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def install_package(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    name: str,
    code: str = "",
    *,
    version: str = "1.0",
    files: dict[str, str] | None = None,
    **groups: dict[str, str],
) -> Path:
    """Install a package for one test; return the folder that holds it.

    ``judges={"own": "OWN"}`` registers what the package's module calls ``OWN``, and an empty value
    the module itself. ``files`` are laid beside it.
    """
    place = folder / f"site-{name}"
    module = name.replace("-", "_")
    info = place / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    (place / module).mkdir()
    for file, text in {"__init__.py": code, **(files or {})}.items():
        (place / module / file).write_text(text, encoding="utf-8")
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    lines = []
    for group, entries in groups.items():
        lines.append(f"[claimwise.{group}]")
        lines += [f"{entry} = {module}:{value}".rstrip(":") for entry, value in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.syspath_prepend(place)
    # Forgotten after the test: another one may install a package of the same name.
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, module)
    return place
