"""Finds metrics: SQL files whose header says what they mean.

A metric is a select of one contract: any slice columns, ``cluster_id`` (the item),
``numerator`` and ``denominator``; and, where claims can go unscored, ``asked`` (claims asked)
and ``scored`` (when that is not the denominator). Its header is a comment of ``-- key: value``
lines: what the metric means, and how reports, comparisons and gates treat it. Built-in metrics lie
in ``metrics/sql``, a project's own in its metrics folder, and packages bring theirs by entry points
(group ``claimwise.metrics``); all are the same to everything that follows, so no other module keeps
a list of metrics.
"""

from __future__ import annotations

import logging
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, cast, get_args

from claimwise.disk.input import read_whole
from claimwise.errors import ClaimwiseError, InputError, MetricError, describe_unknown
from claimwise.registry import OWN_PACKAGE, Entry, Plugin, list_usable, load_plugin
from claimwise.store.parameters import trim_statement
from claimwise.types.results import Better, CitationPolicy

_HEADER_LINE = re.compile(r"--\s?(?P<key>[a-z]+)(?: (?P<member>[\w-]+))?:\s*(?P<value>.*)\Z")
_CONTINUATION = re.compile(r"--\s{2,}(?P<value>\S.*)\Z")
_REQUIRED = ("title", "meaning", "grain")
_PER_ITEM = "one row per item"
_KNOWN = (
    *_REQUIRED,
    "role",
    "order",
    "unit",
    "better",
    "series",
    "labels",
    "needs",
    "aliases",
    "note",
)
_COMMENT = re.compile(r"--[^\n]*")
_WORD = re.compile(r"\w+")
_LARGEST_FILE = 1024 * 1024
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_log = logging.getLogger("claimwise")

BUILT_IN = Plugin(
    description="the metrics that come with claimwise",
    load=lambda: files("claimwise.metrics").joinpath("sql"),
    card="docs/metrics.md",
)


# main: reports show it, and runs are compared by it; detail: reports show it; measurement: it is
# about the labels, not about the system, and stands in a part of the report of its own.
Role = Literal["main", "detail", "measurement"]

# What a metric may need beyond answers and verdicts, and how a reader is told of it.
_NEEDS: Final = {
    "people": "people's labels",
    "query_type": "query_type",
    "answerable": "answerable",
    "stakes": "stakes",
    "action": "action",
    "gold_answer": "gold answers",
    "gold_spans": "gold spans",
    "answer_labels": "labels of answers",
    "citations": "citations",
    "citation_required": "claims of type citation_required",
    "closed_book_labels": "closed-book labels",
    "expected_action": "items with an expected action",
    "validity": "documents with valid_until or superseded_by",
}

# What citation_recall says of the claims that require a citation, unless a project says otherwise.
_POLICY: Final = "'cited' as policy"

# The views that a metric may take labels from, with their other names.
_LABELS: Final = {
    "deciding_closed_book_labels": (),
    "candidate_closed_book_labels": ("standing_closed_book_labels", "closed_book_labels"),
    "deciding_answer_labels": (),
    "candidate_answer_labels": ("answer_labels",),
    "deciding_labels": ("claim_labels",),
    "candidate_labels": ("standing_labels", "labels"),
}
# Of those the ones that no choice of labels narrows: all labels ever given.
_TABLES: Final = frozenset(
    name for others in _LABELS.values() for name in others if name != "claim_labels"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """A metric file, read."""

    name: str
    path: str
    sql: str
    title: str
    meaning: str
    grain: str
    unit: str
    series: str | None
    role: Role = "detail"
    order: int | None = None  # its place in reports; those without come last, by name
    labels: tuple[str, ...] = ()  # the views whose labels it rests on
    needs: tuple[str, ...] = ()  # without these it measures nothing, in words
    aliases: tuple[str, ...] = ()
    better: dict[str | None, Better] = field(default_factory=dict)  # by member of the series
    notes: dict[str, str] = field(default_factory=dict)
    package: str | None = None  # the package that brings it, with its version; None: ours
    per_item: bool = False  # known to return one row per item, with the item's own columns

    def better_for(self, member: str | None) -> Better | None:
        """Return which direction is better, for a member of the series or in general."""
        return self.better.get(member, self.better.get(None))

    @property
    def follows_policy(self) -> bool:
        """Whether the choice of labels narrows all that it reads: it names no table of labels."""
        return not _find_words(self.sql) & _TABLES


def load_metrics(
    folder: Path | None = None, citations: CitationPolicy = "cited"
) -> dict[str, Metric]:
    """Return all metrics by name: the built-in ones, installed ones, those of a project's folder.

    What is wrong with an installed package is logged, and its metric left out.

    Raises:
        MetricError: a file of the folder can't be read, has no proper header, or takes a name.
    """
    found = dict((*_load_built_in(), *_load_installed(tuple(sys.path))))
    for path in sorted(folder.glob("*.sql")) if folder and folder.is_dir() else ():
        try:
            text = read_whole(path, _LARGEST_FILE).decode()
        except InputError as error:
            raise MetricError(str(error)) from error
        except UnicodeDecodeError as error:
            raise MetricError(
                f"{path}: not UTF-8 text ({error}); save the file as UTF-8"
            ) from error
        metric = parse_metric(path.stem, text, str(path))
        if metric.name in found:
            owner = found[metric.name].package
            whose = f" (from {owner})" if owner else ""
            raise MetricError(
                f"{path}: there is another metric named {metric.name}{whose}; rename the file"
            )
        found[metric.name] = metric
    return {name: _set_policy(metric, citations) for name, metric in found.items()}


def _set_policy(metric: Metric, citations: CitationPolicy) -> Metric:
    """Write the project's policy on citations into a metric that asks for it, as a constant."""
    if citations == "cited" or _POLICY not in metric.sql:
        return metric
    return replace(metric, sql=metric.sql.replace(_POLICY, f"'{citations}' as policy"))


@cache
def _load_built_in() -> tuple[tuple[str, Metric], ...]:
    """Read our own metrics; only of these is it tested that they keep to the grain they name."""
    return tuple(
        (metric.name, replace(metric, per_item=metric.grain == _PER_ITEM))
        for metric in _read_folder(BUILT_IN.load())
    )


def _read_folder(folder: Traversable) -> Iterator[Metric]:
    for name in sorted(path.name for path in folder.iterdir() if path.name.endswith(".sql")):
        text = folder.joinpath(name).read_text("utf-8")
        yield parse_metric(name.removesuffix(".sql"), text, name)


@cache
def _load_installed(path: tuple[str, ...]) -> tuple[tuple[str, Metric], ...]:
    """Return the metrics that other packages bring; ``path`` says where packages are looked for.

    A metric whose name or alias another one has is left out, so that none is replaced.
    """
    entries = [entry for entry in list_usable("metrics") if not entry.built_in]
    found = [metric for entry in entries for metric in _read_package(entry)]
    owners: dict[str, list[str]] = defaultdict(list)
    for metric in (*dict(_load_built_in()).values(), *found):
        for word in {metric.name, *metric.aliases}:
            owners[word].append(metric.package or OWN_PACKAGE)
    kept = []
    for metric in found:
        taken = [word for word in (metric.name, *metric.aliases) if len(owners[word]) > 1]
        if not taken:
            kept.append((metric.name, metric))
            continue
        others = [owner for owner in owners[taken[0]] if owner != metric.package]
        told = "warning: the metric “%s” of %s is left out: %s has a metric of this name"
        _log.warning(told, taken[0], metric.package, " and ".join(others) or metric.package)
    return tuple(kept)


def _read_package(entry: Entry) -> list[Metric]:
    """Return a package's metrics; none, and a line in the log, where one of them is wrong."""
    try:
        return list_package_metrics(entry)
    except ClaimwiseError as error:
        _log.warning("warning: %s", error)
        return []


def list_package_metrics(entry: Entry) -> list[Metric]:
    """Return the metrics of an entry, with the package that brings them.

    Raises:
        ClaimwiseError: the package does not work, or a file of it is no metric.
    """
    folder = entry.call(load_metrics_plugin(entry).load)
    try:
        found = entry.call(lambda: list(_read_folder(folder)))
    except MetricError as error:
        raise entry.fail(str(error)) from error
    if not found:
        raise entry.fail("its folder holds no .sql file")
    return [replace(metric, package=entry.origin) for metric in found]


def load_metrics_plugin(entry: Entry) -> Plugin[Any]:
    """Return what is registered for metrics: a plug-in, or one made of a package with .sql files.

    Raises:
        PluginError: the package can't be imported, or brings something else.
    """
    found = entry.load()
    if not isinstance(found, ModuleType):
        return load_plugin(entry)
    told = (found.__doc__ or "").strip().partition("\n")[0]
    return Plugin(description=told, load=lambda: files(found))


def list_metrics(metrics: dict[str, Metric], *roles: Role) -> list[Metric]:
    """Return the metrics of some roles in the order of reports: as headers say, then by name."""
    chosen = [metric for metric in metrics.values() if metric.role in roles]
    return sorted(chosen, key=lambda m: (m.order is None, m.order or 0, m.name))


def find_metric(metrics: dict[str, Metric], name: str) -> Metric:
    """Return a metric by its name or an alias.

    Raises:
        MetricError: there is none of that name.
    """
    for metric in metrics.values():
        if name == metric.name or name in metric.aliases:
            return metric
    raise MetricError(describe_unknown("metric", name, sorted(metrics)))


def parse_metric(name: str, sql: str, path: str) -> Metric:
    """Read a metric from the text of its file.

    Raises:
        MetricError: the header lacks a line, or has one that nobody knows.
    """
    if not _NAME.match(name):
        raise MetricError(f"{path}: found the name {name!r}, expected lower case, digits, _")
    header = _parse_header(sql, path)
    missing = [key for key in _REQUIRED if (key, None) not in header]
    if missing:
        raise MetricError(f"{path}: the header lacks -- {missing[0]}: …")
    better = {member: value for (key, member), value in header.items() if key == "better"}
    for value in better.values():
        _check_value(path, "better", value, ("higher", "lower"))
    role = header.get(("role", None), "detail")
    _check_value(path, "role", role, get_args(Role))
    return Metric(
        name=name,
        path=path,
        sql=trim_statement(sql),
        title=header["title", None],
        meaning=header["meaning", None],
        grain=header["grain", None],
        unit=header.get(("unit", None), "claim"),
        series=header.get(("series", None)),
        role=cast(Role, role),
        order=_read_order(path, header.get(("order", None))),
        labels=_read_labels(path, header.get(("labels", None)), sql),
        needs=_read_needs(path, header.get(("needs", None), "")),
        aliases=tuple(header.get(("aliases", None), "").replace(",", " ").split()),
        better=cast(dict[str | None, Better], better),
        notes={str(member): text for (key, member), text in header.items() if key == "note"},
    )


def _check_value(path: str, key: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        expected = " or ".join(known)
        raise MetricError(f"{path}: {key}: found {value!r}, expected {expected}")


def _read_order(path: str, value: str | None) -> int | None:
    if value is not None and not re.fullmatch(r"[0-9]{1,6}", value):
        raise MetricError(f"{path}: order: found {value!r}, expected a whole number")
    return None if value is None else int(value)


def _read_needs(path: str, value: str) -> tuple[str, ...]:
    """Return in words what a metric can't do without."""
    names = value.replace(",", " ").split()
    for name in names:
        _check_value(path, "needs", name, tuple(_NEEDS))
    return tuple(_NEEDS[name] for name in names)


def _read_labels(path: str, value: str | None, sql: str) -> tuple[str, ...]:
    """Return the views whose labels a metric rests on, as its header says.

    Metrics written before there was such a line rest on the views that they name.
    """
    if value == "none":
        return ()
    if value is None:
        names = _find_words(sql)
        return tuple(view for view, others in _LABELS.items() if names & {view, *others})
    views = tuple(value.replace(",", " ").split())
    wrong = next((view for view in views if view not in _LABELS), None)
    if wrong is not None or not views:
        known = ", ".join(_LABELS)
        raise MetricError(f"{path}: labels: found {wrong or value!r}, expected none, or of {known}")
    return views


def _find_words(sql: str) -> set[str]:
    return set(_WORD.findall(_COMMENT.sub("", sql).lower()))  # SQL reads either case


def _parse_header(sql: str, path: str) -> dict[tuple[str, str | None], str]:
    header: dict[tuple[str, str | None], str] = {}
    last: tuple[str, str | None] | None = None
    for number, line in enumerate(sql.strip().splitlines(), start=1):
        if not line.startswith("--"):
            break
        more = _CONTINUATION.match(line)
        if more and last:
            header[last] += " " + more["value"]
            continue
        entry = _HEADER_LINE.match(line)
        if entry is None or entry["key"] not in _KNOWN:
            known = ", ".join(_KNOWN)
            raise MetricError(f"{path}:{number}: found {line!r}, expected -- KEY: … out of {known}")
        last = (entry["key"], entry["member"])
        if last in header:
            raise MetricError(f"{path}:{number}: found a second {line.partition(':')[0]}: …")
        header[last] = entry["value"].strip()
    return header
