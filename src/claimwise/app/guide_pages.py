"""The pages that show the versions of the guide."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.labelling.guide import (
    GuideVersion,
    find_guide,
    markdown_to_html,
    read_guide,
)
from claimwise.types.rows import Judgement


def show_guides(call: Call) -> Response:
    """List the versions: the newest of each kind first, and every other one that labels name."""
    stored = [row[0] for row in call.store.query("select guide_version from guide_versions")]
    listed = {one.version: one for one in _list_current(call.project.folder)}
    newest = set(listed)
    for version in stored:
        found = find_guide(call.store, version, call.project.folder)
        if found is not None:
            listed[version] = found
    return call.render("guides.html", guides=list(listed.values()), stored=stored, newest=newest)


def _list_current(folder: Path | None) -> list[GuideVersion]:
    return [read_guide(kind, folder=folder) for kind in _KINDS]


def show_guide(call: Call) -> Response:
    """Show one version as a page."""
    version = call.path["version"]
    guide = find_guide(call.store, version, call.project.folder)
    if guide is None:
        raise Refusal(404, f"There is no guide {version!r}.")
    return call.render(
        "guide.html", guide=guide, html=markdown_to_html(guide.body), **_places(guide)
    )


def _places(guide: GuideVersion) -> Mapping[str, Any]:
    return {
        "pairs": [(pair.split("/"), rules) for pair, rules in guide.pairs.items()],
        "rules": guide.rules,
    }


_KINDS: tuple[Judgement, ...] = ("grounded", "closed_book")


ROUTES = (
    PageRoute("GET", "/guide", show_guides, "labeler"),
    PageRoute("GET", "/guide/{version:path}", show_guide, "labeler"),
)
