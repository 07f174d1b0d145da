"""A reader: chats as plain text.

#chatlog
chat: t1
question: How long do I have?
passage: Refunds are possible for 30 days.
answer: You have 60 days.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from claimwise.plugins import Passage, Plugin, Problem, RecordKind, Records, Trace, refuse

_FIRST_LINE = "#chatlog"
_KEYS = ("chat", "question", "passage", "answer")
_MOST_BYTES = 64 * 1024 * 1024

Chat = tuple[int, list[tuple[str, str]]]


class ChatlogReader:
    """Reads one trace per chat."""

    yields: RecordKind = "traces"

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Go by the first line: nothing else begins so."""
        return 0.9 if head.startswith(_FIRST_LINE.encode()) else None

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield a trace for every chat, or a problem for one without a question or an answer."""
        for line, parts in _split_chats(path):
            values = dict(parts)
            if not values.get("question") or not values.get("answer"):
                yield line, Problem(
                    path=str(path), line=line, field=None, found="a chat without a question or an "
                    "answer", expected="both",
                )  # fmt: skip
                continue
            passages = tuple(Passage(text=text) for key, text in parts if key == "passage")
            yield (
                line,
                Trace(
                    origin="trace",
                    place=str(path),
                    question=values["question"],
                    answer=values["answer"],
                    passages=passages,
                    trace_id=values["chat"],
                ),
            )


def _split_chats(path: Path) -> Iterator[Chat]:
    if path.stat().st_size > _MOST_BYTES:
        raise refuse(path, "over 64 MB", "a smaller file: split it")
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise refuse(path, str(error), "UTF-8 text") from error
    chat: Chat | None = None
    for number, line in enumerate(lines, start=1):
        key, colon, text = line.partition(":")
        if not line.strip() or line.startswith("#"):
            continue
        if not colon or key not in _KEYS or (chat is None and key != "chat"):
            raise refuse(
                path, repr(line[:40]), f"one of {', '.join(_KEYS)}, and a colon", line=number
            )
        if key == "chat":
            if chat is not None:
                yield chat
            chat = (number, [])
        if chat is not None:
            chat[1].append((key, text.strip()))
    if chat is not None:
        yield chat


CHATLOG = Plugin(description="chats as plain text that begins with #chatlog", load=ChatlogReader)
