"""What calls cost: prices as the user gives them, and tokens before anybody counted them.

No price is built in: they change, and a wrong one is worse than none. Local servers cost 0.
"""

from __future__ import annotations

import msgspec

from claimwise.config import LlmSection
from claimwise.errors import LlmError
from claimwise.llm.providers import find_provider
from claimwise.types.llm import LlmCall, Price

FREE = Price(input=0.0, output=0.0)

_CHARACTERS = 3  # of plain text in a token; real ones hold about 4
_PER_FOREIGN_BYTE = 0.6  # more for each byte that UTF-8 adds: scripts beyond ASCII cost more
_OVERHEAD = 64  # roles and separators
_MILLION = 1_000_000


def estimate_tokens(call: LlmCall) -> int:
    """Estimate the tokens of a prompt on the high side; no tokenizer is asked.

    A token for every 3 characters, 0.6 more for every byte that UTF-8 needs beyond one a
    character, and 64 for the frame. A schema counts as text.
    """
    text = call.system + call.user + (_show_schema(call) if call.schema else "")
    foreign = 0 if text.isascii() else len(text.encode("utf-8", "replace")) - len(text)
    return _OVERHEAD + int(len(text) / _CHARACTERS + foreign * _PER_FOREIGN_BYTE)


def cost_tokens(price: Price, input_tokens: float, output_tokens: float) -> float:
    """Return what tokens cost, in US$."""
    return (price.input * input_tokens + price.output * output_tokens) / _MILLION


def find_price(model: str, section: LlmSection) -> Price | None:
    """Return the price of a model: the project's, or 0 for a local server; None when unknown."""
    if model in section.prices:
        return section.prices[model]
    return FREE if find_provider(model, section)[0].local else None


def parse_price(text: str) -> Price:
    """Read ``IN,OUT``: US$ per million tokens.

    Raises:
        LlmError: it is something else.
    """
    try:
        given, back = (float(part) for part in text.split(","))
        if not (0 <= given < float("inf") and 0 <= back < float("inf")):
            raise ValueError
    except ValueError as error:
        raise LlmError(
            f"--price {text!r}: write US$ per million tokens in and out, such as 2.5,10"
        ) from error
    return Price(input=given, output=back)


def _show_schema(call: LlmCall) -> str:
    return msgspec.json.encode(call.schema).decode()
