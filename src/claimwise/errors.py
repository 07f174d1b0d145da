"""Every error a user can meet.

    ClaimwiseError            one line, no traceback, exit code 1
    ├── CheckError            an online check was not done (in online_check/client.py)
    ├── ConfigError           claimwise.toml or the user's own settings are wrong
    ├── InputError            a file is wrong: a list of problems, each with its place
    ├── LlmError              a language model can't be asked: no key, no price, unknown provider
    │   ├── BatchesWaitingError  a provider works on batches, and nobody waits for them
    │   └── BatchHttpError    a request about a batch failed (in llm/batch_web.py)
    ├── MetricError           unknown metric or slice, or SQL that breaks the contract
    ├── MissingExtraError     an optional package is not installed
    ├── PluginError           an installed plug-in is refused, or does not work
    ├── PromptError           there is no such prompt, or its file is wrong
    ├── RefusedError          someone asked for what may not be done; nothing was changed
    │   └── LabelledMeanwhile  a claim was labelled in another tab (in labelling/queue.py)
    ├── VerifierError         there is no verifier of that name
    └── StoreError            the database can't be used
        ├── NewerSchemaError  a newer claimwise wrote it
        ├── NotAStoreError    nothing of ours is there
        ├── StoreBusyError    another process kept it locked for too long
        ├── StoreFullError    no space left
        └── StoreReplacedError  its file was deleted or replaced while it was in use

A message is one line that says what is wrong, why, and how to fix it. The same mistake has the same
wording everywhere: :func:`describe_unknown` writes it for names that are not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from unicodedata import category

_MOST_LISTED = 20


class ClaimwiseError(Exception):
    """The base of all errors that a user can fix."""


class ConfigError(ClaimwiseError):
    """The settings of the project or of the user are wrong, or may be someone else's."""


def make_printable(text: str) -> str:
    """Return text as one line that can't steer a terminal: what does not print is escaped.

    Spaces of other widths, as in “12 400” or between Japanese sentences, print as plain ones.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else " " if category(c) == "Zs" else _escape(c) for c in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def describe_unknown(
    thing: str, name: str, known: Iterable[str], *, where: str = "", advice: str = ""
) -> str:
    """Return the message for a name that is not known, with the names that are.

    Args:
        thing: what is named, in the singular: "metric".
        name: the name that was given.
        known: the names to choose from; the first twenty are listed.
        where: the store or file that was searched, if there could be another.
        advice: what to do if none of the known names will do, as a sentence.
    """
    names = list(known)
    listed = ", ".join(names[:_MOST_LISTED]) + (", …" if len(names) > _MOST_LISTED else ".")
    choice = f"Known {thing}s: {listed}" if names else f"There are no {thing}s yet."
    place = f" in {where}" if where else ""
    return " ".join(filter(None, (f"Unknown {thing} {name!r}{place}.", choice, advice)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that is wrong with an input file; ``expected`` may be empty if it goes without."""

    path: str
    line: int | None
    field: str | None
    found: str
    expected: str

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        field = f" {self.field}:" if self.field else ""
        wrong = f"found {self.found}, expected {self.expected}" if self.expected else self.found
        return make_printable(f"{place}:{field} {wrong}")


class InputError(ClaimwiseError):
    """Input files were refused; nothing was written."""

    def __init__(self, problems: Sequence[Problem], *, more: bool = False, hint: str = "") -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems]
        if more:
            lines.append("… and more like these")
        if hint:
            lines.append(hint)
        super().__init__("\n".join(lines))


class LlmError(ClaimwiseError):
    """A language model can't be asked; nothing was sent."""


class BatchesWaitingError(LlmError):
    """Calls are in batches that the provider has not finished; what is there was stored."""


class MetricError(ClaimwiseError):
    """A metric or a slice is unknown, or its SQL breaks the contract."""


class MissingExtraError(ClaimwiseError):
    """A feature needs a package that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra “{extra}”: pip install 'claimwise[{extra}]'")


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
