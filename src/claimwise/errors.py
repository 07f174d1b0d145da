"""Every error a user can meet.

    ClaimwiseError            one line, no traceback, exit code 1
    ├── ConfigError           claimwise.toml or the user's own settings are wrong
    ├── InputError            a file is wrong: a list of problems, each with its place
    ├── LlmError              a language model can't be asked: no key, no price, unknown provider
    ├── MetricError           unknown metric or slice, or SQL that breaks the contract
    ├── MissingExtraError     an optional package is not installed
    ├── PluginError           an installed plug-in is refused, or does not work
    ├── PromptError           there is no such prompt, or its file is wrong
    ├── RefusedError          someone asked for what may not be done; nothing was changed
    ├── VerifierError         there is no verifier of that name
    └── StoreError            the database can't be used
        ├── NewerSchemaError  a newer claimwise wrote it
        ├── NotAStoreError    nothing of ours is there
        ├── StoreBusyError    another process kept it locked for too long
        ├── StoreFullError    no space left
        └── StoreReplacedError  its file was deleted or replaced while it was in use

A message says where, what was found, what was expected and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class ClaimwiseError(Exception):
    """The base of all errors that a user can mend."""


class ConfigError(ClaimwiseError):
    """The settings of the project or of the user are wrong, or may be someone else's."""


def make_printable(text: str) -> str:
    """Return text as one line that can't steer a terminal: what does not print is escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that is wrong with an input file."""

    path: str
    line: int | None
    field: str | None
    found: str
    expected: str

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        field = f" {self.field}:" if self.field else ""
        return make_printable(f"{place}:{field} found {self.found}, expected {self.expected}")


class InputError(ClaimwiseError):
    """Input files were refused; nothing was written."""

    def __init__(self, problems: Sequence[Problem], *, more: bool = False, hint: str = "") -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems]
        if more:
            lines.append("… and more of the kind")
        if hint:
            lines.append(hint)
        super().__init__("\n".join(lines))


class LlmError(ClaimwiseError):
    """A language model can't be asked; nothing was sent."""


class MetricError(ClaimwiseError):
    """A metric or a slice is unknown, or its SQL breaks the contract."""


class MissingExtraError(ClaimwiseError):
    """A feature needs a package that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'claimwise[{extra}]'")


class PluginError(ClaimwiseError):
    """An installed plug-in is refused, or does not work; the message names its package."""


class PromptError(ClaimwiseError):
    """There is no prompt of that name, or its file is wrong."""


class RefusedError(ClaimwiseError):
    """A person asked for what may not be done: a label without its span, another's task."""


class VerifierError(ClaimwiseError):
    """There is no verifier of that name."""


class StoreError(ClaimwiseError):
    """The database can't be used."""


class NewerSchemaError(StoreError):
    """A newer claimwise wrote the store."""


class NotAStoreError(StoreError):
    """There is no claimwise store at that place."""


class StoreBusyError(StoreError):
    """Another process kept the store locked for too long."""


class StoreFullError(StoreError):
    """There is no space left for the store."""


class StoreReplacedError(StoreError):
    """The store's file was deleted or replaced while it was in use."""
