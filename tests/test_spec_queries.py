"""The two queries of the measuring spec, typed into sqlite3 and psql, against our figures."""

from __future__ import annotations

import subprocess

import pytest

from claimwise.metrics import estimate_metric, load_metrics
from claimwise.metrics.counting import write_counted
from claimwise.store import Store, open_store

pytestmark = pytest.mark.each_engine

FAITHFULNESS = """
SELECT e.query_type, e.stakes,
COUNT(*) AS total_claims,
SUM(CASE WHEN c.verdict = 'supported' THEN 1 END) AS supported,
ROUND(AVG(CASE WHEN c.verdict = 'supported' THEN 1.0 ELSE 0 END), 3)
AS faithfulness
FROM claim_labels c
JOIN eval_items e ON e.item_id = c.item_id
WHERE c.run_id =:run_id
GROUP BY e.query_type, e.stakes
ORDER BY faithfulness ASC; -- worst slices first
"""

ABSTENTION = """
SELECT
ROUND(AVG(CASE WHEN NOT e.answerable AND r.action = 'abstain' THEN 1.0
WHEN NOT e.answerable THEN 0 END), 3) AS correct_abstention_rate,
ROUND(AVG(CASE WHEN e.answerable AND r.action = 'abstain' THEN 1.0
WHEN e.answerable THEN 0 END), 3) AS over_refusal_rate
FROM run_actions r
JOIN eval_items e ON e.item_id = r.item_id
WHERE r.run_id =:run_id;
"""


def type_into_shell(place: str, sql: str, run_id: str) -> list[list[str]]:
    """Run a query in the database's own shell and return its rows."""
    if place.startswith("postgresql"):
        url, _, schema = place.partition("?schema=")
        # psql puts a variable's text in the place of its name, quotes and all.
        script = f"\\set run_id '''{run_id}'''\nset search_path to {schema or 'public'};\n{sql}"
        command = ["psql", url, "-X", "-q", "-A", "-t", "-F", "|"]
    else:
        script = f".parameter set :run_id \"'{run_id}'\"\n.mode list\n{sql}"
        command = ["sqlite3", place]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [line.split("|") for line in done.stdout.splitlines() if line]


def slices(place: str, run_id: str) -> dict[tuple[str | None, ...], tuple[int, int, float]]:
    with open_store(place) as store:
        metric = load_metrics()["faithfulness"]
        table = estimate_metric(store, metric, run_id, ("query_type", "stakes"))
    return {
        (row.slice["query_type"], row.slice["stakes"]): (
            row.claims,
            round(row.numerator),
            row.micro,
        )
        for row in table.slices
        if row.micro is not None
    }


def assert_same(rows: list[list[str]], place: str, run_id: str) -> None:
    ours = slices(place, run_id)
    assert len(rows) == len(ours)
    rates = [float(row[4]) for row in rows]
    assert rates == sorted(rates)
    for query_type, stakes, total, supported, rate in rows:
        claims, hits, micro = ours[query_type, stakes]
        assert (int(total), int(supported or 0)) == (claims, hits)
        assert float(rate) == pytest.approx(micro, abs=0.0005)


@pytest.mark.parametrize("run_id", ["baseline", "candidate"])
def test_faithfulness_as_it_stands(demo_place: str, run_id: str) -> None:
    """The demo has up to four labels per claim; each claim counts once all the same."""
    rows = type_into_shell(demo_place, FAITHFULNESS, run_id)
    assert len(rows) >= 14
    assert_same(rows, demo_place, run_id)


def test_every_label_is_kept_beside_the_deciding_one(demo_store: Store) -> None:
    [[every, deciding]] = demo_store.query(
        "select (select count(*) from labels), (select count(*) from claim_labels)"
    )
    assert every > 2 * deciding > 0
    columns = ", ".join(demo_store.describe("select * from deciding_labels"))
    assert demo_store.query(f"select {columns} from claim_labels order by 1, 2, 3") == (
        demo_store.query(f"select {columns} from deciding_labels order by 1, 2, 3")
    )


@pytest.mark.parametrize("run_id", ["baseline", "candidate"])
def test_abstention_as_it_stands(demo_place: str, run_id: str) -> None:
    [[correct, over]] = type_into_shell(demo_place, ABSTENTION, run_id)
    with open_store(demo_place) as store:
        pair = estimate_metric(store, load_metrics()["abstention"], run_id).overall
    assert [row.slice["measure"] for row in pair] == ["correct_abstention", "over_refusal"]
    assert float(correct) == pytest.approx(pair[0].micro, abs=0.0005)
    assert float(over) == pytest.approx(pair[1].micro, abs=0.0005)


def test_printed_sql_runs_in_the_shell(demo_place: str) -> None:
    """What `claimwise sql` prints is what runs."""
    for metric in load_metrics().values():
        assert type_into_shell(demo_place, write_counted(metric) + ";", "baseline"), metric.name
