"""Reads a model's tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from claimwise.errors import MissingExtraError
from claimwise.judges.open_models.model_files import TOKENIZER, ModelFiles


def load_tokenizer(files: ModelFiles) -> Any:
    """Return a model's tokenizer (of the package tokenizers), which neither pads nor cuts.

    Without a tokenizer.json it is made from the vocabulary, by transformers.

    Raises:
        MissingExtraError: the package is not installed.
        VerifierError: there is none, or it can't be read.
    """
    if find_spec("tokenizers") is None:
        raise MissingExtraError(f"the judge “{files.name.kind}”", "encoder")
    from tokenizers import Tokenizer

    place = files.folder / TOKENIZER
    try:
        if place.is_file():
            tokenizer = Tokenizer.from_str(place.read_text(encoding="utf-8"))
        else:
            tokenizer = _convert(files)
    except Exception as error:
        raise files.refuse(f"its tokenizer can't be read: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _convert(files: ModelFiles) -> Any:
    if find_spec("transformers") is None:
        raise ValueError(f"there is no {TOKENIZER} in its folder")
    from transformers import AutoTokenizer

    loaded = AutoTokenizer.from_pretrained(
        str(files.folder), local_files_only=True, trust_remote_code=False, use_fast=True
    )
    return loaded.backend_tokenizer


def count_tokens(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """Return how many tokens texts have, each by itself and without special ones."""
    return [len(one.ids) for one in tokenizer.encode_batch(list(texts), add_special_tokens=False)]


# Models whose positions begin after that of the padding.
_SHIFTED = ("camembert", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl")


def find_max_tokens(files: ModelFiles, usual: int) -> int:
    """Return how many tokens a model reads at once: by its configuration, ``usual`` at most."""
    positions = files.config.get("max_position_embeddings")
    if not isinstance(positions, int) or positions <= 0:
        return usual
    if files.config.get("model_type") in _SHIFTED:
        positions -= find_padding(files) + 1
    return min(usual, positions)


def find_padding(files: ModelFiles) -> int:
    """Return the id of the token that fills up shorter texts of a batch."""
    found = files.config.get("pad_token_id")
    return found if isinstance(found, int) and found >= 0 else 0
