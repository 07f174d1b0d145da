"""Teaches an encoder whose value is whose: minutes on a GPU.

    python training/bind.py --data ../shared/data/train --pool WORK --work WORK2

An encoder (the shipped one, without ``--weights``) goes on learning from the teacher's opinion of
the pairs that ``train.py`` left in ``WORK``, mixed with people's labels where there are some, so
that it forgets nothing; and from true claims with their swapped twins (``value_swaps.py``), whose
labels are certain. ``train.py`` ends with the same lessons for its own student. Writes
``swaps.json.xz``, ``student.pt`` and ``encoder.int8.onnx``; combiner and threshold must be fitted
again after it: ``features.py``, ``fit.py``.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer

import student as students
from pairs import NLI_SETS, Pair, Passage, group_siblings, read_pairs, read_passages
from value_swaps import make_claim_swaps, make_prose_swaps, make_record_swaps

SEED = 20_261_118
DATA = Path(__file__).parent.parent / "src/claimwise/judges/data"
SURE = 0.9  # how far a rule's label is believed; the rest is the encoder's own opinion
BELIEVED = 0.5  # how far people's labels are; the rest is the teacher's opinion
CLAIM_SWAPS, RECORDS = 4_000, 500  # people's claims with a swap; made-up sets of records
SWAPS = "swaps.json.xz"
Row = tuple[str, str, int, str]  # evidence, claim, label or -1, where it comes from


class Labelled(NamedTuple):
    """Pairs with the teacher's probabilities of (supports, contradicts, neither)."""

    rows: list[Row]
    soft: torch.Tensor


def main() -> None:
    """Go on learning, export."""
    options = parse_options()
    options.work.mkdir(parents=True, exist_ok=True)
    path = options.work / "student.pt"
    if not path.exists():
        torch.save(learn(options), path)
    student = students.read_student(options.weights)
    state = torch.load(path, weights_only=True)
    student.load_state_dict({name: value.float() for name, value in state.items()})
    students.export_student(student, options.work / "encoder.int8.onnx")


def parse_options() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="shared/data/train")
    parser.add_argument("--pool", type=Path, required=True, help="where train.py left its pairs")
    parser.add_argument("--work", type=Path, required=True, help="where results go")
    parser.add_argument("--weights", type=Path, default=DATA / "encoder.int8.onnx")
    parser.add_argument("--small", action="store_true", help="a few rows, to try the code")
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--batch-tokens", type=int, default=24_000)
    return parser.parse_args()


def learn(options: argparse.Namespace) -> dict[str, torch.Tensor]:
    """Train the given weights on the teacher's pairs and the swaps; return them in 16 bits."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    student = students.read_student(options.weights).to(device)
    tokenizer = students.load_tokenizer(options.weights.parent)
    teach_values(
        student,
        tokenizer,
        read_pool(options.pool),
        prepare_swaps(options.data, options.work, small=options.small),
        epochs=options.epochs,
        rate=options.rate,
        seconds=options.seconds,
        batch_tokens=options.batch_tokens,
    )
    return {name: value.half().cpu() for name, value in student.state_dict().items()}


def teach_values(
    student: students.Student,
    tokenizer: Tokenizer,
    labelled: Labelled,
    swaps: Sequence[Pair],
    *,
    epochs: float,
    rate: float,
    seconds: float,
    batch_tokens: int,
) -> None:
    """Train on what the teacher labelled and on swaps, shuffled together.

    Of a swap the student keeps a tenth of its own opinion: a rule may be wrong.
    """
    clock = time.time()
    asked = [(p.evidence, p.claim) for p in swaps]
    own = students.judge_pairs(student.eval(), tokenizer, asked)
    print(
        f"{len(labelled.rows)} labelled pairs, {len(swaps)} of swaps, {time.time() - clock:.0f} s",
        flush=True,
    )
    labels = np.array([row[2] for row in labelled.rows] + [p.label for p in swaps])
    believed = np.array([BELIEVED] * len(labelled.rows) + [SURE] * len(swaps))
    # Words stay where they are: too few of them are met here.
    student.body.embeddings.requires_grad_(False)
    students.train_student(
        student,
        tokenizer,
        [(row[0], row[1]) for row in labelled.rows] + asked,
        students.make_targets(labels, torch.cat([labelled.soft, own]), believed),
        epochs=epochs,
        rate=rate,
        seconds=seconds,
        seed=SEED,
        batch_tokens=batch_tokens,
    )


def read_pool(work: Path) -> Labelled:
    """Read every part's pairs and the teacher's probabilities that ``train.py`` kept."""
    parts = [read_part(path) for path in sorted(work.glob("pool-*.json.xz"))]
    if not parts:
        raise SystemExit(f"{work}: no pool-*.json.xz there; run train.py first")
    return Labelled(
        [row for part in parts for row in part.rows], torch.cat([part.soft for part in parts])
    )


def read_part(path: Path) -> Labelled:
    """Read one part's pairs, and the probabilities beside them."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = json.load(file)
    name = path.name.removeprefix("pool-").removesuffix(".json.xz")
    return Labelled(rows, torch.from_numpy(np.load(path.with_name(f"soft-{name}.npy"))).float())


def prepare_swaps(data: Path, work: Path, *, small: bool) -> list[Pair]:
    """Return the pairs about swapped values; they are made once and kept in the folder."""
    path = work / SWAPS
    if not path.exists():
        made = make_swaps(data, small=small)
        with lzma.open(path, "wt", preset=1) as file:
            json.dump([(p.evidence, p.claim, p.label, p.origin) for p in made], file)
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [Pair(*row) for row in json.load(file)]


def make_swaps(data: Path, *, small: bool) -> list[Pair]:
    """Return swaps and their true twins: in passages, in people's claims, in made-up records."""
    rng = random.Random(SEED)
    passages = read_passages(data)
    siblings = group_siblings(passages)
    passages = [p for p in passages if not is_kept_aside(p)]
    rng.shuffle(passages)
    long = [pair for pair in read_pairs(data) if pair.origin not in (*NLI_SETS, "boolq")]
    rng.shuffle(long)
    if small:
        passages, long = passages[:20], long[:40]
    swaps = list(make_prose_swaps(passages, siblings, rng))
    swaps += list(make_claim_swaps(long, rng))[: 2 * CLAIM_SWAPS]
    swaps += make_record_swaps(20 if small else RECORDS, rng)
    return swaps


def is_kept_aside(passage: Passage) -> bool:
    """Tell whether a passage is left for measuring: one article in ten."""
    return zlib.crc32(passage.title.encode()) % 10 == 0


if __name__ == "__main__":
    main()
