"""Gives the answers of a shard ids that no other shard can give, without asking the others.

An item goes by its question and conversation, and by everything else that is said of it, so that
shards which share a question share the item, and runs over the same questions can be compared. Its
samples are counted from the shard's own number. What a source is depends on the passages that one
file happens to hold, so its id carries the shard's number too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from claimwise.measuring.gather import NO_QUESTION
from claimwise.measuring.rows import (
    SystemAnswers,
    make_id,
    make_item,
    make_slug,
    name_source,
    read_attributes,
)
from claimwise.shards.values import JobSettings
from claimwise.text.ids import make_content_id
from claimwise.types.rows import Item, ItemAttribute, Row
from claimwise.types.traces import Trace

# Samples of one item in one shard; the number of a sample is at most a thousand million.
_SAMPLES: Final = 10_000
MOST_SHARDS: Final = 10**9 // _SAMPLES
_MOST_ID: Final = 200
# What is known of an item besides its question and its conversation.
_FACTS = ("query_type", "answerable", "stakes", "gold_answer", "domain")

Samples = Counter[tuple[str, str]]  # by run and item


class ShardItems:
    """Names the items of a run's answers; ``samples`` is shared by all runs of the shard."""

    def __init__(self, run_id: str, number: int, samples: Samples) -> None:
        self.rows: list[Row] = []
        self._run_id = run_id
        self._number = number
        self._samples = samples
        self._known: set[str] = set()

    def add(self, trace: Trace) -> tuple[str, int]:
        """Return the item and the sample of an answer."""
        item, attributes = make_item(trace), read_attributes(trace)
        item = msgspec.structs.replace(item, item_id=_name_item(trace, item, attributes))
        turn, sample = divmod(self._samples[self._run_id, item.item_id], _SAMPLES)
        self._samples[self._run_id, item.item_id] += 1
        if turn:  # a question that a file asks ten thousand times goes on as another item
            again = make_id("i1", [item.item_id, self._number, turn])
            item = msgspec.structs.replace(item, item_id=again)
        self._keep(item, attributes)
        return item.item_id, self._number * _SAMPLES + sample

    def _keep(self, item: Item, attributes: dict[str, str]) -> None:
        if item.item_id in self._known:
            return
        self._known.add(item.item_id)
        self.rows.append(item)
        self.rows += [
            ItemAttribute(item_id=item.item_id, name=name, value=value)
            for name, value in attributes.items()
        ]


def _name_item(trace: Trace, item: Item, attributes: dict[str, str]) -> str:
    """Return an item's id: by the question alone where nothing else is known of it.

    Answers without a question go by their passages, or they would all be one item's.
    """
    if trace.question == NO_QUESTION:
        passages = [[name_source(one), one.text] for one in trace.passages or ()]
        return make_id("i1", [msgspec.structs.asdict(item), attributes, passages])
    facts = [getattr(item, name) for name in _FACTS]
    if not attributes and all(fact is None for fact in facts):
        return item.item_id
    return make_id("i1", [item.item_id, facts, attributes])


def make_shard_runs(settings: JobSettings, traces: Iterable[Trace]) -> list[SystemAnswers]:
    """Return one run for each system that answered; all shards give it the same id.

    Where neither the file nor the user names the system, the run has the job's own id.
    """
    chosen = settings.options.get("system")
    systems: dict[str, list[Trace]] = {}
    for trace in traces:
        systems.setdefault("" if chosen else trace.system or "", []).append(trace)
    return [
        SystemAnswers(
            run_id=_name_run(settings.run_id, system),
            system=chosen or system or settings.run_id,
            model=None,
            started_at=settings.started_at,
            traces=tuple(answers),
        )
        for system, answers in systems.items()
    ]


def _name_run(run_id: str, system: str) -> str:
    if not system:
        return run_id
    slug = make_slug(system)
    if slug != system:  # two systems may look alike without what ids can't hold
        slug = f"{slug}-{make_content_id('m1', system)[3:9]}"
    return f"{run_id[: _MOST_ID - len(slug) - 1]}-{slug}"


class ShardRows:
    """Gives the rows of a shard's own store the ids and times that they have in the job."""

    def __init__(self, settings: JobSettings, tag: str) -> None:
        self._tag = tag
        self._corpus_ver = name_corpus(settings)
        at = settings.started_at.replace(tzinfo=None)
        self._same = {"labeled_at": at, "failed_at": at, "corpus_ver": self._corpus_ver}

    def rename(self, rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield rows with their final ids; a source that loses its own id keeps it as a title."""
        for row in rows:
            given = row.get("source_id")
            if "source_text" in row:
                row["title"] = row["title"] or given
            if given is not None:
                row["source_id"] = self._name_source(given)
            row.update((name, value) for name, value in self._same.items() if name in row)
            yield row

    def _name_source(self, given: str) -> str:
        named = f"{given}@{self._tag}"
        return named if len(named) <= _MOST_ID else make_content_id("s1", given, self._tag)


def name_corpus(settings: JobSettings) -> str:
    """Return the corpus version that the sources of all shards belong to."""
    return f"shards-{make_content_id('m1', settings.run_id)[3:15]}"
