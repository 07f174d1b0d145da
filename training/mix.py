"""Mixes the weights of encoders that come from one another, and writes them as one.

python training/mix.py WORK2/encoder.int8.onnx src/claimwise/judges/data/encoder.int8.onnx \
    --shares 0.5 0.5 --out WORK2/mixed.onnx

What a course of learning wins and what the older weights still know can both be kept this way.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import student as students


def main() -> None:
    """Write the weighted mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--shares", type=float, nargs="+", required=True, help="one for each file")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if len(options.shares) != len(options.files) or abs(sum(options.shares) - 1) > 1e-6:
        parser.error("--shares takes one number per file, and they add up to 1")
    states = [students.read_weights(path) for path in options.files]
    mixed = {
        name: sum(share * state[name] for share, state in zip(options.shares, states, strict=True))
        for name in states[0]
    }
    student = students.read_student(options.files[0])
    student.load_state_dict(mixed, strict=False)
    students.export_student(student, options.out)


if __name__ == "__main__":
    main()
