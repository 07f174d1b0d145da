"""Makes a BERT-base cross-encoder with random weights: as fast as a trained one, and as large.

12 layers, 768 wide, 12 heads, 3,072 in between, 30,522 word pieces, 512 places: 109 million
weights. The operators are those that torch exports; onnxruntime's dynamic quantization turns them
into 8-bit integers as it does for any BERT. What the weights are does not matter for speed.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, save_model

LAYERS, WIDTH, HEADS, BETWEEN, VOCABULARY, PLACES, OUTPUTS = 12, 768, 12, 3072, 30522, 512, 3
_OPSET, _IR = 17, 8
_SPREAD = 0.02  # as BERT is initialised


def write_bert_base(path: Path) -> None:
    """Write the 8-bit ONNX file: inputs and output as the encoder of the product."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    plain = path.with_suffix(".fp32.onnx")
    save_model(_make_model(), plain)
    logging.disable(logging.WARNING)  # it advises a step that changes nothing here
    try:
        quantize_dynamic(plain, path, weight_type=QuantType.QInt8, per_channel=True)
    finally:
        logging.disable(logging.NOTSET)
        plain.unlink()


class _Graph:
    """Nodes and weights as they are added; every method returns the name of a result."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self._random = np.random.Generator(np.random.PCG64(0))
        self._drawn: dict[tuple[int, ...], np.ndarray[Any, Any]] = {}

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def keep(self, values: np.ndarray[Any, Any]) -> str:
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def draw(self, *shape: int) -> str:
        # Drawn once a shape, to save time; each use is still a matrix of its own in memory.
        if shape not in self._drawn:
            values = self._random.standard_normal(shape, dtype=np.float32)
            self._drawn[shape] = values * np.float32(_SPREAD)
        return self.keep(self._drawn[shape])

    def number(self, value: float) -> str:
        return self.keep(np.array(value, dtype=np.float32))

    def numbers(self, *values: int) -> str:
        return self.keep(np.array(values, dtype=np.int64))

    def dense(self, value: str, inputs: int, outputs: int) -> str:
        product = self.add("MatMul", value, self.draw(inputs, outputs))
        return self.add("Add", self.draw(outputs), product)

    def reshape(self, value: str, like: str, *sizes: int) -> str:
        """Keep batch and tokens of another value; found at run time, as torch exports it.

        With constants onnxruntime would know the shape, and fuse what it then runs more slowly.
        """
        shape = self.add("Shape", like)
        found = [self.add("Gather", shape, self.numbers(place)) for place in (0, 1)]
        target = self.add("Concat", *found, self.numbers(*sizes), axis=0)
        return self.add("Reshape", value, target)

    def normalize(self, value: str) -> str:
        ones = self.keep(np.ones(WIDTH, dtype=np.float32))
        return self.add("LayerNormalization", value, ones, self.draw(WIDTH), epsilon=1e-12)

    def gelu(self, value: str) -> str:
        error = self.add("Erf", self.add("Div", value, self.number(2**0.5)))
        product = self.add("Mul", value, self.add("Add", error, self.number(1)))
        return self.add("Mul", product, self.number(0.5))


def _make_model() -> ModelProto:
    graph = _Graph()
    value = _embed(graph)
    hidden = graph.add("Unsqueeze", "attention_mask", graph.numbers(1, 2))
    missing = graph.add("Sub", graph.number(1), graph.add("Cast", hidden, to=TensorProto.FLOAT))
    mask = graph.add("Mul", missing, graph.number(-1e4))
    for _ in range(LAYERS):
        value = graph.normalize(graph.add("Add", _attend(graph, value, mask), value))
        inner = graph.gelu(graph.dense(value, WIDTH, BETWEEN))
        value = graph.normalize(graph.add("Add", graph.dense(inner, BETWEEN, WIDTH), value))
    first = graph.add("Gather", value, graph.keep(np.array(0, dtype=np.int64)), axis=1)
    pooled = graph.add("Tanh", _connect(graph, first, WIDTH))
    graph.nodes.append(helper.make_node("Identity", [_connect(graph, pooled, OUTPUTS)], ["logits"]))
    names = ("input_ids", "attention_mask", "token_type_ids")
    return helper.make_model(
        helper.make_graph(
            graph.nodes,
            "bert-base",
            [
                helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"])
                for n in names
            ],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", OUTPUTS])],
            graph.weights,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
    )


def _embed(graph: _Graph) -> str:
    """Return words, kinds and places, added up and normalized."""
    words = graph.add("Gather", graph.draw(VOCABULARY, WIDTH), "input_ids")
    kinds = graph.add("Gather", graph.draw(2, WIDTH), "token_type_ids")
    shape = graph.add("Shape", "input_ids")
    length = graph.add("Gather", shape, graph.keep(np.array(1, dtype=np.int64)))
    zero, one = (graph.keep(np.array(n, dtype=np.int64)) for n in (0, 1))
    places = graph.add("Gather", graph.draw(PLACES, WIDTH), graph.add("Range", zero, length, one))
    return graph.normalize(graph.add("Add", graph.add("Add", words, kinds), places))


def _attend(graph: _Graph, value: str, mask: str) -> str:
    """Return self-attention with its output layer."""

    def project(order: list[int]) -> str:
        heads = graph.reshape(graph.dense(value, WIDTH, WIDTH), value, HEADS, WIDTH // HEADS)
        return graph.add("Transpose", heads, perm=order)

    query, key, content = project([0, 2, 1, 3]), project([0, 2, 3, 1]), project([0, 2, 1, 3])
    scale = graph.number((WIDTH // HEADS) ** -0.25)  # both halves of the product, as torch does
    scores = graph.add("MatMul", graph.add("Mul", query, scale), graph.add("Mul", key, scale))
    shares = graph.add("Softmax", graph.add("Add", scores, mask), axis=-1)
    mixed = graph.add("Transpose", graph.add("MatMul", shares, content), perm=[0, 2, 1, 3])
    return graph.dense(graph.reshape(mixed, value, WIDTH), WIDTH, WIDTH)


def _connect(graph: _Graph, value: str, outputs: int) -> str:
    return graph.add("Gemm", value, graph.draw(outputs, WIDTH), graph.draw(outputs), transB=1)
