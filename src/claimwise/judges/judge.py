"""What every verifier offers, and how one is found by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast, runtime_checkable

from claimwise.errors import VerifierError, describe_unknown, make_printable
from claimwise.judges.outside import OutsideVerifier
from claimwise.registry import Plugin, find_entry, list_usable, load_plugin
from claimwise.types.llm import Asker
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores

if TYPE_CHECKING:
    from claimwise.judges.grounded import GroundedJudge


class Verifier(Protocol):
    """An instrument that judges claims against sources.

    ``name`` is what users type, ``labeler`` what its labels carry ("verifier:lexical-7"),
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


class JudgeName(NamedTuple):
    """What ``--judge`` names: a judge without a language model, or how a model is asked."""

    offline: str | None = None  # "lexical", "nli:FOLDER": for load_verifier
    model: str | None = None  # "openai:gpt-4o"
    served: str | None = None  # the judge whose own prompt the model is asked with: "lynx"


def read_judge_name(judge: str) -> JudgeName:
    """Tell ``JUDGE``, ``JUDGE:MODEL``, ``JUDGE:PROVIDER:MODEL`` and ``PROVIDER:MODEL`` apart.

    Raises:
        VerifierError: the judge asks a model behind a server, and there is no PROVIDER:MODEL.
    """
    kind, colon, model = judge.partition(":")
    plugin = _find_plugin(kind) if colon else None
    if plugin is not None and plugin.ask_with is not None:
        provider, _, name = model.partition(":")
        if not provider or not name.strip():
            raise VerifierError(
                f"{judge!r} names no model behind a server; write {kind}:PROVIDER:MODEL, such as "
                f"{kind}:vllm:NAME"
            )
        return JudgeName(model=model, served=kind)
    if plugin is not None or not colon:
        return JudgeName(offline=judge)
    return JudgeName(model=judge)


def _find_plugin(kind: str) -> Plugin[Any] | None:
    entry = find_entry("judges", kind)
    return None if entry is None else load_plugin(entry)


def load_served_judge(kind: str, asker: Asker, **settings: Any) -> GroundedJudge:
    """Return the judge of a name that asks a language model with a prompt of its own.

    ``source_tokens`` is the one setting that it takes: the tokens of sources in a call, about.

    Raises:
        VerifierError: there is none of that name.
    """
    plugin = _find_plugin(kind)
    if plugin is None or plugin.ask_with is None:
        raise VerifierError(f"the judge “{make_printable(kind)}” asks no language model")
    return cast("GroundedJudge", plugin.ask_with(asker, **settings))


def make_model_judge(name: JudgeName, asker: Asker) -> GroundedJudge:
    """Return the judge that asks a language model: with its own prompt, or with ours."""
    from claimwise.judges.grounded import GroundedJudge

    return GroundedJudge(asker) if name.served is None else load_served_judge(name.served, asker)
