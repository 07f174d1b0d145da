"""The claims page over a million claims: how long a page takes, with a filter and a search.

A store of 20 runs, 1,000,000 claims with uneven words, a judge's labels and some of people. It is
made as the claimwise before the index made it, and then opened, which migrates it: that is timed.
Asked for are pages as the server makes them (find, count, fill the template), without HTTP: each
filter with words from very common to rare, in one run and in all, the first page and the next.
Rival: what a page without the index would do, the words by LIKE, the verdict from the deciding
labels, pages by OFFSET; over the same store, contradicted claims of all runs. Asked: p95 under
300 ms on SQLite and on PostgreSQL (its default settings; ours in a temporary folder, or --postgres
URL, an empty database).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np

from claimwise.accounts.values import Account
from claimwise.app.claims import show_claims
from claimwise.app.requests import Call
from claimwise.config import Project
from claimwise.store import Store, open_store
from support.claim_data import JUDGE, PERSON, fill_claims, name_word, open_old_store
from support.own_postgres import start_postgres

MOST_MS = 300.0
ENGINES = ("sqlite", "postgresql")
CLAIMS, QUICK_CLAIMS = 1_000_000, 10_000
WORDS = (0, 3, 30, 300, 3000)  # by how common they are
FILTERS: tuple[dict[str, str], ...] = (
    {"verdict": "contradicted"}, {"verdict": "unsupported"}, {"verdict": "supported"},
    {"group": "domain=billing"}, {"group": "domain=hotline"}, {"source": "doc-5"},
    {"judge": PERSON}, {"judge": JUDGE}, {"disputed": "any"}, {"reason": "not_judged"},
    {"verdict": "contradicted", "group": "domain=returns"},
)  # fmt: skip
RIVAL = """
    select c.run_id, c.item_id, c.claim_id, c.claim_text, d.verdict
    from claims as c
    join eval_items as e on e.item_id = c.item_id
    left join deciding_labels as d
        on d.run_id = c.run_id and d.item_id = c.item_id and d.claim_id = c.claim_id
    where d.verdict = 'contradicted'
        and (lower(c.claim_text) like :words or lower(e.query) like :words)
    order by d.confidence desc, c.item_id, c.claim_id
    limit 50 offset 50
"""


def list_links() -> Iterator[dict[str, str]]:
    """Yield what the links say: every filter with every word, in a run and in all."""
    for run in ("run-07", ""):
        for word in WORDS:
            for chosen in FILTERS:
                yield {"run": run, "q": name_word(word), **chosen}


class Took(NamedTuple):
    """Milliseconds by the clock, and of our own processor time, without a database server's."""

    wall: float
    processor: float


def make_page(store: Store, fields: dict[str, str]) -> tuple[Took, str | None]:
    """Make a page; return how long that took, and the link to the next one."""
    now = datetime.now(UTC).replace(tzinfo=None)
    call = Call(
        store=store, account=Account(account="ada", role="adjudicator", created_at=now),
        project=Project(Path()), now=now, url_path="/claims", query=fields,
    )  # fmt: skip
    start = time.perf_counter()
    processor = time.process_time()
    page = show_claims(call).body.decode()
    took = Took(1000 * (time.perf_counter() - start), 1000 * (time.process_time() - processor))
    marked = page.partition('rel="next" href="/claims?')[2].partition('"')[0]
    return took, marked.replace("&amp;", "&") or None


def time_pages(store: Store) -> list[Took]:
    make_page(store, {"run": "run-07"})  # templates are read once
    times = []
    for fields in list_links():
        took, following = make_page(store, fields)
        times.append(took)
        if following:
            times.append(make_page(store, dict(parse_qsl(following)))[0])
    return times


def time_rival(store: Store) -> list[float]:
    times = []
    for word in WORDS[1:4]:
        start = time.perf_counter()
        store.query(RIVAL, {"words": f"%{name_word(word)}%"})
        times.append(1000 * (time.perf_counter() - start))
    return times


def measure(place: str, claims: int) -> dict[str, Any]:
    with open_old_store(place) as store:
        fill_claims(store, claims)
        if store.engine_name == "postgresql":
            store.execute("analyze")
    start = time.perf_counter()
    with open_store(place) as store:
        migrated = time.perf_counter() - start
        pages, rival = time_pages(store), time_rival(store)
    return {
        "pages": len(pages),
        "median_ms": round(float(np.median([page.wall for page in pages])), 1),
        "p95_ms": round(float(np.percentile([page.wall for page in pages], 95)), 1),
        "max_ms": round(max(page.wall for page in pages), 1),
        "p95_processor_ms": round(float(np.percentile([p.processor for p in pages], 95)), 1),
        "rival_median_ms": round(float(np.median(rival)), 1),
        "migration_s": round(migrated, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_CLAIMS:,} claims")
    parser.add_argument("--claims", type=int, help=f"how many; {CLAIMS:,} by default")
    parser.add_argument("--postgres", help="URL of an empty database")
    parser.add_argument("--only", choices=ENGINES, help="one database alone")
    given = parser.parse_args()
    claims = given.claims or (QUICK_CLAIMS if given.quick else CLAIMS)
    found: dict[str, Any] = {"claims": claims}
    engines = [given.only] if given.only else ENGINES
    with ExitStack() as ends:
        for engine in engines:
            if engine == "sqlite":
                place = f"{ends.enter_context(tempfile.TemporaryDirectory())}/store.db"
            else:
                place = given.postgres or ends.enter_context(start_postgres())
            found[engine] = measure(place, claims)
            told = ", ".join(f"{name} {value}" for name, value in found[engine].items())
            print(f"{engine}: {told}", flush=True)
    found["holds"] = all(found[engine]["p95_ms"] <= MOST_MS for engine in engines)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
