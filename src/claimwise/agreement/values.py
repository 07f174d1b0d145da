"""How far people agree when they label the same claims: the values behind every format."""

from __future__ import annotations

import msgspec

from claimwise.types.rows import Judgement


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure with its interval; ``why`` says what is missing when a part of it is."""

    value: float | None
    low: float | None = None
    high: float | None = None
    why: str | None = None


class AgreementFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of any set of claims with two labels or more."""

    claims: int
    items: int
    raw: Figure
    fleiss: Figure
    alpha: Figure
    ac1: Figure


class PairFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Two people, on the claims that both labelled."""

    one: str
    other: str
    claims: int
    items: int
    raw: Figure
    kappa: Figure


class VerdictFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict against all others.

    ``prevalence`` is its share of the labels, ``same`` the chance that another label of the claim
    is this verdict too, given that one is.
    """

    verdict: str
    labels: int
    prevalence: float | None
    kappa: Figure
    same: Figure


class SliceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A slice; it stands out when its kappa is below the whole's whatever slice one looks at."""

    slice: dict[str, str | None]
    figures: AgreementFigures
    stands_out: bool = False


class DisputedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that people differ on; of the latest round that asked for it, if one did."""

    run_id: str
    item_id: str
    claim_id: str
    claim_text: str
    labels: tuple[tuple[str, str], ...]  # labeler and verdict
    guide_version: str | None
    decided: str | None = None  # the adjudicated verdict
    round_id: str | None = None


class VerdictPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two verdicts that people gave the same claims, and the guide's rules that tell them apart.

    A claim with three different verdicts is under three pairs.
    """

    one: str
    other: str
    claims: tuple[DisputedClaim, ...]
    rules: tuple[str, ...] = ()


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far people agree on the claims of one run, or of several together."""

    run_id: str  # of several, all, with commas between them
    runs: tuple[str, ...]
    judgement: Judgement
    round_id: str | None
    confidence: float
    labelers: dict[str, int]  # labels of each
    guides: dict[str, int]  # labels by each version of the guide
    one_label: int
    several_labels: int
    overall: AgreementFigures
    cohen: Figure  # the mean over pairs, weighted by shared claims
    verdicts: tuple[VerdictFigures, ...]
    pairs: tuple[PairFigures, ...]
    matrix: tuple[tuple[int, ...], ...]  # pairs of labels by verdict, each pair once
    by: tuple[str, ...]
    slices: tuple[SliceFigures, ...]
    disagreements: tuple[VerdictPair, ...]
    warnings: tuple[str, ...] = ()
    cluster: str | None = None  # what items belong to, in intervals, where somebody said so
