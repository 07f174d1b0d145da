"""What the language model is asked to write, and how its replies are read."""

from __future__ import annotations

import re
from pathlib import Path

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

INVENT = (
    "Make up {genre}. Subject: {topic}. Place: {place}. Four to seven sentences with full names, "
    "exact numbers and dates. Write the text alone, with no title."
)
INVENT_TOKENS = 170
# The passages that people labelled are nearly all from an encyclopaedia; answers are checked
# against much else.
GENRES = (
    "a news report", "a press release", "the abstract of a study", "a help page of a company",
    "a paragraph of an annual report", "minutes of a meeting", "an interview with two questions",
    "a post in a forum", "an encyclopaedia entry", "a blog post that argues for something",
    "a letter to a customer", "a paragraph of a contract", "an obituary", "a fact sheet",
    "a chat between two people", "a review", "a safety notice", "a speech",
    "a fact check of a rumour", "three questions with short answers",
)  # fmt: skip
PLACES = (
    "Bergen", "Lagos", "a small town in Ohio", "Osaka", "Scotland", "Buenos Aires", "Kerala",
    "Marseille", "Melbourne", "the Baltic coast", "Nairobi", "Toronto", "southern Italy",
    "Bangkok", "a village in Peru", "Istanbul", "Texas", "Prague", "Manila", "anywhere",
)  # fmt: skip

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


def read_topics() -> list[str]:
    """Return the subjects of invented texts."""
    text = (Path(__file__).parent / "topics.txt").read_text(encoding="utf-8")
    return [topic.strip() for line in text.splitlines() for topic in line.split(", ")]


def read_text(reply: str) -> str:
    """Return an invented text on one line: no headings, no marks, and no end that was cut off."""
    lines = [line.replace("**", "").strip() for line in reply.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("#", "---", "Title:"))]
    text = " ".join(kept)
    return text[: max(text.rfind(mark) for mark in ".!?") + 1]
