"""The system under test: answers questions about a library of tools from its price list."""

from __future__ import annotations

import re
from typing import NamedTuple

ENTRY = re.compile(
    r"The (?P<tool>[a-z ]+) may be borrowed for (?P<days>\d+) days "
    r"and costs (?P<price>\d+) euros a day\."
)


class Reply(NamedTuple):
    """What the bot says and does, and the passage it was given."""

    text: str
    action: str
    passage: str | None


def answer(question: str, price_list: str) -> Reply:
    """Answer from the entry of the tool that the question names; abstain without one."""
    for entry in ENTRY.finditer(price_list):
        if entry["tool"] in question and ("borrow" in question or "cost" in question):
            text = write(entry["tool"], int(entry["days"]), int(entry["price"]))
            return Reply(text, "answer", entry[0])
    return Reply("I could not find that in our price list.", "abstain", None)


def write(tool: str, days: int, price: int) -> str:
    """Put an entry into words."""
    return f"You may borrow the {tool} for {days} days. It costs {price} euros a day."
