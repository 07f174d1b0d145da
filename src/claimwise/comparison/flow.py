"""Which verdicts became which between two runs, claim by claim, and the claims that flipped.

A claim is in both runs when both made it of the same item in the same words: its id says so. Each
run counts the labels that its rate in the comparison counts. What only one run says is counted as
new, or as gone: systems that write freely repeat few claims to the letter.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from msgspec import Struct

from claimwise.calibration.headline import METRIC_OF
from claimwise.comparison.compare import Bases, labels_of
from claimwise.comparison.queries import RunPair, read_verdicts
from claimwise.metrics import find_metric, load_metrics
from claimwise.metrics.counting import narrow_labels
from claimwise.store import Store
from claimwise.types.rows import Judgement

NOT_SCORED: Final = "not scored"
NEW: Final = "not in the baseline"
GONE: Final = "not in the new run"
_MOST_FLIPS: Final = 5_000
_SUPPORTED: Final = ("supported", "true")


class VerdictChange(Struct, frozen=True, kw_only=True):
    """How many claims had one verdict in the base run and another, or the same, in the new one."""

    base: str
    new: str
    claims: int


class FlippedClaim(Struct, frozen=True, kw_only=True):
    """A claim of both runs with another verdict in the new one."""

    item_id: str
    claim_id: str
    base_sample: int
    new_sample: int
    claim_text: str
    base: str
    new: str
    base_evidence: str | None
    new_evidence: str | None


class VerdictFlow(Struct, frozen=True, kw_only=True):
    """What became of the verdicts of one run in another."""

    judgement: Judgement
    changes: tuple[VerdictChange, ...]  # claims of both runs
    only_base: dict[str, int]  # by verdict
    only_new: dict[str, int]
    flips: tuple[FlippedClaim, ...]  # those that got worse first
    more_flips: int = 0  # that are counted and not listed

    @property
    def shared(self) -> int:
        """Claims of both runs."""
        return sum(change.claims for change in self.changes)

    @property
    def flipped(self) -> int:
        """Claims of both runs with another verdict in the new one."""
        return sum(change.claims for change in self.changes if change.base != change.new)


def find_flow(store: Store, runs: RunPair, bases: Bases) -> VerdictFlow:
    """Return how verdicts moved between two runs, on the labels that both rates count."""
    judgement = bases[1].headline.judgement
    metric = find_metric(load_metrics(), METRIC_OF[judgement])
    base, new = (
        read_verdicts(store, run_id, judgement, narrow_labels(labels))
        for run_id, labels in zip(runs.ids, labels_of(bases, metric), strict=True)
    )
    changes: Counter[tuple[str, str]] = Counter()
    flips = []
    for key, now in new.items():
        before = base.get(key)
        if before is None:
            continue
        words = before.verdict or NOT_SCORED, now.verdict or NOT_SCORED
        changes[words] += 1
        if words[0] != words[1]:
            flips.append(
                FlippedClaim(
                    item_id=key[0], claim_id=key[1], base_sample=before.sample,
                    new_sample=now.sample, claim_text=now.claim_text, base=words[0],
                    new=words[1], base_evidence=before.evidence, new_evidence=now.evidence,
                )
            )  # fmt: skip
    flips.sort(key=_rank_flip)
    return VerdictFlow(
        judgement=judgement,
        changes=tuple(
            VerdictChange(base=one, new=other, claims=count)
            for (one, other), count in changes.most_common()
        ),
        only_base=dict(
            Counter(one.verdict or NOT_SCORED for k, one in base.items() if k not in new)
        ),
        only_new=dict(
            Counter(one.verdict or NOT_SCORED for k, one in new.items() if k not in base)
        ),
        flips=tuple(flips[:_MOST_FLIPS]),
        more_flips=max(0, len(flips) - _MOST_FLIPS),
    )


def _rank_flip(flip: FlippedClaim) -> tuple[int, str, str]:
    """Sort key: what was supported and is not, then other changes, then what is supported now."""
    if flip.base in _SUPPORTED and flip.new != NOT_SCORED:
        place = 0
    elif flip.new in _SUPPORTED:
        place = 3
    else:
        place = 2 if NOT_SCORED in (flip.base, flip.new) else 1
    return place, flip.item_id, flip.claim_id
