from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path
from typing import get_args

import pytest

from claimwise.errors import ConfigError, RefusedError
from claimwise.labelling.guide import (
    find_guide,
    list_guides,
    markdown_to_html,
    parse_guide,
    read_guide,
)
from claimwise.labelling.queue import add_guide
from claimwise.store import Store
from claimwise.types.rows import FactLabel, Judgement, Verdict
from support.app_server import utc_now

HEAD = """+++
version = "{version}"
judgement = "grounded"
title = "Ours"
[verdicts]
supported = ["R1"]
[pairs]
"supported/unlinked" = ["R1"]
+++
Intro.

## R1 · First rule

Text of *one*.

## Not a rule

More.
"""


def write_own(folder: Path, version: str, text: str | None = None) -> None:
    (folder / "guides").mkdir(exist_ok=True)
    path = folder / "guides" / f"{version}.md"
    path.write_text(text or HEAD.format(version=version), "utf-8")


@pytest.mark.parametrize(
    ("judgement", "verdicts"),
    [("grounded", get_args(Verdict)), ("closed_book", get_args(FactLabel))],
)
def test_built_in_guide_decides_every_verdict_and_pair(
    judgement: Judgement, verdicts: tuple[str, ...]
) -> None:
    guide = read_guide(judgement)
    assert set(guide.verdicts) == set(verdicts)
    for verdict in verdicts:
        assert guide.find_rules(verdict), verdict
    for one, other in combinations(verdicts, 2):
        assert guide.find_rules(one, other), (one, other)
        assert guide.find_rules(one, other) == guide.find_rules(other, one)
    # Numbered without a gap, and each with an example of the border.
    assert list(guide.rules) == [f"R{n}" for n in range(1, len(guide.rules) + 1)]
    for rule in guide.rules.values():
        assert "\n> " in rule.text, rule.rule_id


def test_own_guide_comes_before_the_built_in_one(tmp_path: Path) -> None:
    for version in ("ours-2", "ours-10", "ours-9"):
        write_own(tmp_path, version)
    assert read_guide("grounded", folder=tmp_path).version == "ours-10"
    assert read_guide("grounded", "ours-2", folder=tmp_path).version == "ours-2"
    assert read_guide("closed_book", folder=tmp_path).version == "closed-book-2"
    assert read_guide("grounded").version == "grounded-2"


def test_rules_end_where_the_next_heading_begins(tmp_path: Path) -> None:
    write_own(tmp_path, "ours-1")
    guide = read_guide("grounded", folder=tmp_path)
    assert guide.rules["R1"].title == "First rule"
    assert guide.rules["R1"].text == "Text of *one*."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("No head.", "a guide starts with a head"),
        (HEAD.format(version="ours-1").replace('["R1"]', '["R7"]'), "names R7"),
        (HEAD.format(version="other"), "must be the file's name"),
        (HEAD.format(version="ours-1").replace("grounded", "taste"), "judgement"),
        (HEAD.format(version="ours-1").replace("title", "titel"), "titel"),
    ],
)
def test_wrong_files_are_refused_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    write_own(tmp_path, "ours-1", text)
    with pytest.raises(ConfigError, match=message) as caught:
        list_guides(tmp_path)
    assert str(caught.value).startswith("guides/ours-1.md: ")


def test_name_of_a_built_in_guide_is_taken(tmp_path: Path) -> None:
    write_own(tmp_path, "grounded-1")
    with pytest.raises(ConfigError, match="a built-in guide has this name"):
        list_guides(tmp_path)


def test_unknown_version_names_the_known() -> None:
    with pytest.raises(ConfigError, match="Known grounded guides: grounded-1, grounded-2"):
        read_guide("grounded", "grounded-99")


def test_stored_text_decides_what_a_version_says(store: Store, tmp_path: Path) -> None:
    write_own(tmp_path, "ours-1")
    used = read_guide("grounded", "ours-1", folder=tmp_path)
    add_guide(store, used.version, used.text, utc_now())
    write_own(tmp_path, "ours-1", used.text.replace("*one*", "another"))
    found = find_guide(store, "ours-1", tmp_path)
    assert found is not None
    assert found.rules["R1"].text == "Text of *one*."
    changed = read_guide("grounded", "ours-1", folder=tmp_path)
    with pytest.raises(RefusedError):
        add_guide(store, changed.version, changed.text, utc_now())


def test_imported_guide_without_head_is_shown_without_rules(store: Store) -> None:
    add_guide(store, "1", "1. Look. <script>x</script>", utc_now())
    found = find_guide(store, "1")
    assert found is not None
    assert (found.rules, found.pairs, found.judgement) == ({}, {}, None)
    assert find_guide(store, "2") is None


def test_markdown_never_becomes_markup_of_its_own() -> None:
    html = markdown_to_html(
        "## R1 · A <b>\n\n<script>alert(1)</script> [x](javascript:alert(1)) ![p](http://a/b.png)"
    )
    assert '<h2 id="R1">' in html
    assert "<script" not in html
    assert "<b>" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html


def test_parse_keeps_the_whole_file() -> None:
    text = HEAD.format(version="ours-1")
    assert parse_guide(text, "place").text == text


def test_pipe_is_no_guide(tmp_path: Path) -> None:
    write_own(tmp_path, "ours-1")
    os.mkfifo(tmp_path / "guides" / "ours-2.md")
    assert "ours-1" in [guide.version for guide in list_guides(tmp_path)]
