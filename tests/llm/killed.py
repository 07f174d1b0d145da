"""What another process does with a cache until it is killed."""

from __future__ import annotations

import os
import signal

from claimwise.llm.client import make_key
from claimwise.store.replies import open_replies
from claimwise.types.llm import LlmCall, LlmReply, Usage


def make_call(name: str) -> LlmCall:
    return LlmCall(model="m:x", prompt="p@1", system="s", user=name)


def make_reply(name: str) -> LlmReply:
    usage = Usage(input_tokens=3, output_tokens=None)
    return LlmReply(text=f"reply to {name} · 中", served_by="x-1", usage=usage)


def put_and_die(place: str, name: str) -> None:
    """Die in the moment in which ``put`` has returned."""
    with open_replies(place) as replies:
        replies.put(make_key(make_call(name)), make_call(name), make_reply(name))
        os.kill(os.getpid(), signal.SIGKILL)


def put_many(place: str, names: list[str]) -> int:
    """Keep many replies; return how many are there for this process."""
    with open_replies(place) as replies:
        for name in names:
            replies.put(make_key(make_call(name)), make_call(name), make_reply(name))
        return sum(replies.get(make_key(make_call(name))) is not None for name in names)
