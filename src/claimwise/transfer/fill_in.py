"""Makes the rows that a file of labels takes for granted: documents, runs, answers and claims.

The measuring spec keeps a golden set in four tables: items, gold spans, labels of claims, and what
the system did. Ours keep more. What those four say is enough to make the rest: a document holds at
least the spans that are quoted from it, an answer at least the claims that were labelled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from claimwise.report.format import join_words, pluralize
from claimwise.store import Store
from claimwise.types.rows import (
    ActionEntry,
    Answer,
    Claim,
    GoldSpan,
    Item,
    Label,
    Placed,
    Row,
    Run,
    RunAction,
    Source,
)

_NAMES: Final[dict[type[Row], str]] = {
    Source: "document", Run: "run", Answer: "answer", Claim: "claim", ActionEntry: "log entry",
}  # fmt: skip
_BETWEEN: Final = "\n\n"
Key = tuple[str, ...]


def fill_in(store: Store, rows: Sequence[Placed]) -> tuple[list[Placed], str | None]:
    """Return rows with those that they refer to and that are nowhere; and in words what was made.

    Documents are made of the spans that are quoted from them, runs of their names, answers and
    claims of the labels. What is in the store, or among the rows, is never made again.
    """
    made = list(_make_rows(_Known(store, rows), rows))
    if not made:
        return list(rows), None
    counts = Counter(type(placed.row) for placed in made)
    told = join_words([pluralize(counts[t], name) for t, name in _NAMES.items() if counts[t]])
    warning = f"made from what the files say: {told}"
    if counts[Source]:
        warning += "; documents hold the quoted spans alone, so judges can't find more in them"
    return [*made, *rows], warning


class _Known:
    """What the store and the rows have already."""

    def __init__(self, store: Store, rows: Sequence[Placed]) -> None:
        given = [placed.row for placed in rows]
        self.items: dict[str, str] = dict(
            store.query("select item_id, source_corpus_ver from eval_items")
        )
        self.items |= {r.item_id: r.source_corpus_ver for r in given if isinstance(r, Item)}
        self.runs: dict[str, str] = dict(store.query("select run_id, corpus_ver from runs"))
        self.runs |= {r.run_id: r.corpus_ver for r in given if isinstance(r, Run)}
        self._keys = {_find_key(row) for row in given}
        for row_type in (Source, Answer, Claim, ActionEntry):
            named = ", ".join(row_type.key)
            for key in store.query(f"select {named} from {row_type.table}"):
                self._keys.add((row_type.kind, *map(str, key)))

    def add(self, row: Row) -> bool:
        """Remember a row; return whether it is new."""
        key = _find_key(row)
        is_new = key not in self._keys
        self._keys.add(key)
        return is_new


def _find_key(row: Row) -> Key:
    return (row.kind, *(str(getattr(row, name)) for name in row.key))


def _make_rows(known: _Known, rows: Sequence[Placed]) -> Iterator[Placed]:
    yield from _make_runs(known, rows)
    candidates = [*_make_sources(known, rows), *_make_answers(rows)]
    for placed in candidates:
        if known.add(placed.row):
            yield placed


def _make_runs(known: _Known, rows: Sequence[Placed]) -> Iterator[Placed]:
    """Yield runs that only labels or actions name: on the corpus of most of their items."""
    named: defaultdict[str, list[Placed]] = defaultdict(list)
    for placed in rows:
        if isinstance(placed.row, Label | RunAction) and placed.row.run_id not in known.runs:
            named[placed.row.run_id].append(placed)
    for run_id, places in named.items():
        own = [placed.row for placed in places]
        corpora = Counter(
            known.items[row.item_id]
            for row in own
            if isinstance(row, Label | RunAction) and row.item_id in known.items
        )
        if not corpora:
            continue  # of no known item: the import says so
        times = [_to_utc(row.labeled_at) for row in own if isinstance(row, Label)]
        corpus_ver = min(corpora, key=lambda name: (-corpora[name], name))
        started_at = min(times, default=datetime.now(UTC))
        known.runs[run_id] = corpus_ver
        run = Run(run_id=run_id, system="unknown", corpus_ver=corpus_ver, started_at=started_at)
        yield places[0]._replace(row=run)


def _to_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _make_sources(known: _Known, rows: Sequence[Placed]) -> Iterator[Placed]:
    """Yield documents of the spans that are quoted from them, in the order of the files."""
    quoted: defaultdict[tuple[str, str], dict[str, Placed]] = defaultdict(dict)
    for placed in rows:
        row = placed.row
        if isinstance(row, GoldSpan) and row.item_id in known.items:
            quoted[row.source_id, known.items[row.item_id]].setdefault(row.span_text, placed)
        elif isinstance(row, Label) and row.source_id and row.run_id in known.runs:
            key = (row.source_id, known.runs[row.run_id])
            quoted[key].setdefault(row.supporting_span or "", placed)
    for (source_id, corpus_ver), spans in quoted.items():
        text = _BETWEEN.join(filter(None, spans))
        source = Source(source_id=source_id, corpus_ver=corpus_ver, source_text=text)
        yield next(iter(spans.values()))._replace(row=source)


def _make_answers(rows: Sequence[Placed]) -> Iterator[Placed]:
    """Yield answers that hold the labelled claims, the claims, and the log entries they quote."""
    labelled: defaultdict[tuple[str, str], dict[str, Placed]] = defaultdict(dict)
    for placed in rows:
        if isinstance(placed.row, Label) and placed.row.claim_id and placed.row.claim_text:
            key = (placed.row.run_id, placed.row.item_id)
            labelled[key].setdefault(placed.row.claim_id, placed)
    for (run_id, item_id), claims in labelled.items():
        labels = [p.row for p in claims.values() if isinstance(p.row, Label)]
        text = "\n".join(label.claim_text or "" for label in labels)
        place = next(iter(claims.values()))
        yield place._replace(row=Answer(run_id=run_id, item_id=item_id, answer_text=text))
        for number, label in enumerate(labels):
            yield place._replace(row=_make_claim(label, number))
            if label.claim_type == "action" and label.supporting_span:
                entry = ActionEntry(
                    run_id=run_id,
                    item_id=item_id,
                    entry_id=f"label-{number}",
                    entry_text=label.supporting_span,
                )
                yield place._replace(row=entry)


def _make_claim(label: Label, position: int) -> Claim:
    return Claim(
        run_id=label.run_id,
        item_id=label.item_id,
        claim_id=label.claim_id,
        position=position,
        claim_text=label.claim_text or "",
        claim_type=label.claim_type or "factual",
    )
