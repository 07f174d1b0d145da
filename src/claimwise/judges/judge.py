"""What every verifier offers, and how one is found by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, cast, runtime_checkable

from claimwise.errors import VerifierError, describe_unknown, make_printable
from claimwise.judges.outside import OutsideVerifier
from claimwise.registry import Plugin, find_entry, list_usable, load_plugin
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores


class Verifier(Protocol):
    """An instrument that judges claims against sources.

    ``name`` is what users type, ``labeler`` what its labels carry ("verifier:lexical-4"),
    ``threshold`` the probability of support from which it says "supported".
    """

    name: str
    labeler: str
    threshold: float

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Return calibrated probabilities for claims about one document; None is unscored.

        A claim may have several sentences: it is supported when all of them are.
        """
        ...

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return a verdict for every claim, in order, and warnings for the reader."""
        ...


@runtime_checkable
class Splitter(Protocol):
    """A verifier that may split answers itself, when nobody else has."""

    splits: bool

    def judge_pieces(
        self, pieces: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return a verdict for every claim that it finds in the pieces, in their order."""
        ...


def load_verifier(name: str = "auto") -> Verifier:
    """Return a verifier by name, built in or of an installed package; "auto" is the best built in.

    ``NAME:MODEL`` loads a judge with a model of the user's: "nli:models/my-nli".

    Raises:
        MissingExtraError: "embedded" was asked for and its packages are not installed.
        PluginError: the package that brings it does not work.
        VerifierError: there is no verifier of that name.
    """
    if name == "auto":
        from claimwise.judges.encoder import has_encoder

        name = "embedded" if has_encoder() else "lexical"
    kind, _, model = name.partition(":")
    entry = find_entry("judges", kind)
    if entry is None:
        advice = "To use a language model, name it with --judge PROVIDER:MODEL."
        known = ("auto", *(one.name for one in list_usable("judges")))
        raise VerifierError(describe_unknown("judge", name, known, advice=advice))
    plugin = load_plugin(entry)
    load = _find_loader(plugin, kind, model)
    if entry.built_in:
        return cast(Verifier, load())
    missing = entry.call(plugin.find_missing)
    if missing is not None:
        raise VerifierError(f"the {entry} can't run here: {make_printable(missing)}")
    return OutsideVerifier(entry, entry.call(load), name)


def _find_loader(plugin: Plugin[Any], kind: str, model: str) -> Callable[[], Any]:
    """Return what loads a judge, with the model that the user names.

    Raises:
        VerifierError: it takes none.
    """
    if not model:
        return plugin.load
    if plugin.ask_with is not None:
        raise VerifierError(
            f"the judge “{make_printable(kind)}” asks a language model: name it with --judge "
            f"{make_printable(kind)}:PROVIDER:MODEL, in Python with judge="
        )
    if plugin.load_model is None:
        raise VerifierError(
            f"the judge “{make_printable(kind)}” takes no model: leave out "
            f"“:{make_printable(model)}”"
        )
    return partial(plugin.load_model, model)


def find_judge_plugin(name: str) -> Plugin[Any] | None:
    """Return the plug-in of ``NAME:MODEL``; None where NAME is no judge's, as a provider's."""
    kind, colon, _ = name.partition(":")
    entry = find_entry("judges", kind) if colon else None
    return None if entry is None else load_plugin(entry)
