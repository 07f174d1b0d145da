"""The judges that come with claimwise, registered as those of any other package are."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING

from claimwise.registry import Plugin

if TYPE_CHECKING:
    from claimwise.judges.embedded import EmbeddedVerifier
    from claimwise.judges.overlap import OverlapVerifier

INSTALL_ENCODER = "pip install 'claimwise[encoder]'"
_ENCODER_FILES = ("encoder.int8.onnx", "tokenizer.json")
_CARD_FILE = "card.json"


def _load_tier(name: str) -> Callable[[], EmbeddedVerifier]:
    def load() -> EmbeddedVerifier:
        from claimwise.judges.embedded import load_embedded

        return load_embedded(name)

    return load


def _load_overlap() -> OverlapVerifier:
    from claimwise.judges.overlap import OverlapVerifier

    return OverlapVerifier()


def _find_missing_encoder() -> str | None:
    from claimwise.judges import encoder

    return None if encoder.has_encoder() else INSTALL_ENCODER


def _measure_files(*left_out: str) -> int:
    folder = files("claimwise.judges") / "data"
    return sum(
        len(file.read_bytes())
        for file in folder.iterdir()
        if file.name not in (_CARD_FILE, *left_out)
    )


EMBEDDED = Plugin(
    description="the full tier: linked evidence and the encoder (extra: encoder)",
    load=_load_tier("embedded"),
    find_missing=_find_missing_encoder,
    measure_size=_measure_files,
    card="run: claimwise verifiers embedded",
)
LEXICAL = Plugin(
    description="words, numbers, dates, names and negation; the base install alone",
    load=_load_tier("lexical"),
    measure_size=lambda: _measure_files(*_ENCODER_FILES),
    card="run: claimwise verifiers lexical",
)
OVERLAP = Plugin(
    description="the baseline: the share of the claim's words that the sources hold",
    load=_load_overlap,
    card="run: claimwise verifiers overlap",
)
