"""How plug-ins are found, and what one that is wrong may not do to the others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from claimwise.errors import PluginError
from claimwise.registry import (
    GROUPS,
    describe_entry,
    find_entry,
    list_entries,
    list_usable,
    load_plugin,
)
from support.packages import install_package

PLUGIN = "from claimwise.registry import Plugin\nP = Plugin(description='one', load=dict)\n"
BUILT_IN_JUDGES = [
    "bespoke-minicheck", "embedded", "granite-guardian", "hhem", "lettucedetect", "lexical", "lynx",
    "minicheck", "nli", "overlap",
]  # fmt: skip

Install = Callable[..., Path]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    return lambda *given, **more: install_package(monkeypatch, tmp_path, *given, **more)


def names() -> list[str]:
    return [entry.name for entry in list_usable("judges")]


def test_what_claimwise_brings_is_registered_and_works() -> None:
    assert names() == BUILT_IN_JUDGES
    for entry in list_entries("judges"):
        assert entry.built_in
        found = describe_entry(entry)
        assert found.missing is None
        assert found.description
        assert found.card


def test_a_package_is_found_and_not_imported(install: Install) -> None:
    install("acme-judges", PLUGIN, version="2.5", judges={"acme": "P"})
    assert names() == [*BUILT_IN_JUDGES, "acme"]
    entry = find_entry("judges", "acme")
    assert entry is not None
    assert (entry.origin, entry.built_in) == ("acme-judges 2.5", False)
    assert "acme_judges" not in sys.modules
    assert load_plugin(entry).description == "one"
    assert "acme_judges" in sys.modules


def test_a_built_in_name_stays_built_in(install: Install) -> None:
    install("thief", PLUGIN, judges={"lexical": "P"})
    found = find_entry("judges", "lexical")
    assert found is not None
    assert found.built_in
    assert names() == BUILT_IN_JUDGES
    [refused] = [entry for entry in list_entries("judges") if not entry.built_in]
    told = describe_entry(refused).missing or ""
    assert told.startswith("refused: claimwise ")
    assert "thief" not in sys.modules


def test_a_name_that_two_packages_claim_is_refused_and_both_are_named(install: Install) -> None:
    install("acme", PLUGIN, judges={"same": "P"})
    install("other", PLUGIN, version="3", judges={"same": "P", "fine": "P"})
    with pytest.raises(PluginError, match=r"acme 1\.0.* other 3 brings the same|other 3.* acme"):
        find_entry("judges", "same")
    assert names() == [*BUILT_IN_JUDGES, "fine"]


def test_a_fork_that_brings_the_same_module_is_a_rival_too(
    install: Install,
) -> None:
    install("acme", PLUGIN, judges={"same": "P"})
    place = install("fork", PLUGIN, judges={"same": "P"})
    [points] = place.glob("fork-*.dist-info/entry_points.txt")
    points.write_text("[claimwise.judges]\nsame = acme:P\n", encoding="utf-8")
    with pytest.raises(PluginError, match="brings the same name; uninstall one of them"):
        find_entry("judges", "same")


@pytest.mark.parametrize("name", ["auto", "judge", "openai:gpt", "Upper", "two words"])
def test_names_that_mean_something_else_are_refused(install: Install, name: str) -> None:
    install("acme", PLUGIN, judges={name: "P"})
    found = [entry for entry in list_entries("judges") if not entry.built_in]
    assert names() == BUILT_IN_JUDGES
    for entry in found:
        assert "its name is reserved" in (describe_entry(entry).missing or "")
        with pytest.raises(PluginError, match="its name is reserved"):
            find_entry("judges", entry.name)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that"),
        ("raise SystemExit('bye')", "SystemExit: bye"),
        ("P = \\", "SyntaxError"),
        ("", "AttributeError"),
        ("P = 3", "names a int, expected a claimwise.plugins.Plugin"),
        ("raise ValueError('two\\nlines')", r"ValueError: two\nlines"),
    ],
)
def test_a_package_that_fails_is_one_line_that_names_it(
    install: Install, code: str, told: str
) -> None:
    install("broken", code, judges={"bad": "P"})
    install("acme", PLUGIN, judges={"good": "P"})
    entry = find_entry("judges", "bad")
    assert entry is not None
    message = describe_entry(entry).missing or ""
    assert message.startswith("the judge “bad” of broken 1.0 does not work: ")
    assert told in message
    assert "\n" not in message
    good = find_entry("judges", "good")
    assert good is not None
    assert describe_entry(good).missing is None


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ("find_missing=lambda: 1 / 0", "ZeroDivisionError"),
        ("measure_size=lambda: 'much'", "ValueError"),
    ],
)
def test_what_a_plugin_says_of_itself_may_fail_too(install: Install, told: str, error: str) -> None:
    code = (
        f"from claimwise.registry import Plugin\nP = Plugin(description='d', load=dict, {told})\n"
    )
    install("broken", code, judges={"bad": "P"})
    entry = find_entry("judges", "bad")
    assert entry is not None
    assert error in (describe_entry(entry).missing or "")


def test_groups_do_not_mix(install: Install) -> None:
    install("acme", PLUGIN, readers={"acme": "P"})
    assert find_entry("judges", "acme") is None
    assert set(GROUPS) == {"judges", "readers", "providers", "metrics"}
