"""How often is each verdict right, by people's labels?

Sets whose labels say more than supported or not: for every verdict that the embedded judge gives,
the share of claims that people call the same, and, one step coarser, the share for which it is
right that the claim is supported or not. Rival: the share of that label among all claims, which is
what a verdict drawn at random would get right. Asked: every verdict but *unlinked* is right more
often than at random. ``--card`` writes the figures into the package, for ``claimwise verifiers``.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from claimwise.bench.labelled import find_sets
from claimwise.judges.card import load_card
from claimwise.judges.judge import Verifier, load_verifier
from claimwise.types.accuracy import VerdictPrecision
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest

CLAIMS, QUICK_CLAIMS = 345, 40  # of each set
VERDICTS = ("supported", "overreach", "contradicted", "unlinked")
# What people's labels are called in our words.
MEANINGS = {
    "wice": {
        "supported": "supported", "partially_supported": "overreach", "not_supported": "unlinked",
    },
    "factcheck_bench": {
        "completely-support": "supported", "partially-support": "overreach",
        "refute": "contradicted", "irrelevant": "unlinked",
    },
    "healthver": {"Supports": "supported", "Refutes": "contradicted", "Neutral": "unlinked"},
    "averitec": {
        "Supported": "supported", "Refuted": "contradicted", "Not Enough Evidence": "unlinked",
    },
    "covidfact": {"SUPPORTED": "supported", "REFUTED": "contradicted"},
    "fool_me_twice": {"SUPPORTS": "supported", "REFUTES": "contradicted"},
    "bump": {
        "reference": "supported", "Intrinsic Entity Error": "contradicted",
        "Intrinsic Predicate Error": "contradicted", "Intrinsic Circumstance Error": "contradicted",
        "Extrinsic Entity Error": "unlinked", "Extrinsic Predicate Error": "unlinked",
        "Extrinsic Circumstance Error": "unlinked",
    },
}  # fmt: skip


class Judged(NamedTuple):
    """A claim: what the judge says, what people say, and what people could have said."""

    said: str
    label: str
    labels: frozenset[str]


def judge_set(
    judge: Verifier, rows: list[dict[str, Any]], meanings: dict[str, str]
) -> Iterator[Judged]:
    for row in rows:
        claim = row["claim"]
        source = Source(source_id="d", corpus_ver="-", source_text=row["document"])
        asked = AnswerClaim(text=claim, start=0, end=len(claim), wording=claim)
        request = CheckRequest(answer=claim, sources=(source,))
        (judged,), _ = judge.judge_answer([asked], request)
        label = meanings[row["raw_label"]]
        yield Judged(judged.verdict or "unscored", label, frozenset(meanings.values()))


def describe(claims: Sequence[Judged], verdict: str) -> VerdictPrecision:
    """Return how often a verdict is right; by its name in those sets that have such a label."""
    given = [one for one in claims if one.said == verdict]
    right = [(one.label == "supported") == (verdict == "supported") for one in given]
    named = [one.label == verdict for one in given if verdict in one.labels]
    chance = [one.label == verdict for one in claims if verdict in one.labels]
    same, agreed, at_random = (round(sum(x) / max(len(x), 1), 4) for x in (named, right, chance))
    return VerdictPrecision(given=len(given), same=same, right=agreed, at_random=at_random)


def write_card(found: dict[str, VerdictPrecision]) -> None:
    path = Path(__file__).parent.parent / "src/claimwise/judges/data/card.json"
    card = msgspec.structs.replace(load_card(), verdicts=found)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(card), indent=1) + b"\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="shared/data/dev")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_CLAIMS} claims of each set")
    parser.add_argument("--card", action="store_true", help="write the figures into the card")
    options = parser.parse_args()
    judge = load_verifier("embedded")
    claims: list[Judged] = []
    for name, path in find_sets(options.data, list(MEANINGS)).items():
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            rows = [row for row in map(json.loads, lines) if row["raw_label"] in MEANINGS[name]]
        chosen = Random(0).sample(rows, min(QUICK_CLAIMS if options.quick else CLAIMS, len(rows)))
        claims += judge_set(judge, chosen, MEANINGS[name])
    found = {verdict: describe(claims, verdict) for verdict in VERDICTS}
    print("| verdict | given | people say the same | supported or not is right | at random |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for verdict, one in found.items():
        shares = " | ".join(f"{share:.0%}" for share in (one.same, one.right, one.at_random))
        print(f"| {verdict} | {one.given:,} | {shares} |")
    if options.card:
        write_card(found)
    better = [v for v in VERDICTS[:3] if found[v].same > found[v].at_random]
    figures = {"claims": len(claims), "verdicts": msgspec.to_builtins(found)}
    print(json.dumps(figures | {"holds": len(better) == 3}))


if __name__ == "__main__":
    main()
