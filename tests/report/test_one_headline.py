"""One rate, on one basis, wherever it is shown: report, metrics, compare, gate and app."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from claimwise.accounts.values import Account
from claimwise.app.compare import show_compare, show_drift
from claimwise.app.dashboard import show_dashboard
from claimwise.app.requests import Call
from claimwise.app.runs import show_run
from claimwise.cli.main import run as run_command
from claimwise.config import find_project
from claimwise.labelling.draw import draw_round
from claimwise.labelling.rounds import add_guide
from claimwise.report.format import show_percent, show_points
from claimwise.store import Store, open_store
from small_data import SOURCE, answer, closed_label, item, label, load, run, source

NOW = datetime(2026, 11, 15, 12)  # noqa: DTZ001 - stores keep times in UTC without a zone
JUDGE = "verifier:embedded-7"
STRANGER = "judge:closed-book@1:some-model"
GATE = '[[gates]]\nname = "floor"\nmetric = "faithfulness"\nmin = 0.1\n'


def load_runs(store: Store, *labelers: str, items: int = 30, people: int | None = None) -> None:
    """Load two runs of two claims per item; the judge refuses more in both than people do.

    People label the first items alone where ``people`` says how many.
    """
    wrong = {"ana": (6, 3), JUDGE: (12, 9)}
    load(store, source(),
         *(item(f"i{n}", query_type="multi_hop" if n < 12 else "lookup") for n in range(items)),
         {"type": "labelers", "labeler": JUDGE, "labeler_kind": "verifier", "model": "encoder",
          "prompt_ver": "p7"})  # fmt: skip
    for place, run_id in enumerate(("before", "r")):
        records = [run(run_id, started_at=f"2026-01-0{place + 1}T00:00:00Z")]
        for number in range(items):
            name, texts = f"i{number}", (f"good i{number}", f"claim i{number}")
            records.append(answer(name, *texts, run_id=run_id))
            for labeler in labelers:
                if labeler == "ana" and people is not None and number >= people:
                    continue
                records += [
                    label(name, text,
                          "contradicted" if text[0] == "c" and number < wrong[labeler][place]
                          else "supported", run_id=run_id, labeler=labeler,
                          label_kind="verifier" if ":" in labeler else "human",
                          supporting_span=SOURCE[:24], source_id="doc")
                    for text in texts
                ]  # fmt: skip
        load(store, *records)


def label_round(store: Store, run_id: str, size: int = 24) -> None:
    """Let people label a round drawn over the judge's verdicts, and find nothing wrong."""
    drawn = draw_round(
        store, run_id, "grounded", title=None, verifier=JUDGE, size=size, overlap=0.0, seed=1,
        created_by="amy", guide_version="g1", now=NOW, again=False,
    )  # fmt: skip
    store.execute_all([
        ("insert into labels (run_id, item_id, claim_id, claim_text, claim_type, verdict, labeler, "
         "labeled_at, label_kind) select c.run_id, c.item_id, c.claim_id, c.claim_text, "
         "'factual', 'supported', 'ana', :now, 'human' from annotation_tasks as t join claims as c "
         "on c.run_id = t.run_id and c.item_id = t.item_id and c.claim_id = t.claim_id "
         "where t.round_id = :round_id", {"now": NOW, "round_id": drawn.round_id}),
        ("update annotation_slots set state = 'done', labeler = 'ana' where task_id in "
         "(select task_id from annotation_tasks where round_id = :round_id)",
         {"round_id": drawn.round_id}),
    ])  # fmt: skip


def fill_rounds(store: Store) -> None:
    load_runs(store, JUDGE)
    load(store, {"type": "labelers", "labeler": "ana", "labeler_kind": "human"})
    add_guide(store, "g1", "Judge fairly.", NOW)
    for run_id in ("before", "r"):
        label_round(store, run_id)


STORES: dict[str, tuple[Callable[[Store], None], str]] = {
    "people only": (lambda store: load_runs(store, "ana"), "people"),
    "people, and a judge on the rest": (lambda store: load_runs(store, "ana", JUDGE, people=27),
                                        "people"),
    "judge only": (lambda store: load_runs(store, JUDGE), "judge_only"),
    "judge, and a labelled round": (fill_rounds, "corrected"),
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a gate, whose store is still empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    (tmp_path / "claimwise.toml").write_text(f'[store]\npath = "store.db"\n{GATE}')
    return tmp_path


def make_store(fill: Callable[[Store], None]) -> None:
    with open_store("store.db", create=True) as store:
        fill(store)


def read(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    run_command(list(arguments))
    return capsys.readouterr().out


def read_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(read(capsys, *arguments, "--format", "json"))


def read_page(show: Callable[[Call], Any], **more: Any) -> str:
    with open_store("store.db") as store:
        account = Account(account="maria", role="admin", created_at=NOW)
        call = Call(store=store, account=account, project=find_project(Path()), now=NOW, **more)
        body = show(call).body.decode()
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("kind", STORES)
def test_every_screen_shows_the_same_rate(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill, basis = STORES[kind]
    make_store(fill)
    check_screens(basis, capsys)


def check_screens(basis: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = read_json(capsys, "report", "--run", "r")
    metrics = read_json(capsys, "metrics", "--run", "r", "--by", "")
    compared = read_json(capsys, "compare", "before", "r")
    gate = read_json(capsys, "gate", "--run", "r")["gates"][0]["slices"][0]
    headline = report["headline"]
    rate = headline["rate"]
    assert headline["basis"] == basis
    for found in (metrics["headline"], compared["headline"]["new"]):
        assert {name: found[name] for name in headline} == headline
    assert gate["rate"] == pytest.approx(rate)
    assert gate["basis"] == basis
    assert compared["headline"]["change"] == report["change"]
    assert report["change"]["basis"] == basis

    shown = show_percent(rate)
    assert f"Supported     {shown} of claims" in read(capsys, "metrics", "--run", "r", "--by", "")
    assert f"Supported     {shown} of claims" in read(capsys, "report", "--run", "r")
    assert f"Supported     {shown} of claims" in read(capsys, "report", "--run", "r", "--full")
    assert f" to {shown} (" in read(capsys, "compare", "before", "r")
    assert f"Supported claims {shown} " in read_page(show_dashboard)
    assert f"Supported claims {shown} " in read_page(show_run, path={"run_id": "r"})

    # Tables count people's labels or a judge's: none is a mixture, and corrected rates stand apart.
    row = next(one for one in metrics["overall"] if one["metric"] == "faithfulness")
    assert row["basis"] == ("people" if basis == "people" else "judge_only")
    assert row["judges"] == ([] if basis == "people" else [JUDGE])
    if basis != "corrected":
        assert row["micro"] == pytest.approx(rate)
        moved = next(one for one in compared["metrics"] if one["metric"] == "faithfulness")
        assert moved["overall"][0]["change"] == pytest.approx(report["change"]["change"])


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("kind", STORES)
def test_groups_are_held_against_the_whole_by_the_same_labels(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where that is not the headline, every screen says whose labels, and what they say overall."""
    fill, basis = STORES[kind]
    make_store(fill)
    report = read_json(capsys, "report", "--run", "r")
    assert report["worst_groups"]
    assert all(group["rate"] < group["overall"] for group in report["worst_groups"])
    rate, overall = report["headline"]["rate"], report["worst_groups"][0]["overall"]
    told = f"y {JUDGE} alone, which calls {show_percent(overall)} of all claims supported"
    screens = [
        " ".join(read(capsys, "report", "--run", "r").split()),
        read(capsys, "report", "--run", "r", "--format", "markdown"),
        " ".join(read(capsys, "report", "--run", "r", "--full").split()),
        read(capsys, "report", "--run", "r", "--full", "--format", "markdown"),
        html.unescape(read(capsys, "report", "--run", "r", "--format", "html")),
        read_page(show_dashboard),
        read_page(show_run, path={"run_id": "r"}, query={"tab": "groups"}),
    ]
    assert (overall == pytest.approx(rate)) == (basis != "corrected")
    for screen in screens:
        assert (told in screen) == (basis == "corrected"), screen
    told = f"People's labels correct the one rate of r, {show_percent(rate)}; its other figures"
    for screen in (
        " ".join(read(capsys, "compare", "before", "r").split()),
        " ".join(read(capsys, "drift", "before", "r").split()),
        read_page(show_compare, query={"base": "before", "new": "r"}),
        read_page(show_drift, query={"base": "before", "new": "r"}),
    ):
        assert (told in screen) == (basis == "corrected"), screen
    metrics = read_page(show_run, path={"run_id": "r"}, query={"tab": "metrics"})
    told = f"corrected by people's labels; {JUDGE} alone says {show_percent(overall)}"
    assert (told in metrics) == (basis == "corrected")
    if basis == "corrected":  # no level beside the headline's that would pass for better than it
        worst = report["worst_groups"][0]["rate"]
        assert f"Worst group {show_points(worst - overall)} points" in screens[-2]


@pytest.mark.parametrize("kind", ["people only", "judge only", "judge, and a labelled round"])
def test_every_screen_weighs_items_alike(
    kind: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that is wrong is in multi-hop questions, a tenth of the traffic: 12 of 30 items here."""
    fill, basis = STORES[kind]
    make_store(fill)
    plain = read_json(capsys, "report", "--run", "r")
    with (project / "claimwise.toml").open("a") as file:
        file.write("[weights]\nquery_type = { lookup = 0.9, multi_hop = 0.1 }\n")
    check_screens(basis, capsys)
    report = read_json(capsys, "report", "--run", "r")
    headline = report["headline"]
    # Factors of 0.1 * 30 / 12 and 0.9 * 30 / 18 on two claims per item.
    effect = 30 * (12 * 0.25**2 + 18 * 1.5**2) / 30**2
    assert headline["weighting"] == {"column": "query_type",
                                     "design_effect": pytest.approx(effect, abs=0.06)}  # fmt: skip
    assert plain["headline"]["weighting"] is None
    if basis == "corrected":  # people find nothing wrong in their sample
        assert headline["rate"] == 1.0
        assert headline["low"] < plain["headline"]["low"]
    else:
        assert headline["rate"] > plain["headline"]["rate"] + 0.02
    if basis == "judge_only":  # the judge's error is in the range, on top of what sampling says
        assert headline["low"] < headline["sampling_low"] - 0.1
    gate = read_json(capsys, "gate", "--run", "r")["gates"][0]
    told = "weighted by query_type (design effect 1.3"  # 1.38 of all claims, 1.39 of people's
    assert told[1:] in gate["notes"][0]
    for arguments in (["metrics", "--run", "r"], ["report", "--run", "r"],
                      ["report", "--run", "r", "--full"], ["compare", "before", "r"],
                      ["drift", "before", "r"], ["plan"]):  # fmt: skip
        assert told[1:] in " ".join(read(capsys, *arguments).split()), arguments
    assert told in read_page(show_run, path={"run_id": "r"})
    # The whole movement is what the weighted rates of both runs differ by.
    drift = read_json(capsys, "drift", "before", "r")["drifts"][0]
    if basis == "people" and not headline["unscored"]:
        assert drift["new_rate"] == pytest.approx(headline["rate"])
        assert drift["change"] == pytest.approx(report["change"]["change"])


@pytest.mark.usefixtures("project")
def test_a_judge_stands_beside_its_figures_wherever_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its agreement is of the whole store: people labelled the earlier run alone."""

    def fill(store: Store) -> None:
        load_runs(store, JUDGE)
        load(store, *(label(f"i{n}", f"good i{n}", "supported", run_id="before")
                      for n in range(20)))  # fmt: skip
        load(store, closed_label("i0", "good i0", "true", labeler=STRANGER, label_kind="verifier"))

    make_store(fill)
    known = f"{JUDGE} (encoder, prompt p7)"
    agrees = "agrees with people on 100%"
    for arguments in (["metrics", "--run", "r"], ["compare", "before", "r"],
                      ["drift", "before", "r"], ["report", "--run", "r", "--full"]):  # fmt: skip
        told = " ".join(read(capsys, *arguments).split())
        assert known in told, arguments
        assert agrees in told, arguments
    metrics = read_json(capsys, "metrics", "--run", "r")
    notes = {one["labeler"]: one for one in metrics["judges"]}
    assert notes[JUDGE]["agreement"]["claims"] == 20
    assert notes[STRANGER]["agreement"] is None
    assert notes[STRANGER]["agreement_text"] == "not yet checked against people"
    told = " ".join(read(capsys, "metrics", "--run", "r").split())
    assert f"{STRANGER}, for factual precision: not yet checked against people" in told
    assert "Label 40 claims, about 15 minutes: claimwise annotate --run r --size 40" in told
    for command in ("compare", "drift"):
        document = read_json(capsys, command, "before", "r")
        found = document if command == "compare" else document["drifts"][0]
        assert found["judges"][0]["agreement"]["rate"] == 1.0
    assert "claimwise annotate --run r --size 40" in " ".join(
        read(capsys, "compare", "before", "r").split()
    )


@pytest.mark.usefixtures("project")
def test_runs_on_different_labels_are_compared_by_a_judge_of_both(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """People labelled the earlier run alone, the judge both: their rates are no pair, its are."""

    def fill(store: Store) -> None:
        load_runs(store, "ana", JUDGE)
        store.execute_all([("delete from labels where run_id = 'r' and labeler = 'ana'", {})])

    make_store(fill)
    found = read_json(capsys, "compare", "before", "r")
    pair = found["headline"]
    assert (pair["base"]["basis"], pair["new"]["basis"]) == ("people", "judge_only")
    assert (pair["change"]["basis"], pair["change"]["judge"]) == ("judge_only", JUDGE)
    assert pair["change"]["change"] == pytest.approx(3 / 60)  # 12 and 9 refused, of 60 claims
    faithfulness = found["metrics"][0]["overall"][0]
    assert (faithfulness["base"], faithfulness["new"]) == (48 / 60, 51 / 60)
    assert read_json(capsys, "report", "--run", "r")["change"] == pair["change"]
    assert f"by {JUDGE} in both runs since run before" in " ".join(
        read(capsys, "report", "--run", "r").split()
    )
