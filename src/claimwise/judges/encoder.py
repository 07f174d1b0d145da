"""The small encoder: reads evidence and claim together, offline, on a CPU.

A BERT of 33 million parameters, kept in 8 bits and calculated in 32 by onnxruntime, which comes
with the ``encoder`` extra. The weights are part of the package: nothing is ever downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from claimwise.errors import MissingExtraError

if TYPE_CHECKING:
    from tokenizers import Encoding

MAX_TOKENS = 256
LONGEST_CLAIM = 160  # tokens: evidence is cut to fit and the claim is not, so it needs a bound
_WEIGHTS = "encoder.int8.onnx"
_TOKENIZER = "tokenizer.json"


def has_encoder() -> bool:
    """Tell whether the packages that run the encoder are installed."""
    from importlib.util import find_spec

    return find_spec("onnxruntime") is not None and find_spec("tokenizers") is not None


@cache
def load_encoder() -> Encoder:
    """Return the encoder, loaded once per process.

    Raises:
        MissingExtraError: its packages are not installed.
    """
    if not has_encoder():
        raise MissingExtraError("the embedded verifier's encoder", "encoder")
    return Encoder()


class Encoder:
    """Gives the logits of (supports, contradicts, neither) for pairs of evidence and claim."""

    def __init__(self, weights: str | None = None, threads: int | None = None) -> None:
        from concurrent.futures import ThreadPoolExecutor

        from tokenizers import Tokenizer

        folder = files("claimwise.judges") / "data"
        self._tokenizer: Any = Tokenizer.from_str((folder / _TOKENIZER).read_text(encoding="utf-8"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS, strategy="only_first")
        self._threads = ThreadPoolExecutor(threads or count_cores())
        # One thread per pair and one pair per core: a network this small gains little from threads
        # within it.
        with as_file(folder / _WEIGHTS) as path:
            self._session: Any = open_session(weights or str(path), threads=1)
        # What a network does not read (the mask, where it reads one pair at a time) is left out.
        self._reads = [given.name for given in self._session.get_inputs()]

    def score_pairs(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return logits, one row a pair; evidence that is too long loses its end.

        Every pair is run by itself: padding of other pairs would change its last bits, so that a
        claim's scores would depend on its neighbours, and a network this small gains nothing from
        batches on a CPU. The longest come first, so that no core waits long for another's last one.
        """
        cut = [
            (replace_half_characters(evidence), self._cut_claim(replace_half_characters(claim)))
            for evidence, claim in pairs
        ]
        encoded = self._tokenizer.encode_batch(cut)
        logits = np.zeros((len(encoded), 3), dtype=np.float32)
        order = sorted(range(len(encoded)), key=lambda row: -len(encoded[row].ids))
        results = self._threads.map(self._run, (encoded[row] for row in order))
        for row, result in zip(order, results, strict=True):
            logits[row] = result
        return logits

    def _cut_claim(self, claim: str) -> str:
        """Return the claim, without its end if it is longer than any sentence."""
        if len(claim) <= LONGEST_CLAIM:  # a token has at least one letter
            return claim
        tokens = self._tokenizer.encode(claim, add_special_tokens=False)
        if len(tokens.ids) <= LONGEST_CLAIM:
            return claim
        return claim[: tokens.offsets[LONGEST_CLAIM - 1][1]]

    def _run(self, pair: Encoding) -> NDArray[np.float32]:
        inputs = {
            "input_ids": pair.ids,
            "attention_mask": pair.attention_mask,
            "token_type_ids": pair.type_ids,
        }
        arrays = {name: np.array([inputs[name]], dtype=np.int64) for name in self._reads}
        result: NDArray[np.float32] = self._session.run(None, arrays)[0][0]
        return result


def open_session(weights: str, *, threads: int) -> Any:
    """Return an ONNX network on the processor, with so many threads within it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # For networks that calculate in 8 bits (our own does not): processors without VNNI add
    # products in 16 bits, which overflow. This makes them exact; those take a fifth longer.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(
        weights,
        options,
        providers=["CPUExecutionProvider"],
        # Adding and normalising in one step is slower on a CPU than one after the other.
        disabled_optimizers=["SkipLayerNormFusion"],
    )


def replace_half_characters(text: str) -> str:
    """Return the text without half characters, which the tokenizer refuses; JSON can hold them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
