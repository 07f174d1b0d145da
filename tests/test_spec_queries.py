"""The two queries of the measuring spec, typed into sqlite3 and psql, against our figures."""

from __future__ import annotations

import subprocess

import pytest

from claimwise.measure import estimate_metric, load_metrics
from claimwise.store import Store, open_store

FAITHFULNESS = """
SELECT e.query_type, e.stakes,
COUNT(*) AS total_claims,
SUM(CASE WHEN c.verdict = 'supported' THEN 1 END) AS supported,
ROUND(AVG(CASE WHEN c.verdict = 'supported' THEN 1.0 ELSE 0 END), 3)
AS faithfulness
FROM {labels} c
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
        script = f"\\set run_id '''{run_id}'''\nset search_path to {schema};\n{sql}"
        command = ["psql", url, "-X", "-q", "-A", "-t", "-F", "|"]
    else:
        script = f".parameter set :run_id \"'{run_id}'\"\n.mode list\n{sql}"
        command = ["sqlite3", place]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [line.split("|") for line in done.stdout.splitlines() if line]


@pytest.fixture
def single_labels(store: Store, place: str) -> str:
    """A store with one label per claim, so that claim_labels itself can be asked."""
    from small_data import answer, item, label, load, run

    records = [run(), run("noise")]
    for number in range(40):
        name = f"i{number}"
        kind = ("lookup", "multi_hop", "aggregation", "ambiguous")[number % 4]
        stakes = ("low", "medium", "high")[number % 3]
        records += [item(name, query_type=kind, stakes=stakes), answer(name, "one", "two", "three")]
        records.append(answer(name, "one", run_id="noise", action="abstain"))
        for position, text in enumerate(("one", "two", "three")):
            bad = (number * 7 + position * 3) % 5 == 0
            records.append(label(name, text, "unlinked" if bad else "supported"))
    load(store, *records)
    return place


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


def test_faithfulness_as_it_stands(single_labels: str) -> None:
    rows = type_into_shell(single_labels, FAITHFULNESS.format(labels="claim_labels"), "r")
    assert len(rows) == 12
    assert_same(rows, single_labels, "r")


@pytest.mark.parametrize("run_id", ["baseline", "candidate"])
def test_faithfulness_over_deciding_labels(demo_place: str, run_id: str) -> None:
    sql = FAITHFULNESS.format(labels="deciding_labels")
    rows = type_into_shell(demo_place, sql, run_id)
    assert len(rows) >= 14
    assert_same(rows, demo_place, run_id)


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
        assert type_into_shell(demo_place, metric.sql + ";", "baseline"), metric.name
