"""How a user names a model: ``MODEL[@REVISION][,OPTION=VALUE…]``, a folder or an id of the hub."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from claimwise.errors import VerifierError, describe_unknown, make_printable

_HUB_ID = re.compile(r"(?P<id>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelName:
    """A model as it was named for a judge of a kind ("nli")."""

    kind: str
    text: str  # the whole name, without the kind
    model: str  # the folder, or the id
    folder: Path | None  # None: it is an id of the hub
    revision: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What labels call it: the folder's own name, or the id. No path of this machine."""
        return self.model if self.folder is None else self.folder.resolve().name

    def read_number(self, option: str, usual: int) -> int:
        """Return an option that is a count.

        Raises:
            VerifierError: it is none.
        """
        given = self.options.get(option)
        if given is None:
            return usual
        if not given.isdecimal() or not int(given):
            raise self.refuse(f"found {option}={given}, expected a number from 1 on")
        return int(given)

    def refuse(self, why: str) -> VerifierError:
        """Return an error that names the judge and the model."""
        return VerifierError(make_printable(f"{self.kind}:{self.model}: {why}"))


def parse_model_name(kind: str, text: str, options: Collection[str]) -> ModelName:
    """Read what stands after ``--judge KIND:``. A folder that exists is taken before an id.

    Raises:
        VerifierError: there is no such folder, it is no id either, or an option is unknown.
    """
    model, *given = [text] if Path(text).is_dir() else text.split(",")
    found: dict[str, str] = {}
    for one in given:
        option, _, value = one.partition("=")
        if option not in options:
            unknown = describe_unknown(f"{kind} option", option, sorted(options))
            raise VerifierError(unknown)
        found[option] = value
    folder = Path(model).expanduser()
    if folder.is_dir():
        return ModelName(kind=kind, text=text, model=model, folder=folder, options=found)
    hub = _HUB_ID.fullmatch(model)
    if hub is None or folder.is_absolute() or model.startswith((".", "~")):
        raise VerifierError(
            make_printable(
                f"{kind}:{model}: there is no such folder; name the folder of the model, or its id "
                f"on the Hugging Face hub, as in {kind}:OWNER/NAME or {kind}:OWNER/NAME@REVISION"
            )
        )
    return ModelName(
        kind=kind,
        text=text,
        model=hub["id"],
        folder=None,
        revision=hub["revision"],
        options=found,
    )
