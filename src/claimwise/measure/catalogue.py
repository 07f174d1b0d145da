"""Finds metrics: SQL files whose header says what they mean.

A metric is a select of one contract: any slice columns, ``cluster_id`` (the item),
``numerator`` and ``denominator``; and, where claims can go unscored, ``asked`` (claims asked)
and ``scored`` (when that is not the denominator). Its header is a comment of ``-- key: value``
lines. Built-in metrics lie in ``measure/sql``, a project's own in its metrics folder; both are
the same to everything that follows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

from claimwise.disk.input import read_whole
from claimwise.errors import InputError, MetricError
from claimwise.store.parameters import trim_statement
from claimwise.types.results import Better

_HEADER_LINE = re.compile(r"--\s?(?P<key>[a-z]+)(?: (?P<member>[\w-]+))?:\s*(?P<value>.*)\Z")
_CONTINUATION = re.compile(r"--\s{2,}(?P<value>\S.*)\Z")
_REQUIRED = ("title", "meaning", "grain")
_KNOWN = (*_REQUIRED, "unit", "better", "series", "aliases", "note")
_LARGEST_FILE = 1024 * 1024
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


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
    aliases: tuple[str, ...] = ()
    better: dict[str | None, Better] = field(default_factory=dict)  # by member of the series
    notes: dict[str, str] = field(default_factory=dict)

    def better_for(self, member: str | None) -> Better | None:
        """Return which direction is better, for a member of the series or in general."""
        return self.better.get(member, self.better.get(None))


def load_metrics(folder: Path | None = None) -> dict[str, Metric]:
    """Return all metrics by name: the built-in ones and those of a project's folder.

    Raises:
        MetricError: a file can't be read, has no proper header, or takes a built-in metric's name.
    """
    found = dict(_load_built_in())
    for path in sorted(folder.glob("*.sql")) if folder and folder.is_dir() else ():
        try:
            text = read_whole(path, _LARGEST_FILE).decode()
        except InputError as error:
            raise MetricError(str(error)) from error
        except UnicodeDecodeError as error:
            raise MetricError(f"{path}: {error}; expected a readable UTF-8 file") from error
        metric = parse_metric(path.stem, text, str(path))
        if metric.name in found:
            raise MetricError(f"{path}: found a second metric named {metric.name}; rename the file")
        found[metric.name] = metric
    return found


@cache
def _load_built_in() -> tuple[tuple[str, Metric], ...]:
    folder = files("claimwise.measure").joinpath("sql")
    names = sorted(path.name for path in folder.iterdir() if path.name.endswith(".sql"))
    metrics = (
        parse_metric(name.removesuffix(".sql"), folder.joinpath(name).read_text("utf-8"), name)
        for name in names
    )
    return tuple((metric.name, metric) for metric in metrics)


def find_metric(metrics: dict[str, Metric], name: str) -> Metric:
    """Return a metric by its name or an alias.

    Raises:
        MetricError: there is none of that name.
    """
    for metric in metrics.values():
        if name == metric.name or name in metric.aliases:
            return metric
    raise MetricError(f"found the metric {name!r}, expected one of {', '.join(sorted(metrics))}")


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
    wrong = set(better.values()) - {"higher", "lower"}
    if wrong:
        raise MetricError(f"{path}: better: found {wrong.pop()!r}, expected higher or lower")
    return Metric(
        name=name,
        path=path,
        sql=trim_statement(sql),
        title=header["title", None],
        meaning=header["meaning", None],
        grain=header["grain", None],
        unit=header.get(("unit", None), "claim"),
        series=header.get(("series", None)),
        aliases=tuple(header.get(("aliases", None), "").replace(",", " ").split()),
        better=cast(dict[str | None, Better], better),
        notes={str(member): text for (key, member), text in header.items() if key == "note"},
    )


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
        header[last] = entry["value"].strip()
    return header
