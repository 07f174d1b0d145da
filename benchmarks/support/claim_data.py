"""Makes a store of many runs with claims and labels, whose words are as uneven as language is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from unittest.mock import patch

import numpy as np

from claimwise.store import Store, list_views, migrations, open_store
from claimwise.store.claim_index import INDEXED_SINCE
from claimwise.types.rows import (
    Answer,
    Claim,
    Item,
    Label,
    Labeler,
    Row,
    Run,
    Source,
    Verdict,
    written_columns,
)

CLAIMS_PER_ITEM = 10
RUNS = 20
JUDGE, PERSON = "verifier:bench", "ana"
DOMAINS = ("billing", "delivery", "returns", "accounts", "hotline")
_SHARES = (0.4, 0.3, 0.2, 0.098, 0.002)  # of the domains: the last one is rare
_VERDICTS: tuple[Verdict, ...] = ("supported", "unlinked", "contradicted", "overreach", "stale")
_VERDICT_SHARES = (0.85, 0.07, 0.04, 0.03, 0.01)
_WORDS_PER_CLAIM = 12
_VOCABULARY = 30_000
_START = datetime.fromisoformat("2026-01-01")


def name_word(number: int) -> str:
    """Return a made-up word: the smaller the number, the more claims it is in."""
    syllables = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su", "ta", "ve", "ki", "zo")
    word = ""
    number += 14 * 14  # three syllables or more
    while number:
        number, rest = divmod(number, 14)
        word += syllables[rest]
    return word


def open_old_store(place: str) -> Store:
    """Make a store as the claimwise before the index of claims made it."""
    known, views = migrations.list_migrations(), list_views(kept=False)
    older = tuple(view for view in views if view[0] != "indexed_claims")
    with (
        patch.object(migrations, "list_migrations", lambda: known[: INDEXED_SINCE - 1]),
        patch.object(migrations, "list_views", lambda **_: older),
    ):
        return open_store(place, create=True)


def fill_claims(store: Store, claims: int, run_count: int = RUNS) -> None:
    """Fill a new store, unchecked, as fast as it goes."""
    items = claims // (run_count * CLAIMS_PER_ITEM)
    rng = np.random.default_rng(7)
    domains = rng.choice(DOMAINS, items, p=_SHARES)
    runs = [f"run-{number:02}" for number in range(run_count)]
    with store.write():
        _add(store, Source, (_make_source(n) for n in range(1000)))
        _add(store, Item, (_make_item(n, str(domains[n])) for n in range(items)))
        _add(store, Labeler, [Labeler(labeler=JUDGE, labeler_kind="verifier"),
                              Labeler(labeler=PERSON, labeler_kind="human")])  # fmt: skip
        _add(store, Run, (
            Run(run_id=run, system="bench", corpus_ver="v1", started_at=_START + timedelta(days=n))
            for n, run in enumerate(runs)
        ))  # fmt: skip
        for run in runs:
            _add(store, Answer, (
                Answer(run_id=run, item_id=f"item-{n:06}", answer_text="An answer.")
                for n in range(items)
            ))  # fmt: skip
            made = list(_make_claims(rng, run, items))
            _add(store, Claim, made)
            _add(store, Label, _make_labels(rng, made))


def _add(store: Store, kind: type[Row], rows: Sequence[Row] | Iterator[Row]) -> None:
    """Add rows by one statement, as an import does: what triggers do per statement is done once."""
    columns = written_columns(kind)
    listed = ", ".join(columns)
    store.execute(f"create temporary table staged as select {listed} from {kind.table} where false")
    store.insert_rows("staged", columns, (tuple(getattr(r, c) for c in columns) for r in rows))
    store.execute(f"insert into {kind.table} ({listed}) select {listed} from staged")
    store.execute("drop table staged")


def _make_source(number: int) -> Source:
    return Source(source_id=f"doc-{number}", corpus_ver="v1", source_text=f"Page {number}.")


def _make_item(number: int, domain: str) -> Item:
    return Item(
        item_id=f"item-{number:06}", query=f"What about {name_word(number * 5)}?",
        query_type=("lookup", "multi_hop")[number % 2], answerable=True, stakes="low",
        source_corpus_ver="v1", domain=domain,
    )  # fmt: skip


def _make_claims(rng: np.random.Generator, run: str, items: int) -> Iterator[Claim]:
    shape = (items * CLAIMS_PER_ITEM, _WORDS_PER_CLAIM)
    # Log-uniform ranks: the word of rank r is in about 1/r as many claims as the first.
    words = (np.exp(rng.random(shape) * np.log(_VOCABULARY)) - 1).astype(int)
    named = [name_word(number) for number in range(_VOCABULARY)]
    for place, ranks in enumerate(words.tolist()):
        item, position = divmod(place, CLAIMS_PER_ITEM)
        yield Claim(
            run_id=run, item_id=f"item-{item:06}", claim_id=f"c{position}", sample=0,
            position=position, claim_text=" ".join(named[rank] for rank in ranks).capitalize(),
            claim_type="factual", unit="atomic",
        )  # fmt: skip


def _make_labels(rng: np.random.Generator, claims: Sequence[Claim]) -> Iterator[Label]:
    """Yield a judge's label of all but every 50th claim, and a person's of one in 20."""
    count = len(claims)
    said = rng.choice(len(_VERDICTS), count, p=_VERDICT_SHARES).tolist()
    sources, certain = rng.integers(0, 1000, count), rng.random(count)
    labels = []
    for number, claim in enumerate(claims):
        for labeler, day in ((JUDGE, 1), (PERSON, 2)):
            if number % 50 == 0 or (labeler == PERSON and number % 20):
                continue
            verdict = _VERDICTS[said[number - (labeler == PERSON)]]
            labels.append(Label(
                run_id=claim.run_id, item_id=claim.item_id, claim_id=claim.claim_id,
                claim_text=claim.claim_text, claim_type="factual", verdict=verdict,
                supporting_span=None if verdict == "unlinked" else "Page",
                source_id=None if verdict == "unlinked" else f"doc-{sources[number]}",
                labeler=labeler, labeled_at=_START + timedelta(days=100 + day),
                label_kind="verifier" if labeler == JUDGE else "human",
                confidence=float(certain[number]) if labeler == JUDGE else None,
            ))  # fmt: skip
    yield from labels
