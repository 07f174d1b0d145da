"""Runs a network over many texts in few passes: texts of like length go together.

The one engine of all open models. A text that was asked about twice is run once.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Encoding

MOST_ROWS = 256  # of one pass
# Tokens of one pass, padding included. More than this no longer fit a processor's caches, and take
# longer; a graphics card is idle with less than some ten thousand.
MOST_TOKENS_CPU, MOST_TOKENS_GPU = 2048, 32768

Inputs = NDArray[np.int64]


class Network(Protocol):
    """A loaded model.

    ``batches`` tells whether a row's result does not depend on its neighbours, ``most_tokens`` how
    many tokens to give it at once.
    """

    batches: bool
    most_tokens: int
    threads: int

    def run(self, ids: Inputs, mask: Inputs, types: Inputs) -> NDArray[np.float32]:
        """Return one row of results per row of tokens."""
        ...


class BatchRunner:
    """Runs encoded texts through a network, and counts what that takes.

    ``passes`` is how often the network ran, ``padded`` how many tokens it was given, those that
    fill up shorter rows included.
    """

    def __init__(self, network: Network, padding: int) -> None:
        self._network = network
        self._padding = padding
        self.passes = 0
        self.padded = 0

    def run(self, encoded: Sequence[Encoding]) -> list[NDArray[np.float32]]:
        """Return the network's result for every text, in order."""
        places: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        which = [
            places.setdefault((tuple(one.ids), tuple(one.type_ids)), len(places)) for one in encoded
        ]
        texts = list(places)
        found: dict[int, NDArray[np.float32]] = {}
        if self._network.batches:
            lengths = [len(ids) for ids, _ in texts]
            for rows in plan_batches(lengths, self._network.most_tokens):
                found |= zip(rows, self._run([texts[row] for row in rows]), strict=True)
        else:
            with ThreadPoolExecutor(self._network.threads) as pool:
                alone = pool.map(self._run, [[text] for text in texts])
                found = {row: results[0] for row, results in enumerate(alone)}
        return [found[place] for place in which]

    def _run(self, texts: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> NDArray[np.float32]:
        width = max(len(ids) for ids, _ in texts)
        shape = (len(texts), width)
        ids = np.full(shape, self._padding, dtype=np.int64)
        mask, types = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, (tokens, kinds) in enumerate(texts):
            ids[row, : len(tokens)] = tokens
            types[row, : len(kinds)] = kinds
            mask[row, : len(tokens)] = 1
        self.passes += 1
        self.padded += ids.size
        return self._network.run(ids, mask, types)


def plan_batches(
    lengths: Sequence[int], most_tokens: int, most_rows: int = MOST_ROWS
) -> list[list[int]]:
    """Return which texts to run together, by their place: like lengths, longest first.

    A batch has at most ``most_rows`` texts and ``most_tokens`` tokens after padding; a longer text
    is a batch of its own.
    """
    batches: list[list[int]] = []
    width = 0
    for row in sorted(range(len(lengths)), key=lambda n: (-lengths[n], n)):
        full = not batches or len(batches[-1]) >= most_rows
        if full or (len(batches[-1]) + 1) * width > most_tokens:
            batches.append([])
            width = lengths[row]
        batches[-1].append(row)
    return batches
