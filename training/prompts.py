"""What the language model is asked to write about a passage, and how its replies are read."""

from __future__ import annotations

import re

_PASSAGE = "Here is a passage.\n\n{passage}\n\n"

# kind -> (instruction, most new tokens)
WRITING = {
    "restate": (
        _PASSAGE + "State four facts from it, one short sentence a line. Use your own words and "
        "another sentence structure, name things in full, and add nothing that it does not say.",
        80,
    ),
    "sum_up": (
        _PASSAGE + "Sum it up in one sentence, as an editor would for readers in a hurry. Use your "
        "own words.",
        50,
    ),
    "join": (
        _PASSAGE + "Write two sentences. Each joins two facts from different places of the "
        "passage, in your own words. One sentence a line.",
        70,
    ),
    "distort": (
        _PASSAGE + "Write four false sentences about it, one a line. Each sounds right but gets "
        "one thing wrong: a number, a date, a name, a cause, or who did what to whom. Do not say "
        "that they are false.",
        80,
    ),
    "overstate": (
        _PASSAGE + "Write three sentences, one a line. Each starts from something the passage "
        "says and then adds a detail, a reason or a certainty that the passage does not give.",
        80,
    ),
}

STATE = (
    "Turn a question and its answer into one full sentence. Keep the words of the answer.\n\n"
    "Question: Which river runs through the old town?\nAnswer: the Ems\n"
    "Sentence: The Ems runs through the old town.\n\n"
    "Question: When did the strike end?\nAnswer: after nine weeks\n"
    "Sentence: The strike ended after nine weeks.\n\n"
    "Question: {question}\nAnswer: {answer}\nSentence:"
)
STATE_TOKENS = 40

_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.):]|\"|Sentence:|Fact \d:)\s*")
_TALK = re.compile(r"^(?:sure|here (?:are|is)|certainly|passage|note|false|true|okay)\b", re.I)


def read_lines(reply: str) -> list[str]:
    """Return the sentences of a reply: no bullets, no small talk, nothing cut off or too short."""
    kept: list[str] = []
    for line in reply.splitlines():
        text = _BULLET.sub("", line).strip().strip('"').replace("**", "").strip()
        if _TALK.match(text) or not 4 <= len(text.split()) <= 60 or not text.endswith((".", "!")):
            continue
        kept.append(text)
    return list(dict.fromkeys(kept))
