"""Mixes the weights of two encoders of which one comes from the other, and writes them as one.

python training/mix.py OLD.onnx NEW.onnx --share 0.4 --out MIXED.onnx

What a course of learning wins and what the older weights still know can both be kept this way.
The course moves most weights by less than an 8-bit step. Rounded to the nearest step, a share
under a half would be next to the old weights and one above it next to the new ones; so where the
mean lies between two steps, chance decides, with the share as its odds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor

import student as students

SEED = 20_261_119


def main() -> None:
    """Write the weighted mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--share", type=float, required=True, help="of the new weights, 0 to 1")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    old, new = students.read_weights(options.old), students.read_weights(options.new)
    chance = torch.Generator().manual_seed(SEED)
    mixed = {name: torch.lerp(old[name], new[name], options.share) for name in old}
    student = students.read_student(options.old)
    student.load_state_dict(
        {
            name: round_at_random(value, chance) if students.is_large(name) else value
            for name, value in mixed.items()
        },
        strict=False,
    )
    students.export_student(student, options.out)


def round_at_random(matrix: Tensor, chance: torch.Generator) -> Tensor:
    """Return the matrix on its 8-bit steps; what lies between two goes up or down by chance."""
    _, steps = students.shrink(matrix)
    raised = matrix / steps + torch.rand(matrix.shape, generator=chance)
    return raised.floor().clamp(-127, 127) * steps


if __name__ == "__main__":
    main()
