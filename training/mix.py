"""Mixes two 8-bit encoders of one shape: the weighted mean of their weights, in 8 bits again.

    python training/mix.py OLD.int8.onnx NEW.int8.onnx --share 0.7 --out encoder.int8.onnx

``bind.py`` calls it; by hand it tries other shares without training again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Array = NDArray[Any]


def main() -> None:
    """Write the mixture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--share", type=float, required=True, help="of the new weights")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    mix_files(options.old, options.new, options.share, options.out)


def mix_files(old: Path, new: Path, share: float, out: Path) -> None:
    """Write the mixture of two files, in the graph of the new one."""
    model = onnx.load(new)
    mixed = mix_values(read_values(onnx.load(old)), read_values(model), share)
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(mixed[tensor.name], tensor.name))
    onnx.save(model, out)


def read_values(model: onnx.ModelProto) -> dict[str, Array]:
    """Return a file's numbers by name."""
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}


def mix_values(old: dict[str, Array], new: dict[str, Array], share: float) -> dict[str, Array]:
    """Return the mean of two sets of numbers; what stands in 8 bits is widened, then cut again."""
    if old.keys() != new.keys():
        raise SystemExit("the two encoders are not of one shape")
    mixed = dict(new)
    for name in new:
        if name.endswith("_quantized"):
            base = name.removesuffix("_quantized")
            wide = share * widen(new, base) + (1 - share) * widen(old, base)
            mixed |= cut(wide, base, mixed[name])
        elif name.endswith((".weight", ".bias")):
            mixed[name] = (share * new[name] + (1 - share) * old[name]).astype(np.float32)
    return mixed


def widen(values: dict[str, Array], base: str) -> Array:
    """Return a matrix in 32 bits."""
    codes = values[f"{base}_quantized"].astype(np.float32)
    return (codes - values[f"{base}_zero_point"].astype(np.float32)) * values[f"{base}_scale"]


def cut(wide: Array, base: str, like: Array) -> dict[str, Array]:
    """Return a matrix in 8 bits as onnxruntime would: signed by columns, or unsigned as a whole."""
    if like.dtype == np.int8:
        scale = np.maximum(np.abs(wide).max(0), 1e-12) / 127
        zero = np.zeros(scale.shape, dtype=np.int8)
        codes = np.clip(np.rint(wide / scale), -127, 127)
    else:
        low, high = min(wide.min(), 0.0), max(wide.max(), 0.0)
        scale = np.asarray((high - low) / 255)
        zero = np.asarray(np.rint(-low / scale), dtype=np.uint8)
        codes = np.clip(np.rint(wide / scale) + zero, 0, 255)
    return {
        f"{base}_quantized": codes.astype(like.dtype),
        f"{base}_scale": scale.astype(np.float32),
        f"{base}_zero_point": zero,
    }


if __name__ == "__main__":
    main()
