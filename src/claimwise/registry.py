"""Finds plug-ins: the judges, readers, providers and metrics that installed packages bring.

A package brings a plug-in by an entry point of one of four groups: ``claimwise.judges``,
``claimwise.readers``, ``claimwise.providers`` and ``claimwise.metrics``. The entry point names a
:class:`Plugin`. What claimwise brings itself is registered in the same way, in its own
``pyproject.toml``.

Entry points are read when somebody asks for one. A plug-in's code runs only when that plug-in is
used or listed. The names of built-in plug-ins can't be taken by another package.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args

from claimwise.errors import ClaimwiseError, PluginError, make_printable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal["judges", "readers", "providers", "metrics"]
GROUPS: tuple[Group, ...] = get_args(Group)
OWN_PACKAGE = "claimwise"

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
# Words that options give a meaning of their own.
_RESERVED = {"judges": ("auto", "judge"), "readers": ("auto",)}

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def _miss_nothing() -> str | None:
    return None


def _bring_nothing() -> int:
    return 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Plugin(Generic[T_co]):
    """What an entry point brings: how to load the thing itself, and what to tell of it before.

    ``load`` returns the judge, the reader, the provider, or the folder of metric files. Everything
    else is asked for by ``claimwise plugins`` and must be cheap.
    """

    description: str  # one line for people
    load: Callable[[], T_co]
    # Says what is missing and how to get it ("pip install …", "set ACME_API_KEY"); None: nothing.
    find_missing: Callable[[], str | None] = _miss_nothing
    # Returns the bytes of models and data that come with the package.
    measure_size: Callable[[], int] = _bring_nothing
    card: str = ""  # a link or a text: what it is good for, how it was measured
    # Loads a judge that runs a model of the user's: what stands after the colon in NAME:MODEL.
    load_model: Callable[[str], T_co] | None = None
    # Makes a judge that asks a language model with a prompt of its own, NAME:PROVIDER:MODEL: of an
    # Asker, and of source_tokens where the user says how many to send.
    ask_with: Callable[..., T_co] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A registered name: who brings it. Nothing of the package has been imported yet."""

    group: Group
    name: str
    package: str
    version: str
    point: EntryPoint

    @property
    def built_in(self) -> bool:
        """Whether claimwise itself brings it."""
        return self.package == OWN_PACKAGE

    @property
    def origin(self) -> str:
        """The package with its version, as it is shown."""
        return f"{self.package} {self.version}"

    def __str__(self) -> str:
        return make_printable(f"{self.group.removesuffix('s')} “{self.name}” of {self.origin}")

    def load(self) -> Any:
        """Import and return what the entry point names.

        Raises:
            PluginError: its package can't be imported, whatever the reason.
        """
        return self.call(self.point.load)

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a plug-in's function; whatever goes wrong in it is told as the package's fault.

        Raises:
            PluginError: the function failed. Errors of our own pass as they are.
        """
        try:
            return function(*arguments)
        except ClaimwiseError:
            raise
        except (Exception, SystemExit) as error:  # foreign code may raise anything
            raise self.fail(f"{type(error).__name__}: {error}") from error

    def fail(self, why: str) -> PluginError:
        """Return an error that names the package."""
        return PluginError(
            f"the {self} does not work: {make_printable(why)}; update or uninstall {self.package}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """An entry with what its plug-in says of itself."""

    entry: Entry
    description: str
    missing: str | None  # what it lacks, or why it is refused; None: it is available
    size: int
    card: str


def describe_entry(entry: Entry, load: Callable[[Entry], Plugin[Any]] | None = None) -> Listing:
    """Return what a plug-in says of itself; where it does not work, why not. Never raises that."""
    try:
        refusal = find_refusal(entry)
        if refusal is not None:
            raise PluginError(f"refused: {refusal}")
        plugin = (load or load_plugin)(entry)
        return Listing(
            entry=entry,
            description=str(plugin.description),
            missing=entry.call(lambda: _read_text(plugin.find_missing())),
            size=entry.call(lambda: int(plugin.measure_size())),
            card=str(plugin.card),
        )
    except PluginError as error:
        return Listing(entry=entry, description="", missing=str(error), size=0, card="")


def _read_text(found: object) -> str | None:
    return None if found is None else str(found)


def load_plugin(entry: Entry) -> Plugin[Any]:
    """Return what an entry point names; the judge or reader itself is not loaded yet.

    Raises:
        PluginError: its package can't be imported, or brings something else.
    """
    found = entry.load()
    if not isinstance(found, Plugin):
        raise entry.fail(
            f"its entry point names a {type(found).__name__}, expected a claimwise.plugins.Plugin"
        )
    return found


def list_entries(group: Group) -> list[Entry]:
    """Return all entries of a group by name, built-in ones first; refused ones are among them."""
    entries = [*_read_own(group), *_read_foreign(group, tuple(sys.path))]
    return sorted(entries, key=lambda one: (not one.built_in, one.name, one.package))


def list_usable(group: Group) -> list[Entry]:
    """Return the entries of a group whose names are theirs alone."""
    return [entry for entry in list_entries(group) if find_refusal(entry) is None]


def find_entry(group: Group, name: str) -> Entry | None:
    """Return the entry of a name; None where nobody brings one.

    A built-in name is found without a look at other packages.

    Raises:
        PluginError: the name is refused, as when two packages claim it.
    """
    for entry in _read_own(group):
        if entry.name == name:
            return entry
    for entry in _read_foreign(group, tuple(sys.path)):
        if entry.name == name:
            refusal = find_refusal(entry)
            if refusal is not None:
                raise PluginError(f"the {entry} is refused: {refusal}")
            return entry
    return None


def find_refusal(entry: Entry) -> str | None:
    """Return why an entry's name is refused; None: it is not."""
    if entry.built_in:
        return None
    if not _NAME.fullmatch(entry.name) or entry.name in _RESERVED.get(entry.group, ()):
        return "its name is reserved, or has other characters than a-z, 0-9, _, - and ."
    rivals = [
        other.origin
        for other in list_entries(entry.group)
        if other.name == entry.name and other != entry
    ]
    if rivals:
        return f"{' and '.join(sorted(rivals))} brings the same name; uninstall one of them"
    return None


@cache
def _read_own(group: Group) -> tuple[Entry, ...]:
    from importlib.metadata import distribution

    own = distribution(OWN_PACKAGE)
    points = own.entry_points.select(group=f"claimwise.{group}")
    if not points:
        raise PluginError(
            f"found no {group} among the entry points of claimwise {own.version}: the installation "
            "is older than its code; install it again (pip install -e .)"
        )
    return tuple(_make_entry(group, point, OWN_PACKAGE, own.version) for point in points)


@cache
def _read_foreign(group: Group, path: tuple[str, ...]) -> tuple[Entry, ...]:
    """Return what other packages bring. Kept for as long as ``sys.path``, which says where, is."""
    from importlib.metadata import entry_points

    entries = []
    for point in entry_points(group=f"claimwise.{group}"):
        dist = point.dist
        name, version = (dist.name, dist.version) if dist else ("an unknown package", "")
        if name != OWN_PACKAGE:
            entries.append(_make_entry(group, point, name, version))
    return tuple(entries)


def _make_entry(group: Group, point: EntryPoint, package: str, version: str) -> Entry:
    return Entry(group=group, name=point.name, package=package, version=version, point=point)
