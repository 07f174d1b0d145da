"""The annotation guide: versioned documents whose rules have ids.

A guide is a Markdown file with a head, as ``guides/grounded-2.md`` beside this module::

    +++
    version = "grounded-2"
    judgement = "grounded"
    title = "How to judge claims against sources"
    changelog = ["1: the first version"]
    [verdicts]
    supported = ["R1"]
    [pairs]
    "supported/unlinked" = ["R1"]
    +++
    ## R1 · What carries a claim
    …

``verdicts`` says which rules are shown for a verdict, ``pairs`` which rules decide between two. A
project brings its own in ``guides/NAME.md``. Labels carry the version's name, so a version that was
used never changes: copy it and number it up.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from claimwise.errors import ConfigError, describe_unknown
from claimwise.store import Store
from claimwise.types.rows import Judgement

FOLDER = "guides"  # of a project, for guides of its own

_FILE = re.compile(r"\A\+\+\+\n(?P<head>.*?)^\+\+\+\n(?P<body>.*)\Z", re.DOTALL | re.MULTILINE)
_RULE = re.compile(r"^## (?P<id>R\d+) · (?P<title>.+)$", re.MULTILINE)
_SECTION = re.compile(r"^#{1,2} ", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class GuideRule(Struct, frozen=True, kw_only=True):
    """One rule of a guide: what labels and disagreements point to."""

    rule_id: str
    title: str
    text: str  # Markdown


class GuideVersion(Struct, frozen=True, kw_only=True):
    """One version of the guide. ``text`` is the whole file, as the store keeps it."""

    version: str
    text: str
    body: str
    title: str
    judgement: Judgement | None = None  # None: an imported text without a head
    changelog: tuple[str, ...] = ()
    rules: dict[str, GuideRule] = {}
    verdicts: dict[str, tuple[str, ...]] = {}
    pairs: dict[str, tuple[str, ...]] = {}  # by "verdict/verdict", in the order of the head

    def find_rules(self, *verdicts: str) -> list[GuideRule]:
        """Return the rules for one verdict, or those that decide between two, in either order."""
        if len(verdicts) == 1:
            ids = self.verdicts.get(verdicts[0], ())
        else:
            one, other = verdicts
            ids = self.pairs.get(f"{one}/{other}") or self.pairs.get(f"{other}/{one}") or ()
        return [self.rules[rule_id] for rule_id in ids]


class _Head(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: str
    judgement: Judgement
    title: str
    changelog: tuple[str, ...] = ()
    verdicts: dict[str, tuple[str, ...]] = {}
    pairs: dict[str, tuple[str, ...]] = {}


def read_guide(
    judgement: Judgement, version: str | None = None, *, folder: Path | None = None
) -> GuideVersion:
    """Return a guide for a judgement: the one of that version, or the newest.

    The newest is the project's own with the highest number, or the built-in one where it has none.

    Args:
        judgement: what is judged by it.
        version: its name; None for the newest.
        folder: the project's folder, to look for guides of its own.

    Raises:
        ConfigError: there is no such guide, or a file is wrong.
    """
    known = list_guides(folder)
    fitting = [guide for guide in known if guide.judgement == judgement]
    if version is None:
        return fitting[-1]
    for guide in fitting:
        if guide.version == version:
            return guide
    names = [guide.version for guide in fitting]
    raise ConfigError(describe_unknown(f"{judgement} guide", version, names))


def list_guides(folder: Path | None = None) -> list[GuideVersion]:
    """Return all guides in files: the built-in ones, then the project's, the newest last.

    Raises:
        ConfigError: a file is wrong, or takes the name of a built-in guide.
    """
    built_in = list(_read_built_in())
    taken = {guide.version for guide in built_in}
    own = sorted(_read_own(folder), key=lambda guide: _number(guide.version)) if folder else []
    for guide in own:
        if guide.version in taken:
            raise ConfigError(
                f"{FOLDER}/{guide.version}.md: a built-in guide has this name; rename the file "
                "and its version"
            )
    return built_in + own


def find_guide(store: Store, version: str, folder: Path | None = None) -> GuideVersion | None:
    """Return a guide as labels were given by it: the stored text, or else the file's."""
    sql = "select guide_text from guide_versions where guide_version = :version"
    stored = store.query(sql, {"version": version})
    if stored:
        return _read_stored(version, stored[0][0])
    return next((guide for guide in list_guides(folder) if guide.version == version), None)


def parse_guide(text: str, place: str) -> GuideVersion:
    """Read a guide's file strictly: every rule that the head names is there.

    Raises:
        ConfigError: something is missing or unknown; the message starts with the place.
    """
    found = _FILE.match(text)
    if found is None:
        raise ConfigError(
            f"{place}: a guide starts with a head between +++ lines, then comes its Markdown text"
        )
    try:
        head = msgspec.convert(tomllib.loads(found["head"]), _Head)
    except ValueError as error:
        raise ConfigError(f"{place}: {error}") from error
    rules = {rule.rule_id: rule for rule in _find_rules(found["body"])}
    named = {rule for ids in (*head.verdicts.values(), *head.pairs.values()) for rule in ids}
    if named - set(rules):
        missing = ", ".join(sorted(named - set(rules)))
        raise ConfigError(
            f"{place}: the head names {missing}; add headings such as “## R1 · Title” for them"
        )
    return GuideVersion(text=text, body=found["body"], rules=rules, **msgspec.structs.asdict(head))


def markdown_to_html(text: str) -> str:
    """Return Markdown as HTML: raw HTML in it stays text, and nothing is loaded from elsewhere."""
    # Imported here because only pages need it.
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = reader.parse(text)
    for heading, title in pairwise(tokens):
        rule = _RULE.match(f"## {title.content}") if heading.type == "heading_open" else None
        if rule:
            heading.attrSet("id", rule["id"])
    return str(reader.renderer.render(tokens, reader.options, {}))


def show_rules(guide: GuideVersion | None, *verdicts: str) -> list[dict[str, str]]:
    """Return rules as pages show them: id, title and HTML."""
    rules = guide.find_rules(*verdicts) if guide else []
    return [
        {"id": rule.rule_id, "title": rule.title, "html": markdown_to_html(rule.text)}
        for rule in rules
    ]


@cache
def _read_built_in() -> tuple[GuideVersion, ...]:
    folder = files("claimwise.labelling").joinpath(FOLDER)
    return tuple(sorted(_read_folder(folder), key=lambda guide: _number(guide.version)))


def _read_own(folder: Path) -> Iterator[GuideVersion]:
    own = folder / FOLDER
    return _read_folder(own) if own.is_dir() else iter(())


def _read_folder(folder: Traversable) -> Iterator[GuideVersion]:
    for path in folder.iterdir():
        if path.name.endswith(".md") and path.is_file():
            place = f"{FOLDER}/{path.name}"
            try:
                guide = parse_guide(path.read_text(encoding="utf-8"), place)
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"{place}: {error}") from error
            if f"{guide.version}.md" != path.name or not _NAME.fullmatch(guide.version):
                raise ConfigError(
                    f"{place}: the head says version {guide.version!r}; it must be the file's name"
                )
            yield guide


def _read_stored(version: str, text: str) -> GuideVersion:
    """Return a stored text; one that was imported without our head is a guide without rule ids."""
    try:
        return msgspec.structs.replace(parse_guide(text, version), version=version)
    except ConfigError:
        return GuideVersion(version=version, text=text, body=text, title=f"Guide {version}")


def _find_rules(body: str) -> Iterator[GuideRule]:
    for heading in _RULE.finditer(body):
        after = _SECTION.search(body, heading.end())
        text = body[heading.end() : after.start() if after else len(body)]
        yield GuideRule(rule_id=heading["id"], title=heading["title"].strip(), text=text.strip())


def _number(version: str) -> tuple[int, str]:
    """Sort key of a version: the number at its end, then its name."""
    found = re.search(r"(\d+)\Z", version)
    return int(found[1]) if found else 0, version
