"""The rule by which an instrument is trusted, in one place and in words.

First people: an instrument can't be measured against people who don't agree with each other. Then
the instrument: whether it tells supported claims from others, and whether it falls behind people.
"""

from __future__ import annotations

from claimwise.agreement.values import Figure
from claimwise.calibration.values import PeopleAgreement, Status, TrustRule


def decide_trust(
    rule: TrustRule, claims: int, balanced: Figure, people: PeopleAgreement
) -> tuple[Status, str]:
    """Return the status of an instrument in a slice, and why.

    Not trusted: the interval of its balanced accuracy lies below the level, or its kappa is below
    people's by surely more than the margin. Trusted: that interval lies above the level, people
    agree with each other, and the interval of the gap lies within the margin. Unknown: whatever
    is neither, and whatever too few claims, one kind of claims or no overlap leave open.

    An instrument at a limit is therefore called trusted at most 5 times in 100
    (benchmarks/trust.py); the observed gap alone would do so every other time.
    """
    unknown = _find_unknown(rule, claims, balanced)
    if unknown:
        return "unknown", unknown
    told = f"balanced accuracy {_show(balanced)}"
    if (balanced.high or 0.0) < rule.level:
        return "not trusted", f"{told} lies below {rule.level:g}"
    if people.gap.low is not None and people.gap.low > rule.margin:
        return "not trusted", (
            f"kappa with people is {_show(people.gap)} below that of people among themselves; "
            f"{rule.margin:g} is allowed"
        )
    doubt = _doubt_people(rule, people)
    if doubt:
        return "unknown", doubt
    if (balanced.low or 0.0) < rule.level:
        return "unknown", f"{told} does not settle whether it reaches {rule.level:g}: label more"
    if people.gap.high is None or people.gap.high > rule.margin:
        behind = "unknown" if people.gap.value is None else _show(people.gap)
        return "unknown", (
            f"how far kappa with people is below that of people among themselves is not settled "
            f"({behind}; {rule.margin:g} is allowed): label more claims twice"
        )
    return "trusted", (
        f"{told} lies above {rule.level:g}, and kappa with people is surely within "
        f"{rule.margin:g} of theirs among themselves"
    )


def _find_unknown(rule: TrustRule, claims: int, balanced: Figure) -> str | None:
    if claims < rule.min_claims:
        return f"{claims:,} claims labelled by people; {rule.min_claims:,} are needed"
    if balanced.value is None:
        return f"no balanced accuracy: {balanced.why}"
    return None


def _doubt_people(rule: TrustRule, people: PeopleAgreement) -> str | None:
    """Say why people's labels can't carry a calibration; None when they can."""
    kappa = people.kappa
    if not people.claims:
        return "whether people agree is unknown: no claim has labels of two people"
    if kappa.value is None or kappa.high is None:
        return f"whether people agree is unknown: {kappa.why}"
    if kappa.high < rule.people_floor:
        return (
            f"people don't agree among themselves: kappa {_show(kappa)} lies below "
            f"{rule.people_floor:g}; clarify the guide first"
        )
    return None


def _show(figure: Figure) -> str:
    band = "" if figure.low is None else f" [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{figure.value:.2f}{band}"
