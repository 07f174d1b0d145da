"""Puts foreign text into prompts so that it stays text.

Answers and sources may say anything, “ignore the above” and a model's own control tokens included.
:func:`neutralise_text` takes away what a model or its server could mistake for structure, and
:func:`fence_text` puts the rest between two lines that the text can't contain: their brackets are
replaced inside it, and they carry a mark made from the text itself.

Neutralising replaces characters one by one, so text keeps its length: character *n* of a prompt's
text is character *n* of the original, and a quote found in one stands at the same place in both.
"""

from __future__ import annotations

import re
from hashlib import blake2b

_LABEL = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?", re.ASCII)

# What does not show: control characters but tab and newline, line separators, zero-width and
# direction marks, tags, variation selectors, fillers, private use, and halves of surrogate pairs.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
_ASCII_HIDDEN = {code: " " for code in (*range(9), *range(11, 32), 127)}

# What chat templates use to tell who speaks, whichever model reads it; in small letters.
_TAGS = (
    *("s", "bos", "eos", "pad", "unk", "start_of_turn", "end_of_turn", "think", "thinking"),
    *("tool_call", "tool_response", "function_calls", "system", "assistant", "user", "human"),
)
_WORDS = "inst", "system_prompt", "available_tools", "tool_calls", "tool_results", "tool_content"
_TOKENS = (
    *("<|", "|>", "<｜", "｜>", "<<sys>>", "<</sys>>"),
    *("\n\nhuman:", "\n\nassistant:", "\n\nsystem:"),
    *(f"<{slash}{tag}>" for tag in _TAGS for slash in ("", "/")),
    *(f"[{slash}{word}]" for word in _WORDS for slash in ("", "/")),
)
_SIGNS = ("<", "|", "｜", "[", "\n\n")  # one of these is in each of them
_CONTROL = re.compile("|".join(map(re.escape, _TOKENS)), re.IGNORECASE)
_HARMLESS = str.maketrans("<>[]|｜:", "‹›()¦¦꞉")


class Fenced(str):
    """Text that is fenced already and goes into a prompt as it is."""

    __slots__ = ()


def neutralise_text(text: str) -> str:
    """Return text of the same length without what a model could take for structure."""
    if text.isascii():
        shown = text if text.isprintable() else text.translate(_ASCII_HIDDEN)
    else:
        shown = _HIDDEN.sub(" ", text).replace("⟦", "[").replace("⟧", "]")
    if not any(sign in shown for sign in _SIGNS):
        return shown
    # Looking for each token is many times faster than trying all of them at every character.
    small = shown.lower()
    if not any(token in small for token in _TOKENS):
        return shown
    return _CONTROL.sub(lambda found: found[0].translate(_HARMLESS), shown)


def fence_text(text: str, label: str) -> Fenced:
    """Return neutralised text between two lines that name it.

    Args:
        text: what an answer, a source or a user says.
        label: our own name for it: letters, digits, ``_``, ``.``, ``-``.
    """
    if not _LABEL.fullmatch(label):
        raise ValueError(f"found the label {label!r}, expected letters and digits of our own")
    inner = neutralise_text(text)
    mark = blake2b(inner.encode(), digest_size=4, key=label.encode()[:64]).hexdigest()
    return Fenced(f"⟦{label} {mark}⟧\n{inner}\n⟦end {label} {mark}⟧")
