"""How often is each verdict right, by people's labels?

Sets whose labels say more than supported or not (wice, factcheck_bench, healthver): for every
verdict that the embedded judge gives, the share of claims that people call the same, and, one step
coarser, the share for which it is right that the claim is supported or not. Rival: the share of
that label among all claims, which is what a verdict drawn at random would get right. Asked: every
verdict but *unlinked* is right more often than at random.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from claimwise.bench.labelled import find_sets
from claimwise.judges.judge import Verifier, load_verifier
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
}  # fmt: skip

Pairs = list[tuple[str, str]]  # what the judge says, what people say


def judge_set(judge: Verifier, rows: list[dict[str, Any]], meanings: dict[str, str]) -> Pairs:
    found: Pairs = []
    for row in rows:
        claim = row["claim"]
        source = Source(source_id="d", corpus_ver="-", source_text=row["document"])
        asked = AnswerClaim(text=claim, start=0, end=len(claim), wording=claim)
        request = CheckRequest(answer=claim, sources=(source,))
        (judged,), _ = judge.judge_answer([asked], request)
        found.append((judged.verdict or "unscored", meanings[row["raw_label"]]))
    return found


def describe(pairs: Pairs) -> dict[str, dict[str, float]]:
    people = Counter(told for _, told in pairs)
    found = {}
    for verdict in VERDICTS:
        told = [label for said, label in pairs if said == verdict]
        right = sum((label == "supported") == (verdict == "supported") for label in told)
        found[verdict] = {
            "given": len(told),
            "same": told.count(verdict) / len(told) if told else 0.0,
            "supported or not": right / len(told) if told else 0.0,
            "at random": people[verdict] / len(pairs),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="shared/data/dev")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_CLAIMS} claims of each set")
    options = parser.parse_args()
    judge = load_verifier("embedded")
    pairs: Pairs = []
    for name, path in find_sets(options.data, list(MEANINGS)).items():
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            rows = [row for row in map(json.loads, lines) if row["raw_label"] in MEANINGS[name]]
        chosen = Random(0).sample(rows, min(QUICK_CLAIMS if options.quick else CLAIMS, len(rows)))
        pairs += judge_set(judge, chosen, MEANINGS[name])
    found = describe(pairs)
    print("| verdict | given | people say the same | supported or not is right | at random |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for verdict, one in found.items():
        shares = " | ".join(f"{one[key]:.0%}" for key in list(one)[1:])
        print(f"| {verdict} | {one['given']:,.0f} | {shares} |")
    better = [v for v in VERDICTS[:3] if found[v]["same"] > found[v]["at random"]]
    print(json.dumps({"claims": len(pairs), "verdicts": found, "holds": len(better) == 3}))


if __name__ == "__main__":
    main()
