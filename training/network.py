"""Writes the student as an ONNX network of few, large steps.

What ``torch.onnx.export`` writes has 1,262 steps; this has about 300, for one pair of evidence and
claim at a time. So there is no mask and no dimension for a batch, a layer's bias is added within
its multiplication, and the last layer is calculated for the first token alone, whose answer is the
only one that is read. The logits are the same but for the last bits of sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

HEADS = 12
_LAYER = "body.encoder.layer."
_TABLES = "body.embeddings."
_OWN = "com.microsoft"  # onnxruntime's own steps


def write_network(weights: Mapping[str, NDArray[np.generic]], path: Path) -> None:
    """Write the network of a student whose matrices are in 8 bits: names as in its state."""
    network = _Network(weights)
    layers = 1 + max(int(name.split(".")[3]) for name in weights if name.startswith(_LAYER))
    state = network.embed()
    for number in range(layers):
        state = network.add_layer(state, f"{_LAYER}{number}.", last=number == layers - 1)
    dense = network.add("Tanh", network.multiply(state, "dense"))
    network.save(network.multiply(dense, "head"), path)


class _Network:
    """Steps and constants. Every method but ``save`` adds steps and returns what they give."""

    def __init__(self, weights: Mapping[str, NDArray[np.generic]]) -> None:
        self._nodes: list[onnx.NodeProto] = []
        kept = (".weight", ".bias", ".codes", ".steps")
        self._constants = {n: np.asarray(w) for n, w in weights.items() if n.endswith(kept)}
        self._size = self._constants["dense.bias"].shape[0]
        width = self._size // HEADS
        self._scale = width**-0.5
        whole = {"zero": [0], "one": [1], "heads": [-1, HEADS, width], "rows": [-1, self._size]}
        self._constants |= {n: np.array(v, dtype=np.int64) for n, v in whole.items()}

    def add(self, kind: str, *given: str, domain: str = "", **attributes: Any) -> str:
        """Add one step."""
        name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(
            helper.make_node(kind, list(given), [name], name=name, domain=domain, **attributes)
        )
        return name

    def widen(self, name: str) -> str:
        """Return a matrix in 32 bits; onnxruntime does this once, when it loads the file."""
        codes = self.add("Cast", f"{name}.codes", to=TensorProto.FLOAT)
        return self.add("Mul", codes, f"{name}.steps")

    def multiply(self, given: str, name: str) -> str:
        """Multiply by a matrix and add its bias."""
        return self.add("Gemm", given, self.widen(name), f"{name}.bias", transB=1)

    def normalise(self, given: str, name: str) -> str:
        """Give every token's state the mean 0 and the variance 1, then its own weights."""
        return self.add(
            "LayerNormalization", given, f"{name}.weight", f"{name}.bias", epsilon=1e-12
        )

    def embed(self) -> str:
        """Look the words up, with their places and the side of the pair that they are on."""
        words, kinds = (
            self.add("Squeeze", name, "zero") for name in ("input_ids", "token_type_ids")
        )
        count = self.add("Shape", words)
        codes, steps = (
            self.add("Gather", f"{_TABLES}word_embeddings.{part}", words)
            for part in ("codes", "steps")
        )
        told = self.add("Mul", self.add("Cast", codes, to=TensorProto.FLOAT), steps)
        told = self.add(
            "Add", told, self.add("Gather", f"{_TABLES}token_type_embeddings.weight", kinds)
        )
        places = self.add("Slice", f"{_TABLES}position_embeddings.weight", "zero", count, "zero")
        return self.normalise(self.add("Add", told, places), f"{_TABLES}LayerNorm")

    def add_layer(self, state: str, layer: str, *, last: bool = False) -> str:
        """Add a layer; the last one for the first token alone, which looks at all the others."""
        own = f"{layer}attention.self."
        asking = self.add("Slice", state, "zero", "one", "zero") if last else state
        query = self._split(asking, f"{own}query", [1, 0, 2])
        key = self._split(state, f"{own}key", [1, 2, 0])
        value = self._split(state, f"{own}value", [1, 0, 2])
        likeness = self.add("FusedMatMul", query, key, domain=_OWN, alpha=self._scale)
        seen = self.add("MatMul", self.add("Softmax", likeness), value)
        seen = self.add("Reshape", self.add("Transpose", seen, perm=[1, 0, 2]), "rows")
        return self._finish_layer(seen, asking, layer)

    def _split(self, state: str, name: str, order: list[int]) -> str:
        """Return a state times a matrix, by head."""
        by_head = self.add("Reshape", self.multiply(state, name), "heads")
        return self.add("Transpose", by_head, perm=order)

    def _finish_layer(self, seen: str, state: str, layer: str) -> str:
        """Add what follows attention; adding and normalising in one step would be slower."""
        seen = self.multiply(seen, f"{layer}attention.output.dense")
        state = self.normalise(self.add("Add", seen, state), f"{layer}attention.output.LayerNorm")
        wide = self.add("Gelu", self.multiply(state, f"{layer}intermediate.dense"), domain=_OWN)
        told = self.add("Add", self.multiply(wide, f"{layer}output.dense"), state)
        return self.normalise(told, f"{layer}output.LayerNorm")

    def save(self, logits: str, path: Path) -> None:
        """Write the file, without the weights that no step reads."""
        self._nodes.append(helper.make_node("Identity", [logits], ["logits"]))
        read = {name for node in self._nodes for name in node.input}
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [
                helper.make_tensor_value_info(name, TensorProto.INT64, [1, "tokens"])
                for name in ("input_ids", "token_type_ids")
            ],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 3])],
            [
                numpy_helper.from_array(np.ascontiguousarray(value), name)
                for name, value in self._constants.items()
                if name in read
            ],
        )
        imports = [helper.make_opsetid("", 17), helper.make_opsetid(_OWN, 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, str(path))
