"""The first screen: the headline and what it rests on, and what the text makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len

from claimwise.calibration.headline import Headline, find_headline
from claimwise.config import find_project
from claimwise.labelling.draw import draw_round
from claimwise.labelling.rounds import add_guide
from claimwise.metrics import load_metrics
from claimwise.run_report import build_summary, format_summary, summary_to_document
from claimwise.run_report.summary import summarize_project
from claimwise.store import Store, open_store
from claimwise.store.runs import find_previous_run
from claimwise.types.results import Settings
from small_data import SOURCE, answer, closed_label, item, label, load, run, source

NOW = datetime(2026, 11, 15, 12)  # noqa: DTZ001 - stores keep times in UTC without a zone

JUDGE = "verifier:embedded-7"
STRANGER = "judge:grounded@2:some-model"
HOSTILE = "<script>alert('x')</script> \x1b[31mred\u202e\n**bold** [a](http://evil.test)"


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Store]:
    """An empty store in a file."""
    with open_store(tmp_path / "store.db", create=True) as opened:
        yield opened


def load_run(
    store: Store,
    said: dict[str, Iterable[int]],
    *,
    run_id: str = "r",
    items: int = 20,
    day: int = 1,
) -> None:
    """Load a run of two claims per item; each labeler calls those of some items unsupported."""
    records = [source(), run(run_id, started_at=f"2026-01-{day:02}T00:00:00Z")]
    for number in range(items):
        name = f"i{number}"
        records += [
            item(name, query_type="lookup" if number % 2 else "multi_hop"),
            answer(name, f"good {name}", f"claim {name}", run_id=run_id),
        ]
        for labeler, wrong in said.items():
            for text in (f"good {name}", f"claim {name}"):
                bad = text.startswith("claim") and number in wrong
                records.append(
                    label(
                        name, text, "contradicted" if bad else "supported", run_id=run_id,
                        labeler=labeler, label_kind="verifier" if ":" in labeler else "human",
                        reason="the source says 139 m, the claim 999 m" if bad else None,
                        supporting_span=SOURCE[:24], source_id="doc",
                    )
                )  # fmt: skip
    load(store, *records)


def read_headline(store: Store, labels: str = "default") -> Headline:
    return find_headline(store, load_metrics(), "r", Settings(labels=labels))


def test_people_on_every_claim_are_the_headline(files: Store) -> None:
    load_run(files, {"ana": range(4), JUDGE: range(10)})
    found = read_headline(files)
    assert (found.basis, found.rate, found.unscored) == ("people", 0.9, 0)
    assert (found.low, found.high) == (found.sampling_low, found.sampling_high)


def test_a_mixture_of_people_and_judge_is_never_the_headline(files: Store) -> None:
    """People labelled 22 of 24 claims, and the judge the rest."""
    load_run(files, {JUDGE: range(10)}, items=12)
    for number in range(11):
        for text in (f"good i{number}", f"claim i{number}"):
            load(files, label(f"i{number}", text, "supported"))
    found = read_headline(files)
    assert (found.basis, found.rate, found.unscored) == ("people", 1.0, 2)
    # The two claims that they left out may all be wrong.
    assert found.low is not None
    assert found.sampling_low is not None
    assert found.low == pytest.approx(found.sampling_low * 22 / 24)


def test_a_few_labels_outside_any_sample_leave_the_judge(files: Store) -> None:
    load_run(files, {JUDGE: range(4)})
    load(files, label("i9", "claim i9", "contradicted"))
    found = read_headline(files)
    assert (found.basis, found.rate, found.judge) == ("judge_only", 0.9, JUDGE)


def test_judge_only_range_contains_the_judges_error(files: Store) -> None:
    load_run(files, {JUDGE: range(4)})
    found = read_headline(files)
    assert found.low is not None
    assert found.high is not None
    assert found.sampling_low is not None
    assert found.sampling_high is not None
    assert found.low < found.sampling_low - 0.2
    assert found.high > found.sampling_high
    assert "judge only (verifier:embedded-7)" in format_summary(build_summary(files, "r"))


def test_a_judge_without_a_card_has_no_range_and_says_why(files: Store) -> None:
    load_run(files, {STRANGER: range(4)})
    found = read_headline(files)
    assert (found.basis, found.rate, found.low, found.high) == ("judge_only", 0.9, None, None)
    text = " ".join(format_summary(build_summary(files, "r")).split())
    assert "90% of claims (no range)" in text
    assert f"no range: nobody has measured on labelled sets how far {STRANGER}" in text
    assert "not yet checked against people" in text
    assert "Label the 40 claims: claimwise annotate --run r" in text


def test_two_judges_have_no_range(files: Store) -> None:
    load_run(files, {JUDGE: range(4)}, items=10)
    for number in range(10, 20):
        load(files, item(f"i{number}"), answer(f"i{number}", "a claim"),
             label(f"i{number}", "a claim", "supported", labeler=STRANGER,
                   label_kind="verifier"))  # fmt: skip
    found = read_headline(files)
    assert (found.basis, found.judge, found.low) == ("judge_only", None, None)
    assert found.why is not None
    assert JUDGE in found.why
    assert STRANGER in found.why


def test_a_labelled_round_corrects_the_judge(files: Store) -> None:
    load_run(files, {JUDGE: range(4)}, items=30)
    load(files, {"type": "labelers", "labeler": "ana", "labeler_kind": "human"})
    add_guide(files, "g1", "Judge fairly.", NOW)
    drawn = draw_round(
        files, "r", "grounded", title=None, verifier=JUDGE, size=24, overlap=0.0, seed=1,
        created_by="amy", guide_version="g1", now=NOW, again=False,
    )  # fmt: skip
    rows = files.query(
        "select t.task_id, t.item_id, t.claim_id, c.claim_text from annotation_tasks as t join "
        "claims as c on c.run_id = t.run_id and c.item_id = t.item_id and c.claim_id = t.claim_id "
        "where t.round_id = :round_id",
        {"round_id": drawn.round_id},
    )
    for task_id, item_id, claim_id, text in rows:
        params = {"item": item_id, "claim": claim_id, "text": text, "now": NOW}
        files.execute_all([
            ("insert into labels (run_id, item_id, claim_id, claim_text, claim_type, verdict, "
             "labeler, labeled_at, label_kind) values ('r', :item, :claim, :text, 'factual', "
             "'supported', 'ana', :now, 'human')", params),
            ("update annotation_slots set state = 'done', labeler = 'ana' where task_id = :task",
             {"task": task_id}),
        ])  # fmt: skip
    found = read_headline(files)
    assert (found.basis, found.judge, found.people_labels) == ("corrected", JUDGE, 24)
    assert found.rate == 1.0  # people found nothing wrong in what the judge refused
    text = " ".join(format_summary(build_summary(files, "r")).split())
    assert f"{JUDGE} on 60 claims, corrected by 24 labels from people" in text


def test_labels_that_were_asked_for_decide(files: Store) -> None:
    load_run(files, {"ana": range(4), JUDGE: range(10)})
    assert read_headline(files, "verifier").rate == 0.75
    assert read_headline(files, f"labeler:{JUDGE}").basis == "judge_only"
    assert read_headline(files, "labeler:ana").basis == "people"


def test_closed_book_runs_have_a_headline(files: Store) -> None:
    load(files, run())
    for number in range(10):
        load(files, item(f"i{number}"), answer(f"i{number}", "a claim"),
             closed_label(f"i{number}", "a claim", "true" if number else "false",
                          labeler=STRANGER, label_kind="verifier"))  # fmt: skip
    found = read_headline(files)
    assert (found.judgement, found.basis, found.rate) == ("closed_book", "judge_only", 0.9)
    text = format_summary(build_summary(files, "r"))
    assert "True          90% of claims (no range); 10% are false" in text
    assert "false: “a claim”" in text


def test_a_run_without_labels_invents_no_figure(files: Store) -> None:
    load(files, run(), item("i1"), answer("i1", "a claim"))
    summary = build_summary(files, "r")
    assert (summary.headline.basis, summary.headline.rate) == (None, None)
    text = format_summary(summary)
    assert "not measured: nobody has labelled this run" in text
    assert "%" not in text
    assert "Judge the claims: claimwise verify --run r" in text


def test_change_is_of_the_same_items(files: Store) -> None:
    load_run(files, {"ana": range(6)}, run_id="before")
    load_run(files, {"ana": range(2)}, day=2)
    change = build_summary(files, "r").change
    assert change is not None
    assert change.since == "before"
    assert change.change == pytest.approx(0.1)
    assert change.low is not None
    assert change.high is not None
    assert change.low < 0.1 < change.high
    assert find_previous_run(files, "before") is None
    assert build_summary(files, "before").change is None


def test_change_between_different_judges_is_not_told(files: Store) -> None:
    load_run(files, {STRANGER: range(6)}, run_id="before")
    load_run(files, {JUDGE: range(2)}, day=2)
    summary = build_summary(files, "r")
    assert summary.change is not None
    assert summary.change.change is None
    assert f"not comparable with run before, judged by {STRANGER}" in " ".join(
        format_summary(summary).split()
    )


def test_small_groups_are_not_ranked(files: Store) -> None:
    load_run(files, {"ana": range(0, 20, 2)})  # all of multi_hop
    for number in range(4):
        load(files, item(f"x{number}", query_type="rare"), answer(f"x{number}", "a claim"),
             label(f"x{number}", "a claim", "contradicted"))  # fmt: skip
    groups = build_summary(files, "r").groups
    assert [group.slice for group in groups] == [{"query_type": "multi_hop"}]
    assert groups[0].rate == 0.5
    assert not groups[0].clearly_worse


def test_groups_by_a_judge_say_so(files: Store) -> None:
    load_run(files, {JUDGE: range(0, 20, 2)})
    summary = build_summary(files, "r")
    assert [group.judged for group in summary.groups] == [True]
    assert "Worst groups  50% by judge (" in format_summary(summary)


def test_says_why_no_group_is_listed(files: Store) -> None:
    load_run(files, {"ana": ()})
    text = format_summary(build_summary(files, "r"))
    assert "Worst groups  none: every group is as good as the whole run" in text
    text = format_summary(build_summary(files, "r", by=()))
    assert "Worst groups  not enough groups of 5 items or more to compare" in text


def test_worst_claims_come_with_quote_and_reason(files: Store) -> None:
    load_run(files, {"ana": range(7)})
    summary = build_summary(files, "r")
    assert (len(summary.claims), summary.unsupported) == (5, 7)
    text = format_summary(summary)
    assert "Worst claims  5 of 7 not supported" in text
    assert "  contradicted: “claim i0”" in text
    assert "the source says 139 m, the claim 999 m — doc: “The tower is 139 m" in text
    document = summary_to_document(summary)
    assert document["headline"]["rate"] == 33 / 40
    assert [one["claim_text"] for one in document["worst_claims"]] == [
        f"claim i{number}" for number in range(5)
    ]
    assert msgspec.json.encode(document)


def test_gates_are_part_of_it_and_never_stop_it(files: Store, tmp_path: Path) -> None:
    load_run(files, {"ana": range(10)})
    settings = tmp_path / "claimwise.toml"
    settings.write_text('[[gates]]\nname = "floor"\nmetric = "faithfulness"\nmin = 0.95\n')
    text = format_summary(summarize_project(files, find_project(tmp_path), "r"))
    assert "Gates         1 of 1 failed: floor: Faithfulness at least 95%" in text
    settings.write_text('[[gates]]\nname = "floor"\nmetric = "nonsense"\nmin = 0.95\n')
    text = format_summary(summarize_project(files, find_project(tmp_path), "r"))
    assert "Gates         not applied: " in text
    settings.write_text("")
    assert "Gates" not in format_summary(summarize_project(files, find_project(tmp_path), "r"))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_fits_one_screen_whatever_the_text(files: Store, width: int) -> None:
    long = f"{HOSTILE} {'漢字' * 60} {'word ' * 80}"
    name = f"run {'x' * 150}"
    load(files, source(title=long), run(name, system=long, model=long))
    for number in range(12):
        text = f"{number} {long}"
        load(files, item(f"n{number}", query_type=f"{long} {number % 2}", domain=long),
             answer(f"n{number}", text, run_id=name),
             label(f"n{number}", text, "contradicted" if number % 2 else "overreach", run_id=name,
                   reason=long, supporting_span=SOURCE[:24], source_id="doc"))  # fmt: skip
    text = format_summary(build_summary(files, name), width)
    lines = text.splitlines()
    assert len(lines) <= 25
    assert max(map(cell_len, lines)) <= width
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.each_engine
def test_same_on_every_engine(demo_store: Store) -> None:
    text = format_summary(build_summary(demo_store, "candidate"))
    assert "Supported     87% of claims (range 76–91.8%)" in text
    assert "people labelled 177 of 189 claims; the range allows for the rest" in text
    assert "+3.3 points (−2.1 to +8.8) since run baseline: could be chance" in text
    assert "58% (26–84%) query_type = aggregation, 11 items; clearly worse" in text
    assert len(text.splitlines()) <= 25
