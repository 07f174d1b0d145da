"""What does judging by a corpus do to claims whose documents are in it, and are not?

    python benchmarks/openbook.py ../shared/data/dev            # some minutes
    python benchmarks/openbook.py ../shared/data/dev --chosen   # the sets that defaults come from
    python benchmarks/openbook.py ../shared/data/dev --quick    # 150 claims, lexical, below 30 s

The documents of some labelled sets are one corpus, cut into halves that share no group of claims.
The defaults of `Retrieval` were chosen by looking at the sets of ``--chosen``, so what is measured
there flatters them; the others were not looked at before.
Claims of the first half are looked up in it (their document is there, among thousands) and in the
second (it is not: support and contradiction are then mostly mistakes, though another document may
say the same). The rival is counting words over the same passages. The last line printed is one
JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from claimwise.bench.labelled import find_sets, read_set
from claimwise.judges.corpus import Corpus
from claimwise.judges.judge import load_verifier
from claimwise.openbook.answer import judge_by_corpus
from claimwise.types.accuracy import BenchClaim
from claimwise.types.corpus import OUTCOMES, Retrieval
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim

CHOSEN = ("covidfact", "fool_me_twice", "summedits", "wice")
FRESH = ("aggrefact_cliff_goyal", "averitec", "healthver")


class Halves(NamedTuple):
    """Claims of the first half, and the corpora of both."""

    claims: list[BenchClaim]
    own: Corpus
    other: Corpus


def read_halves(folder: Path, sets: Sequence[str], limit: int) -> Halves:
    """Cut the sets into halves by group, and draw some claims of the first."""
    chance = random.Random(2)
    rows = [
        (name, claim)
        for name, path in find_sets(folder, sets).items()
        for claim in read_set(path)[0]
        if claim.document.strip()
    ]
    groups = sorted({(name, claim.group) for name, claim in rows})
    chance.shuffle(groups)
    first = set(groups[::2])
    texts: tuple[set[str], set[str]] = set(), set()
    for name, claim in rows:
        texts[(name, claim.group) not in first].add(claim.document)
    claims = [
        claim for name, claim in rows if (name, claim.group) in first
        and claim.document not in texts[1]
    ]  # fmt: skip
    chance.shuffle(claims)
    return Halves(claims[:limit], _make_corpus(texts[0]), _make_corpus(texts[1]))


def _make_corpus(texts: set[str]) -> Corpus:
    return Corpus([Source(source_id=t, corpus_ver="-", source_text=t) for t in sorted(texts)])


def share_found(claims: Sequence[BenchClaim], corpus: Corpus, how: Retrieval) -> float:
    """Return how often a passage of the claim's own document is among those found."""
    hits = sum(
        any(
            passage.source_id == claim.document
            for passage in corpus.find_passages(claim.claim, how)
        )
        for claim in claims
    )
    return hits / len(claims)


def count_outcomes(claims: Sequence[BenchClaim], corpus: Corpus, verifier: str) -> dict[str, int]:
    """Judge claims by a corpus; return how many had each outcome."""
    asked = [
        AnswerClaim(text=claim.claim, start=0, end=len(claim.claim), wording=claim.claim)
        for claim in claims
    ]
    judged, _ = judge_by_corpus(asked, corpus, load_verifier(verifier))
    found = Counter(verdict.outcome or "unscored" for verdict in judged)
    return {outcome: found[outcome] for outcome in (*OUTCOMES, "unscored")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="150 claims, lexical")
    parser.add_argument("--chosen", action="store_true", help="the sets that defaults come from")
    parser.add_argument("--claims", type=int, default=1_000)
    options = parser.parse_args()
    verifier = "lexical" if options.quick else "auto"
    sets = CHOSEN if options.chosen else FRESH
    halves = read_halves(options.folder, sets, 150 if options.quick else options.claims)
    supported = [claim for claim in halves.claims if claim.supported]
    refuted = [claim for claim in halves.claims if not claim.supported]
    print(f"{halves.own.info.passages:,} and {halves.other.info.passages:,} passages")
    figures: dict[str, Any] = {"found": {}, "outcomes": {}}
    for how in (Retrieval(k=1), Retrieval(), Retrieval(k=20), Retrieval(k=5, floor=0.0)):
        share = share_found(supported, halves.own, how)
        figures["found"][f"k={how.k} floor={how.floor:g}"] = round(share, 3)
        print(f"own document of a supported claim among {how.k}, floor {how.floor:g}: {share:.3f}")
    for name in (verifier, "overlap"):
        for label, claims in (("supported", supported), ("not supported", refuted)):
            for place, corpus in (("there", halves.own), ("taken out", halves.other)):
                counts = count_outcomes(claims, corpus, name)
                figures["outcomes"][f"{name}, {label}, document {place}"] = counts
                print(f"{name}, {label}, document {place}: {len(claims)} claims, {counts}")
    wrong = {
        name: sum(
            counts["supported"]
            for key, counts in figures["outcomes"].items()
            if key.startswith(name) and key.endswith("taken out")
        )
        for name in (verifier, "overlap")
    }
    print(json.dumps({**figures, "holds": wrong[verifier] < wrong["overlap"]}))


if __name__ == "__main__":
    main()
