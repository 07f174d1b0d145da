"""The evidence of every labelled claim, as the product weighs it; takes minutes, so it is kept."""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from claimwise.bench.labelled import find_sets
from claimwise.judges.combine import add_encoder, sum_up
from claimwise.judges.embedded import find_misbound
from claimwise.judges.encoder import Encoder
from claimwise.judges.evidence import EvidenceIndex, split_parts, weigh_part
from claimwise.judges.overlap import share_found
from claimwise.text.words import read_stems
from claimwise.types.rows import Source

MOST_ROWS = 1500


def main() -> None:
    """Write one JSON line per labelled claim of the folders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--weights", help="other encoder weights, to compare")
    parser.add_argument("--most", type=int, default=MOST_ROWS, help="rows a set, by whole groups")
    parser.add_argument("--skip", nargs="*", default=["truthfulqa", "evouna_qa_eval"])
    parser.add_argument("--only", nargs="*", help="these sets alone")
    options = parser.parse_args()
    encoder = Encoder(options.weights)
    with options.out.open("w", encoding="utf-8") as file:
        for row in weigh_folders(options, encoder):
            file.write(json.dumps(row) + "\n")


def weigh_folders(options: argparse.Namespace, encoder: Encoder) -> Iterator[dict[str, Any]]:
    """Yield set, group, label and evidence of every chosen claim."""
    for folder in options.folders:
        for name, path in find_sets(folder).items():
            if name in options.skip or (options.only and name not in options.only):
                continue
            rows = choose_rows(load_rows(path), options.most)
            for at in range(0, len(rows), 64):
                yield from weigh_rows(name, rows[at : at + 64], encoder)
            print(name, len(rows), flush=True)


def load_rows(path: Path) -> list[dict[str, Any]]:
    """Read a set as it stands, with its raw labels."""
    import lzma

    with lzma.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row for row in rows if row.get("claim") and row.get("document")]


def choose_rows(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return whole groups in random order until there are enough rows."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[str(row["group"])].append(row)
    names = sorted(groups)
    random.Random(0).shuffle(names)
    chosen: list[dict[str, Any]] = []
    for name in names:
        if len(chosen) >= most:
            break
        chosen += groups[name]
    return chosen[: 2 * most]


def weigh_rows(name: str, rows: list[dict[str, Any]], encoder: Encoder) -> Iterator[dict[str, Any]]:
    """Weigh a batch of rows, the encoder's pairs together."""
    weighed = []
    pairs: list[tuple[str, str]] = []
    for row in rows:
        source = Source(source_id="d", corpus_ver="-", source_text=row["document"])
        index = EvidenceIndex([source])
        parts = [weigh_part(text, index) for text in split_parts(row["claim"])]
        pairs += [index.pair_up(part) for part in parts]
        weighed.append((parts, find_misbound(parts, index) is not None))
    logits = encoder.score_pairs(pairs)
    at = 0
    for row, (parts, misbound) in zip(rows, weighed, strict=True):
        values = add_encoder(sum_up(parts), logits[at : at + len(parts)])
        values["misbound"] = float(misbound)
        values["overlap"] = share_found(row["claim"], frozenset(read_stems(row["document"])))
        at += len(parts)
        yield {
            "set": name,
            "group": str(row["group"]),
            "label": int(row["label"]),
            "raw": str(row.get("raw_label")),
            "values": {key: round(float(value), 5) for key, value in values.items()},
        }


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
